"""One client's connection, as a node sees it.

Requests of one connection are served one after the other, in their order, and the next one begins
when the answer before it is written: so a client that does not read cannot make a node hold more
than one answer for it (Kafka mutes the channel meanwhile).
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Final

from kcore.broker.authorization.acls import ANONYMOUS
from kcore.wire.frames import FrameReader

if TYPE_CHECKING:
    from kcore.broker.sasl.authenticator import Authenticator

# Requests of one connection that wait behind the one being served. A client has five or so in
# flight; beyond this nothing is read until one is done (Kafka reads none at all).
QUEUED_BYTES_MAX: Final = 1_048_576
FRAME_COST_BYTES: Final = 256  # what the smallest of them costs us

USER: Final = "User:"  # Java: KafkaPrincipal


class Turn(Enum):
    """What the connection is at."""

    IDLE = "idle"  # the next request may begin
    SERVING = "serving"  # a request is being served, maybe parked
    SENDING = "sending"  # its answer is being written
    MUTED = "muted"  # its client is above a quota, and has to wait
    LEAVING = "leaving"  # it is turned away, in a moment
    BLOCKED = "blocked"  # what has come is not to have come yet (see mishaps.LinkFault)


class ClientLink:
    """A connection: what has come in, and whose turn it is. Bytes are of requests and answers that
    are kept for it.

    principal: who its client is, as a Kafka writes it. sasl: how that is found out; None: nobody is
    asked.
    """

    __slots__ = (
        "active_ms",
        "answer_bytes",
        "counted_bytes",
        "frames",
        "host",
        "mute_ms",
        "number",
        "principal",
        "queued_bytes",
        "reader",
        "sasl",
        "served_bytes",
        "software",
        "turn",
    )

    def __init__(self, number: int, host: str, max_frame_bytes: int, now_ms: int) -> None:
        self.number = number
        self.host = host
        self.reader = FrameReader(max_frame_bytes)
        self.frames: deque[memoryview] = deque()
        self.queued_bytes = 0  # of frames that wait
        self.served_bytes = 0  # of the frame that is being served
        self.answer_bytes = 0  # of the answer that is being written; not what the logs have anyway
        self.counted_bytes = 0  # what the node counts of all these
        self.turn = Turn.IDLE
        self.mute_ms = 0  # how long nothing of it is served once its answer is written
        self.active_ms = now_ms  # when a request came, or was done
        self.principal = ANONYMOUS
        self.software = ("", "")  # what its client says it is, and of which version
        self.sasl: Authenticator | None = None

    @property
    def held_bytes(self) -> int:
        """All of them."""
        waiting = self.queued_bytes + self.reader.resident_bytes
        return waiting + self.served_bytes + self.answer_bytes

    def signed_in(self) -> None:
        """Its client may be known now."""
        if self.sasl is not None and self.sasl.user is not None:
            self.principal = f"{USER}{self.sasl.user}"

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
        self.served_bytes = len(frame)
        return frame

    def put_back(self, frame: memoryview) -> None:
        """The request was not to be looked at yet."""
        self.frames.appendleft(frame)
        self.queued_bytes += len(frame) + FRAME_COST_BYTES
        self.turn = Turn.BLOCKED

    @property
    def open_for_more(self) -> bool:
        """Whether more may be read: what waits is bounded."""
        return self.queued_bytes < QUEUED_BYTES_MAX and self.turn is not Turn.LEAVING
