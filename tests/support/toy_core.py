"""A scripted core for driver tests: it writes down its inputs and asks for what the test tells it
to.

It speaks frames of a 4-byte length and a body, and holds its driver to the contract: at every
input, all actions asked for before have been taken.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Callable

from kcore.actions import Action, Connect, Disconnect, Send
from kcore.timers import NEVER


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def echo(sock: socket.socket) -> None:
    """The peer of a toy core: sends back what it hears."""
    while data := sock.recv(65536):
        sock.sendall(data)


class ContractError(AssertionError):
    """The driver gave an input while actions were left."""


class _Stream:
    def __init__(self) -> None:
        self.buffer = bytearray(4)
        self.filled = 0
        self.is_head = True


class ToyCore:
    """Implements kcore.transports.core.Core.

    begun, connected, closed, deadlines, frames: the inputs so far, as (link, ...) tuples where a
    link is meant.
    quiet: frames of which only actions come. quiet_deadlines: so do those.
    when_connected, when_frame, when_closed, when_deadline: scripts run inside the input.
    """

    def __init__(self) -> None:
        self.actions: deque[Action] = deque()
        self.begun: list[tuple[int, int]] = []
        self.held = False
        self.connected: list[int] = []
        self.closed: list[tuple[int, str, bool]] = []
        self.untrusted: list[int] = []
        self.by_proxy: list[int] = []
        self.deadlines: list[int] = []
        self.frames: list[tuple[int, bytes]] = []
        self.inputs = 0
        self.reads = 0
        self.at = NEVER
        self.quiet: set[bytes] = set()
        self.quiet_deadlines = False
        self.when_connected: Callable[[int], None] | None = None
        self.when_frame: Callable[[int, bytes], None] | None = None
        self.when_closed: Callable[[int], None] | None = None
        self.when_deadline: Callable[[int], None] | None = None
        self._streams: dict[int, _Stream] = {}
        self._last = 0
        self._now = 0

    # Script -----------------------------------------------------------------------------------

    def connect(self, host: str, port: int, address_index: int = 0) -> int:
        self._last += 1
        self._streams[self._last] = _Stream()
        self.actions.append(Connect(self._last, host, port, address_index))
        return self._last

    def send(self, link: int, data: bytes) -> None:
        self.actions.append(Send(link, data))

    def disconnect(self, link: int) -> None:
        del self._streams[link]
        self.actions.append(Disconnect(link))

    def filled(self) -> int:
        """How much of the frames under way has been read."""
        return sum(at.filled for at in self._streams.values() if not at.is_head)

    # Core -------------------------------------------------------------------------------------

    def begin_connecting(self, link: int, now_ms: int) -> None:
        self.begun.append((link, now_ms))

    def handle_connected(self, link: int, now_ms: int) -> None:
        self._begin(now_ms)
        self.connected.append(link)
        if self.when_connected:
            self.when_connected(link)

    def handle_data(self, link: int, data: bytes, now_ms: int) -> None:
        raise ContractError("the pump reads in place")

    def handle_closed(
        self,
        link: int,
        why: str,
        now_ms: int,
        *,
        more_addresses: bool = False,
        untrusted: bool = False,
        by_proxy: bool = False,
    ) -> None:
        self._begin(now_ms)
        self.closed.append((link, why, more_addresses))
        if untrusted:
            self.untrusted.append(link)
        if by_proxy:
            self.by_proxy.append(link)
        self._streams.pop(link, None)
        if self.when_closed:
            self.when_closed(link)

    def hold_back(self, late_ms: int) -> None:
        self.held = True

    def go_on(self, now_ms: int) -> None:
        self._begin(now_ms)
        self.held = False

    def handle_deadline(self, now_ms: int) -> bool | None:
        self.go_on(now_ms)
        if now_ms < self.at:
            raise ContractError("a deadline that has not come")
        self.deadlines.append(now_ms)
        self.at = NEVER
        if self.when_deadline:
            self.when_deadline(now_ms)
        return False if self.quiet_deadlines else None

    def receive_buffer(self, link: int) -> memoryview:
        stream = self._streams[link]
        return memoryview(stream.buffer)[stream.filled :]

    def receive_advance(self, link: int, n: int, now_ms: int) -> int:
        self._begin(now_ms)
        self.reads += 1
        stream = self._streams[link]
        stream.filled += n
        if stream.filled < len(stream.buffer):
            return 0 if stream.is_head else len(stream.buffer) - stream.filled
        body, was_head = stream.buffer, stream.is_head
        size = struct.unpack(">i", body)[0] if was_head else 4
        stream.buffer = bytearray(size)
        stream.filled = 0
        stream.is_head = not was_head
        if was_head:
            return size
        self.frames.append((link, bytes(body)))
        if self.when_frame:
            self.when_frame(link, bytes(body))
        return -1 if bytes(body) in self.quiet else 0

    def next_action(self) -> Action | None:
        return self.actions.popleft() if self.actions else None

    def deadline(self) -> int:
        return self.at

    def _begin(self, now_ms: int) -> None:
        if self.actions:
            raise ContractError(f"{len(self.actions)} actions were left at an input")
        if now_ms < self._now:
            raise ContractError("time ran back")
        self._now = now_ms
        self.inputs += 1
