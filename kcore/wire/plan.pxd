# A message's field table, compiled for one version: what to read or write, in order, and where the
# values are in the object.

from cpython.object cimport PyObject, PyTypeObject


cdef enum Kind:
    KIND_BOOL
    KIND_INT8
    KIND_INT16
    KIND_UINT16
    KIND_INT32
    KIND_INT64
    KIND_FLOAT64
    KIND_STRING
    KIND_BYTES
    KIND_RECORDS
    KIND_UUID
    KIND_STRUCT


cdef struct Op:
    Kind kind  # of the value, or of an array's items
    bint is_array
    bint nullable
    bint compact
    bint ignorable
    bint ever_nullable  # null is possible in another version
    int tag
    Py_ssize_t offset  # of the attribute in the object
    Py_ssize_t item_size  # fewest bytes that an array's item takes
    PyObject *name  # str
    PyObject *plan  # Plan of the struct or of the items; NULL otherwise
    PyObject *default  # NULL: a new list or struct


cdef class Plan:
    cdef readonly type cls
    cdef readonly int version
    cdef readonly bint flexible
    cdef readonly Py_ssize_t min_size  # fewest bytes the struct takes
    # One array: fields in the order of the wire, then tagged ones in the order of their tags, then
    # those that this version does not have.
    cdef Op *ops
    cdef Py_ssize_t plain_end
    cdef Py_ssize_t tagged_end
    cdef Py_ssize_t op_count
    cdef list _held  # owns what the ops point to


cdef inline PyObject **slot(PyObject *target, const Op *op) noexcept nogil:
    return <PyObject **> (<char *> target + op.offset)


cdef Plan plan_of(type cls, int version)
