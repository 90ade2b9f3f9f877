from libc.stdint cimport int32_t, uint8_t

cdef int32_t partition_of_bytes(bytes key, Py_ssize_t count) except -1
cdef int32_t partition_at(const uint8_t* data, Py_ssize_t size, int32_t count) noexcept nogil
