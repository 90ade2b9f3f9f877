"""Members that did not do in time what they were to, and could not be taken out of their group."""

from consumer_groups_world import RT, ConsumerWorld
from streams_groups_world import StreamsWorld

from kcore.wire.codes import ErrorCode as E

SESSION = 45_000


def enter_consumer(w, name):
    w.put_beat(name, 0, ["foo"], {}, rebalance_timeout_ms=RT)


def enter_streams(w, name):
    w.put_enter(name)


def fails(w, enter):
    """Of two members one gives nothing up, and is in the group still when its time is over."""
    for name in ("m1", "m2"):
        enter(w, name)
        w.settle()
    w.put_beat("m1", 2)
    w.settle()
    w.until(RT)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    w.check()
    for at_ms in (30_000, RT + SESSION - 1, RT + SESSION):
        assert set(w.members()) == {"m1", "m2"}
        w.put_beat("m1", 2)
        w.put_beat("m2", 3)
        w.settle()
        w.until(at_ms)
    w.settle()
    assert set(w.members()) == {"m2"}


def test_of_a_consumer_group_it_is_awaited_once_more():
    w = ConsumerWorld(appending=False)
    w.members = lambda: w.consumers.members
    fails(w, enter_consumer)


def test_of_a_streams_group_it_is_awaited_once_more():
    w = StreamsWorld(appending=False)
    w.members = lambda: w.streams.members
    fails(w, enter_streams)
