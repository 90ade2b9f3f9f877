"""Core, pump and what the core has said, for admin clients; and who may touch them.

No thread looks after an admin client while nobody calls it: what brokers have closed meanwhile is
seen when the next call begins, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from kcore.admin.core import CLOSED
from kcore.clients.engine import Driver, Engine
from kcore.clients.guard import Guard
from kcore.clients.looping import LoopGuard
from kcore.clients.opening import nobody_answered
from kcore.clients.reporting import Reporter
from kcore.errors import (
    ConcurrentUseError,
    ForkedError,
    IllegalStateError,
    KafkaTimeoutError,
    NoBrokersAvailable,
    UnsupportedVersionError,
)
from kcore.events import Closed, Event, OperationCompleted
from kcore.settings.addresses import format_server

if TYPE_CHECKING:
    from kcore.settings.client import ClientConfig

WHAT = "admin client"
# What a last push of metrics may take, where there is one.
LAST_WORDS_MS = 2_000


class _Words(Guard):
    """What is said to those who are not let in."""

    def refuse(self) -> NoReturn:
        """IllegalStateError: closed; ForkedError."""
        if self._forked:
            raise ForkedError(
                "the admin client was made before a fork: its connections belong to the parent "
                "process; make another one in the child"
            )
        raise IllegalStateError(CLOSED)

    def refuse_midway(self) -> NoReturn:
        """A call of this very thread is under way."""
        raise ConcurrentUseError(
            "the admin client is in the middle of another call of this thread, which this one "
            "would break (a signal handler?): wakeup() may be called from anywhere and ends it "
            "with WakeupError; do the rest behind that"
        )


class AdminGuard(_Words):
    """Lets in one thread (or greenlet) after the other; who comes meanwhile waits."""

    def refuse_busy(self) -> None:  # type: ignore[override]
        """Another thread is inside: wait for it."""

    def refuse_late(self) -> NoReturn:
        """The others took all the time."""
        raise KafkaTimeoutError("calls of other threads have taken all the time that there was")

    def check(self) -> None:
        """Raise why calls are refused, if they are."""
        if self.barred:
            self.refuse()


class AdminLoopGuard(_Words, LoopGuard):
    """Lets in whoever runs in the client's loop."""

    def __init__(self) -> None:
        super().__init__(WHAT)


class AdminEngine(Engine):
    """An engine that has no group, and nobody who polls."""

    def __init__(self, core: Any, pump: Driver, guard: Guard, reporter: Reporter) -> None:
        super().__init__(core, pump, guard, reporter)
        self._settings: ClientConfig = core.config

    def _sort(self, event: Event) -> None:
        if isinstance(event, OperationCompleted):
            self._complete(event)
        elif isinstance(event, Closed):
            self.closing = event
        self.reporter.report(event, self.pump.now_ms())

    def answer(self, begin: Callable[[Any, int, int], int], timeout_ms: float) -> Any:
        """Do it (begin(core, now_ms, timeout_ms): an operation), and wait for its end: the result,
        or its error raised. Whatever else ends the wait, nothing more is asked.
        """
        begun: list[int] = []

        def do(now_ms: int) -> int:
            begun.append(begin(self.core, now_ms, int(timeout_ms)))
            return begun[0]

        self.step(0)  # what brokers have closed while nobody was here
        try:
            return self.run(do, timeout_ms)
        finally:
            for number in begun:
                self.core.cancel(number)

    def forget(self, number: int) -> None:
        """Nobody waits for this operation any more."""
        self.core.cancel(number)
        self._futures.pop(number, None)

    def find_release(self, timeout_ms: float) -> tuple[int, int] | None:
        """Ask any broker for anything: the release they are like. NoBrokersAvailable."""
        try:
            self.run(lambda now: self.core.find_anybody(now, int(timeout_ms)), timeout_ms)
        except KafkaTimeoutError as error:
            raise self.nobody_answered(timeout_ms, error) from error
        return self.release()

    def release(self) -> tuple[int, int] | None:
        """What release the connected brokers are like, if that is not stated."""
        stated = self._settings.api_version is not None
        found: tuple[int, int] | None = None if stated else self.core.broker_api_version()
        return found

    def nobody_answered(self, timeout_ms: float, error: KafkaTimeoutError) -> NoBrokersAvailable:
        """The error of who finds no broker."""
        settings, attempts = self._settings, self.reporter.attempts
        of_controllers = self.core.of_controllers
        if not of_controllers and isinstance(error.__cause__, UnsupportedVersionError):
            where = format_server(*settings.bootstrap_servers[0])
            attempts = {where: f"{error.__cause__}; give bootstrap_controllers if they are those"}
        servers = settings.bootstrap_servers
        return nobody_answered(servers, attempts, timeout_ms, of_controllers=of_controllers)
