"""What a test of a client can ask for: errors, cuts, delays, leaders that move."""

import time

import confluent_kafka
import pytest

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.errors import UsageError

DEADLINE_S = 30


def produce(broker, topic, count, partitions=1):
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    failed = []
    for number in range(count):
        producer.produce(
            topic,
            b"v%d" % number,
            partition=number % partitions,
            on_delivery=lambda error, _message: failed.append(error) if error else None,
        )
    assert producer.flush(DEADLINE_S) == 0
    assert not failed


def read(consumer, count):
    values = []
    end = time.monotonic() + DEADLINE_S
    while len(values) < count and time.monotonic() < end:
        for records in consumer.poll(timeout_ms=100).values():
            values += [record.value for record in records]
    return values


@pytest.fixture
def starts(kcore_broker):
    kcore_broker.create_topic("t")
    options = {"bootstrap_servers": kcore_broker.bootstrap, "auto_offset_reset": "earliest"}
    options |= {"group_id": "g", "heartbeat_interval_ms": 100, "retry_backoff_ms": 10}
    made = []

    def start(topic="t", **more):
        made.append(kcore.Consumer(topic, **options | more))
        return made[-1]

    yield start
    for one in made:
        one.close()
    assert not kcore_broker.faults


@pytest.fixture
def consumer(starts):
    return starts()


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
        ("Fetch", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("ListOffsets", "LEADER_NOT_AVAILABLE"),
        ("Metadata", "LEADER_NOT_AVAILABLE"),
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("JoinGroup", "NOT_COORDINATOR"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("Heartbeat", "REBALANCE_IN_PROGRESS"),
    ],
)
def test_a_consumer_gets_over_refusals(kcore_broker, starts, api, error):
    produce(kcore_broker, "t", 10)
    kcore_broker.refuse(api, error, times=2)
    consumer = starts()  # some of these are asked as soon as it is there
    values = read(consumer, 10)
    assert set(values) == {b"v%d" % number for number in range(10)}
    end = time.monotonic() + DEADLINE_S
    while kcore_broker.mishaps_to_come and time.monotonic() < end:
        consumer.poll(timeout_ms=50)
    assert kcore_broker.mishaps_to_come == 0
    produce(kcore_broker, "t", 1)
    assert read(consumer, 1)


@pytest.mark.parametrize("api", ["ApiVersions", "Metadata", "JoinGroup", "Fetch"])
def test_a_consumer_gets_over_cut_connections(kcore_broker, starts, api):
    produce(kcore_broker, "t", 10)
    kcore_broker.cut(api, times=2)
    consumer = starts()
    assert len(read(consumer, 10)) == 10
    assert kcore_broker.mishaps_to_come == 0


def in_order(broker, topic):
    with kcore.Consumer(
        topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    ) as reader:
        return [record.value for record in reader.read_until()]


@pytest.mark.parametrize("idempotent", [True, False])
def test_what_was_written_and_not_answered_comes_twice_without_idempotence(
    kcore_broker, idempotent
):
    kcore_broker.create_topic("t")
    kcore_broker.cut("Produce", served=True)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kcore_broker.bootstrap, "enable.idempotence": idempotent}
    )
    producer.produce("t", b"v")
    assert producer.flush(DEADLINE_S) == 0
    assert in_order(kcore_broker, "t") == [b"v"] * (1 if idempotent else 2)
    assert kcore_broker.mishaps_to_come == 0


def test_a_transaction_whose_end_is_not_answered_is_committed_once(kcore_broker):
    kcore_broker.create_topic("t")
    kcore_broker.cut("EndTxn", served=True)
    with kcore.Producer(bootstrap_servers=kcore_broker.bootstrap, transactional_id="a") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"v")
        producer.commit_transaction()
    assert in_order(kcore_broker, "t") == [b"v"]
    assert kcore_broker.mishaps_to_come == 0


def test_everybody_who_waits_for_a_rebalance_may_miss_its_end(kcore_broker, starts):
    """The answers go out together, and each ends a connection."""
    kcore_broker.create_topic("u", 4)
    members = [starts(topic="u", client_id="old") for _ in range(2)]

    def until(ready):
        end = time.monotonic() + DEADLINE_S
        while not ready():
            assert time.monotonic() < end
            for member in members:
                member.poll(timeout_ms=20)

    until(lambda: [len(member.assignment()) for member in members] == [2, 2])
    for api in ("JoinGroup", "SyncGroup"):
        kcore_broker.cut(api, times=2, client="old", served=True)
    members += [starts(topic="u") for _ in range(2)]
    until(lambda: [len(member.assignment()) for member in members] == [1, 1, 1, 1])
    assert kcore_broker.mishaps_to_come == 0


def test_a_late_answer_is_still_an_answer(kcore_broker, consumer):
    produce(kcore_broker, "t", 10)
    kcore_broker.delay("Fetch", 300)
    assert len(read(consumer, 10)) == 10


def test_a_consumer_follows_a_leader_that_moves(kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=3)
    produce(kcore_cluster, "t", 30, 3)
    with kcore.Consumer(
        "t", bootstrap_servers=kcore_cluster.bootstrap, group_id="g", auto_offset_reset="earliest"
    ) as consumer:
        assert len(read(consumer, 30)) == 30
        for partition in range(3):
            kcore_cluster.move_leader("t", partition, 1 + (partition + 1) % 3)
        produce(kcore_cluster, "t", 30, 3)
        assert len(read(consumer, 30)) == 30
    assert not kcore_cluster.faults


def test_names_that_are_none_are_refused(kcore_broker):
    with pytest.raises(UsageError, match=r"'Fetsh' is no API of Kafka; Fetch is$"):
        kcore_broker.refuse("Fetsh", "NOT_COORDINATOR")
    with pytest.raises(UsageError, match="is no error code of Kafka; NOT_LEADER_OR_FOLLOWER is"):
        kcore_broker.refuse("Fetch", "NOT_LEADER")
    with pytest.raises(UsageError, match=r"'' is no error code of Kafka$"):
        kcore_broker.refuse("Fetch", "")
    with pytest.raises(UsageError, match=r"^served="):
        kcore_broker.cut("Fetch", served=1)
    with pytest.raises(LookupError):
        kcore_broker.move_leader("t", 0, 1)
    for node in (0, 2):
        with pytest.raises(LookupError):
            kcore_broker.refuse("Fetch", "NOT_COORDINATOR", node=node)
    with pytest.raises(UsageError):
        kcore_broker.drop_replication(1, 1)
    for ms in (-1, 1.5):
        with pytest.raises(UsageError):
            kcore_broker.let_time_pass(ms)
    with pytest.raises(UsageError):
        EmbeddedBroker(nodes=0)


def test_mishaps_can_be_called_off(kcore_broker):
    kcore_broker.cut("Metadata", 100)
    assert kcore_broker.mishaps_to_come == 100
    kcore_broker.no_mishaps()
    assert kcore_broker.mishaps_to_come == 0


def test_a_group_outlives_each_of_its_nodes(kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=3)
    with kcore.Consumer(
        "t",
        bootstrap_servers=kcore_cluster.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        retry_backoff_ms=10,
    ) as consumer:
        produce(kcore_cluster, "t", 30, 3)
        assert len(read(consumer, 30)) == 30
        for node in (1, 2, 3):
            kcore_cluster.kill(node)
            produce(kcore_cluster, "t", 30, 3)
            assert len(read(consumer, 30)) == 30
            consumer.commit()
            kcore_cluster.revive(node)
            produce(kcore_cluster, "t", 30, 3)
            assert len(read(consumer, 30)) == 30
    assert not kcore_cluster.faults


def test_a_partition_without_live_replicas_comes_back_with_its_records(kcore_cluster):
    kcore_cluster.create_topic("t", 3)
    produce(kcore_cluster, "t", 30, 3)
    kcore_cluster.kill(2)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kcore_cluster.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.fast.interval.ms": 50,
            "reconnect.backoff.max.ms": 100,
        }
    )
    consumer.subscribe(["t"])
    values = set()

    def read_up_to(count):
        end = time.monotonic() + DEADLINE_S
        while len(values) < count and time.monotonic() < end:
            for message in consumer.consume(100, 0.1):
                if message.error() is None:
                    values.add(message.value())
        assert len(values) == count

    read_up_to(20)
    kcore_cluster.revive(2)
    read_up_to(30)
    consumer.close()
    assert not kcore_cluster.faults


def test_only_nodes_that_are_up_can_be_killed(kcore_cluster):
    with pytest.raises(LookupError):
        kcore_cluster.revive(2)
    kcore_cluster.kill(2)
    with pytest.raises(LookupError):
        kcore_cluster.kill(2)
    with pytest.raises(LookupError):
        kcore_cluster.kill(9)
