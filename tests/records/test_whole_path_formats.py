"""Every format through a whole consumer, in every way to read and from any offset."""

from __future__ import annotations

import random
import struct

import pytest
from record_batches import _hex, raw_batch, raw_record, vectors
from whole_path import WAYS, Piece, Reading, Seen, in_epoch, put

from kcore.embedded import EmbeddedBroker
from kcore.events import ControlRecordsPassed, Event
from kcore.records import encode_batch
from kcore.records.message_set import encode_message_set
from kcore.structs import ABORT, COMMIT

ways = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def kafkas(broker: EmbeddedBroker) -> str:
    """A topic with what Kafka's encoder wrote, a vector a partition."""
    broker.create_topic("kafkas", len(vectors()))
    for number, vector in enumerate(vectors().values()):
        put(broker, "kafkas", number, [Piece(vector.data, vector.end - 1)])
    return "kafkas"


@ways
def test_what_kafka_writes(broker: EmbeddedBroker, kafkas: str, way: str) -> None:
    """v0, v1, v2, nested, compressed, compacted, with gaps; log-append time; control batches."""
    wanted = [
        (number, offset, key, value)
        for number, vector in enumerate(vectors().values())
        for offset, _, key, value, _ in vector.delivered
    ]
    with Reading(broker, way) as reading:
        reading.assign(kafkas, dict.fromkeys(range(len(vectors())), 0))
        reading.until(lambda: len(reading.seen) >= len(wanted))
        seen = [(*where, _hex(key), _hex(value)) for *where, key, value in reading.seen]
        assert sorted(seen, key=lambda one: one[:2]) == wanted
        for number, vector in enumerate(vectors().values()):
            assert reading.consumer.position((kafkas, number)) == vector.end, vector.name
        assert reading.errors == []


def field(rng: random.Random) -> bytes | None:
    size = rng.choice([-1, 0, 1, 5, 13, 300])
    return None if size < 0 else rng.randbytes(size)


def random_log(rng: random.Random, number: int) -> tuple[list[Piece], list[Seen]]:
    """Batches of all formats in a row, some of them empty, with gaps; a few to a piece."""
    pieces, wanted, data, base = [], [], b"", rng.choice([0, 2**31 - 5, 2**40])
    for _ in range(12):
        rows = [(rng.randrange(2**41), field(rng), field(rng)) for _ in range(rng.choice([1, 9]))]
        offsets = sorted(rng.sample(range(base, base + 2 * len(rows)), len(rows)))
        options = {"base_offset": base, "offsets": offsets}
        last = offsets[-1]
        if rng.random() < 0.5:
            codec = rng.choice(["none", "gzip", "snappy", "lz4", "zstd"])
            more = rng.randrange(3)  # the last records were compacted away
            last += more
            made = encode_batch(rows, codec=codec, leader_epoch=0, last_offset=last, **options)
        else:
            codec = rng.choice(["none", "gzip", "snappy", "lz4"])
            made = encode_message_set(rows, magic=rng.randrange(2), codec=codec, **options)
        data += made
        wanted += [(number, at, *row[1:]) for at, row in zip(offsets, rows, strict=True)]
        if rng.random() < 0.2:  # nothing is left of a batch
            last += 3
            data += in_epoch(raw_batch(b"", 0, base_offset=last - 2, last_delta=2))
        if rng.random() < 0.5:
            pieces.append(Piece(data, last))
            data = b""
        base = last + 1 + rng.choice([0, 0, 7])
    return [*pieces, Piece(data, last)] if data else pieces, wanted


@pytest.fixture(scope="module")
def mixed(broker: EmbeddedBroker) -> tuple[str, list[list[Seen]]]:
    """A topic whose partitions hold all formats in a row, and what is in each."""
    rng = random.Random(20)
    logs = [random_log(rng, number) for number in range(12)]
    broker.create_topic("mixed", len(logs))
    for number, (pieces, _) in enumerate(logs):
        put(broker, "mixed", number, pieces)
    return "mixed", [wanted for _, wanted in logs]


@ways
@pytest.mark.parametrize("seed", range(3))
def test_all_formats_in_a_row_from_any_offset(
    broker: EmbeddedBroker, mixed: tuple[str, list[list[Seen]]], way: str, seed: int
) -> None:
    topic, logs = mixed
    rng = random.Random(seed)
    starts = {number: rng.choice(wanted)[1] for number, wanted in enumerate(logs)}
    wanted = [one for number, log in enumerate(logs) for one in log if one[1] >= starts[number]]
    # In answers of one piece, or of all there is.
    with Reading(broker, way, max_partition_fetch_bytes=rng.choice([1, 1 << 20])) as reading:
        reading.assign(topic, starts)
        reading.until(lambda: len(reading.seen) >= len(wanted))
        assert sorted(reading.seen, key=lambda one: one[:2]) == wanted
        assert reading.errors == []


def marker(offset: int, kind: int) -> Piece:
    """A control batch; kinds above 1 are of no Kafka a consumer meets."""
    key = struct.pack(">hh", 0, kind)
    body = raw_record(0, key=bytes([2 * len(key)]) + key, value=b"\x01")
    made = raw_batch(body, 1, base_offset=offset, attributes=0x30, producer_id=7)
    return Piece(in_epoch(made), offset)


@ways
@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_control_records_are_events_for_who_asks(
    broker: EmbeddedBroker, way: str, level: str
) -> None:
    topic = f"control-{level}-{way.replace(' ', '-')}"
    broker.create_topic(topic)
    kinds = {1: COMMIT, 3: ABORT, 4: 2, 5: 1_000, 6: 2**15 - 1}
    pieces = [
        marker(at, kinds[at])
        if at in kinds
        else Piece(encode_batch([(1, None, b"x")], base_offset=at, leader_epoch=0), at)
        for at in range(8)
    ]
    put(broker, topic, 0, pieces)
    told: list[Event] = []
    options = {"isolation_level": level, "include_control_records": True}
    with Reading(broker, way, **options) as reading:
        reading.consumer.observe(told.append)
        reading.assign(topic, {0: 0})
        reading.until(lambda: reading.offsets(0) == [0, 2, 7])
        reading.turn()  # what a call has passed over is told by the next one
        passed = [event for event in told if isinstance(event, ControlRecordsPassed)]
        records = [record for event in passed for record in event.records]
        assert [(record.offset, record.kind) for record in records] == list(kinds.items())
        assert {record.producer_id for record in records} == {7}
        assert {event.partition for event in passed} == {(topic, 0)}
        assert reading.consumer.position((topic, 0)) == 8
