"""What programs do with kafka-python's clients beside the calls that kcore has under the same
names: one program over the original and over kcore in its place.
"""

import json
import time

import kafka
import kafka.serializer
import pytest
from leftovers import KAFKA_PYTHON

from kcore.clients.stand_in import kafka_python_classes
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaConfigurationError

pytestmark = KAFKA_PYTHON
LATER_S = 0.4


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        yield running


@pytest.fixture(params=["kafka-python", "kcore"])
def client(request):
    return kafka if request.param == "kafka-python" else kafka_python_classes


def test_the_time_that_a_loop_waits_may_be_set_later(broker, client):
    """Elastic's agent and others do so."""
    with client.KafkaConsumer(bootstrap_servers=broker.bootstrap, consumer_timeout_ms=50) as reader:
        reader.assign([kafka.TopicPartition("t", 0)])
        assert [*reader] == []
        reader.config["consumer_timeout_ms"] = LATER_S * 1_000
        began_s = time.monotonic()
        assert [*reader] == []
        assert time.monotonic() - began_s >= LATER_S * 0.9


def test_a_time_that_is_none_is_refused_by_the_loop(broker):
    with kafka_python_classes.KafkaConsumer(bootstrap_servers=broker.bootstrap) as reader:
        reader.assign([kafka.TopicPartition("t", 1)])
        reader.config["consumer_timeout_ms"] = "soon"
        with pytest.raises(KafkaConfigurationError, match="consumer_timeout_ms"):
            next(reader)


def test_what_brokers_answer_is_told_by_place_as_well(broker, client):
    with client.KafkaAdminClient(bootstrap_servers=broker.bootstrap) as admin:
        admin.create_topics({"grown": {"num_partitions": 1, "replication_factor": 1}})
        told = admin.create_partitions({"grown": 2})
        (row,) = told.results
        assert (row[0], row[1], row.name, row.error_code) == ("grown", 0, "grown", 0)
        assert [*row][:2] == row[:2] == ["grown", 0]
        assert told[1][0].name == told.to_dict()["results"][0]["name"] == "grown"
        assert row == ("grown", 0, None)
        assert row != ("grown", 1, None)
        assert row == told.results[0]
        told = admin.elect_leaders(0, {"t": [0, 1]}, raise_errors=False)
        ((topic, parts),) = told.replica_election_results
        assert topic == "t"
        assert sorted(part[:2] for part in parts) == [[0, 84], [1, 84]]
        assert "replica_election_results" in repr(told)
        with pytest.raises(AttributeError):
            told.nothing  # noqa: B018
        admin.delete_topics(["grown"])


def test_the_format_of_records_that_a_release_takes(broker, client):
    with client.KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        assert producer.max_usable_produce_magic((4, 3)) == 2


def test_what_elastics_agent_looks_at(broker):
    """Who is the controller, for its spans; None until brokers have said so. In kafka-python 3 it
    is no tuple any more, and the agent fails.
    """
    with kafka_python_classes.KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        producer.send("t", b"v").get(10)
        host, port = broker.bootstrap.split(":")
        assert producer._metadata.controller[1:3] == (host, int(port))
        producer._core.cluster.controller_id = 7
        assert producer._metadata.controller is None


class OldForm(kafka.serializer.Serializer, kafka.serializer.Deserializer):
    """As kafka-python 2 had them, and 3 still takes them."""

    def serialize(self, topic, data):
        return f"{topic}:{data}".encode()

    def deserialize(self, topic, data):
        return topic, data.decode()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_serializers_without_headers_are_asked_without(broker, client):
    where = {"bootstrap_servers": broker.bootstrap}
    with client.KafkaProducer(value_serializer=OldForm(), **where) as producer:
        told = producer.send("t", "v", partition=0).get(10)
    with client.KafkaConsumer(value_deserializer=OldForm(), **where) as reader:
        reader.assign([told.topic_partition])
        reader.seek(told.topic_partition, told.offset)
        ((record,),) = reader.poll(10_000).values()
        assert record.value == ("t", "t:v")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("read", [lambda reader: reader.poll(10_000), next])
def test_what_a_deserializer_raises_is_raised(broker, client, read):
    where = {"bootstrap_servers": broker.bootstrap}
    with client.KafkaProducer(**where) as producer:
        told = producer.send("t", b"{", partition=0).get(10)
    with client.KafkaConsumer(value_deserializer=json.loads, **where) as reader:
        reader.assign([told.topic_partition])
        reader.seek(told.topic_partition, told.offset)
        with pytest.raises(json.JSONDecodeError) as caught:
            read(reader)
    if client is not kafka:
        assert f"t-0: the value at offset {told.offset}" in caught.value.__notes__[0]


@pytest.mark.parametrize("kind", ["KafkaConsumer", "KafkaProducer", "KafkaAdminClient"])
def test_where_brokers_are_stands_in_the_config_as_it_was_given(broker, client, kind):
    """kq's workers and queues have their hosts of it, and compare."""
    with getattr(client, kind)(bootstrap_servers=broker.bootstrap) as made:
        assert made.config["bootstrap_servers"] == broker.bootstrap
    with getattr(client, kind)(bootstrap_servers=[broker.bootstrap]) as made:
        assert made.config["bootstrap_servers"] == [broker.bootstrap]


def test_what_a_consumer_subscribed_to_is_looked_at(broker, client):
    with client.KafkaConsumer("t", bootstrap_servers=broker.bootstrap) as reader:
        assert reader._subscription.subscription == {"t"}
        reader.unsubscribe()
        assert not reader._subscription.subscription
