"""A buffer lent by its owner: see loan.pyx."""

cdef class Loan:
    cdef Py_buffer buffer
