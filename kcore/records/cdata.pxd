"""The Arrow C data interface: its structs, and making and releasing them (cdata.pyx)."""

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

cdef struct ArrowSchema:
    const char* format
    const char* name
    const char* metadata
    int64_t flags
    int64_t n_children
    ArrowSchema** children
    ArrowSchema* dictionary
    void (*release)(ArrowSchema*) noexcept nogil
    void* private_data

cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void** buffers
    ArrowArray** children
    ArrowArray* dictionary
    void (*release)(ArrowArray*) noexcept nogil
    void* private_data  # what the memory belongs to: one reference

cdef struct ArrowArrayStream:
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
    int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
    const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
    void (*release)(ArrowArrayStream*) noexcept nogil
    void* private_data  # a Source


cdef void* malloc(int64_t count, size_t item_size) except NULL
cdef void* calloc(int64_t count, size_t item_size) except NULL

cdef void release_schema(ArrowSchema* schema) noexcept nogil
cdef void free_schema_capsule(object capsule) noexcept
cdef int fill_schema(
    ArrowSchema* schema, const char* format, const char* name, int64_t n_children
) except -1
cdef ArrowSchema* child_schema(
    ArrowSchema* parent, int64_t index, const char* format, const char* name, int64_t n_children=*
) except NULL

cdef void release_array(ArrowArray* array) noexcept nogil
cdef void free_array_capsule(object capsule) noexcept
cdef void give_back(PyObject* owner) noexcept nogil
cdef int fill_array(
    ArrowArray* array,
    object owner,
    int64_t length,
    int64_t null_count,
    int64_t n_buffers,
    int64_t n_children,
) except -1
cdef ArrowArray* child_array(
    ArrowArray* parent,
    int64_t index,
    object owner,
    int64_t length,
    int64_t null_count,
    int64_t n_buffers,
    int64_t n_children=*,
) except NULL
