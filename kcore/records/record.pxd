"""What the reader fills in: see record.pyx."""

from libc.stdint cimport int32_t, int64_t


cdef class Origin:
    cdef readonly str topic
    cdef readonly object partition
    cdef readonly object leader_epoch
    cdef readonly object timestamp_type


cdef class ConsumerRecord:
    cdef object origin
    cdef object key
    cdef object value
    cdef object offset
    cdef object raw_headers
    cdef int64_t timestamp_ms
    cdef int32_t key_size
    cdef int32_t value_size

    cdef tuple fields(self)


cdef list read_headers(bytes raw)
