"""One record a call, and everything else that can be called in between: positions and commits are
always those of what was handed over.
"""

import random
import threading

import pytest

from kcore import Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    ConcurrentUseError,
    ConsumerStoppedError,
    ForkedError,
    IllegalArgumentError,
    IllegalStateError,
    WakeupError,
)

TPS = [TopicPartition("t", number) for number in range(3)]
HELD = 400


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(in_memory=True) as running:
        running.create_topic("t", len(TPS))
        for tp in TPS:
            for start in range(0, HELD, 50):  # batches of 50
                rows = [(None, b"%d" % offset) for offset in range(start, start + 50)]
                running.produce("t", rows, partition=tp.partition)
        yield running


def reader(broker, **options):
    options = {"auto_offset_reset": "earliest", "max_poll_records": 1} | options
    return Consumer(bootstrap_servers=broker.bootstrap, transport=broker.transport(), **options)


class Inside:
    """Counts what went the short way."""

    def __init__(self, consumer):
        self.count = 0
        self._inside, consumer._inside = consumer._inside, self

    @property
    def taken(self):
        return self._inside.taken

    def take(self):
        one = self._inside.take()
        self.count += one is not None
        return one


def one(consumer, timeout_ms=5_000):
    ((tp, (record,)),) = consumer.poll(timeout_ms=timeout_ms).items()
    return tp, record


class Walk:
    """A consumer of single records, and where each partition must be."""

    def __init__(self, consumer, rng):
        self.consumer = consumer
        self.rng = rng
        self.at = {}
        self.paused = set()
        self.assign(TPS)

    def assign(self, tps):
        self.consumer.assign(tps)
        self.paused &= set(tps)
        for tp in set(tps) - set(self.at):
            self.seek(tp)
        self.at = {tp: self.at[tp] for tp in tps}

    def seek(self, tp):
        self.at[tp] = self.rng.randrange(HELD - 60)
        self.consumer.seek(tp, self.at[tp])

    def take(self):
        if all(at >= HELD - 5 or tp in self.paused for tp, at in self.at.items()):
            return
        tp, record = one(self.consumer)
        assert tp not in self.paused
        assert record.offset == self.at[tp]
        assert record.value == b"%d" % record.offset
        self.at[tp] += 1
        if self.rng.random() < 0.2:
            assert {tp: self.consumer.position(tp) for tp in self.at} == self.at

    def meddle(self):
        consumer, rng = self.consumer, self.rng
        kind = rng.randrange(7)
        tp = rng.choice(list(self.at))
        if kind == 0:
            self.seek(tp)
        elif kind == 1:
            consumer.pause(tp)
            self.paused.add(tp)
        elif kind == 2:
            consumer.resume(*self.paused)
            self.paused.clear()
        elif kind == 3:
            self.assign(rng.sample(TPS, rng.randint(1, 3)))
        elif kind == 4:
            consumer.commit()
            assert {tp: consumer.committed(tp) for tp in self.at} == self.at
        elif kind == 5:
            for record in consumer:  # drops what it has taken ahead at the next poll
                tp = TopicPartition(record.topic, record.partition)
                assert record.offset == self.at[tp]
                self.at[tp] += 1
                break
        else:
            consumer.wakeup()
            with pytest.raises(WakeupError):
                consumer.poll()


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_called_in_between(broker, seed):
    rng = random.Random(seed)
    options = {"group_id": f"g{seed}", "enable_auto_commit": False, "consumer_timeout_ms": 50}
    with reader(broker, **options) as consumer:
        inside = Inside(consumer)
        walk = Walk(consumer, rng)
        for _ in range(300):
            if rng.random() < 0.93:
                walk.take()
            else:
                walk.meddle()
        assert inside.count > 50  # or the general way was tested


@pytest.fixture
def amid(broker):
    """A consumer in the middle of a batch, whose next record would go the short way."""
    with reader(broker) as consumer:
        consumer.assign(TPS[:1])
        now = consumer._engine.pump.now_ms()
        consumer._engine.pump.now_ms = lambda: now
        inside = Inside(consumer)
        while not inside.count:
            one(consumer)
        yield consumer


def test_arguments_are_checked_as_ever(amid):
    with pytest.raises(TypeError):
        amid.poll(timeout_ms="1")
    with pytest.raises(IllegalArgumentError):
        amid.poll(timeout_ms=-1)
    with pytest.raises(TypeError):
        amid.poll(max_records=True)
    assert len(amid.poll(max_records=2)[TPS[0]]) == 2


def test_a_closed_consumer_hands_over_nothing(amid):
    amid.close()
    with pytest.raises(ConsumerStoppedError):
        amid.poll()


def test_without_a_wish_nothing_is_handed_over(amid):
    amid.unsubscribe()
    with pytest.raises(IllegalStateError):
        amid.poll()


def test_another_thread_is_refused(amid):
    guard = amid._engine.guard
    inside, done = threading.Event(), threading.Event()

    def hold():
        with guard:
            inside.set()
            done.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(10)
    try:
        with pytest.raises(ConcurrentUseError):
            amid.poll()
    finally:
        done.set()
        holder.join()
    before = amid.position(TPS[0])
    assert one(amid)[1].offset == before


def test_the_child_of_a_fork_hands_over_nothing(amid):
    amid.forked()
    with pytest.raises(ForkedError):
        amid.poll()
    # What the fixture closes is the parent's.
