"""The layout of a v2 record batch (KIP-98; Java: DefaultRecordBatch, DefaultRecord), read in place.

    0 base_offset          int64     23 last_offset_delta  int32
    8 length               int32     27 base_timestamp     int64
   12 leader_epoch         int32     35 max_timestamp      int64
   16 magic                int8      43 producer_id        int64
   17 crc                  uint32    51 producer_epoch     int16
   21 attributes           int16     53 base_sequence      int32
                                     57 record_count       int32   61 records

`length` counts from byte 12. The CRC-32C covers byte 21 to the end, so offset, length, epoch and
magic are outside of it. attributes: 0-2 codec, 3 log-append time, 4 transactional, 5 control,
6 base_timestamp is the delete horizon (KIP-534); the rest is unused.

A record: length, attributes (one byte, unused), timestamp delta, offset delta, key length, key,
value length, value, header count, headers (key length, key, value length, value); all numbers are
zigzag varints.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcore.records.varint cimport read_varint, read_varlong, unlikely

cdef extern from *:
    """
    #if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "little-endian machines only"
    #endif
    """
    uint16_t bswap16 "__builtin_bswap16" (uint16_t) noexcept nogil
    uint32_t bswap32 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t bswap64 "__builtin_bswap64" (uint64_t) noexcept nogil
    void prefetch "__builtin_prefetch" (const void*) noexcept nogil

cdef enum:
    PREFIX_SIZE = 12  # offset and length: in front of everything, of any format
    MAGIC_AT = 16
    CRC_AT = 17
    CHECKED_AT = 21
    PRODUCER_AT = 43  # id, epoch, base sequence
    HEADER_SIZE = 61
    LEGACY_MIN_LENGTH = 14  # v0: crc, magic, attributes, key length, value length
    RECORD_MIN_SIZE = 7  # a record of seven one-byte fields: null key, null value, no headers
    HEADER_MIN_SIZE = 2  # a record header with an empty key and a null value

cdef enum:
    SHORT_MAX = 9  # size 2, attributes 1, time 2, offset 2, key 2
    NULL_SIZE = 1  # -1 as it stands on the wire

cdef enum:
    AHEAD_BYTES = 32768  # a batch or two

cdef enum:
    CODEC_MASK = 0x07
    APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20
    DELETE_HORIZON = 0x40
    KNOWN_ATTRIBUTES = 0x7F

cdef enum Fault:
    FINE
    BAD_VARINT
    BAD_LENGTH
    BAD_KEY
    BAD_VALUE
    BAD_HEADER_COUNT
    BAD_HEADER
    BAD_END

cdef struct BatchHeader:
    int64_t base_offset
    int32_t length
    int32_t leader_epoch
    int8_t magic
    uint32_t crc
    int16_t attributes
    int32_t last_offset_delta
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int16_t producer_epoch
    int32_t base_sequence
    int32_t record_count

cdef struct RecordView:
    # Lengths are -1 for null, as on the wire; `headers` begins after the header count.
    int64_t timestamp_delta
    int32_t offset_delta
    int32_t key_size
    int32_t value_size
    int32_t header_count
    const uint8_t* key
    const uint8_t* value
    const uint8_t* headers
    const uint8_t* end


cdef inline int16_t load16(const uint8_t* at) noexcept nogil:
    cdef uint16_t raw = 0
    memcpy(&raw, at, 2)
    return <int16_t> bswap16(raw)


cdef inline int32_t load32(const uint8_t* at) noexcept nogil:
    cdef uint32_t raw = 0
    memcpy(&raw, at, 4)
    return <int32_t> bswap32(raw)


cdef inline int64_t load64(const uint8_t* at) noexcept nogil:
    cdef uint64_t raw = 0
    memcpy(&raw, at, 8)
    return <int64_t> bswap64(raw)


cdef inline uint8_t* store16(uint8_t* at, int16_t value) noexcept nogil:
    cdef uint16_t raw = bswap16(<uint16_t> value)
    memcpy(at, &raw, 2)
    return at + 2


cdef inline uint8_t* store32(uint8_t* at, int32_t value) noexcept nogil:
    cdef uint32_t raw = bswap32(<uint32_t> value)
    memcpy(at, &raw, 4)
    return at + 4


cdef inline uint8_t* store64(uint8_t* at, int64_t value) noexcept nogil:
    cdef uint64_t raw = bswap64(<uint64_t> value)
    memcpy(at, &raw, 8)
    return at + 8


cdef inline void load_header(const uint8_t* at, BatchHeader* out) noexcept nogil:
    """Read the 61 bytes of a v2 header; the caller has checked that they are there."""
    out.base_offset = load64(at)
    out.length = load32(at + 8)
    out.leader_epoch = load32(at + 12)
    out.magic = <int8_t> at[MAGIC_AT]
    out.crc = <uint32_t> load32(at + CRC_AT)
    out.attributes = load16(at + CHECKED_AT)
    out.last_offset_delta = load32(at + 23)
    out.base_timestamp = load64(at + 27)
    out.max_timestamp = load64(at + 35)
    out.producer_id = load64(at + 43)
    out.producer_epoch = load16(at + 51)
    out.base_sequence = load32(at + 53)
    out.record_count = load32(at + 57)


cdef inline void fetch_ahead(const uint8_t* at) noexcept nogil:
    """With each record: bring what is further on into the cache meanwhile.

    The next batches' checksums then find it there. What lies outside of the bytes does no harm.
    """
    prefetch(at + AHEAD_BYTES)
    prefetch(at + AHEAD_BYTES + 64)


cdef inline Fault check_headers(
    const uint8_t* pos, const uint8_t* end, int32_t count
) noexcept nogil:
    """Walk `count` record headers: they must be well formed and end where the record ends."""
    cdef int32_t size = 0
    if count > (end - pos) // HEADER_MIN_SIZE:
        return BAD_HEADER_COUNT
    while count:
        count -= 1
        pos = read_varint(pos, end, &size)
        if pos == NULL or size < 0 or size > end - pos:
            return BAD_HEADER
        pos = read_varint(pos + size, end, &size)
        if pos == NULL or size < -1 or size > end - pos:
            return BAD_HEADER
        if size > 0:
            pos += size
    return FINE if pos == end else BAD_END


cdef inline Fault read_record(
    const uint8_t* pos, const uint8_t* end, RecordView* out
) noexcept nogil:
    """Read one record at `pos`, checked whole; `out.end` is where the next begins."""
    cdef const uint8_t* at = read_short(pos, end, out)
    if unlikely(at == NULL):
        return read_any(pos, end, out)
    if at[0] == 0 and at + 1 == out.end:  # no headers
        out.header_count = 0
        out.headers = out.end
        return FINE
    return read_headers(at, out.end, out)


cdef inline const uint8_t* read_short(
    const uint8_t* pos, const uint8_t* end, RecordView* out
) noexcept nogil:
    """The record but for its headers, and where they begin, if it is one of the many whose numbers
    have at most two bytes; NULL if it may not be.

    There is one check of the bounds for all numbers in front of the key. Some may come from behind
    the record's end: then that of the value is not within it.
    """
    cdef uint32_t size = 0
    cdef uint32_t time = 0
    cdef uint32_t delta = 0
    cdef uint32_t key = 0
    cdef uint32_t value = 0
    cdef uint32_t more = 0
    if unlikely(end - pos < SHORT_MAX):
        return NULL
    pos = take_short(pos, &size, &more)
    out.end = pos + (size >> 1)
    pos = take_short(pos + 1, &time, &more)  # +1: the attributes, unused
    pos = take_short(pos, &delta, &more)
    pos = take_short(pos, &key, &more)
    if unlikely(<int64_t> (key >> 1) > end - pos - 2):
        return NULL
    out.key = pos
    pos = take_short(pos + (key >> 1), &value, &more)
    out.value = pos
    pos += value >> 1
    if unlikely(more >= 0x80 or (size | delta) & 1 or out.end > end or pos >= out.end):
        return NULL
    if unlikely((key & 1 and key != NULL_SIZE) or (value & 1 and value != NULL_SIZE)):
        return NULL
    out.timestamp_delta = <int64_t> (time >> 1) ^ -<int64_t> (time & 1)
    out.offset_delta = <int32_t> (delta >> 1)
    out.key_size = <int32_t> (key >> 1) - <int32_t> (key & 1)
    out.value_size = <int32_t> (value >> 1) - <int32_t> (value & 1)
    return pos


cdef inline const uint8_t* take_short(
    const uint8_t* pos, uint32_t* raw, uint32_t* more
) noexcept nogil:
    """A varint of one byte or two, not yet unfolded; `more` is 0x80 or above if it has others."""
    raw[0] = pos[0]
    if pos[0] < 0x80:
        return pos + 1
    more[0] |= pos[1]
    raw[0] = (raw[0] & 0x7F) | <uint32_t> pos[1] << 7
    return pos + 2


cdef inline Fault read_any(
    const uint8_t* pos, const uint8_t* end, RecordView* out
) noexcept nogil:
    """`read_record`, whatever is there."""
    cdef int32_t size = 0
    pos = read_varint(pos, end, &size)
    if pos == NULL:
        return BAD_VARINT
    if size < 1 or size > end - pos:
        return BAD_LENGTH
    end = pos + size
    out.end = end
    pos = read_varlong(pos + 1, end, &out.timestamp_delta)  # +1: the attributes, unused
    if pos == NULL:
        return BAD_VARINT
    pos = read_varint(pos, end, &out.offset_delta)
    if pos == NULL:
        return BAD_VARINT
    pos = read_varint(pos, end, &size)
    if pos == NULL or size < -1 or size > end - pos:
        return BAD_KEY
    out.key = pos
    out.key_size = size
    if size > 0:
        pos += size
    pos = read_varint(pos, end, &size)
    if pos == NULL or size < -1 or size > end - pos:
        return BAD_VALUE
    out.value = pos
    out.value_size = size
    if size > 0:
        pos += size
    return read_headers(pos, end, out)


cdef inline Fault read_headers(
    const uint8_t* pos, const uint8_t* end, RecordView* out
) noexcept nogil:
    """What is behind the value, up to the record's end."""
    cdef int32_t size = 0
    pos = read_varint(pos, end, &size)
    if pos == NULL or size < 0:
        return BAD_HEADER_COUNT
    out.header_count = size
    out.headers = pos
    if size == 0:
        return FINE if pos == end else BAD_END
    return check_headers(pos, end, size)
