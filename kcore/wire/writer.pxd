# Growing bytes: what is written lands in the bytes object that `writer_finish` gives away. Large
# buffers may be left aside instead: the list then says which, and where they belong.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    PyObject *PyBytes_FromStringAndSize(const char *data, Py_ssize_t size) except NULL
    int _PyBytes_Resize(PyObject **target, Py_ssize_t size) except -1


cdef enum:
    UVARINT_MAX = 5  # bytes of the longest unsigned varint


cdef struct Writer:
    PyObject *target  # bytes of capacity size; owned
    uint8_t *pos
    uint8_t *end
    PyObject *aside  # borrowed list of (offset in the target, buffer); NULL: all is copied
    Py_ssize_t aside_size  # bytes of all of them


cdef inline int writer_open(Writer *w, Py_ssize_t capacity) except -1:
    w.target = PyBytes_FromStringAndSize(NULL, capacity)
    w.pos = <uint8_t *> PyBytes_AS_STRING(<object> w.target)
    w.end = w.pos + capacity
    w.aside = NULL
    w.aside_size = 0
    return 0


cdef inline void writer_drop(Writer *w) noexcept:
    Py_XDECREF(w.target)
    w.target = NULL


cdef inline Py_ssize_t written(Writer *w) noexcept:
    return w.pos - <uint8_t *> PyBytes_AS_STRING(<object> w.target)


cdef inline uint8_t *written_at(Writer *w, Py_ssize_t offset) noexcept:
    # Valid until the next write.
    return <uint8_t *> PyBytes_AS_STRING(<object> w.target) + offset


cdef inline bytes writer_finish(Writer *w):
    _PyBytes_Resize(&w.target, written(w))
    cdef bytes result = <bytes> <object> w.target
    writer_drop(w)
    return result


cdef inline uint8_t *room(Writer *w, Py_ssize_t size) except NULL:
    # `size` bytes to write to; they count as written.
    cdef Py_ssize_t used, capacity
    if size > w.end - w.pos:
        used = written(w)
        capacity = 2 * PyBytes_GET_SIZE(<object> w.target)
        if capacity < used + size:
            capacity = used + size
        _PyBytes_Resize(&w.target, capacity)
        w.pos = <uint8_t *> PyBytes_AS_STRING(<object> w.target) + used
        w.end = w.pos - used + capacity
    cdef uint8_t *p = w.pos
    w.pos += size
    return p


cdef inline int put_int(Writer *w, int64_t value, int size) except -1:
    # The low `size` bytes, highest first.
    cdef uint8_t *p = room(w, size)
    store_int(p, value, size)
    return 0


cdef inline void store_int(uint8_t *p, int64_t value, int size) noexcept nogil:
    cdef uint64_t bits = <uint64_t> value
    cdef int i
    for i in range(size):
        p[i] = <uint8_t> (bits >> (8 * (size - 1 - i)))


cdef inline int put_bytes(Writer *w, const void *data, Py_ssize_t size) except -1:
    cdef uint8_t *p = room(w, size)
    memcpy(p, data, size)
    return 0


cdef inline int store_uvarint(uint8_t *p, uint32_t value) noexcept nogil:
    # How many bytes it took.
    cdef int size = 0
    while value >= 0x80:
        p[size] = <uint8_t> (value | 0x80)
        value >>= 7
        size += 1
    p[size] = <uint8_t> value
    return size + 1


cdef inline int put_uvarint(Writer *w, uint32_t value) except -1:
    cdef uint8_t *p = room(w, UVARINT_MAX)
    w.pos -= UVARINT_MAX - store_uvarint(p, value)
    return 0
