"""The uniform assignor where members subscribe to different topics.

What was given before stays if it is still wanted. Topics that leave the least choice come first:
those with the most partitions a subscriber. A partition that nobody has goes to the subscriber that
has the least; then partitions move from who has most to who has least, topic by topic, until no
topic can make it more even. (Java: UniformHeterogeneousAssignmentBuilder.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kcore.coordinator.consumer.member import TopicIdPartition

# How often all topics are gone through at most: each pass makes it more even, ever less so.
_PASSES_MAX: Final = 16

_Member = tuple[str, frozenset[bytes], frozenset[TopicIdPartition]]


class _Loads:
    """The subscribers of a topic by how much they have, from both ends.

    Those with the least get in turn, and those with the most give in turn; when all of a level have
    had theirs, those of the next level have come to it and join in.
    """

    def __init__(self, subscribers: Sequence[int], loads: list[int]) -> None:
        self._loads = loads
        self._order = sorted(subscribers, key=lambda member: (loads[member], member))
        self._low_end = 0  # those before it are at the lowest level
        self._low_next = 0
        self._high_start = self._high_end = len(self._order)  # between them: the highest level
        self._high_next = -1
        self.lowest = loads[self._order[0]] - 1
        self.highest = loads[self._order[-1]] + 1

    def spread(self) -> int:
        """By how much who has most is above who has least, before anybody was asked for."""
        return self._loads[self._order[-1]] - self._loads[self._order[0]]

    def is_balanced(self) -> bool:
        """Whether a move from the highest level to the lowest changes nothing any more."""
        return self.highest - self.lowest <= 1

    def next_lowest(self) -> int:
        """Who is to get the next one."""
        if self._low_next >= self._low_end:
            self.lowest += 1
            while (
                self._low_end < len(self._order)
                and self._loads[self._order[self._low_end]] == self.lowest
            ):
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._order[self._low_next - 1]

    def next_highest(self) -> int | None:
        """Who is to give the next one; None if nobody can."""
        if self._high_next < self._high_start:
            below = self._high_start - 1
            if self._high_end <= self._high_start and self._high_start > 0:
                # All of this level have been passed over: on with those below, wherever they are.
                self.highest = self._loads[self._order[below]]
            else:
                self.highest -= 1
            while (
                self._high_start > 0
                and self._loads[self._order[self._high_start - 1]] == self.highest
            ):
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._order[self._high_next + 1]

    def pass_over(self) -> None:
        """Who was to give last has nothing of this topic."""
        at, end = self._high_next + 1, self._high_end - 1
        self._order[at], self._order[end] = self._order[end], self._order[at]
        self._high_end -= 1


class _Uneven:
    def __init__(self, members: Sequence[_Member], sizes: Mapping[bytes, int]) -> None:
        self.loads = [0] * len(members)
        self.subscribers: dict[bytes, list[int]] = {}
        for index, (_, topics, _) in enumerate(members):
            for topic_id in topics:
                self.subscribers.setdefault(topic_id, []).append(index)
        # Topic -> its partitions' owners; None: nobody.
        self.owners: dict[bytes, list[int | None]] = {
            topic_id: [None] * sizes[topic_id] for topic_id in self.subscribers
        }
        for index, (_, topics, target) in enumerate(members):
            for topic_id, number in target:
                if topic_id in topics and number < sizes[topic_id]:
                    self.owners[topic_id][number] = index
                    self.loads[index] += 1
        self.topics = sorted(
            self.subscribers,
            key=lambda topic_id: (
                -sizes[topic_id] / len(self.subscribers[topic_id]),
                len(self.subscribers[topic_id]),
                topic_id,
            ),
        )

    def hand_out(self) -> None:
        """Give what nobody has."""
        for topic_id in self.topics:
            owners = self.owners[topic_id]
            loads = _Loads(self.subscribers[topic_id], self.loads)
            for number, owner in enumerate(owners):
                if owner is None:
                    self._move(owners, number, loads.next_lowest())

    def balance(self) -> None:
        """Until a whole pass has changed nothing."""
        shared = [topic_id for topic_id in self.topics if len(self.subscribers[topic_id]) > 1]
        last_moved: bytes | None = None
        for _ in range(_PASSES_MAX):
            for topic_id in shared:
                if topic_id == last_moved:
                    return
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = topic_id

    def _balance_topic(self, topic_id: bytes) -> int:
        loads = _Loads(self.subscribers[topic_id], self.loads)
        if loads.spread() <= 1:
            return 0
        owners = self.owners[topic_id]
        mine: dict[int, list[int]] = {}
        for number, owner in enumerate(owners):
            assert owner is not None
            mine.setdefault(owner, []).append(number)
        moved = 0
        while not loads.is_balanced():
            giver = loads.next_highest()
            while giver is not None and not mine.get(giver):
                loads.pass_over()
                giver = loads.next_highest()
            if giver is None:
                break
            number = mine[giver].pop()
            taker = loads.next_lowest()
            if loads.is_balanced():
                break
            self._move(owners, number, taker)
            moved += 1
        return moved

    def _move(self, owners: list[int | None], number: int, to: int) -> None:
        before = owners[number]
        if before is not None:
            self.loads[before] -= 1
        owners[number] = to
        self.loads[to] += 1


def assign_uneven(
    members: Sequence[_Member], sizes: Mapping[bytes, int]
) -> dict[str, frozenset[TopicIdPartition]]:
    """Members (id, topics, what they had been given) in a steady order -> their targets."""
    table = _Uneven(members, sizes)
    table.hand_out()
    table.balance()
    targets: dict[int, set[TopicIdPartition]] = {index: set() for index in range(len(members))}
    for topic_id, owners in table.owners.items():
        for number, owner in enumerate(owners):
            assert owner is not None
            targets[owner].add((topic_id, number))
    return {members[index][0]: frozenset(target) for index, target in targets.items()}
