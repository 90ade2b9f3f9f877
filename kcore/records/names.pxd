"""Columns of topic names (names.pyx)."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef class Names:
    cdef int32_t* offsets
    cdef uint8_t* data
    cdef int64_t rows
    cdef int64_t size_bytes

    cdef int add(self, bytes name, int64_t count) except -1


cdef Names repeated(bytes name, int64_t rows)
