"""Kafka Connect and MirrorMaker on the embedded broker, and Connect on a real Kafka: workers and
nodes are killed, and each line goes through once. Connect is a 4.3.1's: connectors of 4.4.0 there
are none of.
"""

import older_kafka
import pytest
from connect import MIRROR_MAKER, Connect, JavaProcesses, until

from kcore import Admin, Consumer, Producer, TopicPartition
from kcore.admin import ConfigResource, NewTopic
from kcore.cli.demo.java import KafkaInstallation, find_java
from kcore.embedded import EmbeddedBroker

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(older_kafka.missing() is not None, reason=str(older_kafka.missing())),
]


@pytest.fixture
def processes(tmp_path):
    jars = older_kafka.JARS / "4.3.1"
    found = JavaProcesses(KafkaInstallation(find_java(), jars), tmp_path)
    yield found
    found.close()


@pytest.fixture
def ours():
    with EmbeddedBroker(nodes=3) as broker:
        yield broker
        assert not broker.faults


class Lines:
    """Lines of a file go to a topic, exactly once, and from there to another file."""

    def __init__(self, connect, bootstrap, topic, folder, replicas):
        self._connect, self._bootstrap, self.topic = connect, bootstrap, topic
        self._source, self._sink = folder / "source.txt", folder / "sink.txt"
        self._wanted = []
        self.write(1)
        connect.ask("PUT", f"/connectors/{topic}-from/config", {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": str(self._source),
            "batch.size": 100_000,  # what is left of a file with more waits for its next line
            "topic": topic,
            "exactly.once.support": "requested",
            "topic.creation.default.partitions": 3,
            "topic.creation.default.replication.factor": replicas,
        })  # fmt: skip
        with Admin(bootstrap_servers=bootstrap) as admin:  # else the sink would have it made
            connect.until(lambda: topic in admin.list_topics())
        connect.ask("PUT", f"/connectors/{topic}-into/config", {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "file": str(self._sink),
            "topics": topic,
            "tasks.max": 2,
            "consumer.override.isolation.level": "read_committed",
        })  # fmt: skip

    def write(self, count):
        new = [f"line {len(self._wanted) + number}" for number in range(count)]
        with self._source.open("a") as source:
            source.writelines(f"{line}\n" for line in new)
        self._wanted += new

    def read(self):
        return self._sink.read_text().splitlines() if self._sink.exists() else []

    def until_through(self):
        """A sink is at least once where a worker was killed; the topic has each line once."""
        self._connect.until(lambda: set(self.read()) >= set(self._wanted))

    def of_the_topic(self):
        with Consumer(
            self.topic, bootstrap_servers=self._bootstrap, auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer:  # fmt: skip
            return sorted(record.value.decode() for record in consumer.read_until())

    @property
    def wanted(self):
        return sorted(self._wanted)

    def begin_anew(self):
        """The sink's offsets are forgotten, as is what it has written."""
        name = f"/connectors/{self.topic}-into"
        self._connect.ask("PUT", f"{name}/stop")
        self._connect.until(lambda: not self._connect.ask("GET", f"{name}/status")["tasks"])
        read = self._connect.ask("GET", f"{name}/offsets")["offsets"]
        self._connect.ask("DELETE", f"{name}/offsets")
        assert self._connect.ask("GET", f"{name}/offsets") == {"offsets": []}
        self._sink.unlink()
        self._connect.ask("PUT", f"{name}/resume")
        return {one["partition"]["kafka_partition"]: one["offset"] for one in read}

    def tasks(self):
        """Where the tasks of both connectors are at work."""
        found = [
            task
            for way in ("from", "into")
            for task in self._connect.ask("GET", f"/connectors/{self.topic}-{way}/status")["tasks"]
        ]
        return [task["worker_id"] for task in found if task["state"] == "RUNNING"]


@pytest.mark.parametrize("whose", ["ours", "kafka"])
def test_a_worker_is_killed(whose, request, processes, names, tmp_path):
    broker = request.getfixturevalue(whose)
    connect = Connect(processes, broker.bootstrap, names.group, replicas=1)
    one = connect.start()
    connect.start()
    lines = Lines(connect, broker.bootstrap, names.topic, tmp_path, replicas=1)
    lines.write(3000)
    lines.until_through()
    connect.until(lambda: len(set(lines.tasks())) == 2)
    one.kill()
    lines.write(2000)
    lines.until_through()
    assert lines.of_the_topic() == lines.wanted
    assert set(lines.begin_anew()) == {0, 1, 2}
    lines.until_through()
    assert sorted(lines.read()) == lines.wanted


def test_nodes_are_killed(ours, processes, names, tmp_path):
    """One after the other, so that each coordinator and leader is hit."""
    connect = Connect(processes, ours.bootstrap, names.group, replicas=3)
    connect.start()
    lines = Lines(connect, ours.bootstrap, names.topic, tmp_path, replicas=3)
    for node in (1, 2, 3):
        lines.write(1000)
        ours.kill(node)
        lines.write(1000)
        lines.until_through()
        ours.revive(node)
    assert lines.of_the_topic() == lines.wanted


class Mirror:
    """A topic and its group on one broker, and MirrorMaker, which takes them to another."""

    def __init__(self, processes, names, there, here):
        self._processes, self.there, self.here = processes, there, here
        self.topic, self.group, self.mirrored = names.topic, names.group, f"A.{names.topic}"
        self.admins = [Admin(bootstrap_servers=one.bootstrap) for one in (there, here)]
        there.create_topic(self.topic, 3, settings={"retention.ms": "123456789"})
        self._producer = Producer(bootstrap_servers=there.bootstrap, transactional_id="t")
        self._producer.init_transactions()

    def start(self):
        second = ("emit.checkpoints", "sync.group.offsets", "sync.topic.configs")
        second += ("refresh.topics", "refresh.groups")
        alone = ("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
        alone += ("offset.storage", "config.storage", "status.storage")
        self._processes.start(MIRROR_MAKER, {
            "clusters": "A,B",
            "A.bootstrap.servers": self.there.bootstrap,
            "B.bootstrap.servers": self.here.bootstrap,
            "A->B.enabled": "true",
            "A->B.topics": f"{self.topic}.*",
            "A.consumer.isolation.level": "read_committed",
            "B.exactly.once.source.support": "enabled",
            "dedicated.mode.enable.internal.rest": "true",
            "listeners": "http://127.0.0.1:0",
            "replication.factor": 1,
            "sync.group.offsets.enabled": "true",
            "offset.lag.max": 10,
            **{f"{what}.interval.seconds": 1 for what in second},
            **{f"{what}.replication.factor": 1 for what in alone},
        })  # fmt: skip

    def write(self, values, *, aborted=False):
        self._producer.begin_transaction()
        for value in values:
            self._producer.send(self.topic, b"%d" % value, partition=value % 3)
        if aborted:
            self._producer.abort_transaction()
        else:
            self._producer.commit_transaction()

    def read_there(self):
        """The group reads everything, and commits."""
        with Consumer(
            self.topic, bootstrap_servers=self.there.bootstrap, group_id=self.group,
            auto_offset_reset="earliest", isolation_level="read_committed",
        ) as consumer:  # fmt: skip
            count = sum(1 for _ in consumer.read_until())
            consumer.commit()
        return count

    def arrived(self):
        with Consumer(
            self.mirrored, bootstrap_servers=self.here.bootstrap, auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer:  # fmt: skip
            return sorted(int(record.value) for record in consumer.read_until())

    def committed_here(self):
        return [at or 0 for at in self.here.committed_offsets(self.group, self.mirrored)]

    def left_here(self, number):
        """How many records of a partition the group has not read."""
        with Consumer(
            bootstrap_servers=self.here.bootstrap, group_id=self.group,
            isolation_level="read_committed",
        ) as consumer:  # fmt: skip
            consumer.assign([TopicPartition(self.mirrored, number)])
            return sum(1 for _ in consumer.read_until())

    def until(self, met):
        until(met, self._processes.told)

    def close(self):
        self._producer.close()
        for admin in self.admins:
            admin.close()


@pytest.fixture
def mirror(processes, names):
    with EmbeddedBroker() as there, EmbeddedBroker() as here:
        found = Mirror(processes, names, there, here)
        yield found
        found.close()
        assert not there.faults
        assert not here.faults


def test_a_topic_and_its_group_are_mirrored(mirror):
    mirror.write(range(1000))
    mirror.write(range(5000, 6000), aborted=True)
    mirror.write(range(1000, 2000))
    mirror.start()
    _, admin = mirror.admins
    mirror.until(lambda: mirror.mirrored in admin.list_topics())
    mirror.until(lambda: len(mirror.arrived()) >= 2000)
    assert mirror.read_there() == 2000
    mirror.write(range(2000, 2300))  # an offset is taken over when what is behind it has come
    mirror.until(lambda: min(mirror.committed_here()) >= 660)
    assert mirror.arrived() == [*range(2300)]
    for number in range(3):
        assert 100 <= mirror.left_here(number) <= 110  # offset.lag.max more at most


def test_what_a_topic_is_like_is_mirrored(mirror):
    mirror.start()
    there, admin = mirror.admins
    mirror.until(lambda: mirror.mirrored in admin.list_topics())
    there.create_partitions({mirror.topic: 5})
    there.create_topics([NewTopic(f"{mirror.topic}-too", 1, 1)])
    mirror.until(lambda: f"{mirror.mirrored}-too" in admin.list_topics())
    described = (mirror.mirrored,)
    mirror.until(lambda: len(admin.describe_topics(described)[0]["partitions"]) == 5)
    settings = admin.describe_configs([ConfigResource("topic", mirror.mirrored)])
    assert settings["topic"][mirror.mirrored]["retention.ms"]["value"] == "123456789"
