"""Streams groups: tasks that change their roles, by release."""

from streams_groups_world import STATEFUL, StreamsWorld, owning

from kcore.coordinator.streams.states import StreamsGroupState


def test_standbys_are_in_other_processes():
    w = StreamsWorld({"in": 2, "store": 2})
    w.set_for["g"] = {"num_standby_replicas": 1}
    assert w.enter("m1", STATEFUL) == (2, ["0_0", "0_1"], [])
    assert w.enter("m2", STATEFUL) == (3, [], ["0_0"])
    # What it is to be standby for it is at once, while it gives up running it.
    assert w.beat("m1", 2) == (2, ["0_0"], ["0_1"])
    assert w.beat("m2", 3, **owning([], ["0_0"])) == (3, None, None)
    assert w.beat("m1", 2, **owning(["0_0"], ["0_1"])) == (3, None, None)
    assert w.beat("m2", 3, **owning([], ["0_0"])) == (3, ["0_1"], ["0_0"])
    assert w.streams.state is StreamsGroupState.STABLE


def test_until_kafka_4_3_what_is_standby_and_active_in_turn_is_let_go_of_before():
    w = StreamsWorld({"in": 2, "store": 2}, release=(4, 3))
    w.set_for["g"] = {"num_standby_replicas": 1}
    w.enter("m1", STATEFUL)
    assert w.enter("m2", STATEFUL) == (3, [], ["0_0"])
    assert w.beat("m1", 2) == (2, ["0_0"], [])
    assert w.beat("m1", 2, **owning(["0_0"])) == (3, None, None)
    assert w.beat("m2", 3, **owning([], ["0_0"])) == (3, ["0_1"], ["0_0"])
    assert w.beat("m1", 3, **owning(["0_0"])) == (3, ["0_0"], ["0_1"])
    assert w.streams.state is StreamsGroupState.STABLE
