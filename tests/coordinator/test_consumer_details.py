"""Consumer groups (KIP-848): what seldom happens, and has to go by Kafka's rules nevertheless."""

import pytest
from consumer_groups_world import ConsumerWorld, parts
from coordinator_world import WALL
from test_coordinator_consumers import HELLO
from test_coordinator_migration import JOIN, upgraded

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.wire.codes import ErrorCode as E


def test_a_heartbeat_that_does_not_say_everything_is_not_told_everything():
    w = ConsumerWorld({"foo": 2})
    w.enter("m1", ["foo"])
    has = parts(foo=[0, 1])
    everything = (2, {"foo": [0, 1]})
    assert w.beat("m1", 2, ["foo"], has, **HELLO) == everything
    assert w.beat("m1", 2, ["foo"], has) == (2, None)
    assert w.beat("m1", 2, ["foo"], **HELLO) == (2, None)
    assert w.beat("m1", 2, None, has, **HELLO) == (2, None)


def test_another_regular_expression_is_resolved_though_nothing_else_is_new():
    w = ConsumerWorld({"foo": 2, "bar": 1})
    w.enter("m1", None, subscribed_topic_regex="f.*")
    w.after(10_001)
    w.enter("m2", None, subscribed_topic_regex="b.*")
    assert set(w.consumers.regexes) == {"f.*", "b.*"}
    assert w.consumers.subscribed() == {"foo", "bar"}


def test_a_member_that_says_which_instance_it_is_keeps_what_it_has():
    w = ConsumerWorld({"foo": 2})
    w.enter("m1", ["foo"], rack_id="r")
    assert w.enter("m1", ["foo"], instance_id="i")[1] == {"foo": [0, 1]}
    assert w.member("m1").rack_id == "r"
    assert w.consumers.static_member("i") is w.member("m1")


def test_a_classic_group_is_none_of_the_consumer_protocols():
    """Not even without members, for who says that he was in it."""
    w = ConsumerWorld()
    w.commit({("foo", 0): 5})
    assert w.beat("m1", 1) == E.GROUP_ID_NOT_FOUND
    assert w.coordinator.group("g") is not None


def test_a_consumer_group_that_cannot_give_way_goes_on():
    w = ConsumerWorld(group_initial_rebalance_delay_ms=0)
    w.enter("m1")
    w.beat("m1", -1)
    w.appending = False
    token = w.join()
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.error(token) == E.COORDINATOR_NOT_AVAILABLE
    w.appending = True
    assert w.enter("m1")[1] == {"foo": [0, 1, 2, 3, 4, 5], "bar": [0, 1, 2]}


@pytest.mark.parametrize("most", [1, 2])
def test_m5_as_many_as_a_classic_group_may_have(most):
    w, old = upgraded(group_max_size=most)
    w.beat("m1", -1)
    assert w.coordinator.consumer_group("g") is None
    assert list(w.group.members) == [old]


def test_who_was_replaced_takes_nothing_along():
    group = ConsumerGroup("g")
    group.put(ConsumerMember("m1", instance_id="i"))
    group.put(ConsumerMember("m2", instance_id="i"))
    group.remove("m1")
    assert group.static_member("i") is group.members["m2"]
    group.remove("m2")
    assert group.static_member("i") is None


def test_m2_a_classic_member_keeps_its_rack():
    w, old = upgraded()
    rack = w.member(old).rack_id
    w.join(old, **JOIN)
    assert w.member(old).rack_id == rack


def test_m6_nobody_is_in_a_group_without_members():
    w = ConsumerWorld(group_initial_rebalance_delay_ms=0)
    w.enter("m1")
    w.beat("m1", -1)
    assert w.error(w.join("m1")) == E.UNKNOWN_MEMBER_ID
    assert w.coordinator.consumer_group("g") is not None


def test_m2_who_has_no_id_is_given_one_first():
    w, _ = upgraded()
    members = set(w.consumers.members)
    answer = w.replies[w.join(version=4, **JOIN)]
    assert answer.error_code == E.MEMBER_ID_REQUIRED
    assert answer.member_id
    assert set(w.consumers.members) == members
    assert w.replies[w.join(version=3, **JOIN)].error_code == E.NONE  # before KIP-394


def test_m2_who_asks_for_its_assignment_is_alive():
    w, old = upgraded()
    generation = w.replies[w.join(old, **JOIN)].generation_id
    for _ in range(3):
        w.after(9_000)
        assert w.replies[w.sync(old, generation)].error_code == E.NONE
    w.after(9_999)
    assert old in w.consumers.members
    w.after(1)
    assert old not in w.consumers.members


@pytest.mark.parametrize("how", ["leaves", "is silent"])
def test_the_target_of_a_group_that_nobody_is_in_is_there_at_once(how):
    """As in Kafka 4.4, which waits no interval before it makes the next one."""
    w = ConsumerWorld(group_consumer_assignment_interval_ms=10_000)
    w.enter("m1")
    w.enter("m2")
    w.after(1)
    w.beat("m2", -1)
    assert (w.consumers.epoch, w.consumers.target_epoch) == (4, 2)
    if how == "leaves":
        w.beat("m1", -1)
    else:
        w.after(50_000)
    assert not w.consumers.members
    assert (w.consumers.epoch, w.consumers.target_epoch) == (5, 5)
    assert w.enter("m3") == (6, {"foo": [0, 1, 2, 3, 4, 5], "bar": [0, 1, 2]})


def test_a_target_of_a_clock_that_was_ahead_keeps_nobody_waiting():
    w = ConsumerWorld(group_consumer_assignment_interval_ms=1_000)
    w.enter("m1")
    w.coordinator.set_wall_offset(WALL - 3_600_000)
    w.enter("m2")
    assert (w.consumers.epoch, w.consumers.target_epoch) == (3, 3)


def test_another_assignor_makes_another_target():
    w = ConsumerWorld({"foo": 2, "bar": 2})
    w.enter("m1")
    assert w.beat("m1", 2, server_assignor="uniform") == (2, None)
    assert w.beat("m1", 2, server_assignor="range")[0] == 3
    assert w.beat("m1", 3, server_assignor="range") == (3, None)
    w.enter("m2", server_assignor="uniform")  # as many for either: it comes first in a HashMap
    assert (w.consumers.epoch, w.consumers.assignor) == (4, "uniform")


def test_a_static_member_that_comes_back_has_one_vote():
    w = ConsumerWorld({"foo": 2})
    w.enter("m1", server_assignor="range")
    w.enter("m2", instance_id="i", server_assignor="uniform")
    before = w.consumers.assignor
    w.beat("m2", -2, instance_id="i")
    epoch = w.consumers.epoch
    w.enter("m3", instance_id="i", server_assignor="uniform")
    assert (w.consumers.assignor, w.consumers.epoch) == (before, epoch)


def test_a_static_member_may_come_back_to_a_full_group():
    """By either protocol (Kafka 4.4)."""
    w, _ = upgraded(group_consumer_max_size=3)
    w.enter("m2", ["foo"], instance_id="i")
    assert w.enter("m3", ["foo"]) == E.GROUP_MAX_SIZE_REACHED
    assert w.enter("m3", ["foo"], instance_id="other") == E.GROUP_MAX_SIZE_REACHED
    w.beat("m2", -2, instance_id="i")
    assert w.enter("m3", ["foo"], instance_id="i")[0] > 0
    assert w.error(w.join(**JOIN)) == E.GROUP_MAX_SIZE_REACHED
    assert w.error(w.join(instance="i", version=5, **JOIN)) == E.NONE
    assert "m3" not in w.consumers.members


def test_a_member_that_says_that_it_is_another_instance_is_the_first_no_more():
    group = ConsumerGroup("g")
    group.put(ConsumerMember("m1", instance_id="i"))
    group.put(ConsumerMember("m1", instance_id="other"))
    assert group.static_member("i") is None
    assert group.static_member("other") is group.members["m1"]
