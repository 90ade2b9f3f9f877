"""How much a node may be asked for so that the answer arrives in time.

Java asks for `fetch.max.bytes` whatever the link carries. Over one that cannot carry so much within
`request.timeout.ms` it hangs up and asks for the same again, without end.
"""

from __future__ import annotations

from kcore.hints import Final
from kcore.limits import MAX_INT32

# A timeout may have come long before the answer would have been whole, or at no byte at all, so it
# says little of how much fits: two of them go from 4 MiB to 256 KiB, for which 10 KB/s do.
_LESS: Final = 4
_MORE: Final = 2

# Below this it is not the size that takes the time; and a first batch comes whole (KIP-74).
_LEAST_BYTES: Final = 64 * 1024


class Pace:
    """limit: bytes to ask for at most; as good as none while no answer has been late."""

    __slots__ = ("_timeout_ms", "limit")

    def __init__(self, timeout_ms: int) -> None:
        self.limit = MAX_INT32
        self._timeout_ms = timeout_ms

    def timed_out(self, asked_bytes: int) -> None:
        """So much was asked for, and the answer did not come in time."""
        self.limit = max(asked_bytes // _LESS, _LEAST_BYTES)

    def arrived(self, size: int, took_ms: int) -> None:
        """Records came: as many more are tried as would take half of the time there is."""
        if 2 * size >= self.limit:
            fit = size * self._timeout_ms // (2 * max(took_ms, 1))
            self.limit = max(self.limit, min(fit, self.limit * _MORE))
