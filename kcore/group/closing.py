"""The ways out: unsubscribe, close, and the poll interval running out (E1-E3, B6, X3, X4).

    LEAVING --ack--> leave sent, IDLE
    CLOSING --commits done--> PARTING --ack--> leave sent, DEPARTING --answered--> CLOSED

Closing is bounded by its deadline in every step; what is not done by then is not done.
"""

from __future__ import annotations

from kcore.errors import Cancelled, ConsumerStoppedError
from kcore.group.autocommit import AutoCommit
from kcore.group.commits import Committer
from kcore.group.context import Context, Timer
from kcore.group.leaving import Leave
from kcore.group.membership import Membership
from kcore.group.offsets import CommittedFetcher
from kcore.group.states import Step, StepInput
from kcore.group.steps import Steps
from kcore.structs import GroupMembershipOperation
from kcore.timers import NEVER, Bounded

_CLOSING_STEPS = (Step.CLOSING, Step.PARTING, Step.DEPARTING)


class Closing:
    """Moves the step from LEAVE or CLOSE on."""

    def __init__(
        self,
        ctx: Context,
        membership: Membership,
        committer: Committer,
        fetcher: CommittedFetcher,
        autocommit: AutoCommit,
        rebalance: Steps,
        leave: Leave,
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._committer = committer
        self._fetcher = fetcher
        self._autocommit = autocommit
        self._rebalance = rebalance
        self._leave = leave
        self._reason = ""
        self._operation = GroupMembershipOperation.DEFAULT  # of `close`
        self._fresh_link = False
        self._unfinished = False  # `leave` has not come to its end
        self._told = False  # by `leave`, and the acknowledgement is awaited
        self._keeps = False  # the host has what is given up until then
        self._commits = False  # `close` has not asked for the last commit yet
        self._limit = Bounded(NEVER)  # of `close`

    def recover(self, now_ms: int) -> None:
        """A turn was broken off in the middle, and nothing that was asked is under way: go on with
        what waits for nobody. `leave` and `close` are begun again by whoever called them.
        """
        step = self._rebalance.step
        awaits = self._ctx.config.await_acknowledgement
        if step is Step.LEAVING and not self._unfinished and not (self._told and awaits):
            self._left(now_ms)
        elif step is Step.PARTING and not awaits:
            self._depart(now_ms)

    # -- unsubscribe ---------------------------------------------------------------------------

    def leave(self, now_ms: int, reason: str) -> bool:
        """Give up the membership; a later subscription begins a new one. Called again, it goes on
        where it was struck.

        True: what is given up stays the host's, suspended, until that is acknowledged: who is told
        may commit it and ask for its positions.
        """
        if self._membership.subscribed and self._rebalance.step not in _CLOSING_STEPS:
            self._begin_leaving(now_ms, reason)
        return self._keeps

    def _begin_leaving(self, now_ms: int, reason: str) -> None:
        if self._rebalance.step is not Step.LEAVING:
            self._reason = reason
            self._told, self._unfinished = False, True
            self._fresh_link = self._rebalance.stop(StepInput.LEAVE)
        if not self._unfinished:
            # Subscribed and unsubscribed again before the first leave was acknowledged.
            self._membership.subscribed = False
            return
        self._told = self._told or self._rebalance.tell_all_gone()
        host = self._ctx.host
        self._keeps = self._told and self._ctx.config.await_acknowledgement
        if self._keeps:
            host.suspend(host.owned_partitions())
        else:
            host.take_assignment([])
        self._membership.subscribed = self._unfinished = False
        if not self._keeps:
            self._left(now_ms)

    def let_go(self) -> None:
        """The host gets another assignment, by hand: it has nothing any more of what is given up.
        The membership knows until it is acknowledged, so that it can be committed.
        """
        if self._keeps:
            self._keeps = False
            self._ctx.host.take_assignment([])

    def _left(self, now_ms: int) -> None:
        self.let_go()
        self._rebalance.forget()
        self._send_leave(now_ms)
        self._membership.release()
        self._membership.request_rejoin("subscribed")  # if that happened meanwhile
        self._rebalance.move(StepInput.LEFT)

    # -- the poll interval ---------------------------------------------------------------------

    def stalled(self, now_ms: int) -> None:
        """B6: the application is stuck; others get its partitions, the next poll tells it they are
        lost.
        """
        limit_ms = self._ctx.config.max_poll_interval_ms
        last_ms = self._membership.last_poll_ms
        gap_ms = limit_ms if last_ms is None else now_ms - last_ms
        self._reason = (
            f"{gap_ms} ms passed without a poll, max_poll_interval_ms is {limit_ms}: handle fewer"
            " records per poll (max_poll_records), or raise it"
        )
        self._fresh_link = self._rebalance.in_flight
        self._send_leave(now_ms)
        self._membership.reset(self._reason, now_ms, stalled=True)

    # -- close ---------------------------------------------------------------------------------

    def close(
        self,
        now_ms: int,
        deadline_ms: int,
        *,
        autocommit: bool,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Commit, tell, leave; over at `deadline_ms` at the latest. Called again, it can only
        hurry.
        """
        timers = self._ctx.timers
        step = self._rebalance.step
        if step is Step.CLOSED:
            return
        if step in _CLOSING_STEPS:
            self._limit.deadline_ms = min(self._limit.deadline_ms, deadline_ms)
        else:
            if step is Step.LEAVING:
                self._left(now_ms)
            self._reason = "the consumer is being closed"
            self._commits = autocommit
            self._operation = operation
            self._fresh_link = self._rebalance.stop(StepInput.CLOSE)
            self._limit.deadline_ms = deadline_ms
        timers.set(Timer.CLOSE, self._limit.deadline_ms)
        if self._commits and self._autocommit.possible:
            # Its failure does not hold up the rest; the event tells of it.
            self._autocommit.commit(deadline_ms=deadline_ms)
        self._commits = False
        self._fetcher.operations.fail_all(Cancelled("the consumer is being closed"))

    def acknowledge(self, now_ms: int) -> None:
        """The application has handled the last revoked or lost."""
        if self._rebalance.step is Step.LEAVING:
            self._told = False
            self._left(now_ms)
        elif self._rebalance.step is Step.PARTING:
            self._depart(now_ms)

    def handle_tick(self, now_ms: int) -> None:
        """Go on, or give up what is late."""
        step, late = self._rebalance.step, False
        if step in _CLOSING_STEPS:
            late = self._limit.expired(now_ms, away=self._ctx.network.late)
            self._ctx.timers.set(Timer.CLOSE, self._limit.deadline_ms)
        if step is Step.CLOSING:
            self._committer.forgo(now_ms)
        if step is Step.CLOSING and (late or self._committer.operations.idle):
            self._part(now_ms)
        elif step is Step.PARTING and late:
            self._depart(now_ms)
        if late and self._rebalance.step is Step.DEPARTING:
            self._finish()

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        step = self._rebalance.step
        if step not in _CLOSING_STEPS:
            return NEVER
        if step is Step.CLOSING and self._committer.operations.idle:
            return 0
        return self._ctx.timers.at(Timer.CLOSE)

    def _part(self, now_ms: int) -> None:
        if self._membership.subscribed and self._rebalance.tell_all_gone():
            self._rebalance.move(StepInput.TOLD)
            late = self._ctx.timers.at(Timer.CLOSE) <= now_ms
            if self._ctx.config.await_acknowledgement and not late:
                return
        self._depart(now_ms)

    def _depart(self, now_ms: int) -> None:
        if self._membership.subscribed:
            self._ctx.host.take_assignment([])
            self._rebalance.forget()
        sent = self._send_leave(now_ms, self._operation)
        self._membership.subscribed = False
        self._membership.release()
        if sent:
            self._rebalance.move(StepInput.DEPARTED)
        else:
            self._finish()

    def _send_leave(
        self,
        now_ms: int,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> bool:
        return self._leave(
            self._reason,
            now_ms,
            fresh_link=self._fresh_link,
            done=self._leave_answered,
            operation=operation,
        )

    def _leave_answered(self, now_ms: int) -> None:
        del now_ms
        if self._rebalance.step is Step.DEPARTING:
            self._finish()

    def _finish(self) -> None:
        self._rebalance.move(StepInput.GONE)
        stopped = ConsumerStoppedError("the consumer is closed")
        self._committer.operations.fail_all(stopped)
        self._fetcher.operations.fail_all(stopped)
        self._ctx.timers.clear()
