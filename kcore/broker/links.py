"""One client's connection, as a node sees it.

Requests of one connection are served one after the other, in their order, and the next one begins
when the answer before it is written: so a client that does not read cannot make a node hold more
than one answer for it (Kafka mutes the channel meanwhile).
"""

from __future__ import annotations

from collections import deque
from enum import Enum

from kcore.broker.config import FRAME_COST_BYTES, QUEUED_BYTES_MAX
from kcore.wire.frames import FrameReader


class Turn(Enum):
    """What the connection is at."""

    IDLE = "idle"  # the next request may begin
    SERVING = "serving"  # a request is being served, maybe parked
    SENDING = "sending"  # its answer is being written
    BLOCKED = "blocked"  # what has come is not to have come yet (see mishaps.LinkFault)


class ClientLink:
    """A connection: what has come in, and whose turn it is."""

    __slots__ = ("frames", "host", "number", "queued_bytes", "reader", "turn")

    def __init__(self, number: int, host: str, max_frame_bytes: int) -> None:
        self.number = number
        self.host = host
        self.reader = FrameReader(max_frame_bytes)
        self.frames: deque[memoryview] = deque()
        self.queued_bytes = 0
        self.turn = Turn.IDLE

    def queue(self, frames: list[memoryview]) -> None:
        """Requests that wait for their turn."""
        self.frames.extend(frames)
        self.queued_bytes += sum(map(len, frames)) + FRAME_COST_BYTES * len(frames)

    def next_frame(self) -> memoryview | None:
        """The request whose turn it is; None if there is none, or it is not its turn yet."""
        if self.turn is not Turn.IDLE or not self.frames:
            return None
        frame = self.frames.popleft()
        self.queued_bytes -= len(frame) + FRAME_COST_BYTES
        return frame

    def put_back(self, frame: memoryview) -> None:
        """The request was not to be looked at yet."""
        self.frames.appendleft(frame)
        self.queued_bytes += len(frame) + FRAME_COST_BYTES
        self.turn = Turn.BLOCKED

    @property
    def open_for_more(self) -> bool:
        """Whether more may be read: what waits is bounded."""
        return self.queued_bytes < QUEUED_BYTES_MAX
