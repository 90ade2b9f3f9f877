cdef class WorkLock:
    cdef object take
    cdef object give
    cdef object own
    cdef readonly bint busy
    cdef public bint struck
