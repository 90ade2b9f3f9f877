"""Event loops as the asynchronous clients know them: which one runs, and what they ask of it.

Of asyncio's a small part is used, all of it public (`Loop`); trio's is made to look like that part
(`trio_loop.py`). What the two do in ways of their own (begin a task, let the others go first, wait
for at most so long) is `Ways`. Trio is not imported unless it runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from sys import modules
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")

# A module, if it is loaded; asyncio's loop, a RuntimeError if none runs.
module = modules.get
asyncios = asyncio.get_running_loop


class Cancellable(Protocol):
    """A call that is to be made, or a task."""

    def cancel(self) -> object:
        """Have it not be made, or broken off."""


class Loop(Protocol):
    """What is used of an event loop; asyncio's documentation says what each does."""

    def call_soon(self, callback: Callable[..., object], *args: Any) -> Cancellable:
        """In the next turn."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Cancellable:
        """In so many seconds."""

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> Cancellable:
        """From anywhere. RuntimeError: it is over."""

    def create_future(self) -> Any:
        """A future that tasks of this loop may await."""

    def add_reader(self, fd: int, callback: Callable[..., object], *args: Any) -> None:
        """Call whenever there is something to read."""

    def remove_reader(self, fd: int) -> object:
        """No more."""

    def add_writer(self, fd: int, callback: Callable[..., object], *args: Any) -> None:
        """Call whenever there is room to write."""

    def remove_writer(self, fd: int) -> object:
        """No more."""

    async def getaddrinfo(self, host: str, port: int, *, type: int) -> Any:  # noqa: A002 - theirs
        """As `socket.getaddrinfo`."""

    def run_in_executor(self, executor: None, func: Callable[[], T]) -> Awaitable[T]:
        """What this gives, called in another thread."""

    def is_closed(self) -> bool:
        """Whether it is over for good."""

    def is_running(self) -> bool:
        """Whether it has the thread."""


class Limit(Protocol):
    """A bound of the time that an `async with` block may take: TimeoutError behind it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None: ...

    def expired(self) -> bool:
        """Whether it was this one that ended the block."""


class Ways(Protocol):
    """What tasks do, each loop in its own way.

    pause: let the loop make a turn. elsewhere: how to get to the loop from other threads.
    """

    elsewhere: str

    async def pause(self) -> None:
        """See above."""

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> Cancellable:
        """A task of the loop that runs `work(*args)`, not before what runs now has let go."""

    def is_current(self, task: Cancellable) -> bool:
        """Whether this is what runs now."""

    def timeout(self, seconds: float) -> Limit:
        """For an `async with`."""

    def lock(self) -> AbstractAsyncContextManager[object]:
        """One that serves in turn."""

    async def see_out(self, wait: Callable[[], Awaitable[T]]) -> T | None:
        """`await wait()`, at the end of something that is not to be left as it is."""

    def at_end(self, call: Callable[[], object]) -> None:
        """Call this when the loop ends, if it can say so."""

    def not_at_end(self, call: Callable[[], object]) -> None:
        """Take that back."""


class AsyncioWays:
    """Those of asyncio's loop, and of all that are like it."""

    elsewhere = "asyncio.run_coroutine_threadsafe, loop.call_soon_threadsafe"
    timeout = staticmethod(asyncio.timeout)
    lock = staticmethod(asyncio.Lock)
    pause = staticmethod(partial(asyncio.sleep, 0))

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> Cancellable:
        """Not by the loop's factory, which may run it at once, in the middle of the pump's step."""
        return asyncio.Task(work(*args), loop=self._loop)

    def is_current(self, task: Cancellable) -> bool:
        """See Ways."""
        return asyncio.current_task() is task

    async def see_out(self, wait: Callable[[], Awaitable[T]]) -> T | None:
        """A task that was cancelled may wait: asyncio has told it once."""
        return await wait()

    def at_end(self, call: Callable[[], object]) -> None:
        """Asyncio tells nobody."""

    def not_at_end(self, call: Callable[[], object]) -> None:
        """Nor then."""


def running() -> Loop | None:
    """The loop that runs in this thread, if one does."""
    # Trio first: it may be a guest of asyncio's loop, and says by this when it is its turn.
    told = module("sniffio")
    if told is not None and _is_trio(told):
        from kcore.transports.trio_loop import TrioLoop  # noqa: PLC0415 - only where trio runs

        return TrioLoop.running()
    try:
        return asyncios()
    except RuntimeError:
        return None


def _is_trio(sniffio: Any) -> bool:
    told = getattr(sniffio, "thread_local", None)  # another thread may be importing it
    return told is not None and told.name == "trio"


def here() -> Loop:
    """The loop that runs in this thread, for who goes on in it. RuntimeError: none does."""
    loop = running() or asyncio.get_running_loop()
    begin: Callable[[], object] | None = getattr(loop, "begin", None)
    if begin is not None:
        begin()
    return loop


def ways_of(loop: Loop) -> Ways:
    """What tasks of this loop do."""
    own: Ways | None = getattr(loop, "ways", None)
    return own or AsyncioWays(cast("asyncio.AbstractEventLoop", loop))
