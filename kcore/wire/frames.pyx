"""Frames: a message with its header behind a four-byte length, both directions.

    request    int32 length | RequestHeader v1, v2 if the body is flexible | body
    response   int32 length | ResponseHeader v0, v1 if the body is flexible | body

The response header of ApiVersions is v0 whatever the version of the body, so that a client can read
the answer to a version that it guessed wrong (KIP-511).

`FrameReader` cuts a stream into frames. While no frame is open it lends a scratch buffer, so that
one read can bring many small answers; once a length is known it lends what is missing of a buffer
of exactly that size, so that a large answer lands where it will be decoded.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.buffer cimport PyBuffer_FillInfo, PyBuffer_Release, PyBUF_SIMPLE, PyObject_GetBuffer
from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX, int16_t, int32_t, uint8_t
from libc.string cimport memcpy, memmove

from kcore.wire.codec cimport Source, open_source, read_message, write_message
from kcore.wire.cursor cimport FAULT_NONE, Cursor, load_uint32, take_int16
from kcore.wire.writer cimport (
    Writer,
    room,
    store_int,
    writer_drop,
    writer_finish,
    writer_open,
    written,
    written_at,
)

from kcore.errors import FrameError, Truncated, Unexpected, UsageError
from kcore.tuples import NamedTuple
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.message import Message
from kcore.wire.messages import RequestHeader, ResponseHeader

cdef extern from "blocks.h":
    ctypedef struct kcore_block:
        uint8_t *data

    size_t BLOCK_MIN
    Py_ssize_t HUGE_PAGE
    kcore_block take_block(size_t size)
    void give_block(kcore_block block)

cdef cython.pymutex blocks_lock

cdef enum:
    LENGTH_SIZE = 4
    CORRELATION_ID_AT = 8  # in a request with its length: behind API key and version
    SCRATCH_SIZE = 16384  # bytes; a read of small answers, and all that is copied of a large one
    FIRST_CAPACITY = 256  # bytes; most requests fit
    API_VERSIONS = 18
    REQUEST_ITEMS_MAX = 500_000  # five for each of 100,000 partitions

# What a length that cannot be one says about the peer.
cdef list GREETINGS = [
    (b"HTTP", "the port speaks HTTP"),
    (b"\x15\x03", "the port speaks TLS and answered with an alert"),
    (b"\x16\x03", "the port speaks TLS"),
    (b"SSH-", "the port speaks SSH"),
    (b"GET ", "the peer sent an HTTP request"),
    (b"POST", "the peer sent an HTTP request"),
]


class DecodedRequest(NamedTuple):
    """A request as a broker gets it.

    message is None if the API is known but not in this version: the broker answers with
    UNSUPPORTED_VERSION (ApiVersions: in v0).
    """

    api_key: ApiKey
    api_version: int
    correlation_id: int
    client_id: str | None
    message: Message | None


def encode_request(message, int version, int32_t correlation_id, client_id):
    """The bytes to send for a request: length, header and body. client_id: str or None.

    Raises as `codec.encode`.
    """
    return encode_asked(message, version, correlation_id, client_id, None)


def encode_request_parts(message, int version, int32_t correlation_id, client_id):
    """As `encode_request`, in parts to be sent in a row: large pieces of records uncopied."""
    cdef list aside = []
    return in_parts(encode_asked(message, version, correlation_id, client_id, aside), aside)


cdef bytes encode_asked(
    object message, int version, int32_t correlation_id, object client_id, list aside
):
    header = RequestHeader(
        request_api_key=message.API_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encode_frame(header, 2 if is_flexible(message, version) else 1, message, version, aside)


def renumber_request(bytearray frame not None, int32_t correlation_id):
    """Put another correlation id into a request frame (with its length, as `encode_request` makes
    them), so that the same is asked again.
    """
    if len(frame) < CORRELATION_ID_AT + 4:
        raise ValueError(f"{len(frame)} bytes are no request frame")
    store_int(<uint8_t *> PyByteArray_AS_STRING(frame) + CORRELATION_ID_AT, correlation_id, 4)


def encode_response(message, int version, int32_t correlation_id):
    """The bytes to send for a response: length, header and body. Raises as `codec.encode`."""
    header = ResponseHeader(correlation_id=correlation_id)
    return encode_frame(header, response_header_version(message, version), message, version, None)


def encode_response_parts(message, int version, int32_t correlation_id):
    """As `encode_response`, in parts to be sent in a row: large pieces of records uncopied."""
    header = ResponseHeader(correlation_id=correlation_id)
    cdef list aside = []
    return in_parts(
        encode_frame(header, response_header_version(message, version), message, version, aside),
        aside,
    )


cdef list in_parts(bytes data, list aside):
    """A frame with what was left aside in its places."""
    if not aside:
        return [data]
    view = memoryview(data)
    cdef list parts = []
    cdef Py_ssize_t at = 0
    for offset, piece in aside:
        if offset > at:
            parts.append(view[at:offset])
            at = offset
        parts.append(piece)
    if at < len(data):
        parts.append(view[at:])
    return parts


def decode_response(type cls, int version, frame):
    """The body of a response frame (its bytes behind the length), an object of class `cls`.

    `records` are views over the frame. Bytes behind the body are passed over, as Kafka's own client
    does: some peers add fields that the version does not have. Raises Truncated, Unexpected.
    """
    source = open_source(frame)
    read_message(ResponseHeader, response_header_version(cls, version), source, False)
    return read_message(cls, version, source, False)


def decode_request(frame):
    """The request in a frame (its bytes behind the length).

    Bytes behind the body are passed over, as Kafka does: librdkafka asks for the metadata of all
    topics with some. Raises Truncated, Unexpected (also for an API key that we do not know, and for
    arrays that have more items in all than any client needs: an item of two bytes may cost a
    hundred here).
    """
    source = open_source(frame)
    source.items_left = REQUEST_ITEMS_MAX
    return read_request(source)


def correlation_id(frame):
    """The correlation id that a response frame (its bytes behind the length) begins with."""
    cdef Py_buffer buffer
    PyObject_GetBuffer(frame, &buffer, PyBUF_SIMPLE)
    try:
        if buffer.len < 4:
            raise Truncated(
                f"a response of {buffer.len} bytes has no room for a correlation id", at=buffer.len
            )
        return <int32_t> load_uint32(<const uint8_t *> buffer.buf)
    finally:
        PyBuffer_Release(&buffer)


cdef object read_request(Source source):
    cdef Cursor peek = source.cursor
    cdef int16_t key = take_int16(&peek)
    cdef int16_t version = take_int16(&peek)
    api = API_TABLE.get(key)
    if api is None and peek.fault == FAULT_NONE:
        raise Unexpected(f"a request with the unknown API key {key}", version=version, at=0)
    flexible = api is not None and is_flexible(api.request, version)
    header = read_message(RequestHeader, 2 if flexible else 1, source, False)
    message = None
    lowest, highest = api.request.VERSIONS
    if lowest <= version <= highest:
        message = read_message(api.request, version, source, False)
    return DecodedRequest(api.key, version, header.correlation_id, header.client_id, message)


cdef bint is_flexible(object message, int version) except -1:
    first = message.FLEXIBLE_FROM
    return first is not None and version >= first


cdef int response_header_version(object message, int version) except -1:
    return message.API_KEY != API_VERSIONS and is_flexible(message, version)


cdef bytes encode_frame(
    object header, int header_version, object message, int version, list aside
):
    """The frame, its length included. aside: takes (offset, buffer) of what belongs into it there
    and was not copied; None: nothing is left out.
    """
    cdef Writer writer
    cdef Py_ssize_t size
    writer_open(&writer, FIRST_CAPACITY)
    if aside is not None:
        writer.aside = <PyObject *> aside
    try:
        room(&writer, LENGTH_SIZE)
        write_message(header, header_version, &writer)
        write_message(message, version, &writer)
        size = written(&writer) + writer.aside_size - LENGTH_SIZE
        if size > INT32_MAX:
            raise UsageError(f"{type(message).__name__}: {size} bytes do not fit into a frame")
        store_int(written_at(&writer, 0), size, LENGTH_SIZE)
        return writer_finish(&writer)
    except BaseException:
        writer_drop(&writer)
        raise


@cython.final
cdef class FrameBuffer:
    """Memory of one frame, not zeroed first. Views of it are writable until it is `sealed`."""

    cdef kcore_block block
    cdef uint8_t *data
    cdef Py_ssize_t size
    cdef bint sealed

    def __cinit__(self, Py_ssize_t size):
        if size < 0:
            raise UsageError(f"a frame of {size} bytes")
        with blocks_lock:
            self.block = take_block(size)
        self.data = self.block.data
        if self.data == NULL:
            raise MemoryError
        self.size = size

    def __dealloc__(self):
        if self.data != NULL:
            with blocks_lock:
                give_block(self.block)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.size, self.sealed, flags)


@cython.final
cdef class FrameReader:
    """Cuts what a peer sends into frames.

    Lend `buffer()`, fill some of it, tell `advance` how much; or hand bytes to `feed`. Both give
    the frames that became complete, without their length, as read-only views that own their memory.
    Both raise FrameError if a length is negative or above max_frame_bytes, then and ever after;
    frames before it in the same read are given up with the stream.
    """

    cdef int32_t _limit
    cdef FrameBuffer _scratch
    cdef Py_ssize_t _held  # bytes in the scratch: less than a length
    cdef FrameBuffer _frame  # the open frame, None if there is none
    cdef Py_ssize_t _filled  # bytes of the open frame that are there
    cdef object _error

    def __cinit__(self, int32_t max_frame_bytes):
        if max_frame_bytes < 0:
            raise UsageError(f"max_frame_bytes is negative: {max_frame_bytes}")
        self._limit = max_frame_bytes
        self._scratch = FrameBuffer(SCRATCH_SIZE)

    @property
    def pending_bytes(self):
        """Bytes of a frame that is not complete yet, its length included; 0 between frames."""
        return self._held if self._frame is None else LENGTH_SIZE + self._filled

    @property
    def missing_bytes(self):
        """What is missing of the open frame; 0 if none is open, or its length is not known yet."""
        return 0 if self._frame is None else self._frame.size - self._filled

    @property
    def resident_bytes(self):
        """Memory that a frame that is not complete yet costs: large ones are in huge pages, of
        which the first byte costs as much as the last.
        """
        if self._frame is None:
            return self._held
        if <size_t> self._frame.size < BLOCK_MIN:
            return self._filled
        return min(self._frame.size, (self._filled + HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE)

    def buffer(self):
        """Where to put what comes next: a writable view that is valid until `advance` or `feed`."""
        with cython.critical_section(self):
            if self._frame is None:
                return memoryview(self._scratch)[self._held:]
            return memoryview(self._frame)[self._filled:]

    def advance(self, Py_ssize_t size):
        """Take in the first `size` bytes of the buffer lent last; the frames they complete."""
        cdef list frames = []
        with cython.critical_section(self):
            if not 0 <= size <= self._capacity():
                raise UsageError(f"{size} bytes cannot be in a buffer of {self._capacity()}")
            self._take(size, frames)
        return frames

    def feed(self, data):
        """Take in bytes that are elsewhere, by copying them; the frames they complete."""
        cdef list frames = []
        cdef Py_buffer source
        cdef Py_ssize_t at = 0, size
        PyObject_GetBuffer(data, &source, PyBUF_SIMPLE)
        try:
            with cython.critical_section(self):
                while at < source.len:
                    size = min(source.len - at, self._capacity())
                    memcpy(self._space(), <const uint8_t *> source.buf + at, size)
                    at += size
                    self._take(size, frames)
        finally:
            PyBuffer_Release(&source)
        return frames

    cdef Py_ssize_t _capacity(self) noexcept:
        if self._frame is None:
            return SCRATCH_SIZE - self._held
        return self._frame.size - self._filled

    cdef uint8_t *_space(self) noexcept:
        if self._frame is None:
            return self._scratch.data + self._held
        return self._frame.data + self._filled

    cdef int _take(self, Py_ssize_t size, list frames) except -1:
        if self._error is not None:
            raise self._error
        if self._frame is None:
            return self._cut(self._held + size, frames)
        self._filled += size
        if self._filled == self._frame.size:
            self._finish(frames)
        return 0

    cdef int _cut(self, Py_ssize_t size, list frames) except -1:
        """Cut `size` bytes of scratch into frames; the last one may stay open."""
        cdef const uint8_t *pos = self._scratch.data
        cdef const uint8_t *end = pos + size
        while end - pos >= LENGTH_SIZE:
            self._frame = FrameBuffer.__new__(FrameBuffer, self._length(pos))
            pos += LENGTH_SIZE
            self._filled = min(self._frame.size, end - pos)
            memcpy(self._frame.data, pos, self._filled)
            pos += self._filled
            if self._filled == self._frame.size:
                self._finish(frames)
        self._held = end - pos
        memmove(self._scratch.data, pos, self._held)
        return 0

    cdef int _finish(self, list frames) except -1:
        self._frame.sealed = True
        frames.append(memoryview(self._frame))
        self._frame = None
        self._filled = 0
        return 0

    cdef int32_t _length(self, const uint8_t *pos) except -1:
        cdef int32_t length = <int32_t> load_uint32(pos)
        if 0 <= length <= self._limit:
            return length
        cdef bytes start = pos[:LENGTH_SIZE]
        why = "negative" if length < 0 else f"more than the limit of {self._limit} bytes"
        peer = "the peer is no Kafka broker, or the stream is out of step"
        for greeting, meaning in GREETINGS:
            if start.startswith(greeting):
                peer = meaning
        self._error = FrameError(
            f"a frame of {length} bytes ({start!r}), which is {why}: {peer}", start=start
        )
        raise self._error
