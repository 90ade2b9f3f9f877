"""Ctrl-C at every place of `unsubscribe` and `close`: called again they leave the group at once,
though its session lasts long.
"""

import time

import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import Consumer, ConsumerRebalanceListener, ShareConsumer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK

SESSION_MS = 40_000
WITHIN_S = 10


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        running.produce("t", [(None, b"%d" % n) for n in range(10)])
        yield running


def member(broker, group, protocol, listener):
    options = {"bootstrap_servers": broker.bootstrap, "group_id": group, "api_version": (4, 0)}
    options |= {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "retry_backoff_ms": 5}
    if protocol == "share":
        consumer = ShareConsumer("t", **(options | {"api_version": (4, 2)}))
        while not consumer.assignment():
            consumer.poll(timeout_ms=100)
        return consumer
    options |= {"group_protocol": protocol, "auto_offset_reset": "earliest"}
    if protocol == "classic":
        options["session_timeout_ms"] = SESSION_MS
    consumer = Consumer(**options)
    consumer.subscribe(["t"], listener=listener)
    while not consumer.poll(timeout_ms=100):
        pass
    return consumer


def members(broker, group):
    """How many the coordinator counts."""
    cluster, server = broker._running()

    def count(_now_ms):
        coordinator = cluster.nodes[1].groups.coordinator
        shared = coordinator.share_group(group)
        if shared is not None:
            return len(shared.members)
        classic = coordinator.group(group)
        if classic is not None:
            return len(classic.members) + len(classic.pending_join)
        return len(coordinator.consumer_group(group).members)

    return server.call(count)


def is_left(broker, group):
    until = time.monotonic() + WITHIN_S
    while members(broker, group):
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def unsubscribe(consumer):
    consumer.unsubscribe()


def close(consumer):
    consumer.close(timeout_ms=5_000)


def strike(verb, consumer, at):
    """False: the verb has fewer places."""
    try:
        with Strike(at):
            verb(consumer)
    except KeyboardInterrupt:
        return True
    return False


def leave_at(broker, protocol, verb, again, listens, at):
    """Whether it was struck there."""
    listener = ConsumerRebalanceListener() if listens else None
    group = f"{protocol} {verb.__name__} {again.__name__} {listens} {at}"
    consumer = member(broker, group, protocol, listener)
    struck = strike(verb, consumer, at)
    again(consumer)
    assert is_left(broker, group), at
    consumer.close()
    with pytest.raises(errors.ConsumerStoppedError):
        consumer.poll()
    return struck


WAYS = [(unsubscribe, unsubscribe), (unsubscribe, close), (close, close)]
WAYS = [pytest.param(*each, id=" ".join(verb.__name__ for verb in each)) for each in WAYS]


@pytest.mark.parametrize("listens", [False, True], ids=["", "listener"])
@pytest.mark.parametrize(("verb", "again"), WAYS)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_says_goodbye_again_has_left(broker, protocol, verb, again, listens):
    places = [31, 90, 160, 240, 300]
    struck = [leave_at(broker, protocol, verb, again, listens, at) for at in places]
    assert sum(struck) >= 4


@pytest.mark.parametrize(("verb", "again"), WAYS)
def test_who_says_goodbye_to_a_share_group_again_has_left(broker, verb, again):
    places = [10, 31, 40, 60, 90, 120, 160]
    struck = [leave_at(broker, "share", verb, again, False, at) for at in places]
    assert sum(struck) >= 5


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "again"), WAYS)
def test_every_place_of_a_goodbye_to_a_share_group(broker, verb, again):
    struck = [leave_at(broker, "share", verb, again, False, at) for at in range(1, 400, 3)]
    assert sum(struck) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("listens", [False, True], ids=["", "listener"])
@pytest.mark.parametrize(("verb", "again"), WAYS)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_place_of_a_goodbye(broker, protocol, verb, again, listens):
    places = range(1, 700, 3)
    struck = [leave_at(broker, protocol, verb, again, listens, at) for at in places]
    assert sum(struck) >= 60


def test_a_loop_left_in_the_middle_commits_no_more_when_close_is_struck(broker):
    """The record in hand comes again."""
    options = {"bootstrap_servers": broker.bootstrap, "group_id": "in hand", "api_version": (4, 0)}
    consumer = Consumer("t", auto_offset_reset="earliest", **options)
    taken = [next(consumer) for _ in range(3)]
    assert strike(close, consumer, 40)
    close(consumer)
    with Consumer(**options) as other:
        committed = {tp: other.committed(tp) for tp in map(TopicPartition, "tt", range(2))}
    last = taken[-1]
    assert committed[TopicPartition("t", last.partition)] == last.offset
