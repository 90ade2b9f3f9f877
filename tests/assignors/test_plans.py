"""Range and round robin: vectors A01-A09 and A23 of VECTORS.md, and what must hold for any
input.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.assignors import (
    CLASSES,
    MemberSubscription,
    RangeAssignor,
    RoundRobinAssignor,
    by_name,
)
from kcore.assignors.base import Assignor
from kcore.structs import TopicPartition

RACKS = ("a", "b", "c")


def member(
    topics: str, instance_id: str | None = None, rack: str | None = None
) -> MemberSubscription:
    return MemberSubscription(tuple(topics.split()), instance_id=instance_id, rack=rack)


def plan(assignor: Assignor, sizes: dict[str, int], racks=None, **members) -> dict[str, str]:
    """member -> "t1-0,1 t2-0" as the vectors write it."""
    given_out = assignor.assign(
        members, {topic: list(range(count)) for topic, count in sizes.items()}, racks
    )
    result = {}
    for name, partitions in given_out.items():
        by_topic: dict[str, list[str]] = {}
        for tp in partitions:
            by_topic.setdefault(tp.topic, []).append(str(tp.partition))
        result[name] = " ".join(f"{topic}-{','.join(at)}" for topic, at in sorted(by_topic.items()))
    return result


def replicas(sizes: dict[str, int], replication: int) -> dict[TopicPartition, frozenset[str]]:
    """Racks in turn, going on from topic to topic: the n-th partition is in racks n, n+1, ..."""
    racks = {}
    at = 0
    for topic, count in sizes.items():
        for number in range(count):
            racks[TopicPartition(topic, number)] = frozenset(
                RACKS[(at + step) % len(RACKS)] for step in range(replication)
            )
            at += 1
    return racks


def test_a01_range() -> None:
    assert plan(RangeAssignor(), {"t1": 3, "t2": 3}, c1=member("t1 t2"), c2=member("t1 t2")) == {
        "c1": "t1-0,1 t2-0,1",
        "c2": "t1-2 t2-2",
    }


def test_a02_range() -> None:
    found = plan(
        RangeAssignor(), {"t1": 3, "t2": 2}, c1=member("t1"), c2=member("t1 t2"), c3=member("t1")
    )
    assert found == {"c1": "t1-0", "c2": "t1-1 t2-0,1", "c3": "t1-2"}


def test_a03_range_static_before_dynamic() -> None:
    found = plan(
        RangeAssignor(), {"t1": 3, "t2": 3}, a=member("t1 t2"), b=member("t1 t2", instance_id="z")
    )
    assert found == {"b": "t1-0,1 t2-0,1", "a": "t1-2 t2-2"}


@pytest.mark.parametrize("fourth", ["c4", "c5"])
def test_a04_range_shares_survive_a_new_dynamic_member(fourth: str) -> None:
    members = {f"c{n}": member("t1 t2", instance_id=f"i{n}") for n in (1, 2, 3)}
    members[fourth] = member("t1 t2")
    assert plan(RangeAssignor(), {"t1": 5, "t2": 4}, **members) == {
        "c1": "t1-0,1 t2-0",
        "c2": "t1-2 t2-1",
        "c3": "t1-3 t2-2",
        fourth: "t1-4 t2-3",
    }


SIZES = {"t1": 6, "t2": 7, "t3": 2}


def one_per_rack() -> dict[str, MemberSubscription]:
    return {f"c{n + 1}": member("t1 t2 t3", rack=RACKS[n]) for n in range(3)}


@pytest.mark.parametrize(
    ("replication", "expected"),
    [
        (1, ("t1-0,3 t2-0,3,6", "t1-1,4 t2-1,4 t3-0", "t1-2,5 t2-2,5 t3-1")),
        (2, ("t1-0,2 t2-0,2,3 t3-1", "t1-1,3 t2-1,4 t3-0", "t1-4,5 t2-5,6")),
        (3, ("t1-0,1 t2-0,1,2 t3-0", "t1-2,3 t2-3,4 t3-1", "t1-4,5 t2-5,6")),
    ],
    ids=["a05", "a06-two", "a06-all"],
)
def test_a05_a06_range_racks(replication: int, expected: tuple[str, ...]) -> None:
    found = plan(RangeAssignor(), SIZES, replicas(SIZES, replication), **one_per_rack())
    assert tuple(found.values()) == expected


def test_a07_range_keeps_equally_partitioned_topics_together() -> None:
    sizes = {"t1": 6, "t2": 6}
    racks = {
        TopicPartition(topic, number): frozenset("ab"[number % 2])
        for topic in sizes
        for number in range(6)
    }
    found = plan(
        RangeAssignor(), sizes, racks, c1=member("t1 t2", rack="a"), c2=member("t1 t2", rack="b")
    )
    assert found == {"c1": "t1-0,2,4 t2-0,2,4", "c2": "t1-1,3,5 t2-1,3,5"}


def test_a08_roundrobin() -> None:
    found = plan(RoundRobinAssignor(), {"t1": 3, "t2": 3}, c1=member("t1 t2"), c2=member("t1 t2"))
    assert found == {"c1": "t1-0,2 t2-1", "c2": "t1-1 t2-0,2"}


def test_a09_roundrobin() -> None:
    found = plan(
        RoundRobinAssignor(),
        {"t1": 3, "t2": 2},
        c1=member("t1"),
        c2=member("t1 t2"),
        c3=member("t1"),
    )
    assert found == {"c1": "t1-0", "c2": "t1-1 t2-0,1", "c3": "t1-2"}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a23_nothing_to_give(name: str) -> None:
    assignor = by_name(name)()
    assert plan(assignor, {"t1": 1}, c1=member("")) == {"c1": ""}
    assert plan(assignor, {}, c1=member("gone")) == {"c1": ""}
    assert plan(assignor, {"t1": 1}, c1=member("t1"), c2=member("t1")) == {"c1": "t1-0", "c2": ""}


topics = st.sampled_from(["t1", "t2", "t3", "t4"])
subscriptions = st.builds(
    MemberSubscription,
    topics=st.lists(topics, unique=True).map(tuple),
    rack=st.sampled_from([None, *RACKS]),
    instance_id=st.none(),
)


@given(
    name=st.sampled_from(sorted(CLASSES)),
    members=st.dictionaries(st.text("xyz", min_size=1, max_size=3), subscriptions, max_size=6),
    sizes=st.dictionaries(topics, st.integers(0, 9)),
    racks_seed=st.integers(0, 2**31),
)
def test_every_partition_once_to_a_subscriber(name, members, sizes, racks_seed) -> None:
    partitions = {topic: list(range(count)) for topic, count in sizes.items()}
    racks = {
        TopicPartition(topic, number): frozenset(RACKS[(racks_seed >> number) % 3 :])
        for topic, numbers in partitions.items()
        for number in numbers
    }
    found = by_name(name)().assign(members, partitions, racks)
    assert found.keys() == members.keys()
    given_out = Counter(tp for tps in found.values() for tp in tps)
    wanted = {topic for subscription in members.values() for topic in subscription.topics}
    assert given_out == Counter(
        TopicPartition(topic, number)
        for topic, numbers in partitions.items()
        if topic in wanted
        for number in numbers
    )
    for member_id, tps in found.items():
        assert {tp.topic for tp in tps} <= set(members[member_id].topics)
    if name == "range":
        for topic, numbers in partitions.items():
            takers = [m for m, subscription in members.items() if topic in subscription.topics]
            shares = [sum(tp.topic == topic for tp in found[m]) for m in takers]
            assert not shares or max(shares) - min(shares) <= (len(numbers) % len(takers) > 0)
