cdef class Reentrant:
    cdef bint forsaken

    cdef bint take(self, bint blocking, double timeout_s) except -1
    cdef int give(self) except -1


cdef class WorkLock:
    cdef Reentrant lock
    cdef object own
    cdef readonly bint busy
    cdef public bint struck

    cdef int take(self) except -1
    cdef int give(self) except -1
