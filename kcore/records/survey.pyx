"""Looking through one v2 batch without making records of it: what a broker checks before it keeps
it (Java: LogValidator), and what it has to know when it is asked for an offset by time.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport (
    INT32_MAX, INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t,
)

from kcore.records cimport layout
from kcore.records.layout cimport BatchHeader, Fault, RecordView, load_header, read_record

from kcore.records.checksum import crc32c

from kcore import limits
from kcore.records import codecs
from kcore.records.faults import RECORD_FAULTS
from kcore.tuples import NamedTuple

cdef object checksum = crc32c
cdef dict decompressors = codecs.DECOMPRESS

cdef enum:
    SIZE_BYTES_MAX = 5  # of the number in front of each record


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


class OversizedRecordError(ValueError):
    """A record of a compressed batch is larger than it may be."""


cdef bytes unpacked(const uint8_t[::1] data, BatchHeader* head, int64_t most):
    """The records of a compressed batch, of `most` bytes at most."""
    decompress = decompressors.get(head.attributes & layout.CODEC_MASK)
    if decompress is None:
        raise ValueError(f"unknown codec {head.attributes & layout.CODEC_MASK}")
    return decompress(memoryview(data)[layout.HEADER_SIZE:], min(most, limits.MAX_BATCH_BYTES))


cdef int64_t body_size(const uint8_t* at, const uint8_t* end) noexcept:
    """Of the record from `at` to `end`, without the number that says so."""
    while at[0] & 0x80:
        at += 1
    return end - at - 1


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


def survey(
    const uint8_t[::1] data not None, *, bint check_crc=True, int64_t record_bytes_max=INT32_MAX
) -> Survey:
    """Look through the batch that `data` is.

    record_bytes_max: of one record, where they are compressed; no more is unpacked than so many of
    such a size can have (Java: DefaultRecord.readFrom).

    ValueError: it is malformed (CodecError, if its compression is, or if it holds too much;
    OversizedRecordError: a record is too large). MissingPackageError: its codec cannot be read
    here.
    """
    cdef BatchHeader head
    cdef bytes body
    cdef const uint8_t* at
    cdef const uint8_t* end
    check_frame(data, &head, check_crc)
    at = &data[0] + layout.HEADER_SIZE
    end = &data[0] + data.shape[0]
    if head.attributes & layout.CODEC_MASK:
        body = unpacked(
            data, &head, (record_bytes_max + SIZE_BYTES_MAX) * max(head.record_count, 1)
        )
        at = <const uint8_t*> PyBytes_AS_STRING(body)
        end = at + len(body)
    else:
        record_bytes_max = INT32_MAX
    return survey_body(at, end, &head, record_bytes_max)


cdef object survey_body(
    const uint8_t* at, const uint8_t* end, BatchHeader* head, int64_t record_bytes_max
):
    cdef RecordView view
    cdef Fault wrong
    cdef int32_t index = 0, unkeyed = -1, newest = -1, prior = -1
    cdef bint sequential = True
    cdef int64_t timestamp, least = INT64_MAX, most = INT64_MIN
    while index < head.record_count:
        wrong = read_record(at, end, &view)
        if wrong != layout.FINE:
            raise ValueError(RECORD_FAULTS[<int> wrong])
        if view.end - at > record_bytes_max:
            check_body(at, view.end, record_bytes_max)
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


cdef int check_body(const uint8_t* at, const uint8_t* end, int64_t most) except -1:
    cdef int64_t size = body_size(at, end)
    if size > most:
        raise OversizedRecordError(f"a record of {size} bytes, more than {most}")
    return 0


def first_at_or_after(
    const uint8_t[::1] data not None,
    int64_t timestamp,
    int64_t delta=0,
    *,
    int64_t record_bytes_max=INT32_MAX,
) -> tuple[int, int] | None:
    """Offset delta and timestamp of the first record from `delta` on that is not older; None: none.

    Errors as those of `survey`, of records up to the one that is found; the checksum is not looked
    at.
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
        body = unpacked(data, &head, INT64_MAX)
        at = <const uint8_t*> PyBytes_AS_STRING(body)
        end = at + len(body)
    else:
        record_bytes_max = INT32_MAX
    for _index in range(head.record_count):
        if read_record(at, end, &view) != layout.FINE:
            raise ValueError("a malformed record")
        if view.end - at > record_bytes_max:
            check_body(at, view.end, record_bytes_max)
        found = <int64_t> (<uint64_t> head.base_timestamp + <uint64_t> view.timestamp_delta)
        if append_time:
            found = head.max_timestamp
        if found >= timestamp and view.offset_delta >= delta:
            return view.offset_delta, found
        at = view.end
    return None
