"""What clients that stand in for confluent-kafka's tell of clusters, beside those."""

from inspect import signature

import confluent_kafka
import confluent_kafka.admin
import pytest

from kcore.clients.stand_in.confluent import admin_metadata, admin_results, admin_values
from kcore.clients.stand_in.confluent.admin_cluster import MetadataMethods
from kcore.clients.stand_in.confluent.admin_desk import Desk
from kcore.clients.stand_in.confluent.consumer import Consumer
from kcore.clients.stand_in.confluent.errors import KafkaException
from kcore.clients.stand_in.confluent.structures import TopicPartition
from kcore.embedded import EmbeddedBroker

THEIRS = confluent_kafka.admin
THEIRS_RAISE = confluent_kafka.KafkaException
OF_NUMBERS = {"state", "type", "leader_epoch", "offset", "low_watermark"}
ENUMS = [
    name
    for name, one in vars(admin_values).items()
    if isinstance(one, type) and issubclass(one, admin_values.Ordered) and name != "Ordered"
]


class Anyone(MetadataMethods):
    def __init__(self, **options):
        self.desk = Desk(options)

    def _handle(self):
        return self.desk


@pytest.fixture
def anyone():
    with EmbeddedBroker() as broker:
        client = Anyone(bootstrap_servers=[broker.bootstrap])
        client.bootstrap = broker.bootstrap
        yield client
        client.desk.close()


def test_a_cluster(anyone):
    theirs = THEIRS.AdminClient({"bootstrap.servers": anyone.bootstrap})
    theirs.create_topics([THEIRS.NewTopic("t", 2, 1)])["t"].result(10)
    mine, other = anyone.list_topics("t"), theirs.list_topics("t", timeout=10)
    assert type(mine) is admin_metadata.ClusterMetadata
    assert (str(mine), repr(mine)) == (str(other), repr(other))
    assert [vars(one) for one in mine.brokers.values()] == [
        vars(one) for one in other.brokers.values()
    ]
    assert mine.topics.keys() == other.topics.keys() == {"t"}
    for ours, others in zip(
        mine.topics["t"].partitions.values(), other.topics["t"].partitions.values(), strict=True
    ):
        assert vars(ours) == vars(others)
        assert (str(ours), repr(ours)) == (str(others), repr(others))
    assert repr(mine.topics["t"]) == repr(other.topics["t"])
    assert mine.controller_id == other.controller_id
    assert (mine.orig_broker_id, mine.orig_broker_name) == (-1, f"{anyone.bootstrap}/bootstrap")
    again = anyone.list_topics()
    assert (again.orig_broker_id, again.orig_broker_name) == (1, f"{anyone.bootstrap}/1")
    assert anyone.list_topics("new").topics["new"].error is None  # made, as by theirs
    assert anyone.list_topics().topics.keys() == theirs.list_topics(timeout=10).topics.keys()


def test_nobody_answers():
    client = Anyone(bootstrap_servers=["127.0.0.1:1"])
    with pytest.raises(KafkaException) as caught:
        client.list_topics(timeout=0.05)
    assert caught.value.args[0].name() == "_TRANSPORT"
    client.desk.close()
    client.desk.close()
    with pytest.raises(TypeError, match="timeout"):
        client.list_topics(timeout="1")


def test_a_broker_that_is_there_does_not_answer_in_time(anyone):
    with EmbeddedBroker() as broker:
        client = Anyone(bootstrap_servers=[broker.bootstrap])
        assert client.list_topics(timeout=10).brokers
        broker.pause(1)
        with pytest.raises(KafkaException) as caught:
            client.list_topics(timeout=0.05)
        assert caught.value.args[0].name() == "_TIMED_OUT"
        broker.resume(1)
        client.desk.close()


class Ours:
    Consumer, TopicPartition = Consumer, TopicPartition


QUESTIONS = {
    "list_topics": lambda one, part: one.list_topics(timeout=0.3),
    "watermarks": lambda one, part: one.get_watermark_offsets(part("t", 0), timeout=0.3),
    "times": lambda one, part: one.offsets_for_times([part("t", 0, 1)], timeout=0.3),
    "committed": lambda one, part: one.committed([part("t", 0)], timeout=0.3),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_broker_at_all_is_said_as_theirs_says_it(question):
    names = []
    for library, error in ((Ours, KafkaException), (confluent_kafka, THEIRS_RAISE)):
        options = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}
        consumer = library.Consumer(options)
        with pytest.raises(error) as caught:
            QUESTIONS[question](consumer, library.TopicPartition)
        names.append(caught.value.args[0].name())
        consumer.close()
    assert names[0] == names[1]


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations(name):
    ours, theirs = getattr(admin_values, name), getattr(THEIRS, name)
    assert {one.name: one.value for one in ours} == {one.name: one.value for one in theirs}
    first, second = [*ours][:2]
    assert first < second
    made = admin_values.enum_of
    assert made(ours, first.name.lower()) is made(ours, first.value) is made(ours, first) is first
    with pytest.raises(ValueError, match="Unknown value"):
        admin_values.enum_of(ours, "nothing")
    with pytest.raises(TypeError, match="Unknown value"):
        admin_values.enum_of(ours, 1.5)


VALUES = [
    ("ConfigEntry", ("n", "v")),
    ("ConfigResource", ("topic", "t", {"a": "b"})),
    ("AclBinding", ("topic", "t", "literal", "User:a", "*", "read", "allow")),
    ("AclBindingFilter", ("any", None, "match", None, None, "any", "any")),
    ("NewTopic", ("t", 3, 1, None, {"a": "b"})),
    ("NewTopic", ("t",)),
    ("NewPartitions", ("t", 3)),
]


@pytest.mark.parametrize(("name", "given"), VALUES)
def test_values(name, given):
    mine, other = (getattr(kind, name)(*given) for kind in (admin_values, THEIRS))
    assert (str(mine), repr(mine)) == (str(other), repr(other))
    again = getattr(admin_values, name)(*given)
    if name != "ConfigEntry":
        assert mine == again
        assert hash(mine) == hash(again)
        assert not mine < again
        assert mine <= again
    fields = [one for one in dir(other) if one[0] != "_" and not callable(getattr(other, one))]
    assert [one for one in fields if not hasattr(mine, one)] == []


def test_configurations_to_set():
    for kind in (admin_values, THEIRS):
        resource = kind.ConfigResource(kind.ResourceType.TOPIC, "t", {"a": "1"})
        resource.set_config("a", "2", overwrite=False)
        resource.set_config("b", "3")
        resource.add_incremental_config(kind.ConfigEntry("c", "4"))
        assert resource.set_config_dict == {"a": "1", "b": "3"}
        assert len(resource) == 2
        assert [str(one) for one in resource.incremental_configs] == ['c="4"']


def test_offset_specs():
    for kind in (admin_values.OffsetSpec, THEIRS.OffsetSpec):
        assert kind(-1) is kind.latest()
        assert kind(-2) is kind.earliest()
        assert kind(-3) is kind.max_timestamp()
        assert kind(7).timestamp == kind.for_timestamp(7).timestamp == 7
        assert kind.earliest() < kind.latest() < kind.for_timestamp(0)


RESULTS = [
    name
    for name, one in vars(admin_results).items()
    if isinstance(one, type) and one.__module__ == admin_results.__name__
]


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    """Named and filled alike."""
    ours, theirs = getattr(admin_results, name), getattr(THEIRS, name)
    assert [*signature(ours).parameters] == [*signature(theirs).parameters]
    given = {one: 1 if one in OF_NUMBERS else [] for one in signature(theirs).parameters}
    made, other = vars(ours(**given)), vars(theirs(**given))
    assert {key: str(one) for key, one in made.items()} == {
        key: str(one) for key, one in other.items()
    }
