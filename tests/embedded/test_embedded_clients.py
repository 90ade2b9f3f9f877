"""Other people's clients, and ours, on real sockets against the embedded broker."""

import asyncio
import warnings

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from foreign_members import DEADLINE_S, ConfluentMember, KafkaPythonMember, KcoreMember, until
from leftovers import ALSO_AIOKAFKA

import kcore
from kcore import TopicPartition
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


# The oldest and the newest; in between, the longer verb.
RELEASES = [
    (2, 1),
    (4, 4),
    *map(slow, [(2, 8), (3, 7), (4, 0)]),
]


@pytest.fixture(params=RELEASES, ids=lambda release: "{}.{}".format(*release))
def release(request):
    return request.param


@pytest.fixture
def broker(release):
    """A broker of each release; whatever a client did to it, nothing went wrong inside."""
    with EmbeddedBroker(config=BrokerConfig(release=release)) as embedded:
        embedded.create_topic("t", 4)
        yield embedded
        assert not embedded.faults


def confluent_produce(broker, count=100, codec="none", **options):
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "compression.type": codec} | options
    )
    failed = []
    for number in range(count):
        producer.produce(
            "t", b"v%d" % number, b"k%d" % number,
            on_delivery=lambda error, _message: failed.append(error) if error else None,
        )  # fmt: skip
    assert producer.flush(DEADLINE_S) == 0
    assert not failed


# In the order in which they go: what kafka-python says last waits behind its JoinGroup, if one is
# under way because others have gone, and nobody else joins any more.
MEMBERS = [KafkaPythonMember, KcoreMember, ConfluentMember]

pytestmark = ALSO_AIOKAFKA


@pytest.mark.parametrize(
    ("codec", "idempotent", "member"),
    [
        *((codec, False, KcoreMember) for codec in CODECS),
        # Half a second each, in which librdkafka waits before it asks for a producer id.
        ("zstd", True, KcoreMember),
        ("none", True, ConfluentMember),
        *(slow(codec, True, KcoreMember) for codec in CODECS[:-1]),
        *(slow(codec, True, ConfluentMember) for codec in CODECS[1:]),
    ],
)
def test_confluent_produces_in_every_codec(kcore_broker, codec, idempotent, member):
    kcore_broker.create_topic("t", 4)
    confluent_produce(kcore_broker, 500, codec, **{"enable.idempotence": idempotent})
    reader = member(kcore_broker, "g")
    until(lambda: len(reader.values) >= 500, reader.step)
    assert sorted(reader.values) == sorted(b"v%d" % number for number in range(500))
    reader.close()
    assert not kcore_broker.faults


@pytest.mark.parametrize("member", MEMBERS)
def test_a_group_of_two_shares_and_goes_on_where_it_committed(broker, member, release):
    confluent_produce(broker, 100)
    first = member(broker, "g")
    until(lambda: len(first.values) == 100, first.step)
    assert first.owned() == {0, 1, 2, 3}
    first.commit()
    second = member(broker, "g")

    def both():
        first.step()
        second.step()

    until(lambda: len(first.owned()) == len(second.owned()) == 2, both)
    assert first.owned() | second.owned() == {0, 1, 2, 3}
    confluent_produce(broker, 50)
    until(lambda: len(first.values) + len(second.values) >= 150, both)
    assert second.values
    first.commit()
    second.commit()
    first.close()
    until(lambda: second.owned() == {0, 1, 2, 3}, second.step)
    second.close()
    confluent_produce(broker, 1)
    third = member(broker, "g")
    until(lambda: third.values, third.step)
    assert third.values == [b"v0"]
    third.close()


def test_kafka_python_produces(broker):
    producer = kafka_python.KafkaProducer(bootstrap_servers=broker.bootstrap)
    sent = [producer.send("t", b"v%d" % number, partition=1) for number in range(100)]
    assert [future.get(DEADLINE_S).offset for future in sent] == list(range(100))
    producer.close()
    assert broker.end_offsets("t") == [0, 100, 0, 0]


def test_kafka_python_admin(broker):
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([kafka_python.admin.NewTopic("made", 3, 1)])
    assert broker.topics()["made"] == 3
    admin.delete_topics(["made"])
    assert "made" not in broker.topics()
    admin.close()


def test_confluent_admin(broker):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("made", 2, 1)])["made"].result(DEADLINE_S)
    # Of all topics: librdkafka sends this one with surplus bytes behind its end.
    assert set(admin.list_topics(timeout=DEADLINE_S).topics) == {"t", "made"}
    admin.delete_topics(["made"])["made"].result(DEADLINE_S)
    assert broker.topics() == {"t": 4}


def test_aiokafka_produces_and_reads_in_a_group(broker):
    async def run():
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap, enable_idempotence=True
        )
        await producer.start()
        for number in range(50):
            await producer.send_and_wait("t", b"v%d" % number)
        await producer.stop()
        values = []
        consumer = aiokafka.AIOKafkaConsumer(
            "t",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        await consumer.start()
        async with asyncio.timeout(DEADLINE_S):
            while len(values) < 50:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    values.extend(record.value for record in records)
        await consumer.commit()
        committed = [await consumer.committed(part) for part in consumer.assignment()]
        await consumer.stop()
        return values, committed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        values, committed = asyncio.run(run())
    assert sorted(values) == sorted(b"v%d" % number for number in range(50))
    assert sum(offset or 0 for offset in committed) == 50


def test_kcore_without_a_group(broker):
    confluent_produce(broker, 100)
    parts = [TopicPartition("t", number) for number in range(4)]
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as reader:
        reader.assign(parts)
        values = []
        until(
            lambda: len(values) == 100,
            lambda: [values.extend(found) for found in reader.poll(timeout_ms=100).values()],
        )
        assert sum(reader.end_offsets(parts).values()) == 100
        found = reader.offsets_for_times(dict.fromkeys(parts, 0))
        assert [at.offset for at in found.values() if at] == [0] * 4


@pytest.mark.parametrize("member", MEMBERS)
def test_a_cluster_of_three(kcore_cluster, member):
    kcore_cluster.create_topic("t", 6, replication_factor=3)
    confluent_produce(kcore_cluster, 300)
    reader = member(kcore_cluster, "g")
    until(lambda: len(reader.values) == 300, reader.step)
    reader.commit()
    reader.close()
    assert all(kcore_cluster.end_offsets("t"))
    assert not kcore_cluster.faults


def test_clients_of_different_make_form_one_group(kcore_broker):
    kcore_broker.create_topic("t", 6)
    members = [member(kcore_broker, "g") for member in MEMBERS]

    def step():
        for each in members:
            each.step()

    until(lambda: [len(each.owned()) for each in members] == [2, 2, 2], step)
    confluent_produce(kcore_broker, 300)
    until(lambda: sum(len(each.values) for each in members) == 300, step)
    for each in members:
        each.close()
    assert not kcore_broker.faults
