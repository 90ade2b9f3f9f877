"""How much a compressed stream can hold, found before anything of it is unpacked.

The frame formats of lz4, zstd and snappy say how long each of their blocks is. Hopping over them
gives an upper bound, and shows whether the stream ends where its bytes end; nothing that a header
merely claims is ever allocated.

Formats: lz4 Frame Format 1.6; RFC 8878 (zstd); snappy's format_description.txt; the framing of
xerial's snappy-java (16 bytes of header, then int32 length and raw block in turn).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef enum:
    LZ4_SHORTEST = 11  # magic, two descriptor bytes, header checksum, end mark
    LZ4_MAX_RATIO = 255  # each byte of a match length adds at most 255 bytes
    ZSTD_BLOCK_MAX = 1 << 17
    ZSTD_RAW = 0
    ZSTD_RLE = 1
    ZSTD_COMPRESSED = 2
    SNAPPY_MAX_RATIO = 22  # three bytes say: copy 64
    XERIAL_HEADER = 16

cdef uint32_t LZ4_MAGIC = 0x184D2204
cdef uint32_t LZ4_STORED = 0x80000000  # the block's bytes are not compressed
cdef uint32_t ZSTD_MAGIC = 0xFD2FB528
cdef uint32_t SKIPPABLE_MAGIC = 0x184D2A50  # and the 15 after it
cdef const char* XERIAL_MAGIC = b"\x82SNAPPY\x00"


class CodecError(ValueError):
    """Compressed bytes that cannot be read, or that hold more than the bound."""


cdef inline uint32_t little32(const uint8_t* at) noexcept nogil:
    cdef uint32_t raw = 0
    memcpy(&raw, at, 4)  # little-endian machines only: see layout.pxd
    return raw


cdef inline uint64_t little(const uint8_t* at, int size) noexcept nogil:
    cdef uint64_t raw = 0
    memcpy(&raw, at, size)
    return raw


# lz4 ----------------------------------------------------------------------------------------------


def lz4_bound(data) -> int:
    """At most how many bytes the one lz4 frame in `data` holds; CodecError if it is none."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return measure_lz4(<const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef int64_t measure_lz4(const uint8_t* start, Py_ssize_t length) except -1:
    cdef uint8_t flags
    cdef int code
    cdef int64_t at, block_max, checksum_size, size
    cdef int64_t bound = 0
    if length < LZ4_SHORTEST or little32(start) != LZ4_MAGIC:
        raise CodecError("lz4: not an lz4 frame")
    flags = start[4]
    code = start[5] >> 4 & 7
    if flags >> 6 != 1 or code < 4:
        raise CodecError("lz4: unknown frame version or block size")
    block_max = <int64_t> 1 << (2 * code + 8)  # 64 KiB, 256 KiB, 1 MiB, 4 MiB
    at = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    checksum_size = 4 if flags & 0x10 else 0
    while True:
        if at + 4 > length:
            raise CodecError("lz4: the frame ends early")
        size = little32(start + at)
        at += 4
        if size == 0:
            return bound
        if size & LZ4_STORED:
            size ^= LZ4_STORED
            bound += min(size, block_max)
        else:
            bound += min(size * LZ4_MAX_RATIO, block_max)
        at += size + checksum_size


cdef inline uint32_t rotated(uint32_t raw, int by) noexcept nogil:
    return raw << by | raw >> (32 - by)


cdef uint32_t xxh32(const uint8_t* at, Py_ssize_t size) noexcept nogil:
    """The XXH32 (seed 0) of fewer than 16 bytes."""
    cdef uint32_t hashed = <uint32_t> 374761393 + <uint32_t> size
    cdef const uint8_t* end = at + size
    while end - at >= 4:
        hashed = rotated(hashed + little32(at) * <uint32_t> 3266489917, 17) * <uint32_t> 668265263
        at += 4
    while at < end:
        hashed = rotated(hashed + at[0] * <uint32_t> 374761393, 11) * <uint32_t> 2654435761
        at += 1
    hashed = (hashed ^ hashed >> 15) * <uint32_t> 2246822519
    hashed = (hashed ^ hashed >> 13) * <uint32_t> 3266489917
    return hashed ^ hashed >> 16


def seal_lz4(frame, *, bint broken=False) -> bytes:
    """The frame with its header checksum made anew.

    broken: the one that Kafka before 0.10 wrote, and still expects inside v0 messages: it takes in
    the magic number, too (KAFKA-3160). CodecError if the frame is too short to have one.
    """
    cdef bytearray sealed = bytearray(frame)
    cdef uint8_t* start = <uint8_t*> sealed
    cdef Py_ssize_t end = 6
    if len(sealed) < LZ4_SHORTEST:
        raise CodecError("lz4: not an lz4 frame")
    end += (8 if start[4] & 0x08 else 0) + (4 if start[4] & 0x01 else 0)
    if end + 1 > len(sealed) or end > 15:  # with a dictionary and a content size: not ours
        raise CodecError("lz4: the frame ends early")
    if broken:
        start[end] = <uint8_t> (xxh32(start, end) >> 8)
    else:
        start[end] = <uint8_t> (xxh32(start + 4, end - 4) >> 8)
    return bytes(sealed)


# zstd ---------------------------------------------------------------------------------------------


def zstd_frames(data) -> list:
    """The frames in `data`, in order, as (start, end, bound, window), all in bytes.

    bound: at most how much the frame holds. window: what a decoder has to keep of it. CodecError if
    the data is not a row of whole frames. Skippable frames are left out.
    """
    cdef Py_buffer view
    cdef list found = []
    cdef Py_ssize_t at = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while at < view.len:
            at = next_frame(<const uint8_t*> view.buf, view.len, at, found)
    finally:
        PyBuffer_Release(&view)
    return found


cdef Py_ssize_t next_frame(
    const uint8_t* start, Py_ssize_t length, Py_ssize_t at, list found
) except -1:
    cdef uint32_t magic
    cdef uint64_t size
    if length - at < 8:
        raise CodecError("zstd: the stream ends early" if at == 0 else "zstd: bytes after the end")
    magic = little32(start + at)
    if magic == ZSTD_MAGIC:
        return measure_zstd(start, length, at, found)
    if magic & 0xFFFFFFF0 != SKIPPABLE_MAGIC:
        raise CodecError("zstd: not a zstd frame" if at == 0 else "zstd: bytes after the end")
    size = little32(start + at + 4)
    if size > <uint64_t> (length - at - 8):
        raise CodecError("zstd: the stream ends early")
    return at + 8 + <Py_ssize_t> size


cdef Py_ssize_t measure_zstd(
    const uint8_t* start, Py_ssize_t length, Py_ssize_t begin, list found
) except -1:
    cdef uint8_t flags = start[begin + 4]
    cdef bint single = flags & 0x20
    cdef int code = flags >> 6
    cdef int id_size = (0, 1, 2, 4)[flags & 3]
    cdef int claim_size = (1 if single else 0) if code == 0 else 1 << code
    cdef Py_ssize_t at = begin + 5
    cdef uint64_t window = 0
    cdef uint64_t claim = 0
    cdef int64_t bound
    if flags & 0x08:
        raise CodecError("zstd: unknown bits in the frame's header")
    if length - at < (not single) + id_size + claim_size:
        raise CodecError("zstd: the stream ends early")
    if not single:
        window = <uint64_t> 1 << (10 + (start[at] >> 3))
        window += (window >> 3) * (start[at] & 7)
        at += 1
    at += id_size
    if claim_size:
        claim = little(start + at, claim_size) + (256 if code == 1 else 0)
        at += claim_size
    if single:
        window = claim
    bound = hop_blocks(start, length, &at, <int64_t> min(window, <uint64_t> ZSTD_BLOCK_MAX))
    if flags & 0x04:
        at += 4
    if at > length:
        raise CodecError("zstd: the stream ends early")
    if claim_size:
        if claim > <uint64_t> bound or (claim == 0 and bound):
            raise CodecError(f"zstd: a frame of at most {bound} bytes claims to hold {claim}")
        bound = <int64_t> claim
    found.append((begin, at, bound, window))
    return at


cdef int64_t hop_blocks(
    const uint8_t* start, Py_ssize_t length, Py_ssize_t* place, int64_t block_max
) except -1:
    """The sum of what the blocks hold at most; `place` moves behind the last."""
    cdef Py_ssize_t at = place[0]
    cdef uint32_t head
    cdef int64_t size
    cdef int64_t bound = 0
    while True:
        if length - at < 3:
            raise CodecError("zstd: the stream ends early")
        head = <uint32_t> little(start + at, 3)
        at += 3
        size = head >> 3
        if head >> 1 & 3 == ZSTD_RLE:
            bound += min(size, block_max)
            at += 1
        elif head >> 1 & 3 == ZSTD_RAW:
            bound += min(size, block_max)
            at += size
        elif head >> 1 & 3 == ZSTD_COMPRESSED:
            bound += block_max
            at += size
        else:
            raise CodecError("zstd: a block of an unknown kind")
        if at > length:
            raise CodecError("zstd: the stream ends early")
        if head & 1:
            place[0] = at
            return bound


# snappy -------------------------------------------------------------------------------------------


def snappy_blocks(data) -> tuple:
    """Raw snappy blocks as (start, end, size unpacked), and the sum of the sizes.

    In xerial's framing or one bare block. Producers disagree about the order of the bytes of the
    version behind the magic, and there is but one: it is not looked at. CodecError if the data
    ends early or a block claims more than it can hold.
    """
    cdef Py_buffer view
    cdef list found = []
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return found, measure_snappy(<const uint8_t*> view.buf, view.len, found)
    finally:
        PyBuffer_Release(&view)


cdef int64_t measure_snappy(const uint8_t* start, Py_ssize_t length, list found) except -1:
    cdef Py_ssize_t at = XERIAL_HEADER
    cdef int64_t total = 0
    cdef int64_t size
    if length < XERIAL_HEADER or memcmp(start, XERIAL_MAGIC, 8):
        return add_block(start, 0, length, found)
    while at < length:
        if length - at < 4:
            raise CodecError("snappy: the stream ends early")
        size = (<uint32_t> start[at] << 24 | start[at + 1] << 16
                | start[at + 2] << 8 | start[at + 3])
        at += 4
        if size > length - at:
            raise CodecError("snappy: the stream ends early")
        total += add_block(start, at, at + size, found)
        at += size
    return total


cdef int64_t add_block(
    const uint8_t* start, Py_ssize_t begin, Py_ssize_t end, list found
) except -1:
    """Note one raw block; its size unpacked."""
    cdef uint64_t size = 0
    cdef Py_ssize_t at = begin
    cdef int shift = 0
    while True:
        if at == end or shift > 28:
            raise CodecError("snappy: a block without a size")
        size |= <uint64_t> (start[at] & 0x7F) << shift
        shift += 7
        at += 1
        if start[at - 1] < 0x80:
            break
    if size > <uint64_t> (end - at) * SNAPPY_MAX_RATIO:
        raise CodecError(f"snappy: a block of {end - begin} bytes claims to hold {size}")
    found.append((begin, end, size))
    return <int64_t> size
