"""Looking through one v2 batch without making records of it: what a broker checks before it keeps
it (Java: LogValidator), and what it has to know when it is asked for an offset by time.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcore.records cimport layout
from kcore.records.layout cimport BatchHeader, Fault, RecordView, load_header, read_record

from kcore.records.checksum import crc32c

from kcore import limits
from kcore.records import codecs
from kcore.records.faults import RECORD_FAULTS
from kcore.tuples import NamedTuple

cdef object checksum = crc32c
cdef dict decompressors = codecs.DECOMPRESS


class Survey(NamedTuple):
    """What the records of a batch are like.

    min_timestamp, max_timestamp: ms, as the producer said them; of records without one (-1) only
    max_timestamp speaks. newest: offset delta of the first record with the largest. unkeyed: index
    of the first record without a key, -1: none. sequential: whether the records stand at 0, 1, 2,
    ... behind the base offset.
    """

    records: int
    min_timestamp: int
    max_timestamp: int
    newest: int
    unkeyed: int
    sequential: bool


cdef bytes unpacked(const uint8_t[::1] data, BatchHeader* head):
    """The records of a compressed batch."""
    decompress = decompressors.get(head.attributes & layout.CODEC_MASK)
    if decompress is None:
        raise ValueError(f"unknown codec {head.attributes & layout.CODEC_MASK}")
    return decompress(memoryview(data)[layout.HEADER_SIZE:], limits.MAX_BATCH_BYTES)


cdef int check_frame(const uint8_t[::1] data, BatchHeader* head, bint check_crc) except -1:
    cdef Py_ssize_t size = data.shape[0]
    if size < layout.HEADER_SIZE:
        raise ValueError(f"a batch of {size} bytes")
    load_header(&data[0], head)
    if head.magic != 2 or head.length != size - layout.PREFIX_SIZE:
        raise ValueError("not one batch of format 2")
    if check_crc and <uint32_t> checksum(memoryview(data)[layout.CHECKED_AT:]) != head.crc:
        raise ValueError("the checksum is wrong")
    return 0


def survey(const uint8_t[::1] data not None, *, bint check_crc=True) -> Survey:
    """Look through the batch that `data` is.

    ValueError: it is malformed (CodecError, if its compression is). MissingPackageError: its codec
    cannot be read here.
    """
    cdef BatchHeader head
    cdef bytes body
    cdef const uint8_t* at
    cdef const uint8_t* end
    check_frame(data, &head, check_crc)
    at = &data[0] + layout.HEADER_SIZE
    end = &data[0] + data.shape[0]
    if head.attributes & layout.CODEC_MASK:
        body = unpacked(data, &head)
        at = <const uint8_t*> PyBytes_AS_STRING(body)
        end = at + len(body)
    return survey_body(at, end, &head)


cdef object survey_body(const uint8_t* at, const uint8_t* end, BatchHeader* head):
    cdef RecordView view
    cdef Fault wrong
    cdef int32_t index = 0, unkeyed = -1, newest = -1, prior = -1
    cdef bint sequential = True
    cdef int64_t timestamp, least = INT64_MAX, most = INT64_MIN
    while index < head.record_count:
        wrong = read_record(at, end, &view)
        if wrong != layout.FINE:
            raise ValueError(RECORD_FAULTS[<int> wrong])
        if view.offset_delta <= prior or view.offset_delta > head.last_offset_delta:
            raise ValueError(f"offset delta {view.offset_delta} after {prior}")
        prior = view.offset_delta
        sequential = sequential and prior == index
        timestamp = <int64_t> (<uint64_t> head.base_timestamp + <uint64_t> view.timestamp_delta)
        if timestamp > most:
            most = timestamp
            newest = prior
        if timestamp < least and timestamp != -1:
            least = timestamp
        if view.key_size < 0 and unkeyed < 0:
            unkeyed = index
        index += 1
        at = view.end
    if at != end:
        raise ValueError("bytes left over after the last record")
    if not index:
        most = -1
    if least == INT64_MAX:
        least = -1
    return Survey(index, least, most, newest, unkeyed, sequential)


def first_at_or_after(
    const uint8_t[::1] data not None, int64_t timestamp, int64_t delta=0
) -> tuple[int, int] | None:
    """Offset delta and timestamp of the first record from `delta` on that is not older; None: none.

    Errors as those of `survey`; the checksum is not looked at.
    """
    cdef BatchHeader head
    cdef bytes body
    cdef RecordView view
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef int64_t found
    cdef int32_t _index
    cdef bint append_time
    check_frame(data, &head, False)
    append_time = head.attributes & layout.APPEND_TIME
    at = &data[0] + layout.HEADER_SIZE
    end = &data[0] + data.shape[0]
    if head.attributes & layout.CODEC_MASK:
        body = unpacked(data, &head)
        at = <const uint8_t*> PyBytes_AS_STRING(body)
        end = at + len(body)
    for _index in range(head.record_count):
        if read_record(at, end, &view) != layout.FINE:
            raise ValueError("a malformed record")
        found = <int64_t> (<uint64_t> head.base_timestamp + <uint64_t> view.timestamp_delta)
        if append_time:
            found = head.max_timestamp
        if found >= timestamp and view.offset_delta >= delta:
            return view.offset_delta, found
        at = view.end
    return None
