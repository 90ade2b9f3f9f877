"""What the reader fills in: see record.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef class Origin:
    cdef readonly str topic
    cdef readonly object partition
    cdef readonly object leader_epoch
    cdef readonly object timestamp_type  # 0, 1, or None: v0 has no time
    cdef readonly object checksum  # of a v0 or v1 message, which has an origin of its own
    cdef readonly object delivery_count  # in a share group; else None


cdef class ConsumerRecord:
    cdef object origin
    cdef object key
    cdef object value
    cdef object offset
    cdef object raw_headers
    cdef int64_t timestamp_ms
    cdef int32_t key_size
    cdef int32_t value_size
    cdef bint is_leaf  # see leaf.h, which knows this layout


cdef list read_headers(bytes raw)
cdef ConsumerRecord make_record(
    Origin origin,
    int64_t offset,
    int64_t timestamp_ms,
    const uint8_t* key,
    int32_t key_size,
    const uint8_t* value,
    int32_t value_size,
    const uint8_t* headers,
    Py_ssize_t headers_size,
)
cdef ConsumerRecord deserialized(ConsumerRecord raw, key_deserializer, value_deserializer)
cdef Origin new_origin(
    str topic, int32_t partition, int32_t leader_epoch, int timestamp_type, object checksum
)
