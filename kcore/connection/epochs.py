"""Requests of a session that differ in their epochs alone, as bytes.

Fetch (KIP-227) and ShareFetch (KIP-932) have sessions in which each request bears the next epoch.
Where nothing else changes, the bytes of one are good for all that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from kcore.connection.calls import Message
from kcore.wire.frames import encode_request, renumber_request

_put_number = Struct(">i").pack_into


class EpochRequest:
    """build(epoch): the request; what it says does not depend on the epoch otherwise."""

    __slots__ = ("_epoch_at", "_frame")

    def __init__(self, build: Callable[[int], Message], version: int, client_id: str) -> None:
        # All bits of the epoch differ between these two, and nothing else does.
        one, other = (encode_request(build(epoch), version, 0, client_id) for epoch in (0, -1))
        self._epoch_at = next(at for at, byte in enumerate(one) if byte != other[at])
        self._frame = bytearray(one)

    def numbered(self, correlation_id: int, epoch: int) -> bytes:
        """Its frame, with these numbers."""
        frame = self._frame
        renumber_request(frame, correlation_id)
        _put_number(frame, self._epoch_at, epoch)
        return bytes(frame)
