"""Sticky sharing among members that all subscribe to the same topics.

Everybody gets the same number of partitions, or one more. Nobody gives up what fits into that, and
nothing else moves: the fewest moves that a balance needs, in time about linear in partitions
(Java: AbstractStickyAssignor, its constrained case).

Where racks matter, what is held outside of its rack is offered to who is beside it, and comes back
to who had it if there is no taker; so each round brings more together, or changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence

from kcore.assignors.base import Plan
from kcore.assignors.racks import Nearness
from kcore.structs import TopicPartition


class EqualShares:
    """One round: `plan` is complete once `run` has returned."""

    def __init__(self, owned: dict[str, list[TopicPartition]], count: int, near: Nearness) -> None:
        """owned: member id -> what it has, first what it gives up last; count: of all
        partitions.
        """
        self.plan: Plan = {member_id: [] for member_id in owned}
        self._near = near
        self._far: dict[TopicPartition, str] = {}
        self._least, self._extras = divmod(count, len(owned))
        self._most = self._least + (1 if self._extras else 0)
        # Members that must get more, and members that may get one more while `_extras` are left.
        below: list[str] = []
        at_least: list[str] = []
        for member_id, mine in owned.items():
            self._far.update((tp, member_id) for tp in mine if not near(member_id, tp))
            if not self._keep(member_id, [tp for tp in mine if tp not in self._far]):
                (below if len(self.plan[member_id]) < self._least else at_least).append(member_id)
        self._below = dict.fromkeys(sorted(below))
        self._at_least = dict.fromkeys(sorted(at_least))

    def _keep(self, member_id: str, mine: list[TopicPartition]) -> bool:
        """Whether it has as much as anybody gets."""
        if len(mine) >= self._most and self._extras:
            self.plan[member_id] = mine[: self._most]
            self._extras -= 1
            return True
        self.plan[member_id] = mine[: self._least]
        return False

    def run(self, partitions: Iterable[TopicPartition]) -> None:
        """Give out all partitions, of which some are kept already."""
        kept = {tp for mine in self.plan.values() for tp in mine}
        left = [tp for tp in partitions if tp not in kept]
        if self._near.matters:
            left = self._give_back(self._give_near(left))
        self._give(left)

    def _give_near(self, left: Sequence[TopicPartition]) -> list[TopicPartition]:
        """To members in a replica's rack; what is left over. First those with the least choice."""
        near = self._near
        sizes = {rack: len(some) for rack, some in near.by_rack(self.plan).items()}
        choice = {tp: sum(sizes.get(rack, 0) for rack in near.of(tp)) for tp in left}
        turns, next_up = _Turns(self._below, near), _FirstUp(self._at_least, near)
        rest = []
        for tp in sorted(left, key=choice.__getitem__):
            racks = near.of(tp)
            member_id = turns.next(racks)
            if member_id is not None:
                self.plan[member_id].append(tp)
                if self._filled(member_id):
                    turns.leave(member_id)
                    next_up.join(member_id)
                continue
            found = next_up.next(racks) if self._extras else None
            if found is None:
                rest.append(tp)
            else:
                self._give_extra(found, tp)
                next_up.leave(found)
        return rest

    def _give_back(self, left: Sequence[TopicPartition]) -> list[TopicPartition]:
        """To those who had them; what nobody had, or had too much of, is left over."""
        rest = []
        for tp in left:
            member_id = self._far.get(tp, "")
            if member_id in self._below:
                self.plan[member_id].append(tp)
                self._filled(member_id)
            elif self._extras and member_id in self._at_least:
                self._give_extra(member_id, tp)
            else:
                rest.append(tp)
        return rest

    def _give_extra(self, member_id: str, tp: TopicPartition) -> None:
        self.plan[member_id].append(tp)
        del self._at_least[member_id]
        self._extras -= 1

    def _filled(self, member_id: str) -> bool:
        """Whether a member that must get more has enough now; it may get one more then."""
        if len(self.plan[member_id]) < self._least:
            return False
        del self._below[member_id]
        self._at_least[member_id] = None
        return True

    def _give(self, left: Sequence[TopicPartition]) -> None:
        """In turns to who is below; then one each to who may have one more."""
        below, at_least = deque(self._below), deque(self._at_least)
        for tp in left:
            if below:
                member_id = below.popleft()
                mine = self.plan[member_id]
                mine.append(tp)
                (below if len(mine) < self._least else at_least).append(member_id)
            else:
                self.plan[at_least.popleft()].append(tp)


class _Turns:
    """Whose turn it is in a ring of members, of those in certain racks."""

    def __init__(self, members: Iterable[str], near: Nearness) -> None:
        self._ring = list(members)
        self._place = {member_id: place for place, member_id in enumerate(self._ring)}
        self._places = {
            rack: [self._place[member_id] for member_id in some]
            for rack, some in near.by_rack(self._ring).items()
        }
        self._at = 0

    def next(self, racks: Iterable[str]) -> str | None:
        """Who is next, and the turn passes on; None if nobody of these racks is left."""
        at, ring = self._at, self._ring
        found = None
        for rack in racks:
            places = self._places.get(rack)
            if places:
                place = places[bisect_left(places, at) % len(places)]
                if found is None or (place - at) % len(ring) < (found - at) % len(ring):
                    found = place
        if found is None:
            return None
        self._at = (found + 1) % len(ring)
        return ring[found]

    def leave(self, member_id: str) -> None:
        """It takes no more turns."""
        place = self._place[member_id]
        for places in self._places.values():
            at = bisect_left(places, place)
            if at < len(places) and places[at] == place:
                del places[at]


class _FirstUp:
    """Who has waited longest, of those in certain racks."""

    def __init__(self, members: Iterable[str], near: Nearness) -> None:
        self._near = near
        self._number: dict[str, int] = {}
        self._waiting: dict[str, deque[str]] = {}
        for member_id in members:
            self.join(member_id)

    def join(self, member_id: str) -> None:
        """It waits behind all others."""
        self._number[member_id] = len(self._number)
        for rack in self._near.by_rack([member_id]):
            self._waiting.setdefault(rack, deque()).append(member_id)

    def next(self, racks: Iterable[str]) -> str | None:
        """The first one; None if there is none."""
        first = (waiting[0] for rack in racks if (waiting := self._waiting.get(rack)))
        return min(first, key=self._number.__getitem__, default=None)

    def leave(self, member_id: str) -> None:
        """It was the first of its rack."""
        for rack in self._near.by_rack([member_id]):
            self._waiting[rack].popleft()
