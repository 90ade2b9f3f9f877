"""Times of records: log append time, bounds, looking up what can be read."""

import random
import struct

import crc32c
import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce

from kcore.broker import BrokerConfig
from kcore.records import RecordReader, encode_batch
from kcore.records.batches import describe_batches
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

LATEST, EARLIEST, MAX_TIMESTAMP, LOCAL, TIERED, PENDING = range(-1, -7, -1)


def look_up(client, timestamp, version=11, *, topic="t", committed=False):
    wanted = m.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    entry = m.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    request = m.ListOffsetsRequest(replica_id=-1, topics=[entry], isolation_level=int(committed))
    found = only(client.ask(request, version))
    if found.error_code:
        return ErrorCode(found.error_code)
    return found.offset, found.timestamp, found.leader_epoch


def put(client, data, topic="t"):
    answer = only(client.ask(produce(data, topic), 9))
    return answer.error_code, answer.base_offset, answer.log_append_time_ms


def records(client, topic):
    data = only(client.ask(fetch(0, topic), 12)).records
    return RecordReader(topic, 0, data, 0).take(100)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_records_get_the_time_of_the_broker(world, client, codec):
    world.topic("a", settings={"message.timestamp.type": "LogAppendTime"})
    now = WALL_MS + world.now_ms
    assert put(client, batch(b"x", b"y", time=5, codec=codec), "a") == (0, 0, now)
    assert [(one.timestamp, one.timestamp_type) for one in records(client, "a")] == [(now, 1)] * 2
    assert look_up(client, now, topic="a") == (0, now, 0)
    assert look_up(client, now + 1, topic="a") == (-1, -1, -1)
    assert look_up(client, MAX_TIMESTAMP, topic="a") == (0, now, 0)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_time_of_the_broker_is_said_to_be_it_where_a_clients_is_the_same(world, client, codec):
    world.topic("a", settings={"message.timestamp.type": "LogAppendTime"})
    now = WALL_MS + world.now_ms
    data = batch(b"x", b"y", time=now - 1, codec=codec)  # the last one's is now
    assert put(client, data, "a") == (0, 0, now)
    assert [(one.timestamp, one.timestamp_type) for one in records(client, "a")] == [(now, 1)] * 2


def test_records_keep_their_own_time_by_default(client):
    assert put(client, batch(b"x", time=5)) == (0, 0, -1)
    assert [(one.timestamp, one.timestamp_type) for one in records(client, "t")] == [(5, 0)]


@pytest.mark.parametrize(
    ("ago_ms", "code"),
    [(1_000, 0), (1_001, ErrorCode.INVALID_TIMESTAMP), (-2_000, 0),
     (-2_001, ErrorCode.INVALID_TIMESTAMP)],
)  # fmt: skip
def test_times_have_to_be_about_now(world, client, ago_ms, code):
    world.topic("a", settings={
        "message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "2000",
    })  # fmt: skip
    now = WALL_MS + world.now_ms
    data = encode_batch([(now, None, b""), (now - ago_ms, None, b"")])
    assert put(client, data, "a")[0] == code


def test_by_default_an_hour_ahead_is_too_much(world, client):
    ahead = WALL_MS + world.now_ms + 3_600_000
    assert put(client, batch(b"x", time=ahead))[0] == 0
    assert put(client, batch(b"x", time=ahead + 1))[0] == ErrorCode.INVALID_TIMESTAMP


def test_records_whose_time_is_wrong_are_named_and_no_time_is_not_wrong(world, client):
    world.topic("a", settings={"message.timestamp.before.max.ms": "1000"})
    now = WALL_MS + world.now_ms
    assert put(client, batch(b"x", time=-1), "a")[0] == 0
    data = encode_batch([(time, None, b"") for time in (-1, now, 5, -2, now - 1_000)])
    answer = only(client.ask(produce(data, "a"), 9))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [one.batch_index for one in answer.record_errors] == [2, 3]


def test_a_header_that_lies_about_the_largest_time_is_put_right(client):
    data = bytearray(batch(b"x", b"y", time=100))
    data[35:43] = struct.pack(">q", 1)
    data[17:21] = struct.pack(">I", crc32c.crc32c(memoryview(data)[21:]))
    assert put(client, bytes(data))[0] == 0
    (info,) = describe_batches(only(client.ask(fetch(), 12)).records)
    assert info.max_timestamp == 101
    assert [one.timestamp for one in records(client, "t")] == [100, 101]
    assert look_up(client, 101) == (1, 101, 0)


def test_every_form_of_looking_up(client):
    for time in (100, 300, 200):
        put(client, batch(b"a", b"b", time=time))
    assert look_up(client, LATEST) == (6, -1, 0)
    assert look_up(client, EARLIEST) == (0, -1, 0)
    assert look_up(client, LOCAL) == (0, -1, 0)
    assert look_up(client, MAX_TIMESTAMP) == (3, 301, 0)
    assert look_up(client, TIERED) == look_up(client, PENDING) == (-1, -1, -1)
    assert look_up(client, 0) == (0, 100, 0)
    assert look_up(client, 102) == (2, 300, 0)
    assert look_up(client, 302) == (-1, -1, -1)
    assert look_up(client, -7) == ErrorCode.UNSUPPORTED_VERSION


def test_forms_that_are_younger_than_the_request_are_refused(client):
    for timestamp, version in ((MAX_TIMESTAMP, 6), (LOCAL, 7), (TIERED, 8), (PENDING, 10)):
        assert look_up(client, timestamp, version) == ErrorCode.UNSUPPORTED_VERSION


def test_an_empty_log_has_a_beginning_and_an_end(client):
    assert look_up(client, LATEST) == (0, -1, 0)
    assert look_up(client, EARLIEST) == (0, -1, 0)
    assert look_up(client, MAX_TIMESTAMP) == look_up(client, 0) == (-1, -1, -1)


def test_the_latest_of_records_without_a_time_is_the_first(client):
    for _ in range(2):
        put(client, batch(b"a", time=-1))
    assert look_up(client, MAX_TIMESTAMP) == (0, -1, 0)
    assert look_up(client, 0) == (-1, -1, -1)


def test_what_cannot_be_read_yet_is_not_found():
    world = World(nodes=2)
    (partition,) = world.topic("t", assignments=[[1, 2]]).partitions
    client = world.client(1)
    put(client, batch(b"a", time=100))
    world.cluster.replication.cut(1, 2, world.now_ms)
    client.ask(produce(batch(b"b", time=200), acks=1), 9)
    assert partition.log.end_offset == 2
    assert look_up(client, LATEST)[0] == 1
    assert look_up(client, 150) == (-1, -1, -1)
    world.cluster.replication.heal(1, 2, world.now_ms)
    assert look_up(client, 150) == (1, 200, 0)


def test_readers_of_committed_records_are_told_where_those_end(client):
    put(client, batch(b"a", time=100))
    data = batch(
        b"b", time=200, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True
    )
    log = client.world.cluster.topics.get("t").partitions[0].log
    log.append(memoryview(data), 0, WALL_MS)
    log.high_watermark = log.end_offset
    assert look_up(client, LATEST)[0] == look_up(client, MAX_TIMESTAMP)[0] + 1 == 2
    assert look_up(client, LATEST, committed=True)[0] == 1
    assert look_up(client, 150, committed=True) == (-1, -1, -1)


def test_the_latest_and_the_first_by_time_of_what_is_left(world, client):
    """A log may begin within a batch: its first records count no more."""
    for seed in range(30):
        rng, topic = random.Random(seed), f"left{seed}"
        (partition,) = world.topic(topic).partitions
        times = [[rng.randint(1, 6) for _ in range(rng.randint(1, 4))] for _ in range(5)]
        for some in times:
            put(client, encode_batch([(time, None, b"") for time in some]), topic)
        flat = list(enumerate(time for some in times for time in some))
        start = rng.randrange(len(flat) + 1)
        partition.delete_before(start, world.now_ms)
        left = flat[start:]
        latest = max((time for _, time in left), default=-1)
        wanted = [(at, time, 0) for at, time in left if time == latest] or [(-1, -1, -1)]
        assert look_up(client, MAX_TIMESTAMP, topic=topic) == wanted[0], (times, start)
        for least in range(8):
            found = [(at, time, 0) for at, time in left if time >= least] or [(-1, -1, -1)]
            assert look_up(client, least, topic=topic) == found[0], (times, start)


# Segments ----------------------------------------------------------------------------------------


def sizes(world, name):
    (partition,) = world.cluster.topics.get(name).partitions
    return [len(segment.batches) for segment in partition.log.segments]


def test_segments_are_closed_by_size(world, client):
    size = len(batch(b"a"))
    world.topic("a", settings={"internal.segment.bytes": str(2 * size)})
    for _ in range(5):
        put(client, batch(b"a"), "a")
    assert sizes(world, "a") == [2, 2, 1]


def test_segments_are_closed_by_the_age_of_their_records(world, client):
    world.topic("a", settings={"segment.ms": "1000"})
    for time in (0, 1_000, 1_001, 1_500):
        put(client, batch(b"a", time=WALL_MS + time), "a")
    assert sizes(world, "a") == [2, 2]


def test_retention_takes_whole_segments_and_not_the_last(world, client):
    size = len(batch(b"a"))
    world.topic("a", settings={
        "internal.segment.bytes": str(2 * size), "retention.bytes": str(3 * size),
    })  # fmt: skip
    for _ in range(9):
        put(client, batch(b"a"), "a")
    world.run(300_000)
    (partition,) = world.cluster.topics.get("a").partitions
    # Nine batches are four segments and a half; without the first three, one of three is short.
    assert (partition.log.start_offset, sizes(world, "a")) == (6, [2, 1])
    assert look_up(client, EARLIEST, topic="a") == (6, -1, 0)


def test_logs_that_are_full_take_nothing_until_something_goes():
    size = len(batch(b"a"))
    world = World(config=BrokerConfig(log_bytes_max=3 * size))
    world.topic()
    client = world.client()
    assert [put(client, batch(b"a"))[0] for _ in range(4)] == [
        0, 0, 0, ErrorCode.KAFKA_STORAGE_ERROR]  # fmt: skip
    world.cluster.topics.get("t").partitions[0].delete_before(1, world.now_ms)
    world.run(1_000)
    assert put(client, batch(b"a"))[0] == 0
