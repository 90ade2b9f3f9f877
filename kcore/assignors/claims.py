"""Whose a partition was before: what members say of themselves, where they contradict each other.

A member that missed a rebalance may still claim what others have got since. Its generation tells:
the highest one is believed, and of several with the same one nobody is (KIP-792; Java:
AbstractStickyAssignor).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple


class Claim(NamedTuple):
    """What one member says it has: partitions, and of which generation (-1: it does not know)."""

    partitions: Iterable[TopicPartition]
    generation: int = -1


class Claims:
    """Claims of all members, sorted out.

    owner: whose each partition was. disputed: partitions that several claim with equal right, which
    count as nobody's. former: whose a partition was before its owner, where an older claim says so.
    """

    def __init__(
        self, claims: Mapping[str, Claim], partitions: Mapping[str, Collection[int]]
    ) -> None:
        self.owner: dict[TopicPartition, str] = {}
        self.disputed: set[TopicPartition] = set()
        self.former: dict[TopicPartition, str] = {}
        numbers = {topic: frozenset(some) for topic, some in partitions.items()}
        generations = {member_id: claim.generation for member_id, claim in claims.items()}
        for member_id, claim in claims.items():
            for tp in dict.fromkeys(claim.partitions):
                if tp.partition in numbers.get(tp.topic, ()):
                    self._add(tp, member_id, generations)
        for tp in self.disputed:
            del self.owner[tp]

    def _add(self, tp: TopicPartition, member_id: str, generations: Mapping[str, int]) -> None:
        other = self.owner.setdefault(tp, member_id)
        if other == member_id:
            return
        mine, others = generations[member_id], generations[other]
        if mine == others:
            self.disputed.add(tp)
        elif mine > others:
            self.disputed.discard(tp)
            self.owner[tp] = member_id
            self.former[tp] = other
        elif mine > generations.get(self.former.get(tp, ""), -2):
            self.former[tp] = member_id

    def by_member(self, members: Iterable[str]) -> dict[str, list[TopicPartition]]:
        """Member id -> what was its own, by partition number and then topic.

        In this order a member that gives some of it up keeps as many of one topic as of another.
        """
        found: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        for tp, member_id in self.owner.items():
            found[member_id].append(tp)
        for owned in found.values():
            owned.sort(key=lambda tp: (tp.partition, tp.topic))
        return found

    def moves(self, tp: TopicPartition, member_id: str) -> bool:
        """Whether somebody else still has what this member is given."""
        return tp in self.disputed or self.owner.get(tp, member_id) != member_id
