"""Trio as the clients know loops: the part of asyncio's that they use, and their ways (`loops.py`).

One object for each `trio.run`, made when the first client starts in it. All runs in system tasks:
one makes calls that are due (`_beat`), one waits for each direction of each socket and calls at
once when it is ready, one does each piece of work that was spawned. What these call may raise
anything: it is logged, for whatever escapes from a system task ends the whole program. Ctrl-C
strikes none of them. When the main task has ended trio cancels them all: then whoever is still here
is told that the loop is over.

A task that is cancelled while it waits for a future is taken away from it by trio, and the future
knows nothing of it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from contextvars import copy_context
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from types import TracebackType
from typing import Any, Self, TypeVar

import trio
from trio.lowlevel import Abort, RunVar, Task, enable_ki_protection

from kcore.errors import IllegalStateError

log = logging.getLogger("kcore.transports")

T = TypeVar("T")

# What the end of a client may take behind a scope that was cancelled.
LAST_WORDS_S = 2.0
# Timers that were cancelled and wait for their time: so many, and half of all, are thrown out.
_DEAD_MAX = 100


class TrioHandle:
    """A call that is to be made. Cancelled, it is not."""

    __slots__ = ("_loop", "args", "call")

    def __init__(
        self, loop: TrioLoop | None, call: Callable[..., object], args: tuple[Any, ...]
    ) -> None:
        self._loop = loop  # whose timers it is among
        self.call: Callable[..., object] | None = call
        self.args = args

    def cancel(self) -> None:
        """Take it back; harmless when it was made."""
        if self.call is not None:
            self.call, self.args = None, ()
            if self._loop is not None:
                self._loop.note_dead()

    def make(self) -> None:
        """Make it, whatever it raises."""
        call, args = self.call, self.args
        if call is not None:
            self.call, self.args = None, ()
            _make(call, args)


class TrioFuture:
    """What is there later. Any number of trio's tasks may await it; who is cancelled meanwhile
    just goes away. A failure that nobody has looked at is logged when it is collected.
    """

    __slots__ = ("__weakref__", "_calls", "_done", "_error", "_loop", "_unseen", "_value", "_waits")

    def __init__(self, loop: TrioLoop) -> None:
        self._loop = loop
        self._done = self._unseen = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._waits: dict[Task, None] = {}
        self._calls: list[Callable[[Any], object]] = []

    def done(self) -> bool:
        """Whether it has ended."""
        return self._done

    def cancelled(self) -> bool:
        """Never: what is cancelled under trio is who waits."""
        return False

    def result(self) -> Any:
        """What it has ended with; its error is raised. IllegalStateError: it has not."""
        error = self.exception()
        if error is not None:
            raise error
        return self._value

    def exception(self) -> BaseException | None:
        """The error it has ended with, if it is one. IllegalStateError: it has not."""
        if not self._done:
            raise IllegalStateError("the future has not ended yet: await it")
        self._unseen = False
        return self._error

    def add_done_callback(self, call: Callable[[Any], object]) -> None:
        """Call `call(future)` when it has ended, from a task of the system; what that raises is
        logged.
        """
        if self._done:
            self._loop.call_soon(call, self)
        else:
            self._calls.append(call)

    def remove_done_callback(self, call: Callable[[Any], object]) -> int:
        """Take all of these back; how many there were."""
        kept = [other for other in self._calls if other != call]
        gone, self._calls = len(self._calls) - len(kept), kept
        return gone

    def set_result(self, value: Any) -> None:
        """It ends well."""
        self._value = value
        self._end()

    def set_exception(self, error: BaseException) -> None:
        """It fails."""
        self._error = error
        self._unseen = True
        self._end()

    @enable_ki_protection
    def _end(self) -> None:
        if self._done:
            raise IllegalStateError("the future has ended already")
        self._done = True
        loop = self._loop
        if not loop.is_closed():  # else nobody is left
            for task in self._waits:
                trio.lowlevel.reschedule(task)
            for call in self._calls:
                loop.call_soon(call, self)
        self._waits.clear()
        self._calls.clear()

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._done:
            yield from self._wait().__await__()
        return self.result()

    async def _wait(self) -> None:
        if self._loop is not TrioLoop.running():
            raise RuntimeError("the future belongs to another trio.run")
        task, waits = trio.lowlevel.current_task(), self._waits

        def abort(_raise_cancel: object) -> Abort:
            del waits[task]
            return Abort.SUCCEEDED

        waits[task] = None
        await trio.lowlevel.wait_task_rescheduled(abort)

    def __del__(self) -> None:
        if getattr(self, "_unseen", False):
            log.error("nobody has looked at what a future failed with", exc_info=self._error)


class TrioTask:
    """Work in a task of the system."""

    __slots__ = ("scope", "task")

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.task: Task | None = None  # once it runs

    def cancel(self) -> None:
        """Break it off."""
        self.scope.cancel()


class TrioLimit:
    """`asyncio.timeout` by a scope."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope = trio.CancelScope()

    async def __aenter__(self) -> Self:
        self._scope.deadline = trio.current_time() + self._seconds
        self._scope.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None:
        over = self._scope.__exit__(kind, error, trace)
        if self._scope.cancelled_caught:
            raise TimeoutError
        return over

    def expired(self) -> bool:
        """Whether it was this one that ended the block."""
        return self._scope.cancelled_caught


class _Watch:
    """One direction of a socket, and who is to be called when it is ready."""

    __slots__ = ("args", "call", "fd", "scope", "wait")

    def __init__(
        self,
        fd: int,
        wait: Callable[[int], Awaitable[None]],
        call: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self.fd, self.wait, self.call, self.args = fd, wait, call, args
        self.scope = trio.CancelScope()

    async def watch(self) -> None:
        """Until it is cancelled, which the call itself may do, or another one of the same turn."""
        with self.scope:
            waits = True
            while waits and not self.scope.cancel_called:
                try:
                    await self.wait(self.fd)
                except (OSError, trio.ClosedResourceError, trio.BusyResourceError):
                    waits = False  # who uses it finds out what is wrong
                if not self.scope.cancel_called:  # else it was taken back since
                    _make(self.call, self.args)


class TrioLoop:
    """See the module's text."""

    elsewhere = "trio.from_thread.run"
    timeout = TrioLimit
    lock = trio.Lock

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._ready: deque[TrioHandle] = deque()
        self._timers: list[tuple[float, int, TrioHandle]] = []
        self._numbers = count()
        self._dead = 0  # of the timers
        self._watches: dict[tuple[int, Any], _Watch] = {}
        self._ends: dict[Callable[[], object], None] = {}
        self._begun = self._over = False
        # The task that makes the calls; the scope that wakes it in time, while it is parked.
        self._parked: Task | None = None
        self._nap = trio.CancelScope()

    @property
    def ways(self) -> Self:
        """Its own."""
        return self

    @classmethod
    def running(cls) -> TrioLoop:
        """That of the trio that runs in this thread."""
        try:
            return _CURRENT.get()
        except LookupError:
            loop = cls()
            _CURRENT.set(loop)
            return loop

    @enable_ki_protection
    def begin(self) -> None:
        """Make calls from here on. RuntimeError: trio is about to end."""
        if not self._begun:
            trio.lowlevel.spawn_system_task(self._beat, name="kcore: calls")
            self._begun = True

    def is_closed(self) -> bool:
        """Whether the main task has ended."""
        return self._over

    def is_running(self) -> bool:
        """Trio has its thread until it is over."""
        return not self._over

    # Calls ------------------------------------------------------------------------------------

    @enable_ki_protection
    def call_soon(self, callback: Callable[..., object], *args: Any) -> TrioHandle:
        """See Loop."""
        handle = TrioHandle(None, callback, args)
        self._ready.append(handle)
        if self._parked is not None:
            self._poke()
        return handle

    @enable_ki_protection
    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> TrioHandle:
        """See Loop."""
        handle, due = TrioHandle(self, callback, args), trio.current_time() + delay
        heappush(self._timers, (due, next(self._numbers), handle))
        if self._parked is not None and due < self._nap.deadline:
            self._nap.deadline = due
        return handle

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> TrioHandle:
        """See Loop."""
        handle = TrioHandle(None, callback, args)
        self._token.run_sync_soon(handle.make)
        return handle

    def create_future(self) -> TrioFuture:
        """See Loop."""
        return TrioFuture(self)

    def note_dead(self) -> None:
        """One of the timers was cancelled."""
        self._dead += 1
        if self._dead > _DEAD_MAX and self._dead * 2 > len(self._timers):
            alive = [timer for timer in self._timers if timer[2].call is not None]
            heapify(alive)
            self._timers, self._dead = alive, 0

    @enable_ki_protection
    def _poke(self) -> None:
        task, self._parked = self._parked, None
        if task is not None:
            trio.lowlevel.reschedule(task)

    async def _beat(self) -> None:
        try:
            while True:
                with trio.CancelScope() as self._nap:
                    await self._make_calls()
        finally:
            self._end()

    async def _make_calls(self) -> None:
        """Until the deadline of the nap."""
        while True:
            for _ in range(len(self._ready)):
                self._ready.popleft().make()
            due = self._make_timers()
            if self._ready:
                await trio.lowlevel.checkpoint()
            else:
                self._nap.deadline = due
                self._parked = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(self._abort_nap)

    def _abort_nap(self, _raise_cancel: object) -> Abort:
        self._parked = None
        return Abort.SUCCEEDED

    def _make_timers(self) -> float:
        """Make the calls whose time has come; when that of the next one is."""
        now = trio.current_time()
        while self._timers:
            due, _, handle = self._timers[0]
            if handle.call is None:
                self._dead -= 1
            elif due > now:
                return due
            heappop(self._timers)
            handle.make()
        return inf

    # Sockets ------------------------------------------------------------------------------------

    def add_reader(self, fd: int, callback: Callable[..., object], *args: Any) -> None:
        """See Loop."""
        self._watch(_Watch(fd, trio.lowlevel.wait_readable, callback, args))

    def remove_reader(self, fd: int) -> bool:
        """See Loop."""
        return self._unwatch(fd, trio.lowlevel.wait_readable)

    def add_writer(self, fd: int, callback: Callable[..., object], *args: Any) -> None:
        """See Loop."""
        self._watch(_Watch(fd, trio.lowlevel.wait_writable, callback, args))

    def remove_writer(self, fd: int) -> bool:
        """See Loop."""
        return self._unwatch(fd, trio.lowlevel.wait_writable)

    @enable_ki_protection
    def _watch(self, watch: _Watch) -> None:
        self._unwatch(watch.fd, watch.wait)
        self._watches[watch.fd, watch.wait] = watch
        trio.lowlevel.spawn_system_task(watch.watch, name="kcore: socket")

    @enable_ki_protection
    def _unwatch(self, fd: int, wait: Callable[[int], Awaitable[None]]) -> bool:
        watch = self._watches.pop((fd, wait), None)
        if watch is not None:
            watch.scope.cancel()  # at once: the next socket of this number begins anew
        return watch is not None

    # Other threads ------------------------------------------------------------------------------

    @staticmethod
    async def getaddrinfo(host: str, port: int, *, type: int) -> Any:  # noqa: A002 - see Loop
        """See Loop."""
        return await trio.socket.getaddrinfo(host, port, type=type)

    @staticmethod
    async def run_in_executor(_executor: None, func: Callable[[], T]) -> T:
        """See Loop. Nobody waits for a thread whose answer nobody waits for."""
        return await trio.to_thread.run_sync(func, abandon_on_cancel=True)

    # Ways ---------------------------------------------------------------------------------------

    @staticmethod
    async def pause() -> None:
        """See Ways. Trio draws who of a turn comes first: behind two, everybody has had one."""
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> TrioTask:
        """See Ways."""
        spawned = TrioTask()
        trio.lowlevel.spawn_system_task(
            self._do, spawned, work, args, name=f"kcore: {work.__name__}", context=copy_context()
        )
        return spawned

    @staticmethod
    async def _do(
        spawned: TrioTask, work: Callable[..., Awaitable[None]], args: Sequence[Any]
    ) -> None:
        spawned.task = trio.lowlevel.current_task()
        with spawned.scope:
            try:
                await work(*args)
            except trio.Cancelled:
                raise
            except BaseException as error:  # noqa: BLE001 - see the module's text
                _log_failure(work, error)

    @staticmethod
    def is_current(task: Any) -> bool:
        """See Ways."""
        return task.task is trio.lowlevel.current_task()

    async def see_out(self, wait: Callable[[], Awaitable[T]]) -> T | None:
        """See Ways. A scope that was cancelled lets nobody in it wait for anything: what follows it
        (the end of an `async with`, say) is given LAST_WORDS_S from then on.
        """
        result: T | None = None
        failure: BaseException | None = None

        async def hurry(scope: trio.CancelScope) -> None:
            with suppress(trio.Cancelled):
                try:
                    await trio.sleep_forever()
                finally:
                    scope.deadline = trio.current_time() + LAST_WORDS_S

        async with trio.open_nursery() as nursery:
            with trio.CancelScope(shield=True) as scope:
                nursery.start_soon(hurry, scope)
                try:
                    result = await wait()
                except trio.Cancelled:
                    raise
                except BaseException as error:  # noqa: BLE001 - raised below, not in a group
                    failure = error
            nursery.cancel_scope.cancel()
        try:
            if failure is not None:
                raise failure
        finally:
            failure = None  # else it holds this frame, and this frame it
        await trio.lowlevel.checkpoint_if_cancelled()
        return result

    # The end ------------------------------------------------------------------------------------

    def at_end(self, call: Callable[[], object]) -> None:
        """See Ways."""
        self._ends[call] = None

    def not_at_end(self, call: Callable[[], object]) -> None:
        """See Ways."""
        self._ends.pop(call, None)

    def _end(self) -> None:
        while self._ends:
            call, _ = self._ends.popitem()
            _make(call, ())
        self._over = True
        self._ready.clear()
        self._timers.clear()


_CURRENT: RunVar[TrioLoop] = RunVar("kcore's loop")


def _make(call: Callable[..., object], args: tuple[Any, ...]) -> None:
    """Make a call in a task of the system, from which nothing may escape."""
    try:
        call(*args)
    except BaseException as error:  # noqa: BLE001 - see the module's text
        _log_failure(call, error)


def _log_failure(call: object, error: BaseException) -> None:
    if isinstance(error, BaseExceptionGroup):  # of a nursery: being cancelled is no failure
        _, rest = error.split(trio.Cancelled)
        if rest is None:
            return
    with suppress(Exception):
        log.error("%r failed under trio", call, exc_info=error)
