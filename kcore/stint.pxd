from libc.stdint cimport int64_t


cdef class Stint:
    cdef readonly bint begun
    cdef public int64_t records
    cdef int64_t records_max
    cdef int64_t limit_ns
    cdef int64_t began_at_ns

    cdef bint over(self) noexcept
