"""Compaction: which records stay, which batches, when."""

import random
import subprocess

import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce
from longer import quickly

from kcore.broker import LogConfig, PartitionLog, compaction
from kcore.broker.batches import read_header
from kcore.broker.compaction import clean, dirt, needs_cleaning
from kcore.broker.lookup import latest_time
from kcore.broker.markers import Marker, marker_batch, read_marker
from kcore.cli.demo.java import TOOLS
from kcore.records import RecordReader, encode_batch
from kcore.records.batches import describe_batches
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode


@pytest.fixture
def log():
    return PartitionLog("t", 0, LogConfig(cleanup_policy=("compact",), segment_bytes=1))


def keyed(*pairs, time=WALL_MS, **options):
    return encode_batch([(time + n, k, v) for n, (k, v) in enumerate(pairs)], **options)


def put(log, *pairs, **options):
    log.append(memoryview(keyed(*pairs, **options)), 0, WALL_MS)
    log.high_watermark = log.end_offset


def compact(log, wall_ms=WALL_MS):
    """One run over all closed segments."""
    found = dirt(log, wall_ms)
    for _ in clean(log, found.end_offset, wall_ms):
        pass


def contents(log):
    reader = RecordReader("t", 0, b"".join(log.batches()), 0)
    return [(one.offset, one.key, one.value) for one in reader.take(10_000)]


def test_the_latest_of_each_key_stays_where_it_was(log):
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", b"2"))
    put(log, (b"c", b"1"))
    put(log, (b"z", b"active"))
    compact(log)
    assert contents(log) == [
        (1, b"b", b"1"),
        (2, b"a", b"2"),
        (3, b"c", b"1"),
        (4, b"z", b"active"),
    ]
    assert (log.start_offset, log.end_offset, log.dirty_offset) == (0, 5, 4)
    assert log.size_bytes == sum(map(len, log.batches()))


def test_the_active_segment_is_left_alone(log):
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"))
    compact(log)
    assert [offset for offset, *_ in contents(log)] == [0, 1]


def test_a_batch_that_stays_whole_is_the_same_bytes(log):
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"c", b"1"))
    before = list(log.batches())
    compact(log)
    assert all(one is other for one, other in zip(before, log.batches(), strict=True))


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
def test_a_batch_keeps_its_offsets_codec_and_headers(log, codec):
    records = [(WALL_MS, b"a", b"1", [("h", b"x")]), (WALL_MS + 5, b"b", b"1", [("h", None)])]
    data = encode_batch(records, codec=codec, producer_id=4, producer_epoch=2, base_sequence=7)
    log.append(memoryview(data), 3, WALL_MS)
    log.high_watermark = log.end_offset
    put(log, (b"a", b"2"))
    put(log, (b"z", b""))
    compact(log)
    first = next(describe_batches(next(log.batches())))
    assert (first.base_offset, first.last_offset, first.leader_epoch) == (0, 1, 3)
    assert (first.producer_id, first.producer_epoch, first.base_sequence) == (4, 2, 7)
    assert (first.codec, first.record_count, first.max_timestamp) == (codec, 1, WALL_MS + 5)
    (record,) = RecordReader("t", 0, next(log.batches()), 0).take(5)
    assert (record.offset, record.timestamp, record.headers) == (1, WALL_MS + 5, [("h", None)])


def test_readers_pass_over_the_gaps(log):
    for n in range(6):
        put(log, (b"a", b"%d" % n))
    put(log, (b"z", b""))
    compact(log)
    read = log.read(0, 1_000, at_least_one=True)
    reader = RecordReader("t", 0, b"".join(read.batches), 0)
    assert [record.offset for record in reader.take(5)] == [5, 6]
    assert log.bytes_from(2, 1_000) == log.size_bytes
    log.advance_start(3)
    assert log.size_bytes == sum(map(len, log.batches()))


def test_tombstones_go_when_they_have_been_there_long_enough(log):
    log.config.delete_retention_ms = 1_000
    put(log, (b"a", b"1"))
    put(log, (b"a", None), (b"b", b"1"))
    put(log, (b"z", b""))
    compact(log)
    assert contents(log)[:2] == [(1, b"a", None), (2, b"b", b"1")]
    put(log, (b"y", b""))
    compact(log, WALL_MS + 999)
    assert contents(log)[0] == (1, b"a", None)
    put(log, (b"x", b""))
    compact(log, WALL_MS + 1_000)
    assert contents(log)[0] == (2, b"b", b"1")


def test_a_tombstones_time_runs_from_when_it_was_first_seen(log):
    """Whatever else goes from its batch meanwhile."""
    log.config.delete_retention_ms = 1_000
    put(log, (b"a", None), (b"b", b"1"), (b"c", b"1"))
    put(log, (b"y", b""))
    compact(log)
    put(log, (b"b", b"2"))
    put(log, (b"y", b""))
    compact(log, WALL_MS + 900)
    assert contents(log)[:2] == [(0, b"a", None), (2, b"c", b"1")]
    put(log, (b"x", b""))
    compact(log, WALL_MS + 1_000)
    assert contents(log)[0] == (2, b"c", b"1")


def test_a_producers_last_batch_stays_empty(log):
    put(log, (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0)
    put(log, (b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=1)
    put(log, (b"a", b"3"), producer_id=8, producer_epoch=0, base_sequence=0)
    put(log, (b"z", b""))
    compact(log)
    infos = list(describe_batches(b"".join(log.batches())))
    assert [(one.base_offset, one.producer_id, one.record_count) for one in infos] == [
        (1, 7, 0), (2, 8, 1), (3, -1, 1)]  # fmt: skip
    assert (infos[0].base_sequence, infos[0].max_timestamp) == (1, WALL_MS)
    assert [offset for offset, *_ in contents(log)] == [2, 3]
    # After a crash or a truncation, that is what sequences are known from.
    log.truncate(3)
    put(log, (b"b", b"1"), producer_id=7, producer_epoch=0, base_sequence=2)
    assert log.end_offset == 4


def test_the_latest_by_time_is_among_what_is_left(log):
    """Batches that are left empty have their time still."""
    for number, times in enumerate([(50, 60), (40, 90), (90, 10), (70, 90)]):
        # Of each producer the last batch stays, though nothing of it does.
        for producer_id, time in enumerate(times, 10 * number):
            put(
                log, (b"a", b"1"), time=time, producer_id=producer_id, producer_epoch=0,
                base_sequence=0,
            )  # fmt: skip
    put(log, (b"a", b"2"), (b"b", b"1"), time=20)
    put(log, (b"c", b"1"), time=21)
    put(log, (b"d", b"1"), time=5)
    compact(log)
    assert [read_header(data).record_count for data in log.batches()] == [0] * 8 + [2, 1, 1]
    assert log.max_timestamp == 90
    assert latest_time(log) == (9, 21, 0)


def transact(log, producer_id, *batches, committed):
    options = {"producer_id": producer_id, "producer_epoch": 0, "transactional": True}
    for sequence, pairs in enumerate(batches):
        data = keyed(*pairs, base_sequence=sequence, **options)
        log.append(memoryview(data), 0, WALL_MS)
    data = marker_batch(producer_id, 0, Marker(committed, 0), WALL_MS)
    log.add(data, read_header(data), 0, WALL_MS)
    log.high_watermark = log.end_offset


def test_aborted_records_go_and_their_marker_later(log):
    log.config.delete_retention_ms = 1_000
    put(log, (b"a", b"kept"))
    transact(log, 5, [(b"a", b"aborted")], committed=False)
    transact(log, 6, [(b"b", b"committed")], committed=True)
    put(log, (b"z", b""))
    compact(log)
    assert contents(log) == [(0, b"a", b"kept"), (3, b"b", b"committed"), (5, b"z", b"")]
    assert [one.control for one in describe_batches(b"".join(log.batches()))].count(True) == 2
    # Its producer goes on: so nothing is left of what it had aborted, and the marker may go.
    put(log, (b"c", b"1"), producer_id=5, producer_epoch=0, base_sequence=1)
    markers = []
    for later in (0, 0, 999, 1_000):
        put(log, (b"y", b""))
        compact(log, WALL_MS + later)
        found = [(read_header(data), read_marker(data)) for data in log.batches()]
        markers.append({header.producer_id: marker for header, marker in found if marker})
    # The committed one's stays as long as its record; they say what they said.
    both = {5: Marker(committed=False, coordinator_epoch=0), 6: Marker(True, 0)}
    assert markers == [both, both, both, {6: both[6]}]


def test_a_marker_is_its_own_transactions(log):
    """What is left of one keeps no other's marker."""
    log.config.delete_retention_ms = 0
    transact(log, 5, [(b"a", b"1")], committed=True)
    transact(log, 5, [(b"b", b"1")], committed=True)
    put(log, (b"b", b"2"))
    put(log, (b"c", b"1"), producer_id=5, producer_epoch=0, base_sequence=1)
    put(log, (b"z", b""))
    for _ in range(3):
        compact(log)
        put(log, (b"y", b""))
    kept = [read_header(data).base_offset for data in log.batches() if read_marker(data)]
    assert kept == [1]


def test_what_is_not_stable_is_left_alone(log):
    put(log, (b"a", b"1"))
    options = {"producer_id": 5, "producer_epoch": 0, "transactional": True, "base_sequence": 0}
    put(log, (b"a", b"open"), **options)
    put(log, (b"a", b"2"))
    put(log, (b"z", b""))
    assert dirt(log, WALL_MS).end_offset == 1


def test_how_dirty_is_dirty_enough(log):
    for _ in range(4):
        put(log, (b"a", b"1"))
    found = dirt(log, WALL_MS)
    assert (found.clean_bytes, found.ratio, found.end_offset) == (0, 1.0, 3)
    assert needs_cleaning(log, found)
    compact(log)
    assert not needs_cleaning(log, dirt(log, WALL_MS))
    put(log, (b"b", b"1"))
    log.config.min_cleanable_dirty_ratio = 0.6
    assert dirt(log, WALL_MS).ratio == 0.5
    assert not needs_cleaning(log, dirt(log, WALL_MS))
    log.config.max_compaction_lag_ms = 1_000
    assert not needs_cleaning(log, dirt(log, WALL_MS + 1_000))
    assert needs_cleaning(log, dirt(log, WALL_MS + 1_001))
    log.config.max_compaction_lag_ms = 10_000
    log.config.min_cleanable_dirty_ratio = 0.5
    assert not needs_cleaning(log, dirt(log, WALL_MS))  # more than that
    log.config.min_cleanable_dirty_ratio = 0.4
    assert needs_cleaning(log, dirt(log, WALL_MS))


def test_young_records_wait_for_their_compaction(log):
    log.config.min_compaction_lag_ms = 1_000
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"), time=WALL_MS + 500)
    put(log, (b"z", b""), time=WALL_MS + 500)
    assert dirt(log, WALL_MS + 1_000).end_offset == 1
    assert dirt(log, WALL_MS + 1_500).end_offset == 2


def test_small_segments_become_one(log):
    for n in range(10):
        put(log, (b"%d" % n, b"1"))
    log.config.segment_bytes = 5 * len(keyed((b"0", b"1")))
    compact(log)
    assert [len(segment.batches) for segment in log.segments] == [5, 4, 1]
    assert [segment.base_offset for segment in log.segments] == [0, 5, 9]


def test_more_keys_than_fit_are_left_to_the_next_run(log, monkeypatch):
    monkeypatch.setattr(compaction, "KEYS_MAX", 2)
    for key in (b"a", b"b", b"c", b"a", b"b"):
        put(log, (key, b"1"))
    put(log, (b"z", b""))
    compact(log)
    assert (log.dirty_offset, len(contents(log))) == (2, 6)
    compact(log)
    assert log.dirty_offset == 4
    compact(log)
    assert [offset for offset, *_ in contents(log)] == [2, 3, 4, 5]


def test_a_log_that_is_cut_meanwhile_is_not_touched(log, monkeypatch):
    monkeypatch.setattr(compaction, "STEP_BYTES", 1)
    for _ in range(5):
        put(log, (b"a", b"1"))
    run = clean(log, 4, WALL_MS)
    next(run)
    log.truncate(3)
    assert list(run) == []
    assert [offset for offset, *_ in contents(log)] == [0, 1, 2]


def test_the_store_hears_of_what_is_left(log):
    told = []

    class Store:
        def appended(self, data):
            pass

        def replaced(self, first_offset, end_offset, batches):
            told.append((first_offset, end_offset, list(batches)))

    for n in range(3):
        put(log, (b"a", b"%d" % n))
    log.store = Store()
    compact(log)
    assert told == [(0, 2, [next(log.batches())])]


@pytest.mark.parametrize("seed", quickly(10, of=30))
def test_whoever_reads_it_all_sees_the_same_as_without_compaction(seed):
    rng = random.Random(seed)
    settings = LogConfig(
        cleanup_policy=("compact",),
        segment_bytes=rng.choice([1, 200, 500]),
        delete_retention_ms=rng.choice([0, 1_000]),
    )
    log = PartitionLog("t", 0, settings)
    wall_ms, latest, written = WALL_MS, {}, {}
    sequences = {}
    for _ in range(150):
        pairs = [
            (b"%d" % rng.randrange(8), rng.choice([None, b"%d" % rng.randrange(1_000)]))
            for _ in range(rng.randint(1, 4))
        ]
        first_offset = log.end_offset
        kind = rng.choice(["plain", "idempotent", "committed", "aborted"])
        producer_id = {"plain": -1, "idempotent": 1, "committed": 2, "aborted": 3}[kind]
        options = {}
        if producer_id >= 0:
            sequence = sequences.get(producer_id, 0)
            sequences[producer_id] = sequence + len(pairs)
            options = {
                "producer_id": producer_id,
                "producer_epoch": 0,
                "base_sequence": sequence,
                "transactional": producer_id > 1,
            }
        put(log, *pairs, time=wall_ms, codec=rng.choice(["none", "lz4"]), **options)
        if producer_id > 1:
            marker = marker_batch(producer_id, 0, Marker(kind == "committed", 0), wall_ms)
            log.add(marker, read_header(marker), 0, wall_ms)
            log.high_watermark = log.end_offset
        written.update({first_offset + n: pair for n, pair in enumerate(pairs)})
        if kind != "aborted":
            latest.update(pairs)
        wall_ms += rng.choice([0, 500])
        if not rng.randrange(10) and dirt(log, wall_ms).dirty_bytes:
            compact(log, wall_ms)
    aborted = [(a.producer_id, a.first_offset) for a in log.transactions.aborted(0, log.end_offset)]
    reader = RecordReader("t", 0, b"".join(log.batches()), 0, aborted=aborted)
    found = reader.take(10_000)
    assert len(found) < len(written)
    assert all(written[one.offset] == (one.key, one.value) for one in found)
    seen = {one.key: one.value for one in found}
    for key, value in latest.items():
        assert seen.get(key) == value
    assert reader.end_offset == log.end_offset
    assert log.size_bytes == sum(map(len, log.batches()))


def test_the_last_batch_that_may_be_read_is_kept_empty(log):
    """So that readers come to the high watermark. What has no key is from before compaction."""
    log.config.cleanup_policy = ("delete",)
    put(log, (b"a", b"1"))
    put(log, (None, b"old"))
    put(log, (None, b"old"), (None, b"too"))
    log.config.cleanup_policy = ("compact",)
    log.append(memoryview(keyed((b"a", b"2"))), 0, WALL_MS)  # and no follower has that yet
    compact(log)
    assert contents(log) == [(0, b"a", b"1"), (4, b"a", b"2")]
    headers = [read_header(data) for data in log.batches()]
    assert [(one.base_offset, one.last_offset, one.record_count) for one in headers] == [
        (0, 0, 1), (2, 3, 0), (4, 4, 1),
    ]  # fmt: skip
    log.high_watermark = log.end_offset
    put(log, (b"b", b"1"))
    compact(log)
    assert [read_header(data).base_offset for data in log.batches()] == [4, 5]


# A node's cleaner --------------------------------------------------------------------------------


def compacted(world, **settings):
    options = {"cleanup.policy": "compact", "internal.segment.bytes": "1"} | settings
    return world.topic("c", settings=options)


def test_a_node_compacts_by_itself_in_steps(world, client, monkeypatch):
    monkeypatch.setattr(compaction, "STEP_BYTES", 1)
    log = compacted(world).partitions[0].log
    for n in range(20):
        client.ask(produce(keyed((b"a", b"%d" % n)), "c"), 9)
    world.run(14_000)
    assert len(contents(log)) == 20
    world.run(1_000)
    assert contents(log) == [(18, b"a", b"18"), (19, b"a", b"19")]
    answer = only(client.ask(fetch(0, "c"), 12))
    assert (answer.error_code, answer.log_start_offset, answer.high_watermark) == (0, 0, 20)


@pytest.mark.parametrize("codec", ["gzip", "none"])
def test_a_log_with_a_record_that_is_too_large_by_now_is_left_alone(world, client, codec):
    """Until the node starts again, also where it may be as large again; a record that is not packed
    may be of any size. So at a Kafka 4.4.0.
    """
    topic = compacted(world, **{"min.cleanable.dirty.ratio": "0"})
    log = topic.partitions[0].log

    def put(key):
        size = 5_000 if key == b"big" else 1
        client.ask(produce(keyed((key, b"x" * size), codec=codec), "c"), 9)

    for key in (b"a", b"big", b"a", b"c"):
        put(key)
    topic.config.max_decompressed_message_bytes = 1_000
    world.run(60_000)
    left = [0, 1, 2, 3] if codec == "gzip" else [1, 2, 3]
    assert [offset for offset, _, _ in contents(log)] == left
    topic.config.max_decompressed_message_bytes = 10_000
    for key in (b"c", b"d"):
        put(key)
    world.run(60_000)
    left = [0, 1, 2, 3, 4, 5] if codec == "gzip" else [1, 2, 4, 5]
    assert [offset for offset, _, _ in contents(log)] == left
    world.cluster.stop_node(1, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    world.run(60_000)
    assert [offset for offset, _, _ in contents(log)] == [1, 2, 4, 5]
    assert not world.faults


def test_the_dirtiest_log_is_compacted_first(world, client):
    done = []

    class Store:
        def __init__(self, name):
            self.name = name

        def replaced(self, *_):
            done.append(self.name)

    settings = {"min.cleanable.dirty.ratio": "0.01"}
    for name, rounds in (("c", 3), ("d", 9), ("e", 6)):
        options = {"cleanup.policy": "compact", "internal.segment.bytes": "1"} | settings
        log = world.topic(name, settings=options).partitions[0].log
        for n in range(9 + rounds):  # of which some is clean already
            client.ask(produce(keyed((b"%d" % n, b"")), name), 9)
        log.dirty_offset = 9
        log.store = Store(name)
    world.run(15_000)
    assert done == ["d", "e", "c"]


def two_replicas():
    """A key that was written five times, and nothing compacted yet."""
    world = World(nodes=2)
    options = {"cleanup.policy": "compact", "internal.segment.bytes": "1"}
    (partition,) = world.topic("c", assignments=[[1, 2]], settings=options).partitions
    client = world.client(1)
    for n in range(5):
        client.ask(produce(keyed((b"a", b"%d" % n)), "c"), 9)
    return world, partition


def test_a_node_that_is_down_compacts_nothing():
    world, partition = two_replicas()
    world.cluster.stop_node(2, world.now_ms)
    world.run(60_000)
    assert [len(contents(log)) for log in partition.logs.values()] == [2, 5]


def test_every_replica_compacts():
    world, partition = two_replicas()
    world.run(60_000)
    assert [contents(log) for log in partition.logs.values()] == [
        [(3, b"a", b"3"), (4, b"a", b"4")]
    ] * 2
    # A node that has nothing yet takes over what is left.
    world.cluster.stop_node(2, world.now_ms)
    partition.logs[2].restart_at(0)
    world.cluster.start_node(2, world.now_ms)
    assert contents(partition.logs[2]) == contents(partition.logs[1])
    assert not world.faults


def test_other_topics_are_left_alone(world, client):
    log = world.topic("d", settings={"internal.segment.bytes": "1"}).partitions[0].log
    for _ in range(5):
        client.ask(produce(keyed((b"a", b"1")), "d"), 9)
    world.run(60_000)
    assert len(contents(log)) == 5


def test_a_record_without_a_key_is_refused(world, client):
    compacted(world)
    answer = only(client.ask(produce(keyed((b"a", b"1"), (None, b"2")), "c"), 9))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in answer.record_errors] == [1]
    assert world.cluster.topics.get("c").partitions[0].log.end_offset == 0


def test_records_of_a_compacted_topic_are_not_deleted_by_offset(world, client):
    compacted(world)
    wanted = m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=0)
    entry = m.DeleteRecordsRequest.DeleteRecordsTopic(name="c", partitions=[wanted])
    answer = client.ask(m.DeleteRecordsRequest(topics=[entry]))
    assert only(answer).error_code == ErrorCode.POLICY_VIOLATION


def test_compact_and_delete_does_both(world, client):
    both = {"cleanup.policy": "compact,delete", "retention.ms": "100000"}
    log = compacted(world, **both).partitions[0].log
    client.ask(produce(keyed((b"a", b"1")), "c"), 9)
    world.run(300_000)
    assert (log.start_offset, log.size_bytes) == (1, 0)


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "zstd", "lz4", "snappy"])
def test_a_topic_may_want_a_codec_of_its_own(world, client, codec):
    log = world.topic("z", settings={"compression.type": codec}).partitions[0].log
    for sent in ("none", "gzip"):
        answer = only(client.ask(produce(batch(b"a" * 100, b"b", codec=sent), "z"), 9))
        assert not answer.error_code
    kept = list(describe_batches(b"".join(log.batches())))
    assert {one.codec for one in kept} == {"none" if codec == "uncompressed" else codec}
    assert [(one.base_offset, one.record_count) for one in kept] == [(0, 2), (2, 2)]


@pytest.mark.slow
def test_kafka_reads_what_is_left(installation, log, tmp_path):
    put(log, (b"a", b"1"), (b"b", b"1"), codec="gzip")
    put(log, (b"a", None), producer_id=7, producer_epoch=0, base_sequence=0)
    put(log, (b"b", b"2"), producer_id=8, producer_epoch=0, base_sequence=0)
    put(log, (b"b", b"3"))
    transact(log, 5, [(b"x", b"aborted")], committed=False)
    put(log, (b"z", b""))
    compact(log)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(log.batches()))
    options = ("--files", str(path), "--deep-iteration", "--print-data-log")
    command = installation.command(TOOLS["kafka-dump-log"], *options)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    batches = [line for line in said.splitlines() if line.startswith("baseOffset: ")]
    assert len(batches) == len(list(log.batches()))
    assert all(line.endswith("isvalid: true") for line in batches)
    assert f"deleteHorizonMs: OptionalLong[{WALL_MS + 86_400_000}]" in said
    assert "endTxnMarker: ABORT" in said
