"""A TCP proxy that misbehaves on request: it cuts, refuses, stalls, delays and splits what passes
through.

    with TcpProxy(("127.0.0.1", 9092)) as proxy:
        connect_to(proxy.host, proxy.port)
        proxy.stall()           # both directions stop; bytes wait in the kernel
        proxy.resume()
        proxy.cut()             # every connection ends now (FIN); cut(reset=True) sends RST
        proxy.down()            # and new ones are refused, as if the process had died
        proxy.up()              # the same port listens again

One thread does all the work; every method may be called from any other and returns when it is done.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Self

from kcore.transports.waker import Waker

_LINGER_RESET = struct.pack("ii", 1, 0)
_QUEUE_BYTES_MAX = 1 << 20  # a flow that waits for its sink stops reading its source


class _Flow:
    """One direction of one connection."""

    def __init__(self, source: socket.socket, sink: socket.socket, upwards: bool) -> None:
        self.source = source
        self.sink = sink
        self.upwards = upwards
        self.queue: deque[tuple[float, bytes]] = deque()  # when due, what
        self.queued_bytes = 0
        self.ended = False  # the source said so
        self.finished = False  # and the sink was told


class TcpProxy:
    """One listening port in front of one target address.

    chunk_bytes: the most that is passed on at once (1: byte by byte). delay_ms: how long each chunk
    is held. Both may be set at any time. accepted: connections taken so far. bytes_up, bytes_down:
    passed on so far, to the target and back.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        target: tuple[str, int],
        *,
        port: int = 0,
        chunk_bytes: int = 65536,
        delay_ms: int = 0,
    ) -> None:
        self.target = target
        self.port = port
        self.chunk_bytes = chunk_bytes
        self.delay_ms = delay_ms
        self.accepted = 0
        self.bytes_up = 0
        self.bytes_down = 0
        self._flowing = True
        self._closing = False
        self._pairs: list[tuple[_Flow, _Flow]] = []
        self._listener: socket.socket | None = None
        self._commands: deque[Callable[[], None]] = deque()
        self._waker = Waker()
        self._listen()
        self._thread = threading.Thread(target=self._run, name="tcp-proxy", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._pairs)

    def up(self) -> None:
        """Listen (again) on the same port. Harmless when listening."""
        self._do(self._listen)

    def down(self, *, reset: bool = False) -> None:
        """Refuse new connections and end those there are."""
        self._do(lambda: (self._deafen(), self._cut(reset)))

    def cut(self, *, reset: bool = False) -> None:
        """End every connection on both sides; new ones are taken."""
        self._do(lambda: self._cut(reset))

    def stall(self) -> None:
        """Pass nothing on until `resume`; connections stay up, new ones are taken."""
        self._do(lambda: setattr(self, "_flowing", False))

    def resume(self) -> None:
        """Flow again, what waited first."""
        self._do(lambda: setattr(self, "_flowing", True))

    def close(self) -> None:
        """End everything, join the thread. Idempotent."""
        if self._thread.is_alive():
            self._do(lambda: setattr(self, "_closing", True))
            self._thread.join(10)
            self._waker.close()  # not by the thread: it may be done before `_do` has woken it

    def _do(self, command: Callable[[], object]) -> None:
        done = threading.Event()
        failed: list[BaseException] = []

        def run() -> None:
            try:
                command()
            except BaseException as error:  # noqa: BLE001 (handed to the caller)
                failed.append(error)
            done.set()

        self._commands.append(run)
        self._waker.wake()
        if not done.wait(10):
            raise TimeoutError("the proxy's thread does not answer")
        if failed:
            raise failed[0]

    # In the proxy's thread --------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            for fd, events in self._wait():
                if fd == self._waker.fd:
                    self._waker.take()
                elif self._listener is not None and fd == self._listener.fileno():
                    self._accept()
                else:
                    self._move(fd, events)
            while self._commands:
                self._commands.popleft()()
        self._deafen()
        self._cut(reset=False)

    def _wait(self) -> list[tuple[int, int]]:
        wanted = {self._waker.fd: select.POLLIN}
        if self._listener is not None:
            wanted[self._listener.fileno()] = select.POLLIN
        due = float("inf")
        now = time.monotonic()
        for flow in self._flows() if self._flowing else ():
            if not flow.ended and flow.queued_bytes < _QUEUE_BYTES_MAX:
                fd = flow.source.fileno()
                wanted[fd] = wanted.get(fd, 0) | select.POLLIN
            if flow.queue and flow.queue[0][0] <= now:
                fd = flow.sink.fileno()
                wanted[fd] = wanted.get(fd, 0) | select.POLLOUT
            elif flow.queue:
                due = min(due, flow.queue[0][0])
        poll = select.poll()
        for fd, events in wanted.items():
            poll.register(fd, events)
        return poll.poll(None if due == float("inf") else max(0.0, due - now) * 1000 + 1)

    def _flows(self) -> list[_Flow]:
        return [flow for pair in self._pairs for flow in pair]

    def _accept(self) -> None:
        assert self._listener is not None
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(self.target, timeout=10)
        except OSError:
            self._close_socket(near, reset=True)
            return
        for sock in (near, far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setblocking(False)
        self.accepted += 1
        self._pairs.append((_Flow(near, far, True), _Flow(far, near, False)))

    def _move(self, fd: int, events: int) -> None:
        for pair in list(self._pairs):
            try:
                for flow in pair:
                    if flow.source.fileno() == fd and events & ~select.POLLOUT:
                        self._take(flow)
                    if flow.sink.fileno() == fd and events & ~select.POLLIN:
                        self._give(flow)
                if all(flow.finished for flow in pair):
                    self._end(pair, reset=False)
            except OSError as error:
                self._end(pair, reset=isinstance(error, ConnectionResetError))

    def _take(self, flow: _Flow) -> None:
        if flow.ended or flow.queued_bytes >= _QUEUE_BYTES_MAX:
            return
        with contextlib.suppress(BlockingIOError):
            data = flow.source.recv(self.chunk_bytes)
            flow.ended = not data
            flow.queued_bytes += len(data)
            flow.queue.append((time.monotonic() + self.delay_ms / 1000, data))

    def _give(self, flow: _Flow) -> None:
        if not flow.queue or flow.queue[0][0] > time.monotonic():
            return
        due, data = flow.queue.popleft()
        if not data:  # a half-close passes through as one
            flow.sink.shutdown(socket.SHUT_WR)
            flow.finished = True
            return
        try:
            sent = flow.sink.send(data)
        except BlockingIOError:
            sent = 0
        flow.queued_bytes -= sent
        if flow.upwards:
            self.bytes_up += sent
        else:
            self.bytes_down += sent
        if sent < len(data):
            flow.queue.appendleft((due, data[sent:]))

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = socket.create_server((self.host, self.port), backlog=512)
            self.port = self._listener.getsockname()[1]

    def _deafen(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _cut(self, reset: bool) -> None:
        for pair in list(self._pairs):
            self._end(pair, reset)

    def _end(self, pair: tuple[_Flow, _Flow], reset: bool) -> None:
        self._pairs.remove(pair)
        for flow in pair:
            self._close_socket(flow.source, reset)

    def _close_socket(self, sock: socket.socket, reset: bool) -> None:
        with contextlib.suppress(OSError):
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
            else:
                sock.shutdown(socket.SHUT_RDWR)  # FIN, even with unread bytes
        with contextlib.suppress(OSError):
            sock.close()
