from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

cdef struct Field:
    # Bytes that stay where they are; size -1: null.
    const uint8_t* data
    Py_ssize_t size

cdef class BatchBuilder:
    cdef bytearray body  # the header's place, then the records; longer than what is used
    cdef Py_ssize_t used
    cdef Py_ssize_t expected  # what memory is got for once it grows
    cdef readonly int32_t record_count
    cdef int32_t last_delta
    cdef int64_t base_offset
    cdef int64_t base_timestamp
    cdef int64_t max_timestamp
    cdef int64_t append_time
    cdef int64_t producer_id
    cdef int16_t producer_epoch
    cdef int32_t base_sequence
    cdef int32_t leader_epoch
    cdef int16_t attributes
    cdef int codec
    cdef object level

    cdef int put(self, int64_t timestamp, bytes key, bytes value, headers) except -1
    cdef int add(
        self, int64_t timestamp, int64_t delta, Field key, Field value, Field headers
    ) except -1
    cdef int grow(self, Py_ssize_t size) except -1
    cdef int write_header(self, uint8_t* at, int32_t length, int32_t last_delta) except -1
