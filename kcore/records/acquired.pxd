"""What a reader asks of the offsets that a share group has acquired: see acquired.pyx."""

from libc.stdint cimport int64_t

from kcore.records.record cimport Origin


cdef class Acquired:
    cdef readonly tuple ranges
    cdef readonly list gaps
    cdef Py_ssize_t at  # the open range; behind the last one if all are through
    cdef int64_t first  # what is left of the open range
    cdef int64_t last
    cdef object delivery_count
    cdef Origin base
    cdef Origin made

    cdef bint wants(self, int64_t offset) except -1
    cdef Origin counted(self, Origin origin)
    cdef int go_back(self, int64_t offset) except -1
    cdef int open_range(self) except -1
    cdef int pass_over(self, int64_t last) except -1
