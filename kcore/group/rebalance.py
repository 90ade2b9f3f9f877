"""A rebalance as the application lives it: join-prepare, the round, the delivery of the assignment
(section 6).

Partitions change hands only inside a poll, so nothing changes under a running handler: a poll
begins the rebalance and a poll delivers the assignment. In between, once JoinGroup may be sent,
ticks drive it, whoever calls them.

    IDLE --poll--> COMMITTING --poll--> REVOKING --ack--> READY
    READY --tick--> JOINING --> DELIVERING --poll--> ASSIGNING --ack--> IDLE

"ack" is `acknowledge_rebalance()` if the application asked to be waited for, else the next poll.
"""

from __future__ import annotations

from kcore.assignors import RebalanceProtocol, blobs
from kcore.enums import Enum
from kcore.errors import KafkaError
from kcore.events import (
    ErrorRaised,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.group.autocommit import AutoCommit
from kcore.group.classic_membership import ClassicMembership
from kcore.group.config import MAX_IMMEDIATE_RETRIES
from kcore.group.context import Context, Timer
from kcore.group.coordinator import Coordinator
from kcore.group.joining import Ended, Joining, Verdict
from kcore.group.leader import Leader
from kcore.group.states import STEP_TABLE, MemberState, Step, StepInput
from kcore.group.steps import LAST_STEPS, Steps
from kcore.hints import TYPE_CHECKING
from kcore.structs import TopicPartition
from kcore.timers import NEVER

if TYPE_CHECKING:
    from kcore.group.returning import Returning


class Preparation(Enum):
    """The auto commit of a join-prepare."""

    NOT_NEEDED = "nothing to commit, or done"
    UNDER_WAY = "under way"
    FAILED = "failed, to be tried again"


class Rebalance(Steps):
    """Rebalances of the classic protocol, by STEP_TABLE."""

    def __init__(
        self,
        ctx: Context,
        membership: ClassicMembership,
        coordinator: Coordinator,
        autocommit: AutoCommit,
        leader: Leader,
    ) -> None:
        super().__init__(ctx, membership, STEP_TABLE)
        self._membership: ClassicMembership = membership
        self._coordinator = coordinator
        self._autocommit = autocommit
        self._leader = leader
        self.joining: Joining  # wired by GroupMember: the two know each other
        self._returning: Returning | None = None
        if ctx.config.group_instance_id is not None:
            from kcore.group.returning import (  # noqa: PLC0415 - for those alone
                Returning,
            )

            self._returning = Returning(ctx, membership, coordinator)
        self._preparation = Preparation.NOT_NEEDED
        self._prepare_until = 0
        self._prepare_retry_at: int | None = None
        self._assignment = b""
        self._pending: list[TopicPartition] = []  # COOPERATIVE: to be taken when the shedding is
        self._extra_topics: set[str] = (
            set()
        )  # assigned inside our pattern before our metadata shows them
        self._resume = StepInput.SETTLED  # out of HALTED: READY if join-prepare is done, else IDLE
        self._immediate = 0  # retries at once since the last assignment taken
        self._failures = 0  # retries with backoff since the last assignment taken
        self._checked: tuple[int, bool] | None = (
            None  # (metadata version, answer) of the last comparison
        )

    @property
    def in_flight(self) -> bool:
        """A JoinGroup or SyncGroup is."""
        return self.joining.in_flight

    def _abandon(self) -> None:
        self.joining.abandon()
        if self._returning is not None:
            self._returning.forget()

    # -- the application is in poll ------------------------------------------------------------

    def handle_poll(self, now_ms: int) -> None:
        """Go on with what waits for a poll."""
        if self.step in LAST_STEPS:
            return
        if self._membership.fenced is not None:
            self._poll_fenced(self._membership.fenced)
            return
        if self.step is Step.HALTED:
            self.move(self._resume)
        if not self._ctx.config.await_acknowledgement:
            self.acknowledge(now_ms)
        if self.step is Step.COMMITTING:
            self._prepare(now_ms)
        if self.step is Step.DELIVERING:
            self._deliver(now_ms)
        if self.step is Step.IDLE and self._coordinator.key is not None and self.needed():
            self._begin(now_ms)

    def acknowledge(self, now_ms: int) -> None:
        """The application has handled the last revoked, lost or assigned."""
        if self.step is Step.REVOKING:
            self._give_up(self._kept)
        elif self.step is Step.SHEDDING:
            self._shed(now_ms)
        elif self.step is Step.ASSIGNING:
            self.move(StepInput.SETTLED)

    def needed(self) -> bool:
        """G1: whether a rebalance has to begin."""
        membership = self._membership
        if not membership.subscribed:
            return False
        if membership.rejoin_reason is not None:
            # A pattern that matches nothing only because no metadata is here yet would join with
            # nothing.
            return bool(self._ctx.host.subscribed_topics()) or self._ctx.host.metadata_fresh()
        if membership.state is not MemberState.STABLE:
            return False
        version = self._ctx.cluster.version
        if self._checked is None or self._checked[0] != version:
            self._checked = (version, self._outdated())
        return self._checked[1]

    def look_again(self) -> None:
        """The subscription may have changed."""
        self._checked = None

    def _outdated(self) -> bool:
        """The subscription or (leader) the metadata is not what the assignment was made from."""
        topics = set(self._ctx.host.subscribed_topics())
        if (topics ^ self.joining.topics) - self._extra_topics:
            self._membership.request_rejoin("the subscription has changed")
            return True
        if self._leader.changed():
            self._membership.request_rejoin("the subscribed topics have changed")
            return True
        return False

    def fence(self) -> None:
        """Another process has our instance id: whatever was under way ends, the next poll says
        so.
        """
        self.joining.abandon()
        self.move(StepInput.HALT)

    def _poll_fenced(self, fenced: KafkaError) -> None:
        """Out for good: what is assigned is lost, and every poll says why."""
        if self.step is Step.REVOKING:
            self.move(StepInput.PREPARED)
        elif self.step in (Step.SHEDDING, Step.ASSIGNING):
            self.move(StepInput.SETTLED)
        self.move(StepInput.HALT)
        owned = sorted(self._ctx.host.owned_partitions())
        if owned:
            self._ctx.emit(PartitionsLost(tuple(owned)))
            self._take([])
        self._leader.retire()
        self._ctx.emit(ErrorRaised(fenced))

    # -- join-prepare --------------------------------------------------------------------------

    def _begin(self, now_ms: int) -> None:
        ctx, membership = self._ctx, self._membership
        ctx.emit(RebalanceStarted(membership.rejoin_reason or "the group rebalances"))
        if self._returning is not None:
            self._returning.forget()
        self.move(StepInput.BEGAN)
        if ctx.config.protocol is RebalanceProtocol.EAGER:
            ctx.host.suspend(ctx.host.owned_partitions())
        self._prepare_until = now_ms + ctx.config.max_poll_interval_ms
        self._commit_first()
        if self._preparation is Preparation.UNDER_WAY:
            ctx.timers.set(Timer.PREPARE, self._prepare_until)
        self._prepare(now_ms)

    def _commit_first(self) -> None:
        self._preparation = Preparation.NOT_NEEDED
        self._prepare_retry_at = None
        if self._autocommit.possible and self._autocommit.commit(self._committed):
            self._preparation = Preparation.UNDER_WAY

    def _committed(self, error: KafkaError | None) -> None:
        if self._preparation is not Preparation.UNDER_WAY:
            return
        if error is not None and error.retriable:
            self._preparation = Preparation.FAILED
        else:
            self._preparation = Preparation.NOT_NEEDED

    def _prepare(self, now_ms: int) -> None:
        """Wait for the commit, then tell what is given up (6.1)."""
        if not self._membership.generation.valid:
            self._ctx.host.suspend(self._ctx.host.owned_partitions())
        if now_ms < self._prepare_until:
            if self._preparation is Preparation.FAILED and self._retry_over(now_ms):
                self._commit_first()
            if self._committing:
                return
        self._ctx.timers.cancel(Timer.PREPARE)
        self._ctx.timers.cancel(Timer.PREPARE_RETRY)
        self._preparation = Preparation.NOT_NEEDED
        self._tell(now_ms)

    @property
    def _committing(self) -> bool:
        return self._preparation is not Preparation.NOT_NEEDED

    def _retry_over(self, now_ms: int) -> bool:
        """Whether the wait after a failed commit is over; it begins when this is first asked."""
        if self._prepare_retry_at is None:
            self._prepare_retry_at = now_ms + self._ctx.config.retry_backoff_ms
            self._ctx.timers.set(Timer.PREPARE_RETRY, self._prepare_retry_at)
        return now_ms >= self._prepare_retry_at

    def _tell(self, now_ms: int) -> None:
        """Say what is lost or revoked, and wait for it to be handled; or go on at once if it is
        nothing.
        """
        ctx = self._ctx
        owned = sorted(ctx.host.owned_partitions())
        self._kept = []
        if not self._membership.generation.valid:
            if not owned:
                self._give_up([])
                return
            ctx.host.suspend(owned)
            ctx.emit(PartitionsLost(tuple(owned)))
        elif ctx.config.protocol is RebalanceProtocol.EAGER:
            ctx.emit(PartitionsRevoked(tuple(owned)))
        else:
            revoked = [tp for tp in owned if not ctx.host.covers(tp.topic)]
            self._kept = [tp for tp in owned if ctx.host.covers(tp.topic)]
            if not revoked:
                self._give_up(self._kept)
                return
            self._revoke(revoked)
        self.move(StepInput.TOLD)
        self._hint_poll(now_ms)

    def _revoke(self, going: list[TopicPartition]) -> None:
        """COOPERATIVE: what was read since the last commit would be read again by whoever gets it.
        This one is in before the next round ends: that waits for our JoinGroup, which comes after.
        """
        if self._autocommit.possible:
            self._autocommit.commit()
        self._ctx.host.suspend(going)
        self._ctx.emit(PartitionsRevoked(tuple(going)))

    def _give_up(self, kept: list[TopicPartition]) -> None:
        self._take(kept)
        self._leader.retire()
        self.move(StepInput.PREPARED)

    # -- the round -----------------------------------------------------------------------------

    def recover(self, now_ms: int) -> None:
        """See Steps."""
        self.joining.recover(now_ms)

    def handle_tick(self, now_ms: int) -> None:
        """Go on with the round, send JoinGroup when it may be sent."""
        self.joining.handle_tick(now_ms)
        if self._returning is not None:
            self._returning.handle_tick(now_ms)
        if self.step is Step.COMMITTING and self._preparation is Preparation.FAILED:
            self._retry_over(now_ms)
        if self.step is not Step.READY:
            return
        if self._membership.fenced is not None:
            self.move(StepInput.HALT)
            return
        timers = self._ctx.timers
        if not self._can_ask or (
            timers.armed(Timer.JOIN_RETRY) and not self._ctx.due(Timer.JOIN_RETRY, now_ms)
        ):
            return
        self.joining.send(now_ms)
        self.move(StepInput.SENT)

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self.step is not Step.READY:
            return min(self.joining.deadline(), self._ctx.timers.at(Timer.SURVEY))
        if self._membership.fenced is not None:
            return 0
        if not self._can_ask:
            return NEVER
        timers = self._ctx.timers
        return timers.at(Timer.JOIN_RETRY) if timers.armed(Timer.JOIN_RETRY) else 0

    @property
    def _can_ask(self) -> bool:
        return self._coordinator.key is not None and not self.joining.held_up

    def round_ended(self, ended: Ended, now_ms: int) -> None:
        """JoinGroup and SyncGroup came to something."""
        if ended.verdict is Verdict.ASSIGNED:
            self._assignment = ended.assignment
            self.move(StepInput.SYNCED)
            return
        error = ended.error
        self._membership.request_rejoin(f"the last round failed: {error}")
        self._pace(now_ms, at_once=ended.verdict is Verdict.AGAIN)
        if ended.verdict is Verdict.FATAL and error is not None:
            self.halt(error, now_ms)
        else:
            self.move(self._retry_input())

    def _retry_input(self) -> StepInput:
        """With nothing left to give up a tick may join again; else a poll has to tell what is lost
        first.
        """
        lost = not self._membership.generation.valid and self._ctx.host.owned_partitions()
        return StepInput.DROPPED if lost else StepInput.FAILED

    def _pace(self, now_ms: int, *, at_once: bool) -> None:
        if at_once:
            self._immediate += 1
            if self._immediate <= MAX_IMMEDIATE_RETRIES:
                return
        self._ctx.timers.set(Timer.JOIN_RETRY, now_ms + self._ctx.backoff(self._failures))
        self._failures += 1

    def halt(self, error: KafkaError, now_ms: int) -> None:
        """Say it, and wait for the next poll, which tries again."""
        del now_ms
        self.joining.abandon()
        before = self.move(StepInput.HALT)
        if before is not Step.HALTED:
            prepared = before in (Step.READY, Step.JOINING)
            self._resume = StepInput.RESUMED if prepared else StepInput.SETTLED
        self._ctx.emit(ErrorRaised(error))

    def dropped(self, *, stalled: bool) -> None:
        """The membership was lost while something else was going on."""
        if self.step is Step.JOINING and not self.joining.in_flight:
            return  # the round's own answer did it, `round_ended` follows
        self.joining.abandon()
        if stalled:
            self.move(StepInput.STALLED)
        elif self.step is Step.JOINING:
            self.move(self._retry_input())
        elif self.step is not Step.READY or self._retry_input() is StepInput.DROPPED:
            self.move(StepInput.DROPPED)

    # -- delivery ------------------------------------------------------------------------------

    def _deliver(self, now_ms: int) -> None:
        """Join-complete (6.2), for a membership that still stands."""
        ctx = self._ctx
        self.look_again()
        blob, self._assignment = self._assignment, b""
        try:
            # No bytes at all: the leader has left this member out.
            assigned = blobs.decode_assignment(blob)[0] if blob else []
        except KafkaError as error:
            self._refuse("the assignment cannot be used", now_ms, at_once=False)
            ctx.emit(ErrorRaised(error))
            return
        strange = sorted({tp.topic for tp in assigned if not ctx.host.covers(tp.topic)})
        if strange:
            self._refuse(
                f"assigned topics are not subscribed: {', '.join(strange[:8])}",
                now_ms,
                at_once=True,
            )
            return
        owned = set(ctx.host.owned_partitions())
        revoked = sorted(owned - set(assigned))
        if revoked and ctx.config.protocol is RebalanceProtocol.COOPERATIVE:
            self._revoke(revoked)
            self._kept = sorted(owned - set(revoked))
            self._pending = assigned
            self.move(StepInput.SHED)
            self._hint_poll(now_ms)
            return
        self._assign(assigned, now_ms)

    def _refuse(self, why: str, now_ms: int, *, at_once: bool) -> None:
        """Change nothing and join again; the first times at once, as the leader may simply be
        behind.
        """
        self._membership.request_rejoin(why)
        self._pace(now_ms, at_once=at_once)
        self.move(StepInput.SETTLED)

    def _shed(self, now_ms: int) -> None:
        """COOPERATIVE: what goes elsewhere is given up, so others may have it in another
        rebalance.
        """
        if self._membership.state is MemberState.STABLE:
            self._membership.request_rejoin("partitions were given up for other members")
            self._assign(self._pending, now_ms)
            return
        self._take(self._kept)
        self.move(StepInput.SETTLED)

    def _assign(self, assigned: list[TopicPartition], now_ms: int) -> None:
        ctx, membership = self._ctx, self._membership
        owned = set(ctx.host.owned_partitions())
        generation = membership.generation
        assignor = ctx.config.assignor(generation.protocol)
        if assignor is not None:  # which was checked when JoinGroup was answered
            assignor.on_assignment(assigned, generation.id)
        self._extra_topics = {tp.topic for tp in assigned} - self.joining.topics
        self._autocommit.restart(now_ms)
        self._take(assigned)
        self._immediate = self._failures = 0
        if self._returning is not None and self.joining.came_back:
            self._returning.came_back(assigned, leads=self.joining.skips, now_ms=now_ms)
        added = tuple(tp for tp in assigned if tp not in owned)
        ctx.emit(PartitionsAssigned(added, tuple(assigned), generation.id))
        self.move(StepInput.TOLD)
        if not ctx.config.await_acknowledgement:
            self.move(StepInput.SETTLED)

    # -- giving everything up ------------------------------------------------------------------

    def forget(self) -> None:
        """Nothing is owned and nobody is led any more."""
        super().forget()
        self._leader.retire()
