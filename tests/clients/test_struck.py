"""Ctrl-C at every place of a call where Python looks for signals: nothing is lost, none is locked.

Where these places are: tests/support/strikes.py.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from weakref import WeakKeyDictionary

import pyarrow
import pytest
from alarms import alarm
from leftovers import STRUCK
from strikes import Strike

from kcore import Consumer, TopicPartition, errors
from kcore.cluster.links import Links
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK

T0 = TopicPartition("t", 0)
HELD = 40_000


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 1)
        for start in range(0, HELD, 200):
            running.produce("t", [(None, b"%d" % n) for n in range(start, start + 200)])
        yield running


def reader(broker, *, assigned=True, **options):
    # A link that is struck in the middle of an answer is made anew; who goes back waits for the
    # fetch at the end of the log.
    options |= {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "fetch_max_wait_ms": 5}
    options |= {"auto_offset_reset": "earliest", "consumer_timeout_ms": 5_000}
    consumer = Consumer(bootstrap_servers=broker.bootstrap, **options)
    if assigned:
        consumer.assign([T0])
    return consumer


def poll(consumer):
    return consumer.poll(timeout_ms=5_000)


def poll_one(consumer):
    return consumer.poll(timeout_ms=5_000, max_records=1)


def iterate(consumer):
    return {T0: [next(consumer)]}


def poll_batches(consumer):
    return consumer.poll_batches(timeout_ms=5_000, max_records=7)


def poll_arrow(consumer):
    return consumer.poll_arrow(timeout_ms=5_000, max_rows=7)


UNTIL = WeakKeyDictionary()  # consumer -> its read


def read_until(consumer):
    if consumer not in UNTIL:
        UNTIL[consumer] = consumer.read_until({T0: HELD}, timeout_ms=5_000)
    return {T0: [next(UNTIL[consumer])]}


WAYS = [poll, poll_one, iterate, poll_batches, poll_arrow, read_until]


def offsets_of(found):
    if isinstance(found, dict):
        return [one.offset for one in found[T0]]
    if isinstance(found, list):
        return [offset for batch in found for offset in batch.offsets]
    return pyarrow.record_batch(found)["offset"].to_pylist()


def struck(read, consumer, at):
    """What one call gives that is struck there; None if it is."""
    try:
        with Strike(at):
            return read(consumer)
    except KeyboardInterrupt:
        return None


def read_on(read, consumer, expected, places):
    """Reads to the end of `places`, struck there; where the next record is."""
    outcomes = Counter()
    for at in places:
        found = struck(read, consumer, at)
        outcomes[found is None] += 1
        for more in (found, read(consumer)):
            offsets = [] if more is None else offsets_of(more)
            assert offsets == list(range(expected, expected + len(offsets))), at
            expected += len(offsets)
        if expected > HELD - 2_000:
            consumer.seek(T0, 0)
            expected = 0
        assert consumer._engine.guard.inside == 0, at
    return outcomes


@pytest.mark.parametrize("read", WAYS)
def test_what_a_struck_call_has_taken_comes_again(broker, read):
    rng = random.Random(read.__name__)
    with reader(broker, max_poll_records=5) as consumer:
        first = read(consumer)
        # A record that is there already takes a dozen places, one that has to come some seventy.
        places = [rng.randrange(1, ends) for ends in (80, 13) * 30]
        outcomes = read_on(read, consumer, len(offsets_of(first)), places)
    assert outcomes[True] >= 10


@pytest.mark.slow
@pytest.mark.parametrize("read", WAYS)
def test_every_place_of_a_call(broker, read):
    with reader(broker, max_poll_records=5) as consumer:
        first = read(consumer)
        # Those of a record that is there already, and of one that has to come.
        places = [*range(1, 13), *range(1, 300)] * 5
        outcomes = read_on(read, consumer, len(offsets_of(first)), places)
    assert outcomes[True] >= 50


VERBS = [Consumer.close, Consumer.commit, Consumer.poll, Consumer.unsubscribe, next]


@pytest.mark.parametrize("verb", VERBS)
def test_a_signal_handler_cannot_break_into_a_poll(broker, verb):
    """All it may call is `wakeup`."""
    outcomes = []

    def handle(*_):
        if not consumer._engine.guard.inside:  # between two polls: the next one, then
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        with pytest.raises(errors.ConcurrentUseError, match=r"wakeup\(\)") as raised:
            verb(consumer)
        outcomes.append(raised.value)

    with reader(broker, group_id="handled") as consumer:
        consumer.seek_to_end(T0)
        with alarm(handle, 0.05):
            while not outcomes:
                assert consumer.poll(timeout_ms=200) == {}
        consumer.seek(T0, 5)
        assert offsets_of(poll_one(consumer)) == [5]


def test_a_deserializer_cannot_call_back(broker):
    def deserialize(_):
        consumer.seek(T0, 0)

    with (
        reader(broker, value_deserializer=deserialize) as consumer,
        pytest.raises(errors.DeserializationError) as raised,
    ):
        poll(consumer)
    assert isinstance(raised.value.__cause__, errors.ConcurrentUseError)
    assert consumer._engine.guard.inside == 0


def test_a_commit_behind_ctrl_c_comes_through(broker):
    """Also one that is tried once."""
    with reader(broker, group_id="behind", enable_auto_commit=False) as consumer:
        read = offsets_of(poll(consumer))
        consumer.commit({T0: (0, "")})  # from here on there is a link to the coordinator
        consumer.seek_to_end(T0)
        with alarm(signal.default_int_handler, 0.05), pytest.raises(KeyboardInterrupt):
            consumer.poll(timeout_ms=10_000)
        future = consumer.commit_async({T0: (len(read), "")})
        while not future.is_done:
            consumer.poll(timeout_ms=10)
        assert future.exception is None
        assert consumer.committed(T0) == len(read)


ASKED = ["METADATA", "FIND_COORDINATOR", "JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "OFFSET_FETCH"]
ASKED += ["CONSUMER_GROUP_HEARTBEAT", "LIST_OFFSETS", "FETCH", "OFFSET_COMMIT"]
ONLY = {
    "classic": ["JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT"],
    "consumer": ["CONSUMER_GROUP_HEARTBEAT"],
}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("api", ASKED)
def test_what_was_about_to_be_asked_is_asked(broker, monkeypatch, protocol, api):
    """Struck between a decision to ask and asking: nobody waits for the answer without end."""
    options = {"group_id": f"{api} of {protocol}", "group_protocol": protocol}
    options["api_version"] = (4, 0)  # or the constructor would ask some of it
    made = set(ASKED) - set(ONLY["consumer" if protocol == "classic" else "classic"])
    if protocol == "classic":
        options["heartbeat_interval_ms"] = 20
    if api == "METADATA":  # the first one is on its way by then
        options["metadata_max_age_ms"] = 50
    send, left = Links.send, [api]

    def strike(links, key, asked, *given, **how):
        if asked.name in left:
            left.remove(asked.name)
            raise KeyboardInterrupt
        send(links, key, asked, *given, **how)

    options |= {"assigned": False, "auto_commit_interval_ms": 10}
    with reader(broker, **options) as consumer, ExitStack() as behind:
        behind.callback(left.clear)  # Ctrl-C at the end of a test ends all of them
        monkeypatch.setattr(Links, "send", strike)
        for _ in range(2):  # which of them asks is the clock's affair
            with suppress(KeyboardInterrupt):
                consumer.subscribe(["t"])
        found = []
        for _ in range(30):
            with suppress(KeyboardInterrupt):
                found += offsets_of(consumer.poll(timeout_ms=100) or {T0: []})
        assert found[:1] == [0]
        for _ in range(2):  # nor is it known that a heartbeat was due in a poll
            with suppress(KeyboardInterrupt):
                consumer.seek_to_end(T0)
        for _ in range(5):
            with suppress(KeyboardInterrupt):
                consumer.poll(timeout_ms=50)
        assert left == ([] if api in made else [api])
        begun = time.monotonic()
        consumer.close(timeout_ms=8_000)
        assert time.monotonic() - begun < 7  # of the 8 that it would take


@pytest.mark.parametrize("read", WAYS)
def test_what_a_callback_has_read_stays_read_though_it_raises(broker, read):
    offsets = []

    def tell(*_):
        offsets.extend(offsets_of(read(consumer)))
        offsets.extend(offsets_of(read(consumer)))
        raise ZeroDivisionError

    options = {"group_id": f"told of {read.__name__}", "enable_auto_commit": False}
    with reader(broker, max_poll_records=5, **options) as consumer:
        offsets.extend(offsets_of(poll(consumer)))
        future = consumer.commit_async(callback=tell)
        while not future.is_done:
            consumer.end_offsets([T0])
        with pytest.raises(ZeroDivisionError):
            poll(consumer)
        offsets.extend(offsets_of(poll(consumer)))
    assert offsets == list(range(len(offsets)))


def test_a_thread_that_is_refused_takes_nothing_back_of_the_one_inside(broker):
    with reader(broker) as consumer:
        guard = consumer._engine.guard
        refuse = guard.refuse_busy
        consumer.poll(timeout_ms=5_000, max_records=10)
        consumer.seek_to_end(T0)
        end = consumer.position(T0)
        refused, done = [], threading.Event()

        def refuse_later():
            broker.produce("t", [(None, b"one more")])
            assert done.wait(10)
            refuse()

        def disturb():
            while not guard.inside:
                time.sleep(0.001)
            try:
                consumer.poll()
            except errors.ConcurrentUseError as error:
                refused.append(error)

        guard.refuse_busy = refuse_later
        thread = threading.Thread(target=disturb)
        thread.start()
        (record,) = consumer.poll(timeout_ms=10_000)[T0]
        done.set()
        thread.join()
        assert len(refused) == 1
        assert (record.offset, consumer.position(T0)) == (end, end + 1)


@pytest.mark.slow
def test_a_member_of_a_group_goes_on_wherever_it_is_struck(broker):
    """In polls that join, send heartbeats and commit; records may come again, none is left out."""
    options = {"group_id": "struck", "heartbeat_interval_ms": 20, "auto_commit_interval_ms": 10}
    with reader(broker, max_poll_records=50, assigned=False, **options) as consumer:
        consumer.subscribe(["t"])
        expected = 0
        for at in [*range(1, 400), *range(400, 4_000, 9)]:
            for more in (struck(poll, consumer, at), poll(consumer)):
                if not more:
                    continue
                offsets = offsets_of(more)
                assert offsets[0] <= expected, at
                expected = offsets[-1] + 1
            if expected > HELD - 2_000:
                consumer.seek(T0, 0)
                expected = 0
            if at % 10 == 0:
                consumer.commit(timeout_ms=5_000)
                assert consumer.committed(T0) == expected, at
