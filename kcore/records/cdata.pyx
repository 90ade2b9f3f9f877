"""Structs of the Arrow C data interface: made child by child, and released.

Every array, children and dictionaries too, holds a reference of its own to the Python object that
its memory belongs to: an importer may move each of them elsewhere (copy the struct, and mark the
old one released) and release them in any order, from any thread.

Source: the specification of the Arrow C data interface.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

cdef extern from "Python.h":
    bint Py_IsInitialized() noexcept nogil

cdef enum:
    NULLABLE = 2  # ARROW_FLAG_NULLABLE


# Memory ---------------------------------------------------------------------------------------


cdef void* malloc(int64_t count, size_t item_size) except NULL:
    cdef void* made = PyMem_RawMalloc(<size_t> max(count, 1) * item_size)
    if made == NULL:
        raise MemoryError
    return made


cdef void* calloc(int64_t count, size_t item_size) except NULL:
    cdef void* made = PyMem_RawCalloc(<size_t> max(count, 1), item_size)
    if made == NULL:
        raise MemoryError
    return made


# Schemas --------------------------------------------------------------------------------------


cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    cdef int64_t index
    if schema.children != NULL:
        for index in range(schema.n_children):
            free_schema(schema.children[index])
        PyMem_RawFree(schema.children)
    free_schema(schema.dictionary)
    schema.release = NULL


cdef void free_schema(ArrowSchema* schema) noexcept nogil:
    if schema != NULL and schema.release != NULL:  # not moved elsewhere
        schema.release(schema)
    PyMem_RawFree(schema)


cdef void free_schema_capsule(object capsule) noexcept:
    free_schema(<ArrowSchema*> PyCapsule_GetPointer(capsule, "arrow_schema"))


cdef int fill_schema(
    ArrowSchema* schema, const char* format, const char* name, int64_t n_children
) except -1:
    """Make a schema whose children are still to be made; texts are literals."""
    memset(schema, 0, sizeof(ArrowSchema))
    schema.format = format
    schema.name = name
    schema.flags = NULLABLE
    schema.release = release_schema
    if n_children:
        schema.children = <ArrowSchema**> calloc(n_children, sizeof(ArrowSchema*))
        schema.n_children = n_children
    return 0


cdef ArrowSchema* child_schema(
    ArrowSchema* parent, int64_t index, const char* format, const char* name, int64_t n_children=0
) except NULL:
    cdef ArrowSchema* child = <ArrowSchema*> calloc(1, sizeof(ArrowSchema))
    parent.children[index] = child
    fill_schema(child, format, name, n_children)
    return child


# Arrays ---------------------------------------------------------------------------------------


cdef void release_array(ArrowArray* array) noexcept nogil:
    cdef int64_t index
    cdef PyObject* owner = <PyObject*> array.private_data
    if array.children != NULL:
        for index in range(array.n_children):
            free_array(array.children[index])
        PyMem_RawFree(array.children)
    free_array(array.dictionary)
    PyMem_RawFree(array.buffers)
    array.release = NULL
    array.private_data = NULL
    give_back(owner)


cdef void free_array(ArrowArray* array) noexcept nogil:
    if array != NULL and array.release != NULL:  # not moved elsewhere
        array.release(array)
    PyMem_RawFree(array)


cdef void free_array_capsule(object capsule) noexcept:
    free_array(<ArrowArray*> PyCapsule_GetPointer(capsule, "arrow_array"))


cdef void give_back(PyObject* owner) noexcept nogil:
    """Drop one reference, from whichever thread this is."""
    if owner != NULL and Py_IsInitialized():  # else all is gone anyway
        with gil:
            Py_DECREF(<object> owner)


cdef int fill_array(
    ArrowArray* array,
    object owner,
    int64_t length,
    int64_t null_count,
    int64_t n_buffers,
    int64_t n_children,
) except -1:
    """Make an array whose buffers and children are still to be set."""
    memset(array, 0, sizeof(ArrowArray))
    array.length = length
    array.null_count = null_count
    array.release = release_array
    Py_INCREF(owner)
    array.private_data = <void*> <PyObject*> owner
    array.buffers = <const void**> calloc(n_buffers, sizeof(void*))
    array.n_buffers = n_buffers
    if n_children:
        array.children = <ArrowArray**> calloc(n_children, sizeof(ArrowArray*))
        array.n_children = n_children
    return 0


cdef ArrowArray* child_array(
    ArrowArray* parent,
    int64_t index,
    object owner,
    int64_t length,
    int64_t null_count,
    int64_t n_buffers,
    int64_t n_children=0,
) except NULL:
    cdef ArrowArray* child = <ArrowArray*> calloc(1, sizeof(ArrowArray))
    parent.children[index] = child
    fill_array(child, owner, length, null_count, n_buffers, n_children)
    return child
