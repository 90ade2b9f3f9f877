"""Holding on to fetched bytes."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer


@cython.final
@cython.no_gc
cdef class Loan:
    """A buffer lent by its owner until this goes.

    Out of the collector's sight on purpose: when a consumer that holds records is dropped as part
    of a cycle, the collector may clear the memoryview while its buffer is lent, and 3.11 crashes.
    """

    def __cinit__(self, data):
        PyObject_GetBuffer(data, &self.buffer, PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)
