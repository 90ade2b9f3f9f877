"""What programs derive classes from, or call by themselves, where kcore stands in for kafka-python
and aiokafka: beside the originals.
"""

import asyncio
import json
from types import SimpleNamespace

import aiokafka.partitioner
import kafka
import kafka.net.sasl.oauth
import kafka.partitioner
import kafka.serializer
import pytest

from kcore import Consumer, Producer, TopicPartition
from kcore.admin.config import AdminConfig
from kcore.clients.stand_in import aiokafka_classes, shared
from kcore.clients.stand_in import kafka_python_classes as ours
from kcore.consumer.config import ConsumerConfig
from kcore.embedded import EmbeddedBroker
from kcore.producer.config import ProducerConfig

KEYS = [None, b"", b"k", b"key-7", b"\xff" * 40]


@pytest.fixture
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 8)
        yield running


def cluster(available=(5,)):
    return SimpleNamespace(
        topics=lambda: {"t"},
        partitions_for_topic=lambda _: {7, 5, 3},
        available_partitions_for_topic=lambda _: set(available),
    )


@pytest.mark.parametrize("key", KEYS)
def test_partitioners_choose_what_theirs_choose(key):
    asked = "t", key, key, None, None, cluster()
    chosen = ours.DefaultPartitioner().partition(*asked)
    assert chosen == kafka.partitioner.DefaultPartitioner().partition(*asked)
    assert issubclass(ours.StickyPartitioner, ours.Partitioner)
    assert chosen == aiokafka.partitioner.DefaultPartitioner()(key, [3, 5, 7], [5])
    assert chosen == shared.DefaultPartitioner()(key, [3, 5, 7], [5])
    nobody_leads = "t", None, None, None, None, cluster(())
    assert ours.DefaultPartitioner().partition(*nobody_leads) in {3, 5, 7}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("DefaultSerializer", [None, "text", "ü", b"bytes", bytearray(b"more"), 5, ["x"]]),
        ("JsonSerializer", [None, "text", 5, ["x", None], {"a": 1.5}, b"bytes", {1}]),
    ],
)
def test_serializers_make_what_theirs_make(name, values):
    made = getattr(ours, name)(), getattr(kafka.serializer, name)()
    for value in values:
        raw = [attempt(one.serialize, "t", [], value) for one in made]
        assert raw[0] == raw[1] or {type(one) for one in raw} <= {TypeError, AttributeError}, value
        if isinstance(raw[0], bytes):
            assert made[0].deserialize("t", [], raw[0]) == made[1].deserialize("t", [], raw[1])
    assert made[0].deserialize("t", [], None) is None
    made[0].close()


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except (TypeError, AttributeError) as error:
        return error


@pytest.mark.parametrize(
    ("kind", "config", "theirs"),
    [
        (ours.KafkaConsumer, ConsumerConfig, kafka.KafkaConsumer),
        (ours.KafkaProducer, ProducerConfig, kafka.KafkaProducer),
        (ours.KafkaAdminClient, AdminConfig, kafka.KafkaAdminClient),
    ],
)
def test_default_config_has_every_option_and_may_be_given_on(kind, config, theirs):
    """Programs sort out by it what of their settings is for which client."""
    assert config.from_options(kind.DEFAULT_CONFIG) == config.from_options({})
    assert theirs.DEFAULT_CONFIG.keys() - kind.DEFAULT_CONFIG.keys() <= {
        "socks5_proxy", "kafka_client", "selector",
    }  # fmt: skip


class Last(ours.DefaultPartitioner):
    def partition(self, topic, key, serialized_key, value, serialized_value, cluster):
        super().partition(topic, key, serialized_key, value, serialized_value, cluster)
        return max(cluster.partitions_for_topic(topic))


class LastOfAll(shared.DefaultPartitioner):
    def __call__(self, key, all_partitions, available):
        super().__call__(key, all_partitions, available)
        return all_partitions[-1]


def test_a_partitioner_that_is_derived_from_theirs_is_asked(broker):
    where = {"bootstrap_servers": broker.bootstrap}
    with ours.KafkaProducer(partitioner=Last(), **where) as producer:
        assert [producer.send("t", b"v", key=key).get(10).partition for key in KEYS] == [7] * 5
    with ours.KafkaProducer(partitioner=ours.StickyPartitioner(), **where) as producer:
        assert producer._packing.is_plain  # its own way
    assert isinstance(producer, Producer)

    async def main():
        async with aiokafka_classes.AIOKafkaProducer(partitioner=LastOfAll(), **where) as looped:
            return [(await looped.send_and_wait("t", b"v", key=key)).partition for key in KEYS]

    assert asyncio.run(main()) == [7] * 5


def test_a_level_of_isolation_and_tokens(broker):
    level = ours.IsolationLevel.READ_COMMITTED
    assert level == kafka.IsolationLevel.READ_COMMITTED
    with ours.KafkaConsumer(bootstrap_servers=broker.bootstrap, isolation_level=level) as reader:
        assert reader.config["isolation_level"] == "read_committed"
        assert isinstance(reader, Consumer)
        reader.assign([TopicPartition("t", 0)])

    class Tokens(ours.AbstractTokenProvider):
        def token(self):
            return "a token"

    given = Tokens(option=1)
    assert (given.token(), given.extensions()) == ("a token", {})
    assert issubclass(kafka.net.sasl.oauth.AbstractTokenProvider, object)
    with pytest.raises(TypeError):
        ours.AbstractTokenProvider()


@pytest.mark.parametrize("client", [aiokafka, aiokafka_classes])
@pytest.mark.parametrize("read", ["getone", "getmany", "__anext__"])
def test_what_a_deserializer_raises_is_raised_under_aiokafkas_names(broker, client, read):
    part = TopicPartition("t", 1)

    async def main():
        where = {"bootstrap_servers": broker.bootstrap}
        async with aiokafka.AIOKafkaProducer(**where) as producer:
            told = await producer.send_and_wait("t", b"{", partition=1)
        async with client.AIOKafkaConsumer(value_deserializer=json.loads, **where) as reader:
            reader.assign([part])
            reader.seek(part, told.offset)
            with pytest.raises(json.JSONDecodeError):
                await getattr(reader, read)(**{"timeout_ms": 9_000} if read == "getmany" else {})

    asyncio.run(main())
