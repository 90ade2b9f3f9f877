"""Messages of formats v0 and v1 (Kafka before 0.11; Java: LegacyRecord, AbstractLegacyRecordBatch).

    0 offset  int64     12 crc         uint32    18 timestamp  int64, v1 only
    8 size    int32     16 magic       int8      then key length, key, value length, value, int32
                        17 attributes  int8      lengths, -1 for null

`size` counts from byte 12; the CRC-32 (zlib's) covers byte 16 to the end. attributes: 0-2 codec
(none, gzip, snappy, lz4), 3 log-append time (v1). There is no batch: messages stand one behind the
other, and a compressed one is a wrapper whose value holds others of its format, at one level. The
wrapper's offset is that of its last message; inside, v0 has absolute offsets and v1 has offsets
relative to the wrapper's, of which only the differences count. A v1 wrapper of log-append time
gives its time to all inside.

A message, or what a wrapper holds, is unfolded into the body of a v2 batch. So records, columns,
positions and deserializers have one reader behind them; the price is a copy, for logs that have
been out of fashion since 2017.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcore.records cimport layout
from kcore.records.layout cimport load32, load64
from kcore.records.varint cimport varint_size, varlong_size, write_varlong

import zlib

from kcore.records import codecs

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char* mem, Py_ssize_t size, int flags)
    int PyBUF_READ

cdef object crc32 = zlib.crc32
cdef dict decompressors = {0: codecs.DECOMPRESS_V0, 1: codecs.DECOMPRESS_V1}

cdef enum:
    # Of a v2 record without its key and value: 5 + 1 + 10 + 5 + 5 + 5 + 1. A v1 message has 34; a
    # v0 message 26, but the time delta of its record is one byte. So no body outgrows its messages.
    MAX_OVERHEAD = 32


class MalformedMessageError(ValueError):
    """A message, or what is inside of one, breaks its format."""


@cython.final
cdef class Unfolded:
    """The body of a v2 batch, `used` bytes of it, and what else its header would say."""


cdef uint32_t crc_of(const uint8_t* at, const uint8_t* end) except? 0:
    """The CRC-32 of a message that begins at `at`."""
    at += layout.MAGIC_AT
    return crc32(PyMemoryView_FromMemory(<char*> at, end - at, PyBUF_READ))


cdef str read_message(const uint8_t* at, const uint8_t* end, Message* out):
    """Read the message that fills `at` to `end`; what is wrong with it, or None.

    The caller has checked that the size in it is what there is, that it is at least
    LEGACY_MIN_LENGTH and that the format is 0 or 1.
    """
    out.offset = load64(at)
    out.crc = <uint32_t> load32(at + layout.PREFIX_SIZE)
    out.magic = at[layout.MAGIC_AT]
    out.attributes = at[layout.MAGIC_AT + 1]
    out.timestamp = -1
    out.end = end
    at += layout.MAGIC_AT + 2
    if out.magic == 1:
        if end - at < 16:
            return f"a v1 message of {end - at + 6} bytes"
        out.timestamp = load64(at)
        at += 8
    if out.attributes & ~(layout.CODEC_MASK | (layout.APPEND_TIME if out.magic else 0)):
        return f"unknown attributes {out.attributes:#x}"
    out.key_size = load32(at)
    out.key = at = at + 4
    if out.key_size < -1 or out.key_size > end - at - 4:
        return "the length of a key disagrees with the bytes there are"
    if out.key_size > 0:
        at += out.key_size
    out.value_size = load32(at)
    out.value = at = at + 4
    if out.value_size < -1 or max(out.value_size, 0) != end - at:
        return "the length of a value disagrees with the bytes there are"
    return None


cdef Unfolded unfold(Message* message, bint check_crcs, Py_ssize_t max_bytes):
    """The records of a message that stands on its own, or is a wrapper.

    Raises MalformedMessageError, CodecError (more than `max_bytes`, too) or MissingPackageError.
    """
    if message.attributes & layout.CODEC_MASK == 0:
        return fold([message.offset], message, NULL, message.end, message)
    cdef bytes inner = unpack(message, max_bytes)
    cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(inner)
    cdef const uint8_t* end = start + PyBytes_GET_SIZE(inner)
    cdef list offsets = check_inner(start, end, message.magic, check_crcs)
    cdef int64_t last = offsets[len(offsets) - 1]
    cdef int64_t shift = 0
    if message.magic == 1:
        shift = message.offset - last
        if <int64_t> offsets[0] + shift < 0:
            raise MalformedMessageError(f"offsets up to {last} inside of offset {message.offset}")
    elif last > message.offset:
        raise MalformedMessageError(f"offset {last} inside of offset {message.offset}")
    if last - <int64_t> offsets[0] > INT32_MAX:
        raise MalformedMessageError(f"offsets from {offsets[0]} to {last} inside")
    return fold([offset + shift for offset in offsets], message, start, end, NULL)


cdef bytes unpack(Message* wrapper, Py_ssize_t max_bytes):
    """The messages inside of a wrapper."""
    cdef int codec = wrapper.attributes & layout.CODEC_MASK
    decompress = decompressors[wrapper.magic].get(codec)
    if decompress is None:
        raise MalformedMessageError(f"{codecs.name_of(codec)} in a v{wrapper.magic} message")
    if wrapper.value_size < 0:
        raise MalformedMessageError("a compressed message without a value")
    packed = PyMemoryView_FromMemory(<char*> wrapper.value, wrapper.value_size, PyBUF_READ)
    return decompress(packed, max_bytes)


cdef list check_inner(const uint8_t* at, const uint8_t* end, int magic, bint check_crcs):
    """The offsets inside of a wrapper, as they stand there; MalformedMessageError."""
    cdef Message message
    cdef list offsets = []
    cdef int64_t passed = -1
    cdef int32_t size
    cdef str wrong
    while at < end:
        if end - at < layout.PREFIX_SIZE + layout.LEGACY_MIN_LENGTH:
            raise MalformedMessageError("a message inside ends early")
        size = load32(at + 8)
        if size < layout.LEGACY_MIN_LENGTH or size > end - at - layout.PREFIX_SIZE:
            raise MalformedMessageError("the length of a message inside is wrong")
        if at[layout.MAGIC_AT] != magic:
            raise MalformedMessageError(f"format {at[layout.MAGIC_AT]} inside of format {magic}")
        wrong = read_message(at, at + layout.PREFIX_SIZE + size, &message)
        if wrong is not None:
            raise MalformedMessageError(f"inside: {wrong}")
        if message.attributes & layout.CODEC_MASK:
            raise MalformedMessageError("a compressed message inside of another")
        if message.offset <= passed or message.offset == INT64_MAX:
            raise MalformedMessageError(f"inside, offset {message.offset} after {passed}")
        if check_crcs and crc_of(at, message.end) != message.crc:
            raise MalformedMessageError("the checksum of a message inside is wrong")
        passed = message.offset
        offsets.append(passed)
        at = message.end
    if not offsets:
        raise MalformedMessageError("a compressed message with nothing inside")
    return offsets


cdef Unfolded fold(
    list offsets, Message* outer, const uint8_t* at, const uint8_t* end, Message* only
):
    """Write the checked messages from `at` to `end`, or `only` the one, as a v2 body."""
    cdef Unfolded made = Unfolded.__new__(Unfolded)
    cdef Message message
    cdef uint8_t* to
    cdef Py_ssize_t size = outer.end - outer.key + MAX_OVERHEAD if only != NULL else end - at
    made.record_count = <int32_t> len(offsets)
    made.base_offset = offsets[0]
    made.last_delta = <int32_t> (<int64_t> offsets[made.record_count - 1] - made.base_offset)
    made.base_timestamp = outer.timestamp
    made.checksums = []
    made.body = PyBytes_FromStringAndSize(NULL, size)
    to = <uint8_t*> PyBytes_AS_STRING(made.body)
    for offset in offsets:
        if only != NULL:
            message = only[0]
        else:
            read_message(at, at + layout.PREFIX_SIZE + load32(at + 8), &message)
            at = message.end
        made.checksums.append(message.crc)
        to = write_record(
            to,
            &message,
            <int64_t> (<uint64_t> message.timestamp - <uint64_t> made.base_timestamp),
            <int32_t> (<int64_t> offset - made.base_offset),
        )
    made.used = to - <uint8_t*> PyBytes_AS_STRING(made.body)
    return made


cdef uint8_t* write_record(
    uint8_t* to, Message* message, int64_t timestamp_delta, int32_t offset_delta
) noexcept nogil:
    cdef int64_t size = 2 + varlong_size(timestamp_delta) + varint_size(offset_delta)
    size += varint_size(message.key_size) + max(message.key_size, 0)
    size += varint_size(message.value_size) + max(message.value_size, 0)
    to = write_varlong(to, size)
    to[0] = 0  # attributes, unused
    to = write_varlong(to + 1, timestamp_delta)
    to = write_varlong(to, offset_delta)
    to = write_varlong(to, message.key_size)
    if message.key_size > 0:
        memcpy(to, message.key, message.key_size)
        to += message.key_size
    to = write_varlong(to, message.value_size)
    if message.value_size > 0:
        memcpy(to, message.value, message.value_size)
        to += message.value_size
    to[0] = 0  # no headers
    return to + 1
