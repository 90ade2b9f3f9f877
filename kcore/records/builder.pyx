"""Writing v2 record batches, byte for byte as Java's encoder does (compressed bodies may differ).

Java: MemoryRecordsBuilder, DefaultRecord.writeTo. The layout is in layout.pxd.
"""

cimport cython
from cpython.bytearray cimport (
    PyByteArray_AS_STRING,
    PyByteArray_FromStringAndSize,
    PyByteArray_GET_SIZE,
    PyByteArray_Resize,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcore.records cimport layout
from kcore.records.layout cimport store16, store32, store64
from kcore.records.varint cimport varint_size, varlong_size, write_varlong

from kcore.records.checksum import crc32c

from kcore.records import codecs

cdef dict compressors = codecs.COMPRESS
cdef object checksum = crc32c

cdef enum:
    FIRST_CAPACITY = 4096
    FIRST_STEP = 132 << 10  # and a batch of 128 KiB is whole then
    EXPECTED_MAX = 1 << 20  # bytes; Kafka's own limit of a batch, unless a broker is told otherwise
    MAX_RECORD_OVERHEAD = 32  # length, attributes and the five other numbers at their longest


@cython.final
cdef class BatchBuilder:
    """One batch, record by record; the options are those of `encode_batch`.

    expected_bytes: what it may come to, uncompressed. More can be added; but once it is more than a
    few records, memory is got for so much at once.
    """

    def __init__(
        self,
        *,
        int64_t base_offset=0,
        codec="none",
        level=None,
        int32_t leader_epoch=-1,
        append_time_ms=None,
        int64_t producer_id=-1,
        int16_t producer_epoch=-1,
        int32_t base_sequence=-1,
        bint transactional=False,
        bint control=False,
        delete_horizon_ms=None,
        Py_ssize_t expected_bytes=0,
    ) -> None:
        if codec not in codecs.NAMES:
            raise ValueError(f"unknown codec {codec!r}; known are {', '.join(codecs.NAMES)}")
        self.codec = codecs.NAMES.index(codec)
        self.level = level
        self.base_offset = base_offset
        self.leader_epoch = leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.attributes = <int16_t> self.codec
        self.base_timestamp = self.max_timestamp = self.append_time = -1
        if append_time_ms is not None:
            self.append_time = append_time_ms
            self.attributes |= layout.APPEND_TIME
        if transactional:
            self.attributes |= layout.TRANSACTIONAL
        if control:
            self.attributes |= layout.CONTROL
        if delete_horizon_ms is not None:
            self.base_timestamp = delete_horizon_ms
            self.attributes |= layout.DELETE_HORIZON
        self.last_delta = -1
        self.used = layout.HEADER_SIZE
        self.expected = min(max(expected_bytes, 0), EXPECTED_MAX) + MAX_RECORD_OVERHEAD
        self.body = PyByteArray_FromStringAndSize(NULL, FIRST_CAPACITY)

    @property
    def size_bytes(self) -> int:
        """The batch's size so far, before compression."""
        return self.used

    def append(self, int64_t timestamp, key, value, headers=(), offset=None) -> None:
        """Add a record: time in ms, bytes or None, bytes or None, (str, bytes or None) pairs.

        Offsets follow each other; `offset` leaves a gap, as compaction does. ValueError if it goes
        back, or if the batch grows too large.
        """
        cdef bytes key_bytes = as_bytes(key)
        cdef bytes value_bytes = as_bytes(value)
        cdef bytes packed_headers
        if offset is None:
            self.put(timestamp, key_bytes, value_bytes, headers)
        else:
            packed_headers = pack_headers(headers) if headers else None
            self.add(
                timestamp,
                <int64_t> offset - self.base_offset,
                field_of(key_bytes),
                field_of(value_bytes),
                field_of(packed_headers),
            )

    cdef int put(self, int64_t timestamp, bytes key, bytes value, headers) except -1:
        """`append` of the next record, from C."""
        cdef bytes packed_headers = pack_headers(headers) if headers else None
        return self.add(
            timestamp,
            self.last_delta + 1,
            field_of(key),
            field_of(value),
            field_of(packed_headers),
        )

    @cython.critical_section
    cdef int add(
        self, int64_t timestamp, int64_t delta, Field key, Field value, Field headers
    ) except -1:
        """`append` of bytes wherever they are. delta: of the offset to the first record's.
        headers: their count and they, as on the wire; null: there are none.
        """
        cdef int64_t timestamp_delta
        cdef Py_ssize_t size
        cdef uint8_t* at
        cdef uint8_t* begin
        if delta <= self.last_delta or delta > INT32_MAX:
            raise ValueError(
                f"offset {self.base_offset + delta} after {self.base_offset + self.last_delta}"
            )
        if self.body is None:
            raise ValueError("the batch is sealed")
        if self.record_count == 0 and not self.attributes & layout.DELETE_HORIZON:
            self.base_timestamp = timestamp
        timestamp_delta = <int64_t> (<uint64_t> timestamp - <uint64_t> self.base_timestamp)
        size = 1 + varlong_size(timestamp_delta) + varint_size(<int32_t> delta)
        size += sized(key) + sized(value) + (1 if headers.size < 0 else headers.size)
        if size > INT32_MAX - self.used - MAX_RECORD_OVERHEAD:
            raise ValueError("a batch cannot be larger than 2 GiB")
        if self.used + size + MAX_RECORD_OVERHEAD > PyByteArray_GET_SIZE(self.body):
            self.grow(2 * self.used + size + MAX_RECORD_OVERHEAD)
        begin = <uint8_t*> PyByteArray_AS_STRING(self.body)
        at = write_varlong(begin + self.used, size)
        at[0] = 0  # attributes, unused
        at = write_varlong(at + 1, timestamp_delta)
        at = write_varlong(at, delta)
        at = write_sized(at, key)
        at = write_sized(at, value)
        if headers.size < 0:
            at[0] = 0
            at += 1
        else:
            memcpy(at, headers.data, headers.size)
            at += headers.size
        self.used = at - begin
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.last_delta = <int32_t> delta
        self.record_count += 1
        return 0

    cdef int grow(self, Py_ssize_t size) except -1:
        """Have memory for so much at least, and for what is expected, in two steps: where many
        batches are begun and few become full, they are not to hold more than they need.
        """
        cdef bytearray grown
        cdef Py_ssize_t wanted = min(self.expected, max(<Py_ssize_t> FIRST_STEP, 4 * self.used))
        if size >= wanted:
            PyByteArray_Resize(self.body, size)
            return 0
        grown = PyByteArray_FromStringAndSize(NULL, wanted)
        memcpy(PyByteArray_AS_STRING(grown), PyByteArray_AS_STRING(self.body), self.used)
        self.body = grown
        return 0

    @cython.critical_section
    def seal(self, last_offset=None) -> bytearray:
        """The batch's bytes, complete but for the checksum (see `stamp`); nothing may be added.

        last_offset: the header's, if the last records are gone. ValueError if it is before them.
        """
        cdef int64_t delta = max(self.last_delta, 0)
        cdef bytearray body = self.body
        if body is None:
            raise ValueError("the batch is sealed")
        if last_offset is not None:
            delta = <int64_t> last_offset - self.base_offset
            if delta < self.last_delta or delta < 0 or delta > INT32_MAX:
                raise ValueError(f"last offset {last_offset} of records that end later")
        if self.codec:
            packed = compressors[self.codec](
                memoryview(body)[layout.HEADER_SIZE:self.used], self.level
            )
            body = bytearray(layout.HEADER_SIZE) + packed
        else:
            PyByteArray_Resize(body, self.used)
        self.body = None
        cdef Py_ssize_t length = PyByteArray_GET_SIZE(body) - layout.PREFIX_SIZE
        self.write_header(
            <uint8_t*> PyByteArray_AS_STRING(body), <int32_t> length, <int32_t> delta
        )
        return body

    def finish(self, last_offset=None) -> bytes:
        """The batch's bytes, checksum and all; `last_offset` as in `seal`."""
        cdef bytearray body = self.seal(last_offset)
        write_checksum(body)
        return bytes(body)

    cdef int write_header(self, uint8_t* at, int32_t length, int32_t last_delta) except -1:
        cdef bint append_time = self.attributes & layout.APPEND_TIME
        at = store64(at, self.base_offset)
        at = store32(at, length)
        at = store32(at, self.leader_epoch)
        at[0] = 2
        at = store32(at + 1, 0)  # the checksum follows
        at = store16(at, self.attributes)
        at = store32(at, last_delta)
        at = store64(at, self.base_timestamp)
        at = store64(at, self.append_time if append_time else self.max_timestamp)
        at = store64(at, self.producer_id)
        at = store16(at, self.producer_epoch)
        at = store32(at, self.base_sequence)
        store32(at, self.record_count)
        return 0


def stamp(
    bytearray batch not None, int64_t producer_id, int16_t producer_epoch, int32_t base_sequence
) -> None:
    """Write who sends a sealed batch, in place, and its checksum; -1, -1, -1: nobody in particular.

    A batch that is sent again as another one (KIP-360: a new epoch, sequences from 0) is stamped
    again. ValueError: fewer bytes than a header.
    """
    if PyByteArray_GET_SIZE(batch) < layout.HEADER_SIZE:
        raise ValueError("not a batch: it is shorter than a header")
    cdef uint8_t* at = <uint8_t*> PyByteArray_AS_STRING(batch) + layout.PRODUCER_AT
    store32(store16(store64(at, producer_id), producer_epoch), base_sequence)
    write_checksum(batch)


cdef int write_checksum(bytearray batch) except -1:
    cdef uint32_t crc = checksum(memoryview(batch)[layout.CHECKED_AT:])
    store32(<uint8_t*> PyByteArray_AS_STRING(batch) + layout.CRC_AT, <int32_t> crc)
    return 0


cdef bytes as_bytes(item):
    if item is None or type(item) is bytes:
        return <bytes> item
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    raise TypeError(f"keys and values are bytes or None, not {type(item).__name__}")


cdef inline Field field_of(bytes item) noexcept:
    cdef Field field
    field.data = NULL
    field.size = -1
    if item is not None:
        field.data = <const uint8_t*> PyBytes_AS_STRING(item)
        field.size = PyBytes_GET_SIZE(item)
    return field


cdef inline Py_ssize_t sized(Field item) except -1:
    """Bytes of a nullable field with its length in front."""
    if item.size < 0:
        return 1
    if item.size > INT32_MAX - layout.HEADER_SIZE:
        raise ValueError("a field cannot be larger than 2 GiB")
    return varint_size(<int32_t> item.size) + item.size


cdef inline uint8_t* write_sized(uint8_t* at, Field item) noexcept:
    if item.size < 0:
        return write_varlong(at, -1)
    at = write_varlong(at, item.size)
    memcpy(at, item.data, item.size)
    return at + item.size


cdef bytes pack_headers(headers):
    """The header count and the headers."""
    cdef list fields = []
    cdef int32_t count = 0
    for name, item in headers:
        fields.append((<str?> name).encode())
        fields.append(as_bytes(item))
        count += 1
    cdef Py_ssize_t size = varint_size(count)
    for field in fields:
        size += sized(field_of(<bytes> field))
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t* at = write_varlong(<uint8_t*> PyBytes_AS_STRING(packed), count)
    for field in fields:
        at = write_sized(at, field_of(<bytes> field))
    return packed


def encode_batch(records, *, offsets=None, last_offset=None, **options) -> bytes:
    """One v2 batch of `records`: tuples of timestamp, key, value and, if there are any, headers.

    timestamp: ms. key, value: bytes or None. headers: (str, bytes or None) pairs.
    offsets: of each record, ascending, where they do not follow each other (compaction).
    last_offset: what the header says, default the last record's.
    options: base_offset (0), codec (one of codecs.NAMES), level (of the codec), leader_epoch,
        producer_id, producer_epoch, base_sequence (all -1), transactional, control,
        append_time_ms (makes it a batch of log-append time), delete_horizon_ms.
    """
    builder = BatchBuilder(**options)
    if offsets is None:
        for record in records:
            builder.append(*record)
    else:
        for record, offset in zip(records, offsets, strict=True):
            builder.append(*record, offset=offset)
    return builder.finish(last_offset)
