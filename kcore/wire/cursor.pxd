# Bounded reading: a pointer that can only move through `take`.
#
# A read that cannot be done sets a sticky fault, empties the source and gives zero, so a caller
# reads straight down and asks once. The first fault is kept, with the offset it happened at.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef enum Fault:
    FAULT_NONE = 0
    FAULT_TRUNCATED  # the bytes end first
    FAULT_LENGTH  # a length or count that nothing can have
    FAULT_NULL  # null where there must be a value
    FAULT_UTF8  # a string that is not UTF-8
    FAULT_VARINT  # a varint of more than 32 bits
    FAULT_TAG  # a tagged field whose value does not fill its size
    FAULT_TRAILING  # bytes behind the end
    FAULT_ITEMS  # more items of arrays than the reader takes


cdef struct Cursor:
    const uint8_t *start
    const uint8_t *pos
    const uint8_t *end
    Fault fault
    Py_ssize_t fault_at  # offset from start


cdef inline void cursor_open(Cursor *c, const uint8_t *data, Py_ssize_t size) noexcept nogil:
    c.start = data
    c.pos = data
    c.end = data + size
    c.fault = FAULT_NONE
    c.fault_at = -1


cdef inline Py_ssize_t left(const Cursor *c) noexcept nogil:
    return c.end - c.pos


cdef inline void fail(Cursor *c, Fault fault) noexcept nogil:
    if c.fault == FAULT_NONE:
        c.fault = fault
        c.fault_at = c.pos - c.start
    c.pos = c.end


cdef inline const uint8_t *take(Cursor *c, Py_ssize_t size) noexcept nogil:
    # The next `size` bytes, NULL if there are fewer.
    cdef const uint8_t *found = c.pos
    if size > c.end - found:
        fail(c, FAULT_TRUNCATED)
        return NULL
    c.pos = found + size
    return found


cdef inline int8_t take_int8(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = take(c, 1)
    if p == NULL:
        return 0
    return <int8_t> p[0]


cdef inline int16_t take_int16(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = take(c, 2)
    if p == NULL:
        return 0
    return <int16_t> ((<uint16_t> p[0] << 8) | p[1])


cdef inline uint16_t take_uint16(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = take(c, 2)
    if p == NULL:
        return 0
    return (<uint16_t> p[0] << 8) | p[1]


cdef inline int32_t take_int32(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = take(c, 4)
    if p == NULL:
        return 0
    return <int32_t> load_uint32(p)


cdef inline int64_t take_int64(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = take(c, 8)
    if p == NULL:
        return 0
    return <int64_t> ((<uint64_t> load_uint32(p) << 32) | load_uint32(p + 4))


cdef inline double take_float64(Cursor *c) noexcept nogil:
    # IEEE 754, as the processor has it but for the order of the bytes.
    cdef int64_t bits = take_int64(c)
    cdef double value
    memcpy(&value, &bits, sizeof(double))
    return value


cdef inline uint32_t load_uint32(const uint8_t *p) noexcept nogil:
    return (
        (<uint32_t> p[0] << 24) | (<uint32_t> p[1] << 16) | (<uint32_t> p[2] << 8) | <uint32_t> p[3]
    )


cdef inline uint32_t take_uvarint(Cursor *c) noexcept nogil:
    # Seven bits a byte, lowest first; at most 32 bits.
    cdef uint32_t value = 0
    cdef int shift = 0
    cdef const uint8_t *first = c.pos
    while c.pos < c.end:
        value |= <uint32_t> (c.pos[0] & 0x7F) << shift
        if c.pos[0] < 0x80:
            if shift == 28 and c.pos[0] > 0x0F:
                break
            c.pos += 1
            return value
        if shift == 28:
            break
        c.pos += 1
        shift += 7
    cdef Fault fault = FAULT_TRUNCATED if c.pos == c.end else FAULT_VARINT
    c.pos = first
    fail(c, fault)
    return 0
