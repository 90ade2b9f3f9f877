"""Malformed batches through a whole consumer, in every way to read: what is before them is handed
over, then the same typed error at every call, while others flow; a seek goes on behind them.
"""

from __future__ import annotations

import gc
import struct
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import chain, pairwise

import pytest
from malformed_batches import BASE, CASES, GOOD, HEADERS, LATER, at_base
from malformed_messages import BASE as OLD_BASE
from malformed_messages import CASES as OLD_CASES
from malformed_messages import GOOD as OLD_GOOD
from record_batches import patched, raw_batch, raw_record
from test_reader_memory import BOMBS, MIB
from whole_path import TURN_MS, WAYS, Piece, Reading, in_epoch, put

from kcore.embedded import EmbeddedBroker
from kcore.errors import CorruptRecordError, KafkaError, UnsupportedCodecError
from kcore.records import RecordReader, codecs, encode_batch
from kcore.structs import TopicPartition

FLOWING = 60
ways = pytest.mark.parametrize("way", WAYS)


def sound(first: int, count: int) -> list[Piece]:
    """Batches of a record each."""
    batches = (encode_batch([(1, b"k", b"v")], base_offset=first + i) for i in range(count))
    return [Piece(in_epoch(batch), first + i) for i, batch in enumerate(batches)]


def logs() -> Iterator[tuple[str, list[Piece]]]:
    """Name, and a log from offset 10 on with a bad batch in it, and offset 200 if it can be."""
    good, later = Piece(in_epoch(GOOD), 11), Piece(in_epoch(LATER), 200)
    for name, made in CASES:
        batch = in_epoch(at_base(made))
        last = BASE + struct.unpack_from(">i", batch, 23)[0]
        yield name, [good, Piece(batch, last), later][: 3 if last < 200 else 2]
    for name, made in OLD_CASES:
        yield name, [Piece(OLD_GOOD, 11), Piece(made, OLD_BASE), later]
    for name, field in HEADERS.items():
        batch = patched(at_base(raw_batch(raw_record(), 1)), *field)
        yield name, [good, Piece(in_epoch(batch), BASE), later]


LOGS = list(logs())


def expected(pieces: list[Piece]) -> tuple[list[int], KafkaError]:
    """Offsets and the error that a reader of this slice gives."""
    reader = RecordReader("bad", 0, b"".join(piece.data for piece in pieces), 10)
    offsets = []
    while True:
        try:
            offsets += [record.offset for record in reader.take(100)]
        except CorruptRecordError as error:
            return offsets, error


def text(error: KafkaError, number: int) -> str:
    return str(error).replace("bad-0:", f"bad-{number}:")


@pytest.fixture(scope="module")
def bad(broker: EmbeddedBroker) -> str:
    """A topic with a partition for each of LOGS, and one that is sound."""
    broker.create_topic("bad", len(LOGS) + 1)
    for number, (_, pieces) in enumerate(LOGS):
        put(broker, "bad", number, pieces)
    put(broker, "bad", len(LOGS), sound(0, FLOWING))
    return "bad"


@ways
def test_every_malformed_batch(broker: EmbeddedBroker, bad: str, way: str) -> None:
    with Reading(broker, way, group_id=f"bad-{way}") as reading:
        reading.assign(bad, dict.fromkeys(range(len(LOGS)), 10) | {len(LOGS): 0})
        told: dict[int, list[str]] = {number: [] for number in range(len(LOGS))}
        lasts: dict[int, int] = {}

        def enough() -> bool:
            for error in reading.errors:
                assert isinstance(error, CorruptRecordError)
                told[error.partition.partition].append(str(error))
                lasts[error.partition.partition] = error.last_offset
            reading.errors.clear()
            flowed = len(reading.offsets(len(LOGS))) == FLOWING
            return flowed and all(len(texts) >= 3 for texts in told.values())

        reading.until(enough)
        for number, (name, pieces) in enumerate(LOGS):
            offsets, error = expected(pieces)
            assert reading.offsets(number) == offsets, name
            assert set(told[number]) == {text(error, number)}, name
            assert reading.consumer.position((bad, number)) == offsets[-1] + 1, name
        reading.consumer.commit()
        for number in (0, len(LOGS) // 2, len(LOGS) - 1):
            committed = reading.consumer.committed((bad, number))
            assert committed == reading.offsets(number)[-1] + 1
        reading.seen.clear()
        behind = {n: last + 1 for n, last in lasts.items() if last < 200}
        for number, offset in behind.items():
            reading.consumer.seek((bad, number), offset)
        for number in set(lasts) - set(behind):
            reading.consumer.pause((bad, number))
        reading.until(lambda: len(reading.seen) == len(behind))
        assert {seen[:2] for seen in reading.seen} == {(number, 200) for number in behind}
        assert reading.errors == []


# The life of a consumer with such a partition -----------------------------------------------------


@pytest.fixture(scope="module")
def stuck(broker: EmbeddedBroker) -> str:
    """A topic with a record, a batch with a wrong checksum (1 to 5), and a record; one is sound."""
    broker.create_topic("stuck", 2)
    damaged = bytearray(in_epoch(encode_batch([(1, None, b"x")] * 5, base_offset=1)))
    damaged[-2] ^= 1
    put(broker, "stuck", 0, [*sound(0, 1), Piece(bytes(damaged), 5), *sound(6, 1)])
    put(broker, "stuck", 1, sound(0, FLOWING))
    return "stuck"


P0, P1 = TopicPartition("stuck", 0), TopicPartition("stuck", 1)


@ways
def test_pause_resume_and_members_that_come_and_go(
    broker: EmbeddedBroker, stuck: str, way: str
) -> None:
    group = {"group_id": f"stuck-{way}", "heartbeat_interval_ms": 100}
    with Reading(broker, way, **group) as reading:
        reading.consumer.subscribe([stuck])
        reading.until(lambda: len(reading.seen) == FLOWING + 1 and len(reading.errors) > 2)
        reading.consumer.pause(P0)
        reading.errors.clear()
        for _ in range(3):
            reading.turn()
        assert reading.errors == [], "nothing of a paused partition is said"
        reading.consumer.resume(P0)
        reading.turn()
        assert len(reading.errors) == 1
        assert reading.consumer.position(P0) == 1
        reading.consumer.commit()
        with Reading(broker, way, **group) as other:
            other.consumer.subscribe([stuck])
            both = (reading, other)

            def split() -> bool:
                for one in both:
                    one.turn()
                return all(len(one.consumer.assignment()) == 1 for one in both)

            reading.until(split)
            owner = next(one for one in both if P0 in one.consumer.assignment())
            owner.errors.clear()
            owner.until(lambda: len(owner.errors) == 3)
            assert owner.consumer.position(P0) == 1
        reading.until(lambda: len(reading.consumer.assignment()) == 2)
        reading.errors.clear()
        reading.until(lambda: len(reading.errors) == 3)
        assert {str(error) for error in reading.errors} == {str(owner.errors[0])}
        assert len(reading.seen) + len(other.seen) == FLOWING + 1, "nothing came twice"
        reading.consumer.seek(P0, reading.errors[0].last_offset + 1)
        reading.seen.clear()
        reading.until(lambda: reading.seen != [])
        assert reading.seen == [(0, 6, b"k", b"v")]


@ways
def test_a_codec_that_is_missing(
    broker: EmbeddedBroker, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"packed-{way.replace(' ', '-')}"
    broker.create_topic(topic, 2)
    packed = in_epoch(encode_batch([(1, None, b"x")] * 3, base_offset=2, codec="zstd"))
    put(broker, topic, 0, [*sound(0, 2), Piece(packed, 4), *sound(5, 1)])
    put(broker, topic, 1, sound(0, 5))
    codecs._library.cache_clear()
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with Reading(broker, way) as reading:
        reading.assign(topic, {0: 0, 1: 0})
        reading.until(lambda: len(reading.errors) >= 3 and len(reading.seen) == 7)
        for error in reading.errors:
            assert isinstance(error, UnsupportedCodecError)
            assert (error.codec, error.partition) == ("zstd", (topic, 0))
            assert (error.first_offset, error.last_offset) == (2, 4)
            assert "pip install zstandard" in str(error)
        assert reading.offsets(0) == [0, 1]
        assert reading.consumer.position((topic, 0)) == 2
        monkeypatch.undo()  # it is installed while the program runs
        reading.consumer.seek((topic, 0), 2)
        reading.until(lambda: reading.offsets(0) == [0, 1, 2, 3, 4, 5])


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_no_more_memory_than_is_allowed(broker: EmbeddedBroker, name: str) -> None:
    topic = f"bomb-{name.replace(' ', '-')}"
    broker.create_topic(topic)
    bomb = struct.pack(">q", 1) + in_epoch(BOMBS[name]())[8:]
    put(broker, topic, 0, [*sound(0, 1), Piece(bomb, 1), *sound(2, 1)])
    for way in WAYS:
        with Reading(broker, way, max_batch_bytes=MIB) as reading:
            reading.assign(topic, {0: 0})
            gc.collect()
            tracemalloc.start()
            reading.until(lambda: len(reading.errors) == 3)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2 * len(bomb) + 4 * MIB
            for error in reading.errors:
                assert isinstance(error, CorruptRecordError)
                assert (error.partition, error.first_offset) == ((topic, 0), 1)
                assert f"more than {MIB} bytes" in str(error)
            reading.consumer.seek((topic, 0), 2)
            reading.until(lambda: reading.offsets(0) == [0, 2])


@ways
def test_partial_batches_at_the_end_of_answers(broker: EmbeddedBroker, way: str) -> None:
    topic = f"partial-{way.replace(' ', '-')}"
    broker.create_topic(topic)
    whole = sound(0, 12)
    cut = [
        Piece(piece.data + after.data[: 6 * number], piece.last_offset)
        for number, (piece, after) in enumerate(pairwise(whole))
    ]
    put(broker, topic, 0, cut)
    with Reading(broker, way, max_partition_fetch_bytes=1) as reading:  # an answer, a piece
        reading.assign(topic, {0: 0})
        reading.until(lambda: len(reading.seen) == len(cut))
        assert reading.offsets(0) == list(range(len(cut)))
        assert reading.errors == []


@ways
def test_answers_that_never_reach_the_offset(broker: EmbeddedBroker, way: str) -> None:
    topic = f"stale-{way.replace(' ', '-')}"
    broker.create_topic(topic)
    below = in_epoch(encode_batch([(1, None, b"x")]))
    put(broker, topic, 0, [*sound(0, 1), Piece(below, 1), *sound(2, 1)])
    options = {"max_partition_fetch_bytes": 1, "retry_backoff_ms": 1, "retry_backoff_max_ms": 1}
    with Reading(broker, way, **options) as reading:
        reading.assign(topic, {0: 0})
        reading.until(lambda: len(reading.errors) == 3)
        assert {str(error)[:60] for error in reading.errors} == {str(reading.errors[0])[:60]}
        error = reading.errors[0]
        assert isinstance(error, CorruptRecordError)
        assert (error.partition, error.first_offset, error.last_offset) == ((topic, 0), 1, 1)
        assert reading.consumer.position((topic, 0)) == 1
        reading.consumer.seek((topic, 0), 2)
        reading.until(lambda: reading.offsets(0) == [0, 2])


# What is kept alive -------------------------------------------------------------------------------


@pytest.fixture
def traced_bytes() -> Iterator[Callable[[], int]]:
    """How much of what was allocated since the test began is still there."""

    def traced() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    yield traced
    tracemalloc.stop()


@pytest.mark.parametrize("way", ["poll", "iteration", "batches"])
def test_a_record_that_is_kept_keeps_nothing_large_alive(
    broker: EmbeddedBroker, way: str, traced_bytes: Callable[[], int]
) -> None:
    topic = f"kept-{way}"
    broker.create_topic(topic)
    rows = [(1, b"key", b"small", [("h", b"x")]), *[(1, None, b"x" * 4_096)] * 255]
    # Packed: what is unpacked from an answer is traced, the memory of the answer itself is not.
    options = {"leader_epoch": 0, "codec": "lz4"}
    large = [encode_batch(rows, base_offset=256 * i, **options) for i in range(16)]
    put(broker, topic, 0, [Piece(data, 256 * i + 255) for i, data in enumerate(large)])
    kept: list[object] = []
    with Reading(broker, way, max_partition_fetch_bytes=1) as reading:  # an answer, a batch
        take = {
            "poll": lambda c: chain.from_iterable(c.poll(timeout_ms=TURN_MS).values()),
            "iteration": lambda c: c,
            "batches": lambda c: chain.from_iterable(c.poll_batches(timeout_ms=TURN_MS)),
        }[way]
        reading.assign(topic, {0: 0})
        before = traced_bytes()
        while reading.consumer.position((topic, 0)) < 256 * len(large):
            kept += [record for record in take(reading.consumer) if record.value == b"small"]
        list(take(reading.consumer))  # the loop has let go of its last records
        assert traced_bytes() - before < MIB, "sixteen answers of a MiB each went by"
    assert [record.offset for record in kept] == [256 * i for i in range(16)]
