"""A topic is deleted and made anew while records of it are in the hands of a loop, of workers:
where those are is no place in the new one. They are handled still; nothing of them is committed
there, and nobody goes on behind them.
"""

import threading
import time
import types

import pytest
from at_work import LIMIT_S, T0, Handler, Running, committed_now, consumer, embedded, fill, until

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.events import TopicRecreated

# Hears of it soon, and does not make it itself.
QUICK = {"metadata_max_age_ms": 100, "allow_auto_create_topics": False}


@pytest.fixture
def broker():
    with embedded() as broker:
        yield broker


def remake(broker, heard, count):
    """Delete and make it, with so many records; back when the consumer has heard of it, of its
    keeper at the latest.
    """
    broker.delete_topic("t")
    broker.create_topic("t", 2)
    fill(broker, count)
    until(lambda: any(one.partition == T0 for one in heard if isinstance(one, TopicRecreated)))


@pytest.fixture
def looping(broker):
    """A loop that has come to record 9 of 60, of 30 that there are anew."""
    fill(broker, 60)
    heard = []
    with consumer(broker, **QUICK, max_poll_records=500) as one:
        one.observe(heard.append)
        assert [next(one).offset for _ in range(10)] == list(range(10))
        remake(broker, heard, 30)
        yield one


def polled(one, count):
    found = []
    end = time.monotonic() + LIMIT_S
    while len(found) < count:
        assert time.monotonic() < end
        for records in one.poll(100).values():
            found += [record.offset for record in records]
    return found


def test_a_poll_behind_a_loop_begins_anew(looping):
    assert polled(looping, 30) == list(range(30))


def remake_unheard(broker, count):
    broker.delete_topic("t")
    broker.create_topic("t", 2)
    fill(broker, count)


def test_a_poll_behind_a_loop_that_hears_of_it_then_begins_anew(broker):
    """It goes back to where the loop was first, which is a place in the old one."""
    fill(broker, 60)
    with consumer(broker, max_poll_records=500, allow_auto_create_topics=False) as one:
        assert [next(one).offset for _ in range(10)] == list(range(10))
        remake_unheard(broker, 80)
        assert polled(one, 80) == list(range(80))


def test_what_is_sought_counts_in_the_new_one(broker):
    """The program may have made it itself."""
    fill(broker, 60)
    with consumer(broker, max_poll_records=500, allow_auto_create_topics=False) as one:
        assert polled(one, 60) == list(range(60))
        remake_unheard(broker, 80)
        one.seek(T0, 20)
        assert polled(one, 60) == list(range(20, 80))


def test_a_loop_commits_nothing_of_it(looping):
    assert looping.position(T0) == 0
    looping.commit()
    assert looping.committed(T0) in (None, 0)
    assert next(looping).offset == 10
    looping.commit()
    assert looping.committed(T0) in (None, 0)


def test_a_loop_goes_through_what_it_has_and_begins_anew(looping):
    assert [next(looping).offset for _ in range(80)] == [*range(10, 60), *range(30)]
    looping.commit()
    assert looping.committed(T0) == 30


def test_a_partition_that_is_paused_gives_nothing_more_of_it(looping):
    looping.pause([T0])
    assert not looping.poll(100)
    looping.resume([T0])
    assert polled(looping, 30) == list(range(30))


def test_the_end_of_a_loop_commits_nothing_of_it(broker):
    fill(broker, 60)
    heard = []
    with consumer(broker, **QUICK, max_poll_records=500, enable_auto_commit=True) as one:
        one.observe(heard.append)
        assert [next(one).offset for _ in range(10)] == list(range(10))
        remake(broker, heard, 30)
    assert committed_now(broker) in (None, 0)


def test_who_reads_to_the_end_that_was_waits_for_nothing_more_of_it(broker):
    """It would wait for an end that the new topic has not, or read records that came later."""
    fill(broker, 60)
    heard = []
    with consumer(broker, **QUICK, max_poll_records=10) as one:
        one.observe(heard.append)
        assert polled(one, 10) == list(range(10))
        reading = one.read_until(timeout_ms=5_000)
        assert [next(reading).offset for _ in range(5)] == list(range(10, 15))
        remake(broker, heard, 30)
        assert [record.offset for record in reading] == list(range(15, 20))
        assert polled(one, 30) == list(range(30))


def test_workers_commit_nothing_of_it(broker):
    fill(broker, 60)
    handler, gate = Handler(), threading.Event()
    handler.gates[30] = gate
    heard = []
    with consumer(broker, **QUICK) as one:
        one.observe(heard.append)
        with Running(one, handler, threads=3, commit_interval_ms=20):
            until(lambda: len(handler.done) == 54)  # 30 and all of its key behind it are not
            until(lambda: committed_now(broker) == 30)
            remake(broker, heard, 0)
            gate.set()
            until(lambda: len(handler.done) == 60)  # they were handed over
            time.sleep(0.1)
            assert committed_now(broker) in (None, 0)
            handler.done.clear()
            fill(broker, 10)
            until(lambda: len(handler.done) == 10)
            until(lambda: committed_now(broker) == 10)


def test_workers_that_end_go_back_to_nothing_of_it(broker):
    fill(broker, 60)
    handler, gate = Handler(), threading.Event()
    handler.gates[30] = gate
    heard = []
    with consumer(broker, **QUICK) as one:
        one.observe(heard.append)
        with Running(one, handler, threads=3) as running:
            until(lambda: len(handler.done) == 54)
            remake(broker, heard, 0)
            running.workers.stop()
            gate.set()
        assert one.position(T0) == 0
        assert one.committed(T0) in (None, 0)


def confluent(broker):
    """confluent-kafka's, as it is here: the consumer, and what it hears."""
    ours = types.SimpleNamespace(**MODULES["confluent_kafka"])
    conf = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 50,
        "topic.metadata.refresh.interval.ms": 100,
        "allow.auto.create.topics": False,
        "heartbeat.interval.ms": 50,
    }
    one = ours.Consumer(conf)
    heard = []
    one._reader.observe(heard.append)
    one.subscribe(["t"])
    return one, heard


def given(one, count):
    found = []
    while len(found) < count:
        message = one.poll(LIMIT_S)
        if message.error() is None:  # the topic is not there for a moment
            found.append(message.offset())
    return found


@pytest.mark.parametrize("came_to", [60, 10])
def test_what_confluents_consumer_has_in_hand_is_none_of_the_new_topic(broker, came_to):
    fill(broker, 60)
    one, heard = confluent(broker)
    assert given(one, came_to) == list(range(came_to))
    remake(broker, heard, 30)
    time.sleep(1.1)  # what it has in hand is read anew behind that
    assert given(one, 30) == list(range(30))
    one.close()
    assert committed_now(broker) == 30


def test_nor_does_it_commit_that_at_its_end(broker):
    fill(broker, 60)
    one, heard = confluent(broker)
    assert given(one, 60) == list(range(60))
    remake(broker, heard, 30)
    one.close()
    assert committed_now(broker) in (None, 0)
