"""Share groups on the embedded broker: other people's share consumers, time, mishaps, restarts."""

import subprocess
import threading
import time

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from kcore import Admin, Consumer
from kcore.admin import NewTopic
from kcore.cli.demo.java import TOOLS
from kcore.embedded import EmbeddedBroker

pytestmark = pytest.mark.timeout(120)

DEADLINE_S = 40
GROUP = ck.admin.ResourceType.GROUP
SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


@pytest.fixture
def broker():
    with EmbeddedBroker() as made:
        made.create_topic("t", 1)
        configure(made, "share.auto.offset.reset", "earliest")
        yield made
        assert not made.faults


def configure(broker, name, value, group="g"):
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(GROUP, group, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(DEADLINE_S)


class Reader:
    """librdkafka's share consumer. explicit: it says what became of each record."""

    def __init__(self, broker, *, explicit=False, group="g", **options):
        mode = "explicit" if explicit else "implicit"
        self.consumer = ck.ShareConsumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": group,
                "share.acknowledgement.mode": mode,
                "log_level": 0,
                **options,
            }
        )
        self.consumer.subscribe(["t"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.consumer.close()

    def take(self, count, within_s=DEADLINE_S):
        """So many messages, or what there is by then."""
        found = []
        end = time.monotonic() + within_s
        while len(found) < count and time.monotonic() < end:
            found += [one for one in self.consumer.poll(0.2) or [] if one.error() is None]
        return found


def values(messages):
    return sorted(one.value() for one in messages)


def written(broker, count):
    records = [(None, b"v%03d" % number) for number in range(count)]
    broker.produce("t", records)
    return [value for _, value in records]


def test_everything_is_read_once(broker):
    wanted = written(broker, 200)
    with Reader(broker) as reader:
        assert values(reader.take(200)) == wanted
        assert reader.take(1, 0.5) == []
        reader.consumer.commit_sync()
    with Reader(broker) as reader:
        assert reader.take(1, 0.5) == []


def test_what_is_released_comes_again(broker):
    written(broker, 6)
    release, reject = ck.AcknowledgeType.RELEASE, ck.AcknowledgeType.REJECT
    with Reader(broker, explicit=True) as reader:
        for one in reader.take(6):
            kind = ck.AcknowledgeType.ACCEPT
            if one.offset() in {1, 2}:
                kind = release if one.offset() == 1 else reject
            reader.consumer.acknowledge(one, kind)
        reader.consumer.commit_sync()
        (again,) = reader.take(1)
        assert again.value() == b"v001"
        reader.consumer.acknowledge(again)


def test_locks_end_when_time_passes(broker):
    wanted = written(broker, 10)
    with Reader(broker, explicit=True) as first, Reader(broker) as second:
        assert values(first.take(10)) == wanted
        assert second.take(1, 0.5) == []
        broker.let_time_pass(30_000)
        assert values(second.take(10)) == wanted


def test_who_goes_leaves_what_it_had_to_others(broker):
    wanted = written(broker, 10)
    first = Reader(broker, explicit=True)
    assert values(first.take(10)) == wanted
    with Reader(broker) as second:
        assert second.take(1, 0.5) == []
        first.consumer.close()
        assert values(second.take(10)) == wanted


def test_two_members_share_a_partition(broker):
    found = [[], []]

    def read(mine):
        with Reader(broker) as reader:
            end = time.monotonic() + DEADLINE_S
            while len(found[0]) + len(found[1]) < 500 and time.monotonic() < end:
                mine += reader.take(1, 0.2)
            reader.consumer.commit_sync()  # what is not would be given back, and come again

    threads = [threading.Thread(target=read, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for start in range(0, 500, 10):
        broker.produce("t", [(None, b"v%03d" % number) for number in range(start, start + 10)])
    for thread in threads:
        thread.join()
    assert values(found[0] + found[1]) == [b"v%03d" % number for number in range(500)]


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("ShareFetch", "SHARE_SESSION_NOT_FOUND"),
        ("ShareFetch", "INVALID_SHARE_SESSION_EPOCH"),
        ("ShareGroupHeartbeat", "COORDINATOR_NOT_AVAILABLE"),
        ("ShareGroupHeartbeat", "UNKNOWN_MEMBER_ID"),
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    ],
)
def test_refusals_on_purpose(broker, api, error):
    wanted = written(broker, 20)
    broker.refuse(api, error)
    with Reader(broker) as reader:
        got = reader.take(20)
        assert set(values(got)) == set(wanted)
    assert not broker.mishaps_to_come


def test_a_leader_goes_and_another_goes_on():
    with EmbeddedBroker(3) as broker:
        broker.create_topic("t", 1, replication_factor=3)
        configure(broker, "share.auto.offset.reset", "earliest")
        wanted = written(broker, 50)
        with Reader(broker, explicit=True) as reader:
            got = reader.take(50)
            for one in got[:25]:
                reader.consumer.acknowledge(one)
            reader.consumer.commit_sync()
            for one in got[25:]:
                reader.consumer.acknowledge(one, ck.AcknowledgeType.RELEASE)
            reader.consumer.commit_sync()
            leader = broker._cluster.partition("t", 0).leader
            broker.move_leader("t", 0, 1 + leader % 3)
            rest = reader.take(25)
            for one in rest:
                reader.consumer.acknowledge(one)
            assert values(rest) == wanted[25:]
        assert not broker.faults


@pytest.mark.parametrize("flush", ["never", "always"])
def test_a_directory_goes_on_after_a_restart(tmp_path, flush):
    def start():
        return EmbeddedBroker(directory=tmp_path, flush=flush)

    with start() as broker:
        broker.create_topic("t", 1)
        configure(broker, "share.auto.offset.reset", "earliest")
        wanted = written(broker, 30)
        with Reader(broker, explicit=True) as reader:
            for one in reader.take(30):
                kind = ck.AcknowledgeType.RELEASE if one.offset() >= 20 else None
                reader.consumer.acknowledge(one, *([] if kind is None else [kind]))
            reader.consumer.commit_sync()
    with start() as broker:
        assert broker._cluster.settings.groups == {"g": {"share.auto.offset.reset": "earliest"}}
        with Reader(broker) as reader:
            got = reader.take(10)
            assert values(got) == wanted[20:]
            assert reader.take(1, 0.3) == []
        assert not broker.faults


def with_dead_letters(broker):
    """Of the group, of what it was to read."""
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        for_letters = {"errors.deadletterqueue.group.enable": "true"}
        admin.create_topics([NewTopic("dlq.t", topic_configs=for_letters)])
    configure(broker, "errors.deadletterqueue.topic.name", "dlq.t")
    configure(broker, "errors.deadletterqueue.copy.record.enable", "true")


def letters(broker):
    where = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
    with Consumer("dlq.t", **where) as consumer:
        return [letter.value for letter in consumer.read_until()]


def test_what_is_rejected_is_written_down(broker):
    with_dead_letters(broker)
    wanted = written(broker, 10)
    with Reader(broker, explicit=True) as reader:
        for one in reader.take(10):
            kind = ck.AcknowledgeType.REJECT if one.offset() % 2 else ck.AcknowledgeType.ACCEPT
            reader.consumer.acknowledge(one, kind)
        reader.consumer.commit_sync()
    assert letters(broker) == wanted[1::2]


# Java --------------------------------------------------------------------------------------------


@pytest.fixture
def tool(installation, broker):
    def run(name, *args):
        command = installation.command(name, "--bootstrap-server", broker.bootstrap, *args)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.kafka
def test_javas_share_consumer_and_tool(tool, broker):
    wanted = written(broker, 40)
    got = tool(
        SHARE_CONSUMER, "--topic", "t", "--group", "g", "--max-messages", "40",
        "--timeout-ms", "20000",
    )  # fmt: skip
    assert sorted(line.encode() for line in got.splitlines() if line.startswith("v")) == wanted
    assert tool(SHARE_GROUPS, "--list").split() == ["g"]
    written(broker, 3)
    described = tool(SHARE_GROUPS, "--describe", "--group", "g").split("\n")
    rows = [line.split() for line in described if line.startswith("g ")]
    lags = {(row[1], int(row[2])): int(row[4]) for row in rows}
    assert lags == {("t", 0): 3}


@pytest.mark.kafka
def test_what_javas_share_consumer_rejects(tool, broker):
    with_dead_letters(broker)
    wanted = written(broker, 20)
    tool(
        SHARE_CONSUMER, "--topic", "t", "--group", "g", "--max-messages", "20",
        "--timeout-ms", "20000", "--reject",
    )  # fmt: skip
    assert letters(broker) == wanted
    shown = tool(TOOLS["kafka-configs"], "--describe", "--entity-type", "groups",
                 "--entity-name", "g")  # fmt: skip
    assert "errors.deadletterqueue.topic.name=dlq.t" in shown


@pytest.mark.kafka
@pytest.mark.slow
def test_javas_tool_alters(tool, broker):
    written(broker, 4)
    with Reader(broker) as reader:
        reader.take(4)
        reader.consumer.commit_sync()
    tool(SHARE_GROUPS, "--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest",
         "--execute")  # fmt: skip
    with Reader(broker) as reader:
        assert len(reader.take(4)) == 4
        reader.consumer.commit_sync()
    tool(SHARE_GROUPS, "--delete-offsets", "--group", "g", "--topic", "t")
    assert "t" not in tool(SHARE_GROUPS, "--describe", "--group", "g").split()
    tool(SHARE_GROUPS, "--delete", "--group", "g")
    assert tool(SHARE_GROUPS, "--list").split() == []
