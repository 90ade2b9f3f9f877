"""What happened: a hash over every byte and turn, the last lines for people, a list to draw from.

The hash covers what passes between peers, bit for bit, and when; two runs with the same hash were
the same run. `events` keeps what a picture of the run needs: members coming and going, generations,
assignments, faults (see `What`). `tail` gives the last lines of everything, formatted when asked.
"""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

# Lines kept for who asks what led to a violation.
TAIL_LINES: Final = 400

# Events kept for a picture; the longest runs have more members than anybody can look at.
EVENTS_MAX: Final = 500_000

_TURN: Final = struct.Struct("<qq")


class What(Enum):
    """Kinds of events in the list. Those of members have `process`, a number, in their detail."""

    MEMBER_STARTED = "member started"  # detail: group, instance
    MEMBER_ENDED = "member ended"  # detail: how (left, crashed, fenced)
    MEMBER_PAUSED = "member paused"  # a zombie: its process stands still
    MEMBER_RESUMED = "member resumed"
    SUBSCRIBED = "subscribed"  # detail: topics
    REBALANCING = "rebalance starts"  # detail: why
    STEPPED_OUT = "steps out"  # it gave its membership up
    JOINED = "joined"  # detail: group, generation, leads
    ASSIGNED = "assigned"  # detail: generation, partitions (all it has now)
    REVOKED = "revoked"  # detail: partitions
    LOST = "lost"  # detail: partitions
    GENERATION = "generation"  # who: the group; detail: generation
    DELIVERED = "delivered"  # detail: spans, by partition: (first, last)
    COMMITTED = "committed"  # detail: offsets
    BEGUN = "begins a transaction"  # detail: number
    ENDED = "its transaction has ended"  # detail: number, fate
    ERROR = "error"  # detail: what a member was told
    FAULT = "fault"  # who: what it hits; detail: kind, and until when if it has an end
    NODE_DOWN = "node down"
    NODE_UP = "node up"
    HEALED = "healed"  # no fault from here on
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """Something a picture of the run shows. `who`: a member's, node's or group's name."""

    at_ms: int
    what: What
    who: str
    detail: dict[str, Any]


class Trace:
    """Collects all three while a run goes on."""

    __slots__ = ("_hash", "_lines", "_now_ms", "events", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.events: list[TraceEvent] = []
        self._now_ms = 0
        self._hash = hashlib.blake2b(digest_size=8)
        self._lines: deque[tuple[int, int, str, str, object]] = deque(maxlen=TAIL_LINES)

    def begin_step(self, now_ms: int) -> None:
        """The next turn of the world."""
        self.steps += 1
        self._now_ms = now_ms

    def passed(self, who: str, verb: str, data: bytes) -> None:
        """Bytes went out."""
        self._hash.update(_TURN.pack(self._now_ms, len(data)))
        self._hash.update(data)
        self._lines.append((self.steps, self._now_ms, who, verb, len(data)))

    def note(self, who: str, verb: str, detail: object = "") -> None:
        """Something happened that only the last lines show."""
        self._hash.update(_TURN.pack(self._now_ms, len(verb)))
        self._lines.append((self.steps, self._now_ms, who, verb, detail))

    def event(self, what: What, who: str, **detail: Any) -> None:
        """Something happened that a picture shows, too."""
        self.note(who, what.value, detail)
        if len(self.events) < EVENTS_MAX:
            self.events.append(TraceEvent(self._now_ms, what, who, detail))

    @property
    def digest(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()

    def tail(self, count: int = TAIL_LINES) -> list[str]:
        """The last lines, oldest first."""
        return [
            f"{step:>8} {at_ms:>8} ms  {who:<12} {verb} {_words(detail)}".rstrip()
            for step, at_ms, who, verb, detail in list(self._lines)[-count:]
        ]


def _words(detail: object) -> str:
    if isinstance(detail, dict):
        return ", ".join(f"{name}={value}" for name, value in detail.items())
    return str(detail)
