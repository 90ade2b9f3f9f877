"""One script over kafka-python's KafkaConsumer and over kcore.Consumer: only the import differs.

It touches what users of kafka-python touch every day; what holds for the one must for the other.
"""

import time
from itertools import chain
from typing import NamedTuple

import kafka as kafka_python
import pytest
from leftovers import KAFKA_PYTHON

import kcore

pytestmark = KAFKA_PYTHON
CLIENTS = {
    "kcore": (kcore.Consumer, kcore.errors),
    "kafka-python": (kafka_python.KafkaConsumer, kafka_python.errors),
}
# kafka-python would rather have an object than a function.
DEPRECATED = pytest.mark.filterwarnings("ignore:value_deserializer does not implement")
PARTITIONS = 3
RECORDS = 300


class Lookalike(NamedTuple):
    """Anybody's pair of a topic and a partition."""

    topic: str
    partition: int


@pytest.fixture(params=["kcore", pytest.param("kafka-python", marks=DEPRECATED)])
def client(request):
    return CLIENTS[request.param][0]


@pytest.fixture
def errors(request, client):
    return CLIENTS[request.node.callspec.params["client"]][1]


@pytest.fixture
def parts(kafka, names, records):
    kafka.create_topic(names.topic, PARTITIONS)
    kafka.produce(names.topic, records(RECORDS))
    return [kafka_python.TopicPartition(names.topic, number) for number in range(PARTITIONS)]


@pytest.fixture
def made(kafka, client):
    """Make consumers, closed at the end."""
    open_ones = []

    def make(*topics, **options):
        options = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 1_000} | options
        open_ones.append(client(*topics, bootstrap_servers=[kafka.bootstrap], **options))
        return open_ones[-1]

    yield make
    for one in open_ones:
        one.close(autocommit=False, timeout_ms=5_000)
        one.close()


def test_assigned_by_hand(kafka, made, parts):
    consumer = made()
    ends = kafka.end_offsets(parts[0].topic)
    consumer.assign([])
    consumer.assign([Lookalike(*part) for part in parts])
    assert consumer.assignment() == set(parts)
    assert consumer.beginning_offsets(parts) == dict.fromkeys(parts, 0)
    assert consumer.end_offsets(parts) == {part: ends[part.partition] for part in parts}
    assert consumer.partitions_for_topic(parts[0].topic) == {0, 1, 2}
    assert consumer.subscription() is None
    assert parts[0].topic in consumer.topics()
    assert isinstance(consumer.config["api_version"], tuple)
    assert consumer.config["group_id"] is None


def test_offsets_by_time(made, parts):
    consumer = made()
    assert consumer.offsets_for_times({}) == {}
    later_ms = int(time.time() * 1_000) + 10_000_000
    found = consumer.offsets_for_times({parts[0]: 0, parts[1]: later_ms})
    assert found[parts[0]].offset == 0
    assert found[parts[0]].leader_epoch is not None
    assert found[parts[1]] is None


def test_poll_pause_and_positions(kafka, made, parts):
    consumer = made()
    ends = kafka.end_offsets(parts[0].topic)
    consumer.assign(parts)
    consumer.pause(parts[0])
    assert consumer.paused() == {parts[0]}
    seen = 0
    deadline_s = time.monotonic() + 20
    while seen < RECORDS - ends[0]:
        assert time.monotonic() < deadline_s
        for part, records in consumer.poll(timeout_ms=200, max_records=7).items():
            assert part != parts[0]
            assert len(records) <= 7
            seen += len(records)
    consumer.resume(*consumer.paused())
    consumer.seek_to_end(*parts)
    assert consumer.position(parts[1]) == ends[1]
    consumer.seek_to_beginning()
    assert consumer.position(parts[1]) == 0
    consumer.seek(parts[1], 5)
    assert consumer.position(parts[1]) == 5
    assert consumer.highwater(parts[1]) == ends[1]


def test_iteration_stops_and_goes_on(kafka, made, parts):
    consumer = made(parts[0].topic)
    assert sum(1 for _ in consumer) == RECORDS
    with pytest.raises(StopIteration):
        next(consumer)
    kafka.produce(parts[0].topic, [(None, b"late")], partition=1)
    record = next(consumer)
    assert (record.partition, record.key, record.value) == (1, None, b"late")
    assert (record.serialized_key_size, record.serialized_value_size) == (-1, 4)
    assert (record.timestamp_type, record.headers) == (0, [])


def read_until_assigned(consumer):
    """The records that came while it was given its partitions, however long that took.

    kafka-python shares out what it knows: nothing of a topic, if it has joined before it has heard
    of that, and it may not join anew when it has.
    """
    for topic in consumer.subscription():
        assert consumer.partitions_for_topic(topic)
    found = []
    deadline_s = time.monotonic() + 20
    while not consumer.assignment():
        assert time.monotonic() < deadline_s
        found += chain.from_iterable(consumer.poll(timeout_ms=100).values())
    return found


def test_a_group_reads_and_commits(kafka, made, parts, names):
    ends = kafka.end_offsets(names.topic)
    consumer = made(names.topic, group_id=names.group, value_deserializer=bytes.decode)
    values = [record.value for record in chain(read_until_assigned(consumer), consumer)]
    assert len(values) == RECORDS
    assert all(isinstance(value, str) for value in values)
    assert consumer.subscription() == {names.topic}
    consumer.subscription().add("other")
    assert consumer.subscription() == {names.topic}
    assert consumer.commit() is None
    assert [consumer.committed(part) for part in parts] == [ends[0], ends[1], ends[2]]
    consumer.commit({parts[0]: kafka_python.structs.OffsetAndMetadata(4, "note", -1)})
    assert consumer.committed(parts[0]) == 4
    assert consumer.committed(parts[0], metadata=True).metadata == "note"
    joined = consumer.group_metadata()
    assert joined.group_id == names.group
    assert joined.generation_id >= 1
    consumer.unsubscribe()
    assert consumer.assignment() == set()


def test_a_callback_of_an_async_commit(made, parts, names):
    consumer = made(names.topic, group_id=names.group)
    read_until_assigned(consumer)
    told = []
    offsets = {parts[0]: kafka_python.structs.OffsetAndMetadata(3, "", -1)}
    consumer.commit_async(offsets, callback=lambda *outcome: told.append(outcome))
    deadline_s = time.monotonic() + 20
    while not told:
        assert time.monotonic() < deadline_s
        consumer.poll(timeout_ms=50)
    assert told == [(offsets, None)]


@pytest.mark.parametrize(
    "options", [{"no_such_option": 1}, {"fetch_max_wait_ms": 40_000, "request_timeout_ms": 100}]
)
def test_wrong_options(client, errors, options):
    with pytest.raises(errors.KafkaConfigurationError):
        client(**options)


def test_misuse(made, errors, parts):
    consumer = made(parts[0].topic)
    with pytest.raises(errors.IllegalStateError):
        consumer.assign(parts)
    given = made(api_version=(2, 8))
    assert given.config["api_version"] == (2, 8)


def test_what_is_no_topic_name_is_a_value_error(made, client):
    consumer = made()
    for name in ("no name", "", "x" * 250):
        with pytest.raises(ValueError, match=r"opic"):
            consumer.subscribe([name])
