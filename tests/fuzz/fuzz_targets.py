"""What is fuzzed: functions that take any bytes at all and fail if something is wrong with that.

`make fuzz` drives them with atheris, `test_fuzz.py` with a seeded random and, briefly, with
atheris. Each target has seeds: inputs that are good, to begin from.

No target may raise anything, take long or much memory. The record targets read the same bytes as
objects, as copied columns and as views, and hold the three against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import crc32c

from kcore.errors import CorruptRecordError, KafkaError, Truncated, Unexpected
from kcore.records import RecordReader, codecs, encode_batch
from kcore.records.arrow import ArrowBatch
from kcore.records.batch import batches_of
from kcore.records.batches import describe_batches
from kcore.records.columns import Columns
from kcore.records.message_set import encode_message_set
from kcore.settings.proxies import Proxy
from kcore.transports.handshakes import start_handshake
from kcore.transports.sockets import ProxyFaultError
from kcore.wire import messages
from kcore.wire.codec import decode, encode
from kcore.wire.frames import FrameReader, decode_request, decode_response, encode_request
from kcore.wire.message import Message

Target = Callable[[bytes], None]

MAX_BYTES = 1 << 20  # what a batch may unpack to
FRAME_MAX = 1 << 16
ROWS: list[Any] = [
    (1, b"k", b"v", [("h", b"1"), ("n", None)]),
    (2, None, b"w" * 40),
    (1, b"", None),
]
CODECS = range(1, len(codecs.NAMES))


@dataclass(frozen=True)
class Fuzzed:
    """A target and what to begin with."""

    name: str
    run: Target
    seeds: tuple[bytes, ...]


# Slices -------------------------------------------------------------------------------------------


def outcome(reader: RecordReader) -> tuple[list[tuple[Any, ...]], str]:
    """All records as objects, and the error at the end."""
    rows: list[tuple[Any, ...]] = []
    try:
        while not reader.exhausted:
            rows += [tuple(record) for record in reader.take(7)]
    except CorruptRecordError as error:
        assert not reader.exhausted
        return rows, str(error)
    assert reader.next_offset >= 0
    return rows, ""


def columns_outcome(reader: RecordReader, *, views: bool) -> tuple[list[tuple[Any, ...]], str]:
    """The same through columns, which are also shown as Arrow."""
    rows: list[tuple[Any, ...]] = []
    wrong = ""
    while not reader.exhausted and not wrong:
        columns = Columns(9, views=views, with_headers=True)
        try:
            reader.take_columns(columns)
        except CorruptRecordError as error:
            wrong = str(error)
        ArrowBatch(columns, include_headers=True).__arrow_c_array__()
        rows += [tuple(record) for batch in batches_of(columns) for record in batch]
    return rows, wrong


def without_checksum(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Columns do not keep the checksums of v0 and v1."""
    return (*row[:9], None, *row[10:])


def read_slice(data: bytes, offset: int, **options: Any) -> None:
    """Read a slice in all ways."""
    found = []
    for read in (
        outcome,
        partial(columns_outcome, views=False),
        partial(columns_outcome, views=True),
    ):
        try:
            reader = RecordReader(
                "t", 0, data, offset, max_batch_bytes=MAX_BYTES, keep_control=True, **options
            )
        except CorruptRecordError as error:
            found.append(([], str(error)))
            continue
        rows, wrong = read(reader)
        offsets = [row[3] for row in rows]
        assert offsets == sorted(set(offsets))
        assert all(one >= offset for one in offsets)
        found.append(([without_checksum(row) for row in rows], wrong))
    assert found[0] == found[1] == found[2]
    assert sum(one.size_bytes for one in describe_batches(data)) <= len(data)


def slices(data: bytes) -> None:
    """A whole slice, whose checksums are not looked at; the first byte chooses where to begin."""
    aborted = [(1, 0)] if data[:1] > b"\x7f" else None
    read_slice(data[1:], data[0] & 0x3F if data else 0, check_crcs=False, aborted=aborted)


def bodies(data: bytes) -> None:
    """The body of a v2 batch under a right checksum; two bytes say what its header is like."""
    if len(data) < 3:
        return
    attributes, count = data[0] & 0x7F, data[1]
    head = struct.pack(
        ">qiibIhiqqqhii",
        *(0, 49 + len(data) - 2, 5, 2, 0, attributes, max(count - 1, 0), 9, 9, 1, 0, 0, count),
    )
    batch = bytearray(head + data[2:])
    struct.pack_into(">I", batch, 17, crc32c.crc32c(bytes(batch[21:])))
    read_slice(bytes(batch) + LATER, 0, aborted=None)
    read_slice(bytes(batch) + LATER, 0, aborted=[(1, 0)])


LATER = encode_batch(ROWS, base_offset=1000)


def slice_seeds() -> Iterator[bytes]:
    for name in codecs.NAMES:
        yield b"\0" + encode_batch(ROWS, codec=name) + encode_batch(ROWS, base_offset=9)
        if name != "zstd":
            for magic in (0, 1):
                old = [(at, key, value) for at, key, value, *_ in ROWS]
                yield b"\x01" + encode_message_set(old, magic=magic, codec=name)
    marker = [(1, struct.pack(">hh", 0, 0), b"\0\0\0\0\0\1")]
    yield (
        b"\x80"
        + encode_batch(ROWS, producer_id=1, producer_epoch=0, transactional=True)
        + (
            encode_batch(
                marker,
                base_offset=3,
                control=True,
                transactional=True,
                producer_id=1,
                producer_epoch=0,
            )
        )
    )


def body_seeds() -> Iterator[bytes]:
    for number, name in enumerate(codecs.NAMES):
        yield bytes([number, len(ROWS)]) + encode_batch(ROWS, codec=name)[61:]
    yield bytes([0x30, 1]) + encode_batch([(1, b"\0\0\0\1", b"\0\0\0\0\0\1")], control=True)[61:]


# Codecs -------------------------------------------------------------------------------------------


def unpack(codec: int, table: dict[int, Any], data: bytes) -> None:
    """Within the bound, or a CodecError."""
    for limit in (MAX_BYTES, 100):
        try:
            found = table[codec](memoryview(data), limit)
        except codecs.CodecError:
            continue
        assert isinstance(found, bytes)
        assert len(found) <= limit


def repack(codec: int, data: bytes) -> None:
    """What is packed here is unpacked here."""
    packed = codecs.COMPRESS[codec](data, None)
    assert codecs.DECOMPRESS[codec](memoryview(packed), len(data)) == data


def packed_seeds(codec: int) -> tuple[bytes, ...]:
    plain = (b"", b"x" * 200, bytes(range(256)) * 3)
    return tuple(codecs.COMPRESS[codec](data, None) for data in plain)


# The wire -----------------------------------------------------------------------------------------


def pairs(ending: str) -> list[tuple[type[Message], int]]:
    classes = [getattr(messages, name) for name in messages.__all__ if name.endswith(ending)]
    return [
        (cls, version) for cls in classes for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1)
    ]


RESPONSES = pairs("Response")
REQUESTS = pairs("Request")


def message(cases: list[tuple[type[Message], int]], data: bytes) -> None:
    """A body of the class and version that two bytes choose: read, or a typed error."""
    if len(data) < 2:
        return
    cls, version = cases[int.from_bytes(data[:2], "big") % len(cases)]
    try:
        found = decode(cls, version, data[2:])
    except (Truncated, Unexpected):
        return
    again = encode(found, version)
    assert encode(decode(cls, version, again), version) == again


def message_seeds(cases: list[tuple[type[Message], int]]) -> tuple[bytes, ...]:
    step = max(len(cases) // 60, 1)
    return tuple(
        number.to_bytes(2, "big") + encode(cls(), version)
        for number, (cls, version) in enumerate(cases)
        if number % step == 0
    )


def request_frames(data: bytes) -> None:
    """What a broker is sent."""
    try:
        decode_request(data)
    except (Truncated, Unexpected):
        pass


def response_frames(data: bytes) -> None:
    """What a consumer is sent most: header and body of Fetch answers."""
    version = data[0] % 15 + 4 if data else 4
    try:
        body = decode_response(messages.FetchResponse, min(version, 17), data[1:])
    except (Truncated, Unexpected):
        return
    for topic in body.responses:
        for part in topic.partitions:
            if part.records:
                read_slice(bytes(part.records), 0, check_crcs=False, aborted=None)


def frames(data: bytes) -> None:
    """A stream in pieces, whose sizes are in the bytes themselves: the same frames as in one."""
    found = []
    for whole in (True, False):
        reader = FrameReader(FRAME_MAX)
        made: list[bytes] = []
        wrong = False
        at = 0
        try:
            while at < len(data):
                size = len(data) if whole else 1 + data[at] % 40
                made += map(bytes, reader.feed(data[at : at + size]))
                at += size
        except KafkaError:
            wrong = True
        found.append((made if not wrong else [], wrong, 0 if wrong else reader.pending_bytes))
    assert found[0] == found[1]


PROXIES = [
    Proxy(scheme, "p", 1, *user)
    for scheme in ("socks5h", "http")
    for user in (("", ""), ("user", "word"))
]


def handshakes(data: bytes) -> None:
    """What a proxy answers, byte by byte and in pieces: it comes to the same."""
    proxy = PROXIES[data[0] % len(PROXIES)] if data else PROXIES[0]
    found = []
    for most in (1, 7, len(data)):
        handshake = start_handshake(proxy, "broker", 9092)
        rest, said, why = data[1:], handshake.take(), ""
        try:
            while rest and handshake.wants:
                size = min(handshake.wants, most)
                handshake.feed(rest[:size])
                rest = rest[size:]
                said += handshake.take()
        except ProxyFaultError as error:
            why = str(error)
        found.append((handshake.state, said, why, b"" if why else rest))
    assert found[0] == found[1] == found[2]


def all_targets() -> dict[str, Fuzzed]:
    """Every target by its name."""
    fetched = messages.FetchResponse(
        responses=[
            messages.FetchResponse.FetchableTopicResponse(
                partitions=[messages.FetchResponse.PartitionData(records=LATER)]
            )
        ]
    )
    found = [
        Fuzzed("slices", slices, tuple(slice_seeds())),
        Fuzzed("bodies", bodies, tuple(body_seeds())),
        Fuzzed("responses", partial(message, RESPONSES), message_seeds(RESPONSES)),
        Fuzzed("requests", partial(message, REQUESTS), message_seeds(REQUESTS)),
        Fuzzed(
            "request-frames",
            request_frames,
            (encode_request(messages.MetadataRequest(), 12, 7, "me")[4:],),
        ),
        Fuzzed(
            "response-frames",
            response_frames,
            (b"\x0b\0\0\0\7\0" + encode(fetched, 15), b"\0\0\0\0\7" + encode(fetched, 4)),
        ),
        Fuzzed("frames", frames, (b"\0\0\0\3abc\0\0\0\0\0\0\0\1x" * 3, b"\0\0\1\0" + b"z" * 256)),
    ]
    answers = (
        b"\0\5\0\5\0\0\3\1x\0\1more",
        b"\1\5\2\1\0\5\0\0\1\0\0\0\0\0\1more",
        b"\2HTTP/1.1 100 x\r\n\r\nHTTP/1.0 200 OK\r\na: b\r\n\r\nmore",
        b"\3HTTP/1.1 407 x\r\nProxy-Authenticate: NTLM\r\n\r\nmore",
    )
    found.append(Fuzzed("handshakes", handshakes, answers))
    for codec in CODECS:
        name = codecs.NAMES[codec]
        seeds = packed_seeds(codec)
        found.append(Fuzzed(name, partial(unpack, codec, codecs.DECOMPRESS), seeds))
        found.append(Fuzzed(f"{name}-packed", partial(repack, codec), (b"x" * 99, b"")))
    v0 = partial(unpack, 3, codecs.DECOMPRESS_V0)
    found.append(Fuzzed("lz4-v0", v0, (codecs.COMPRESS_V0[3](b"x" * 200, None),)))
    return {one.name: one for one in found}


def any_of(targets: list[Fuzzed], data: bytes) -> None:
    """The target that the first byte chooses."""
    if data:
        targets[data[0] % len(targets)].run(data[1:])


TARGETS = all_targets()
ANY = Fuzzed(
    "any",
    partial(any_of, list(TARGETS.values())),
    tuple(
        bytes([number]) + seed
        for number, target in enumerate(TARGETS.values())
        for seed in target.seeds
    ),
)
