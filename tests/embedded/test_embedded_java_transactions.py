"""Kafka's own transactional producer and tools against the embedded broker."""

import subprocess

import java_programs
import pytest
from late_writes import write_late

from kcore import Admin, TopicPartition
from kcore.broker import BrokerConfig
from kcore.cli.demo.java import TOOLS
from kcore.embedded import EmbeddedBroker

DEADLINE_S = 90

pytestmark = pytest.mark.kafka
slow = pytest.mark.slow
RELEASES = [(4, 4), *(pytest.param(release, marks=slow) for release in [(2, 8), (3, 5), (3, 9)])]


@pytest.fixture
def tool(installation, kcore_broker):
    def run(name, *args, server=True):
        where = ("--bootstrap-server", kcore_broker.bootstrap) if server else ()
        command = installation.command(TOOLS[name], *where, *args)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    yield run
    assert not kcore_broker.faults


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: "{}.{}".format(*release))
def test_the_java_producer(installation, release):
    with EmbeddedBroker(config=BrokerConfig(release=release)) as broker:
        for topic in ("in", "out"):
            broker.create_topic(topic, 2)
        command = java_programs.command(installation, "Transactions", broker.bootstrap)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stdout + done.stderr
        said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        assert said["committed"] == "[c0, c0, c2, c2, c4, c4]"
        assert said["uncommitted"] == "[a1, a1, a3, a3, a5, a5, c0, c0, c2, c2, c4, c4]"
        # Six transactions in each partition, and a marker behind the one record of each.
        assert said["copied"] == "[c0, c0, c2, c2, c4, c4] up to 18"
        assert said["fenced"] in {"ProducerFencedException", "InvalidProducerEpochException"}
        assert said["left"] == "true false"
        assert not broker.faults


@slow
def test_perf_producer_and_console_consumers(tool, kcore_broker):
    kcore_broker.create_topic("t", 2)
    options = (
        *("--topic", "t", "--num-records", "2000", "--record-size", "10", "--throughput", "-1"),
        *("--transactional-id", "perf", "--transaction-duration-ms", "50"),
        *("--producer-props", f"bootstrap.servers={kcore_broker.bootstrap}"),
    )
    assert "2000 records sent" in tool("kafka-producer-perf-test", *options, server=False)
    reading = ("--topic", "t", "--from-beginning", "--max-messages", "2000")
    for level in ("read_committed", "read_uncommitted"):
        lines = tool("kafka-console-consumer", *reading, "--isolation-level", level)
        assert len(lines.split()) == 2000
    assert sum(kcore_broker.end_offsets("t")) > 2000  # markers, too


@slow
def test_the_transactions_tool(tool, kcore_broker):
    kcore_broker.create_topic("t", 1)
    open_transaction(kcore_broker)
    listed = tool("kafka-transactions", "list").splitlines()
    assert [line.split()[0] for line in listed] == ["TransactionalId", "x"]
    assert listed[1].split()[3] == "Ongoing"
    described = tool("kafka-transactions", "describe", "--transactional-id", "x")
    assert "t-0" in described
    producers = tool("kafka-transactions", "describe-producers", "--topic", "t", "--partition", "0")
    row = producers.splitlines()[1].split()
    assert row[-1] == "0", "where its transaction begins"
    abort = ("--topic", "t", "--partition", "0", "--start-offset", "0")
    tool("kafka-transactions", "abort", *abort)
    assert kcore_broker.end_offsets("t") == [2]
    hanging = tool("kafka-transactions", "find-hanging", "--broker-id", "1")
    assert len(hanging.splitlines()) == 1


@slow
def test_the_transactions_tool_finds_what_hangs(installation):
    """On a broker that takes what is written outside a transaction (before KIP-890)."""
    with EmbeddedBroker(config=BrokerConfig(release=(3, 5))) as broker:
        broker.create_topic("t", 2)
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            number, epoch = admin.fence_producers(["x"])["x"]
        assert write_late(broker.bootstrap, "x", TopicPartition("t", 1), number, epoch) == 0

        def tool(*args):
            where = ("--bootstrap-server", broker.bootstrap)
            command = installation.command(TOOLS["kafka-transactions"], *where, *args)
            done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
            assert done.returncode == 0, done.stdout + done.stderr
            return [line.split() for line in done.stdout.splitlines()[1:]]

        (row,) = tool("find-hanging", "--broker-id", "1")
        assert row[:6] == ["t", "1", str(number), str(epoch), "-1", "0"]
        tool("abort", "--topic", "t", "--partition", "1", "--start-offset", "0")
        assert tool("find-hanging", "--topic", "t") == []
        assert broker.end_offsets("t") == [0, 2]
        assert not broker.faults


def open_transaction(broker):
    """A transaction that nobody ends."""
    import confluent_kafka  # noqa: PLC0415

    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "x", "log_level": 0}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("t", b"v", partition=0)
    assert producer.flush(DEADLINE_S) == 0
