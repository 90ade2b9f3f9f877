"""What the headers of a slice say: see walk.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef struct Walked:
    const uint8_t* stop
    int64_t end_offset
    int32_t end_epoch

cdef str walk(const uint8_t* start, const uint8_t* limit, int64_t fetch_offset, Walked* found)
