"""What `produce` takes and refuses under confluent-kafka's name, and what becomes of it."""

import gc
import os
import threading
import types
import weakref

import confluent_kafka
import pytest

import kcore
from kcore.broker import BrokerConfig
from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
BOTH = pytest.mark.parametrize("library", [OURS, confluent_kafka], ids=["ours", "theirs"])


@pytest.fixture(scope="module")
def where():
    with EmbeddedBroker() as broker:
        broker.create_topic("four", 4)
        yield broker.bootstrap


@pytest.fixture
def make(where):
    """Producers of ours, closed at the end."""
    made = []

    def one(**conf):
        made.append(OURS.Producer({"bootstrap.servers": where, **conf}))
        return made[-1]

    yield one
    for producer in made:
        producer.close()


@BOTH
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"topic": "t", "partition": "a"}, TypeError),
        ({"topic": "t", "partition": 1.5}, TypeError),
        ({"topic": "t", "partition": None}, TypeError),
        ({"topic": "t", "partition": 1 << 40}, OverflowError),
        ({"topic": "t", "timestamp": "a"}, TypeError),
        ({"topic": "t", "timestamp": 1 << 70}, OverflowError),
        ({"topic": "t", "value": 5}, TypeError),
        ({"topic": "t", "key": 5}, TypeError),
        ({"topic": 5}, TypeError),
        ({}, TypeError),
        ({"topic": "t", "headers": (("a", "b"),)}, TypeError),
        ({"topic": "t", "headers": [("a", 2)]}, TypeError),
        ({"topic": "t", "value": b"x", "nothing": 1}, TypeError),
    ],
)
def test_what_is_no_message_is_refused(library, given, error):
    producer = library.Producer({"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(error):
        producer.produce(**given)
    assert library is confluent_kafka or len(producer) == 0  # theirs counts events, too


@BOTH
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"partition": "a"}, TypeError),
        ({"partition": 1.5}, TypeError),
        ({"partition": 1 << 40}, OverflowError),
        ({"offset": 1 << 80}, OverflowError),
        ({"latency": "x"}, TypeError),
        ({"leader_epoch": "x"}, TypeError),
        ({"delivery_count": 1 << 20}, OverflowError),
        ({"timestamp": [1, 2]}, TypeError),
    ],
)
def test_what_a_message_is_made_of(library, given, error):
    with pytest.raises(error):
        library.Message(**given)


def test_reports_come_in_the_order_of_each_partition_whatever_way_a_message_went(make):
    """Those before the topic is known, those that open a batch, and all others."""
    told = []
    producer = make(**{"batch.size": 2_000})

    def hear(error, message):
        assert error is None
        told.append((message.partition(), message.offset(), int(message.value())))

    for number in range(5_000):
        headers = {"n": str(number)} if number % 7 == 0 else None
        producer.produce("four", b"%d" % number, None, number % 4, hear, headers=headers)
        if number % 100 == 0:
            producer.poll(0.01)
    assert producer.flush(30) == 0
    assert len(producer) == 0
    for partition in range(4):
        mine = [(offset, value) for at, offset, value in told if at == partition]
        assert [value for _, value in mine] == [*range(partition, 5_000, 4)]
        assert [offset for offset, _ in mine] == [*range(mine[0][0], mine[0][0] + 1_250)]


def test_threads_produce_and_poll_side_by_side(make):
    told = []
    producer = make()
    over = threading.Event()

    def produce(name):
        for number in range(2_000):
            producer.produce("four", b"%d" % number, name, on_delivery=hear)

    def hear(error, message):
        assert error is None
        told.append((message.key(), int(message.value())))

    def poll():
        while not over.is_set():
            producer.poll(0.01)

    names = [b"a", b"b", b"c"]
    workers = [threading.Thread(target=produce, args=(name,)) for name in names]
    pollers = [threading.Thread(target=poll) for _ in range(2)]
    for one in workers + pollers:
        one.start()
    for one in workers:
        one.join()
    assert producer.flush(30) == 0
    over.set()
    for one in pollers:
        one.join()
    for name in names:
        assert [number for key, number in told if key == name] == [*range(2_000)]


def test_a_callback_that_raises_costs_no_other_report(make):
    told = []
    producer = make()

    def hear(_error, message):
        told.append(message.value())
        if len(told) == 2:
            raise LookupError("of the program's own")

    for number in range(5):
        producer.produce("four", b"%d" % number, partition=0, on_delivery=hear)
    with pytest.raises(LookupError):
        producer.flush(30)
    assert told == [b"0", b"1"]
    assert len(producer) == 3
    assert producer.flush(30) == 0
    assert told == [b"0", b"1", b"2", b"3", b"4"]


def test_a_callback_may_produce_and_poll(make):
    told = []
    producer = make()

    def hear(_error, message):
        told.append(message.value())
        if message.value().startswith(b"first"):
            producer.produce("four", b"second", on_delivery=hear)
            producer.poll(0)

    for number in range(20):
        producer.produce("four", b"first %d" % number, partition=1, on_delivery=hear)
    assert producer.flush(30) == 0
    assert len(told) == 40
    assert [one for one in told if one != b"second"] == [b"first %d" % n for n in range(20)]


def test_a_full_queue_has_room_again_when_reports_were_told(make):
    producer = make(**{"queue.buffering.max.messages": 10})
    for _ in range(10):
        producer.produce("four", b"x")
    with pytest.raises(BufferError, match="Local: Queue full"):
        producer.produce("four", b"x")
    assert producer.flush(30) == 0
    producer.produce("four", b"x")
    assert len(producer) == 1
    assert producer.flush(30) == 0


def test_a_producer_that_its_callbacks_hold_is_let_go(where):
    def use():
        producer = OURS.Producer({"bootstrap.servers": where})
        for wait in (30, 0):
            producer.produce("four", b"x", on_delivery=lambda *_: len(producer))
            producer.flush(wait)
        return weakref.ref(producer), producer._writer._courier

    held, courier = use()
    for _ in range(200):
        gc.collect()
        if held() is None and courier.over:
            break
        threading.Event().wait(0.05)
    assert (held(), courier.over) == (None, True)


def test_in_the_child_of_a_fork_nothing_is_taken(make):
    producer = make(**{"linger.ms": 10_000})
    producer.produce("four", b"before", partition=0)
    while not producer._counter.taken or producer._kept:
        threading.Event().wait(0.01)
    child = os.fork()
    if not child:
        code = 1
        try:
            producer.produce("four", b"in the child", partition=0)
        except OURS.KafkaException as error:
            code = 0 if "fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert producer.flush(30) == 0


def _transactional(broker, **conf):
    own = {"bootstrap.servers": broker.bootstrap, "transactional.id": "unknown"}
    producer = OURS.Producer(own | conf)
    producer.init_transactions(20)
    producer.begin_transaction()
    return producer


def _seen(broker, topic):
    with kcore.Consumer(
        bootstrap_servers=broker.bootstrap, isolation_level="read_committed"
    ) as consumer:
        place = kcore.TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        return [record.value for record in consumer.read_until(consumer.end_offsets([place]))]


@pytest.fixture
def strict():
    """A broker that makes no topics by itself."""
    with EmbeddedBroker(config=BrokerConfig(auto_create_topics=False)) as broker:
        yield broker


def test_what_waits_for_its_topic_goes_with_the_transaction_that_is_aborted(strict):
    told = []
    producer = _transactional(strict)
    producer.produce("later", "aborted", on_delivery=lambda error, _: told.append(error.name()))
    producer.abort_transaction(20)
    assert told == ["_PURGE_QUEUE"]
    producer.begin_transaction()
    strict.create_topic("later")
    producer.produce("later", "committed")
    producer.commit_transaction(20)
    producer.close()
    assert _seen(strict, "later") == [b"committed"]


def test_a_transaction_is_not_committed_without_what_waits_for_its_topic(strict):
    producer = _transactional(strict)
    producer.produce("late", "v")
    with pytest.raises(OURS.KafkaException) as wait:
        producer.commit_transaction(0.2)
    error = wait.value.args[0]
    assert (error.name(), error.retriable()) == ("_TIMED_OUT", True)
    strict.create_topic("late")
    producer.commit_transaction(20)
    producer.close()
    assert _seen(strict, "late") == [b"v"]


@pytest.mark.parametrize("how", ["timeout", "purge"])
def test_nor_without_what_had_no_topic_in_time(strict, how):
    strict.create_topic("there")
    producer = _transactional(
        strict, **{"message.timeout.ms": 300, "transaction.timeout.ms": 60_000}
    )
    producer.produce("there", "v")
    producer.produce("nowhere", "v")
    if how == "purge":
        producer.purge(in_flight=False)
    with pytest.raises(OURS.KafkaException) as failed:
        producer.commit_transaction(20)
    error = failed.value.args[0]
    assert (error.name(), error.txn_requires_abort()) == ("_INCONSISTENT", True)
    producer.abort_transaction(20)
    producer.begin_transaction()
    producer.produce("there", "again")
    producer.commit_transaction(20)
    producer.close()
    assert _seen(strict, "there") == [b"again"]


# Topics that nobody can write to ------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", ["no name", "", "..", "x" * 250])
def test_a_message_for_what_is_no_topic_name_fails_at_once(library, where, name):
    told = []
    producer = library.Producer({"bootstrap.servers": where})
    producer.produce(name, "v", on_delivery=lambda error, _: told.append(error.name()))
    assert producer.flush(20) == 0
    assert told == ["TOPIC_EXCEPTION"]


@BOTH
def test_a_message_for_a_topic_that_is_not_ours_fails_at_once(library):
    told = []
    with EmbeddedBroker(authorizer=True) as broker:
        broker.create_topic("secret")
        producer = library.Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("secret", "v", on_delivery=lambda error, _: told.append(error.name()))
        assert producer.flush(20) == 0
        assert told == ["TOPIC_AUTHORIZATION_FAILED"]


def test_and_goes_when_it_is_allowed_meanwhile():
    told = []
    with EmbeddedBroker(authorizer=True) as broker:
        broker.create_topic("secret")
        producer = OURS.Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("secret", "v", on_delivery=lambda error, _: told.append(error.name()))
        assert producer.flush(20) == 0
        broker.allow("User:ANONYMOUS", ["WRITE", "DESCRIBE"], topic="secret")
        producer.produce("secret", "v", on_delivery=lambda error, _: told.append(error))
        assert producer.flush(20) == 0
        producer.close()
    assert told == ["TOPIC_AUTHORIZATION_FAILED", None]


@BOTH
@pytest.mark.parametrize("partition", [-1, 0])
def test_a_message_for_a_topic_that_is_not_there_fails_before_its_time_is_over(
    library, strict, partition
):
    told = []
    producer = library.Producer(
        {"bootstrap.servers": strict.bootstrap, "topic.metadata.propagation.max.ms": 300}
    )
    producer.produce(
        "nowhere", "v", partition=partition, on_delivery=lambda error, _: told.append(error.name())
    )
    assert producer.flush(20) == 0
    assert told == ["UNKNOWN_TOPIC_OR_PART"]


def test_and_goes_to_one_that_was_made_meanwhile(strict):
    told = []
    producer = OURS.Producer(
        {"bootstrap.servers": strict.bootstrap, "topic.metadata.propagation.max.ms": 1_000}
    )
    producer.produce("made", "v", on_delivery=lambda error, _: told.append(error.name()))
    assert producer.flush(20) == 0
    strict.create_topic("made")
    producer.produce("made", "v", on_delivery=lambda error, _: told.append(error))
    assert producer.flush(20) == 0
    producer.close()
    assert told == ["UNKNOWN_TOPIC_OR_PART", None]


def test_without_a_broker_a_message_has_all_its_time():
    told = []
    with EmbeddedBroker() as broker:
        server = broker.bootstrap
    producer = OURS.Producer(
        {
            "bootstrap.servers": server,
            "topic.metadata.propagation.max.ms": 0,
            "message.timeout.ms": 700,
        }
    )
    producer.produce("nowhere", "v", on_delivery=lambda error, _: told.append(error.name()))
    assert producer.flush(0.3) == 1
    assert producer.flush(20) == 0
    assert told == ["_MSG_TIMED_OUT"]
    producer.close()


@BOTH
def test_before_init_transactions_nothing_is_taken(library, strict):
    producer = library.Producer(
        {"bootstrap.servers": strict.bootstrap, "transactional.id": "early"}
    )
    with pytest.raises(library.KafkaException) as refused:
        producer.produce("unknown to us", "v")
    assert refused.value.args[0].name() == "_STATE"
    with pytest.raises(library.KafkaException) as refused:
        producer.produce("strange", "v")
    assert refused.value.args[0].name() == "_STATE"
    assert len(producer) == 0
