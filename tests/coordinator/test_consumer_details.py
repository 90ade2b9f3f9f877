"""Consumer groups (KIP-848): what seldom happens, and has to go by Kafka's rules nevertheless."""

import pytest
from consumer_groups_world import ConsumerWorld, parts
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
