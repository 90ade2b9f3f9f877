"""Ctrl-C at every place of a call that says what is read, and where from: it is done or not.

Whatever was struck, each partition goes on, at once, where it was or where it was sent to.
"""

from __future__ import annotations

import time

import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK

ALL = [TopicPartition("t", number) for number in range(3)]
HELD = 3_000
AT, SOUGHT = 100, 1_000
PATIENCE_S = 5  # of the 30 that a request may take


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", len(ALL))
        for tp in ALL:
            for start in range(0, HELD, 20):  # small batches: all have their turn soon
                records = [(None, b"%d" % n) for n in range(start, start + 20)]
                running.produce("t", records, partition=tp.partition)
        yield running


def reader(broker):
    options = {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "fetch_max_wait_ms": 5}
    options |= {"retry_backoff_ms": 2, "retry_backoff_max_ms": 2, "max_poll_records": 7}
    options |= {"max_partition_fetch_bytes": 600, "auto_offset_reset": "earliest"}
    return Consumer(bootstrap_servers=broker.bootstrap, **options)


def seek(consumer):
    consumer.seek(ALL[1], SOUGHT)


def seek_to_beginning(consumer):
    consumer.seek_to_beginning(*ALL)


def seek_to_end(consumer):
    consumer.seek_to_end(*ALL[:2])


def pause(consumer):
    consumer.pause(*ALL)


def resume(consumer):
    consumer.resume(*ALL[:2])


def assign_fewer(consumer):
    consumer.assign(ALL[:2])


def assign_more(consumer):
    consumer.assign(ALL)


def assign_none(consumer):
    consumer.assign([])


VERBS = [seek, seek_to_beginning, seek_to_end, pause, resume]
VERBS += [assign_fewer, assign_more, assign_none]


def begin(consumer, verb, *, in_a_loop):
    """Have it read all partitions from AT on, and be where `verb` has something to do."""
    consumer.assign(ALL)
    consumer.resume(*ALL)
    for tp in ALL:
        consumer.seek(tp, AT)
    assert set(first_offsets(consumer).values()) == {AT}
    if verb is resume:
        consumer.pause(*ALL[:2])
    if verb is assign_more:
        consumer.assign(ALL[:1])
    if in_a_loop:
        next(consumer)


def first_offsets(consumer):
    """Where each partition that is assigned goes on."""
    found, reached = {}, {}
    until = time.monotonic() + PATIENCE_S
    while found.keys() != consumer.assignment():
        assert time.monotonic() < until, consumer.health()
        for tp, records in consumer.poll(timeout_ms=100).items():
            offset = records[0].offset
            found.setdefault(tp, offset)
            assert offset == reached.get(tp, offset)
            reached[tp] = records[-1].offset + 1
    return found


def strike_all(broker, verb, places, *, in_a_loop):
    """How often it was struck."""
    struck = 0
    with reader(broker) as consumer:
        for at in places:
            begin(consumer, verb, in_a_loop=in_a_loop)
            before = {tp: consumer.position(tp) for tp in consumer.assignment()}
            try:
                with Strike(at):
                    verb(consumer)
                break  # there are fewer places
            except KeyboardInterrupt:
                struck += 1
            if at % 2 or verb is assign_none:  # else a poll may say that nothing is assigned
                verb(consumer)
            if not consumer.assignment():
                continue
            if verb is seek_to_end:
                # At the end, or still where they were: none that is not known.
                for tp in ALL[:2]:
                    assert consumer.position(tp, timeout_ms=PATIENCE_S * 1_000) is not None, at
                consumer.seek_to_beginning()
                before = {}
            consumer.resume(*consumer.assignment())
            sought = SOUGHT if verb is seek else 0
            for tp, offset in first_offsets(consumer).items():
                assert offset in {before.get(tp, 0), sought}, (at, tp)
    return struck


@pytest.mark.parametrize("verb", VERBS)
def test_every_partition_goes_on(broker, verb):
    assert strike_all(broker, verb, range(1, 1_000, 3), in_a_loop=False) > 10


@pytest.mark.slow
@pytest.mark.parametrize("in_a_loop", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_every_place(broker, verb, in_a_loop):
    assert strike_all(broker, verb, range(1, 1_000), in_a_loop=in_a_loop) > 40


@pytest.mark.parametrize("verb", [seek, seek_to_beginning, pause])
def test_what_a_loop_had_not_come_to_is_not_passed_over(broker, verb):
    assert strike_all(broker, verb, range(2, 1_000, 5), in_a_loop=True) > 10
