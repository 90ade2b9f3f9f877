"""Hopping over the headers of a slice, of any format: where its complete batches end.

    v0 and v1: offset, size, then a message     v2: base offset, length, then a batch

Offsets have to go up from one to the next. A v2 header says how far its batch goes; a message's
offset is its last, also if it is compressed and holds others.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from kcore.records cimport layout
from kcore.records.layout cimport load32, load64


cdef str walk(const uint8_t* start, const uint8_t* limit, int64_t fetch_offset, Walked* found):
    """Find the last complete batch up to `limit`, and what to fetch behind it.

    What is wrong with the bytes at `stop`, or None: then only a part of a batch may follow.
    """
    cdef const uint8_t* pos = start
    cdef int64_t passed = -1
    cdef int32_t length
    cdef str wrong = None
    found.end_offset = fetch_offset
    found.end_epoch = -1
    while limit - pos >= layout.PREFIX_SIZE:
        length = load32(pos + 8)
        if length < layout.LEGACY_MIN_LENGTH:
            wrong = f"a batch of {length} bytes"
            break
        if length > limit - pos - layout.PREFIX_SIZE:
            break
        wrong = check_header(pos, length, passed)
        if wrong is not None:
            break
        passed = load64(pos)
        found.end_epoch = -1
        if pos[layout.MAGIC_AT] == 2:
            passed += load32(pos + 23)
            found.end_epoch = load32(pos + 12)
        if passed >= found.end_offset:
            found.end_offset = passed + 1
        pos += layout.PREFIX_SIZE + length
    found.stop = pos
    return wrong


cdef str check_header(const uint8_t* pos, int32_t length, int64_t passed):
    """What is wrong, or None if the header can be used and its offsets follow `passed`."""
    cdef int64_t base = load64(pos)
    cdef int magic = <signed char> pos[layout.MAGIC_AT]
    cdef int32_t delta = 0
    if magic < 0 or magic > 2:
        return f"unknown message format {magic}"
    if magic == 2:
        if length < layout.HEADER_SIZE - layout.PREFIX_SIZE:
            return f"a batch of {length} bytes"
        delta = load32(pos + 23)
    if base < 0 or delta < 0 or base > INT64_MAX - 1 - delta:
        return f"offsets from {base}, {delta} more"
    if base <= passed:
        return f"offsets go back to {base} after {passed}"
    return None
