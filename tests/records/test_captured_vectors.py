"""What a real broker sent, written by three other clients: whole, byte by byte, cut anywhere.

`tools/capture_vectors.py` wrote `vectors/captured.json`. What is expected was read by a client that
is neither kcore nor the writer. Message sets, which brokers of today no longer give, come from the
clients' own encoders and are put into an answer here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from record_batches import VECTORS, take_all

from kcore.errors import Truncated
from kcore.records import ConsumerRecord, RecordReader
from kcore.records.batch import batches_of
from kcore.records.columns import Columns
from kcore.structs import ABORT, COMMIT
from kcore.wire.frames import FrameReader, decode_response, encode_response
from kcore.wire.messages import FetchResponse

CAPTURED = VECTORS.with_name("captured.json")
VERSION = 4  # of the fetches
FRAME_MAX = 1 << 20


@dataclass(frozen=True)
class Captured:
    """An answer (behind its length), the record bytes in it, and what is to be read from them.

    aborted: of the answer. committed: the records for read_committed, if that was captured.
    """

    name: str
    frame: bytes
    data: bytes
    fetch_offset: int
    end_offset: int
    aborted: list[tuple[int, int]]
    records: list[Any]
    committed: list[Any] | None


@cache
def load() -> dict[str, Captured]:
    found = {}
    for name, made in json.loads(CAPTURED.read_text("utf-8"))["vectors"].items():
        if "frame" in made:
            frame = bytes.fromhex(made["frame"])
            start, end = made["records_at"]
            data = frame[start:end]
        else:
            data = bytes.fromhex(made["data"])
            frame = answer_of(data)
        found[name] = Captured(
            name,
            frame,
            data,
            made["fetch_offset"],
            made["end_offset"],
            [tuple(one) for one in made.get("aborted", [])],
            made["records"],
            made.get("committed"),
        )
    return found


def answer_of(data: bytes) -> bytes:
    part = FetchResponse.PartitionData(partition_index=0, high_watermark=12, records=data)
    topic = FetchResponse.FetchableTopicResponse(topic="old", partitions=[part])
    return encode_response(FetchResponse(responses=[topic]), VERSION, 7)[4:]


ALL = list(load().values())
every = pytest.mark.parametrize("vector", ALL, ids=lambda vector: vector.name)


def plain(record: ConsumerRecord) -> list[Any]:
    """A record as the vectors have it."""
    key, value = (None if item is None else item.hex() for item in (record.key, record.value))
    headers = [[name, None if item is None else item.hex()] for name, item in record.headers]
    return [record.offset, record.timestamp, record.timestamp_type, key, value, headers]


def reader(vector: Captured, data: bytes | memoryview | None = None, **options: Any) -> Any:
    data = vector.data if data is None else data
    return RecordReader("t", 0, data, vector.fetch_offset, **options)


def read(vector: Captured, data: bytes | memoryview | None = None, **options: Any) -> list[Any]:
    return [plain(record) for record in take_all(reader(vector, data, **options))]


def answer(frame: memoryview | bytes) -> Any:
    """The one partition of an answer."""
    body = decode_response(FetchResponse, VERSION, frame)
    ((part,),) = [topic.partitions for topic in body.responses]
    return part


@every
def test_whole(vector: Captured) -> None:
    one = reader(vector)
    assert one.end_offset == vector.end_offset
    records = take_all(one)
    assert [plain(record) for record in records] == vector.records
    assert one.next_offset == vector.end_offset
    for record in records:
        sizes = [-1 if item is None else len(item) for item in (record.key, record.value)]
        assert [record.serialized_key_size, record.serialized_value_size] == sizes


@every
@pytest.mark.parametrize("views", [False, True])
def test_as_columns(vector: Captured, views: bool) -> None:
    columns = Columns(views=views, with_headers=True)
    reader(vector).take_columns(columns)
    found = [plain(record) for batch in batches_of(columns) for record in batch]
    assert found == vector.records


@pytest.mark.parametrize(
    "vector", [one for one in ALL if one.committed is not None], ids=lambda vector: vector.name
)
def test_committed_only(vector: Captured) -> None:
    assert vector.committed
    assert len(vector.committed) < len(vector.records)
    one = reader(vector, aborted=vector.aborted, keep_control=True)
    assert [plain(record) for record in take_all(one, 1)] == vector.committed
    kinds = [marker.kind for marker in one.control_records]
    assert kinds == [COMMIT, ABORT, COMMIT, ABORT, ABORT]
    assert {marker.producer_id for marker in one.control_records} == {vector.aborted[0][0]}


@every
def test_cut_at_every_prefix(vector: Captured) -> None:
    """Records of whole batches come, nothing of a partial one does, nothing is an error."""
    data = memoryview(vector.data)
    before = -1
    for size in range(len(data) + 1):
        one = reader(vector, data[:size])
        found = [plain(record) for record in take_all(one)]
        assert found == vector.records[: len(found)]
        assert len(found) >= before
        assert one.exhausted
        assert one.next_offset == one.end_offset <= vector.end_offset
        before = len(found)
    assert before == len(vector.records)


def fed_bytewise(data: bytes) -> Iterator[memoryview]:
    frames = FrameReader(FRAME_MAX)
    for at in range(len(data)):
        yield from frames.feed(data[at : at + 1])
        assert frames.pending_bytes == (at + 1) % len(data)


def received_bytewise(data: bytes) -> Iterator[memoryview]:
    frames = FrameReader(FRAME_MAX)
    for byte in data:
        frames.buffer()[0] = byte
        yield from frames.advance(1)


@every
@pytest.mark.parametrize("way", [fed_bytewise, received_bytewise])
def test_byte_by_byte(vector: Captured, way: Any) -> None:
    data = len(vector.frame).to_bytes(4, "big") + vector.frame
    (frame,) = way(data)
    assert frame == vector.frame
    part = answer(frame)
    assert (part.error_code, part.records) == (0, vector.data)
    aborted = [(one.producer_id, one.first_offset) for one in part.aborted_transactions or ()]
    assert aborted == vector.aborted
    assert read(vector, part.records) == vector.records


@every
def test_an_answer_cut_at_every_prefix(vector: Captured) -> None:
    assert answer(vector.frame).records == vector.data
    for size in range(len(vector.frame)):
        with pytest.raises(Truncated):
            answer(vector.frame[:size])


def test_what_there_is() -> None:
    """So that a new capture does not lose anything unnoticed."""
    found = json.loads(CAPTURED.read_text("utf-8"))
    assert set(found["about"]["clients"]) == {"kafka-python", "aiokafka", "confluent-kafka"}
    for name, made in found["vectors"].items():
        assert made["reader"] != made["writer"] or name == "kafka-python v0 lz4"
    counts = [int.from_bytes(load()["compacted"].data[57:61], "big")]
    assert counts == [0], "a batch that compaction left empty"
    assert [row[0] for row in load()["compacted"].records][:4] == [6, 8, 10, 12]
    within = load()["from within a batch"]
    assert int.from_bytes(within.data[:8], "big") < within.fetch_offset
    cut = load()["cut off by the broker"]
    assert reader(cut).size_bytes == len(cut.data)
    epochs = {record.leader_epoch for record in take_all(reader(load()["two leader epochs"]))}
    assert len(epochs) == 2
    assert {row[2] for row in load()["append-time"].records} == {1}
