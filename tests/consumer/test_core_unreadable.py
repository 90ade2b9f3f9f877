"""Batches that cannot be read, through the whole core: what is before them comes, the same error
again and again until the application seeks, other partitions all the while, and no spinning.
"""

import struct
import sys
import zlib

import crc32c
import pytest
from scripted import ScriptedCluster, World

from kcore.errors import CorruptRecordError, UnsupportedCodecError
from kcore.records import codecs, encode_batch
from kcore.records.message_set import encode_message_set
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey

BAD, FINE = TopicPartition("t", 0), TopicPartition("t", 1)
EACH = 5  # records a batch; the second batch of t-0 is the bad one
ROWS = [(1, b"k", b"value %d" % number) for number in range(EACH)]
FINE_BATCHES = 40
POLLS = 60


def batch(base, **options):
    return encode_batch(ROWS, base_offset=base, **options)


def changed(at, form, value, **options):
    """The bad batch with a header field changed, under a right checksum."""
    data = bytearray(batch(EACH, **options))
    struct.pack_into(f">{form}", data, at, value)
    struct.pack_into(">I", data, 17, crc32c.crc32c(bytes(data[21:])))
    return bytes(data)


def cut(codec, size):
    """The bad batch with a compressed stream that ends early."""
    data = bytearray(batch(EACH, codec=codec)[:-size])
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c.crc32c(bytes(data[21:])))
    return bytes(data)


def message_set(magic, **options):
    return encode_message_set(ROWS, magic=magic, base_offset=EACH, codec="gzip", **options)


def with_tail(data):
    """A v1 wrapper whose stream goes on behind its end."""
    data = bytearray(data) + b"\0"
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">i", data, 30, len(data) - 34)
    struct.pack_into(">I", data, 12, zlib.crc32(bytes(data[16:])))
    return bytes(data)


def going_on(codec):
    """The bad batch with a compressed stream that goes on behind its end."""
    return closed(batch(EACH, codec=codec) + b"\0" * 8)


def closed(data):
    """A batch with its length and its checksum made right."""
    data = bytearray(data)
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, crc32c.crc32c(bytes(data[21:])))
    return bytes(data)


def records_of(*records):
    """The bad batch with records as they are given: (offset delta, what follows it)."""
    made = [b"\0\0" + bytes([2 * delta]) + rest for delta, rest in records]
    body = b"".join(bytes([2 * len(one)]) + one for one in made)
    head = (EACH, 0, 0, 2, 0, 0, EACH - 1, 1, 1, -1, -1, -1, len(records))
    return closed(struct.pack(">qiibIhiqqqhii", *head) + body)


NOTHING = b"\1\1\0"  # a null key, a null value, no headers

CASES = {
    "offsets within go back": records_of((0, NOTHING), (1, NOTHING), (0, NOTHING)),
    "an offset within twice": records_of((0, NOTHING), (0, NOTHING)),
    "more headers said than there are": records_of((0, NOTHING), (1, b"\1\1\4\2h\1")),
    "fewer headers said than there are": records_of((0, NOTHING), (1, b"\1\1\2\2h\1\2i\1")),
    "a key longer than its record": records_of((0, NOTHING), (1, b"\x10\1\0")),
    "a value longer than its record": records_of((0, NOTHING), (1, b"\1\x10\0")),
    **{f"{codec} goes on": going_on(codec) for codec in codecs.NAMES[1:]},
    "checksum": batch(EACH)[:-1] + b"\xff",
    "magic": changed(16, "b", 3),
    "length below any": changed(8, "i", 5),
    "offset goes back": changed(0, "q", 0),
    "last delta negative": changed(23, "i", -1),
    "count too large": changed(57, "i", EACH + 1),
    "count too small": changed(57, "i", EACH - 1),
    "last delta too small": changed(23, "i", EACH - 2),
    "unknown attributes": changed(21, "h", 0x80),
    "unknown codec": changed(21, "h", 6),
    "codec of another": changed(21, "h", 4),
    **{f"{codec} ends early": cut(codec, 3) for codec in codecs.NAMES[1:]},
    "v0 checksum": message_set(0)[:-1] + b"\xff",
    "v1 goes on": with_tail(message_set(1)),
}


def world_of(bad):
    cluster = ScriptedCluster({"t": 2})
    cluster.append("t", 0, batch(0), 0, EACH)
    cluster.append("t", 0, bad, EACH, EACH)
    cluster.append("t", 0, batch(2 * EACH), 2 * EACH, EACH)
    for number in range(FINE_BATCHES):
        cluster.append("t", 1, batch(number * EACH), number * EACH, EACH)
    return World(cluster), cluster


class Reader:
    """Polls, and keeps what came and what was raised."""

    def __init__(self, world, kind, **options):
        self.world, self.kind = world, kind
        self.client = world.client(auto_offset_reset="earliest", **options)
        self.client.core.assign([BAD, FINE], world.now)
        self.client.drain()
        self.seen = {BAD: [], FINE: []}
        self.errors = []

    def poll(self, times=POLLS):
        for _ in range(times):
            self.world.run(100)
            self.client.poll()
            try:
                taken = self.client.take(7)
            except self.kind as error:
                self.errors.append(error)
                continue
            for tp, records in taken.items():
                self.seen[tp] += [record.offset for record in records]

    def check_stuck(self):
        assert self.seen[FINE] == list(range(EACH * FINE_BATCHES))
        assert len(self.errors) > 10
        assert len({str(error) for error in self.errors}) == 1
        error = self.errors[0]
        assert error.partition == BAD
        assert error.first_offset <= error.last_offset
        assert f"seek to {error.last_offset + 1} to skip it" in str(error)
        return error


@pytest.mark.parametrize("bad", CASES.values(), ids=CASES)
def test_the_same_error_until_a_seek(bad):
    world, cluster = world_of(bad)
    reader = Reader(world, CorruptRecordError)
    reader.poll()
    error = reader.check_stuck()
    given = len(reader.seen[BAD])
    assert reader.seen[BAD] == list(range(given))
    assert EACH <= given <= 2 * EACH
    assert reader.client.core.position(BAD) == given
    fetches = cluster.count(ApiKey.FETCH)
    reader.poll(20)
    assert len(reader.errors) > 25, "it is raised for as long as nobody seeks"
    assert cluster.count(ApiKey.FETCH) - fetches < 20, "and nothing spins"

    # As the error says, as often as it says so: of a header that is lost, only one offset is known.
    for _ in range(EACH):
        reader.errors.clear()
        reader.client.core.seek(BAD, max(error.last_offset + 1, given), world.now)
        reader.client.drain()
        reader.poll(10)
        if not reader.errors:
            break
        error = reader.errors[-1]
    else:
        # A batch whose header is broken is sent as long as an offset in it is asked for.
        reader.errors.clear()
        reader.client.core.seek(BAD, 2 * EACH, world.now)
        reader.client.drain()
        reader.poll(10)
    assert reader.errors == []
    assert reader.seen[BAD][given:] == list(range(2 * EACH, 3 * EACH))


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd"])
def test_a_codec_whose_package_is_missing(codec, monkeypatch):
    world, _ = world_of(batch(EACH, codec=codec))
    package = {"snappy": "cramjam", "lz4": "lz4", "zstd": "zstandard"}[codec]
    codecs._library.cache_clear()
    monkeypatch.setitem(sys.modules, "lz4.frame" if codec == "lz4" else package, None)
    reader = Reader(world, UnsupportedCodecError)
    reader.poll()
    error = reader.check_stuck()
    assert f"pip install {package}" in str(error)
    assert (error.codec, error.first_offset, error.last_offset) == (codec, EACH, 2 * EACH - 1)
    assert reader.seen[BAD] == list(range(EACH))
    monkeypatch.undo()
    reader.errors.clear()
    reader.client.core.seek(BAD, EACH, world.now)
    reader.client.drain()
    reader.poll(10)
    assert reader.seen[BAD] == list(range(3 * EACH))


@pytest.mark.parametrize("codec", codecs.NAMES[1:])
def test_a_batch_above_the_users_bound(codec):
    rows = [(1, None, b"x" * 100_000)]
    world, cluster = world_of(batch(EACH))
    cluster.append("t", 0, encode_batch(rows, base_offset=15, codec=codec), 15, 1)
    cluster.append("t", 0, encode_batch(rows[:1], base_offset=16), 16, 1)
    reader = Reader(world, CorruptRecordError, max_batch_bytes=50_000)
    reader.poll()
    assert (reader.check_stuck().first_offset, reader.seen[BAD]) == (15, list(range(15)))
    assert "max_batch_bytes" in str(reader.errors[0])
    reader.client.core.seek(BAD, 16, world.now)
    reader.client.drain()
    reader.poll(10)
    assert reader.seen[BAD][15:] == [16]


@pytest.mark.parametrize("codec", codecs.NAMES)
def test_formats_and_codecs_in_one_log(codec):
    world, cluster = world_of(batch(EACH, codec=codec))
    end = 3 * EACH
    for magic in (0, 1):
        kind = "none" if codec == "zstd" else codec
        old = encode_message_set(ROWS, magic=magic, base_offset=end, codec=kind)
        cluster.append("t", 0, old, end, EACH)
        end += EACH
    reader = Reader(world, CorruptRecordError)
    reader.poll()
    assert reader.errors == []
    assert reader.seen[BAD] == list(range(end))
