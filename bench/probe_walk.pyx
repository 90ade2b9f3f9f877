# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Over the headers of v2 batches: where each ends, and what to fetch next."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    uint32_t bswap32 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t bswap64 "__builtin_bswap64" (uint64_t) noexcept nogil


cdef inline int64_t i64(const uint8_t* at) noexcept nogil:
    return <int64_t> bswap64((<uint64_t*> at)[0])


cdef inline int32_t i32(const uint8_t* at) noexcept nogil:
    return <int32_t> bswap32((<uint32_t*> at)[0])


def end_offset(const uint8_t[::1] data, int64_t fetch_offset):
    """What to fetch next: one past the last whole batch."""
    cdef const uint8_t* pos = &data[0]
    cdef const uint8_t* end = pos + data.shape[0]
    while end - pos >= 61 and 12 + i32(pos + 8) <= end - pos:
        fetch_offset = i64(pos) + i32(pos + 23) + 1
        pos += 12 + i32(pos + 8)
    return fetch_offset


def batch_size(const uint8_t[::1] data, Py_ssize_t at):
    """The size of the batch at `at`; 0 if it is not whole."""
    cdef Py_ssize_t left = data.shape[0] - at
    if left < 61 or 12 + i32(&data[at] + 8) > left:
        return 0
    return 12 + i32(&data[at] + 8)
