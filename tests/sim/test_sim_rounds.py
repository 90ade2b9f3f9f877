"""Whether coordinators wait for whom they are to, as the simulation sees it in their books."""

from dataclasses import replace

import pytest
from sim_runs import broken

from kcore.coordinator import GroupState
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import LEAVING_STATIC, ConsumerMember
from kcore.coordinator.consumer.states import MemberState as ConsumerState
from kcore.coordinator.group import Group
from kcore.sim import Plan, Rule, ViolationError
from kcore.sim.rounds import Rounds


def a_group(state, generation=1, members=("a",), *, pending_join=(), pending_sync=(), joins=0):
    group = Group("g")
    group.state, group.generation, group.awaiting_join = state, generation, joins
    group.members = dict.fromkeys(members)
    group.pending_join, group.pending_sync = set(pending_join), set(pending_sync)
    return group


def looks(*seen, node="node1", rounds=None, still=False):
    rounds = rounds or Rounds(Plan(seed=1, max_poll_interval_ms=5_000))
    for now_ms, group in seen:
        rounds.look(node, "g", group, now_ms, still=still)
    return rounds


STABLE, SYNCING, JOINING = (
    GroupState.STABLE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.PREPARING_REBALANCE,
)


@pytest.mark.parametrize(
    ("group", "word"),
    [
        (a_group(SYNCING, pending_sync="a"), "syncs"),
        (a_group(STABLE, pending_sync="a"), "syncs"),
        (a_group(JOINING, joins=1), "joins"),
    ],
)
def test_joins_and_syncs_are_waited_for_as_long_as_the_rebalance_timeout(group, word):
    rounds = looks((0, group), (7_500, group))
    with pytest.raises(ViolationError, match=f"g has waited for {word} for 7501 ms") as found:
        looks((7_501, group), rounds=rounds)
    assert found.value.rule is Rule.ROUNDS


def test_a_wait_begins_anew_elsewhere_in_another_generation_and_where_timers_stand_still():
    group = a_group(SYNCING, pending_sync="a")
    rounds = looks((0, group), (7_000, None), (8_000, group), (15_000, group))
    looks((23_000, group), node="node2", rounds=rounds)
    looks((22_000, group), rounds=rounds, still=True)
    looks((29_000, group), rounds=rounds)
    looks((37_000, a_group(SYNCING, 2, pending_sync="a")), rounds=rounds)


def test_nobody_has_to_join_a_round_that_nobody_else_has_joined():
    """Only static members, none of which has come back."""
    looks((0, a_group(JOINING)), (60_000, a_group(JOINING)))


def test_a_generation_has_waited_for_ids_that_were_handed_out_until_its_time_was_over():
    calm = (0, a_group(STABLE))
    waiting = (100, a_group(JOINING, pending_join="b", joins=1))
    without = a_group(SYNCING, 2, pending_join="b")
    looks(calm, waiting, (4_500, without))
    looks(calm, waiting, (200, a_group(SYNCING, 2, ("a", "b"))))
    looks(calm, waiting, (200, a_group(SYNCING, 3, pending_join="b")))  # one was missed
    broken(Rule.ROUNDS, looks, calm, waiting, (200, without))


def test_an_empty_group_waits_for_a_while_and_for_nobody():
    initial = a_group(JOINING, pending_join="b", joins=1)
    initial.previous_state = GroupState.EMPTY
    empty = a_group(GroupState.EMPTY, members=())
    looks((0, empty), (100, initial), (200, a_group(SYNCING, 2, pending_join="b")))
    initial.generation = 2  # the one before was left to who was handed an id, and is over
    looks((0, a_group(STABLE, pending_join="b")), (1_000, initial))


def test_nobody_comes_or_goes_within_a_generation():
    pair = a_group(SYNCING, members="ab")
    looks((0, pair), (100, a_group(STABLE, members="ac")))  # a static member under another id
    looks((0, pair), (100, a_group(JOINING, members="a")), (200, a_group(STABLE, 2)))
    broken(Rule.ROUNDS, looks, (0, pair), (100, a_group(STABLE, members="a")))


def test_a_member_of_a_consumer_group_gives_up_what_it_is_to_as_soon():
    group = ConsumerGroup("g")
    state = ConsumerState.UNREVOKED_PARTITIONS
    group.members["a"] = ConsumerMember("a", epoch=1, state=state, topics=frozenset("t"))
    rounds = looks((0, group), (7_500, group))
    broken(Rule.ROUNDS, looks, (7_501, group), rounds=rounds)
    rounds = looks((0, group), (7_000, group))
    group.members["a"] = replace(group.members["a"], epoch=2)  # a step on
    looks((8_000, group), (15_000, group), rounds=rounds)
    group.members["a"] = replace(group.members["a"], epoch=LEAVING_STATIC)  # away, and kept
    looks((16_000, group), (60_000, group), rounds=rounds)
