"""Sticky and cooperative-sticky: vectors A10-A22 of VECTORS.md, and what holds for any round."""

from __future__ import annotations

import struct
from collections import Counter

import pytest
from hypothesis import given
from sticky_rounds import Round, check_balanced, check_shared, kept, rounds

from kcore.assignors import (
    CooperativeStickyAssignor,
    MemberSubscription,
    RebalanceProtocol,
    StickyAssignor,
    blobs,
)
from kcore.errors import ProtocolError
from kcore.structs import TopicPartition


def tps(text: str) -> list[TopicPartition]:
    """Partitions of "t1-0,1 t2-0"."""
    return [
        TopicPartition(topic, int(number))
        for topic, numbers in (one.rsplit("-", 1) for one in text.split())
        for number in numbers.split(",")
    ]


def written(partitions: list[TopicPartition]) -> str:
    by_topic: dict[str, list[str]] = {}
    for tp in sorted(partitions):
        by_topic.setdefault(tp.topic, []).append(str(tp.partition))
    return " ".join(f"{topic}-{','.join(at)}" for topic, at in by_topic.items())


def sticky(topics: str, owned: str = "", generation: int = 1, **more) -> MemberSubscription:
    """A member of the eager one: what it had is in its userdata."""
    userdata = blobs.encode_sticky(tps(owned), generation) if owned else None
    return MemberSubscription(tuple(topics.split()), userdata=userdata, **more)


def cooperative(topics: str, owned: str = "", generation: int = 1, **more) -> MemberSubscription:
    return MemberSubscription(tuple(topics.split()), tuple(tps(owned)), generation, **more)


ROUNDS_MAX = 8
MAKERS = {
    "sticky": (StickyAssignor, sticky),
    "cooperative": (CooperativeStickyAssignor, cooperative),
}


@pytest.fixture(params=MAKERS)
def kind(request):
    return MAKERS[request.param]


def share(assignor, sizes, members) -> dict[str, str]:
    topics = {topic: list(range(count)) for topic, count in sizes.items()}
    return {one: written(given) for one, given in assignor.assign(members, topics).items()}


def test_a10_what_nobody_had_goes_to_whoever_may_have_one_more(kind) -> None:
    assignor, member = kind
    members = {"c1": member("t1 t2", "t1-0 t2-1"), "c2": member("t1 t2", "t1-1 t2-2")}
    assert share(assignor(), {"t1": 2, "t2": 3}, members) == {
        "c1": "t1-0 t2-0,1",
        "c2": "t1-1 t2-2",
    }


A11 = {"c1": "t1-0 t2-0", "c2": "t1-1 t2-1", "c3": ""}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("c3 c2 c1", {"c1": "t1-0", "c2": "t1-1 t2-1", "c3": "t2-0"}),
        ("c1 c2 c3", {"c1": "t1-0 t2-0", "c2": "t1-1", "c3": "t2-1"}),
    ],
)
def test_a11_a_new_member_gets_what_is_cut_off(order, expected) -> None:
    members = {one: sticky("t1 t2", A11[one]) for one in order.split()}
    assert share(StickyAssignor(), {"t1": 2, "t2": 2}, members) == expected
    members = {one: cooperative("t1 t2", A11[one]) for one in order.split()}
    found = share(CooperativeStickyAssignor(), {"t1": 2, "t2": 2}, members)
    assert found == expected | {"c3": ""}


def test_a12_members_and_partitions_are_new(kind) -> None:
    assignor, member = kind
    members = {
        "c1": member("t1 t2", "t1-0"),
        "c2": member("t1 t2", "t1-1"),
        "c3": member("t1 t2"),
    }
    assert share(assignor(), {"t1": 2, "t2": 3}, members) == {
        "c1": "t1-0 t2-1",
        "c2": "t1-1 t2-2",
        "c3": "t2-0",
    }


def test_a13_different_subscriptions(kind) -> None:
    assignor, member = kind
    members = {"c1": member("t1"), "c2": member("t1 t2"), "c3": member("t1")}
    assert share(assignor(), {"t1": 3, "t2": 2}, members) == {
        "c1": "t1-0,2",
        "c2": "t2-0,1",
        "c3": "t1-1",
    }


def test_a14_of_two_claims_the_later_generation_is_believed(kind) -> None:
    assignor, member = kind
    members = {
        "c1": member("t t2", "t-0,2 t2-1", 10),
        "c2": member("t t2", "t-0,2 t2-1", 9),
    }
    expected = {"c1": "t-0,2 t2-1", "c2": "t-1 t2-0,2"}
    assert share(assignor(), {"t": 3, "t2": 3}, members) == expected
    backwards = dict(reversed(members.items()))
    assert share(assignor(), {"t": 3, "t2": 3}, backwards) == expected


A15 = {"c1": "t-0,1", "c2": "t-0,2", "c3": ""}


def test_a15_what_two_claim_with_equal_right_was_nobodys() -> None:
    members = {one: sticky("t", owned) for one, owned in A15.items()}
    found = share(StickyAssignor(), {"t": 3}, members)
    assert found == {"c1": "t-1", "c2": "t-2", "c3": "t-0"}


def test_a16_and_is_given_to_nobody_before_both_have_given_it_up() -> None:
    members = {one: cooperative("t", owned) for one, owned in A15.items()}
    found = share(CooperativeStickyAssignor(), {"t": 3}, members)
    assert found == {"c1": "t-1", "c2": "t-2", "c3": ""}
    members = {one: cooperative("t", owned, 2) for one, owned in found.items()}
    found = share(CooperativeStickyAssignor(), {"t": 3}, members)
    assert found == {"c1": "t-1", "c2": "t-2", "c3": "t-0"}


def test_a17_three_generations(kind) -> None:
    assignor, member = kind
    members = {
        "c1": member("t t2 t3", "t-0 t2-0 t3-0", 10),
        "c2": member("t t2 t3", "t-1 t2-1 t3-1", 9),
        "c3": member("t t2 t3", "t2-1 t3-0,2", 8),
    }
    assert share(assignor(), {"t": 3, "t2": 3, "t3": 3}, members) == {
        "c1": "t-0 t2-0 t3-0",
        "c2": "t-1 t2-1 t3-1",
        "c3": "t-2 t2-2 t3-2",
    }


def of_each_topic(found: dict[str, str]) -> set[int]:
    return set(Counter((one, tp.topic) for one, at in found.items() for tp in tps(at)).values())


def test_a18_topics_stay_balanced_by_themselves() -> None:
    sizes, found = {"t1": 12, "t2": 12}, {"c1": ""}
    for ids, each in (("c1", 12), ("c1 c2", 6), ("c1 c2 c3 c4", 3), ("c3 c4", 6)):
        members = {one: sticky("t1 t2", found.get(one, "")) for one in ids.split()}
        found = share(StickyAssignor(), sizes, members)
        assert of_each_topic(found) == {each}


def test_a19_topics_come_and_go(kind) -> None:
    assignor, member = kind
    members = {"c1": member("t"), "c2": member("t")}
    first = share(assignor(), {"t": 3}, members)
    assert first == {"c1": "t-0,2", "c2": "t-1"}
    members = {one: member("t t2", owned) for one, owned in first.items()}
    second = share(assignor(), {"t": 3, "t2": 3}, members)
    assert {one: len(tps(owned)) for one, owned in second.items()} == {"c1": 3, "c2": 3}
    assert all(set(tps(first[one])) <= set(tps(second[one])) for one in first)
    members = {one: member("t2", owned) for one, owned in second.items()}
    third = share(assignor(), {"t2": 3}, members)
    assert sorted(len(tps(owned)) for owned in third.values()) == [1, 2]
    assert all(set(tps(third[one])) <= set(tps(second[one])) for one in first)


def test_a20_who_is_left_takes_over_what_is_free(kind) -> None:
    assignor, member = kind
    first = share(assignor(), {"t1": 3}, {f"c{n}": member("t1") for n in range(1, 5)})
    assert sorted(first.values()) == ["", "t1-0", "t1-1", "t1-2"]
    del first["c1"]
    second = share(assignor(), {"t1": 3}, {one: member("t1", at) for one, at in first.items()})
    assert all(len(tps(owned)) == 1 for owned in second.values())
    assert all(second[one] == owned for one, owned in first.items() if owned)


@pytest.mark.parametrize(
    ("generation", "userdata", "expected"),
    [
        (-1, struct.pack(">i", 5), 5),
        (7, struct.pack(">i", 5), 7),
        (-1, None, -1),
        (-1, b"\0", -1),
    ],
)
def test_a21_the_generation_of_old_subscriptions(generation, userdata, expected) -> None:
    member = cooperative("t", "t-0", generation, userdata=userdata)
    found = CooperativeStickyAssignor().claim(member)
    assert (list(found.partitions), found.generation) == (tps("t-0"), expected)


def test_a22_userdata_of_both_versions() -> None:
    without = {
        "c1": MemberSubscription(("t",), userdata=blobs.encode_sticky(tps("t-0,2"), 1)[:-4]),
        "c2": sticky("t", "t-1", 1),
        "c3": sticky("t"),
    }
    found = share(StickyAssignor(), {"t": 3}, without)
    assert found == {"c1": "t-0", "c2": "t-1", "c3": "t-2"}


def test_userdata_is_javas_byte_for_byte() -> None:
    data = blobs.encode_sticky(tps("t-0,2 u-1"), 7)
    assert data.hex(" ", 2) == (
        "0000 0002 0001 7400 0000 0200 0000 0000 0000 0200 0175 0000 0001 0000 0001 0000 0007"
    )
    assert blobs.decode_sticky(data) == (tps("t-0,2 u-1"), 7)
    assert blobs.decode_sticky(data[:-4]) == (tps("t-0,2 u-1"), -1)
    assert blobs.decode_sticky(b"\0\1" + data) == (tps("t-0,2 u-1"), 7), "as kafka-python has it"
    for cut in set(range(len(data))) - {len(data) - 4}:
        with pytest.raises(ProtocolError):
            blobs.decode_sticky(data[:cut])
        assert StickyAssignor().claim(MemberSubscription((), userdata=data[:cut])).partitions == ()


def test_what_a_member_says_of_itself() -> None:
    eager, other = StickyAssignor(), CooperativeStickyAssignor()
    assert eager.subscription_userdata(("t",)) is None
    assert other.subscription_userdata(("t",)) == b"\xff\xff\xff\xff"
    for assignor in (eager, other):
        assignor.on_assignment(tps("t-1"), 3)
    assert eager.subscription_userdata(("t",)) == blobs.encode_sticky(tps("t-1"), 3)
    assert other.subscription_userdata(("t",)) == b"\0\0\0\3"
    assert eager.protocols == {RebalanceProtocol.EAGER}
    assert other.protocols == {RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE}


def test_nobody_and_nothing(kind) -> None:
    assignor, member = kind
    assert share(assignor(), {"t": 1}, {}) == {}
    assert share(assignor(), {}, {"c1": member("t"), "c2": member("")}) == {"c1": "", "c2": ""}
    assert share(assignor(), {"t": 1}, {"c1": member("t", "t-0,5 u-0")}) == {"c1": "t-0"}


def test_racks_are_kept_to_while_all_get_the_same(kind) -> None:
    assignor, member = kind
    racks = {TopicPartition("t", n): frozenset("ab"[n % 2]) for n in range(6)}
    members = {"c1": member("t", "t-0,1", rack="b"), "c2": member("t", rack="a")}
    found = assignor().assign(members, {"t": list(range(6))}, racks)
    held = {one: written(given) for one, given in found.items()}
    assert held["c1"] == "t-1,3,5"
    # The first partition is still with the other one, who is to give it up.
    assert held["c2"] == ("t-0,2,4" if assignor is StickyAssignor else "t-2,4")


@given(rounds())
def test_any_round(round_: Round) -> None:
    """Everything is given out once, as evenly as it can be, and nobody gives up in vain."""
    plan = round_.assign(StickyAssignor())
    check_shared(round_, plan)
    check_balanced(round_, plan)
    if round_.alike and not round_.racks:
        least, extras = divmod(round_.count, len(round_.members))
        owned = sorted((len(mine) for mine in round_.rightly_owned().values()), reverse=True)
        most = sum(min(size, least + (n < extras)) for n, size in enumerate(owned))
        assert kept(round_, plan) == most


def brings_together(round_: Round, assignor) -> bool:
    """Whether a round has more read within their racks, which is the only reason to move any."""
    return round_.after(round_.assign(assignor)).far_off() < round_.far_off()


@given(rounds())
def test_after_any_round_a_second_one_moves_nothing(round_: Round) -> None:
    plan = round_.assign(StickyAssignor())
    again = round_.after(plan)
    assert again.assign(StickyAssignor()) == plan or brings_together(again, StickyAssignor())


@given(rounds())
def test_cooperative_rounds(round_: Round) -> None:
    """In the first one nothing is given to anyone while another has it. Where all subscribe to the
    same, a second one gives it, and that is all. Else it may take more, but there is an end.
    """
    plans = [round_.assign(CooperativeStickyAssignor())]
    for one, given_ in plans[0].items():
        assert all(round_.rightly_owned_by(tp) <= {one} for tp in given_)
    while len(plans) < 2 or plans[-1] != plans[-2]:
        round_ = round_.after(plans[-1])
        plans.append(round_.assign(CooperativeStickyAssignor()))
        assert len(plans) < ROUNDS_MAX
    check_shared(round_, plans[-1])
    check_balanced(round_, plans[-1])
    if round_.alike and not round_.racks:
        assert plans[1] == plans[-1]
        assert all(set(plans[0][one]) <= set(plans[1][one]) for one in plans[0])
