"""Rounds of groups with sticky assignors: made at random, and what must hold of their plans."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from kcore.assignors import MemberSubscription, Plan, StickyAssignor, blobs
from kcore.assignors.racks import matter
from kcore.structs import TopicPartition

RACKS = ("a", "b", "c")


@dataclass(frozen=True)
class Member:
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True)
class Round:
    """Members (in order) and topics, with the racks of each partition where there are racks."""

    members: dict[str, Member]
    topics: dict[str, int]
    racks: dict[TopicPartition, frozenset[str]] | None = None

    @property
    def wanted(self) -> dict[str, frozenset[str]]:
        """Member -> the topics that it reads and that are there."""
        return {
            one: frozenset(member.topics).intersection(self.topics)
            for one, member in self.members.items()
        }

    @property
    def every(self) -> set[TopicPartition]:
        topics = frozenset().union(*self.wanted.values())
        return {TopicPartition(topic, n) for topic in topics for n in range(self.topics[topic])}

    @property
    def count(self) -> int:
        return len(self.every)

    @property
    def alike(self) -> bool:
        return len(set(self.wanted.values())) == 1

    @property
    def alike_in_words(self) -> bool:
        """Also of topics that are not there."""
        return len({frozenset(member.topics) for member in self.members.values()}) == 1

    @property
    def racks_matter(self) -> bool:
        return bool(self.racks) and matter(self.every, self.members, self.racks)

    def far_off(self) -> int:
        """How many are owned by members that sit in a rack, but not beside a replica."""
        if not self.racks_matter:
            return 0
        return sum(
            member.rack is not None and member.rack not in self.racks[tp]
            for member in self.members.values()
            for tp in member.owned
        )

    def assign(self, assignor) -> Plan:
        eager = type(assignor) is StickyAssignor
        members = {
            one: MemberSubscription(
                member.topics,
                () if eager else member.owned,
                member.generation,
                member.rack,
                blobs.encode_sticky(member.owned, member.generation) if eager else None,
            )
            for one, member in self.members.items()
        }
        topics = {topic: range(count) for topic, count in self.topics.items()}
        return assignor.assign(members, topics, self.racks)

    def rightly_owned_by(self, tp: TopicPartition) -> set[str]:
        """Who claims it with the highest generation."""
        claims = {one: m.generation for one, m in self.members.items() if tp in m.owned}
        return {one for one, generation in claims.items() if generation == max(claims.values())}

    def rightly_owned(self) -> dict[str, set[TopicPartition]]:
        """Member -> what it alone owns by right, and reads."""
        found: dict[str, set[TopicPartition]] = {one: set() for one in self.members}
        for tp in self.every:
            owners = self.rightly_owned_by(tp)
            if len(owners) == 1:
                [owner] = owners
                if tp.topic in self.wanted[owner]:
                    found[owner].add(tp)
        return found

    def after(self, plan: Plan) -> Round:
        """The next round: everybody has what it was given."""
        latest = 1 + max((member.generation for member in self.members.values()), default=0)
        members = {
            one: replace(member, owned=tuple(plan[one]), generation=latest)
            for one, member in self.members.items()
        }
        return replace(self, members=members)

    def as_json(self, assignor: str) -> dict[str, object]:
        """For the program that asks Kafka's own assignors."""
        eager = assignor == "sticky"
        racks = self.racks or {}
        return {
            "assignor": assignor,
            "topics": {
                topic: [sorted(racks.get(TopicPartition(topic, n), ())) for n in range(count)]
                for topic, count in self.topics.items()
                if any(topic in wanted for wanted in self.wanted.values())
            },
            "members": {
                one: {
                    "topics": member.topics,
                    "owned": [] if eager else member.owned,
                    "generation": member.generation,
                    "rack": member.rack,
                    "userdata": base64.b64encode(
                        blobs.encode_sticky(member.owned, member.generation)
                    ).decode()
                    if eager
                    else None,
                }
                for one, member in self.members.items()
            },
        }


@st.composite
def rounds(draw: st.DrawFn, *, racks: bool = True, contradictions: bool = True) -> Round:
    """Some members and topics; what they own may contradict each other, or be gone."""
    topics = {f"t{n}": draw(st.integers(1, 7)) for n in range(draw(st.integers(1, 4)))}
    names = [*topics, "gone"]
    alike = draw(st.booleans())
    one_for_all = draw(st.lists(st.sampled_from(names), unique=True))
    with_racks = racks and draw(st.booleans())
    claimable = [TopicPartition(topic, n) for topic in topics for n in range(topics[topic])]
    free = set(claimable)
    members = {}
    for number in draw(st.permutations(range(draw(st.integers(1, 6))))):
        mine = one_for_all if alike else draw(st.lists(st.sampled_from(names), unique=True))
        owned = draw(st.lists(st.sampled_from(claimable), unique=True, max_size=10))
        if not contradictions:
            owned = [tp for tp in owned if tp in free and tp.topic in mine]
            free.difference_update(owned)
        members[f"c{number}"] = Member(
            tuple(mine),
            tuple(owned),
            draw(st.sampled_from([-1, 1, 2, 3] if contradictions else [3])),
            draw(st.sampled_from([None, *RACKS])) if with_racks else None,
        )
    where = st.frozensets(st.sampled_from(RACKS), min_size=1)
    found = {tp: draw(where) for tp in claimable} if with_racks else None
    return Round(members, topics, found)


def check_shared(round_: Round, plan: Plan) -> None:
    """Every partition that somebody wants goes to one member, which wants it."""
    assert plan.keys() == round_.members.keys()
    given = [tp for mine in plan.values() for tp in mine]
    assert len(given) == len(set(given))
    assert set(given) == round_.every
    for one, mine in plan.items():
        assert {tp.topic for tp in mine} <= round_.wanted[one]


def check_balanced(round_: Round, plan: Plan) -> None:
    """Nobody has two more than another one who could read one of these."""
    for one, mine in plan.items():
        for other, theirs in plan.items():
            if len(mine) > len(theirs) + 1:
                assert not {tp.topic for tp in mine} & round_.wanted[other], (one, other)


def kept(round_: Round, plan: Plan) -> int:
    """How many partitions stay where they were by right."""
    owned = round_.rightly_owned()
    return sum(len(owned[one].intersection(mine)) for one, mine in plan.items())
