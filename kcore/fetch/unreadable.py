"""Answers with records of a partition among which there is nothing to go on with, as errors.

What they say of a batch is for the one who skips it: nothing of it has been checked.
"""

from __future__ import annotations

import struct

from kcore.errors import CorruptRecordError
from kcore.fetch.reading import Slice
from kcore.hints import Final

_V2_MAGIC_AT: Final = 16
_V2_LAST_DELTA: Final = struct.Struct(">i")
_V2_LAST_DELTA_AT: Final = 23
_BASE_OFFSET: Final = struct.Struct(">q")
_OFFSET_MAX: Final = 2**63 - 2  # or there is none to seek to


def cut_off(found: Slice, offset: int) -> CorruptRecordError:
    """There is a part of one batch only, asked for from `offset` on."""
    last = _last_offset(found.data, offset)
    why = (
        f"the broker sent {found.size} bytes, and no whole batch among them; raise fetch_max_bytes"
        " and max_partition_fetch_bytes above its size, or"
    )
    return _error(found, offset, last, why)


def stale(found: Slice, offset: int) -> CorruptRecordError:
    """Time and again all batches end before `offset`."""
    return _error(found, offset, offset, "the broker sends batches that end before it;")


def _error(found: Slice, first: int, last: int, why: str) -> CorruptRecordError:
    tp = found.tp
    return CorruptRecordError(
        f"{tp.topic}-{tp.partition}: the batch at offsets {first} to {last} cannot be read: {why}"
        f" seek to {last + 1} to skip it",
        partition=tp,
        first_offset=first,
        last_offset=last,
    )


def _last_offset(data: bytes | bytearray | memoryview, offset: int) -> int:
    """Of the batch that begins there; `offset` if its header does not say, or cannot be right."""
    if len(data) < _V2_LAST_DELTA_AT + _V2_LAST_DELTA.size or data[_V2_MAGIC_AT] != 2:
        return offset
    (base,) = _BASE_OFFSET.unpack_from(data)
    (delta,) = _V2_LAST_DELTA.unpack_from(data, _V2_LAST_DELTA_AT)
    if not 0 <= base <= offset:
        return offset
    return min(max(int(base + delta), offset), _OFFSET_MAX)
