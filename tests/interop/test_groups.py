"""Groups of kcore members in processes of their own, on a real Kafka.

Every record is read, none twice that was committed, while members join, leave and are killed.
"""

import time

import pytest
from kafka import KafkaConsumer
from kafka.structs import TopicPartition as TheirPartition
from leftovers import KAFKA_PYTHON

from kcore import Consumer, TopicPartition

pytestmark = KAFKA_PYTHON
PARTITIONS = 8
SOME = 20_000


def tool_offsets(kafka, group):
    """Partition -> (committed offset, lag) as Kafka's own kafka-consumer-groups shows it."""
    lines = kafka.tool("kafka-consumer-groups", "--describe", "--group", group).splitlines()
    header = next(line for line in lines if line.startswith("GROUP")).split()
    columns = [header.index(name) for name in ("PARTITION", "CURRENT-OFFSET", "LAG")]
    rows = [line.split() for line in lines if line.startswith(group)]
    return {
        int(number): (int(offset), int(lag))
        for number, offset, lag in ([row[column] for column in columns] for row in rows)
    }


def own_offsets(kafka, names, partitions):
    """The same through kcore."""
    with Consumer(bootstrap_servers=kafka.bootstrap, group_id=names.group) as consumer:
        wanted = [TopicPartition(names.topic, number) for number in range(partitions)]
        return {part.partition: consumer.committed(part) for part in wanted}


@pytest.mark.parametrize(
    ("members", "transport"), [(1, "blocking"), (2, "selectors"), (3, "gevent"), (8, "blocking")]
)
def test_group_reads_everything_once(kafka, names, group_on, records, members, transport):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    numbers = [group.add(transport=transport) for _ in range(members)]
    group.wait_shared(numbers, PARTITIONS)
    kafka.produce(names.topic, records(SOME))
    ends = kafka.end_offsets(names.topic)
    group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)
    assert group.sessions.count() == SOME


def test_range_gives_neighbours(kafka, names, group_on):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    numbers = [group.add() for _ in range(3)]
    group.wait_shared(numbers, PARTITIONS)
    held = sorted(sorted(group.sessions.held(number)) for number in numbers)
    assert held == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_more_members_than_partitions(kafka, names, group_on, records):
    kafka.create_topic(names.topic, 2)
    group = group_on(kafka)
    numbers = [group.add() for _ in range(3)]
    group.wait_shared(numbers, 2)
    kafka.produce(names.topic, records(1_000))
    ends = kafka.end_offsets(names.topic)
    group.wait_read(lambda: ends)
    assert sorted(len(group.sessions.held(number)) for number in numbers) == [0, 1, 1]
    group.stop()
    group.sessions.check(ends)


def test_members_join_and_leave_while_reading(kafka, names, group_on, writer):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    with writer(kafka, names.topic) as writing:
        first, second = group.add(), group.add()
        group.wait_shared([first, second], PARTITIONS)
        third = group.add()
        group.wait_shared([first, second, third], PARTITIONS)
        group.leave(first)
        # Much sooner than the session timeout: it said that it goes.
        group.wait_shared([second, third], PARTITIONS, timeout_s=8.0)
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)
    assert group.sessions.count() == sum(ends.values())


def until_shared(members, topics):
    end = time.monotonic() + 30
    wanted = [TopicPartition(topic, number) for topic in topics for number in range(4)]
    while True:
        held = [member.assignment() for member in members]
        if all(held) and sorted(tp for one in held for tp in one) == wanted:
            return
        assert time.monotonic() < end, held
        for member in members:
            member.poll(timeout_ms=50)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_static_member_comes_back_for_a_topic_more(kafka, names, assignor):
    """The coordinator gives it what it had before, and does not rebalance (KIP-345, KIP-814)."""

    def member(instance):
        made = Consumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=names.group,
            group_instance_id=instance,
            partition_assignment_strategy=assignor,
            heartbeat_interval_ms=300,
        )
        made.subscribe(topics)
        return made

    def more():
        topics.append(f"{names.topic}-{len(topics)}")
        kafka.create_topic(topics[-1], 4)

    topics = []
    more()
    leader = member("leader")
    until_shared([leader], topics)
    other = member("other")
    until_shared([leader, other], topics)
    more()
    other.close()
    other = member("other")
    until_shared([leader, other], topics)
    more()
    for one in (leader, other):
        one.close()
    leader, other = member("leader"), member("other")
    until_shared([leader, other], topics)
    for one in (leader, other):
        one.close()


def test_a_killed_members_partitions_are_taken_over(kafka, names, group_on, writer):
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    quick = {"session_timeout_ms": 3_000, "heartbeat_interval_ms": 300}
    with writer(kafka, names.topic) as writing:
        numbers = [group.add(**quick) for _ in range(3)]
        group.wait_shared(numbers, PARTITIONS)
        group.wait(lambda: len(group.sessions.reached()) == PARTITIONS)
        group.kill(numbers[1])
        group.wait_shared([numbers[0], numbers[2]], PARTITIONS)
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)


def test_committed_offsets_are_what_kafkas_own_tool_shows(kafka, names, group_on, records):
    kafka.create_topic(names.topic, 4)
    kafka.produce(names.topic, records(5_000))
    ends = kafka.end_offsets(names.topic)
    group = group_on(kafka)
    group.add()
    group.wait_read(lambda: ends)
    group.stop()
    assert tool_offsets(kafka, names.group) == {number: (end, 0) for number, end in ends.items()}
    assert own_offsets(kafka, names, 4) == ends


def test_offset_metadata_and_a_look_back(kafka, names, records):
    kafka.create_topic(names.topic, 1)
    kafka.produce(names.topic, records(10))
    part = TopicPartition(names.topic, 0)
    options = {"bootstrap_servers": kafka.bootstrap, "group_id": names.group}
    with Consumer(**options, enable_auto_commit=False) as consumer:
        consumer.assign([part])
        assert consumer.committed(part) is None
        consumer.commit({part: (7, "by hand", -1)})
        assert consumer.committed(part) == 7
    # Not by confluent-kafka, which at times reads beyond the end of the text it is given.
    theirs = KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=names.group)
    found = theirs.committed(TheirPartition(names.topic, 0), metadata=True)
    theirs.close()
    assert (found.offset, found.metadata) == (7, "by hand")


def test_mixed_group_with_range(kafka, names, group_on, writer):
    kafka.create_topic(names.topic, 6)
    group = group_on(kafka)
    with writer(kafka, names.topic) as writing:
        numbers = [
            group.add(),
            group.add("confluent"),
            group.add("kafka-python"),
        ]
        group.wait_shared(numbers, 6)
        group.wait(lambda: len(group.sessions.reached()) == 6)
        # Whoever led, the others must be able to: each leaves in turn.
        group.leave(numbers[0])
        group.wait_shared(numbers[1:], 6)
        again = group.add()
        group.wait_shared([*numbers[1:], again], 6)
        group.leave(numbers[1])
        group.wait_shared([numbers[2], again], 6)
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)
