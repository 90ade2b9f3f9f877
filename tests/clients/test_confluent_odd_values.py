"""Values that programs seldom give: what confluent-kafka takes is taken, what it refuses is not."""

import types

import confluent_kafka
import confluent_kafka.admin
import pytest

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
OURS.admin = types.SimpleNamespace(**MODULES["confluent_kafka.admin"])
LIMIT_S = 20


@pytest.fixture(scope="module")
def where():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        yield broker.bootstrap


def outcome(ck, call):
    """What comes of it, or what is raised."""
    try:
        return call()
    except ck.KafkaException as error:
        return error.args[0].name()
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        return type(error).__name__


def same(run):
    """Both say the same, which is returned."""
    theirs = run(confluent_kafka)
    assert run(OURS) == theirs
    return theirs


def produced(where, topic="t", **given):
    """What a delivery report says, and the headers that a reader gets, where it is there."""

    def run(ck):
        seen = []

        def heard(error, message):
            seen.append((error and error.name(), message.partition(), message.offset()))

        producer = ck.Producer({"bootstrap.servers": where, "log_level": 0})
        rest = {"value": b"v", "on_delivery": heard} | given
        found = outcome(ck, lambda: producer.produce(topic, **rest))
        producer.flush(LIMIT_S)
        if found is not None or not seen or seen[0][0] is not None:
            return found or [one[:2] for one in seen]
        (error, partition, offset) = seen[0]
        with reader(ck, where) as consumer:
            consumer.assign([ck.TopicPartition("t", partition, offset)])
            return error, consumer.poll(LIMIT_S).headers()

    return run


def reader(ck, where, group="odd"):
    return ck.Consumer({"bootstrap.servers": where, "group.id": group, "log_level": 0})


@pytest.mark.parametrize(
    ("headers", "taken"),
    [
        (None, None),
        ([], None),
        ({}, None),
        ([("a", None)], [("a", None)]),
        ({"a": "text"}, [("a", b"text")]),
        ({1: b"x"}, [("1", b"x")]),
        ([(b"a", b"x"), (None, b"y")], [("b'a'", b"x"), ("None", b"y")]),
        ([("a\0b", b"x\0y")], [("a", b"x\0y")]),
        ([("a", "x\0y")], [("a", b"x")]),
        (0, "TypeError"),
        ("", "TypeError"),
        ((), "TypeError"),
        ((("a", b"x"),), "TypeError"),
        ([["a", b"x"]], "TypeError"),
        ([("a", b"x", b"y")], "TypeError"),
        ([("a", 1)], "TypeError"),
        ([("a", bytearray(b"x"))], "TypeError"),
        ({"a": memoryview(b"x")}, "TypeError"),
    ],
)
def test_headers(where, headers, taken):
    found = same(produced(where, headers=headers))
    assert found == (taken if isinstance(taken, str) else (None, taken))


@pytest.mark.parametrize("partition", [-2, -3, -1001, 5, 2**31 - 1])
def test_partitions_to_write_to(where, partition):
    found = same(produced(where, partition=partition))
    assert found == [("_UNKNOWN_PARTITION", partition)]


@pytest.mark.parametrize(
    ("topic", "refused"),
    [("a\0b", "ValueError"), ("\0", "ValueError"), (None, "TypeError"), (b"t", "TypeError")],
)
def test_topics_to_write_to(where, topic, refused):
    assert same(produced(where, topic)) == refused


@pytest.mark.parametrize("field", ["key", "value"])
@pytest.mark.parametrize("given", [bytearray(b"x"), memoryview(b"x"), 0, ()], ids=type)
def test_parts_of_messages(where, field, given):
    assert same(produced(where, **{field: given})) == "TypeError"


def shown(partitions):
    return [(one.topic, one.partition, one.offset, one.error) for one in partitions]


ODD = [
    ("t", -1),
    ("t", -3),
    ("t", -1001),
    ("t", 7),
    ("t", 2**31 - 1),
    ("", 0),
    ("a\1b", 0),
    ("not-there", 0),
    ("t", 0, -5),
    ("t", 0, -1001),
    ("t", 0, -1000),
    ("t", 0, -2),
    ("t", 0, -3_000),
]


@pytest.mark.parametrize("verb", ["assign", "incremental_assign"])
@pytest.mark.parametrize("odd", ODD, ids=str)
def test_partitions_to_read(where, verb, odd):
    """Beside one that can be read, which goes on when they are taken away again."""

    def run(ck):
        with reader(ck, where) as consumer:
            both = [ck.TopicPartition("t", 1), ck.TopicPartition(*odd)]
            found = outcome(ck, lambda: getattr(consumer, verb)(both))
            seen = [found, shown(consumer.assignment())]
            if found is None:
                consumer.incremental_unassign(both[1:])
                seen.append(shown(consumer.assignment()))
            return seen

    found = same(run)
    assert found[0] == ("_INVALID_ARG" if odd == ("t", 0, -5) else None)


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_partitions_that_something_was_committed_for(where, odd):
    def run(ck):
        with reader(ck, where, "that has nothing") as consumer:
            both = [ck.TopicPartition("t", 1), ck.TopicPartition(*odd)]
            return shown(consumer.committed(both, timeout=LIMIT_S))

    found = same(run)
    assert found[1][2:] == (-1001, None)


@pytest.mark.parametrize("verb", ["assign", "incremental_assign"])
def test_a_partition_is_read_once(where, verb):
    def run(ck):
        with reader(ck, where) as consumer:
            twice = [ck.TopicPartition("t", 0), ck.TopicPartition("t", 0, 5)]
            return outcome(ck, lambda: getattr(consumer, verb)(twice)), consumer.assignment()

    assert same(run) == ("_INVALID_ARG", [])


@pytest.mark.parametrize("given", [None, [], 5])
def test_unassign_takes_nothing(where, given):
    def run(ck):
        with reader(ck, where) as consumer:
            return outcome(ck, lambda: consumer.unassign(given))

    assert same(run) == "TypeError"


def test_names_to_subscribe_to(where):
    def run(ck):
        with reader(ck, where) as consumer:
            return [
                outcome(ck, lambda names=names: consumer.subscribe(names))
                for names in ([5], [None], [""], [], ("t",), "t", None)
            ]

    assert same(run)[:2] == [None, None]


KINDS = ["topic", 2, "TOPIC", "broker", "x", 99, 1, 0, "any", "Topic ", "group", 32, 16, True]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize("name", ["t", "", None, 5, b"t"], ids=repr)
def test_resources(kind, name):
    def run(ck):
        return outcome(ck, lambda: str(ck.admin.ConfigResource(kind, name)))

    same(run)


@pytest.mark.parametrize("given", [None, {}, {"a": "b"}, 0, "", "text", 5, (), b""])
def test_options_of_resources(given):
    def run(ck):
        return outcome(
            ck, lambda: ck.admin.ConfigResource("topic", "t", set_config=given).set_config_dict
        )

    same(run)


CALLBACKS = ["error_cb", "stats_cb", "throttle_cb", "oauth_cb", "on_delivery", "on_commit"]


@pytest.mark.parametrize("name", CALLBACKS)
@pytest.mark.parametrize("kind", ["Producer", "Consumer"])
def test_a_callback_that_is_none_is_none(where, name, kind):
    """confluent-kafka 2.15 and 2.16 refuse that in a configuration. Ours goes on as without."""

    def run(ck):
        conf = {"bootstrap.servers": where, "group.id": "odd", "log_level": 0, name: None}
        made = outcome(ck, lambda: getattr(ck, kind)(conf))
        if isinstance(made, str):
            return made
        made.close()
        return None

    assert run(OURS) is None
    assert run(confluent_kafka) in {"TypeError", "ValueError", "_INVALID_ARG"}


def test_a_callback_that_is_none_in_a_call(where):
    def run(ck):
        producer = ck.Producer({"bootstrap.servers": where, "log_level": 0})
        producer.produce("t", b"v", on_delivery=None)
        producer.produce("t", b"v", callback=None)
        producer.produce("t", b"v", callback=None, on_delivery=None)
        return producer.flush(LIMIT_S)

    assert same(run) == 0
    with reader(OURS, where) as consumer:  # theirs is a TypeError, in 2.16.1
        consumer.subscribe(["t"], on_assign=None, on_revoke=None, on_lost=None)
