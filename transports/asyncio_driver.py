"""Readiness from an event loop, by the public methods of asyncio's alone, so that any such loop
will do, trio made to look like one among them (`loops.py`).

The loop calls back when a socket is ready; that is noted, and whoever drives the pump is told
(`ring`) and makes a step of it, at once: the step then finds what was noted and waits for nothing.
So no turn of the loop is spent on handing on the news.

Before a deadline is acted on the sockets are asked themselves (`look`): some loops call timers
first, and of two links that are ready a loop brings one first. An answer is there all the same.

Names are looked up by the loop's own resolver (for asyncio's, a thread of its executor); addresses
need none.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from kcore.errors import UsageError
from kcore.hints import Final
from kcore.transports.core import READABLE, WRITABLE, Address, monotonic_ms
from kcore.transports.loops import Cancellable, Loop, Ways, ways_of
from kcore.transports.sockets import SocketOptions, addresses, as_ascii, start_connect

Answer = list[Address] | OSError | ValueError
_Name = tuple[str, int]

# An answer that nobody has asked for again by then is thrown away: its link was given up.
_FRESH_MS: Final = 10_000


class AsyncioTransport:
    """Without a loop until `bind`: what is watched before is watched from then on."""

    name = "asyncio"
    io_flags = 0

    def __init__(self, options: SocketOptions | None = None) -> None:
        self._options = options or SocketOptions()
        self._loop: Loop | None = None
        self._ways: Ways | None = None
        self._ring: Callable[[], None] = lambda: None
        self._watched: dict[int, int] = {}  # fd -> bits
        self._ready: dict[int, int] = {}
        self._asking: dict[_Name, Cancellable] = {}
        self._answers: dict[_Name, tuple[Answer, int]] = {}  # and until when it is one

    def bind(self, loop: Loop, ring: Callable[[], None]) -> None:
        """Use this loop; call `ring()`, from the loop, whenever a step is to be made.

        UsageError: it watches no sockets but its own (PySide6's QtAsyncio, Windows' proactor).
        """
        self._loop, self._ways, self._ring = loop, ways_of(loop), ring
        watched, self._watched = self._watched, {}
        try:
            for fd, events in watched.items():
                self.watch(fd, events)
        except NotImplementedError as error:
            self._loop = None
            raise UsageError(
                f"the running event loop, a {type(loop).__module__}.{type(loop).__qualname__}, has"
                " no add_reader and add_writer: run one that has, such as asyncio's selector loop"
                " or uvloop's, or use the blocking clients"
            ) from error

    def resolve(self, host: str, port: int) -> Sequence[Address] | None:
        """At once for addresses; for names when the loop's resolver has answered."""
        name = (host, port)
        self._drop_stale()
        answer, _ = self._answers.pop(name, (None, 0))
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        with suppress(socket.gaierror):
            numeric = socket.AI_NUMERICHOST
            return addresses(
                socket.getaddrinfo(as_ascii(host), port, type=socket.SOCK_STREAM, flags=numeric)
            )
        if name not in self._asking and self._ways is not None:
            self._asking[name] = self._ways.spawn(self._ask, self._loop, name)
        return None

    async def _ask(self, loop: Loop, name: _Name) -> None:
        try:
            found = await loop.getaddrinfo(*name, type=socket.SOCK_STREAM)
            answer: Answer = addresses(found)
        except (OSError, ValueError) as error:
            answer = error
        except Exception as error:  # noqa: BLE001 - of the loop's executor; tried again
            answer = OSError(str(error))
        finally:
            self._asking.pop(name, None)
        self._drop_stale()
        self._answers[name] = answer, monotonic_ms() + _FRESH_MS
        self._ring()

    def _drop_stale(self) -> None:
        now_ms = monotonic_ms()
        for name, (_, until_ms) in [*self._answers.items()]:
            if until_ms <= now_ms:
                del self._answers[name]

    def connect(self, address: Address) -> socket.socket:
        """A non-blocking socket on its way."""
        return start_connect(socket.socket, address, self._options)

    def established(self, sock: socket.socket, _host: str, /) -> socket.socket:
        """As it is."""
        return sock

    def watch(self, fd: int, events: int) -> None:
        """Tell the loop what has changed."""
        known, self._watched[fd] = self._watched.get(fd, 0), events
        loop = self._loop
        if loop is None or known == events:
            return
        changed = known ^ events
        if changed & READABLE:
            if events & READABLE:
                loop.add_reader(fd, self._fired, fd, READABLE)
            else:
                loop.remove_reader(fd)
        if changed & WRITABLE:
            if events & WRITABLE:
                loop.add_writer(fd, self._fired, fd, WRITABLE)
            else:
                loop.remove_writer(fd)

    def unwatch(self, fd: int) -> None:
        """Take it out of the loop, which may be closed by now."""
        if fd not in self._watched:
            return
        loop = self._loop
        if loop is not None and not loop.is_closed():
            # Both, whatever is noted: a `watch` may have been struck. What the loop kept of this fd
            # would leave the next socket of the same number deaf.
            for remove in (loop.remove_reader, loop.remove_writer):
                with suppress(OSError):  # the selector's own books were struck
                    remove(fd)
        self._ready.pop(fd, None)
        del self._watched[fd]

    def _fired(self, fd: int, events: int) -> None:
        self._ready[fd] = self._ready.get(fd, 0) | events
        self._ring()

    def look(self) -> None:
        """Note what is ready now, told by the loop or not (yet)."""
        kind = getattr(select, "poll", None)
        if kind is None:  # not everywhere
            return
        poll = kind()
        for fd, events in self._watched.items():
            poll.register(fd, events)  # the pump's bits are those of poll(2)
        for fd, events in poll.poll(0):
            self._ready[fd] = self._ready.get(fd, 0) | events

    def wait(self, _timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """What the loop has said since the last time: waiting is the loop's."""
        if not self._ready:
            return ()
        ready, self._ready = self._ready, {}
        return [*ready.items()]

    def close(self) -> None:
        """Let go of the loop. Idempotent."""
        for fd in list(self._watched):
            self.unwatch(fd)
        if self._loop is not None and not self._loop.is_closed():
            for task in self._asking.values():
                task.cancel()
        self._asking.clear()
        self._answers.clear()
        self._ring = lambda: None

    def abandon(self) -> None:
        """The loop's own set of descriptors is shared with the parent: it is left alone."""
        self._watched.clear()
        self._ready.clear()
        self._loop = None
