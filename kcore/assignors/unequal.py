"""Sticky sharing among members that subscribe to different topics.

What each had and may still read it keeps; the rest goes to whoever has least; then partitions move
from those with more to those with at least two fewer, until none can. First only those that nobody
had, as they cost nobody anything (Java: AbstractStickyAssignor, its general case). Where racks
matter, partitions then move to who is beside a replica and has fewer than the owner.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kcore.assignors.base import MemberSubscription, Plan
from kcore.assignors.claims import Claims
from kcore.assignors.racks import Nearness
from kcore.structs import TopicPartition

# Of so many times as many members, the readers of a topic are looked at one by one.
_FEW: Final = 16


class UnequalShares:
    """One round: `plan` is complete once `run` has returned."""

    def __init__(
        self,
        members: Mapping[str, MemberSubscription],
        partitions: Mapping[str, Sequence[int]],
        near: Nearness,
    ) -> None:
        self._near = near
        self._partitions = partitions
        self._readers: dict[str, set[str]] = {}
        for member_id, member in members.items():
            for topic in member.topics:
                if topic in partitions:
                    self._readers.setdefault(topic, set()).add(member_id)
        self._nearby: dict[tuple[str, frozenset[str]], set[str]] = {}
        self._held: dict[str, dict[TopicPartition, None]] = {one: {} for one in members}
        self._at: dict[TopicPartition, str] = {}
        self._loads = _Loads(members)

    @property
    def plan(self) -> Plan:
        """Member id -> its partitions."""
        return {member_id: list(held) for member_id, held in self._held.items()}

    def run(self, claims: Claims) -> None:
        """Share everything out."""
        gave_up = self._keep(claims)
        new = [tp for tp in self._in_turn() if tp not in self._at]
        for tp in new:
            self._put(tp, self._least_loaded(tp))
        swaps = _Swaps()
        if not gave_up:
            self._level(new, claims, swaps)
        self._level(self._in_turn(), claims, swaps)
        while self._near.matters and self._come_near():
            self._level(self._in_turn(), claims, _Swaps())

    def _in_turn(self) -> Iterator[TopicPartition]:
        """Partitions of the topics that fewest read first: for them there is least choice."""
        for topic in sorted(self._readers, key=lambda name: (len(self._readers[name]), name)):
            for number in self._partitions[topic]:
                yield TopicPartition(topic, number)

    def _keep(self, claims: Claims) -> bool:
        """Leave everybody what it had; whether some member had what it may not read any more."""
        gave_up = False
        for tp, member_id in claims.owner.items():
            if member_id in self._readers.get(tp.topic, ()):
                self._put(tp, member_id)
            else:
                gave_up = True
        return gave_up

    def _put(self, tp: TopicPartition, member_id: str) -> None:
        before = self._at.get(tp)
        if before is not None:
            del self._held[before][tp]
            self._loads.add(before, -1)
        self._at[tp] = member_id
        self._held[member_id][tp] = None
        self._loads.add(member_id, 1)

    def _least_loaded(self, tp: TopicPartition) -> str:
        """Of those that read the topic, in a replica's rack if one is."""
        readers = self._readers[tp.topic]
        if self._near.matters:
            where = (tp.topic, self._near.of(tp))
            if where not in self._nearby:
                self._nearby[where] = {one for one in readers if self._near(one, tp)}
            readers = self._nearby[where] or readers
        return self._loads.first_of(readers)

    def _level(self, some: Iterable[TopicPartition], claims: Claims, swaps: _Swaps) -> None:
        """Move partitions to where at least two fewer are, until no move is left.

        Each move makes two members more alike, so there is an end.
        """
        movable = [tp for tp in some if len(self._readers[tp.topic]) > 1]
        moved = True
        while moved:
            moved = False
            for tp in movable:
                target = self._better_place(tp, claims)
                if target is not None:
                    self._move(tp, target, swaps)
                    moved = True

    def _better_place(self, tp: TopicPartition, claims: Claims) -> str | None:
        size = self._loads.of(self._at[tp])
        if size <= self._loads.least + 1:
            return None
        former = claims.former.get(tp)
        readers = self._readers[tp.topic]
        if former in readers and self._loads.of(former) + 1 < size:
            return former
        for target in (self._least_loaded(tp), self._loads.first_of(readers)):
            if self._loads.of(target) + 1 < size:
                return target
        return None

    def _come_near(self) -> bool:
        """Move some to who is beside a replica; whether any was.

        Each move brings one more into its rack and makes no two members less alike, so there is an
        end, and rounds that follow have nothing to do.
        """
        moved = False
        for tp, member_id in list(self._at.items()):
            if self._near(member_id, tp):
                continue
            target = self._least_loaded(tp)
            if self._near(target, tp) and self._loads.of(target) < self._loads.of(member_id):
                self._put(tp, target)
                moved = True
        return moved

    def _move(self, tp: TopicPartition, target: str, swaps: _Swaps) -> None:
        source = self._at[tp]
        instead = swaps.undoing(tp, source, target)
        swaps.note(instead, source, target)
        self._put(instead, target)


class _Loads:
    """How many partitions each member has, and the members in that order."""

    def __init__(self, members: Iterable[str]) -> None:
        self._count = dict.fromkeys(members, 0)
        self._order = sorted((0, member_id) for member_id in self._count)

    def of(self, member_id: str) -> int:
        return self._count[member_id]

    def add(self, member_id: str, change: int) -> None:
        count = self._count[member_id]
        del self._order[bisect_left(self._order, (count, member_id))]
        self._count[member_id] = count + change
        insort(self._order, (count + change, member_id))

    @property
    def least(self) -> int:
        """What whoever has fewest has."""
        return self._order[0][0]

    def first_of(self, readers: Collection[str]) -> str:
        """Who has fewest of these (one or more), and of several the first by name."""
        if len(readers) * _FEW < len(self._order):
            return min((self._count[one], one) for one in readers)[1]
        return next(member_id for _, member_id in self._order if member_id in readers)


class _Swaps:
    """Which partitions of a topic have moved from one member to another in this round.

    A second one that would move back the other way costs two members a partition each, and nobody
    gains: the first one stays where it was instead.
    """

    def __init__(self) -> None:
        self._path: dict[TopicPartition, tuple[str, str]] = {}
        self._moved: dict[tuple[str, str, str], dict[TopicPartition, None]] = {}

    def undoing(self, tp: TopicPartition, source: str, target: str) -> TopicPartition:
        """The partition to be moved from source to target in place of `tp`, or `tp`."""
        back = self._moved.get((tp.topic, target, source))
        return next(iter(back)) if back else tp

    def note(self, tp: TopicPartition, source: str, target: str) -> None:
        begun = self._path.pop(tp, None)
        if begun is not None:
            source = begun[0]
            del self._moved[tp.topic, *begun][tp]
        if source != target:
            self._path[tp] = (source, target)
            self._moved.setdefault((tp.topic, source, target), {})[tp] = None
