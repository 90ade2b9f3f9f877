"""What `unsubscribe` gives up is the consumer's until its listener has heard of it."""

import pytest

from kcore import Admin, Consumer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EACH = 5


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        for partition in range(2):
            running.produce("t", [(None, b"v")] * EACH, partition=partition)
        yield running


@pytest.fixture(params=["classic", "consumer"])
def consumer(broker, request):
    options = {"bootstrap_servers": broker.bootstrap, "group_id": request.node.name}
    options |= {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    with Consumer(**options, group_protocol=request.param) as made:
        yield made


class Listener:
    """Does something with the consumer when it hears what goes."""

    def __init__(self, then):
        self.then = then
        self.told = []

    def on_partitions_assigned(self, assigned):
        pass

    def on_partitions_revoked(self, revoked):
        self.told.append((revoked, self.then()))


def read_all(consumer, listener=None):
    if listener is not None:
        consumer.subscribe(["t"], listener=listener)
    left = 2 * EACH
    while left:
        found = consumer.poll(timeout_ms=10_000)
        assert found
        left -= sum(map(len, found.values()))


def committed(broker, consumer):
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        found = admin.list_group_offsets(consumer.config["group_id"])
    return {tp: at.offset for tp, at in next(iter(found.values())).items()}


def test_a_listener_commits_what_was_read(broker, consumer):
    def commit():
        found = consumer.assignment(), [consumer.position(tp) for tp in (T0, T1)]
        consumer.commit()
        return found

    listener = Listener(commit)
    read_all(consumer, listener)
    consumer.unsubscribe()
    assert listener.told == [({T0, T1}, ({T0, T1}, [EACH, EACH]))]
    assert consumer.assignment() == set()
    assert committed(broker, consumer) == {T0: EACH, T1: EACH}


def test_a_listener_that_assigns_by_hand_has_what_it_assigned(consumer):
    listener = Listener(lambda: consumer.assign([T1]))
    read_all(consumer, listener)
    consumer.unsubscribe()
    assert [told for told, _ in listener.told] == [{T0, T1}]
    assert consumer.assignment() == {T1}
    consumer.seek(T1, 2)
    assert [one.offset for one in consumer.poll(timeout_ms=5_000)[T1]] == [2, 3, 4]


def test_nothing_more_is_read(consumer):
    def back():
        consumer.seek(T0, 0)
        with pytest.raises(errors.IllegalStateError):
            consumer.poll(timeout_ms=50)

    listener = Listener(back)
    read_all(consumer, listener)
    consumer.unsubscribe()
    assert listener.told == [({T0, T1}, None)]


def test_who_subscribes_again_within_it_reads_on(consumer):
    listener = Listener(lambda: consumer.subscribe(["t"]))
    read_all(consumer, listener)
    consumer.unsubscribe()
    assert consumer.assignment() == set()
    read_all(consumer)
    assert consumer.assignment() == {T0, T1}
