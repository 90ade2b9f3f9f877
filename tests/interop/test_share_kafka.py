"""Share consumers against a real Kafka: what is acknowledged, released, rejected, renewed, lost."""

import time

import pytest
from confluent_kafka.admin import AdminClient

import kcore
from kcore import AcknowledgeType, errors
from kcore.share.answers import Answers
from kcore.wire.codes import ErrorCode

WAIT_MS = 15_000


@pytest.fixture
def share(kafka, names):
    """Make share consumers of this test's topic and group; all are closed at its end."""
    made = []

    def make(cluster=kafka, group=None, **options):
        consumer = kcore.ShareConsumer(
            names.topic,
            bootstrap_servers=cluster.bootstrap,
            group_id=group or names.group,
            **options,
        )
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close(timeout_ms=5_000)


@pytest.fixture
def topic(share_topic, kafka):
    """Make this test's topic, on the Kafka of one node."""
    return lambda count, partitions=1, **configs: share_topic(kafka, count, partitions, **configs)


def polled(consumer, count=1, wait_ms=WAIT_MS, **options):
    """Records of one poll, or of as many as bring so many."""
    until = time.monotonic() + wait_ms / 1000
    found = []
    while len(found) < count and time.monotonic() < until:
        for records in consumer.poll(500, **options).values():
            found += records
    return found


def numbers(records):
    return [int(record.value) for record in records]


def test_implicitly_what_a_poll_gave_is_accepted_by_the_next(topic, share):
    topic(1_200)
    first = share()
    for start in (0, 500):
        found = polled(first, 500, max_records=500)
        assert numbers(found) == list(range(start, start + 500))
    first.close()  # accepts nothing: what the last poll gave is delivered again, and at once
    second = share()
    again = polled(second, 700)
    assert numbers(again) == list(range(500, 1_200))
    assert [record.delivery_count for record in again] == [2] * 700
    assert second.commit() == {_tp(again[0]): None}
    second.close()
    assert polled(share(), 1, 2_000) == []


def _tp(record):
    return kcore.TopicPartition(record.topic, record.partition)


def test_each_type_of_acknowledgement_does_what_it_says(topic, share):
    topic(6)
    consumer = share(share_acknowledgement_mode="explicit")
    records = polled(consumer, 6)
    assert [record.delivery_count for record in records] == [1] * 6
    kinds = [AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT]
    for record, kind in zip(records, kinds * 2, strict=True):
        consumer.acknowledge(record, kind)
    again = polled(consumer, 2)
    assert numbers(again) == [1, 4]
    assert [record.delivery_count for record in again] == [2, 2]
    for record in again:
        consumer.acknowledge_offset(record.topic, record.partition, record.offset)
    assert consumer.commit() == {_tp(again[0]): None}
    assert polled(consumer, 1, 1_500) == []


def test_explicitly_a_poll_wants_all_of_the_last_one_acknowledged(topic, share):
    topic(3)
    consumer = share(share_acknowledgement_mode="explicit")
    records = polled(consumer, 3)
    consumer.acknowledge(records[0])
    with pytest.raises(errors.IllegalStateError, match="2 records of the last poll"):
        consumer.poll()
    for record in records:
        consumer.acknowledge(record)
    consumer.poll()
    with pytest.raises(errors.IllegalStateError, match="cannot be acknowledged"):
        consumer.acknowledge(records[0])


@pytest.mark.slow
def test_a_renewed_record_is_given_again_and_its_lock_lasts(topic, share):
    topic(1, record_lock_duration_ms=2_000)
    consumer = share(share_acknowledgement_mode="explicit")
    other = share(share_acknowledgement_mode="explicit")
    (record,) = polled(consumer)
    assert consumer.acquisition_lock_timeout_ms() == 2_000
    for _ in range(4):
        time.sleep(1)
        consumer.acknowledge(record, AcknowledgeType.RENEW)
        (record,) = polled(consumer)
        assert record.delivery_count == 1
    consumer.acknowledge(record)
    assert consumer.commit() == {_tp(record): None}
    assert polled(other, 1, 2_500) == []


def test_a_lock_that_ran_out_gives_the_record_to_somebody_else(topic, share):
    topic(1, record_lock_duration_ms=1_000)
    heard = []
    slow = share(share_acknowledgement_mode="explicit")
    slow.set_acknowledgement_commit_callback(lambda offsets, error: heard.append((offsets, error)))
    (record,) = polled(slow)
    other = share(share_acknowledgement_mode="explicit")
    (again,) = polled(other)
    assert (again.offset, again.delivery_count) == (record.offset, 2)
    slow.acknowledge(record)
    (error,) = slow.commit().values()
    assert isinstance(error, errors.InvalidRecordStateError)
    assert heard == [({_tp(record): {0}}, error)]
    other.acknowledge(again)
    assert other.commit() == {_tp(record): None}


@pytest.mark.slow
def test_members_share_one_partition_and_each_record_comes_once(topic, share):
    topic(3_000)
    consumers = [share(max_poll_records=50) for _ in range(3)]
    seen = [[] for _ in consumers]
    until = time.monotonic() + 20
    while sum(map(len, seen)) < 3_000 and time.monotonic() < until:
        for consumer, mine in zip(consumers, seen, strict=True):
            for records in consumer.poll(50, max_records=50).values():
                mine.extend(numbers(records))
    for consumer in consumers:
        consumer.commit()
    assert sorted(number for mine in seen for number in mine) == list(range(3_000))


@pytest.fixture
def refusals(monkeypatch):
    """The codes of fetches and acknowledgements that were refused as a whole, and of partitions
    that could not be fetched.
    """
    codes = []
    original, of_part = Answers._refused, Answers._trouble

    def refused(self, node, sheets, code, message, now_ms):
        codes.append(code)
        original(self, node, sheets, code, message, now_ms)

    def trouble(self, tp, data, body):
        codes.append(data.error_code)
        of_part(self, tp, data, body)

    monkeypatch.setattr(Answers, "_refused", refused)
    monkeypatch.setattr(Answers, "_trouble", trouble)
    return codes


@pytest.mark.slow
@pytest.mark.parametrize("commits", [True, False])
def test_a_topic_that_is_made_anew(kafka, names, topic, share, refusals, commits):
    """A Kafka 4.3.1 refuses each fetch in a session that has the old one, and does not say why,
    until it is forgotten; a 4.4.0 says of its partitions that they are gone, that another leads
    them, and then no more either. `poll` raises nothing, and all of the new one comes, soon.
    """
    topic(10)
    consumer = share()
    assert len(polled(consumer, 10)) == 10
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_topics([names.topic])[names.topic].result(20)
    kafka.create_topic(names.topic, 1)
    kafka.produce(names.topic, ((None, b"%d" % number) for number in range(100, 115)))
    began = time.monotonic()
    if commits:  # what was said of the old one counts for nothing
        (error,) = consumer.commit().values()
        assert isinstance(error, errors.UnknownTopicIdError)
        assert time.monotonic() - began < 5
    new = polled(consumer, 15)
    assert numbers(new) == list(range(100, 115))
    assert {record.delivery_count for record in new} == {1}
    assert time.monotonic() - began < 8  # two heartbeats, before it asked of its own accord
    assert refusals
    assert set(refusals) <= {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
    assert consumer.commit() == {_tp(new[0]): None}
