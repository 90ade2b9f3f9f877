"""What the suites against a real Kafka share."""

import itertools
import threading

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from member_group import GroupOfMembers
from secure_kafka import SecureKafka

VALUE = b"x" * 100


class Writer:
    """Writes to a topic until it is stopped, a little at a time, while members come and go."""

    BATCH = 200
    PAUSE_S = 0.05

    def __init__(self, kafka, topic):
        self._kafka = kafka
        self._topic = topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self.stop()

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def _run(self):
        numbers = itertools.count()
        while not self._stopped.wait(self.PAUSE_S):
            batch = [(b"%d" % next(numbers), VALUE) for _ in range(self.BATCH)]
            self._kafka.produce(self._topic, batch)


@pytest.fixture(scope="package")
def secure_kafka():
    with SecureKafka() as kafka:
        yield kafka


@pytest.fixture
def writer():
    return Writer


QUICK_GROUP = {"consumer.session.timeout.ms": "6000", "consumer.heartbeat.interval.ms": "500"}


@pytest.fixture
def quick(names):
    """Have a cluster miss members of this test's group soon, if they are of the consumer protocol:
    with the classic one that is for members to say.
    """

    def make(cluster):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in QUICK_GROUP.items()
        ]
        group = ConfigResource(ResourceType.GROUP, names.group, incremental_configs=entries)
        for altered in admin.incremental_alter_configs([group]).values():
            altered.result(20)

    return make


@pytest.fixture
def set_share_group(names):
    """Set configurations of this test's share group."""

    def make(cluster, **configs):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        entries = [
            ConfigEntry(
                "share." + name.replace("_", "."),
                str(value),
                incremental_operation=AlterConfigOpType.SET,
            )
            for name, value in configs.items()
        ]
        group = ConfigResource(ResourceType.GROUP, names.group, incremental_configs=entries)
        for altered in admin.incremental_alter_configs([group]).values():
            altered.result(20)

    return make


@pytest.fixture
def share_topic(names, set_share_group):
    """Make this test's topic on a cluster, with values of their numbers, which its share group
    reads from the beginning.
    """

    def make(cluster, count, partitions=1, **configs):
        cluster.create_topic(names.topic, partitions)
        set_share_group(cluster, auto_offset_reset="earliest", **configs)
        cluster.produce(names.topic, ((None, b"%d" % number) for number in range(count)))

    return make


@pytest.fixture
def group_on(names, tmp_path):
    """Make a group of members on a cluster, for the topic and group of this test."""
    made = []

    def make(cluster):
        made.append(GroupOfMembers(cluster.bootstrap, names.topic, names.group, tmp_path))
        return made[-1]

    yield make
    for group in made:
        group.stop()


@pytest.fixture
def records():
    """A number of records, keyed by their number."""
    return lambda count, value=VALUE: ((b"%d" % number, value) for number in range(count))
