"""The hash that decides which partition a key belongs to (Java: Utils.murmur2, kafka-python).

32-bit MurmurHash2 with Kafka's seed. Every client of a cluster has to agree on it, or records of
one key end up in two partitions.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    SEED = 0x9747B28C
    MIX = 0x5BD1E995
    SHIFT = 24


cdef uint32_t hash_of(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    cdef uint32_t mixed = <uint32_t> SEED ^ <uint32_t> size
    cdef uint32_t word = 0
    while size >= 4:
        memcpy(&word, data, 4)  # little-endian, as layout.pxd insists
        word *= <uint32_t> MIX
        word ^= word >> SHIFT
        word *= <uint32_t> MIX
        mixed = mixed * <uint32_t> MIX ^ word
        data += 4
        size -= 4
    if size >= 3:
        mixed ^= <uint32_t> data[2] << 16
    if size >= 2:
        mixed ^= <uint32_t> data[1] << 8
    if size >= 1:
        mixed ^= data[0]
        mixed *= <uint32_t> MIX
    mixed ^= mixed >> 13
    mixed *= <uint32_t> MIX
    return mixed ^ mixed >> 15


cdef int32_t partition_at(const uint8_t* data, Py_ssize_t size, int32_t count) noexcept nogil:
    return <int32_t> ((hash_of(data, size) & 0x7FFFFFFF) % <uint32_t> count)


cdef int32_t partition_of_bytes(bytes key, Py_ssize_t count) except -1:
    if count <= 0:
        raise ValueError(f"{count} partitions")
    return partition_at(
        <const uint8_t*> PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key), <int32_t> count
    )


def murmur2(data) -> int:
    """The hash of bytes, unsigned."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return hash_of(<const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def partition_of(key, int32_t count) -> int:
    """The partition, of `count`, that Java's default partitioner gives a key.

    ValueError: `count` is not positive.
    """
    cdef Py_buffer view
    if count <= 0:
        raise ValueError(f"{count} partitions")
    PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
    try:
        return partition_at(<const uint8_t*> view.buf, view.len, count)
    finally:
        PyBuffer_Release(&view)
