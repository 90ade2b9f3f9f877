"""Commits and committed-offset fetches while they are open: sent, retried with backoff, ended at
their deadline.

An operation ends exactly once, never inside the call that made it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcore.errors import KafkaError, KafkaTimeoutError, RetriableCommitFailedError
from kcore.group.context import Context
from kcore.group.coordinator import Coordinator
from kcore.group.effects import passing
from kcore.hints import Generic, TypeVar
from kcore.timers import NEVER, Bounded


class Operation(Bounded):
    """One request that may need several tries.

    deadline_ms: until when a passing failure is tried again. once: one try (C6), there is none.
    """

    what = "the request"

    def __init__(self, deadline_ms: int | None) -> None:
        super().__init__(NEVER if deadline_ms is None else deadline_ms)
        self.once = deadline_ms is None
        self.retry_at = 0
        self.attempts = 0
        self.in_flight = False
        self.ended = False
        self.last_error: KafkaError | None = None

    @property
    def needs_coordinator(self) -> bool:
        """Whether a coordinator is asked; if not, `send` ends the operation by itself."""
        return True

    @property
    def needs_turn(self) -> bool:
        """Whether all operations asked for earlier must have ended first."""
        return False

    def send(self, now_ms: int) -> None:
        """Try: ask the coordinator, or end."""
        raise NotImplementedError

    def fail(self, error: KafkaError) -> None:
        """End with an error; whatever arrives later is for the member alone."""
        raise NotImplementedError

    def failed(self, error: KafkaError, ctx: Context, now_ms: int) -> None:
        """A try failed: wait for the next one if there is one, else end."""
        self.in_flight = False
        if self.ended:
            return
        if not passing(error):
            self.fail(error)
        elif self.once:
            again = RetriableCommitFailedError(f"{self.what} failed for now: {error}")
            again.__cause__ = error
            self.fail(again)
        else:
            self.last_error = error
            self.retry_at = now_ms + ctx.backoff(self.attempts)
            self.attempts += 1

    def time_out(self) -> None:
        """End at the deadline, naming what stood in the way last."""
        cause = f": {self.last_error}" if self.last_error is not None else ""
        error = KafkaTimeoutError(f"{self.what} did not succeed in time{cause}")
        error.__cause__ = self.last_error
        if self.last_error is not None:
            error.failed, error.done = self.last_error.failed, self.last_error.done
        self.fail(error)


O = TypeVar("O", bound=Operation)  # noqa: E741


class Operations(Generic[O]):
    """The open operations of one kind, in the order they were asked for."""

    def __init__(self, ctx: Context, coordinator: Coordinator) -> None:
        self._ctx = ctx
        self._coordinator = coordinator
        self._open: list[O] = []

    def add(self, operation: O) -> None:
        """Take an operation; the next tick sends it."""
        self._open.append(operation)

    def __iter__(self) -> Iterator[O]:
        """Those that are open, in their order."""
        return iter(self._open)

    @property
    def idle(self) -> bool:
        """Nothing is open."""
        return not self._open

    def alone(self, operation: O) -> bool:
        """It is open, and no other is."""
        return len(self._open) == 1 and self._open[0] is operation

    @property
    def waiting(self) -> bool:
        """Something wants to go out, now or after its backoff, and needs a coordinator for that."""
        return bool(self._open) and any(
            not operation.in_flight and not operation.ended and operation.needs_coordinator
            for operation in self._open
        )

    def recover(self) -> None:
        """Nobody is being asked (see ClientCore.handle_interrupted)."""
        self.sweep()
        for operation in self._open:
            operation.in_flight = False

    def handle_tick(self, now_ms: int) -> None:
        """Send what is due, end what is late. The first try is made even if the time is up (X4)."""
        if not self._open:
            return
        for operation in list(self._open):
            if self._ready(operation) and operation.retry_at <= now_ms:
                operation.send(now_ms)
            if operation.expired(now_ms, away=self._ctx.network.late) and not operation.ended:
                operation.time_out()
            if operation.ended:
                self.sweep()

    def _ready(self, operation: O) -> bool:
        """Whether only the backoff can hold it up."""
        if operation.ended or operation.in_flight:
            return False
        if operation.needs_turn and operation is not self._open[0]:
            return False
        return self._coordinator.key is not None or not operation.needs_coordinator

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        first = NEVER
        for operation in self._open:
            first = min(first, operation.deadline_ms)
            if self._ready(operation):
                first = min(first, operation.retry_at)
        return first

    def lookup_failed(self, error: KafkaError, now_ms: int) -> None:
        """No coordinator: a fatal reason ends all that wait, a passing one those with one try
        (C6).
        """
        for operation in list(self._open):
            if operation.in_flight or operation.ended:
                continue
            if operation.once or not passing(error):
                operation.failed(error, self._ctx, now_ms)
            else:
                operation.last_error = error
        self.sweep()

    def fail_all(self, error: KafkaError) -> None:
        """End everything that is open."""
        for operation in list(self._open):
            if not operation.ended:
                operation.fail(error)
        self.sweep()

    def sweep(self) -> None:
        """Let go of what has ended."""
        self._open = [operation for operation in self._open if not operation.ended]
