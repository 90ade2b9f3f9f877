# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The objects probe's decoder: v2 batches, no checks but the CRC, three fields."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from crc32c import crc32c

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        PyObject* tp_dict

    void PyType_Modified(PyTypeObject* type)
    object PyDescr_NewMember(PyTypeObject* type, PyMemberDef* member)
    uint32_t bswap32 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t bswap64 "__builtin_bswap64" (uint64_t) noexcept nogil

cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        const char* name
        int type
        Py_ssize_t offset
        int flags
        const char* doc

    const int T_OBJECT_EX
    const int READONLY


@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class Record:
    """What a reader cannot do without, at the least price: slots, no garbage collection."""

    cdef object key
    cdef object value
    cdef object offset


cdef inline int64_t i64(const uint8_t* at) noexcept nogil:
    return <int64_t> bswap64((<uint64_t*> at)[0])


cdef inline int32_t i32(const uint8_t* at) noexcept nogil:
    return <int32_t> bswap32((<uint32_t*> at)[0])


cdef inline int64_t varint(const uint8_t** at) noexcept nogil:
    cdef const uint8_t* pos = at[0]
    cdef uint64_t raw = pos[0] & 0x7F
    cdef int shift = 7
    while pos[0] & 0x80:
        pos += 1
        raw |= <uint64_t> (pos[0] & 0x7F) << shift
        shift += 7
    at[0] = pos + 1
    return <int64_t> (raw >> 1) ^ -<int64_t> (raw & 1)


def decode(const uint8_t[::1] batch, view, const uint8_t[::1] body, int64_t fetch_offset):
    """The records of one batch from `fetch_offset` on.

    view: the same bytes, for the CRC. body: what is behind the header, decompressed.
    """
    cdef const uint8_t* pos = &batch[0]
    cdef int64_t base = i64(pos), offset
    cdef int32_t count = i32(pos + 57)
    cdef const uint8_t* end
    cdef Py_ssize_t size
    cdef list out = []
    cdef Record record
    if <uint32_t> i32(pos + 17) != <uint32_t> crc32c(view[21:]):
        raise ValueError("CRC")
    pos = &body[0]
    while count:
        count -= 1
        size = varint(&pos)
        end = pos + size
        pos += 1
        varint(&pos)
        offset = base + varint(&pos)
        if offset >= fetch_offset:
            record = Record.__new__(Record)
            record.offset = offset
            size = varint(&pos)
            if size >= 0:
                record.key = PyBytes_FromStringAndSize(<const char*> pos, size)
                pos += size
            size = varint(&pos)
            if size >= 0:
                record.value = PyBytes_FromStringAndSize(<const char*> pos, size)
            out.append(record)
        pos = end
    return out


cdef PyMemberDef slots[3]
cdef PyTypeObject* record_type = <PyTypeObject*> Record


cdef add_slots():
    cdef Record probe = Record.__new__(Record)
    cdef PyObject** words = <PyObject**> <PyObject*> probe
    cdef int number = 0
    cdef int at
    probe.key, probe.value, probe.offset = object(), object(), object()
    for name, held in ((b"key", probe.key), (b"value", probe.value), (b"offset", probe.offset)):
        slots[number] = PyMemberDef(NULL, T_OBJECT_EX, 0, READONLY, NULL)
        slots[number].name = <const char*> <bytes> name
        for at in range(5):
            if words[at] == <PyObject*> held:
                slots[number].offset = at * sizeof(PyObject*)
        (<dict> record_type.tp_dict)[name.decode()] = PyDescr_NewMember(
            record_type, &slots[number]
        )
        number += 1
    PyType_Modified(record_type)


add_slots()
