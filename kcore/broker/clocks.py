"""Clocks of nodes that differ.

What nodes do together (replicas that follow, retention, what is due on a link) has the time that
their inputs carry. A coordinator waits for its members, and dates what it writes, by the clock of
its own machine: so a group that moves meets another one.
"""

from __future__ import annotations

from typing import Protocol


class NodeClock(Protocol):
    """One node's. wall_offset_ms: the time of day minus what it says, as that node has it."""

    @property
    def wall_offset_ms(self) -> int: ...

    def read(self, now_ms: int) -> int:
        """What it says at that time of the inputs; it never goes back."""

    def when(self, local_ms: int) -> int:
        """The first time of the inputs at which it says that, or more; NEVER for NEVER."""


class CommonClock:
    """The time of the inputs itself."""

    __slots__ = ("wall_offset_ms",)

    def __init__(self, wall_offset_ms: int) -> None:
        self.wall_offset_ms = wall_offset_ms

    def read(self, now_ms: int) -> int:
        """See NodeClock."""
        return now_ms

    def when(self, local_ms: int) -> int:
        """See NodeClock."""
        return local_ms
