"""Where a client's core has its randomness from."""

from __future__ import annotations

from collections.abc import Callable
from os import urandom

from kcore.hints import Final

# How often chance is drawn from the system: more than it takes to the first record, where loading
# the standard library's generator is a sixtieth of all there is to do.
_FROM_SYSTEM: Final = 32
_FLOAT_BITS: Final = 53


class ClientRng:
    """A `kcore.structs.Rng`: bits are the system's, since nonces and ids are made of them and must
    not be guessable. Chance (which partition, how long to back off) is drawn a thousand times a
    second where much is sent, and needs no system call then, in which other threads would take the
    interpreter: its generator is only seeded by the system.
    """

    __slots__ = ("_draw", "_drawn")

    def __init__(self) -> None:
        self._draw: Callable[[], float] | None = None  # None: it is drawn now and then
        self._drawn = 0

    def random(self) -> float:
        """A float in [0, 1)."""
        if self._draw is not None:
            return self._draw()
        self._drawn += 1
        if self._drawn == _FROM_SYSTEM:
            from random import Random  # noqa: PLC0415 - only for who draws often

            self._draw = Random().random
        return self.getrandbits(_FLOAT_BITS) / (1 << _FLOAT_BITS)

    def getrandbits(self, k: int, /) -> int:
        """A number of `k` bits, from the system."""
        size = (k + 7) // 8
        return int.from_bytes(urandom(size), "big") >> (size * 8 - k)
