"""Clocks that differ: what a machine's monotonic clock says at a time of the world."""

from __future__ import annotations

from typing import Final

from kcore.timers import NEVER

_MILLION: Final = 1_000_000


class Clock:
    """A clock that began at `offset_ms` and gains `drift_ppm` microseconds each second."""

    __slots__ = ("drift_ppm", "offset_ms", "wall_offset_ms")

    def __init__(self, offset_ms: int = 0, drift_ppm: int = 0, wall_offset_ms: int = 0) -> None:
        self.wall_offset_ms = wall_offset_ms  # the time of day minus what it says
        self.offset_ms = offset_ms
        self.drift_ppm = drift_ppm

    def read(self, world_ms: int) -> int:
        """What it says at that time of the world."""
        return self.offset_ms + world_ms + world_ms * self.drift_ppm // _MILLION

    def when(self, local_ms: int) -> int:
        """The first time of the world at which it says `local_ms` or more."""
        if local_ms >= NEVER:
            return NEVER
        gone = local_ms - self.offset_ms
        world_ms = max(0, gone * _MILLION // (_MILLION + self.drift_ppm) - 1)
        while self.read(world_ms) < local_ms:
            world_ms += 1
        return world_ms
