"""GroupMember: the parts of a group member wired together, and its few verbs.

Nothing of the protocol is decided here. Order within a tick: heartbeats (which may lose the
coordinator or the membership), the coordinator, what waits for it (commits, fetches of offsets),
the rebalance, closing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kcore.connection.calls import ClusterView, Network
from kcore.errors import ConsumerStoppedError, KafkaError
from kcore.events import Event
from kcore.group.autocommit import AutoCommit
from kcore.group.closing import Closing
from kcore.group.commits import CommitDone, Committer, Offsets
from kcore.group.config import CONSUMER, GroupConfig
from kcore.group.context import FOR_A_POLL, Context, Timer
from kcore.group.coordinator import Coordinator
from kcore.group.effects import passing
from kcore.group.host import GroupHost
from kcore.group.offsets import CommittedFetcher, FetchDone, Found
from kcore.group.protocols import Hooks, Parts, classic_parts, consumer_parts
from kcore.group.states import MemberState, Step
from kcore.group.steps import LAST_STEPS
from kcore.hints import TYPE_CHECKING
from kcore.structs import ConsumerGroupMetadata, GroupMembershipOperation, Rng, TopicPartition
from kcore.timers import NEVER, Timers

if TYPE_CHECKING:
    from kcore.group.consumer_states import ConsumerState

# What is due from time to time though nothing happens.
_EVERYDAY = frozenset({Timer.HEARTBEAT, Timer.AUTO_COMMIT})


class GroupMember:
    """One member of a group, by either protocol, or (never subscribed) one user of its committed
    offsets.

    Inputs are the verbs, `handle_poll` and `handle_tick`; answers of brokers arrive through
    `network`. Give it a `handle_tick` after every input; `deadline()` says when the next one is due
    without any.
    """

    def __init__(
        self,
        config: GroupConfig,
        network: Network,
        cluster: ClusterView,
        host: GroupHost,
        rng: Rng,
        emit: Callable[[Event], None],
    ) -> None:
        ctx = Context(config, network, cluster, rng, emit, Timers(), host)
        self._ctx = ctx
        # Until then a poll that follows no tick finds what the one before it did: nothing to do.
        self._calm_until = 0
        self._poll_due = False  # a timer "for a poll" has fired, and none has come since
        self._coordinator = Coordinator(ctx, self._found, self._lookup_failed)
        hooks = Hooks(self._dropped, self._stalled, self._fenced)
        make = consumer_parts if config.group_protocol == CONSUMER else classic_parts
        parts: Parts = make(ctx, self._coordinator, hooks)
        self._membership = parts.membership
        self._heartbeats = parts.heartbeats
        self._committer = Committer(
            ctx,
            self._membership,
            self._coordinator,
            parts.commit_effects,
            self._fenced,
            lambda: self._undisturbed,
        )
        self._fetcher = CommittedFetcher(ctx, self._membership, self._coordinator)
        self._autocommit = AutoCommit(ctx, self._membership, self._committer)
        self._rebalance = parts.make_steps(self._autocommit)
        self._closing = Closing(
            ctx,
            self._membership,
            self._committer,
            self._fetcher,
            self._autocommit,
            self._rebalance,
            parts.leave,
        )

    # -- the clock -----------------------------------------------------------------------------

    def handle_poll(self, now_ms: int) -> bool:
        """The application is in poll and done with everything handed over before.

        The only input that begins a rebalance, delivers an assignment or commits automatically.
        False: all is quiet, no `handle_tick` has to follow, and `deadline()` is no sooner, save by
        what was sent.
        """
        if now_ms < self._calm_until:
            self._heartbeats.handle_poll(now_ms)
            return False
        self._poll_due = False
        timers = self._ctx.timers
        first = timers.deadline()
        late = first <= now_ms
        if self._calm_until and not late and self._quiet and self._autocommit.repeat(now_ms):
            self._heartbeats.handle_poll(now_ms)
            self._calm_until = timers.deadline()
            return False
        if late:
            self.handle_tick(now_ms)  # first, so that a poll after too long a pause is found out
        busy = late or not self._quiet
        if self._rebalance.step in LAST_STEPS:
            if not self._ctx.config.await_acknowledgement:
                self._closing.acknowledge(now_ms)
        else:
            self._heartbeats.handle_poll(now_ms)
            self._rebalance.handle_poll(now_ms)
            self._autocommit.handle_poll(now_ms)
        due = timers.deadline()
        if busy or due < first or not self._quiet or self._autocommit.lurking:
            return True
        self._calm_until = due
        return False

    def recover(self, now_ms: int) -> None:
        """A turn was broken off in the middle (Ctrl-C), and every question is answered."""
        self._calm_until = 0
        self._coordinator.recover()
        self._heartbeats.recover()
        self._committer.operations.recover()
        self._fetcher.operations.recover()
        self._rebalance.recover(now_ms)
        self._closing.recover(now_ms)

    def handle_tick(self, now_ms: int) -> None:
        """Fire what is due and go on with what is possible."""
        self._calm_until = 0
        if self.closed:
            return
        self._heartbeats.handle_tick(now_ms)
        self._coordinator.handle_tick(now_ms, wanted=self._wanted())
        self._committer.operations.handle_tick(now_ms)
        self._fetcher.operations.handle_tick(now_ms)
        self._autocommit.handle_tick(now_ms)
        self._rebalance.handle_tick(now_ms)
        self._closing.handle_tick(now_ms)
        if self._ctx.timers.earliest(FOR_A_POLL) <= now_ms:
            for timer in FOR_A_POLL:
                self._ctx.due(timer, now_ms)

    def repeat(self, now_ms: int) -> bool:
        """`handle_tick`, where all that is due is what happens every few seconds to a member to
        whom nothing happens: its heartbeat, and that a poll is to commit.

        False, and nothing was done, where it is not so. The next deadline is `calm_deadline` then.
        """
        due = self._ctx.timers.due(now_ms)
        if not due or not _EVERYDAY.issuperset(due) or not self._quiet:
            return False
        if Timer.HEARTBEAT in due and not self._heartbeats.repeat(now_ms):
            return False
        if Timer.AUTO_COMMIT in due:
            self._ctx.timers.cancel(Timer.AUTO_COMMIT)  # the poll that it is for knows by itself
            self._poll_due = True
        elif self._calm_until and not self._poll_due:
            self._calm_until = self.calm_deadline()
        return True

    def calm(self, now_ms: int) -> bool:
        """Whether a poll would find nothing to do, and is not overdue either: half of
        max_poll_interval_ms may pass without one.
        """
        half_ms = self._ctx.config.max_poll_interval_ms // 2
        overdue_at = self._ctx.timers.at(Timer.POLL) - half_ms
        return now_ms < self._calm_until and now_ms < overdue_at

    def calm_deadline(self) -> int:
        """`deadline()`, or sooner, of a member to whom nothing happens."""
        return self._ctx.timers.deadline()

    def deadline(self) -> int:
        """When `handle_tick` is due; 0 if at once, NEVER if only an input can bring anything
        new.
        """
        if self.closed:
            return NEVER
        timers = self._ctx.timers
        return min(
            self._heartbeats.deadline(),
            self._coordinator.deadline(wanted=self._wanted()),
            self._committer.operations.deadline(),
            self._fetcher.operations.deadline(),
            self._rebalance.deadline(),
            self._closing.deadline(),
            timers.earliest(FOR_A_POLL),
        )

    # -- verbs ---------------------------------------------------------------------------------

    def subscription_changed(self, now_ms: int) -> None:
        """Topics or a pattern are subscribed, or others than before: be a member from the next poll
        on.
        """
        del now_ms
        self._rebalance.look_again()
        if not self._membership.subscribed:
            self._membership.subscribed = True
            self._membership.request_rejoin("subscribed")

    def commit(
        self, offsets: Offsets, now_ms: int, done: CommitDone, *, deadline_ms: int | None
    ) -> None:
        """Commit offsets; `done(committed, error)` follows, never inside this call.

        deadline_ms: passing failures are tried again until then (C5); None: one try, whose passing
        failure is a RetriableCommitFailedError (C6). Partitions this member does not own (any more)
        are missing in `committed`; if that is all of them, the error is a CommitFailedError. No
        offsets: done when every commit asked for earlier is. Raises IllegalArgumentError,
        ConsumerStoppedError.
        """
        del now_ms
        self._check_open()
        self._committer.commit(offsets, done, deadline_ms=deadline_ms)

    def fetch_committed(
        self,
        partitions: Iterable[TopicPartition],
        now_ms: int,
        done: FetchDone,
        *,
        deadline_ms: int,
        each: Found | None = None,
    ) -> None:
        """`done({tp: what is committed or None}, None)` or `done(None, error)` follows, never
        inside this call. each: is given what is found before all is (see FetchOperation).
        """
        del now_ms
        self._check_open()
        self._fetcher.fetch(partitions, done, deadline_ms=deadline_ms, each=each)

    def acknowledge_rebalance(self, now_ms: int) -> None:
        """The application has handled the last PartitionsRevoked, PartitionsLost or
        PartitionsAssigned.

        Only waited for with `await_acknowledgement`; harmless otherwise.
        """
        if self._rebalance.step in LAST_STEPS:
            self._closing.acknowledge(now_ms)
        else:
            self._rebalance.acknowledge(now_ms)

    def request_rejoin(self, reason: str, now_ms: int) -> None:
        """Join again at the next poll, although nothing else asks for it (KIP-568; Java:
        enforceRebalance). A member of the consumer protocol cannot.
        """
        del now_ms
        self._membership.request_rejoin(reason)

    def leave(self, now_ms: int, reason: str) -> bool:
        """Unsubscribed: tell what is given up, leave the group. Call it while the assignment still
        stands; True: it does until that is acknowledged, or `let_go`.
        """
        return self._closing.leave(now_ms, reason)

    def let_go(self) -> None:
        """Another assignment takes the place of what is being given up."""
        self._closing.let_go()

    def close(
        self,
        now_ms: int,
        deadline_ms: int,
        *,
        autocommit: bool,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Commit (if asked and enabled), tell what is given up, leave or not; `closed` by
        `deadline_ms` at the latest.
        """
        self._closing.close(now_ms, deadline_ms, autocommit=autocommit, operation=operation)
        self.handle_tick(now_ms)

    # -- what is so ----------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """`close` is complete."""
        return self._rebalance.step is Step.CLOSED

    @property
    def state(self) -> MemberState | ConsumerState:
        """What the coordinator may think of this member."""
        return self._membership.state

    @property
    def step(self) -> Step:
        """How far this side is with a rebalance."""
        return self._rebalance.step

    @property
    def committed_by_id(self) -> bool:
        """Whether what was found to be committed last is of the very topics: they were asked for by
        their ids.
        """
        return self._fetcher.by_id

    @property
    def stable(self) -> bool:
        """A member with its assignment delivered, and no rebalance in sight."""
        return self.step is Step.IDLE and self._membership.settled

    @property
    def rejoin_needed(self) -> bool:
        """A rebalance is due or going on."""
        return self._membership.subscribed and not self.stable

    @property
    def coordinator_known(self) -> bool:
        """Whether there is a coordinator to ask."""
        return self._coordinator.key is not None

    def metadata(self) -> ConsumerGroupMetadata:
        """Who this consumer is to the group now. Who was put out is who it was until it is a member
        again: it may still commit what it had in a transaction, and who names no generation would
        be taken for somebody outside of the group, whose offsets are nobody's business (KIP-447).
        """
        membership = self._membership
        generation, loss = membership.generation, membership.loss
        if not generation.valid and loss is not None and membership.subscribed:
            generation = loss.generation
        config = self._ctx.config
        return ConsumerGroupMetadata(
            config.group_id,
            generation.id,
            generation.member_id,
            config.group_instance_id,
            membership.public_state,
        )

    # -- between the parts ---------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            raise ConsumerStoppedError("the consumer is closed")

    @property
    def _undisturbed(self) -> bool:
        """Nothing happens to the membership."""
        return self.stable and self._coordinator.key is not None

    @property
    def _quiet(self) -> bool:
        """A member to whom nothing happens: nothing is asked for, sent or told."""
        return (
            self._committer.operations.idle and self._fetcher.operations.idle and self._undisturbed
        )

    def _wanted(self) -> bool:
        """Whether anybody needs the coordinator now (K6, K7)."""
        if self._committer.operations.waiting or self._fetcher.operations.waiting:
            return True
        return (
            self._membership.subscribed
            and self._membership.fenced is None
            and self.step not in LAST_STEPS
            and self.step is not Step.HALTED
        )

    def _found(self, now_ms: int) -> None:
        self._heartbeats.coordinator_found(now_ms)

    def _lookup_failed(self, error: KafkaError, now_ms: int) -> None:
        self._committer.operations.lookup_failed(error, now_ms)
        self._fetcher.operations.lookup_failed(error, now_ms)
        member = self._membership.subscribed and self.step in (Step.IDLE, Step.READY)
        if member and not passing(error):
            self._rebalance.halt(error, now_ms)

    def _dropped(self, stalled: bool) -> None:
        self._rebalance.dropped(stalled=stalled)

    def _stalled(self, now_ms: int) -> None:
        self._closing.stalled(now_ms)

    def _fenced(self, now_ms: int) -> None:
        del now_ms
        self._rebalance.fence()
