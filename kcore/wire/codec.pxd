from cpython.object cimport PyObject

from kcore.wire.cursor cimport Cursor
from kcore.wire.writer cimport Writer


cdef struct Source:
    Cursor cursor
    PyObject *view  # memoryview over what the cursor reads; `records` are slices of it
    PyObject *field  # name of the field that a fault was found in, NULL before


cdef object open_source(Source *source, Py_buffer *buffer, object data)
cdef object read_message(type cls, int version, Source *source, bint to_the_end)
cdef int write_message(object message, int version, Writer *writer) except -1
