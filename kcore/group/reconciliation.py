"""A rebalance of the consumer protocol (KIP-848) as the application lives it (rules N1, N3,
N4, N6).

The coordinator says what this member is to have (`ConsumerMembership.target`); this side gives up
what goes, takes what is new, and then says so. Nothing else of the group waits, and what stays is
read without a pause. As with the classic protocol, partitions change hands only inside a poll.

    IDLE --poll--> COMMITTING --poll--> SHEDDING --ack--> ASSIGNING --ack--> IDLE, acknowledged
    IDLE --poll, fenced--> REVOKING --ack--> IDLE, joining

One reconciliation at a time: where the coordinator changes its mind meanwhile, another follows.
What the coordinator is told to be owned it takes for all there is, and gives the rest to others:
nothing is taken while that is on its way, and it is not told while something is being taken, or is
still to be: it may linger, and say that what was taken since is not owned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcore.errors import KafkaError
from kcore.events import (
    ErrorRaised,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.group.autocommit import AutoCommit
from kcore.group.consumer_heartbeat import ConsumerHeartbeats
from kcore.group.consumer_membership import ConsumerMembership, Owned
from kcore.group.consumer_states import CONSUMER_STEP_TABLE, ConsumerInput, ConsumerState
from kcore.group.context import Context, Timer
from kcore.group.states import Step, StepInput
from kcore.group.steps import LAST_STEPS, Steps
from kcore.structs import TopicPartition
from kcore.timers import NEVER

_TOLD: Final = (Step.SHEDDING, Step.REVOKING, Step.ASSIGNING)


class Reconciliation(Steps):
    """Rebalances of the consumer protocol, by CONSUMER_STEP_TABLE."""

    def __init__(
        self,
        ctx: Context,
        membership: ConsumerMembership,
        heartbeats: ConsumerHeartbeats,
        autocommit: AutoCommit,
    ) -> None:
        super().__init__(ctx, membership, CONSUMER_STEP_TABLE)
        self._membership: ConsumerMembership = membership
        self._heartbeats = heartbeats
        self._autocommit = autocommit
        self._taking: Owned = frozenset()  # what the one under way ends with
        self._assigned: list[TopicPartition] = []  # the same, by name
        self._revoked: list[TopicPartition] = []
        self._names: dict[bytes, str] = {}  # of what is owned, or to be
        self._committing = False
        self._begun = 0  # reconciliations that had something to commit
        self._looked: tuple[int, Owned | None] | None = None  # (metadata version, target) seen last
        self._nameless: frozenset[bytes] = frozenset()  # ids of topics not known by name
        self._attempts = 0  # to learn them

    def recover(self, now_ms: int) -> None:
        """See Steps."""
        self._heartbeats.recover_leaving(now_ms)

    # -- the application is in poll ------------------------------------------------------------

    def handle_poll(self, now_ms: int) -> None:
        """Go on with what waits for a poll."""
        if self.step in LAST_STEPS:
            return
        if self._membership.fenced is not None:
            self._poll_fenced(self._membership.fenced)
            return
        if not self._ctx.config.await_acknowledgement:
            self.acknowledge(now_ms)
        if self.step is Step.COMMITTING:
            self._go_on(now_ms)
        if self.step is not Step.IDLE:
            return
        state = self._membership.state
        if state in (ConsumerState.FENCED, ConsumerState.STALE):
            self._lose(now_ms)
        elif state in (ConsumerState.UNSUBSCRIBED, ConsumerState.LEAVING):
            if self._membership.rejoin_reason is not None:
                self._join(self._membership.rejoin_reason)
        elif state in (ConsumerState.RECONCILING, ConsumerState.STABLE):
            self._look(now_ms)

    def acknowledge(self, now_ms: int) -> None:
        """The application has handled the last revoked, lost or assigned."""
        if self.step is Step.SHEDDING:
            if self._membership.state is ConsumerState.RECONCILING:
                self._assign(now_ms)
                return
            self._take(self._kept)  # void by now; the next poll says that the rest is lost
            self.move(StepInput.SETTLED)
        elif self.step is Step.REVOKING:
            self._take([])
            self.move(StepInput.SETTLED)
        elif self.step is Step.ASSIGNING:
            self._settle()

    def look_again(self) -> None:
        """The subscription may have changed."""
        self._looked = None
        self._heartbeats.look_again()

    def _join(self, reason: str) -> None:
        # A pattern that matches nothing waits until it does: who joins has to name a topic, or a
        # pattern that the brokers match.
        if self._wanted:
            self._ctx.emit(RebalanceStarted(reason))
            self._looked = None
            self._membership.join()

    # -- fenced, stale, fatal ------------------------------------------------------------------

    def _lose(self, now_ms: int) -> None:
        """Say what is lost, then begin anew."""
        owned = sorted(self._ctx.host.owned_partitions())
        if not owned:
            loss = self._membership.loss
            self._join("fenced" if loss is None else loss.why)
            return
        self._ctx.host.suspend(owned)
        self._ctx.emit(PartitionsLost(tuple(owned)))
        self._kept = []
        self.move(StepInput.TOLD)
        self._hint_poll(now_ms)

    def _poll_fenced(self, fenced: KafkaError) -> None:
        """Out for good: what is assigned is lost, and every poll says why."""
        if self.step in _TOLD:
            self.move(StepInput.SETTLED)
        owned = sorted(self._ctx.host.owned_partitions())
        if owned:
            self._ctx.emit(PartitionsLost(tuple(owned)))
            self._take([])
        self._ctx.emit(ErrorRaised(fenced))

    def dropped(self, *, stalled: bool) -> None:
        """What was not told yet never will be; what was told is to be acknowledged first."""
        del stalled
        self._abandon()
        self.move(StepInput.DROPPED)

    def halt(self, error: KafkaError, now_ms: int) -> None:
        """Out for good, as the coordinator's own refusals."""
        self._membership.fence(error, now_ms)
        self.fence()

    def fence(self) -> None:
        """See Steps."""
        self.dropped(stalled=False)

    # -- the coordinator -----------------------------------------------------------------------

    def target_told(self) -> None:
        """The coordinator has said what this member is to have; the first time it is told even if
        it is nothing.
        """
        membership = self._membership
        if membership.target != membership.owned:
            membership.move(ConsumerInput.TARGET)
        elif membership.state is ConsumerState.RECONCILING and self.step is Step.IDLE:
            membership.move(ConsumerInput.AGREED)

    def owned_sent(self) -> None:
        """A heartbeat went out; if it was the one that says what is owned, that is over."""
        membership = self._membership
        if membership.state is ConsumerState.ACKNOWLEDGING:
            agreed = membership.target == membership.owned
            membership.move(ConsumerInput.AGREED if agreed else ConsumerInput.TARGET)

    def handle_tick(self, now_ms: int) -> None:
        """Who has nothing to lose joins again at once; ask again for names that are missing."""
        if self._nothing_to_lose:
            self._lose(now_ms)
        elif self._unnamed:
            self._learn_names()
            if self._nameless and self._ctx.due(Timer.METADATA, now_ms):
                self._ask_for_names(now_ms)

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self._nothing_to_lose:
            return 0
        return self._ctx.timers.at(Timer.METADATA) if self._unnamed else NEVER

    @property
    def _nothing_to_lose(self) -> bool:
        host = self._ctx.host
        return (
            self._membership.state is ConsumerState.FENCED
            and self.step is Step.IDLE
            and not host.owned_partitions()
            and self._wanted
        )

    @property
    def _wanted(self) -> bool:
        host = self._ctx.host
        return bool(host.subscribed_topics()) or host.remote_pattern() is not None

    @property
    def _unnamed(self) -> bool:
        return self._membership.state is ConsumerState.RECONCILING and self._attempts > 0

    @property
    def waits_for_poll(self) -> bool:
        """Whether no poll has looked yet what of the target can be taken."""
        membership = self._membership
        looked = self._looked is not None and self._looked[1] == membership.target
        return membership.state is ConsumerState.RECONCILING and not looked

    # -- one reconciliation --------------------------------------------------------------------

    def _look(self, now_ms: int) -> None:
        """Begin, if what can be taken of the target is not what there is."""
        membership = self._membership
        seen = (self._ctx.cluster.version, membership.target)
        if seen == self._looked:
            return
        names = self._resolve(now_ms)
        target = membership.target or frozenset()
        taking = frozenset(each for each in target if each[0] in names)
        if not self._heartbeats.may_take(taking):
            return  # the next poll looks again
        self._looked = seen
        stable = membership.state is ConsumerState.STABLE
        if taking != membership.owned:
            if stable:  # unsubscribed from some of it, which the coordinator is about to hear
                membership.move(ConsumerInput.TARGET)
            self._names, self._taking = names, taking
            self._begin(now_ms)
        elif taking == target and not stable:
            membership.move(ConsumerInput.AGREED)

    def _resolve(self, now_ms: int) -> dict[bytes, str]:
        """Names of the target's topics, as far as they are known and subscribed."""
        cluster, host, names = self._ctx.cluster, self._ctx.host, {}
        missing = set()
        for topic_id in {topic_id for topic_id, _ in self._membership.target or ()}:
            # Who owns it goes on reading while the metadata does not show it for a moment.
            name = cluster.topic_name(topic_id) or self._names.get(topic_id)
            if name is None:
                missing.add(topic_id)
            elif host.covers(name):
                names[topic_id] = name
            else:
                self._heartbeats.correct()
        if host.remote_pattern() is not None:
            host.set_group_topics(set(names.values()))  # whose metadata nobody else asks for
        self._nameless = frozenset(missing)
        if not missing:
            self._attempts = 0
            self._ctx.timers.cancel(Timer.METADATA)
        elif not self._attempts:
            self._ask_for_names(now_ms)
        return names

    def _learn_names(self) -> None:
        """Keep what metadata says until the next poll: by then other metadata may be here, which
        was not asked about these.
        """
        cluster, host = self._ctx.cluster, self._ctx.host
        found = {topic_id: cluster.topic_name(topic_id) for topic_id in self._nameless}
        learned = {topic_id: name for topic_id, name in found.items() if name is not None}
        if not learned:
            return
        self._names = self._names | learned
        self._nameless -= learned.keys()
        if host.remote_pattern() is not None:
            host.set_group_topics(set(self._names.values()))
        if not self._nameless:
            self._attempts = 0
            self._ctx.timers.cancel(Timer.METADATA)

    def _ask_for_names(self, now_ms: int) -> None:
        if self._ctx.host.remote_pattern() is not None:
            self._ctx.cluster.request_names(self._nameless)
        else:
            self._ctx.cluster.request_update()
        self._ctx.timers.set(Timer.METADATA, now_ms + self._ctx.backoff(self._attempts))
        self._attempts += 1

    def _begin(self, now_ms: int) -> None:
        """What goes is not read any more from here on, and what was read of it is committed."""
        host = self._ctx.host
        owned = set(host.owned_partitions())
        self._assigned = sorted(
            TopicPartition(self._names[topic_id], number) for topic_id, number in self._taking
        )
        self._revoked = sorted(owned.difference(self._assigned))
        self._kept = sorted(owned.intersection(self._assigned))
        self.move(StepInput.BEGAN)
        if self._revoked:
            host.suspend(self._revoked)
            if self._autocommit.possible:
                until_ms = now_ms + self._ctx.config.max_poll_interval_ms
                self._committing = self._autocommit.commit(self._after(), deadline_ms=until_ms)
        self._go_on(now_ms)

    def _after(self) -> Callable[[KafkaError | None], None]:
        """What follows the commit of this reconciliation, unless it is over by then."""
        self._begun += 1
        begun = self._begun

        def committed(error: KafkaError | None) -> None:
            del error  # the event tells of it; the partitions go in any case
            if begun == self._begun:
                self._committing = False

        return committed

    def _go_on(self, now_ms: int) -> None:
        """Tell what goes, or if it is nothing, what comes."""
        if self._committing:
            return
        if not self._revoked:
            self._assign(now_ms)
            return
        self._ctx.emit(PartitionsRevoked(tuple(self._revoked)))
        self.move(StepInput.SHED)
        self._hint_poll(now_ms)

    def _assign(self, now_ms: int) -> None:
        owned = set(self._ctx.host.owned_partitions())
        assigned = self._assigned
        self._autocommit.restart(now_ms)
        self._take(assigned)
        added = tuple(tp for tp in assigned if tp not in owned)
        epoch = self._membership.generation.id
        self._ctx.emit(PartitionsAssigned(added, tuple(assigned), epoch))
        self.move(StepInput.TOLD)
        if not self._ctx.config.await_acknowledgement:
            self._settle()

    def _settle(self) -> None:
        """The application has taken it; the coordinator is told at once."""
        self.move(StepInput.SETTLED)
        membership = self._membership
        if membership.state is ConsumerState.RECONCILING:
            membership.owned = self._taking
            membership.move(ConsumerInput.RECONCILED)

    # -- giving everything up ------------------------------------------------------------------

    @property
    def in_flight(self) -> bool:
        """The coordinator holds no request of this protocol."""
        return False

    def stop(self, what: StepInput) -> bool:
        """See Steps."""
        self._membership.prepare_leaving()
        return super().stop(what)

    def _abandon(self) -> None:
        self._committing = False
        self._attempts = 0
