"""Who gets what, and how a member is led there: the pure half of consumer groups."""

import itertools

import pytest
from consumer_groups_world import id_of, parts
from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples

from kcore.coordinator.consumer.assignors import ASSIGNORS, Subscriber
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.coordinator.consumer.reconciling import Goal, reconcile
from kcore.coordinator.consumer.states import MemberState


def assign(name, sizes, members, instances=None):
    """members: {id: (topics, what it had)} -> {id: {topic: partitions}}."""
    given_ = [
        Subscriber(
            member_id,
            (instances or {}).get(member_id),
            frozenset(map(id_of, topics)),
            frozenset(parts(**had)),
        )
        for member_id, (topics, had) in members.items()
    ]
    found = ASSIGNORS[name](given_, {id_of(topic): size for topic, size in sizes.items()})
    shown = {}
    for member_id, target in found.items():
        topics = shown[member_id] = {}
        for topic_id, number in sorted(target):
            topics.setdefault(topic_id.lstrip(b"_").decode(), []).append(number)
    return shown


def test_k18_more_members_than_partitions():
    """Kafka 4.0 gave to the first; since then who has no full share leaves it to the next."""
    members = dict.fromkeys("ABC", (["t"], {}))
    assert assign("uniform", {"t": 2}, members) == {"A": {}, "B": {"t": [0]}, "C": {"t": [1]}}


def test_k19_what_is_too_much_goes_to_who_has_less():
    members = {
        "A": (["t1", "t2"], {"t1": [0, 1], "t2": [0, 1]}),
        "B": (["t1", "t2"], {"t1": [2], "t2": [2]}),
    }
    assert assign("uniform", {"t1": 3, "t2": 3}, members) == {
        "A": {"t1": [0, 1], "t2": [0]},
        "B": {"t1": [2], "t2": [1, 2]},
    }


def test_k20_a_member_more():
    members = {
        "A": (["t1", "t2"], {"t1": [0, 2], "t2": [0]}),
        "B": (["t1", "t2"], {"t1": [1], "t2": [1, 2]}),
        "C": (["t1", "t2"], {}),
    }
    assert assign("uniform", {"t1": 3, "t2": 3}, members) == {
        "A": {"t1": [0, 2]},
        "B": {"t1": [1], "t2": [1]},
        "C": {"t2": [0, 2]},
    }


def test_k21_who_can_only_have_one_topic_gets_most_of_it():
    members = {"A": (["t1", "t3"], {}), "B": (["t3"], {})}
    assert assign("uniform", {"t1": 3, "t3": 6}, members) == {
        "A": {"t1": [0, 1, 2], "t3": [4]},
        "B": {"t3": [0, 1, 2, 3, 5]},
    }


def test_k22_different_subscriptions_are_balanced():
    members = {
        "A": (["t1"], {"t1": [0, 1, 2]}),
        "B": (["t1", "t2"], {"t1": [3], "t2": [0]}),
        "C": (["t1", "t2", "t3"], {"t1": [4, 5], "t2": [1, 2, 3], "t3": [0, 1, 2, 3]}),
    }
    assert assign("uniform", {"t1": 6, "t2": 4, "t3": 4}, members) == {
        "A": {"t1": [0, 1, 2, 5]},
        "B": {"t1": [3], "t2": [0, 1, 2, 3]},
        "C": {"t1": [4], "t3": [0, 1, 2, 3]},
    }


def test_k23_range_by_topic():
    members = {"A": (["t1", "t2"], {}), "B": (["t3"], {}), "C": (["t2", "t3"], {})}
    assert assign("range", {"t1": 3, "t2": 3, "t3": 2}, members) == {
        "A": {"t1": [0, 1, 2], "t2": [0, 1]},
        "B": {"t3": [0]},
        "C": {"t2": [2], "t3": [1]},
    }


def test_range_has_static_members_first():
    members = dict.fromkeys("ABC", (["t"], {}))
    found = assign("range", {"t": 4}, members, {"C": "a", "B": "b"})
    assert found == {"C": {"t": [0, 1]}, "B": {"t": [2]}, "A": {"t": [3]}}


def test_a_share_that_is_one_larger_stays_with_who_has_it():
    members = {"A": (["t"], {"t": [0]}), "B": (["t"], {"t": [1, 2]})}
    assert assign("uniform", {"t": 3}, members) == {"A": {"t": [0]}, "B": {"t": [1, 2]}}


TOPICS = ["t1", "t2", "t3"]
SIZES = st.fixed_dictionaries({topic: st.integers(1, 7) for topic in TOPICS})
WANTED = st.lists(st.sampled_from(TOPICS), unique=True)


@settings(max_examples=examples(100))
@given(
    st.sampled_from(["uniform", "range"]),
    SIZES,
    st.lists(WANTED, min_size=1, max_size=5),
    st.lists(WANTED, min_size=1, max_size=5),
)
def test_every_partition_that_is_wanted_has_one_owner_round_by_round(name, sizes, first, then):
    had = {}
    for wanted in (first, then, then):
        members = {f"m{n}": (topics, had.get(f"m{n}", {})) for n, topics in enumerate(wanted)}
        found = assign(name, sizes, members)
        owners = {}
        for member_id, topics in found.items():
            assert set(topics) <= set(members[member_id][0])
            for topic, numbers in topics.items():
                for number in numbers:
                    assert owners.setdefault((topic, number), member_id) == member_id
        all_wanted = {topic for topics in wanted for topic in topics}
        assert set(owners) == {(t, n) for t in all_wanted for n in range(sizes[t])}
        if name == "uniform":
            loads = [sum(map(len, topics.values())) for topics in found.values()]
            if all(set(topics) == set(wanted[0]) for topics in wanted):
                assert max(loads) - min(loads) <= 1
        before, had = had, found
    assert found == before or name != "uniform" or len(set(map(tuple, map(sorted, then)))) > 1


# Reconciliation -----------------------------------------------------------------------------------

T1, T2 = id_of("t1"), id_of("t2")
AT = MemberState


def member(state, epoch, assigned, pending=(), previous=9):
    return ConsumerMember(
        "m", epoch, previous, state, assigned=dict.fromkeys(assigned, epoch),
        pending=dict.fromkeys(pending, epoch),
    )  # fmt: skip


def goal(epoch, target, *, held=(), owned=None, topics=("t1", "t2"), changed=False):
    return Goal(
        epoch, set(target), set(map(id_of, topics)), changed, set(held).__contains__,
        None if owned is None else set(owned),
    )  # fmt: skip


def seen(found):
    return found.state, found.epoch, found.previous_epoch, set(found.assigned), set(found.pending)


HAD = parts(t1=[1, 2, 3], t2=[4, 5, 6])


def test_k08_what_is_free_is_given_at_once():
    found = reconcile(
        member(AT.STABLE, 10, HAD),
        goal(11, parts(t1=[1, 2, 3, 4], t2=[4, 5, 6, 7]), held=HAD),
    )
    assert seen(found) == (AT.STABLE, 11, 10, {*parts(t1=[1, 2, 3, 4], t2=[4, 5, 6, 7])}, set())
    assert (found.assigned[T1, 1], found.assigned[T1, 4]) == (10, 11)  # since when it has them


def test_k09_first_it_gives_up():
    found = reconcile(
        member(AT.STABLE, 10, HAD), goal(11, parts(t1=[2, 3, 4], t2=[5, 6, 7]), held=HAD)
    )
    assert seen(found) == (
        AT.UNREVOKED_PARTITIONS, 10, 10, {*parts(t1=[2, 3], t2=[5, 6])}, {*parts(t1=[1], t2=[4])},
    )  # fmt: skip


def test_k10_who_says_it_has_nothing_has_given_up():
    found = reconcile(
        member(AT.STABLE, 10, HAD),
        goal(11, parts(t1=[1, 2, 3], t2=[4, 5, 7]), held={*HAD, (T2, 7)}, owned={}),
    )
    assert seen(found) == (
        AT.UNRELEASED_PARTITIONS, 11, 10, {*parts(t1=[1, 2, 3], t2=[4, 5])}, set(),
    )  # fmt: skip


def test_k11_a_newer_target_while_it_gives_up():
    """Kafka 4.0 moved the member to an epoch of its own in between; 4.3 does not."""
    kept, pending = parts(t1=[2, 3], t2=[5, 6]), parts(t1=[1], t2=[4])
    found = reconcile(
        member(AT.UNREVOKED_PARTITIONS, 10, kept, pending),
        goal(12, parts(t1=[3], t2=[6]), held={**kept, **pending}, owned=kept),
    )
    assert seen(found) == (
        AT.UNREVOKED_PARTITIONS, 10, 10, {*parts(t1=[3], t2=[6])}, {*parts(t1=[2], t2=[5])},
    )  # fmt: skip


def test_what_it_was_to_give_up_may_come_back():
    kept, pending = parts(t1=[2, 3]), parts(t1=[1])
    found = reconcile(
        member(AT.UNREVOKED_PARTITIONS, 10, kept, pending),
        goal(12, parts(t1=[1, 2, 3]), held={**kept, **pending}, owned=kept),
    )
    assert seen(found) == (AT.STABLE, 12, 10, {*parts(t1=[1, 2, 3])}, set())
    assert found.assigned[T1, 1] == 12


def test_a_state_of_the_future_begins_again():
    odd = member(AT.UNKNOWN, 10, HAD)
    for owned in (None, HAD):
        assert reconcile(odd, goal(12, HAD, held=HAD, owned=owned)) is None
    found = reconcile(odd, goal(12, HAD, held=HAD, owned={}))
    assert seen(found) == (AT.STABLE, 12, 10, {*HAD}, set())


def test_what_is_not_subscribed_goes_before_there_is_a_target_without_it():
    found = reconcile(member(AT.STABLE, 10, HAD), goal(10, HAD, topics=["t2"], changed=True))
    assert seen(found) == (
        AT.UNREVOKED_PARTITIONS, 10, 10, {*parts(t2=[4, 5, 6])}, {*parts(t1=[1, 2, 3])},
    )  # fmt: skip
    gone = goal(10, HAD, topics=["t2"], changed=True, owned=parts(t2=[4]))
    assert seen(reconcile(member(AT.STABLE, 10, HAD), gone))[0] is AT.STABLE
    same = member(AT.STABLE, 10, HAD)
    assert reconcile(same, goal(10, HAD, changed=True)) is same


PLACES = [(T1, 0), (T1, 1)]
SUBSETS = [frozenset(some) for size in range(3) for some in itertools.combinations(PLACES, size)]


@pytest.mark.parametrize("state", list(AT))
@pytest.mark.parametrize("current", [True, False])
def test_every_cell(state, current):
    """All that two partitions can be in: what has to hold whatever happens."""
    for assigned, pending, target, others, owned in itertools.product(
        SUBSETS, SUBSETS, SUBSETS, SUBSETS, [None, *SUBSETS]
    ):
        mine = assigned | pending
        if assigned & pending or mine & others:
            continue
        if bool(pending) != (state is AT.UNREVOKED_PARTITIONS):
            continue
        before = member(state, 10, assigned, pending)
        epoch = 10 if current else 11
        found = reconcile(before, goal(epoch, target, held=mine | others, owned=owned))
        if found is None:
            assert state is AT.UNKNOWN
            assert owned is None or owned
            continue
        has, to_go = set(found.assigned), set(found.pending)
        assert not has & to_go
        assert not has & others, "what others have is never given"
        assert has <= target or found is before
        assert bool(to_go) == (found.state is AT.UNREVOKED_PARTITIONS)
        if found.epoch == epoch and not to_go:
            assert (found.state is AT.STABLE) == (has == target) or found is before
        if found.state is not AT.UNREVOKED_PARTITIONS:
            # Nothing leaves a member that has not said it has it no more.
            left = mine - has
            assert owned is not None or not left
            assert owned is None or not left & owned
        if to_go:
            assert found.epoch == (10 if state is not AT.UNKNOWN else epoch)
