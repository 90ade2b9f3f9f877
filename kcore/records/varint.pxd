"""Zigzag varints of record batches, read in place: nothing is read at or after `end`.

Both readers give the position after the number, or NULL if it runs past `end`, is longer than its
type allows, or does not fit it. One byte and two come first: nearly every varint is one of these.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from *:
    bint unlikely(bint) noexcept nogil  # Cython's own


cdef inline const uint8_t* read_varint(
    const uint8_t* pos, const uint8_t* end, int32_t* value
) noexcept nogil:
    """A zigzag int32: at most 5 bytes."""
    cdef uint32_t raw
    cdef uint32_t shift
    cdef uint8_t byte
    if pos >= end:
        return NULL
    raw = pos[0]
    pos += 1
    if raw >= 0x80:
        if pos >= end:
            return NULL
        byte = pos[0]
        pos += 1
        raw = (raw & 0x7F) | <uint32_t> (byte & 0x7F) << 7
        shift = 14
        while unlikely(byte >= 0x80):
            if pos >= end:
                return NULL
            byte = pos[0]
            pos += 1
            if shift == 28 and byte > 0x0F:
                return NULL
            raw |= <uint32_t> (byte & 0x7F) << shift
            shift += 7
    value[0] = <int32_t> (raw >> 1) ^ -<int32_t> (raw & 1)
    return pos


cdef inline const uint8_t* read_varlong(
    const uint8_t* pos, const uint8_t* end, int64_t* value
) noexcept nogil:
    """A zigzag int64: at most 10 bytes."""
    cdef uint64_t raw
    cdef uint32_t shift
    cdef uint8_t byte
    if pos >= end:
        return NULL
    raw = pos[0]
    pos += 1
    if raw >= 0x80:
        if pos >= end:
            return NULL
        byte = pos[0]
        pos += 1
        raw = (raw & 0x7F) | <uint64_t> (byte & 0x7F) << 7
        shift = 14
        while unlikely(byte >= 0x80):
            if pos >= end:
                return NULL
            byte = pos[0]
            pos += 1
            if shift == 63 and byte > 0x01:
                return NULL
            raw |= <uint64_t> (byte & 0x7F) << shift
            shift += 7
    value[0] = <int64_t> (raw >> 1) ^ -<int64_t> (raw & 1)
    return pos


cdef inline int varint_size(int32_t value) noexcept nogil:
    """Bytes that `write_varint` will take."""
    cdef uint32_t raw = (<uint32_t> value << 1) ^ <uint32_t> (value >> 31)
    cdef int size = 1
    while raw >= 0x80:
        raw >>= 7
        size += 1
    return size


cdef inline int varlong_size(int64_t value) noexcept nogil:
    """Bytes that `write_varlong` will take."""
    cdef uint64_t raw = (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)
    cdef int size = 1
    while raw >= 0x80:
        raw >>= 7
        size += 1
    return size


cdef inline uint8_t* write_varlong(uint8_t* pos, int64_t value) noexcept nogil:
    """Write a zigzag varint (an int32 has the same bytes as int64); the position after it."""
    cdef uint64_t raw = (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)
    while raw >= 0x80:
        pos[0] = <uint8_t> (raw | 0x80)
        pos += 1
        raw >>= 7
    pos[0] = <uint8_t> raw
    return pos + 1
