"""The serving pump: listening sockets, clients' connections, and the cores that answer them.

One daemon thread drives every core, one input at a time, and drains all of them after it: what one
core does may let another one answer. Other threads come in by `call`, which runs a function in that
thread. An error in a core (a bug, never a client's doing) costs the link it came with and is kept
in `faults`.

Where TLS is spoken (`tls_serving.py`) a core is told of a connection when it is there, of its
client when the handshake is done, and of nothing else of it.

Nobody is starved: a turn takes from each connection one read, and one request behind an answer that
is written. Where descriptors have run out, nobody is accepted until one is free.
"""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kcore.actions import Action, Disconnect, Send, SendParts
from kcore.timers import NEVER
from kcore.transports.core import monotonic_ms
from kcore.transports.forking import release_in_child
from kcore.transports.sockets import is_loopback, unpace
from kcore.transports.waker import Waker

if TYPE_CHECKING:  # at run time only where TLS is spoken
    from kcore.transports.tls_serving import TlsDoor, TlsEnd

# Connections at a time; more are closed as they come.
CONNECTIONS_MAX: Final = 20_000
# Connections taken from one listener in a turn, so that a flood of them starves nobody.
ACCEPTS_PER_TURN: Final = 64
# What accept says when the process, or the machine, has no room for one more.
_EXHAUSTED: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
# How soon after that it is tried again if no connection of ours has ended: others may have let go.
ACCEPT_RETRY_MS: Final = 1_000
# Buffers handed to the kernel in one go (Linux: UIO_MAXIOV).
_BUFFERS_MAX: Final = 1_024
# Errors kept for who asks; the log has all of them.
FAULTS_MAX: Final = 100
_BACKLOG: Final = 1_024
_WAIT_S_MAX: Final = 3_600.0

_log = logging.getLogger(__name__)
_R = TypeVar("_R")


class ServingCore(Protocol):
    """The half of a serving core that its driver touches. Times are monotonic ms."""

    def handle_connected(self, link: int, host: str, now_ms: int, /) -> None:
        """A client connected."""

    def handle_secured(self, link: int, name: str | None, now_ms: int, /) -> None:
        """TLS stands; whose certificate the client has shown, None if it has none. Only where TLS
        is spoken.
        """

    def receive_buffer(self, link: int) -> memoryview:
        """Writable room, never empty. LookupError: the link is not known."""

    def receive_advance(self, link: int, n: int, now_ms: int) -> None:
        """The first `n` bytes of the buffer lent are filled."""

    def handle_sent(self, link: int, now_ms: int) -> None:
        """Everything sent on the link so far is written."""

    def handle_closed(self, link: int, why: str, now_ms: int, /) -> None:
        """The connection is gone."""

    def handle_deadline(self, now_ms: int) -> None:
        """The time `deadline()` named has come."""

    def next_action(self) -> Action | None:
        """The next Send or Disconnect; None when there is nothing to do."""

    def deadline(self) -> int:
        """When `handle_deadline` is to be called; NEVER if silence means nothing now."""

    def reads(self, link: int) -> bool:
        """Whether bytes of the link are wanted now."""


class _Client:
    """A connection: its socket and what is not written yet. stream: what is read and written, which
    is the socket unless there is TLS in between.
    """

    __slots__ = ("core", "mask", "number", "out", "sock", "stream", "tls", "turn")

    def __init__(
        self, number: int, core: ServingCore, sock: socket.socket, tls: TlsEnd | None
    ) -> None:
        self.number = number
        self.core = core
        self.sock = sock
        self.tls = tls
        self.stream: Any = sock if tls is None else tls
        self.out: deque[bytes | memoryview] = deque()
        self.mask = 0
        self.turn = 0  # the last in which its core was told that all is written


class Server:
    """Serves each core on its listening sockets, which it takes over.

    clock: monotonic ms; what the cores are told. selector: what waits for the listeners and their
    connections, if they are no sockets. tls: makes an end of TLS of a connection; None: they are
    plain.
    """

    def __init__(
        self,
        listeners: list[tuple[socket.socket, ServingCore]],
        clock: Callable[[], int] = monotonic_ms,
        *,
        max_connections: int = CONNECTIONS_MAX,
        selector: selectors.BaseSelector | None = None,
        tls: TlsDoor | None = None,
    ) -> None:
        self.faults: deque[Exception] = deque(maxlen=FAULTS_MAX)
        self._clock = clock
        self._max_connections = max_connections
        self._tls = tls
        self._listeners = dict(listeners)
        self._cores = list(dict.fromkeys(core for _, core in listeners))
        self._selector = selector or selectors.DefaultSelector()
        self._waker = Waker()
        self._clients: dict[int, _Client] = {}
        self._last = 0  # link number given last
        self._turn_number = 0
        self._obeying = False
        self._sent: deque[_Client] = deque()  # whose core is to be told that all is written
        self._told: deque[_Client] = deque()  # and who had that in this turn already
        self._unread: set[_Client] = set()  # of whom TLS may have bytes that no socket tells of
        self._resting: list[socket.socket] = []  # listeners, while there are no descriptors
        self._resume_at = NEVER
        self._deadline = 0  # the first turn asks
        self._calls: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()  # around _calls and _stopped
        self._stopped = False
        for listener in self._listeners:
            self._open(listener)
        self._selector.register(self._waker.fd, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="kcore-server", daemon=True)
        release_in_child(self)

    # From other threads --------------------------------------------------------------------------

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def call(self, function: Callable[[int], _R]) -> _R:
        """Run `function(now_ms)` between two inputs of the cores, and give its result or its error.

        RuntimeError if the server has been stopped.
        """
        if threading.current_thread() is self._thread:
            return function(self._clock())
        future: Future[_R] = Future()

        def run() -> None:
            try:
                future.set_result(function(self._clock()))
            except BaseException as error:  # noqa: BLE001 - it is the caller's, there
                future.set_exception(error)

        with self._lock:
            if self._stopped:
                raise RuntimeError("the server has been stopped, or is that of a parent process")
            self._calls.append(run)
        self._waker.wake()
        return future.result()

    def wake(self) -> None:
        """Have the clock read again: it has been moved."""
        self._waker.wake()

    def stop(self) -> None:
        """Close every socket and end the thread. Idempotent."""
        with self._lock:
            ended, self._stopped = self._stopped, True
        self._waker.wake()
        if self._thread.is_alive():
            self._thread.join()
        elif not ended:  # it was never started
            self._end()

    # In the serving thread, by `call` -------------------------------------------------------------

    def listen(self, listener: socket.socket, core: ServingCore) -> None:
        """Let clients of a core connect here, too."""
        self._listeners[listener] = core
        self._open(listener)

    def refuse(self, core: ServingCore) -> None:
        """Close the listening sockets of a core; its connections are its own to end."""
        for listener in [one for one, served in self._listeners.items() if served is core]:
            del self._listeners[listener]
            if listener in self._resting:
                self._resting.remove(listener)
            else:
                self._selector.unregister(listener)
            listener.close()

    def look_again(self) -> None:
        """Ask every core anew what it wants to read: it was told something that is no input."""
        for client in list(self._clients.values()):
            self._watch(client)

    def _open(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        listener.listen(_BACKLOG)
        self._selector.register(listener, selectors.EVENT_READ)

    def _rest(self, listener: socket.socket) -> None:
        """Accept nobody for a while: to ask again at once would only spin."""
        self._selector.unregister(listener)
        self._resting.append(listener)
        self._resume_at = self._clock() + ACCEPT_RETRY_MS

    def _resume(self) -> None:
        self._resume_at = NEVER
        resting, self._resting = self._resting, []
        for listener in resting:
            self._selector.register(listener, selectors.EVENT_READ)

    # Forks and the loop --------------------------------------------------------------------------

    def forked(self) -> None:
        """In the child of a fork, which has no thread that serves: let go of every socket."""
        if not self._stopped:
            self._stopped = True
            self._lock = threading.Lock()  # a thread that does not exist here may have had it
            for client in self._clients.values():
                client.sock.close()
            self._clients.clear()
            with suppress(OSError):  # a kqueue has no fd here
                self._close()

    def _run(self) -> None:
        try:
            while not self._stopped:
                self._turn()
        finally:
            with self._lock:
                self._stopped = True
            self._end()

    def _turn(self) -> None:
        """Wait for something, feed it to the cores, obey them."""
        self._turn_number += 1
        if self._told:
            self._sent, self._told = self._told, self._sent
            self._obey()
            self._deadline = 0  # it may be another now
        for key, mask in self._selector.select(self._wait_s()):
            if key.fileobj in self._listeners:
                self._accept(key.fileobj)
            elif key.data is None:
                self._waker.take()
            elif key.data.number in self._clients:
                self._serve(key.data, mask)
        if self._unread:
            self._read_on()
        while self._calls:
            self._calls.popleft()()
            self._obey()
        self._expire()

    def _expire(self) -> None:
        """Tell the cores whose time has come; `_deadline`: when the next one's does."""
        now_ms = self._clock()
        if self._resume_at <= now_ms:
            self._resume()
        self._deadline = min([core.deadline() for core in self._cores], default=NEVER)
        if self._deadline <= now_ms:
            for core in self._cores:
                if core.deadline() <= now_ms:
                    self._feed(None, partial(core.handle_deadline, now_ms))
            self._deadline = min(core.deadline() for core in self._cores)

    def _wait_s(self) -> float:
        if self._calls or self._told or self._unread:
            return 0
        deadline = min(self._deadline, self._resume_at)
        return min(max(0.0, (deadline - self._clock()) / 1000), _WAIT_S_MAX)

    def _feed(self, client: _Client | None, put: Callable[[], None]) -> None:
        """One input, then everything that follows from it."""
        try:
            put()
        except Exception as error:  # noqa: BLE001 - one request must not end everybody's server
            self._note_fault(client, error)
        self._obey()

    def _note_fault(self, client: _Client | None, error: Exception) -> None:
        """A core has failed: that costs the link it came with."""
        self.faults.append(error)
        if client is not None:
            self._lose(client, "fault")
        try:
            _log.exception("a serving core failed", exc_info=error)
        except Exception as unheard:  # noqa: BLE001 - who reads the log must not end it either
            self.faults.append(unheard)

    def _obey(self) -> None:
        """Carry out actions until there are none, and tell the cores what is written."""
        # A link that ends while one is carried out is an input by itself. What follows from it is
        # left to whoever is at it: a thousand may have ended, and each would be a call in a call.
        if self._obeying:
            return
        self._obeying = True
        try:
            self._drain()
        finally:
            self._obeying = False

    def _drain(self) -> None:
        busy = True
        while busy:
            busy = False
            for core in self._cores:
                action = core.next_action()
                while action is not None:
                    busy = True
                    self._carry_out(action)
                    action = core.next_action()
            while self._sent:
                busy = True
                client = self._sent.popleft()
                if client.turn == self._turn_number:  # others come first
                    self._told.append(client)
                elif client.number in self._clients and not client.out:
                    client.turn = self._turn_number
                    sent = partial(client.core.handle_sent, client.number, self._clock())
                    self._feed(client, sent)
                    self._watch(client)

    def _carry_out(self, action: Action) -> None:
        client = self._clients.get(action.link)
        if client is None:
            return
        if isinstance(action, Send):
            if isinstance(action, SendParts):
                client.out.extend(action.parts)
            else:
                client.out.append(action.data)
            self._write(client)
        elif isinstance(action, Disconnect):
            self._forget(client)

    # Sockets -------------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket) -> None:
        core = self._listeners[listener]
        for _ in range(ACCEPTS_PER_TURN):
            try:
                sock, address = listener.accept()
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._rest(listener)
                return  # or nobody more, or somebody who is gone already
            if len(self._clients) >= self._max_connections:
                sock.close()
                continue
            sock.setblocking(False)
            with suppress(OSError):  # not TCP
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            host = address[0] if isinstance(address, tuple) else ""
            if is_loopback(host):
                unpace(sock)
            self._last += 1
            tls = None if self._tls is None else self._tls(sock)
            client = _Client(self._last, core, sock, tls)
            self._clients[client.number] = client
            self._greet(client, host)

    def _greet(self, client: _Client, host: str) -> None:
        """A client is there: tell its core."""
        core, now_ms = client.core, self._clock()
        self._feed(client, lambda: core.handle_connected(client.number, host, now_ms))
        self._watch(client)

    def _serve(self, client: _Client, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._write(client)
            self._obey()
        if mask & selectors.EVENT_READ and client.number in self._clients:
            self._read(client)
        self._watch(client)

    def _read_on(self) -> None:
        """Go on with those of whom more may be there than their sockets tell."""
        unread, self._unread = self._unread, set()
        for client in unread:
            if client.number in self._clients:
                self._serve(client, selectors.EVENT_READ)

    def _secured(self, client: _Client, tls: TlsEnd) -> bool:
        """Go on with the handshake; whether it is done, and the core told."""
        try:
            done = tls.handshake()
        except OSError as error:  # ssl.SSLError is one
            self._lose(client, str(error))
            return False
        if done:
            core, now_ms = client.core, self._clock()
            self._feed(client, lambda: core.handle_secured(client.number, tls.peer_name(), now_ms))
        return done and client.number in self._clients

    def _read(self, client: _Client) -> None:
        if not client.core.reads(client.number):
            return
        tls = client.tls
        if tls is not None and not tls.ready and not self._secured(client, tls):
            return
        try:
            size = client.stream.recv_into(client.core.receive_buffer(client.number))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(client, str(error))
            return
        except Exception as error:  # noqa: BLE001 - of the core, which had no room
            self._note_fault(client, error)
            return
        if size == 0:
            self._lose(client, "closed by the client")
            return
        self._feed(client, lambda: client.core.receive_advance(client.number, size, self._clock()))

    def _write(self, client: _Client) -> None:
        """Write what the socket takes. The core is told when that was all."""
        out = client.out
        try:
            while out:
                if len(out) == 1:
                    size = client.stream.send(out[0])
                else:
                    size = client.stream.sendmsg(islice(out, _BUFFERS_MAX))
                while out and size >= len(out[0]):
                    size -= len(out.popleft())
                if size:
                    out[0] = memoryview(out[0])[size:]
            if client.tls is not None and not client.tls.flush():
                raise BlockingIOError
        except (BlockingIOError, InterruptedError):
            self._watch(client)
            return
        except OSError as error:
            self._lose(client, str(error))
            return
        self._sent.append(client)

    def _watch(self, client: _Client) -> None:
        """Ask the kernel for what is of interest now."""
        if client.number not in self._clients:
            return
        mask = selectors.EVENT_WRITE if client.out else 0
        if client.core.reads(client.number):
            mask |= selectors.EVENT_READ
        if client.tls is not None:
            if client.tls.unread and mask & selectors.EVENT_READ:
                self._unread.add(client)
            if client.tls.unsent:
                mask |= selectors.EVENT_WRITE
        if mask == client.mask:
            return
        if not client.mask:
            self._selector.register(client.sock, mask, client)
        elif mask:
            self._selector.modify(client.sock, mask, client)
        else:
            self._selector.unregister(client.sock)
        client.mask = mask

    def _lose(self, client: _Client, why: str) -> None:
        """The connection ended on its own."""
        if client.number in self._clients:
            self._forget(client)
            self._feed(None, lambda: client.core.handle_closed(client.number, why, self._clock()))

    def _forget(self, client: _Client) -> None:
        del self._clients[client.number]
        if client.mask:
            self._selector.unregister(client.sock)
            client.mask = 0
        client.stream.close()
        if self._resting:
            self._resume()

    def _end(self) -> None:
        """Who waits has an answer, and nothing is left open."""
        while self._calls:
            self._calls.popleft()()
        self._release()

    def _release(self) -> None:
        for client in list(self._clients.values()):
            self._forget(client)
        self._close()

    def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._waker.close()
        self._selector.close()
