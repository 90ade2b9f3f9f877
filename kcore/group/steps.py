"""What rebalances of both protocols have in common: the step, and how everything is given up.

`Rebalance` (classic) and `Reconciliation` (KIP-848) move through the same steps, each by its own
table; `Closing` moves both through the last ones.
"""

from __future__ import annotations

from kcore.errors import KafkaError
from kcore.events import PartitionsLost, PartitionsRevoked
from kcore.group.context import Context, Timer
from kcore.group.machine import Machine
from kcore.group.membership import Membership
from kcore.group.states import Step, StepInput
from kcore.structs import TopicPartition

# The steps that `closing` goes through.
LAST_STEPS = (Step.LEAVING, Step.CLOSING, Step.PARTING, Step.DEPARTING, Step.CLOSED)


class Steps:
    """Owns the step; `Closing` moves it through the last ones."""

    def __init__(
        self, ctx: Context, membership: Membership, table: dict[Step, dict[StepInput, Step]]
    ) -> None:
        self._ctx = ctx
        self._machine = Machine(table, Step.IDLE)
        self._membership = membership
        self._kept: list[
            TopicPartition
        ] = []  # what is left when the revocation told is acknowledged
        self._going: list[TopicPartition] = []  # what goes by that, where it was left meanwhile

    @property
    def step(self) -> Step:
        """See Step."""
        return self._machine.state

    def move(self, what: StepInput) -> Step:
        """The one place that changes the step; answers the step left."""
        return self._machine.move(what)

    # -- what each protocol does ---------------------------------------------------------------

    @property
    def in_flight(self) -> bool:
        """Whether a request is out that the coordinator may hold for long."""
        raise NotImplementedError

    def recover(self, now_ms: int) -> None:
        """Every question has been answered: what waits for an answer still was never asked."""

    def handle_poll(self, now_ms: int) -> None:
        """The application is in poll: go on with what waits for it."""
        raise NotImplementedError

    def handle_tick(self, now_ms: int) -> None:
        """Go on with what waits for nobody."""
        raise NotImplementedError

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        raise NotImplementedError

    def acknowledge(self, now_ms: int) -> None:
        """The application has handled the last revoked, lost or assigned."""
        raise NotImplementedError

    def look_again(self) -> None:
        """The subscription may have changed."""
        raise NotImplementedError

    def dropped(self, *, stalled: bool) -> None:
        """The membership was lost, whatever else was going on."""
        raise NotImplementedError

    def halt(self, error: KafkaError, now_ms: int) -> None:
        """Only the application can do something about this error."""
        raise NotImplementedError

    def fence(self) -> None:
        """The membership is fenced: whatever was under way ends, the next poll says so."""
        raise NotImplementedError

    # -- giving everything up ------------------------------------------------------------------

    def stop(self, what: StepInput) -> bool:
        """Leave or close: abandon what is under way; True if the coordinator may hold a request.

        What was told and not acknowledged counts as acknowledged: the application has moved on. But
        who leaves while a listener is told goes with that: it may be about to commit.
        """
        self._going = []
        if self.step in (Step.REVOKING, Step.SHEDDING):
            if what is StepInput.LEAVE and self._ctx.config.await_acknowledgement:
                owned = self._ctx.host.owned_partitions()
                self._going = [tp for tp in owned if tp not in self._kept]
            else:
                self._take(self._kept)
        in_flight = self.in_flight
        self._abandon()
        self.move(what)
        return in_flight

    def _abandon(self) -> None:
        """Drop whatever requests under way still bring."""
        raise NotImplementedError

    def tell_all_gone(self) -> bool:
        """Say that everything is revoked, or lost if it is not ours to commit any more (X3). True:
        an acknowledgement is to follow, of that or of what is being told already.
        """
        owned = self._ctx.host.owned_partitions()
        partitions = tuple(sorted(set(owned).difference(self._going)))
        if partitions:
            ours = self._membership.may_commit
            self._ctx.emit((PartitionsRevoked if ours else PartitionsLost)(partitions))
        return bool(owned)

    def forget(self) -> None:
        """Nothing is owned any more."""
        self._membership.acquire([])

    def _take(self, partitions: list[TopicPartition]) -> None:
        self._ctx.host.take_assignment(partitions)
        self._membership.acquire(partitions)

    def _hint_poll(self, now_ms: int) -> None:
        """Nothing but a poll goes on from here: wake the driver once, so that it comes soon."""
        if not self._ctx.config.await_acknowledgement:
            self._ctx.timers.set(Timer.NEXT_POLL, now_ms)
