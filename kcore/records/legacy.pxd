"""What the reader asks of legacy.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

cdef struct Message:
    # Lengths are -1 for null, as on the wire; `timestamp` is -1 in v0.
    int64_t offset
    int64_t timestamp
    uint32_t crc
    int magic
    int attributes
    int32_t key_size
    int32_t value_size
    const uint8_t* key
    const uint8_t* value
    const uint8_t* end

cdef class Unfolded:
    cdef bytes body
    cdef Py_ssize_t used
    cdef int64_t base_offset
    cdef int32_t last_delta
    cdef int32_t record_count
    cdef int64_t base_timestamp
    cdef list checksums

cdef str read_message(const uint8_t* at, const uint8_t* end, Message* out)
cdef uint32_t crc_of(const uint8_t* at, const uint8_t* end) except? 0
cdef Unfolded unfold(Message* message, bint check_crcs, Py_ssize_t max_bytes)
