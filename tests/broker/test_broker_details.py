"""Rules of logs and partitions that seldom matter, and that nobody would miss for long."""

import struct

import crc32c
import pytest
from broker_world import WALL_MS, World, batch, only, produce
from test_settings import GROUP, SET, TOPIC, alter

from kcore.broker import BrokerConfig, LinkFault, LogConfig, PartitionLog, RefusedError
from kcore.broker.batches import CONTROL, TRANSACTIONAL, read_header
from kcore.broker.compaction import clean, dirt
from kcore.broker.markers import Marker, marker_batch
from kcore.broker.segments import Segment
from kcore.errors import KafkaConfigurationError, UsageError
from kcore.records import encode_batch
from kcore.timers import NEVER
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

DAY_MS = 86_400_000


def log_of(*values, **options):
    log = PartitionLog("t", 0, LogConfig(**options))
    for value in values:
        log.append(memoryview(encode_batch([(WALL_MS, b"k", value)])), 0, WALL_MS)
        log.high_watermark = log.end_offset
    return log


def test_control_records_are_the_brokers_own():
    world = World()
    world.topic()
    data = bytearray(batch(b"a"))
    data[22] |= CONTROL
    data[17:21] = crc32c.crc32c(data[21:]).to_bytes(4, "big")
    answer = only(world.client().ask(produce(bytes(data)), 9))
    assert answer.error_code == ErrorCode.INVALID_RECORD


def test_a_batch_has_records():
    world = World()
    world.topic()
    data = bytearray(batch(b"a")[:61])
    data[8:12] = (49).to_bytes(4, "big")
    data[23:27] = (-1).to_bytes(4, "big", signed=True)  # the last offset, behind the first
    data[57:61] = bytes(4)
    data[17:21] = crc32c.crc32c(data[21:]).to_bytes(4, "big")
    answer = only(world.client().ask(produce(bytes(data)), 9))
    assert answer.error_code == ErrorCode.INVALID_RECORD


def test_a_batch_that_is_shorter_than_its_header():
    world = World()
    world.topic()
    for size in (26, 30, 60):
        data = bytearray(batch(b"a")[:size])
        data[8:12] = (size - 12).to_bytes(4, "big")
        answer = only(world.client().ask(produce(bytes(data)), 9))
        assert answer.error_code == ErrorCode.INVALID_RECORD, size
    assert not world.faults


def test_the_first_record_needs_a_key_as_well():
    world = World()
    world.topic("t", settings={"cleanup.policy": "compact"})
    for keys, wrong in (((None, b"k"), 0), ((b"k", None), 1)):
        data = encode_batch([(WALL_MS, key, b"v") for key in keys])
        answer = only(world.client().ask(produce(data), 9))
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [one.batch_index for one in answer.record_errors] == [wrong]


def test_the_first_thing_that_is_wrong_with_replicas_is_said():
    world = World(nodes=2)
    for nodes, why in (
        ([9, 1, 1], "broker 9, but no such broker is registered"),
        ([1, 1, 9], "the broker 1 more than once"),
        ([], "an empty replica list"),
    ):
        with pytest.raises(RefusedError, match=why):
            world.topic("t", assignments=[nodes])


def test_a_marker_is_no_record_of_a_key():
    """Its key is one that a record could have."""
    log = PartitionLog("t", 0, LogConfig(cleanup_policy=("compact",), segment_bytes=1))
    marker = marker_batch(7, 0, Marker(committed=True, coordinator_epoch=0), WALL_MS)
    key = struct.pack(">hh", 0, 1)  # a version, and that it was committed
    own = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    data = encode_batch([(WALL_MS, key, b"v")], **own)
    log.append(memoryview(data), 0, WALL_MS)
    log.add(marker, read_header(marker), 0, WALL_MS)
    log.append(memoryview(encode_batch([(WALL_MS, b"z", b"active")])), 0, WALL_MS)
    log.high_watermark = log.end_offset
    for _ in clean(log, dirt(log, WALL_MS).end_offset, WALL_MS):
        pass
    assert next(log.batches())[61:] == data[61:]


def test_a_segment_counts_what_it_has():
    segment = Segment(0, 1_000)
    for offset in range(4):
        segment.add(bytes(10 + offset), offset, 100 * offset)
    assert (segment.size_bytes, segment.position(0), segment.position(2)) == (46, 0, 21)
    assert segment.drop_before(0) == 0
    assert segment.drop_before(2) == 21
    assert segment.drop_before(2) == 0
    assert (segment.size_bytes, segment.position(1) - segment.position(0)) == (25, 12)
    assert (segment.truncate(1), segment.size_bytes, segment.max_timestamp) == (13, 12, 200)
    assert (segment.drop_before(9), segment.size_bytes, segment.batches) == (12, 0, [])
    segment.add(bytes(7), 4, -1)
    assert (segment.size_bytes, segment.max_timestamp, segment.first_time) == (7, 200, 0)
    assert (segment.truncate(0), segment.size_bytes, segment.max_timestamp) == (7, 0, -1)
    segment.add(bytes(5), 4, 7)
    assert (segment.size_bytes, segment.position(0)) == (5, segment.ends[0] - 5)


@pytest.mark.parametrize("first", [0, 500, -1])
def test_when_a_segment_is_full_or_old(first):
    """By the times of its batches, or by its own where these have none (Java: shouldRoll)."""
    segment = Segment(0, 1_000)

    def rolls(size=1, newest=-1, now_ms=1_000):
        return segment.should_roll(size, newest, 100, 50, now_ms)

    assert not rolls(size=1_000, now_ms=9_000)  # nothing is in it yet
    segment.add(bytes(60), 0, first)
    assert [rolls(size=size) for size in (40, 41)] == [False, True]
    assert [rolls(now_ms=now_ms) for now_ms in (1_050, 1_051)] == [False, True]
    if first >= 0:
        later = [rolls(newest=first + ms, now_ms=9_000) for ms in (50, 51)]
    else:
        later = [rolls(newest=0, now_ms=now_ms) for now_ms in (1_050, 1_051)]
    assert later == [False, True]


def test_the_largest_time_may_be_in_any_segment():
    log = PartitionLog("t", 0, LogConfig(segment_bytes=1))
    for time in (WALL_MS + 5, WALL_MS + 9, WALL_MS + 2):
        log.append(memoryview(batch(b"a", time=time)), 0, WALL_MS)
    assert log.max_timestamp == WALL_MS + 9


def test_compaction_takes_what_has_no_key():
    log = PartitionLog("t", 0, LogConfig(segment_bytes=1))
    for value in (b"a", b"b"):
        log.append(memoryview(batch(value)), 0, WALL_MS)
    log.append(memoryview(encode_batch([(WALL_MS, b"z", b"active")])), 0, WALL_MS)
    log.high_watermark = log.end_offset
    log.config.cleanup_policy = ("compact",)
    for _ in clean(log, dirt(log, WALL_MS).end_offset, WALL_MS):
        pass
    kept = [read_header(data) for data in log.batches()]
    assert [(one.base_offset, one.record_count) for one in kept if one.record_count] == [(2, 1)]


def test_what_is_only_compacted_does_not_age():
    log = log_of(b"a", b"b", cleanup_policy=("compact",), retention_ms=1, segment_bytes=1)
    assert log.enforce_retention(WALL_MS + DAY_MS) == 0
    assert log.start_offset == 0
    log.config.cleanup_policy = ("delete",)
    assert log.enforce_retention(WALL_MS + DAY_MS) == 2


def test_what_is_not_replicated_does_not_age():
    log = log_of(b"a", b"b", retention_ms=1, segment_bytes=1)
    log.high_watermark = 1
    assert log.enforce_retention(WALL_MS + DAY_MS) == 1
    assert (log.start_offset, log.end_offset) == (1, 2)
    log.high_watermark = 2
    assert log.enforce_retention(WALL_MS + DAY_MS) == 1
    assert log.enforce_retention(WALL_MS + 2 * DAY_MS) == 0  # nothing is left


def test_where_a_log_may_begin():
    log = log_of(b"a", b"b")
    assert log.delete_before(0) == 0
    assert log.delete_before(2) == 2
    assert log.delete_before(1) == 2  # it never goes back
    for offset in (3, -2):
        with pytest.raises(RefusedError):
            log.delete_before(offset)


@pytest.mark.parametrize("end", [1, 0])
def test_a_log_that_is_cut_off_at_its_start(end):
    """Or before it: what another leader has begins there."""
    log = log_of(b"a", b"b", b"c")
    log.delete_before(1)
    log.truncate(end)
    assert (log.start_offset, log.end_offset, log.high_watermark) == (end, end, end)
    assert (list(log.batches()), log.size_bytes) == ([], 0)


def test_bytes_are_counted_whatever_goes():
    log = log_of(b"a", b"b", b"c")
    log.delete_before(2)
    log.high_watermark = 2
    log.truncate(2)
    assert log.size_bytes == 0
    log.append(memoryview(batch(b"d")), 0, WALL_MS)
    log.high_watermark = 3
    assert log.size_bytes == len(batch(b"d"))
    assert log.read(2, 1_000).size == log.size_bytes


@pytest.mark.parametrize("transactional", [False, True])
def test_compaction_leaves_batches_as_they_were(transactional):
    log = PartitionLog("t", 0, LogConfig(cleanup_policy=("compact",), segment_bytes=1))
    own = {"producer_id": 7, "producer_epoch": 0, "transactional": transactional}
    for sequence, keys in enumerate((b"ab", b"bc")):
        records = [(WALL_MS, bytes([key]), b"v") for key in keys]
        data = encode_batch(records, base_sequence=2 * sequence, **own)
        log.append(memoryview(data), 0, WALL_MS)
    if transactional:
        marker = marker_batch(7, 0, Marker(committed=True, coordinator_epoch=0), WALL_MS)
        log.add(marker, read_header(marker), 0, WALL_MS)
    log.append(memoryview(encode_batch([(WALL_MS, b"z", b"active")])), 0, WALL_MS)
    log.high_watermark = log.end_offset
    for _ in clean(log, dirt(log, WALL_MS).end_offset, WALL_MS):
        pass
    first = read_header(next(log.batches()))
    assert first.record_count == 1
    assert first.attributes == (TRANSACTIONAL if transactional else 0)


@pytest.mark.parametrize("up", [True, False])
def test_a_partition_whose_leader_is_replaced(up):
    world = World(nodes=3)
    (partition,) = world.topic("t", assignments=[[1, 2]]).partitions
    assert not only(world.client(1).ask(produce(batch(b"a")), 9)).error_code
    if not up:
        for node_id in (2, 1):
            world.cluster.stop_node(node_id, world.now_ms)
        assert (partition.leader, partition.isr) == (-1, [1])
    partition.replace(3, world.now_ms)
    assert (partition.leader, partition.replicas) == (3, [3, 2])
    assert partition.isr == ([3, 2] if up else [3])
    assert set(partition.logs) == {2, 3}
    assert [log.end_offset for log in partition.logs.values()] == [1, 1]


def test_partitions_that_are_not_there():
    world = World()
    world.topic(partitions=2)
    topics = world.cluster.topics
    found = [
        topics.has_partition(*at) for at in (("t", 0), ("t", 1), ("t", 2), ("t", -1), ("u", 0))
    ]
    assert found == [True, True, False, False, False]


def test_options_of_groups_are_tried_and_have_a_group():
    world = World()
    client = world.client()
    option = ("consumer.session.timeout.ms", SET, "50000")
    assert alter(client, GROUP, "g", option, validate_only=True) == (0, None)
    assert world.cluster.settings.groups == {}
    assert alter(client, GROUP, "", option) == (
        ErrorCode.INVALID_REQUEST, "Default group resources are not allowed."
    )  # fmt: skip


def test_nothing_can_be_late_by_less_than_nothing():
    with pytest.raises(UsageError, match="delay_ms=-1"):
        LinkFault(delay_ms=-1)
    assert LinkFault(delay_ms=0).delay_ms == 0


def test_what_is_sent_again_waits_for_those_in_sync_as_well():
    world = World(nodes=2)
    world.topic("t", assignments=[[1, 2]])
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    data = batch(b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=0)
    clients = [world.client(), world.client()]
    for client in clients:
        client.send(produce(data), 9)
        world.run(10)
        assert client.answer() is None
    world.run(90)
    assert [only(client.answer()).base_offset for client in clients] == [0, 0]
    again = world.client()
    again.send(produce(data), 9)
    assert only(again.answer()).base_offset == 0


def test_who_is_behind_stays_so_whatever_becomes_of_others():
    world = World(nodes=3)
    (partition,) = world.topic("t", assignments=[[1, 2, 3]]).partitions
    links = world.cluster.replication
    links.cut(1, 2, world.now_ms)
    world.client().send(produce(batch(b"a"), acks=1), 9)
    since_ms = partition.behind_since(2)
    world.run(20_000)
    links.set_lag(3, 5, world.now_ms)
    links.cut(2, 3, world.now_ms)
    assert (partition.behind_since(2), partition.behind_since(3)) == (since_ms, NEVER)
    world.run(9_999)
    assert partition.isr == [1, 2, 3]
    world.run(1)
    assert partition.isr == [1, 3]


def test_topics_that_cannot_be():
    world = World()
    for name, partitions, code in (
        ("", 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("..", 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a", 0, ErrorCode.INVALID_PARTITIONS),
    ):
        with pytest.raises(RefusedError) as caught:
            world.topic(name, partitions)
        assert caught.value.code == code
    assert not world.cluster.topics.topics()


def test_partitions_that_are_only_tried():
    world = World()
    topic = world.topic()
    R = m.CreatePartitionsRequest
    more = R.CreatePartitionsTopic(name="t", count=3, assignments=None)
    for tried, count in ((True, 1), (False, 3)):
        request = R(topics=[more], timeout_ms=1_000, validate_only=tried)
        assert not only_result(world.client().ask(request)).error_code
        assert len(topic.partitions) == count


def only_result(answer):
    (found,) = answer.results
    return found


def test_records_may_be_compacted_at_one_time_only():
    world = World()
    world.topic()
    lags = [("min.compaction.lag.ms", SET, "5"), ("max.compaction.lag.ms", SET, "5")]
    assert alter(world.client(), TOPIC, "t", *lags) == (0, None)


@pytest.mark.parametrize("name", ["RackAwareReplicaSelector", "LeaderSelector", "Mine"])
def test_selectors_go_by_javas_names(name):
    for full in (name, f"org.apache.kafka.common.replica.{name}"):
        if name == "Mine":
            with pytest.raises(KafkaConfigurationError, match=full):
                BrokerConfig(replica_selector_class=full)
        else:
            assert BrokerConfig(replica_selector_class=full).replica_selector_class == full
