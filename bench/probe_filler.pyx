# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Decoder of the probes with columns: offset, key, value of v2 batches in Arrow's layout.

`Copies` has keys and values as plain `binary`: their bytes are copied together, as whoever wants
that layout has to. `Views` has them as `binary_view`: places in the bytes as they were received.
No checks but the CRC, and no nulls: the benches' topics have none. The memory is used again.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from crc32c import crc32c

cdef extern from *:
    uint32_t bswap32 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t bswap64 "__builtin_bswap64" (uint64_t) noexcept nogil

cdef struct View:  # of Arrow's binary_view
    int32_t size
    uint8_t[4] head
    int32_t buffer
    int32_t place


cdef inline int64_t i64(const uint8_t* at) noexcept nogil:
    return <int64_t> bswap64((<uint64_t*> at)[0])


cdef inline int32_t i32(const uint8_t* at) noexcept nogil:
    return <int32_t> bswap32((<uint32_t*> at)[0])


cdef inline int64_t varint(const uint8_t** at) noexcept nogil:
    cdef const uint8_t* pos = at[0]
    cdef uint64_t raw = pos[0] & 0x7F
    cdef int shift = 7
    while pos[0] & 0x80:
        pos += 1
        raw |= <uint64_t> (pos[0] & 0x7F) << shift
        shift += 7
    at[0] = pos + 1
    return <int64_t> (raw >> 1) ^ -<int64_t> (raw & 1)


cdef inline int32_t put(
    uint8_t* data, int32_t end, const uint8_t* start, int64_t size
) noexcept nogil:
    memcpy(data + end, start, size)
    return end + <int32_t> size


cdef inline void put_view(
    View* view, const uint8_t* start, int64_t size, const uint8_t* base
) noexcept nogil:
    view.size = <int32_t> size
    if size <= 12:
        memcpy(view.head, start, size)
        return
    memcpy(view.head, start, 4)
    view.buffer = 0
    view.place = <int32_t> (start - base)


def rows_of(const uint8_t[::1] batch):
    """How many records a batch says that it has."""
    return i32(&batch[57])


cdef check(const uint8_t[::1] batch, view):
    if <uint32_t> i32(&batch[17]) != <uint32_t> crc32c(view[21:]):
        raise ValueError("CRC")


@cython.final
cdef class Copies:
    """Room for so many rows and so many bytes of keys, and of values; the arrays are bytearrays."""

    cdef readonly Py_ssize_t rows
    cdef readonly object offsets, key_ends, key_data, value_ends, value_data

    def __init__(self, Py_ssize_t max_rows, Py_ssize_t max_bytes):
        self.offsets = bytearray(8 * max_rows)
        self.key_ends, self.value_ends = bytearray(4 * max_rows + 4), bytearray(4 * max_rows + 4)
        self.key_data, self.value_data = bytearray(max_bytes), bytearray(max_bytes)

    def clear(self):
        self.rows = 0

    def add(self, const uint8_t[::1] batch, view, const uint8_t[::1] body, int64_t fetch_offset):
        """The records of one batch from `fetch_offset` on; arguments as in probe_decoder."""
        cdef int64_t* offsets = <int64_t*> <char*> self.offsets
        cdef int32_t* key_ends = <int32_t*> <char*> self.key_ends
        cdef int32_t* value_ends = <int32_t*> <char*> self.value_ends
        cdef uint8_t* keys = <uint8_t*> <char*> self.key_data
        cdef uint8_t* values = <uint8_t*> <char*> self.value_data
        cdef const uint8_t* pos = &body[0]
        cdef const uint8_t* end
        cdef int64_t base = i64(&batch[0]), offset, size
        cdef int32_t count = i32(&batch[57]), number
        cdef Py_ssize_t row = self.rows
        check(batch, view)
        with nogil:
            for number in range(count):
                size = varint(&pos)
                end = pos + size
                pos += 1
                varint(&pos)
                offset = base + varint(&pos)
                if offset >= fetch_offset:
                    offsets[row] = offset
                    size = varint(&pos)
                    key_ends[row + 1] = put(keys, key_ends[row], pos, size)
                    pos += size
                    size = varint(&pos)
                    value_ends[row + 1] = put(values, value_ends[row], pos, size)
                    row += 1
                pos = end
        self.rows = row


@cython.final
cdef class Views:
    """Room for so many rows; bytearrays of `binary_view`s into `base`, which all batches are in."""

    cdef readonly Py_ssize_t rows
    cdef readonly object offsets, keys, values

    def __init__(self, Py_ssize_t max_rows):
        self.offsets = bytearray(8 * max_rows)
        self.keys, self.values = bytearray(16 * max_rows), bytearray(16 * max_rows)

    def clear(self):
        self.rows = 0

    def add(self, const uint8_t[::1] batch, view, const uint8_t[::1] base, int64_t fetch_offset):
        """The records of one batch that is not compressed, from `fetch_offset` on."""
        cdef int64_t* offsets = <int64_t*> <char*> self.offsets
        cdef View* keys = <View*> <char*> self.keys
        cdef View* values = <View*> <char*> self.values
        cdef const uint8_t* zero = &base[0]
        cdef const uint8_t* pos = &batch[61]
        cdef const uint8_t* end
        cdef int64_t first = i64(&batch[0]), offset, size
        cdef int32_t count = i32(&batch[57]), number
        cdef Py_ssize_t row = self.rows
        check(batch, view)
        with nogil:
            for number in range(count):
                size = varint(&pos)
                end = pos + size
                pos += 1
                varint(&pos)
                offset = first + varint(&pos)
                if offset >= fetch_offset:
                    offsets[row] = offset
                    size = varint(&pos)
                    put_view(&keys[row], pos, size, zero)
                    pos += size
                    size = varint(&pos)
                    put_view(&values[row], pos, size, zero)
                    row += 1
                pos = end
        self.rows = row
