"""Consumer groups of KIP-848 on the embedded broker: members of librdkafka and Java, tools."""

import time
from contextlib import suppress

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from test_embedded_java import rows, tool_of
from verifiable import running

import kcore
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker

PARTITIONS = 4
DEADLINE_S = 30

slow = pytest.mark.slow


def config(**options):
    """Members look in soon, so that what they wait for comes soon."""
    return BrokerConfig(
        coordinator=CoordinatorConfig(
            group_initial_rebalance_delay_ms=0,
            group_consumer_assignment_interval_ms=0,
            group_consumer_heartbeat_interval_ms=100,
            **options,
        )
    )


@pytest.fixture
def broker():
    with EmbeddedBroker(config=config()) as embedded:
        embedded.create_topic("t", PARTITIONS)
        yield embedded
        assert not embedded.faults


class Member:
    """A member of librdkafka's that speaks the consumer protocol."""

    def __init__(self, broker, topics=("t",), **options):
        self.read = []
        self.client = confluent_kafka.Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "g",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
            | options
        )
        self.client.subscribe(list(topics))

    def owned(self):
        return {(part.topic, part.partition) for part in self.client.assignment()}

    def step(self):
        for message in self.client.consume(100, 0.05):
            assert not message.error(), message.error()
            self.read.append(message.value())

    def commit(self):
        with suppress(confluent_kafka.KafkaException):  # in a rebalance: it will be read again
            self.client.commit(asynchronous=False)

    def close(self):
        self.client.close()


def until(found, *members):
    end = time.monotonic() + DEADLINE_S
    while not found():
        assert time.monotonic() < end, [member.owned() for member in members]
        for member in members:
            member.step()


class Ours:
    """A member of our own, with the verbs of `Member`."""

    def __init__(self, broker, **options):
        self.read = []
        self.client = kcore.Consumer(
            "t", bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest",
            enable_auto_commit=False, **{"group_protocol": "consumer"} | options,
        )  # fmt: skip

    def owned(self):
        return set(self.client.assignment())

    def step(self):
        for records in self.client.poll(timeout_ms=50).values():
            self.read += [record.value for record in records]

    def commit(self):
        self.client.commit()

    def close(self):
        self.client.close()


def read_by(members):
    return {value for member in members for value in member.read}


def owns(member, count):
    return lambda: len(member.owned()) == count


def test_members_join_share_read_commit_and_leave(broker):
    broker.produce("t", [(None, b"v%d" % number) for number in range(40)])
    one = Member(broker)
    until(lambda: len(one.read) == 40, one)
    one.client.commit(asynchronous=False)
    two = Member(broker, **{"group.remote.assignor": "range"})
    until(lambda: len(one.owned()) == len(two.owned()) == 2, one, two)
    assert not one.owned() & two.owned()
    broker.produce("t", [(None, b"w%d" % number) for number in range(40)])
    until(lambda: len(one.read) + len(two.read) == 80, one, two)
    assert len(set(one.read + two.read)) == 80
    one.close()
    until(owns(two, PARTITIONS), two)
    two.close()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (listed,) = admin.list_consumer_groups().result(DEADLINE_S).valid
    assert (listed.group_id, listed.state.name, listed.type.name) == ("g", "EMPTY", "CONSUMER")


@slow
def test_a_group_is_upgraded_and_downgraded_member_by_member(broker):
    """A rolling change of the protocol: the rest goes on reading, and nothing is lost."""
    classic = {"group.protocol": "classic", "session.timeout.ms": 6_000}
    classic |= {"heartbeat.interval.ms": 200}
    members = [Member(broker, **classic), Member(broker, **classic)]

    def shared():
        found = [member.owned() for member in members]
        return sum(map(len, found)) == PARTITIONS == len(set().union(*found)) and all(found)

    def kind():
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        (listed,) = admin.list_consumer_groups().result(DEADLINE_S).valid
        return listed.type.name

    read = set()
    until(shared, *members)
    for number, options in enumerate([{}, {}, classic, classic]):
        broker.produce("t", [(None, b"%d-%d" % (number, n)) for n in range(40)])
        wanted = 40 * (number + 1)
        until(lambda: len(read_by(members) | read) == wanted, *members)  # noqa: B023
        for member in members:
            member.commit()
        assert kind() == ("CONSUMER" if number else "CLASSIC")
        members.append(Member(broker, **options))
        until(shared, *members)
        leaving = members.pop(0)
        read |= read_by([leaving])
        leaving.close()
        until(shared, *members)
    assert kind() == "CLASSIC"
    for member in members:
        member.close()


def test_our_members_and_those_of_librdkafka_share(broker):
    one, two = Ours(broker), Member(broker)
    members = (one, two)
    until(lambda: len(one.owned()) == len(two.owned()) == 2, *members)
    broker.produce("t", [(None, b"v%d" % number) for number in range(40)])
    until(lambda: len(read_by(members)) == 40, *members)
    one.commit()
    three = Ours(broker, group_protocol="classic", heartbeat_interval_ms=100)
    members = (one, two, three)
    until(lambda: sorted(len(member.owned()) for member in members) == [1, 1, 2], *members)
    assert len(set().union(*(member.owned() for member in members))) == PARTITIONS
    two.close()
    until(lambda: len(one.owned()) == len(three.owned()) == 2, one, three)
    one.close()
    until(owns(three, PARTITIONS), three)
    three.close()


def test_topics_by_pattern_come_as_they_are_made(broker):
    one = Member(broker, ["^(t|later-.*)$"], **{"topic.metadata.refresh.interval.ms": 200})
    until(owns(one, PARTITIONS), one)
    broker.create_topic("other", 2)
    broker.create_topic("later-1", 2)
    broker.let_time_pass(11_000)  # names are gone through every 10 s at most
    until(owns(one, PARTITIONS + 2), one)
    one.close()


def test_a_static_member_comes_back_to_its_partitions(broker):
    one, two = Member(broker), Member(broker, **{"group.instance.id": "i"})
    until(lambda: len(one.owned()) == len(two.owned()) == 2, one, two)
    before = two.owned()
    two.close()
    two = Member(broker, **{"group.instance.id": "i"})
    until(owns(two, 2), one, two)
    assert two.owned() == before
    one.close()
    two.close()


def test_a_member_that_is_silent_is_replaced(broker):
    one, two = Member(broker), Member(broker, **{"client.id": "two"})
    until(lambda: len(one.owned()) == len(two.owned()) == 2, one, two)
    broker.drop_link(client="two")
    broker.let_time_pass(30_000)
    one.step()
    time.sleep(0.3)  # its heartbeat
    broker.let_time_pass(30_000)
    until(owns(one, PARTITIONS), one)
    broker.restore_links()
    one.close()
    two.close()


@slow
def test_groups_outlive_their_coordinator():
    with EmbeddedBroker(nodes=3, config=config()) as broker:
        broker.create_topic("t", PARTITIONS, replication_factor=3)
        one, two = Member(broker), Member(broker)
        until(lambda: len(one.owned()) == len(two.owned()) == 2, one, two)
        before = one.owned(), two.owned()
        for node in (1, 2, 3):
            broker.kill(node)
            broker.produce("t", [(None, b"%d-%d" % (node, number)) for number in range(20)])
            until(lambda: len(one.read) + len(two.read) == 20 * node, one, two)  # noqa: B023
            one.client.commit(asynchronous=False)
            broker.revive(node)
        assert (one.owned(), two.owned()) == before
        one.close()
        two.close()
        assert not broker.faults


def test_groups_are_kept_in_a_directory(tmp_path):
    with EmbeddedBroker(directory=tmp_path, config=config()) as broker:
        broker.create_topic("t", PARTITIONS)
        broker.produce("t", [(None, b"v%d" % number) for number in range(10)])
        one = Member(broker)
        until(lambda: len(one.read) == 10, one)
        one.client.commit(asynchronous=False)
        one.close()
        port = int(broker.bootstrap.rsplit(":", 1)[1])
    with EmbeddedBroker(directory=tmp_path, config=config(), port=port) as broker:
        broker.produce("t", [(None, b"more")])
        one = Member(broker)
        until(lambda: one.read, one)
        assert one.read == [b"more"]
        one.close()
        assert not broker.faults


# Java ---------------------------------------------------------------------------------------------

JAVA = (
    *("--topic", "t", "--group-id", "g", "--reset-policy", "earliest"),
    *("--group-protocol", "consumer"),
)
kafka = pytest.mark.kafka
patient = pytest.mark.timeout(400)


@kafka
@patient
@slow
def test_the_tools_show_a_java_member(installation, broker):
    broker.produce("t", [(None, b"v")] * 40)
    with running(installation, broker, "Consumer", *JAVA) as java:
        java.wait("offsets_committed")
        tool = tool_of(installation, broker)
        state = tool("kafka-consumer-groups", "--describe", "--group", "g", "--state", "--verbose")
        assert [line[0] for line in rows(state)][-1] == "g"
        assert {"Stable", "uniform"} <= set(rows(state)[-1])
    members = tool("kafka-consumer-groups", "--list", "--type")
    assert ["g", "Consumer"] in rows(members)


@kafka
@patient
@slow
def test_java_and_librdkafka_share(installation, broker):
    with running(installation, broker, "Consumer", *JAVA) as java:
        java.wait("partitions_assigned")
        one = Member(broker)
        until(owns(one, 2), one)
        broker.produce("t", [(None, b"v%d" % number) for number in range(40)])
        until(lambda: len(one.read) == 20, one)
        while sum(event["count"] for event in java.named("records_consumed")) < 20:
            java.wait("records_consumed", len(java.named("records_consumed")) + 1)
        tool = tool_of(installation, broker)
        shown = tool("kafka-consumer-groups", "--describe", "--group", "g", "--members",
                     "--verbose")  # fmt: skip
        assert sum(line[0] == "g" for line in rows(shown)) == 2
        one.close()
        given = sum(len(e["partitions"]) for e in java.named("partitions_assigned"))
        while given < PARTITIONS + 2:
            java.wait("partitions_assigned", len(java.named("partitions_assigned")) + 1)
            given = sum(len(e["partitions"]) for e in java.named("partitions_assigned"))
