from cpython.long cimport PyLong_AsLongLong
from libc.stdint cimport int64_t

from kcore.locks cimport WorkLock
from kcore.records.builder cimport BatchBuilder


cdef int64_t now_wall_ms() except? -1


cdef inline bint goes_as_it_is(topic, key, value, headers, partition) noexcept:
    """Whether a record has the types it has in a batch."""
    return type(topic) is str and (
        (type(value) is bytes or value is None)
        and (type(key) is bytes or key is None)
        and (type(headers) is list or headers is None)
        and (type(partition) is int or partition is None)
    )


cdef inline int64_t moment_of(timestamp_ms) except? -1:
    """Of a record; None: now. Negative: it cannot be."""
    if timestamp_ms is None:
        return now_wall_ms()
    if type(timestamp_ms) is int and 0 <= timestamp_ms <= 0x7FFF_FFFF_FFFF_FFFF:
        return PyLong_AsLongLong(timestamp_ms)
    return -1


cdef class Budget:
    cdef public int64_t limit_bytes
    cdef public int64_t held_bytes
    cdef public double full_bytes


cdef class Filling:
    cdef public BatchBuilder builder
    cdef public bytearray data
    cdef public list waiters


cdef class Inlet:
    cdef public Filling filling


cdef class Draw:
    cdef public int64_t partition
    cdef public int64_t taken_bytes
    cdef public int64_t batch_size


cdef class Route:
    cdef readonly list numbers
    cdef readonly dict lanes
    cdef readonly Draw sticky
    cdef readonly bint by_key

    cdef int64_t choice(self, bytes key) except -2


cdef class Ticket:
    cdef readonly object batch
    cdef readonly object courier
    cdef public object calls
    cdef readonly int64_t number
    cdef readonly int64_t timestamp_ms
    cdef readonly int64_t key_size
    cdef readonly int64_t value_size
    cdef readonly int64_t header_size


cdef class Intake:
    cdef readonly Budget budget
    cdef readonly dict routes
    cdef readonly int64_t record_bytes_max

    cdef Filling take(
        self, topic, bytes key, bytes value, list headers, partition, int64_t timestamp_ms
    )


cdef class Receiver:
    cdef public bint stopped
    cdef public Filling last


cdef class Door:
    cdef Intake intake
    cdef WorkLock lock
    cdef object kind
    cdef Receiver courier

    cdef object admit(
        self, topic, key, value, headers, partition, timestamp_ms, bint raises
    )
    cdef Ticket issue(
        self, batch, int64_t number, bytes key, bytes value, headers, int64_t timestamp_ms
    )


cdef class Sending:
    cdef public Door _open_door
