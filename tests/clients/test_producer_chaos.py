"""Producers while brokers fail, judged by what consumers read; and beside kafka-python's."""

import inspect
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition as Theirs
from leftovers import KAFKA_PYTHON

from kcore import Consumer, Producer, TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.errors import IllegalStateError, KafkaError

pytestmark = KAFKA_PYTHON


def read_all(broker, topic, count):
    """Values of each partition, by our consumer."""
    found = {}
    with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        parts = [TopicPartition(topic, number) for number in range(count)]
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        ends = consumer.end_offsets(parts)
        found = {number: [] for number in range(count)}
        while any(consumer.position(tp) < ends[tp] for tp in parts):
            for tp, records in consumer.poll(200, max_records=10_000).items():
                found[tp.partition] += [record.value for record in records]
    return found


def mischief(broker, rng, stop):
    while not stop.wait(0.15):
        what = rng.randrange(6)
        if what == 0:
            node = rng.randrange(1, 4)
            broker.kill(node)
            stop.wait(0.3)
            broker.revive(node)
        elif what == 1:
            broker.refuse("Produce", rng.choice(["NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS"]))
        elif what == 2:
            broker.delay("Produce", 300)
        elif what == 3:
            broker.cut("Produce", 2)
        elif what == 4:
            broker.cut("Metadata")
        else:
            broker.move_leader("t", rng.randrange(4), rng.randrange(1, 4))


@pytest.mark.parametrize(
    ("seed", "count", "options"),
    [
        (1, 4_000, {}),
        pytest.param(2, 50_000, {"compression_type": "lz4"}, marks=pytest.mark.slow),
        pytest.param(3, 50_000, {"linger_ms": 0, "batch_size": 2_000}, marks=pytest.mark.slow),
    ],
)
def test_threads_send_while_nodes_fall_and_rise(seed, count, options):
    rng, stop = random.Random(seed), threading.Event()
    threads = 4
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", 4, replication_factor=3)
        with Producer(bootstrap_servers=broker.bootstrap, **options) as producer:
            futures = [[] for _ in range(threads)]

            def send(mine):
                for number in range(count // threads):
                    value = b"%d-%06d" % (mine, number)
                    futures[mine].append((value, producer.send("t", value, partition=mine)))
                    if number % 10 == 0:
                        time.sleep(0.02)

            workers = [threading.Thread(target=send, args=(n,)) for n in range(threads)]
            trouble = threading.Thread(target=mischief, args=(broker, rng, stop))
            for thread in [*workers, trouble]:
                thread.start()
            for thread in workers:
                thread.join()
            stop.set()
            trouble.join()
            producer.flush(60)
        found = read_all(broker, "t", 4)
        assert broker.faults == []
    for mine in range(threads):
        assert found[mine] == [value for value, _ in futures[mine]]
        for value, future in futures[mine]:
            assert found[mine][future.value.offset] == value


def test_without_idempotence_nothing_is_lost():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        with Producer(bootstrap_servers=broker.bootstrap, acks=1, batch_size=500) as producer:
            for number in range(2_000):
                producer.send("t", b"%06d" % number)
                if number % 400 == 0:
                    broker.cut("Produce")
        found = Counter(read_all(broker, "t", 1)[0])
    assert set(found) == {b"%06d" % number for number in range(2_000)}


# Beside kafka-python ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        yield broker
        assert broker.faults == []


CALLS = [
    {"value": b"v"},
    {"value": b"v", "key": b"k", "partition": 1, "timestamp_ms": 1_700_000_000_000},
    {"key": b"some key"},
    {"value": b"", "key": b"", "headers": [("a", b"1"), ("b", b"")], "partition": 0},
    {"value": b"x" * 5_000, "key": b"other", "timestamp_ms": 5},
]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_the_same_calls_give_the_same(broker, acks):
    found = {}
    for kind in (KafkaProducer, Producer):
        topic = f"same-{kind.__name__}-{acks}"
        broker.create_topic(topic, 2)
        producer = kind(bootstrap_servers=broker.bootstrap, acks=acks, linger_ms=0)
        told = []
        results = []
        for call in CALLS:
            future = producer.send(topic, **call)
            assert future.add_callback(lambda m, told=told: told.append(m.partition)) is future
            meta = future.get(timeout=10)
            fixed = "partition" in call or call.get("key") is not None
            results.append(
                (
                    type(meta)._fields,
                    meta.topic == topic,
                    meta.topic_partition == (meta.topic, meta.partition),
                    meta.partition if fixed else None,
                    meta.timestamp if "timestamp_ms" in call and acks else None,
                    meta.checksum,
                    meta.serialized_key_size,
                    meta.serialized_value_size,
                    future.is_done,
                    future.succeeded(),
                    future.failed(),
                    future.retriable(),
                    future.exception,
                )
            )
        producer.flush(timeout=10)
        results.append(producer.partitions_for(topic))
        producer.close(timeout=5)
        results.append(len(told))
        found[kind] = results
    assert found[Producer] == found[KafkaProducer]


# Of connections, and of records one by one: not measured.
UNMEASURED = {
    *("connection-close-rate", "connection-creation-rate", "connection-count", "network-io-rate"),
    *("outgoing-byte-rate", "incoming-byte-rate", "request-size-avg", "request-size-max"),
    *("response-rate", "throttle-time-avg", "throttle-time-max", "metadata-age"),
    *("record-size-avg", "record-size-max"),
}


def test_metrics_have_kafka_pythons_groups_and_names(broker):
    broker.create_topic("measured", 1)
    found = {}
    for kind in (KafkaProducer, Producer):
        with kind(bootstrap_servers=broker.bootstrap, linger_ms=20) as producer:
            producer.send("measured", bytes(100)).get(10)  # finds the topic
            producer.flush()
            for _ in range(100):
                producer.send("measured", bytes(100))
            producer.flush()
            found[kind] = producer.metrics()
    theirs, ours = found[KafkaProducer], found[Producer]
    missing = {
        (group, name)
        for group in theirs
        if group.startswith("producer") and "bootstrap" not in group
        for name in theirs[group]
        if name not in UNMEASURED and name not in ours.get(group, {})
    }
    assert not missing
    for name in ("record-send-rate", "records-per-request-avg", "compression-rate-avg"):
        a, b = theirs["producer-metrics"][name], ours["producer-metrics"][name]
        assert a == pytest.approx(b, rel=0.35), name  # they count windows in their own way


def test_every_method_of_kafka_pythons_is_there(broker):
    names = {name for name in vars(KafkaProducer) if not name.startswith("_")}
    helpers = {"DEFAULT_CONFIG", "DEPRECATED_CONFIGS", "max_usable_produce_magic"}
    assert {name for name in names if not hasattr(Producer, name)} == helpers
    for name in names - helpers - {"metrics"}:
        theirs = inspect.signature(getattr(KafkaProducer, name)).parameters
        ours = inspect.signature(getattr(Producer, name)).parameters
        given = [one for one in theirs if one != "null_logger"]
        assert [*ours] in (given, [*given, "timeout"]), name  # confluent's, of transactions
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        calls = [producer.init_transactions, producer.begin_transaction]
        calls += [producer.commit_transaction, producer.abort_transaction]
        calls.append(lambda: producer.send_offsets_to_transaction({}, "g"))
        for call in calls:
            with pytest.raises(IllegalStateError, match="has no transactional_id"):
                call()


WRONG = [
    (lambda p: p.send("wrong", "text"), TypeError),
    (lambda p: p.send("wrong", b"v", partition=99), ValueError),
    (lambda p: p.send("wrong", b"v", partition=-1), ValueError),
    (lambda p: p.send("wrong", bytes(2_000_000)), "MessageSizeTooLargeError"),
    (lambda p: p.send("bad name", b"v"), None),
    (lambda p: p.send("wrong", b"v").get(timeout=10).nothing, AttributeError),
]


@pytest.mark.parametrize(("call", "kind"), WRONG)
def test_what_is_wrong_is_wrong_with_both(broker, call, kind):
    if "wrong" not in broker.topics():
        broker.create_topic("wrong", 2)
    raised = []
    for client in (KafkaProducer, Producer):
        producer = client(bootstrap_servers=broker.bootstrap, max_block_ms=2_000)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is the question
            call(producer)
        raised.append(caught.value)
        producer.close(timeout=5)
    if isinstance(kind, type):
        assert [isinstance(error, (kind, AssertionError)) for error in raised] == [True, True]
    assert isinstance(raised[1], (KafkaError, TypeError, ValueError, AttributeError))


def test_kafka_python_reads_what_is_written(broker):
    broker.create_topic("read", 1)
    with Producer(bootstrap_servers=broker.bootstrap, compression_type="gzip") as producer:
        for number in range(500):
            producer.send("read", b"%d" % number, key=b"k", headers=[("h", b"%d" % number)])
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, consumer_timeout_ms=5_000)
    consumer.assign([Theirs("read", 0)])
    consumer.seek_to_beginning()
    found = []
    while len(found) < 500:
        for records in consumer.poll(1_000).values():
            found += records
    consumer.close()
    assert [(r.key, r.value) for r in found] == [(b"k", b"%d" % n) for n in range(500)]
    assert [*found[7].headers] == [("h", b"7")]


# Elsewhere ----------------------------------------------------------------------------------------


def test_gevent(broker):
    pytest.importorskip("gevent")
    broker.create_topic("gevent", 2)
    code = """
        import sys, gevent
        from kcore import Producer
        with Producer(bootstrap_servers=sys.argv[1], transport="gevent") as producer:
            told = []
            def send(n):
                for i in range(100):
                    producer.send("gevent", b"%d-%d" % (n, i)).add_callback(told.append)
            gevent.joinall([gevent.spawn(send, n) for n in range(5)], raise_error=True)
            producer.flush(20)
            with gevent.Timeout(20):
                while len(told) < 500:
                    gevent.sleep(0.001)
            assert producer.send("gevent", b"last").get(10).offset >= 0
        print("sent")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), broker.bootstrap],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.stdout, ran.returncode) == ("sent\n", 0), ran.stderr
    assert sum(broker.end_offsets("gevent")) == 501


def test_tables(broker):
    pa = pytest.importorskip("pyarrow")
    for name in ("rows", "other"):
        broker.create_topic(name, 3)
    count = 3_000
    table = pa.table(
        {
            "topic": ["rows" if number % 3 else "other" for number in range(count)],
            "key": [b"%d" % number if number % 2 else None for number in range(count)],
            "value": [b"%d" % number for number in range(count)],
            "partition": pa.array([None if n % 5 else n % 3 for n in range(count)], pa.int32()),
        }
    )
    with Producer(bootstrap_servers=broker.bootstrap, buffer_memory=20_000) as producer:
        future = producer.send_arrow(table)
        parts = future.get(30)
        assert (future.rows, future.failed_rows, future.is_done) == (count, 0, True)
        keyed = producer.send("rows", b"", key=b"1").get(10).partition
    found = {name: read_all(broker, name, 3) for name in ("rows", "other")}
    assert sum(part.count for part in parts.values()) == count
    for name, numbers in found.items():
        for number, values in numbers.items():
            rows = [int(value) for value in values if value]
            assert rows == sorted(rows)
            assert parts[TopicPartition(name, number)].count == len(rows)
            assert all(row % 5 or row % 3 == number for row in rows)
    assert b"1" in found["rows"][keyed]


def test_tables_that_cannot_be_sent(broker):
    pa = pytest.importorskip("pyarrow")
    if "rows" not in broker.topics():
        broker.create_topic("rows", 3)
    options = {"max_request_size": 10_000, "compression_type": "gzip"}
    with Producer(bootstrap_servers=broker.bootstrap, **options) as producer:
        before = broker.end_offsets("rows")
        bad = [
            ({"value": [b""], "partition": pa.array([3], pa.int32())}, "row 0: rows has no part"),
            ({"value": [b"", bytes(20_000)]}, "row 1 takes up to .* bytes before compression"),
            ({"value": [b""], "timestamp": pa.array([-5])}, "row 0: its timestamp"),
            ({"key": [b""]}, "no column `value`"),
        ]
        for columns, said in bad:
            with pytest.raises((KafkaError, TypeError, ValueError), match=said):
                producer.send_arrow(pa.table(columns), "rows")
        with pytest.raises(ValueError, match="give a topic"):
            producer.send_arrow(pa.table({"value": [b""]}))
        with pytest.raises(ValueError, match="row 1 has no topic"):
            producer.send_arrow(pa.table({"value": [b"", b""], "topic": ["rows", None]}))
        producer.flush(10)
        assert sum(broker.end_offsets("rows")) == sum(before) + 1
        assert producer.send_arrow(pa.table({"value": pa.nulls(0)}), "rows").get(5) == {}
    with pytest.raises(KafkaError):
        producer.send_arrow(pa.table({"value": [b""]}), "rows")
