"""Groups of the consumer protocol (KIP-848) on a real Kafka: ours beside librdkafka's and Java's,
and members of the classic protocol in the same group.
"""

import os
import signal
import subprocess
import tempfile
import time

import pytest
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka.admin import AdminClient
from leftovers import KAFKA_PYTHON

import kcore
from kcore import Admin, Consumer, SubscriptionPattern, TopicPartition
from kcore.admin import ConfigResource, ConfigResourceType
from kcore.errors import (
    CommitFailedError,
    InvalidRegularExpressionError,
    UnreleasedInstanceIdError,
    UnsupportedAssignorError,
)

pytestmark = KAFKA_PYTHON
PARTITIONS = 6
OURS = {"group_protocol": "consumer"}
THEIRS = {"group.protocol": "consumer"}
OPTIONS = {"kcore": OURS, "confluent": THEIRS}


@pytest.fixture(autouse=True)
def _quick(kafka, quick):
    quick(kafka)


def finish(kafka, names, group):
    ends = kafka.end_offsets(names.topic)
    group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)
    return ends


def options(kafka, names, **more):
    return {
        "bootstrap_servers": kafka.bootstrap,
        "group_id": names.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        **OURS,
        **more,
    }


def read(consumer, wanted, timeout_s=20):
    found, end = [], time.monotonic() + timeout_s
    while len(found) < wanted:
        assert time.monotonic() < end, len(found)
        for records in consumer.poll(timeout_ms=200).values():
            found += records
    return found


def until(done, *consumers, timeout_s=20):
    end = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < end, "not in time"
        for consumer in consumers:
            consumer.poll(timeout_ms=50)


# -- one member ----------------------------------------------------------------------------------


def test_one_member_reads_commits_and_leaves(kafka, names, records):
    kafka.create_topic(names.topic, PARTITIONS)
    kafka.produce(names.topic, records(1_000))
    with Consumer(names.topic, **options(kafka, names)) as consumer:
        found = read(consumer, 1_000)
        assert len({(record.partition, record.offset) for record in found}) == 1_000
        consumer.commit()
        assert consumer.group_metadata().generation_id > 0
    with Consumer(names.topic, **options(kafka, names)) as consumer:
        until(lambda: len(consumer.assignment()) == PARTITIONS, consumer)
        ends = kafka.end_offsets(names.topic)
        found = {tp.partition: consumer.committed(tp) for tp in consumer.assignment()}
        assert found == ends
        assert all(consumer.position(tp) == ends[tp.partition] for tp in consumer.assignment())


@pytest.mark.slow
def test_what_kafkas_own_tool_says_of_it(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    with Consumer(names.topic, **options(kafka, names)) as consumer:
        until(lambda: len(consumer.assignment()) == PARTITIONS, consumer)
        what = ("--describe", "--group", names.group)
        members = kafka.tool("kafka-consumer-groups", *what, "--members", "--verbose")
        assert consumer.group_metadata().member_id in members
        assert "uniform" in kafka.tool("kafka-consumer-groups", *what, "--state")
    groups = kafka.tool("kafka-consumer-groups", "--list", "--state")
    assert f"{names.group} Empty" in " ".join(groups.split())  # at once: it said that it goes


@pytest.mark.slow
def test_assignors_by_name(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    ours = options(kafka, names, group_remote_assignor="range")
    with Consumer(names.topic, **ours) as one, Consumer(names.topic, **ours) as other:
        until(lambda: len(one.assignment()) == len(other.assignment()) == 3, one, other)
        shares = [sorted(tp.partition for tp in each.assignment()) for each in (one, other)]
        assert sorted(shares) == [[0, 1, 2], [3, 4, 5]]
    unknown = options(kafka, names, group_remote_assignor="nobody-has-this-one")
    with Consumer(names.topic, **unknown) as consumer:
        with pytest.raises(UnsupportedAssignorError, match="nobody-has-this-one"):
            consumer.poll(timeout_ms=10_000)
        with pytest.raises(UnsupportedAssignorError):
            consumer.poll(timeout_ms=10_000)


@pytest.mark.slow
def test_subscriptions_change(kafka, names, records):
    """More topics, fewer, a pattern, and topics that it matches later."""
    first, second, third = (f"{names.topic}-{number}" for number in (1, 2, 3))
    for topic in (first, second):
        kafka.create_topic(topic, 2)
    with Consumer(**options(kafka, names, metadata_max_age_ms=500)) as consumer:

        def reads(*topics):
            return {TopicPartition(topic, number) for topic in topics for number in (0, 1)}

        consumer.subscribe([first])
        until(lambda: consumer.assignment() == reads(first), consumer)
        consumer.subscribe([first, second])
        until(lambda: consumer.assignment() == reads(first, second), consumer)
        consumer.subscribe([second])
        until(lambda: consumer.assignment() == reads(second), consumer)
        consumer.unsubscribe()
        consumer.subscribe(pattern=f"{names.topic}-[13]")
        until(lambda: consumer.assignment() == reads(first), consumer)
        kafka.create_topic(third, 2)
        kafka.produce(third, records(10))
        assert len(read(consumer, 10)) == 10
        assert consumer.assignment() == reads(first, third)


@pytest.mark.slow
def test_a_pattern_that_matches_nothing_yet(kafka, names, records):
    ours = options(kafka, names, metadata_max_age_ms=500)
    with Consumer(**ours) as consumer:
        consumer.subscribe(pattern=f"{names.topic}.*")
        consumer.poll(timeout_ms=1_000)
        assert consumer.assignment() == set()
        kafka.create_topic(names.topic, 1)
        kafka.produce(names.topic, records(5))
        assert len(read(consumer, 5)) == 5


def of(topics, partitions):
    return {TopicPartition(topic, number) for topic in topics for number in range(partitions)}


@pytest.fixture
def topics(kafka, names, records):
    """Two of three, with ten records each."""
    three = [f"{names.topic}-{name}" for name in ("1", "2", "x")]
    for topic in (three[0], three[2]):
        kafka.create_topic(topic, 2)
        kafka.produce(topic, records(10))
    return three


def test_a_pattern_that_brokers_match(kafka, names, topics):
    with Consumer(**options(kafka, names)) as consumer:
        consumer.subscribe(pattern=SubscriptionPattern(f"{names.topic}-[0-9]+"))
        assert {record.topic for record in read(consumer, 10)} == {topics[0]}
        assert consumer.assignment() == of(topics[:1], 2)
        assert consumer.subscription() == {topics[0]}


@pytest.mark.slow
def test_topics_that_a_pattern_matches_later_and_another_pattern(kafka, names, topics, records):
    """The coordinator looks every ten seconds at most."""
    first, second, other = topics
    with Consumer(**options(kafka, names, metadata_max_age_ms=1_000)) as consumer:
        consumer.subscribe(pattern=SubscriptionPattern(f"{names.topic}-[0-9]+"))
        assert len(read(consumer, 10)) == 10
        kafka.create_topic(second, 2)
        kafka.produce(second, records(10))
        assert {record.topic for record in read(consumer, 10, timeout_s=40)} == {second}
        assert consumer.assignment() == of([first, second], 2)
        consumer.commit()
        consumer.subscribe(pattern=SubscriptionPattern(f".*{names.topic}-x"))
        assert {record.topic for record in read(consumer, 10, timeout_s=40)} == {other}
        assert consumer.assignment() == of([other], 2)


@pytest.mark.slow
def test_a_pattern_beside_librdkafkas(kafka, names):
    topics = [f"{names.topic}-{number}" for number in range(3)]
    for topic in topics:
        kafka.create_topic(topic, 2)
    theirs = KafkaConsumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": names.group, **THEIRS}
    )
    theirs.subscribe([f"^{names.topic}-.*"])
    try:
        with Consumer(**options(kafka, names)) as ours:
            ours.subscribe(pattern=SubscriptionPattern(f"{names.topic}-.*"))
            end = time.monotonic() + 40
            while len(ours.assignment()) != 3 or len(theirs.assignment()) != 3:
                assert time.monotonic() < end, (ours.assignment(), theirs.assignment())
                ours.poll(timeout_ms=100)
                theirs.poll(0.1)
            held = {TopicPartition(one.topic, one.partition) for one in theirs.assignment()}
            assert held | ours.assignment() == of(topics, 2)
    finally:
        theirs.close()


def test_a_pattern_that_brokers_refuse(kafka, names):
    with Consumer(**options(kafka, names)) as consumer:
        consumer.subscribe(pattern=SubscriptionPattern("(["))
        for _ in range(2):
            with pytest.raises(InvalidRegularExpressionError):
                consumer.poll(timeout_ms=10_000)
        consumer.unsubscribe()
        assert consumer.subscription() is None


# -- several -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("kcore", "confluent"),
        pytest.param("kcore", "kcore", marks=pytest.mark.slow),
        pytest.param("confluent", "kcore", marks=pytest.mark.slow),
    ],
)
def test_only_what_moves_is_given_up(kafka, names, group_on, writer, first, second):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    with writer(kafka, names.topic) as writing:
        makes = [(client, OPTIONS[client]) for client in (first, second, "kcore")]
        one, other, third = group.share_by_three(PARTITIONS, *makes)
        # What was read is committed in `on_partitions_revoked`, while others move, and in between.
        assert not [said for _, said in group.messages if said["said"] == "refused"]
        group.leave(other)
        group.wait_shared([one, third], PARTITIONS, timeout_s=10.0)
        writing.stop()
        finish(kafka, names, group)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["selectors", "gevent"])
def test_a_killed_members_partitions_are_taken_over(kafka, names, group_on, writer, transport):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    with writer(kafka, names.topic) as writing:
        numbers = [group.add(**OURS, transport=transport) for _ in range(3)]
        group.wait_shared(numbers, PARTITIONS)
        group.wait(lambda: len(group.sessions.reached()) == PARTITIONS)
        group.kill(numbers[1])
        group.wait_shared([numbers[0], numbers[2]], PARTITIONS)
        writing.stop()
        finish(kafka, names, group)


@pytest.mark.slow
def test_more_members_than_partitions(kafka, names, group_on, records):
    kafka.create_topic(names.topic, 2)
    group = group_on(kafka)
    numbers = [group.add(**OURS) for _ in range(3)]
    group.wait_shared(numbers, 2)
    kafka.produce(names.topic, records(1_000))
    finish(kafka, names, group)
    assert group.sessions.count() == 1_000


@pytest.mark.slow
@pytest.mark.parametrize("classic", ["kcore", "confluent"])
def test_from_classic_to_consumer_and_back_without_a_stop(kafka, names, group_on, writer, classic):
    """One member after the other (KIP-848, "online upgrade"), and the way back."""
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    ways = [("kcore", OURS), (classic, {})]
    with writer(kafka, names.topic) as writing:
        members = [group.add(classic) for _ in range(2)]
        group.wait_shared(members, PARTITIONS)
        for client, config in ways:
            for _ in range(2):
                group.leave(members.pop(0))
                members.append(group.add(client, **config))
                group.wait_shared(members, PARTITIONS)
        # Both at once, with nobody leaving first.
        members.append(group.add(**OURS))
        group.wait_shared(members, PARTITIONS)
        writing.stop()
        finish(kafka, names, group)


@pytest.mark.slow
def test_with_javas_consumer(kafka, names, records):
    """Kafka's own console consumer as the other member: both read their half."""
    kafka.create_topic(names.topic, PARTITIONS)
    with Consumer(names.topic, **options(kafka, names)) as consumer:
        until(lambda: len(consumer.assignment()) == PARTITIONS, consumer)
        theirs = kafka.installation.command(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            "--bootstrap-server",
            kafka.bootstrap,
            "--topic",
            names.topic,
            "--group",
            names.group,
            "--command-property",
            "group.protocol=consumer",
        )
        with Beside(theirs) as java:
            until(lambda: len(consumer.assignment()) == PARTITIONS // 2, consumer)
            half = {tp.partition for tp in consumer.assignment()}
            time.sleep(1)  # it has its half a moment after we have told that it may
            for number in range(PARTITIONS):
                kafka.produce(names.topic, records(10), partition=number)
            found = read(consumer, 10 * len(half))
            assert {record.partition for record in found} == half
            until(lambda: java.lines() == 10 * (PARTITIONS - len(half)), consumer)
        until(lambda: len(consumer.assignment()) == PARTITIONS, consumer)


class Beside:
    """A process that goes on beside this one, and what it writes."""

    def __init__(self, command):
        self._command = command

    def __enter__(self):
        self._out = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stdout=self._out, stderr=subprocess.DEVNULL)
        return self

    def lines(self):
        self._out.seek(0)
        return len(self._out.read().splitlines())

    def __exit__(self, *_error):
        self._process.terminate()
        self._process.wait(20)
        self._out.close()


# -- static members ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_static_member_comes_back_to_what_it_had(kafka, names):
    kafka.create_topic(names.topic, 4)
    other = Consumer(names.topic, **options(kafka, names, group_instance_id="other"))
    told = []

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            told.append(len(assigned))

        def on_partitions_revoked(self, revoked):
            told.append(-len(revoked))

    first = Consumer(**options(kafka, names, group_instance_id="me"))
    first.subscribe([names.topic], listener=Listener())
    with other:
        with first:
            until(lambda: len(first.assignment()) == len(other.assignment()) == 2, first, other)
            had, others = first.assignment(), other.assignment()
            with (
                Consumer(names.topic, **options(kafka, names, group_instance_id="me")) as twin,
                pytest.raises(UnreleasedInstanceIdError),
            ):
                twin.poll(timeout_ms=5_000)
        end = time.monotonic() + 2
        until(lambda: time.monotonic() > end, other)
        assert other.assignment() == others  # nobody takes over while it is away
        with Consumer(names.topic, **options(kafka, names, group_instance_id="me")) as again:
            until(lambda: again.assignment() == had, again, other)
            assert other.assignment() == others


@pytest.mark.slow
def test_a_static_member_that_is_still_in_joins_again(kafka, names):
    """Its membership ended on this side alone (in life: the answer to its join was lost). Kafka
    refuses a second join under an instance id that is in; Java's consumer gives up then.
    """
    kafka.create_topic(names.topic, 2)
    # Its old membership does not end by itself before this test does.
    long = {"consumer.session.timeout.ms": "45000"}
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, names.group, long)])
    told = []

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            told.append(len(assigned))

        def on_partitions_revoked(self, revoked):
            told.append("revoked")

        def on_partitions_lost(self, lost):
            told.append(-len(lost))

    consumer = Consumer(**options(kafka, names, group_instance_id="me"))
    consumer.subscribe([names.topic], listener=Listener())
    until(lambda: len(consumer.assignment()) == 2, consumer)
    engine = consumer._engine
    engine.core._group._membership.reset("as if", engine.pump.now_ms())
    until(lambda: told == [2, -2, 2], consumer)
    consumer.close()


# -- losing the membership -----------------------------------------------------------------------


@pytest.mark.slow
def test_no_poll_in_time(kafka, names, records):
    """The group goes on without it; what it had read and not committed is refused, it is told
    `lost`, and reads on from what is committed.
    """
    kafka.create_topic(names.topic, 1)
    kafka.produce(names.topic, records(10))
    told = []

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            told.append("assigned")

        def on_partitions_revoked(self, revoked):
            told.append("revoked")

        def on_partitions_lost(self, lost):
            told.append("lost")

    with Consumer(**options(kafka, names, max_poll_interval_ms=1_000)) as slow:
        slow.subscribe([names.topic], listener=Listener())
        read(slow, 10)
        with Consumer(names.topic, **options(kafka, names)) as other:
            other.poll(timeout_ms=500)
            assert other.assignment() == set()
            time.sleep(1.5)
            until(other.assignment, other)
            with pytest.raises(CommitFailedError, match="max_poll_interval_ms"):
                slow.commit()
        assert len(read(slow, 10)) == 10
        assert told == ["assigned", "lost", "assigned"]
        slow.commit()


@pytest.mark.slow
def test_a_member_that_stands_still_is_fenced_and_comes_back(kafka, names, group_on, writer):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    with writer(kafka, names.topic) as writing:
        members = [group.add(**OURS) for _ in range(2)]
        group.wait_shared(members, PARTITIONS)
        group.wait(lambda: len(group.sessions.reached()) == PARTITIONS)
        os.kill(group.pid(members[0]), signal.SIGSTOP)
        group.wait(lambda: len(group.sessions.held(members[1])) == PARTITIONS)
        os.kill(group.pid(members[0]), signal.SIGCONT)
        group.wait(lambda: lost(group, members[0]))
        group.wait_shared(members, PARTITIONS)
        writing.stop()
        finish(kafka, names, group)


def lost(group, member):
    return [said for number, said in group.messages if number == member and said["said"] == "lost"]


@pytest.mark.slow
def test_a_listener_that_takes_too_long(kafka, names):
    """Its time is that of a poll, and that for which the coordinator waits. What it was told of
    goes through to its end; then all is lost, and had again.
    """
    kafka.create_topic(names.topic, 2)
    told = []

    class Slow(kcore.ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            told.append(("assigned", len(assigned)))

        def on_partitions_revoked(self, revoked):
            told.append(("revoked", len(revoked)))
            if len(told) == 1:
                time.sleep(2)

        def on_partitions_lost(self, lost):
            told.append(("lost", len(lost)))

    with Consumer(**options(kafka, names, max_poll_interval_ms=1_000)) as slow:
        slow.subscribe([names.topic], listener=Slow())
        until(lambda: ("assigned", 2) in told, slow)
        told.clear()  # where the coordinator did not know the new topic at once, none came first
        with Consumer(names.topic, **options(kafka, names)) as other:
            other.poll(timeout_ms=500)
            until(lambda: len(told) >= 3, slow)
            until(lambda: len(slow.assignment()) == len(other.assignment()) == 1, slow, other)
        until(lambda: len(slow.assignment()) == 2, slow)
    assert told[:3] == [("revoked", 1), ("assigned", 0), ("lost", 1)]


@pytest.mark.slow
def test_a_topic_that_is_made_anew(kafka, names, records):
    """The same name, another id: it is read from its beginning."""
    kafka.create_topic(names.topic, 1)
    kafka.produce(names.topic, records(10))
    ours = options(kafka, names, metadata_max_age_ms=500)
    with Consumer(names.topic, **ours) as consumer:
        read(consumer, 10)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.delete_topics([names.topic])[names.topic].result(20)
        until(lambda: not consumer.assignment(), consumer)
        kafka.create_topic(names.topic, 2)
        kafka.produce(names.topic, records(10))
        assert min(record.offset for record in read(consumer, 10)) == 0
        until(lambda: len(consumer.assignment()) == 2, consumer)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_topic_that_is_made_anew_at_once_is_read_from_its_beginning(
    kafka, names, records, protocol
):
    """Its partitions stay assigned, and the new one is as long as the old one was read."""
    kafka.create_topic(names.topic, 1)
    kafka.produce(names.topic, records(10))
    ours = options(kafka, names, group_protocol=protocol, enable_auto_commit=True)
    with Consumer(names.topic, **ours, auto_commit_interval_ms=100) as consumer:
        read(consumer, 10)
        consumer.commit()
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.delete_topics([names.topic])[names.topic].result(20)
        kafka.create_topic(names.topic, 1)
        kafka.produce(names.topic, records(15))
        assert [record.offset for record in read(consumer, 15)] == [*range(15)]
        consumer.commit()
        [tp] = consumer.assignment()
        assert consumer.committed(tp) == 15


@pytest.mark.slow
def test_the_only_broker_is_restarted(kafka, names, group_on, writer, records):
    kafka.create_topic(names.topic, PARTITIONS)
    kafka.produce(names.topic, records(2_000))
    group = group_on(kafka)
    members = [group.add(**OURS) for _ in range(2)]
    group.wait_shared(members, PARTITIONS)
    kafka.restart(0)
    kafka.produce(names.topic, records(2_000))
    ends = kafka.end_offsets(names.topic)
    group.wait_read(lambda: ends, timeout_s=90)
    group.stop()
    group.sessions.check(ends)
