"""Control records: markers of ended transactions, and whatever brokers write among the data.

Key: version int16, type int16; 0 abort, 1 commit, more in logs of KRaft (Java: ControlRecordType).
The value of the first two: version int16, coordinator epoch int32 (Java: EndTransactionMarker).
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from cpython.bytes cimport PyBytes_FromStringAndSize

from kcore.records cimport layout
from kcore.records.layout cimport BatchHeader, Fault, RecordView, read_record

from kcore.records.faults import RECORD_FAULTS
from kcore.structs import ControlRecord


cdef list read_control(const uint8_t* at, const uint8_t* end, BatchHeader* head):
    """The control records from `at` to `end`; ValueError if they are malformed."""
    cdef RecordView view
    cdef Fault wrong
    cdef int prior = -1
    cdef list found = []
    cdef int64_t timestamp
    while len(found) < head.record_count:
        wrong = read_record(at, end, &view)
        if wrong != layout.FINE:
            raise ValueError(RECORD_FAULTS[<int> wrong])
        if view.offset_delta <= prior or view.offset_delta > head.last_offset_delta:
            raise ValueError(f"offset delta {view.offset_delta} after {prior}")
        if view.key_size < 4 or view.key[0] & 0x80:
            raise ValueError("a control record without a version and a type")
        timestamp = <int64_t> (<uint64_t> head.base_timestamp + <uint64_t> view.timestamp_delta)
        if head.attributes & layout.APPEND_TIME:
            timestamp = head.max_timestamp
        found.append(ControlRecord(
            head.base_offset + view.offset_delta,
            timestamp,
            head.leader_epoch,
            head.producer_id,
            head.producer_epoch,
            layout.load16(view.key + 2),
            PyBytes_FromStringAndSize(<const char*> view.key, view.key_size),
            None if view.value_size < 0
            else PyBytes_FromStringAndSize(<const char*> view.value, view.value_size),
        ))
        prior = view.offset_delta
        at = view.end
    if at != end:
        raise ValueError("bytes left over after the last record")
    return found
