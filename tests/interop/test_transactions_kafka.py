"""Transactions of our producer on a real Kafka, with `transaction.version` 2 and 1, read back by
other people's consumers, and beside other people's producers.
"""

import subprocess
import threading
import time

import confluent_kafka
import confluent_kafka.admin
import pytest
from transactional import committed, everything, positions_behind, wait_for_markers

from kcore import Consumer, Producer, TopicPartition, errors
from kcore.cli.demo.java import TOOLS
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.produce.transaction_states import TxnState

pytestmark = pytest.mark.kafka
DEADLINE_S = 60
PARTITIONS = 2


def run_tool(installation, cluster, name, *args):
    where = ("--bootstrap-server", cluster.bootstrap)
    command = installation.command(TOOLS[name], *where, *args)
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bring(installation, cluster, verb, level):
    feature = ("--feature", f"transaction.version={level}")
    run_tool(installation, cluster, "kafka-features", verb, *feature)


@pytest.fixture(scope="module")
def explicit_kafka(installation):
    """A Kafka whose brokers want to be told what takes part in a transaction."""
    with KafkaCluster(1) as cluster:
        bring(installation, cluster, "downgrade", 1)
        yield cluster


@pytest.fixture(params=[2, pytest.param(1, marks=pytest.mark.slow)], ids=lambda level: f"tv{level}")
def cluster(request):
    return request.getfixturevalue("kafka" if request.param == 2 else "explicit_kafka")


def make(cluster, name, **options):
    producer = Producer(bootstrap_servers=cluster.bootstrap, transactional_id=name, **options)
    producer.init_transactions(DEADLINE_S)
    return producer


def theirs(cluster, name):
    options = {"bootstrap.servers": cluster.bootstrap, "transactional.id": name, "log_level": 0}
    producer = confluent_kafka.Producer(options)
    producer.init_transactions(DEADLINE_S)
    return producer


def all_of(cluster, topic):
    """The values that are committed, when no transaction is open any more."""
    wait_for_markers(cluster.bootstrap, topic)
    return everything(cluster.bootstrap, topic)


def read_by_librdkafka(cluster, topic, level):
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "isolation.level": level,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
    values, ended, until = [], set(), time.monotonic() + DEADLINE_S
    while len(ended) < PARTITIONS:
        assert time.monotonic() < until
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is not None:
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            ended.add(message.partition())
        else:
            values.append(message.value())
    consumer.close()
    return sorted(values)


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_what_is_committed_is_read_by_others(cluster, names, installation, codec):
    cluster.create_topic(names.topic, PARTITIONS)
    wanted, everything_sent = [], []
    with make(cluster, names.topic, compression_type=codec, batch_size=200) as producer:
        for number in range(8):
            values = [b"%d-%02d" % (number, n) for n in range(20)]
            producer.begin_transaction()
            for n, value in enumerate(values):
                producer.send(names.topic, value, partition=n % PARTITIONS)
            if number % 2:
                producer.flush(DEADLINE_S)
                producer.abort_transaction(DEADLINE_S)
            else:
                producer.commit_transaction(DEADLINE_S)
                wanted += values
            everything_sent += values
        level = producer._core._transaction.explicit
        assert level == (producer._core._links.feature_level("transaction.version") < 2)
    assert all_of(cluster, names.topic) == sorted(wanted)
    assert read_by_librdkafka(cluster, names.topic, "read_committed") == sorted(wanted)
    uncommitted = read_by_librdkafka(cluster, names.topic, "read_uncommitted")
    assert uncommitted == sorted(everything_sent)
    reading = ("--topic", names.topic, "--from-beginning", "--max-messages", str(len(wanted)))
    lines = run_tool(
        installation,
        cluster,
        "kafka-console-consumer",
        *reading,
        "--isolation-level",
        "read_committed",
    )
    assert sorted(lines.encode().split()) == sorted(wanted)


def test_the_versions_are_what_they_are_meant_to_be(kafka, names):
    with make(kafka, names.topic) as producer:
        assert not producer._core._transaction.explicit


@pytest.mark.slow
def test_the_older_version_is_spoken(explicit_kafka, names):
    with make(explicit_kafka, names.topic) as producer:
        assert producer._core._transaction.explicit


@pytest.mark.slow
def test_brokers_that_are_upgraded_meanwhile(installation):
    """The first transaction of `transaction.version` 2 is of another epoch than the last before."""
    with KafkaCluster(1) as cluster:
        cluster.create_topic("upgraded", 1)
        bring(installation, cluster, "downgrade", 1)
        idle = {"request_timeout_ms": 1_900, "connections_max_idle_ms": 2_000}
        with make(cluster, "moves-on", **idle) as producer:
            with producer.transaction():
                producer.send("upgraded", b"told", partition=0)
            assert producer._core._transaction.explicit
            before = producer._core._sender.identity.producer_epoch
            bring(installation, cluster, "upgrade", 2)
            time.sleep(3.5)  # its links are closed: which features there are, new ones say
            epochs = []
            for value in (b"reconnects", b"first", b"second"):
                producer.begin_transaction()
                producer.send("upgraded", value, partition=0).get(DEADLINE_S)
                epochs.append(producer._core._sender.identity.producer_epoch)
                producer.commit_transaction(DEADLINE_S)
            assert not producer._core._transaction.explicit
            assert epochs == [before, before + 1, before + 2]
            producer.begin_transaction()
            producer.send("upgraded", b"never", partition=0).get(DEADLINE_S)
            producer.abort_transaction(DEADLINE_S)
        found = all_of(cluster, "upgraded")
        assert found == sorted([b"told", b"reconnects", b"first", b"second"])


def test_consume_transform_produce(cluster, names):
    source, sink = names.topic, f"{names.topic}-out"
    for topic in (source, sink):
        cluster.create_topic(topic, PARTITIONS)
    values = [b"%05d" % number for number in range(500)]
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for number, value in enumerate(values):
            producer.send(source, value, partition=number % PARTITIONS)
    options = {
        "bootstrap_servers": cluster.bootstrap,
        "group_id": names.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    aborted, copied, until = 0, 0, time.monotonic() + DEADLINE_S
    while copied < len(values):
        with Consumer(source, **options) as consumer, make(cluster, names.topic) as producer:
            while copied < len(values):
                assert time.monotonic() < until
                batches = consumer.poll(200, max_records=100)
                producer.begin_transaction()
                for records in batches.values():
                    for record in records:
                        producer.send(sink, record.value)
                offsets, member = positions_behind(batches), consumer.group_metadata()
                producer.send_offsets_to_transaction(offsets, member, DEADLINE_S)
                if aborted < 2 and copied >= 100 * (aborted + 1):
                    producer.abort_transaction(DEADLINE_S)
                    aborted += 1
                    break  # it is read again from what is committed
                producer.commit_transaction(DEADLINE_S)
                copied += sum(map(len, batches.values()))
    assert aborted == 2
    assert all_of(cluster, sink) == values
    ends = cluster.end_offsets(source)
    assert committed(cluster.bootstrap, names.group, source, PARTITIONS) == [ends[0], ends[1]]


def test_a_member_of_an_old_generation_is_fenced(cluster, names):
    cluster.create_topic(names.topic, PARTITIONS)
    options = {"bootstrap_servers": cluster.bootstrap, "group_id": names.group}
    with Consumer(names.topic, **options) as consumer, make(cluster, names.topic) as producer:
        until = time.monotonic() + DEADLINE_S
        while not consumer.assignment():
            assert time.monotonic() < until
            consumer.poll(100)
        old = consumer.group_metadata()
        with producer.transaction(DEADLINE_S):
            producer.send(names.topic, b"one")
            offsets = {TopicPartition(names.topic, 0): 0}
            producer.send_offsets_to_transaction(offsets, old, DEADLINE_S)
        consumer.unsubscribe()
        producer.begin_transaction()
        producer.send(names.topic, b"two")
        with pytest.raises(errors.CommitFailedError):
            producer.send_offsets_to_transaction(offsets, old, DEADLINE_S)
        producer.abort_transaction(DEADLINE_S)
    assert all_of(cluster, names.topic) == [b"one"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_was_put_out_is_fenced_before_it_is_told(cluster, names, protocol):
    cluster.create_topic(names.topic, PARTITIONS)
    options = {
        "bootstrap_servers": cluster.bootstrap,
        "group_id": names.group,
        "group_protocol": protocol,
        "max_poll_interval_ms": 500,
    }
    with Consumer(names.topic, **options) as consumer, make(cluster, names.topic) as producer:
        until = time.monotonic() + DEADLINE_S
        while not consumer.assignment():
            assert time.monotonic() < until
            consumer.poll(100)
        while consumer.group_metadata().state != "<unjoined>":
            assert time.monotonic() < until
            time.sleep(0.05)
        offsets = {TopicPartition(names.topic, 0): 0}
        with pytest.raises(errors.CommitFailedError), producer.transaction(DEADLINE_S):
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata(), DEADLINE_S)


def test_ours_fences_theirs(cluster, names):
    cluster.create_topic(names.topic, PARTITIONS)
    first = theirs(cluster, names.topic)
    first.begin_transaction()
    first.produce(names.topic, b"lost", partition=0)
    assert first.flush(DEADLINE_S) == 0
    with make(cluster, names.topic) as second:
        with pytest.raises(confluent_kafka.KafkaException):
            first.commit_transaction(DEADLINE_S)
        with second.transaction(DEADLINE_S):
            second.send(names.topic, b"kept", partition=0)
    assert all_of(cluster, names.topic) == [b"kept"]


def test_theirs_fences_ours(cluster, names):
    cluster.create_topic(names.topic, PARTITIONS)
    with make(cluster, names.topic) as first:
        first.begin_transaction()
        first.send(names.topic, b"lost", partition=0).get(DEADLINE_S)
        second = theirs(cluster, names.topic)
        with pytest.raises((errors.ProducerFencedError, errors.TransactionAbortableError)):
            first.commit_transaction(DEADLINE_S)
        if first._core.transaction_state is TxnState.ABORTABLE_ERROR:
            with pytest.raises(errors.ProducerFencedError):
                first.abort_transaction(DEADLINE_S)
        with pytest.raises(errors.ProducerFencedError):
            first.begin_transaction()
        second.begin_transaction()
        second.produce(names.topic, b"kept", partition=0)
        second.commit_transaction(DEADLINE_S)
    assert all_of(cluster, names.topic) == [b"kept"]


def test_a_batch_that_expires_is_aborted_and_the_producer_goes_on(cluster, names):
    """Nobody leads the partition any more: the topic is gone."""
    lost = f"{names.topic}-lost"
    cluster.create_topic(names.topic, PARTITIONS)
    cluster.create_topic(lost, 1)
    options = {"delivery_timeout_ms": 2_000, "request_timeout_ms": 1_000}
    with make(cluster, names.topic, **options) as producer:
        with producer.transaction(DEADLINE_S):
            producer.send(lost, b"there")
            producer.send(names.topic, b"one")
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.delete_topics([lost])[lost].result(DEADLINE_S)
        producer.begin_transaction()
        producer.send(names.topic, b"two")
        producer.send(lost, b"gone")
        with pytest.raises(errors.TransactionAbortableError):
            producer.commit_transaction(DEADLINE_S)
        producer.abort_transaction(DEADLINE_S)
        with producer.transaction(DEADLINE_S):
            producer.send(names.topic, b"three")
    assert all_of(cluster, names.topic) == [b"one", b"three"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nodes_are_killed_in_the_middle(kafka3, names):
    kafka3.create_topic(names.topic, PARTITIONS)
    count, done = 400, []
    with make(kafka3, names.topic, delivery_timeout_ms=60_000) as producer:

        def write():
            for number in range(count):
                value = b"%05d" % number
                with producer.transaction(120):
                    producer.send(names.topic, value, partition=number % PARTITIONS)
                    producer.send(names.topic, value, partition=(number + 1) % PARTITIONS)
                time.sleep(0.03)
            done.append(1)

        writer = threading.Thread(target=write)
        writer.start()
        for node in (0, 1, 2):
            time.sleep(2.0)
            kafka3.kill(node)
            time.sleep(2.0)
            kafka3.restart(node)
        writer.join()
    assert done == [1]
    found = read_by_librdkafka(kafka3, names.topic, "read_committed")
    assert found == sorted([b"%05d" % number for number in range(count)] * 2)
