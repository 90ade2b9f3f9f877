"""Sticky sharing among members that all subscribe to the same topics.

Everybody gets the same number of partitions, or one more. Nobody gives up what fits into that, and
nothing else moves: the fewest moves that a balance needs, in time linear in partitions
(Java: AbstractStickyAssignor, its constrained case).

Where racks matter, what is held outside of its rack is offered to who is beside it, and comes back
to who had it if there is no taker; so each round brings more together, or changes nothing.
"""

from __future__ import annotations

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
        self._below: list[str] = []
        self._at_least: list[str] = []
        for member_id, mine in owned.items():
            self._far.update((tp, member_id) for tp in mine if not near(member_id, tp))
            self._keep(member_id, [tp for tp in mine if tp not in self._far])
        self._below.sort()
        self._at_least.sort()

    def _keep(self, member_id: str, mine: list[TopicPartition]) -> None:
        if len(mine) >= self._most and self._extras:
            size = self._most
            self._extras -= 1
        else:
            size = self._least
            (self._below if len(mine) < size else self._at_least).append(member_id)
        self.plan[member_id] = mine[:size]

    def run(self, partitions: Iterable[TopicPartition]) -> None:
        """Give out all partitions, of which some are kept already."""
        kept = {tp for mine in self.plan.values() for tp in mine}
        left = [tp for tp in partitions if tp not in kept]
        if self._near.matters:
            left = self._give_back(self._give_near(left))
        self._give(left)

    def _give_near(self, left: Sequence[TopicPartition]) -> list[TopicPartition]:
        """To members in a replica's rack; what is left over. First those with the least choice."""
        near, plan = self._near.beside, self.plan
        choice = {tp: sum(near(member_id, tp) for member_id in plan) for tp in left}
        rest = []
        at = 0
        for tp in sorted(left, key=choice.__getitem__):
            below = self._below
            turn = next((n for n in _ring(at, len(below)) if near(below[n], tp)), None)
            if turn is not None:
                member_id = below[turn]
                plan[member_id].append(tp)
                at = turn if self._filled(member_id) else turn + 1
                continue
            found = next((one for one in self._at_least if near(one, tp)), None)
            if found is None or not self._extras:
                rest.append(tp)
            else:
                self._give_extra(found, tp)
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
        self._at_least.remove(member_id)
        self._extras -= 1

    def _filled(self, member_id: str) -> bool:
        """Whether a member that must get more has enough now; it may get one more then."""
        if len(self.plan[member_id]) < self._least:
            return False
        self._below.remove(member_id)
        self._at_least.append(member_id)
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


def _ring(start: int, count: int) -> Iterable[int]:
    return ((start + step) % count for step in range(count))
