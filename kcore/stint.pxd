from libc.stdint cimport int64_t


cdef class Stint:
    cdef readonly int64_t records_max
    cdef readonly int64_t limit_ms
    cdef readonly bint begun
    cdef readonly int64_t began_at
    cdef public int64_t records

    cdef bint over(self, int64_t now_ms) noexcept
