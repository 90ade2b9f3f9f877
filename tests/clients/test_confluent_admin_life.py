"""How an AdminClient that stands in for confluent-kafka's lives, beside what it asks."""

import gc
import logging
import os
import threading
import time

import pytest

import kcore
from kcore.clients.stand_in.confluent import admin_cluster
from kcore.clients.stand_in.confluent import admin_values as values
from kcore.clients.stand_in.confluent.admin import AdminClient
from kcore.clients.stand_in.confluent.constants import OFFSET_INVALID
from kcore.clients.stand_in.confluent.consumer import Consumer
from kcore.clients.stand_in.confluent.errors import KafkaError, KafkaException
from kcore.clients.stand_in.confluent.producer import Producer
from kcore.clients.stand_in.confluent.structures import (
    ConsumerGroupTopicPartitions,
    TopicPartition,
)
from kcore.embedded import EmbeddedBroker
from kcore.structs import OffsetAndMetadata

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}
CALL_S = 20


@pytest.fixture
def broker():
    with EmbeddedBroker() as made:
        yield made


@pytest.fixture
def admin(broker):
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as client:
        yield client


def code(future):
    error = future.exception(CALL_S)
    assert type(error) is KafkaException
    return error.args[0].name()


def threads():
    return [one for one in threading.enumerate() if one.name.startswith("kcore-admin")]


def test_calls_go_side_by_side(admin):
    slow = admin.describe_configs([values.ConfigResource("topic", "no")], request_timeout=10)
    quick = admin.describe_cluster()
    assert quick.result(CALL_S).nodes
    assert [code(future) for future in slow.values()] == ["UNKNOWN_TOPIC_OR_PART"]


def test_a_callback_may_ask(admin):
    seen = []
    future = admin.describe_cluster()
    future.add_done_callback(lambda _future: seen.append(admin.list_topics(timeout=CALL_S)))
    future.result(CALL_S)
    until = time.monotonic() + CALL_S
    while not seen and time.monotonic() < until:
        time.sleep(0.001)
    assert seen[0].brokers.keys() == {1}


def test_futures_run():
    """What was asked cannot be taken back, and ends in time."""
    with AdminClient(NOBODY) as admin:
        futures = admin.create_topics([values.NewTopic("t", 1, 1)], request_timeout=0.05)
        assert not futures["t"].cancel()
        assert len(admin) <= 1
        assert code(futures["t"]) == "_TIMED_OUT"
        assert len(admin) == 0


def test_closed_in_the_middle():
    admin = AdminClient(NOBODY)
    future = admin.describe_cluster()
    with admin:
        assert admin.poll(0) == 0
    assert code(future) == "_DESTROY"
    with pytest.raises(RuntimeError, match="AdminClient has been closed"):
        admin.describe_cluster()
    with pytest.raises(RuntimeError, match="Handle has been closed"):
        admin.list_topics()
    assert len(admin) == 0


def gone():
    until = time.monotonic() + CALL_S
    gc.collect()
    while threads() and time.monotonic() < until:
        time.sleep(0.01)
        gc.collect()  # a thread that was in the middle of a call held it the first time
    return threads() == []


@pytest.mark.parametrize("kind", [AdminClient, Consumer, Producer])
def test_dropped(broker, kind):
    client = kind({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    client.list_topics(timeout=CALL_S)
    assert threads()
    del client
    assert gone()


@pytest.mark.parametrize("kind", [AdminClient, Producer])
def test_dropped_while_somebody_is_in_the_middle_of_it(broker, kind):
    """Who collects garbage may be in the way of whom it waits for."""
    client = kind({"bootstrap.servers": broker.bootstrap})
    assert client.list_topics(timeout=CALL_S).brokers
    desk = client._desk
    held = [desk._lock, desk._hands._shutdown_lock]
    for lock in held:
        assert lock.acquire(timeout=CALL_S)
    waiting = threading.Thread(target=gc.collect, daemon=True)
    client.itself = client
    del client
    waiting.start()
    waiting.join(CALL_S)
    for lock in held:
        lock.release()
    assert not waiting.is_alive()
    desk._thread.join(CALL_S)
    assert not desk._thread.is_alive()


@pytest.mark.parametrize("kind", [Consumer, Producer])
def test_threads_that_ask_at_once_have_one_that_asks(broker, kind, monkeypatch):
    class Slow(admin_cluster.Desk):
        def __init__(self, *given):
            time.sleep(0.01)
            super().__init__(*given)

    monkeypatch.setattr(admin_cluster, "Desk", Slow)
    asked = threading.Barrier(8)
    with kind({"bootstrap.servers": broker.bootstrap, "group.id": "g"}) as client:
        found = []

        def ask():
            asked.wait(CALL_S)
            found.append(client._handle())

        asking = [threading.Thread(target=ask) for _ in range(8)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(CALL_S)
        assert len(found) == 8
        assert len({*map(id, found)}) == 1
    with pytest.raises(RuntimeError, match="Handle has been closed"):
        client.list_topics()


class Owner:
    """Its client's callback is its own."""

    def __init__(self):
        self.admin = AdminClient(NOBODY | {"error_cb": self.hear})

    def hear(self, error):
        raise AssertionError(error)


def test_dropped_with_its_owner():
    Owner()
    assert threads()
    assert gone()


def test_a_logger():
    logger = logging.getLogger("test_a_logger")
    lines = []
    logger.addFilter(lambda record: lines.append(record.getMessage()))
    with AdminClient(NOBODY, logger=logger) as admin:
        assert admin.poll(CALL_S) >= 1
    assert lines[0].startswith("FAIL [rdkafka] ")


def test_in_a_child(admin):
    assert admin.describe_cluster().result(CALL_S)
    child = os.fork()
    if not child:
        try:
            admin.describe_cluster()
        except KafkaException as error:
            os._exit(0 if error.args[0].name() == "_STATE" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert admin.describe_cluster().result(CALL_S)


def test_brokers_are_told_how_long(admin):
    """With no time at all they begin, and say so, which is no error."""
    new = [values.NewTopic("t", 1, 1)]
    assert admin.create_topics(new, operation_timeout=0)["t"].result(CALL_S) is None
    assert admin.delete_topics(["t"], operation_timeout=0)["t"].result(CALL_S) is None


def test_offsets_of_an_open_transaction_are_waited_for(broker, admin):
    broker.create_topic("t")
    wanted = [ConsumerGroupTopicPartitions("g", [TopicPartition("t", 0)])]

    def offsets(**options):
        (future,) = admin.list_consumer_group_offsets(wanted, **options).values()
        return future

    with kcore.Producer(bootstrap_servers=broker.bootstrap, transactional_id="x") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({("t", 0): OffsetAndMetadata(5, "", -1)}, "g")
        assert code(offsets(require_stable=True, request_timeout=0.05)) == "_TIMED_OUT"
        assert offsets().result(CALL_S).topic_partitions[0].offset == OFFSET_INVALID
        waiting = offsets(require_stable=True)
        producer.commit_transaction()
        assert waiting.result(CALL_S).topic_partitions[0].offset == 5


def test_errors_are_told():
    told = []
    with AdminClient(NOBODY | {"error_cb": told.append}) as admin:
        assert admin.poll(CALL_S) >= 1
    assert {error.name() for error in told} <= {"_TRANSPORT", "_ALL_BROKERS_DOWN"}
    assert all(type(error) is KafkaError for error in told)

    def strike(error):
        raise ValueError(error.name())

    admin = AdminClient(NOBODY, error_cb=strike)
    with admin, pytest.raises(ValueError, match="_"):
        admin.poll(CALL_S)


def test_passwords_change():
    with EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT",
        sasl_enabled_mechanisms="PLAIN",
        sasl_users={"alice": "right"},
    ) as broker:
        conf = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "wrong",
        }
        with AdminClient(conf) as admin:
            assert code(admin.describe_cluster()) == "SASL_AUTHENTICATION_FAILED"
            admin.set_sasl_credentials("alice", "right")
            assert admin.describe_cluster().result(CALL_S).nodes


@pytest.mark.parametrize(
    ("conf", "kind"),
    [({"no.such": 1}, KafkaException), ({"log_level": 99}, KafkaException), (None, TypeError)],
)
def test_configurations_that_cannot_be(conf, kind):
    with pytest.raises(kind):
        AdminClient(conf)
