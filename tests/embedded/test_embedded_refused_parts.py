"""What clients make of a partition, a topic or a group that is refused beside others."""

import asyncio
import contextlib
import time

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from leftovers import ALSO_AIOKAFKA

import kcore
from kcore import OffsetAndMetadata, TopicPartition
from kcore.admin import ConfigResource
from kcore.errors import KafkaError, TopicAuthorizationFailedError, UsageError

DEADLINE_S = 30
PARTITIONS = 4
VALUES = [b"v%d" % number for number in range(40)]

pytestmark = ALSO_AIOKAFKA


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", PARTITIONS)
    yield kcore_broker
    assert not kcore_broker.faults


def written(broker):
    """Values of each partition, as they stand in the log."""
    parts = [TopicPartition("t", number) for number in range(PARTITIONS)]
    options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
    with kcore.Consumer(**options) as consumer:
        consumer.assign(parts)
        ends = consumer.end_offsets(parts)
        found = {part.partition: [] for part in parts}
        end = time.monotonic() + DEADLINE_S
        while sum(map(len, found.values())) < sum(ends.values()) and time.monotonic() < end:
            for part, records in consumer.poll(timeout_ms=100).items():
                found[part.partition] += [record.value for record in records]
    return found


def fill(broker):
    for number in range(PARTITIONS):
        broker.produce("t", [(None, value) for value in VALUES[number::PARTITIONS]], number)


# Producers ----------------------------------------------------------------------------------------


def by_kcore(broker):
    with kcore.Producer(bootstrap_servers=broker.bootstrap, retry_backoff_ms=10) as producer:
        for number, value in enumerate(VALUES):
            producer.send("t", value, partition=number % PARTITIONS)
        producer.flush()


def by_confluent(broker):
    failed = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "retry.backoff.ms": 10}
    )
    for number, value in enumerate(VALUES):
        producer.produce(
            "t", value, partition=number % PARTITIONS,
            on_delivery=lambda error, _message: failed.append(error) if error else None,
        )  # fmt: skip
    assert producer.flush(DEADLINE_S) == 0
    assert not failed


def by_kafka_python(broker):
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=broker.bootstrap, retry_backoff_ms=10, enable_idempotence=True
    )
    for number, value in enumerate(VALUES):
        producer.send("t", value, partition=number % PARTITIONS)
    producer.flush(DEADLINE_S)
    producer.close()


def by_aiokafka(broker):
    async def produce():
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap, retry_backoff_ms=10, enable_idempotence=True
        )
        await producer.start()
        sent = [
            await producer.send("t", value, partition=number % PARTITIONS)
            for number, value in enumerate(VALUES)
        ]
        await asyncio.wait_for(asyncio.gather(*sent), DEADLINE_S)
        await producer.stop()

    asyncio.run(produce())


@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS"])
@pytest.mark.parametrize("produce", [by_kcore, by_confluent, by_kafka_python, by_aiokafka])
def test_records_of_one_partition_are_refused_and_written_once(broker, produce, error):
    broker.refuse("Produce", error, topic="t", partition=1, times=3)
    produce(broker)
    assert broker.mishaps_to_come == 0
    assert written(broker) == {n: VALUES[n::PARTITIONS] for n in range(PARTITIONS)}


def test_records_that_are_refused_for_good_fail_alone(broker):
    broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED", topic="t", partition=1)
    with kcore.Producer(bootstrap_servers=broker.bootstrap, linger_ms=50) as producer:
        sent = [producer.send("t", b"x", partition=number) for number in range(PARTITIONS)]
        producer.flush()
        with pytest.raises(TopicAuthorizationFailedError):
            sent[1].get(timeout=DEADLINE_S)
        assert [sent[number].get().offset for number in (0, 2, 3)] == [0, 0, 0]
        assert producer.send("t", b"y", partition=1).get(timeout=DEADLINE_S).offset == 0


# Consumers ----------------------------------------------------------------------------------------


def of_kcore(broker):
    with kcore.Consumer(
        "t", bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest",
        retry_backoff_ms=10,
    ) as consumer:  # fmt: skip
        while True:
            for records in consumer.poll(timeout_ms=100).values():
                yield from (record.value for record in records)
            yield None


def of_confluent(broker):
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.fast.interval.ms": 50,
        }
    )
    consumer.subscribe(["t"])
    try:
        while True:
            for message in consumer.consume(100, 0.1):
                if message.error() is None:
                    yield message.value()
            yield None
    finally:
        consumer.close()


def of_kafka_python(broker):
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest",
        retry_backoff_ms=10, metadata_max_age_ms=1_000,
    )  # fmt: skip
    try:
        known = None
        while not known:  # it may assign before it knows of the topic otherwise, and then nothing
            with contextlib.suppress(kafka_python.errors.LeaderNotAvailableError):
                known = consumer.partitions_for_topic("t")
        consumer.subscribe(["t"])
        while True:
            for records in consumer.poll(timeout_ms=100).values():
                yield from (record.value for record in records)
            yield None
    finally:
        consumer.close()


def of_aiokafka(broker):
    loop = asyncio.new_event_loop()

    async def start():
        consumer = aiokafka.AIOKafkaConsumer(
            "t", bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest",
            retry_backoff_ms=10,
        )  # fmt: skip
        await consumer.start()
        return consumer

    consumer = loop.run_until_complete(start())
    try:
        while True:
            for records in loop.run_until_complete(consumer.getmany(timeout_ms=100)).values():
                yield from (record.value for record in records)
            yield None
    finally:
        loop.run_until_complete(consumer.stop())
        loop.close()


def all_of(reader, broker):
    """What is read, each time it is; until everything was, and no mishap is left."""
    found = []
    end = time.monotonic() + DEADLINE_S
    for value in reader:
        if value is not None:
            found.append(value)
        elif set(found) == set(VALUES) and not broker.mishaps_to_come:
            break
        assert time.monotonic() < end, (len(set(found)), broker.mishaps_to_come)
    reader.close()
    return found


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
        ("Fetch", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("Fetch", "OFFSET_OUT_OF_RANGE"),
        ("ListOffsets", "NOT_LEADER_OR_FOLLOWER"),
    ],
)
@pytest.mark.parametrize("reads", [of_kcore, of_confluent, of_kafka_python, of_aiokafka])
def test_a_partition_that_is_refused_is_read_in_the_end(broker, reads, api, error):
    fill(broker)
    broker.refuse(api, error, topic="t", partition=2, times=2)
    found = all_of(reads(broker), broker)
    again = 2 if error == "OFFSET_OUT_OF_RANGE" else 0  # it begins anew
    assert len(VALUES) <= len(found) <= len(VALUES) + again * len(VALUES) // PARTITIONS


@pytest.mark.parametrize(
    ("reads", "error"),  # librdkafka gives up on the one, aiokafka does not know the other
    [
        (of_kcore, "UNSTABLE_OFFSET_COMMIT"),
        (of_kcore, "COORDINATOR_LOAD_IN_PROGRESS"),
        (of_confluent, "UNSTABLE_OFFSET_COMMIT"),
        (of_kafka_python, "UNSTABLE_OFFSET_COMMIT"),
        (of_aiokafka, "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_the_offset_of_one_partition_is_refused(broker, reads, error):
    fill(broker)
    broker.refuse("OffsetFetch", error, topic="t", partition=2, times=2)
    assert sorted(all_of(reads(broker), broker)) == sorted(VALUES)


@pytest.mark.parametrize("reads", [of_kcore, of_confluent, of_kafka_python, of_aiokafka])
def test_metadata_of_one_topic_is_refused(broker, reads):
    fill(broker)
    broker.refuse("Metadata", "LEADER_NOT_AVAILABLE", topic="t", times=2)
    all_of(reads(broker), broker)


def test_the_other_partitions_are_read_meanwhile(broker):
    fill(broker)
    broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=2, times=10_000)
    reader = of_kcore(broker)
    found = set()
    end = time.monotonic() + DEADLINE_S
    while len(found) < 30 and time.monotonic() < end:
        found |= {next(reader)} - {None}
    assert found == set(VALUES) - set(VALUES[2::PARTITIONS])
    broker.no_mishaps()
    while len(found) < len(VALUES) and time.monotonic() < end:
        found |= {next(reader)} - {None}
    assert found == set(VALUES)
    reader.close()


def test_a_topic_that_may_not_be_read_is_said_so(broker):
    fill(broker)
    broker.refuse("Fetch", "TOPIC_AUTHORIZATION_FAILED", topic="t", partition=2)
    reader = of_kcore(broker)
    with pytest.raises(TopicAuthorizationFailedError):
        all_of(reader, broker)
    assert broker.mishaps_to_come == 0


def test_a_commit_of_one_partition_is_refused(broker):
    parts = [TopicPartition("t", number) for number in range(3)]
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="g") as consumer:
        consumer.assign(parts)
        broker.refuse(
            "OffsetCommit", "TOPIC_AUTHORIZATION_FAILED", topic="t", partition=1, group="g"
        )
        with pytest.raises(KafkaError):
            consumer.commit(dict.fromkeys(parts, OffsetAndMetadata(5)))
        assert [consumer.committed(part) for part in parts] == [5, None, 5]


# Transactions and share groups --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("AddPartitionsToTxn", "CONCURRENT_TRANSACTIONS"),
        ("Produce", "NOT_LEADER_OR_FOLLOWER"),
        ("TxnOffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_a_transaction_gets_over_a_refused_partition(broker, api, error):
    broker.refuse(api, error, topic="t", partition=1, times=2)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "x", "retry.backoff.ms": 10}
    )
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    for number in range(PARTITIONS):
        producer.produce("t", b"x", partition=number)
    offsets = [confluent_kafka.TopicPartition("t", number, 7) for number in range(2)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), DEADLINE_S)
    producer.commit_transaction(DEADLINE_S)
    assert [one.offset for one in consumer.committed(offsets, DEADLINE_S)] == [7, 7]
    consumer.close()
    assert broker.mishaps_to_come == 0
    assert broker.end_offsets("t") == [2] * PARTITIONS


def shares_of_kcore(broker):
    with kcore.ShareConsumer("t", bootstrap_servers=broker.bootstrap, group_id="s") as consumer:
        while True:
            for records in consumer.poll(timeout_ms=100).values():
                yield from (record.value for record in records)
            yield None


def shares_of_confluent(broker):
    consumer = confluent_kafka.ShareConsumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "s"}
    )
    consumer.subscribe(["t"])
    try:
        while True:
            for message in consumer.poll(0.1) or ():
                if message.error() is None:
                    yield message.value()
            yield None
    finally:
        consumer.close()


@pytest.mark.parametrize("reads", [shares_of_kcore, shares_of_confluent])
def test_a_share_partition_is_refused(broker, reads):
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        earliest = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs([ConfigResource("group", "s", earliest)])
    fill(broker)
    broker.refuse("ShareFetch", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=2, times=2)
    assert sorted(all_of(reads(broker), broker)) == sorted(VALUES)


# Whom it is about ---------------------------------------------------------------------------------


def test_nodes_and_clients_are_told_apart(kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=3)
    for number in range(3):
        kcore_cluster.move_leader("t", number, number + 1)
    kcore_cluster.refuse("Produce", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=0, node=2)
    kcore_cluster.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED", client="bad", topic="t")
    options = {"bootstrap_servers": kcore_cluster.bootstrap}
    with kcore.Producer(**options) as good, kcore.Producer(**options, client_id="bad") as bad:
        for number in range(3):
            good.send("t", b"x", partition=number).get(timeout=DEADLINE_S)
        with pytest.raises(TopicAuthorizationFailedError):
            bad.send("t", b"x", partition=2).get(timeout=DEADLINE_S)
        assert kcore_cluster.mishaps_to_come == 1
        kcore_cluster.refuse("Produce", "NOT_LEADER_OR_FOLLOWER", topic="t", partition=1, node=2)
        good.send("t", b"x", partition=1).get(timeout=DEADLINE_S)
    assert kcore_cluster.mishaps_to_come == 1
    assert kcore_cluster.end_offsets("t") == [1, 2, 1]
    assert not kcore_cluster.faults


def test_a_group_is_cut_off_and_another_is_not(broker):
    broker.cut("FindCoordinator", times=1_000, group="bad")
    fill(broker)
    all_of_it = of_kcore(broker)
    found = set()
    end = time.monotonic() + DEADLINE_S
    while len(found) < len(VALUES) and time.monotonic() < end:
        found |= {next(all_of_it)} - {None}
    all_of_it.close()
    assert found == set(VALUES)
    assert broker.mishaps_to_come == 1_000


@pytest.mark.parametrize(
    ("api", "more", "says"),
    [
        ("JoinGroup", {"topic": "t"}, "JoinGroup has no topic"),
        ("CreateTopics", {"topic": "t", "partition": 0}, "CreateTopics has no partition"),
        ("DescribeLogDirs", {"topic": "t"}, "These have: Produce, Fetch"),
        ("Produce", {"group": "g"}, "Produce has no group"),
        ("Fetch", {"partition": 0}, "partition=0"),
        ("Fetch", {"topic": "t", "partition": -1}, "partition=-1"),
        ("Fetch", {"topic": 7}, "topic=7"),
        ("Fetch", {"topic": "t", "partition": "0"}, "partition='0'"),
        ("Fetch", {"client": 7}, "client=7"),
    ],
)
def test_what_cannot_be_refused_so_is_said(broker, api, more, says):
    for verb in (
        lambda: broker.refuse(api, "UNKNOWN_SERVER_ERROR", **more),
        lambda: broker.cut(api, **more),
        lambda: broker.delay(api, 10, **more),
    ):
        with pytest.raises((UsageError, TypeError), match=says):
            verb()
    assert broker.mishaps_to_come == 0
