"""librdkafka's mock cluster of several brokers: somebody else's idea of a broker.

It advertises JoinGroup up to v6 and hangs up on the flexible v6, so it is talked to as the release
it is like: `api_version` caps the versions.
"""

import time

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer

from kcore import Consumer, TopicPartition

PARTITIONS = 4
RECORDS = 400
LIKE = (2, 3)


@pytest.fixture
def mock(names):
    """The bootstrap address of three mock brokers with a topic of RECORDS records."""
    producer = Producer({"test.mock.num.brokers": 3, "bootstrap.servers": "ignored"})
    topic = producer.list_topics(names.topic, timeout=10).topics[names.topic]
    assert len(topic.partitions) == PARTITIONS, "the mock's default"
    for number in range(RECORDS):
        producer.produce(names.topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(10) == 0
    brokers = producer.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    producer.flush(0)  # keeps the producer, and with it the brokers, until here


def member(mock, names, **options):
    options = {"enable_auto_commit": False, "auto_offset_reset": "earliest"} | options
    return Consumer(
        names.topic,
        bootstrap_servers=mock,
        group_id=names.group,
        api_version=LIKE,
        heartbeat_interval_ms=200,
        # Now and then the mock answers SyncGroup with a null that may not be one: that costs
        # the link and another rebalance, which the mock ends after these, not after minutes.
        session_timeout_ms=6_000,
        max_poll_interval_ms=6_000,
        **options,
    )


def read(members, count, within_s=60):
    """Poll them in turn until `count` different records were read; {offset by partition: value}."""
    seen = {}
    deadline_s = time.monotonic() + within_s
    while len(seen) < count:
        assert time.monotonic() < deadline_s, f"{len(seen)} of {count}"
        for one in members:
            for tp, records in one.poll(50).items():
                seen |= {(tp.partition, record.offset): record.value for record in records}
    return seen


@pytest.mark.slow  # see `member`: sometimes the mock takes a second rebalance
def test_a_group_of_two_reads_shares_and_commits(mock, names):
    with member(mock, names) as one, member(mock, names) as two:
        seen = read([one, two], RECORDS)
        assert sorted(map(int, seen.values())) == list(range(RECORDS))
        deadline_s = time.monotonic() + 30
        while not (len(one.assignment()) == len(two.assignment()) == PARTITIONS // 2):
            assert time.monotonic() < deadline_s, "never shared"
            one.poll(50)
            two.poll(50)
        assert not one.assignment() & two.assignment()
        everything = [TopicPartition(names.topic, number) for number in range(PARTITIONS)]
        for each in (one, two):
            each.seek_to_end()
            for tp in each.assignment():
                each.position(tp)
            each.commit()
        assert [one.committed(tp) for tp in everything] == [RECORDS // PARTITIONS] * PARTITIONS
    with member(mock, names) as late:
        assert late.poll(1_000) == {}  # goes on behind what was committed


def test_what_we_commit_another_client_reads(mock, names):
    with member(mock, names) as one:
        read([one], RECORDS)
        one.commit()
    options = {"bootstrap.servers": mock, "group.id": names.group}
    other = ConfluentConsumer(options)
    try:
        from confluent_kafka import TopicPartition as Theirs  # noqa: PLC0415

        wanted = [Theirs(names.topic, number) for number in range(PARTITIONS)]
        found = other.committed(wanted, timeout=10)
        assert [part.offset for part in found] == [RECORDS // PARTITIONS] * PARTITIONS
    finally:
        other.close()
