"""A task reads exactly its range; what is gone is told from what was never there."""

import logging
import sys
import threading
import time
from dataclasses import replace

import pyarrow as pa
import pytest
from confluent_kafka import Producer as TransactionalProducer
from pipeline_support import (
    DEADLINE_S,
    delete_records,
    delete_topic,
    options,
    read,
    rows_of,
    topic_of,
    transact,
    values,
)

from kcore import Producer
from kcore.embedded import EmbeddedBroker
from kcore.limits import COLUMN_BYTES
from kcore.pipeline import leases as leases_module
from kcore.pipeline import reading
from kcore.pipeline.cluster import Cluster
from kcore.pipeline.columns import Columns
from kcore.pipeline.errors import DataLossError, ReadTimeoutError
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.reading import read_range
from kcore.structs import TopicPartition

pytestmark = pytest.mark.usefixtures("own_leases")


def test_exactly_the_range(broker, hundred):
    wanted = options(broker.bootstrap, hundred)
    for begin, end in [(0, 100), (0, 1), (99, 100), (37, 42), (9, 11), (10, 20), (5, 5)]:
        assert read(wanted, hundred, begin, end) == values(begin, end)


def test_columns_and_types(broker, request):
    topic = topic_of(broker, request)
    broker.produce(topic, [(b"k", b"v"), (None, None)])
    wanted = options(broker.bootstrap, topic)
    (batch,) = read_range(wanted, OffsetRange(topic, 0, 0, 2))
    assert [(field.name, str(field.type)) for field in batch.schema] == [
        ("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int32"),
        ("offset", "int64"), ("timestamp", "timestamp[us, tz=UTC]"), ("timestampType", "int32"),
    ]  # fmt: skip
    assert batch.column("key").to_pylist() == [b"k", None]
    assert batch.column("value").to_pylist() == [b"v", None]
    wanted = options(broker.bootstrap, topic, includeHeaders="true")
    (batch,) = read_range(wanted, OffsetRange(topic, 0, 0, 2))
    assert batch.schema.names[-1] == "headers"


def test_some_columns(broker, request):
    """In the order asked for, with texts for bytes, whatever these are; offsets are counted all the
    same.
    """
    topic = topic_of(broker, request)
    broker.produce(topic, [(b"k%d" % n, b"v\xff%d" % n if n else None) for n in range(10)])
    columns = Columns((("value", "string"), ("partition", "int"), ("key", "string")))
    wanted = replace(options(broker.bootstrap, topic), columns=columns)
    batches = [*read_range(wanted, OffsetRange(topic, 0, 2, 5))]
    batches += read_range(wanted, OffsetRange(topic, 0, 5, 9))  # what was cut off, and goes on
    batches += read_range(wanted, OffsetRange(topic, 0, 0, 1))
    for batch in batches:
        assert [(one.name, str(one.type)) for one in batch.schema] == [
            ("value", "string"), ("partition", "int32"), ("key", "string"),
        ]  # fmt: skip
    found = []
    for batch in batches:
        keys, values = (batch.column(name).cast("binary").to_pylist() for name in ("key", "value"))
        found += zip(keys, values, strict=True)
    assert found == [(b"k%d" % n, b"v\xff%d" % n if n else None) for n in [*range(2, 9), 0]]


def test_other_columns_get_another_consumer(broker, hundred, own_leases):
    first = options(broker.bootstrap, hundred)
    other = replace(first, columns=Columns((("value", "binary"), ("offset", "bigint"))))
    assert read(first, hundred, 0, 5) == values(0, 5)
    (batch,) = read_range(other, OffsetRange(hundred, 0, 5, 7))
    assert batch.to_pylist() == [{"value": v, "offset": o} for o, v in values(5, 7)]
    assert read(first, hundred, 5, 9) == values(5, 9)
    assert len(own_leases._kept) == 2


def test_what_was_fetched_too_much_is_the_next_ranges(broker, hundred, own_leases, monkeypatch):
    made = []
    real = leases_module.Consumer
    monkeypatch.setattr(
        leases_module, "Consumer", lambda **given: made.append(given) or real(**given)
    )
    wanted = options(broker.bootstrap, hundred)
    assert read(wanted, hundred, 0, 33) == values(0, 33)
    assert read(wanted, hundred, 33, 70) == values(33, 70)
    assert read(wanted, hundred, 70, 70) == []
    assert read(wanted, hundred, 10, 15) == values(10, 15)  # back again: the rest is not it
    assert read(wanted, hundred, 15, 100) == values(15, 100)
    assert len(made) == 1


@pytest.mark.parametrize(("given", "waits_ms"), [({}, 20), ({"kafka.fetch.max.wait.ms": "70"}, 70)])
def test_at_the_end_of_the_log_it_waits_briefly(broker, hundred, own_leases, given, waits_ms):
    read(options(broker.bootstrap, hundred, **given), hundred, 0, 100)
    (kept,) = own_leases._kept.values()
    assert kept[0]._consumer.config["fetch_max_wait_ms"] == waits_ms


@pytest.mark.parametrize("given", ["etl", None])
def test_what_brokers_call_it(broker, hundred, own_leases, given):
    """What was asked for, as quotas go by it."""
    wanted = options(broker.bootstrap, hundred, **({"kafka.client.id": given} if given else {}))
    task, driver = given or f"kcore-{hundred}-0", given or "kcore-driver"
    read(wanted, hundred, 0, 10)
    (kept,) = own_leases._kept.values()
    assert kept[0]._consumer.config["client_id"] == task
    cluster = Cluster(wanted)
    cluster.written([TopicPartition(hundred, 0)])
    cluster.partitions()
    assert {one.config["client_id"] for one in cluster._consumers.values()} == {driver}
    cluster.close()


def test_one_that_was_stopped_half_way_leaves_no_consumer(broker, hundred, own_leases):
    wanted = options(broker.bootstrap, hundred)
    rows = read_range(wanted, OffsetRange(hundred, 0, 0, 100))
    next(rows)
    rows.close()
    assert not own_leases._kept
    assert read(wanted, hundred, 0, 100) == values(0, 100)


def test_other_options_get_another_consumer(broker, hundred, own_leases):
    plain = options(broker.bootstrap, hundred)
    headers = options(broker.bootstrap, hundred, includeHeaders="true")
    read(plain, hundred, 0, 5)
    first = next(iter(read_range(headers, OffsetRange(hundred, 0, 5, 6))))
    assert "headers" in first.schema.names
    assert len(own_leases._kept) == 1  # the other is still lent to the generator


def test_another_query_gets_nothing_that_was_fetched_for_the_first(broker, hundred, request):
    first = replace(options(broker.bootstrap, hundred), query_id="a")
    assert read(first, hundred, 0, 10) == values(0, 10)  # and more is fetched already
    delete_topic(broker.bootstrap, hundred)
    broker.create_topic(hundred)
    broker.produce(hundred, [(None, b"new")] * 20)
    second = replace(options(broker.bootstrap, hundred), query_id="b")
    assert read(second, hundred, 10, 20) == [(offset, b"new") for offset in range(10, 20)]


def test_two_tasks_of_one_partition_at_once(broker, hundred):
    wanted = options(broker.bootstrap, hundred)
    left = read_range(wanted, OffsetRange(hundred, 0, 0, 50))
    right = read_range(wanted, OffsetRange(hundred, 0, 50, 100))
    first, second = rows_of([next(left)]), rows_of([next(right)])
    first += rows_of(left)
    second += rows_of(right)
    assert [row["offset"] for row in first + second] == [*range(100)]


# Bounds ---------------------------------------------------------------------------------------


def test_batches_are_bounded_in_bytes_whatever_the_range(broker, request):
    topic = topic_of(broker, request)
    with Producer(bootstrap_servers=broker.bootstrap, compression_type="zstd") as producer:
        for _ in range(64):  # a few KiB each as fetched
            producer.send(topic, bytes(1_000_000), partition=0)
            producer.flush()
    wanted = options(broker.bootstrap, topic)
    sizes = [batch.nbytes for batch in read_range(wanted, OffsetRange(topic, 0, 0, 64))]
    assert sum(sizes) > 64_000_000
    assert max(sizes) < COLUMN_BYTES + 1_100_000  # a record more, and the columns beside values


def test_no_object_is_made_for_a_record(broker, request):
    topic = topic_of(broker, request)
    with Producer(bootstrap_servers=broker.bootstrap, batch_size=262_144) as producer:
        rows = pa.table({"value": pa.array([b"x" * 20] * 50_000, pa.binary())})
        producer.send_arrow(rows, topic).get(DEADLINE_S)
    wanted = options(broker.bootstrap, topic)
    read_range(wanted, OffsetRange(topic, 0, 0, 1))  # what is imported and kept is there by then
    before = sys.getallocatedblocks()
    batches = [*read_range(wanted, OffsetRange(topic, 0, 0, 50_000))]
    made = sys.getallocatedblocks() - before
    assert sum(batch.num_rows for batch in batches) == 50_000
    assert made < 5_000


# Gaps ---------------------------------------------------------------------------------------------


def test_gaps_of_transactions_are_no_loss(broker, request):
    topic = topic_of(broker, request, 5)  # 0-4
    transact(broker.bootstrap, topic, [b"a", b"b"], commit=False)  # 5, 6, marker 7
    transact(broker.bootstrap, topic, [b"c"], commit=True)  # 8, marker 9
    committed = options(broker.bootstrap, topic, **{"kafka.isolation.level": "read_committed"})
    assert read(committed, topic, 0, 10) == [*values(0, 5), (8, b"c")]
    assert read(committed, topic, 5, 8) == []  # nothing but what was aborted
    assert read(committed, topic, 7, 8) == []  # nothing but a marker
    assert read(committed, topic, 9, 10) == []
    everything = options(broker.bootstrap, topic)
    assert [offset for offset, _ in read(everything, topic, 0, 10)] == [*range(7), 8]


def test_gaps_of_compaction_are_no_loss(broker, request):
    topic = topic_of(
        broker,
        request,
        cleanup_policy="compact",
        segment_ms="1000",
        min_cleanable_dirty_ratio="0.01",
    )
    for number in range(20):
        broker.produce(topic, [(b"key-%d" % (number % 3), b"%d" % number)])
        broker.let_time_pass(2_000)
    wanted = options(broker.bootstrap, topic)
    end = time.monotonic() + DEADLINE_S
    while len(found := read(wanted, topic, 0, 20)) > 5:
        assert time.monotonic() < end, f"never compacted: {found}"
        broker.let_time_pass(60_000)
        reading.leases.close()  # nothing that was fetched before
        time.sleep(0.05)
    assert found[-3:] == values(17, 20)
    assert read(wanted, topic, 0, 10) == [one for one in found if one[0] < 10]


# Loss ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_what_retention_took_is_loss_with_its_place(broker, hundred, isolation, monkeypatch):
    monkeypatch.setattr(reading, "_DOUBT_MS", 10 * DEADLINE_S * 1000)  # the leader has said so
    delete_records(broker.bootstrap, hundred, 40)
    wanted = options(broker.bootstrap, hundred, **{"kafka.isolation.level": isolation})
    with pytest.raises(DataLossError) as caught:
        read(wanted, hundred, 30, 60)
    error = caught.value
    assert (error.partition, error.begin, error.end) == (TopicPartition(hundred, 0), 30, 40)
    assert f"{hundred}-0: records 30 to 40 are gone; the log begins at 40" in str(error)
    assert "failOnDataLoss" in str(error)
    assert read(wanted, hundred, 40, 60) == values(40, 60)


def test_with_fail_on_data_loss_false_it_goes_on_at_what_is_left(broker, hundred, caplog):
    delete_records(broker.bootstrap, hundred, 40)
    wanted = options(broker.bootstrap, hundred, failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        assert read(wanted, hundred, 30, 60) == values(40, 60)
        assert read(wanted, hundred, 0, 30) == []
    assert "records 30 to 40 are gone" in caplog.text
    assert "records 0 to 30 are gone" in caplog.text


def test_retention_while_it_is_read(broker, hundred):
    small = {"kafka.fetch.max.bytes": "200", "kafka.max.partition.fetch.bytes": "200"}
    wanted = options(broker.bootstrap, hundred, **small)
    rows = read_range(wanted, OffsetRange(hundred, 0, 0, 100))
    found = rows_of([next(rows)])
    delete_records(broker.bootstrap, hundred, 90)
    with pytest.raises(DataLossError) as caught:
        found.extend(row for batch in rows for row in batch.to_pylist())
    assert [row["offset"] for row in found] == [*range(caught.value.begin)]
    assert caught.value.end == 90


def test_a_log_that_ends_before_the_range(broker, hundred, quick_doubt):
    wanted = options(broker.bootstrap, hundred)
    with pytest.raises(DataLossError, match="records 100 to 110 are gone; the log ends at 100"):
        read(wanted, hundred, 95, 110)
    with pytest.raises(DataLossError, match="records 105 to 110 are gone; the log ends at 100"):
        read(wanted, hundred, 105, 110)
    wanted = options(broker.bootstrap, hundred, failOnDataLoss="false")
    assert read(wanted, hundred, 95, 110) == values(95, 100)
    assert read(wanted, hundred, 105, 110) == []


def test_a_log_that_is_shorter_for_a_moment(broker, hundred, monkeypatch):
    """As a new leader has it, until it knows how far the others had come."""
    monkeypatch.setattr(reading, "_POLL_MS", 20)
    wanted = options(broker.bootstrap, hundred)
    more = [(None, b"%d" % number) for number in range(100, 110)]
    later = threading.Timer(0.5, broker.produce, [hundred, more, 0])
    later.start()
    assert read(wanted, hundred, 95, 110) == values(95, 110)
    later.join()


def test_a_topic_that_is_deleted(broker, hundred, quick_doubt):
    wanted = options(broker.bootstrap, hundred)
    assert read(wanted, hundred, 0, 10) == values(0, 10)
    delete_topic(broker.bootstrap, hundred)
    reading.leases.close()
    with pytest.raises(DataLossError, match="records 10 to 20 are gone; the topic"):
        read(wanted, hundred, 10, 20)
    wanted = options(broker.bootstrap, hundred, failOnDataLoss="false")
    assert read(wanted, hundred, 10, 20) == []


@pytest.mark.parametrize("loss", ["true", "false"])
def test_a_topic_that_a_node_does_not_know_for_a_moment_is_not_gone(quick_doubt, loss):
    """Which is asked while nothing comes: the leader is away, say."""
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"%d" % number) for number in range(10)])
        wanted = options(broker.bootstrap, "t", failOnDataLoss=loss)
        assert read(wanted, "t", 0, 5) == values(0, 5)
        reading.leases.close()  # nothing is fetched already
        broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000_000)
        rows = threading.Thread(target=lambda: found.extend(read(wanted, "t", 5, 10)))
        found = []
        rows.start()
        time.sleep(0.1)  # it has found its leader
        broker.refuse("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", times=2)
        time.sleep(0.4)  # and doubts it
        broker.no_mishaps()
        rows.join()
        assert found == values(5, 10)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_records_that_are_there_and_do_not_come(quick_doubt, isolation):
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"x")])
        given = {"kafka.isolation.level": isolation, "kafkaConsumer.pollTimeoutMs": "400"}
        wanted = options(broker.bootstrap, "t", **given)
        broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000_000)
        said = "pollTimeoutMs=400 at offset 0, of 0 to 1: "
        with pytest.raises(ReadTimeoutError, match=said) as caught:
            read(wanted, "t", 0, 1)
        assert "transaction" not in str(caught.value)
        broker.no_mishaps()
        assert read(wanted, "t", 0, 1) == [(0, b"x")]


def test_a_leader_that_has_not_what_it_listed_is_not_asked_without_a_pause(quick_doubt):
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"x")])
        wanted = options(broker.bootstrap, "t", **{"kafkaConsumer.pollTimeoutMs": "600"})
        broker.refuse("Fetch", "OFFSET_OUT_OF_RANGE", times=1_000_000)
        with pytest.raises(ReadTimeoutError, match="pollTimeoutMs=600 at offset 0, of 0 to 1"):
            read(wanted, "t", 0, 1)
        assert 2 <= 1_000_000 - broker.mishaps_to_come <= 12  # it was some 300
        broker.no_mishaps()
        assert read(wanted, "t", 0, 1) == [(0, b"x")]


def test_a_leader_that_is_away_has_the_time_of_a_poll(quick_doubt):
    """However little a question may take that nobody can answer without it."""
    asks = {"kafka.default.api.timeout.ms": "100"}
    with EmbeddedBroker(nodes=2) as broker:
        broker.create_topic("t")
        broker.move_leader("t", 0, 1)
        broker.produce("t", [(None, b"%d" % number) for number in range(10)])
        wanted = options(broker.bootstrap, "t", **asks)
        assert read(wanted, "t", 0, 5) == values(0, 5)
        reading.leases.close()  # nothing is fetched already
        broker.kill(1)
        back = threading.Timer(1, broker.revive, [1])
        back.start()
        assert read(wanted, "t", 5, 10) == values(5, 10)
        back.join()
        reading.leases.close()
        broker.kill(1)
        for isolation in ("read_uncommitted", "read_committed"):
            given = {"kafka.isolation.level": isolation, "kafkaConsumer.pollTimeoutMs": "500"}
            began = time.monotonic()
            with pytest.raises(ReadTimeoutError, match=r"=500 at offset 5, of 5 to 10: .*leader"):
                read(options(broker.bootstrap, "t", **given), "t", 5, 10)
            assert time.monotonic() - began < DEADLINE_S


def test_a_transaction_that_stays_open_is_no_loss(broker, request, quick_doubt):
    """What was planned before (with another isolation) ends behind the last stable offset."""
    topic = topic_of(broker, request, 5)
    producer = TransactionalProducer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(topic, b"5", partition=0)
    producer.flush(DEADLINE_S)
    committed = {"kafka.isolation.level": "read_committed"}
    hasty = options(broker.bootstrap, topic, kafkaConsumer__pollTimeoutMs="400", **committed)
    with pytest.raises(ReadTimeoutError, match=r"at offset 5, of 0 to 6: .*a transaction is open"):
        read(hasty, topic, 0, 6)
    rows = read_range(options(broker.bootstrap, topic, **committed), OffsetRange(topic, 0, 0, 6))
    found = rows_of([next(rows)])
    producer.commit_transaction(DEADLINE_S)
    found += rows_of(rows)
    assert [(row["offset"], row["value"]) for row in found] == values(0, 6)


def test_the_time_that_others_take_with_what_came_is_none_of_a_polls(quick_doubt):
    """Whoever takes the rows is slow, and then nothing comes for a moment."""
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        for number in range(10):
            broker.produce("t", [(None, b"%d" % number)])
        small = {"kafka.fetch.max.bytes": "80", "kafka.max.partition.fetch.bytes": "80"}
        wanted = options(broker.bootstrap, "t", kafkaConsumer__pollTimeoutMs="1500", **small)
        rows = read_range(wanted, OffsetRange("t", 0, 0, 10))
        found = rows_of([next(rows)])
        broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000_000)
        time.sleep(1.6)
        end = threading.Timer(0.5, broker.no_mishaps)
        end.start()
        found += rows_of(rows)
        end.join()
        assert [row["offset"] for row in found] == [*range(10)]


def test_an_open_transaction_is_no_loss_before_the_leader_has_told_of_it(quick_doubt):
    """Nothing is fetched yet; all that is known is where what is committed ends."""
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        producer = TransactionalProducer(
            {"bootstrap.servers": broker.bootstrap, "transactional.id": "t", "log_level": 0}
        )
        producer.init_transactions(DEADLINE_S)
        producer.begin_transaction()
        producer.produce("t", b"0", partition=0)
        producer.flush(DEADLINE_S)
        broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000_000)
        end = threading.Timer(0.7, broker.no_mishaps)
        end.start()
        committed = {"kafka.isolation.level": "read_committed"}
        wanted = options(broker.bootstrap, "t", kafkaConsumer__pollTimeoutMs="2000", **committed)
        with pytest.raises(ReadTimeoutError, match="a transaction is open"):
            read(wanted, "t", 0, 1)
        end.join()
        with pytest.raises(DataLossError, match="records 1 to 2 are gone; the log ends at 0"):
            read(wanted, "t", 1, 2)
        producer.abort_transaction(DEADLINE_S)


def test_leaders_move_while_it_is_read():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", replication_factor=3)
        for begin in range(0, 300, 10):
            broker.produce("t", [(None, b"%d" % (begin + at)) for at in range(10)])
        small = {"kafka.fetch.max.bytes": "300", "kafka.max.partition.fetch.bytes": "300"}
        rows = read_range(options(broker.bootstrap, "t", **small), OffsetRange("t", 0, 0, 300))
        found = rows_of([next(rows)])
        moves = 0
        for number, batch in enumerate(rows):
            if number % 5 == 0:
                moves += 1
                broker.move_leader("t", 0, moves % 3 + 1)
            found += rows_of([batch])
        assert moves > 1
        assert [(row["offset"], row["value"]) for row in found] == values(0, 300)


@pytest.mark.parametrize(
    ("more", "gone", "left"),
    [
        (3, "records 20 to 25 are gone; the log ends at 15", []),
        (20, "records 12 to 20 are gone; the log was truncated", range(20, 25)),
    ],
)
def test_a_log_that_an_unclean_election_has_cut_off(more, gone, left, caplog):
    """What the consumer has read is not there any more, and others are in its place."""
    with EmbeddedBroker(nodes=2) as broker:
        unclean = {"unclean.leader.election.enable": "true"}
        committed = {"kafka.isolation.level": "read_committed"}
        broker.create_topic("t", replication_factor=2, settings=unclean)
        broker.move_leader("t", 0, 1)
        broker.produce("t", [(None, b"%d" % number) for number in range(12)])
        broker.kill(2)
        broker.produce("t", [(None, b"%d" % number) for number in range(12, 20)])
        strict, lax = (
            replace(options(broker.bootstrap, "t", failOnDataLoss=loss, **committed), query_id=loss)
            for loss in ("true", "false")
        )
        assert read(strict, "t", 0, 20) == read(lax, "t", 0, 20) == values(0, 20)
        broker.kill(1)
        broker.revive(2)
        broker.produce("t", [(None, b"new")] * more)
        with pytest.raises(DataLossError, match=f"t-0: {gone}"):
            read(strict, "t", 20, 25)
        with caplog.at_level(logging.WARNING, "kcore.pipeline"):
            assert read(lax, "t", 20, 25) == [(offset, b"new") for offset in left]
        assert gone in caplog.text
