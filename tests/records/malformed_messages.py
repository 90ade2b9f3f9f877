"""Messages of formats v0 and v1, of parts that may be wrong; and broken ones, by name."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from kcore.records import codecs, encode_batch
from kcore.records.message_set import encode_message_set

NAMES = ("none", "gzip", "snappy", "lz4")
NUMBERS = {name: number for number, name in enumerate(NAMES)}


def message(
    offset: int,
    magic: int = 1,
    key: bytes = b"\xff" * 4,
    value: bytes = b"\0\0\0\1v",
    *,
    attributes: int = 0,
    time: int = 5,
    size: int | None = None,
    crc: int | None = None,
) -> bytes:
    """A message of parts that may be wrong; `key` and `value` come with their lengths."""
    checked = struct.pack(">bB", magic, attributes)
    if magic:
        checked += struct.pack(">q", time)
    checked += key + value
    sealed = zlib.crc32(checked) if crc is None else crc
    return struct.pack(">qiI", offset, len(checked) + 4 if size is None else size, sealed) + checked


def field(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def wrapper(inner: bytes, offset: int, magic: int = 1, codec: str = "gzip", **more: int) -> bytes:
    compress = codecs.COMPRESS_V1 if magic else codecs.COMPRESS_V0
    packed = compress[NUMBERS[codec]](inner, None)
    attributes = more.pop("attributes", 0) | NUMBERS[codec]
    return message(offset, magic, value=field(packed), attributes=attributes, **more)


GOOD = encode_message_set([(1, b"a", b"1"), (2, b"b", b"2")], magic=1, base_offset=10)
BASE = 20


def broken(magic: int) -> Iterator[tuple[str, bytes]]:
    """Name and message at offset 20: under a right checksum, unless it is the checksum."""

    def one(offset: int = 0, **more: object) -> bytes:
        return message(offset if magic else BASE - 1 + offset, magic, **more)

    def around(inner: bytes, **more: object) -> bytes:
        return wrapper(inner, BASE, magic, **more)

    yield "checksum", message(BASE, magic, crc=1)
    yield "key too long", message(BASE, magic, key=struct.pack(">i", 6))
    yield "key length -2", message(BASE, magic, key=struct.pack(">i", -2))
    yield "key huge", message(BASE, magic, key=struct.pack(">i", 2**31 - 1))
    yield "value too long", message(BASE, magic, value=b"\0\0\0\2v")
    yield "value too short", message(BASE, magic, value=b"\0\0\0\0v")
    yield "value length -2", message(BASE, magic, value=struct.pack(">i", -2))
    yield "null value with bytes", message(BASE, magic, value=b"\xff\xff\xff\xffv")
    yield "attributes", message(BASE, magic, attributes=0x10)
    yield "time bit", message(BASE, magic, attributes=0x88)
    if not magic:
        yield "a kind of time in v0", message(BASE, magic, attributes=0x08)
    for codec in (4, 5, 6, 7):
        yield f"codec {codec}", message(BASE, magic, value=field(b"xx"), attributes=codec)
    yield "wrapper without value", message(BASE, magic, value=b"\xff" * 4, attributes=1)
    yield "wrapper of nothing", around(b"")
    yield "wrapper of no stream", message(BASE, magic, value=field(b"xx"), attributes=1)
    yield "wrapper in a wrapper", around(wrapper(one(), 0 if magic else BASE, magic))
    yield "other format inside", around(message(0 if magic else BASE, 1 - magic))
    yield "v2 inside", around(encode_batch([(1, None, b"x")], base_offset=BASE))
    yield "message inside cut", around(one() + one(1)[:-1])
    yield "head inside cut", around(one() + one(1)[:9])
    yield "bytes inside left over", around(one() + b"\0")
    yield "size inside too large", around(one(size=100))
    yield "size inside too small", around(one(size=13))
    yield "size inside negative", around(one(size=-1))
    yield "checksum inside", around(one() + one(1, crc=1))
    yield "attributes inside", around(one(attributes=0x40))
    yield "offsets inside go back", around(one(1) + one(0))
    yield "offsets inside the same", around(one(1) + one(1))
    yield "offset inside negative", around(message(-1, magic))
    yield "offset inside at the top", around(message(2**63 - 1, magic))
    yield "offset inside above the wrapper's", around(message(BASE + 1, magic))
    yield "offsets inside below zero", wrapper(message(0) + message(BASE + 1), BASE)
    yield "offsets inside go below what came", around(message(0, magic) + message(BASE, magic))
    for codec in NAMES[1:]:
        packed = around(one(1), codec=codec)
        at = 34 if magic else 26
        stream = packed[at:]
        number = NUMBERS[codec]
        for size in (0, 1, len(stream) // 2, len(stream) - 1):
            yield (
                f"{codec} cut at {size}",
                message(BASE, magic, value=field(stream[:size]), attributes=number),
            )
        yield (
            f"{codec} goes on",
            message(BASE, magic, value=field(stream + b"\0"), attributes=number),
        )


CASES = [
    (f"v{magic} {name}", log)
    for magic in (0, 1)
    for name, log in broken(magic)
    if (magic, name) != (1, "offset inside above the wrapper's")  # only differences count
]
