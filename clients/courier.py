"""Drives a producer's core in a thread (or greenlet) of its own, and lets others in while it waits.

One lock guards core and pump. The courier holds it for all but its waits for the network, during
which anybody may append; who begins something that cannot wait rings the pump's bell. Callbacks run
in the courier, without the lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from kcore import transports
from kcore.clients.dispatch import Dispatch
from kcore.errors import KafkaError
from kcore.limits import MAX_TIMEOUT_MS
from kcore.transports.background import current, make_event, make_lock, run_aside
from kcore.transports.forking import release_in_child

log = logging.getLogger("kcore.producer")


def _always() -> bool:
    return True


class YieldingTransport:
    """A transport whose waits let go of a lock that is held by whoever steps the pump."""

    def __init__(self, transport: Any, lock: Any) -> None:
        self._transport = transport
        self._lock = lock
        self.waiting = False

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """The transport's own, without the lock."""
        self.waiting = True
        self._lock.release()
        try:
            found: Sequence[tuple[int, int]] = self._transport.wait(timeout_ms)
        finally:
            self._lock.acquire()
            self.waiting = False
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Courier(Dispatch):
    """See the module's text. `lock` is re-entrant."""

    def __init__(self, core: Any, transport: Any, tls: Any, tokens: Any, name: str) -> None:
        super().__init__(core, name)
        self.lock = make_lock(transport.name)
        self._name = transport.name
        self._transport = YieldingTransport(transport, self.lock)
        self._pump = transports.Pump(core, self._transport, tls=tls, tokens=tokens)
        self.now_ms = self._pump.now_ms
        self._bells: dict[Any, Callable[[], bool]] = {}  # rung after each turn that may help
        self._waiting: dict[Any, None] = {}  # of everybody who waits, rung at the end
        self._abandoned = False
        self._inside: object = None  # the courier's thread or greenlet
        release_in_child(self)
        run_aside(transport.name, "kcore-producer", self._run)

    # The courier's thread --------------------------------------------------------------------

    def _run(self, _stop: object) -> None:
        self._inside = current(self._name)
        why = "it was ended"
        try:
            while not self._closed:
                with self.lock:
                    if self._abandoned:
                        self._abandoned = False
                        self.core.close(self.now_ms(), MAX_TIMEOUT_MS)
                    calls = [] if self._closed else self._turn()
                self._call(calls)
        except BaseException as error:
            if not self._forked:
                log.exception("the producer's thread failed")
            why = repr(error)
            if not isinstance(error, Exception):
                raise
        finally:
            if not (self._closed or self._forked):
                self._fail(f"the producer's thread failed: {why}")
            self.stopped = True
            for bell in [*self._waiting]:
                bell.set()

    def _fail(self, why: str) -> None:
        """Nobody delivers any more: whoever waits for a record hears that it has failed."""
        with self.lock:
            self._failed = why
            self.stopped = True
            calls = self.give_up(KafkaError(why))
        self._call(calls)

    def _turn(self, timeout_ms: int | None = None) -> list[Callable[[], object]]:
        """Wait for the network and sort what came of it; the calls that are to be made.

        A verb of another thread may have come to its end between two turns, which brings an event
        and nothing that would wake the pump: so there is no wait while anything is unread.
        """
        if not self.core.unread:
            self._pump.step(timeout_ms)
        return self._collect()

    def _collect(self) -> list[Callable[[], object]]:
        """Sort what the core has said; the calls that are to be made without the lock."""
        calls = self.sort()
        if calls is None:
            return []
        for bell, may_help in self._bells.items():
            if may_help():
                bell.set()
        return calls

    def _end(self) -> None:
        self._closed = self.stopped = True
        self._pump.drain()
        self._pump.close()

    def _call(self, calls: list[Callable[[], object]]) -> None:
        for call in calls:
            try:
                call()
            except (Exception, SystemExit):  # whatever it is, other records go on
                log.exception("a callback of a delivered record failed")

    # Others ----------------------------------------------------------------------------------

    @property
    def inside(self) -> bool:
        """Whether the caller is a callback, which the courier runs."""
        return current(self._name) == self._inside

    def nudge(self) -> None:
        """With the lock held: if something was begun, do not wait for the network meanwhile."""
        if self.core.stirred:
            self.core.stirred = False
            if self._transport.waiting:
                self._pump.wakeup()

    def abandon(self) -> None:
        """Nobody will close it: deliver what there is, then end. From any thread, also from within
        the lock, as the garbage collector is.
        """
        self._abandoned = True
        self._pump.wakeup()

    def wait(
        self,
        done: Callable[[], bool],
        timeout_s: float | None,
        attend: Callable[[Any], None] | None = None,
        may_help: Callable[[], bool] = _always,
    ) -> bool:
        """Wait until `done()`, asked with the lock held; False: the time was over first.

        attend: has a bell rung when `done` may have become true; without it, it is asked after
        each turn of the courier, if `may_help()` says so there: to wake another thread costs more
        than most turns. From a callback, which is inside the courier, its turns go on.
        """
        if self.inside:
            return self._wait_inside(done, timeout_s)
        until = None if timeout_s is None else self.now_ms() + timeout_s * 1000
        bell = make_event(self._name)
        with self.lock:
            if done():
                return True
            self.check()
            self._waiting[bell] = None
            if attend is None:
                self._bells[bell] = may_help
            else:
                attend(bell)
        try:
            while True:
                bell.wait(None if until is None else max(0.0, (until - self.now_ms()) / 1000))
                bell.clear()
                with self.lock:
                    if done():
                        return True
                    self.check()
                if until is not None and self.now_ms() >= until:
                    return False
        finally:
            with self.lock:
                self._bells.pop(bell, None)
                self._waiting.pop(bell, None)

    def _wait_inside(self, done: Callable[[], bool], timeout_s: float | None) -> bool:
        until = None if timeout_s is None else self.now_ms() + timeout_s * 1000
        while True:
            with self.lock:
                if done():
                    return True
                self.check()
                left = None if until is None else int(until - self.now_ms())
                if left is not None and left <= 0:
                    return False
                calls = self._turn(left)
            self._call(calls)

    def forked(self) -> None:
        """In the child of a fork: there is no thread here, and the lock may be held for ever."""
        super().forked()
        self.lock = make_lock(self._name)
