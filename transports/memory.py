"""Connections inside this process: no ports, no sockets, no kernel.

A `MemoryNetwork` has listeners under (host, port); `MemoryTransport` connects to them, and a
`Server` with a `MemorySelector` serves them. An end of a connection has the few methods of a socket
that pump and server use, with the same meaning: non-blocking, partial writes when the other end
does not read (WINDOW_BYTES), 0 bytes at the end of the stream, BrokenPipeError behind it.

Each end may be used by another thread. Nothing here has a file descriptor save one waker a
selector, by which a wait in the kernel is broken when the other thread has written.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final

from kcore.transports.core import READABLE, WRITABLE, Address
from kcore.transports.waker import Waker

# What one direction holds before its writer has to wait; about what the kernel gives a local TCP
# connection, so that the same paths are taken.
WINDOW_BYTES: Final = 1 << 20
# Numbers that stand where descriptors do; none of the kernel's is as large.
_FIRST_NUMBER: Final = 1 << 40

_READ: Final = selectors.EVENT_READ
_WRITE: Final = selectors.EVENT_WRITE

_numbers = count(_FIRST_NUMBER)


class _Watched:
    """What a MemorySelector can watch: it says what it is ready for, and when that may change."""

    def __init__(self) -> None:
        self._number = next(_numbers)
        self._selector: MemorySelector | None = None

    def fileno(self) -> int:
        """A number nothing else in this process has; no descriptor."""
        return self._number

    def watched_by(self, selector: MemorySelector | None) -> None:
        """Whom to tell of changes."""
        self._selector = selector

    def changed(self) -> None:
        """It may be ready for something now."""
        selector = self._selector
        if selector is not None:
            selector.touch(self._number)

    def readiness(self) -> int:
        """EVENT_READ and EVENT_WRITE, as they are now."""
        raise NotImplementedError


class _Pipe:
    """One direction. One thread writes, one reads; neither holds a lock, so that a fork at any time
    leaves nothing locked in the child: each count has one writer, and a deque's ends are atomic.
    """

    __slots__ = ("_chunks", "_taken", "_written", "ended")

    def __init__(self) -> None:
        self._chunks: deque[memoryview] = deque()
        self._written = 0
        self._taken = 0
        self.ended = False

    @property
    def size(self) -> int:
        """Bytes that were written and not read."""
        return self._written - self._taken

    def write(self, data: bytes | memoryview) -> int:
        """Take what there is room for. BlockingIOError if there is none, BrokenPipeError."""
        if self.ended:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        room = min(len(data), WINDOW_BYTES - self.size)
        if room <= 0 < len(data):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._chunks.append(memoryview(bytes(memoryview(data)[:room])))
        self._written += room
        return room

    def read_into(self, room: memoryview) -> int:
        """Fill `room` as far as possible; 0 at the end. BlockingIOError if there is nothing yet."""
        ended = self.ended  # first: what was written before the end is read before it
        filled = 0
        while self._chunks and filled < len(room):
            chunk = self._chunks[0]
            size = min(len(chunk), len(room) - filled)
            room[filled : filled + size] = chunk[:size]
            filled += size
            if size == len(chunk):
                self._chunks.popleft()
            else:
                self._chunks[0] = chunk[size:]
        self._taken += filled
        if not filled and not ended:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return filled

    def end(self) -> None:
        """No more is written."""
        self.ended = True


class MemorySocket(_Watched):
    """One end of a connection. Made in pairs: `pair`."""

    family = socket.AF_UNSPEC

    def __init__(self, incoming: _Pipe, outgoing: _Pipe, name: Any, peer_name: Any) -> None:
        super().__init__()
        self._incoming = incoming
        self._outgoing = outgoing
        self._name = name
        self._peer_name = peer_name
        self._closed = False
        self.peer: MemorySocket | None = None

    def send(self, data: bytes | memoryview, _flags: int = 0) -> int:
        """How much of it was taken. BlockingIOError, BrokenPipeError, OSError once closed."""
        self._check()
        sent = self._outgoing.write(data)
        self._tell_peer()
        return sent

    def sendmsg(self, buffers: Iterable[bytes | memoryview], *_unused: Any) -> int:
        """`send` of several in a row."""
        self._check()
        sent = 0
        for data in buffers:
            try:
                part = self._outgoing.write(data)
            except BlockingIOError:
                if sent:
                    break
                raise
            sent += part
            if part < len(data):
                break
        self._tell_peer()
        return sent

    def recv_into(self, buffer: memoryview | bytearray, nbytes: int = 0, _flags: int = 0) -> int:
        """How many bytes of `buffer` were filled; 0 at the end. BlockingIOError, OSError."""
        self._check()
        room = memoryview(buffer)
        count = self._incoming.read_into(room[:nbytes] if nbytes else room)
        # As it is after that: whoever has found the window full, even just now, may write on.
        if self._incoming.size + count >= WINDOW_BYTES:
            self._tell_peer()
        return count

    def close(self) -> None:
        """The other end reads what is left, then the end. Idempotent."""
        if not self._closed:
            self._closed = True
            self._outgoing.end()
            self._incoming.end()
            self._tell_peer()

    def readiness(self) -> int:
        """A closed direction is ready: the call says so at once."""
        reads = self._incoming.size or self._incoming.ended
        writes = self._outgoing.size < WINDOW_BYTES or self._outgoing.ended
        return (_READ if reads else 0) | (_WRITE if writes else 0)

    def setblocking(self, _flag: bool, /) -> None:
        """It never blocks."""

    def setsockopt(self, *_option: Any) -> None:
        """It has no options."""

    def getsockopt(self, *_option: Any) -> int:
        """SO_ERROR: none."""
        return 0

    def getsockname(self) -> Any:
        """The name of this end."""
        return self._name

    def getpeername(self) -> Any:
        """The name of the other end."""
        return self._peer_name

    def _check(self) -> None:
        if self._closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def _tell_peer(self) -> None:
        if self.peer is not None:
            self.peer.changed()


def pair(client_name: Any, server_name: Any) -> tuple[MemorySocket, MemorySocket]:
    """The two ends of a connection."""
    up, down = _Pipe(), _Pipe()
    client = MemorySocket(down, up, client_name, server_name)
    server = MemorySocket(up, down, server_name, client_name)
    client.peer, server.peer = server, client
    return client, server


class MemoryListener(_Watched):
    """Where connections come in, for a Server."""

    def __init__(self, network: MemoryNetwork, address: tuple[str, int]) -> None:
        super().__init__()
        self._network = network
        self._address = address
        self._waiting: deque[MemorySocket] = deque()
        self._closed = False

    def offer(self, sock: MemorySocket) -> None:
        """A client is there."""
        self._waiting.append(sock)
        if self._closed:  # by another thread, since the client has found it
            self._hang_up()
        self.changed()

    def accept(self) -> tuple[MemorySocket, tuple[str, int]]:
        """The next client's connection and name. BlockingIOError if there is none."""
        try:
            sock = self._waiting.popleft()
        except IndexError:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        return sock, sock.getpeername()

    def listen(self, _backlog: int = 0, /) -> None:
        """It does."""

    def setblocking(self, _flag: bool, /) -> None:
        """It never blocks."""

    def getsockname(self) -> tuple[str, int]:
        """Where it listens."""
        return self._address

    def readiness(self) -> int:
        """Whether somebody waits."""
        return _READ if self._waiting else 0

    def close(self) -> None:
        """Nobody connects any more; who has not been accepted yet is gone. Idempotent."""
        self._closed = True
        self._network.forget(self._address, self)
        self._hang_up()

    def _hang_up(self) -> None:
        with suppress(IndexError):
            while True:
                self._waiting.popleft().close()


class MemoryNetwork:
    """Who listens where."""

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, int], MemoryListener] = {}
        self._clients = count(1)

    def listen(self, host: str, port: int) -> MemoryListener:
        """Listen there. OSError if somebody does already."""
        if (host, port) in self._listeners:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        listener = self._listeners[host, port] = MemoryListener(self, (host, port))
        return listener

    def connect(self, host: str, port: int) -> MemorySocket:
        """A connection that stands. ConnectionRefusedError if nobody listens there."""
        listener = self._listeners.get((host, port))
        if listener is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        client, server = pair(("client", next(self._clients)), (host, port))
        listener.offer(server)
        return client

    def forget(self, address: tuple[str, int], listener: MemoryListener) -> None:
        """It listens no more."""
        if self._listeners.get(address) is listener:
            del self._listeners[address]


class MemorySelector(selectors.BaseSelector):
    """Waits for ends of connections in memory, and for descriptors of the kernel beside them.

    One thread registers and waits; `touch` may come from any, and takes no lock.
    """

    def __init__(self) -> None:
        self._kernel = selectors.DefaultSelector()
        self._bell = Waker()
        self._kernel.register(self._bell.fd, _READ)
        self._keys: dict[int, selectors.SelectorKey] = {}  # those in memory, by number
        self._touched: deque[int] = deque()  # may have become ready
        self._hot: set[int] = set()  # may be ready: looked at each time until they are not
        self._waiting = False  # in the kernel: the bell has to be rung

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As any selector, and of what is in memory. KeyError if it is registered already."""
        if not isinstance(fileobj, _Watched):
            return self._kernel.register(fileobj, events, data)
        if fileobj.fileno() in self._keys:
            raise KeyError(f"{fileobj!r} is registered already")
        fileobj.watched_by(self)
        return self._enter(fileobj, events, data)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Change what is waited for. KeyError if it is not registered."""
        if not isinstance(fileobj, _Watched):
            return self._kernel.modify(fileobj, events, data)
        if fileobj.fileno() not in self._keys:
            raise KeyError(f"{fileobj!r} is not registered")
        return self._enter(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Wait for it no more. KeyError if it is not registered."""
        if not isinstance(fileobj, _Watched):
            return self._kernel.unregister(fileobj)
        key = self._keys.pop(fileobj.fileno())
        fileobj.watched_by(None)
        return key

    def touch(self, number: int) -> None:
        """It may be ready now; from any thread."""
        self._touched.append(number)
        if self._waiting:
            self._waiting = False
            self._bell.wake()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Who is ready, after `timeout` seconds (None: for ever) at most; maybe nobody, early."""
        ready = self._look()
        self._waiting = not ready  # from here on a touch rings, and one before is seen now
        if self._touched and not ready:
            ready = self._look()
        idle = not ready and not self._touched
        found = self._kernel.select(timeout if idle else 0)
        self._waiting = False
        for key, mask in found:
            if key.fd == self._bell.fd:
                self._bell.take()
            else:
                ready.append((key, mask))
        return ready or self._look()

    def _look(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Who is ready of those in memory."""
        while self._touched:  # in this order: Ctrl-C may strike in between
            self._hot.add(self._touched[0])
            self._touched.popleft()
        ready = []
        for number in list(self._hot):
            key = self._keys.get(number)
            mask = 0
            if key is not None:
                assert isinstance(key.fileobj, _Watched)
                mask = key.events & key.fileobj.readiness()
            if key is not None and mask:
                ready.append((key, mask))
            else:
                self._hot.discard(number)
        return ready

    def close(self) -> None:
        """Free the descriptors. Idempotent."""
        self._keys.clear()
        self._kernel.close()
        self._bell.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Everything registered, by number."""
        known = self._kernel.get_map() or {}
        return {key.fd: key for key in known.values() if key.fd != self._bell.fd} | self._keys

    def _enter(self, thing: _Watched, events: int, data: Any) -> selectors.SelectorKey:
        number = thing.fileno()
        key = selectors.SelectorKey(thing, number, events, data)
        self._keys[number] = key
        self._hot.add(number)
        return key


class MemoryTransport:
    """Connects a client to what listens in `network`. For threads, not for greenlets."""

    name = "memory"
    io_flags = 0

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network
        self._selector = MemorySelector()
        self._ends: dict[int, MemorySocket] = {}  # those that are open, by number
        self._watched: dict[int, int] = {}  # number or descriptor -> bits

    def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Names are addresses here."""
        return [Address(socket.AF_UNSPEC, (host, port))]

    def connect(self, address: Address) -> Any:
        """A connection that stands already. ConnectionRefusedError if nobody listens."""
        host, port = address.sockaddr[:2]
        sock = self._network.connect(host, port)
        self._ends[sock.fileno()] = sock
        return sock

    def established(self, sock: Any, _host: str, /) -> Any:
        """As it is."""
        return sock

    def watch(self, fd: int, events: int) -> None:
        """Register, or change what is asked."""
        mask = (_READ if events & READABLE else 0) | (_WRITE if events & WRITABLE else 0)
        if fd in self._watched:
            self._selector.modify(self._ends.get(fd, fd), mask)
        else:
            self._selector.register(self._ends.get(fd, fd), mask)
        self._watched[fd] = events

    def unwatch(self, fd: int) -> None:
        """Unregister."""
        # Whatever is noted: a signal handler may have raised in the middle of it, or of a `watch`.
        with suppress(KeyError):
            self._selector.unregister(self._ends.get(fd, fd))
        self._watched.pop(fd, None)
        self._ends.pop(fd, None)

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """One select."""
        timeout = None if timeout_ms is None else timeout_ms / 1000
        return [
            (key.fd, (READABLE if mask & _READ else 0) | (WRITABLE if mask & _WRITE else 0))
            for key, mask in self._selector.select(timeout)
        ]

    def close(self) -> None:
        """Free the selector. Idempotent."""
        self._watched.clear()
        self._ends.clear()
        self._selector.close()

    abandon = close
