"""Programs for confluent-kafka's clients see the same over ours, on the embedded broker: those that
wait for nothing. All of them, and on a real Kafka: tests/interop/test_confluent_kafka.py.
"""

import time
import types

import confluent_kafka
import pytest
from support.confluent_scenarios import SCENARIOS

import kcore
from kcore.admin import NewTopic
from kcore.broker import BrokerConfig
from kcore.clients.stand_in.confluent.messages import of_record
from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
QUICK = ("deliveries", "looking", "transactions")


@pytest.fixture(scope="module")
def where():
    with EmbeddedBroker() as broker:
        with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
            admin.create_topics(
                [
                    NewTopic(f"{name}-{whose}", 3, 1)
                    for name in QUICK
                    for whose in ("ours", "theirs")
                ]
            )
        yield broker.bootstrap


@pytest.mark.parametrize("scenario", QUICK)
def test_a_program_sees_the_same(where, scenario):
    run = SCENARIOS[scenario]
    theirs = run(confluent_kafka, where, f"{scenario}-theirs")
    assert run(OURS, where, f"{scenario}-ours") == theirs


def test_what_poll_has_taken_ahead_comes_by_consume_record_by_record(where):
    with kcore.Producer(bootstrap_servers=where) as producer:
        for number in range(60):
            producer.send("mixed", b"%d" % number, partition=0)
    conf = {"bootstrap.servers": where, "group.id": "mixed", "enable.partition.eof": True}
    with OURS.Consumer(conf) as consumer:
        consumer.assign([OURS.TopicPartition("mixed", 0, 0)])
        seen = [consumer.poll(10).offset() for _ in range(9)]
        for count in (1, 2, 1, 3) * 3:
            seen += [one.offset() for one in consumer.consume(count, 10)]
            seen.append(consumer.poll(10).offset())
        seen += [one.offset() for one in consumer.consume(60 - len(seen), 10)]
        assert seen == [*range(60)]
        end = consumer.poll(10)
        assert (end.error().name(), end.offset()) == ("_PARTITION_EOF", 60)


@pytest.mark.slow
def test_what_a_slow_program_has_ahead_of_it_is_read_anew(where):
    with kcore.Producer(bootstrap_servers=where) as producer:
        for number in range(40):
            producer.send("slow", b"%d" % number, partition=0)
    with OURS.Consumer({"bootstrap.servers": where, "group.id": "slow"}) as consumer:
        consumer.assign([OURS.TopicPartition("slow", 0, 0)])
        seen = []
        for number in range(40):
            if number % 5 == 4:
                consumer._hand.until = 0.0  # as if it had taken its time
            seen.append(consumer.poll(10).offset())
        assert seen == [*range(40)]
        assert consumer.commit(asynchronous=False)[0].offset == 40


WRONG = [
    {"group.id": "g", "no.such.name": 1},
    {"group.id": "g", "session.timeout.ms": "soon"},
    {"group.id": "g", "session.timeout.ms": -1},
    {"group.id": "g", "enable.auto.commit": "perhaps"},
    {"group.id": "g", "auto.offset.reset": "middle"},
    {"group.id": "g", "partition.assignment.strategy": "fair"},
    {"group.id": "g", "error_cb": 7},
    {"group.id": "g", 7: 7},
    {},
]
WRONG_FOR_PRODUCERS = [
    {"partitioner": "fair"},
    {"compression.type": "zip"},
    {"enable.idempotence": True, "acks": 1},
    {"linger.ms": -1},
    {"on_delivery": 7},
    {"no.such.name": 1},
]


def refused(make):
    """The kind of error, and its code."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what of it is compared
        make()
    kind = type(caught.value).__name__
    return kind, caught.value.args[0].code() if kind == "KafkaException" else None


@pytest.mark.parametrize("conf", WRONG)
def test_wrong_configurations_of_consumers(conf):
    theirs = refused(lambda: confluent_kafka.Consumer(conf))
    assert refused(lambda: OURS.Consumer(conf)) == theirs


@pytest.mark.parametrize("conf", WRONG_FOR_PRODUCERS)
def test_wrong_configurations_of_producers(conf):
    theirs = refused(lambda: confluent_kafka.Producer(conf))
    assert refused(lambda: OURS.Producer(conf)) == theirs


def test_hashes_of_keys():
    for number in range(200):
        key = b"key-%d" % number * (number % 7)
        for name in ("murmur2", "consistent", "fnv1a"):
            assert getattr(OURS, name)(key, 13) == getattr(confluent_kafka, name)(key, 13)


def test_a_message():
    record = kcore.ConsumerRecord(
        "t", 1, 3, 7, 1234, 0, b"k", b"v", [("h", b"1")], None, 1, 1, 2
    )  # fmt: skip
    ours = of_record(record)
    theirs = confluent_kafka.Message("t", 1, 7, b"k", b"v", [("h", b"1")], None, (1, 1234), -1.0, 3)
    for name in (
        "topic", "partition", "offset", "key", "value", "headers", "error", "timestamp", "latency",
        "leader_epoch", "delivery_count",
    ):  # fmt: skip
        assert getattr(ours, name)() == getattr(theirs, name)()
    assert len(ours) == len(theirs) == 1
    assert ours == of_record(record)
    assert OURS.Message(*ours.__reduce__()[1]) == ours
    ours.set_value("text")
    assert (ours.value(), ours.key(), ours.offset()) == ("text", b"k", 7)
    assert ours != of_record(record)
    assert of_record(record.__class__(*record[:8], [], *record[9:])).headers() is None
    with pytest.raises(TypeError, match="unhashable"):
        hash(ours)


def _three_read(where, topic, group, *, by_hand=True, **conf):
    """A consumer that was handed three records, and what on_commit is told."""
    with kcore.Producer(bootstrap_servers=where) as producer:
        for _ in range(3):
            producer.send(topic, b"v", partition=0)
    told = []

    def on_commit(error, partitions):
        told.append((None if error is None else error.name(), [one.offset for one in partitions]))

    own = {"bootstrap.servers": where, "group.id": group, "on_commit": on_commit}
    consumer = OURS.Consumer(own | {"auto.offset.reset": "earliest"} | conf)
    if by_hand:
        consumer.assign([OURS.TopicPartition(topic, 0, 0)])
    else:
        consumer.subscribe([topic])
    assert [consumer.poll(10).offset() for _ in range(3)] == [0, 1, 2]
    return consumer, told


def _committed(where, group):
    with kcore.Admin(bootstrap_servers=where) as admin:
        return {tp.topic: at.offset for tp, at in admin.list_group_offsets([group])[group].items()}


def _poll_until(consumer, condition):
    for _ in range(200):
        if condition():
            return
        consumer.poll(0.05)
    raise AssertionError("it did not come to that")


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "GROUP_AUTHORIZATION_FAILED"])
def test_an_automatic_commit_that_was_refused_is_made_again(error):
    with EmbeddedBroker() as broker:
        conf = {"auto.commit.interval.ms": 50}
        broker.refuse("OffsetCommit", error)
        consumer, told = _three_read(broker.bootstrap, "refused", "refused", **conf)
        _poll_until(consumer, lambda: (None, [3]) in told)
        assert told[0][0] == error  # of what was read by then
        assert _committed(broker.bootstrap, "refused") == {"refused": 3}
        consumer.close()


def test_what_was_not_committed_when_it_was_time_is_committed_at_the_end():
    with EmbeddedBroker() as broker:
        conf = {"auto.commit.interval.ms": 3_600_000}
        consumer, told = _three_read(broker.bootstrap, "last", "last", **conf)
        broker.refuse("OffsetCommit", "NOT_COORDINATOR")
        consumer.commit()
        _poll_until(consumer, lambda: told)
        consumer.close()
        assert told == [("NOT_COORDINATOR", [3]), (None, [3])]
        assert _committed(broker.bootstrap, "last") == {"last": 3}


def test_a_commit_that_nobody_has_answered_is_no_commit():
    with EmbeddedBroker() as broker:
        conf = {"enable.auto.commit": False}
        consumer, told = _three_read(broker.bootstrap, "asked", "asked", **conf)
        broker.delay("OffsetCommit", 300)
        consumer.commit()
        assert [one.offset for one in consumer.commit(asynchronous=False)] == [3]
        with pytest.raises(OURS.KafkaException) as nothing:
            consumer.commit(asynchronous=False)
        assert nothing.value.args[0].name() == "_NO_OFFSET"
        consumer.close()
        assert told == [(None, [3])]


def test_an_answer_about_what_is_read_anew_is_not_about_that():
    with EmbeddedBroker() as broker:
        conf = {"enable.auto.commit": False}
        consumer, told = _three_read(broker.bootstrap, "anew", "anew", **conf)
        broker.delay("OffsetCommit", 300)
        consumer.commit()
        consumer.assign([OURS.TopicPartition("anew", 0, 0)])
        assert consumer.poll(10).offset() == 0
        consumer.pause([OURS.TopicPartition("anew", 0)])
        _poll_until(consumer, lambda: told)
        assert [one.offset for one in consumer.commit(asynchronous=False)] == [1]
        consumer.close()


@pytest.mark.parametrize(
    ("place", "name"), [(("x!", 0, 1), "TOPIC_EXCEPTION"), (("t", -1, 1), "_INVALID_ARG")]
)
def test_what_cannot_be_committed_is_an_error_of_theirs(where, place, name):
    with OURS.Consumer({"bootstrap.servers": where, "group.id": "wrong"}) as consumer:
        with pytest.raises(OURS.KafkaException) as wrong:
            consumer.commit(offsets=[OURS.TopicPartition(*place)])
        assert wrong.value.args[0].name() == name


@pytest.mark.parametrize("text", [None, "", "{}", "n\u00e4chste"])
@pytest.mark.parametrize("writer", [OURS, confluent_kafka], ids=["ours", "theirs"])
def test_the_text_beside_an_offset_is_the_same_for_both(where, writer, text):
    with kcore.Producer(bootstrap_servers=where) as producer:
        producer.send("texts", b"v", partition=0).get()
    said = () if text is None else (text,)
    group = f"texts-{writer is OURS}-{text!r}"
    conf = {"bootstrap.servers": where, "group.id": group}
    consumer = writer.Consumer(conf)
    consumer.commit(offsets=[writer.TopicPartition("texts", 0, 1, *said)], asynchronous=False)
    consumer.close()
    for reader in (OURS, confluent_kafka):
        consumer = reader.Consumer(conf)
        (found,) = consumer.committed([reader.TopicPartition("texts", 0)], timeout=10)
        consumer.close()
        assert (found.offset, found.metadata) == (1, text)


def _strike(consumer, monkeypatch, calls):
    """Ctrl-C in the poll of ours that comes after so many."""
    poll = consumer._reader.poll

    def struck(*given):
        nonlocal calls
        calls -= 1
        if calls < 0:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return poll(*given)

    monkeypatch.setattr(consumer._reader, "poll", struck)


@pytest.mark.parametrize("seen", [1, 2])
def test_what_a_consume_that_was_struck_had_in_hand_comes_again(monkeypatch, seen):
    with EmbeddedBroker() as broker:
        where = broker.bootstrap
        with kcore.Producer(bootstrap_servers=where) as producer:
            for number in range(9):
                producer.send("struck", b"%d" % number, partition=0)
        conf = {
            "bootstrap.servers": where,
            "group.id": "struck",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
        for _ in range(2):  # closed at once, and after a look at the rest
            with OURS.Consumer(conf) as consumer:
                consumer.subscribe(["struck"])
                first = [one.offset() for _ in range(seen) for one in consumer.consume(1, 10)]
                _strike(consumer, monkeypatch, 3)
                with pytest.raises(KeyboardInterrupt):
                    consumer.consume(100, 10)
                if first[0]:
                    rest = consumer.consume(10 - 2 * seen, 10)
                    assert [one.offset() for one in rest] == [*range(2 * seen, 10)]
                    assert rest[-1].error().name() == "_PARTITION_EOF"
            assert first == [*range(first[0], first[0] + seen)]
            assert _committed(where, "struck") == {"struck": 9 if first[0] else seen}


def test_ctrl_c_in_a_poll_takes_no_commit_of_a_close(monkeypatch):
    with EmbeddedBroker() as broker:
        consumer, _ = _three_read(broker.bootstrap, "c", "c", by_hand=False)
        wait = consumer._reader._engine.pump.transport.wait

        def struck(_timeout_ms):
            consumer._reader._engine.pump.transport.wait = wait
            raise KeyboardInterrupt

        monkeypatch.setattr(consumer._reader._engine.pump.transport, "wait", struck)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(10)
        consumer.close()
        assert _committed(broker.bootstrap, "c") == {"c": 3}


@pytest.mark.slow
def test_a_close_waits_no_longer_for_brokers_that_are_gone_than_its_session_lasts():
    with EmbeddedBroker() as broker:
        conf = {"session.timeout.ms": 6_000}
        consumer, _ = _three_read(broker.bootstrap, "gone", "gone", by_hand=False, **conf)
        broker.stop()
        began = time.monotonic()
        consumer.close()
        assert time.monotonic() - began < 20


def test_what_was_left_out_of_an_assignment_is_read_by_the_next_subscription(where):
    with kcore.Admin(bootstrap_servers=where) as admin:
        admin.create_topics([NewTopic("left", 2, 1)])
    with kcore.Producer(bootstrap_servers=where) as producer:
        for number in range(4):
            producer.send("left", b"v", partition=number % 2)
    conf = {"bootstrap.servers": where, "group.id": "left", "auto.offset.reset": "earliest"}
    with OURS.Consumer(conf) as consumer:
        consumer.subscribe(["left"], on_assign=lambda one, places: one.assign(places[:1]))
        assert [one.partition() for one in consumer.consume(2, 10)] == [0, 0]
        consumer.subscribe(["left"])
        assert [one.partition() for one in consumer.consume(2, 10)] == [1, 1]


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5, 10, 50])
def test_a_close_commits_what_was_handed_over_and_nothing_that_poll_has_ahead(
    ninety, by_hand, count
):
    group = f"ahead-{by_hand}-{count}"
    conf = {
        "bootstrap.servers": ninety.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
    }
    with OURS.Consumer(conf) as consumer:
        if by_hand:
            consumer.assign([OURS.TopicPartition("ninety", 0)])
        else:
            consumer.subscribe(["ninety"])
        assert [consumer.poll(10).offset() for _ in range(count)] == [*range(count)]
    assert ninety.committed_offsets(group, "ninety") == [count]


@pytest.fixture(scope="module")
def ninety():
    """A broker with a topic of so many records."""
    with EmbeddedBroker() as broker:
        with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
            for number in range(90):
                producer.send("ninety", b"%d" % number)
        yield broker


def test_a_share_consumer_whose_password_is_refused_goes_on_and_says_so():
    told = []
    with EmbeddedBroker(security_protocol="SASL_PLAINTEXT", sasl_users={"ada": "right"}) as broker:
        conf = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ada",
            "sasl.password": "wrong",
            "error_cb": told.append,
        }
        with OURS.ShareConsumer(conf) as consumer:
            consumer.subscribe(["t"])
            looks, look = [], consumer._reader.poll
            consumer._reader.poll = lambda wait_ms: looks.append(wait_ms) or look(wait_ms)
            for _ in range(10):
                assert list(consumer.poll(0.1)) == []
            assert len(looks) < 40  # it waits, and does not spin until the time is over
            assert "SASL_AUTHENTICATION_FAILED" in {error.name() for error in told}
            with pytest.raises(TypeError):
                consumer.acknowledge_offset("t", 0, "0")


# Partitions of a group that the program assigns itself --------------------------------------------

BOTH = pytest.mark.parametrize("library", [OURS, confluent_kafka], ids=["ours", "theirs"])
_MESSAGES = 6


@pytest.fixture
def grouped(where, request):
    """A consumer of a group, which has read all of a topic's three partitions, and their ends."""
    made = []
    topic = "".join(one if one.isalnum() else "-" for one in request.node.name)

    def make(library, **conf):
        with kcore.Admin(bootstrap_servers=where) as admin:
            admin.create_topics([NewTopic(topic, 3, 1)])
        with kcore.Producer(bootstrap_servers=where) as producer:
            for number in range(3 * _MESSAGES):
                producer.send(topic, b"%d" % number, partition=number % 3)
        common = {
            "bootstrap.servers": where,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        consumer = library.Consumer(common | conf)
        made.append(consumer)
        consumer.subscribe([topic])
        assert _read(consumer, 3) == [{part: [*range(_MESSAGES)] for part in range(3)}, {0, 1, 2}]
        return consumer, lambda part, *offset: library.TopicPartition(topic, part, *offset)

    yield make
    for consumer in made:
        consumer.close()


def _read(consumer, ends):
    """[offsets by partition, whose end was told], when that many ends have been."""
    offsets, told = {}, []
    deadline_s = time.monotonic() + 20
    while len(told) < ends:
        assert time.monotonic() < deadline_s, (offsets, told)
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            assert message.error().name() == "_PARTITION_EOF", message.error()
            told.append(message.partition())
        else:
            offsets.setdefault(message.partition(), []).append(message.offset())
    return [offsets, {*told}]


@BOTH
def test_what_is_assigned_again_is_read_from_where_it_is_committed(grouped, library):
    consumer, part = grouped(library)
    consumer.commit(offsets=[part(1, 4)], asynchronous=False)
    consumer.assign([part(0), part(1), part(2, library.OFFSET_STORED)])
    everything = [*range(_MESSAGES)]
    assert _read(consumer, 3) == [{0: everything, 1: [4, 5], 2: everything}, {0, 1, 2}]
    consumer.assign([part(1)])
    assert _read(consumer, 1) == [{1: [4, 5]}, {1}]
    consumer.unassign()
    consumer.assign([part(0, 3), part(1)])
    assert _read(consumer, 2) == [{0: [3, 4, 5], 1: [4, 5]}, {0, 1}]


@BOTH
def test_ends_of_what_is_assigned_again_are_told_again(grouped, library):
    consumer, part = grouped(library)
    for _ in range(2):
        consumer.assign([part(0, library.OFFSET_END), part(2, _MESSAGES)])
        assert _read(consumer, 2) == [{}, {0, 2}]


@BOTH
def test_in_a_group_partitions_are_added_to_those_that_are_read(grouped, library):
    consumer, part = grouped(library, **{"partition.assignment.strategy": "cooperative-sticky"})
    consumer.incremental_unassign([part(0), part(1)])
    with pytest.raises(library.KafkaException) as gone:
        consumer.incremental_unassign([part(0)])
    assert gone.value.args[0].name() == "_INVALID_ARG"
    consumer.incremental_assign([part(1, 4)])
    assert sorted(one.partition for one in consumer.assignment()) == [1, 2]
    assert _read(consumer, 1) == [{1: [4, 5]}, {1}]
    with pytest.raises(library.KafkaException) as there:
        consumer.incremental_assign([part(2)])
    assert there.value.args[0].name() == "_CONFLICT"
    consumer.incremental_assign([part(0)])
    assert _read(consumer, 1) == [{0: [*range(_MESSAGES)]}, {0}]
    assert sorted(one.partition for one in consumer.assignment()) == [0, 1, 2]


def test_a_topic_that_is_not_there_is_told_of_as_soon_as_it_is_known():
    with EmbeddedBroker(config=BrokerConfig(auto_create_topics=False)) as broker:
        conf = {"bootstrap.servers": broker.bootstrap, "group.id": "g"}
        with OURS.Consumer(conf) as consumer:
            consumer.subscribe(["nowhere"])
            begun_s = time.monotonic()
            error = consumer.poll(20).error()
            assert error.name() == "UNKNOWN_TOPIC_OR_PART"
            assert time.monotonic() - begun_s < 0.8  # its slices of waiting have a second
