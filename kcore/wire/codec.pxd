from kcore.wire.cursor cimport Cursor
from kcore.wire.writer cimport Writer


cdef class Source:
    cdef Cursor cursor
    cdef Py_buffer buffer  # what the cursor reads
    cdef object view  # memoryview over it; `records` are slices of this
    cdef Py_ssize_t items_left  # how many more of arrays' items are read
    cdef str field  # the field that a fault was found in, None before


cdef Source open_source(object data)
cdef object read_message(type cls, int version, Source source, bint to_the_end)
cdef int write_message(object message, int version, Writer *writer) except -1
