"""Who is to get what: the assignors of the coordinator, `uniform` and `range` (KIP-848).

Pure functions from members, what they had been given before and the sizes of topics to the next
target. Members are walked by their ids and topics by theirs, where Java goes by hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kcore.coordinator.consumer.group import Target
from kcore.coordinator.consumer.member import TopicIdPartition
from kcore.coordinator.consumer.uneven import assign_uneven

# Topic id -> how many partitions it has.
Sizes = Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member as assignors see it: `topics` that exist, by id, and its part of the last target."""

    member_id: str
    instance_id: str | None
    topics: frozenset[bytes]
    target: Target


Assignor = Callable[[Sequence[Subscriber], Sizes], dict[str, Target]]


def assign_range(members: Sequence[Subscriber], sizes: Sizes) -> dict[str, Target]:
    """Each topic's partitions in runs, one a subscriber, static members before others; so that
    topics of one size go to the same members side by side. Nobody keeps what he had.
    """
    order = sorted(
        members,
        key=lambda one: (one.instance_id is None, one.instance_id or one.member_id),
    )
    targets: dict[str, set[TopicIdPartition]] = {one.member_id: set() for one in members}
    for topic_id in sorted({topic_id for one in members for topic_id in one.topics}):
        subscribers = [one.member_id for one in order if topic_id in one.topics]
        each, more = divmod(sizes[topic_id], len(subscribers))
        start = 0
        for index, member_id in enumerate(subscribers):
            end = start + each + (index < more)
            targets[member_id].update((topic_id, number) for number in range(start, end))
            start = end
    return {member_id: frozenset(target) for member_id, target in targets.items()}


def assign_uniform(members: Sequence[Subscriber], sizes: Sizes) -> dict[str, Target]:
    """The same number for all, give or take one, and as much as possible stays where it was."""
    if not members:
        return {}
    topics = members[0].topics
    if all(one.topics == topics for one in members):
        return _assign_even(sorted(members, key=lambda one: one.member_id), topics, sizes)
    return assign_uneven(
        [
            (one.member_id, one.topics, one.target)
            for one in sorted(members, key=lambda one: one.member_id)
        ],
        sizes,
    )


def _assign_even(
    members: Sequence[Subscriber], topics: frozenset[bytes], sizes: Sizes
) -> dict[str, Target]:
    """All want the same: everybody keeps what his share allows, the rest goes round."""
    given = {at for one in members for at in one.target}
    every = [(topic, number) for topic in sorted(topics) for number in range(sizes[topic])]
    pool = [at for at in every if at not in given]
    each, more = divmod(len(every), len(members))
    targets: dict[str, set[TopicIdPartition]] = {}
    wanting: list[tuple[str, int]] = []
    for index, one in enumerate(members):
        share = each + (more > 0)
        kept, returned = _keep(one, topics, share)
        targets[one.member_id] = set(kept)
        pool += returned
        room = share - len(kept)
        if room and more and len(members) - index > more:
            # The share is one larger for as many as there are partitions left over. Who does not
            # have so much leaves that to a later one, who may, unless those are too few.
            room -= 1
        elif more:
            more -= 1
        if room:
            wanting.append((one.member_id, room))
    rest = iter(pool)
    for member_id, room in wanting:
        targets[member_id].update(at for _, at in zip(range(room), rest, strict=False))
    return {member_id: frozenset(target) for member_id, target in targets.items()}


def _keep(
    one: Subscriber, topics: frozenset[bytes], share: int
) -> tuple[list[TopicIdPartition], list[TopicIdPartition]]:
    """What stays with a member, topic by topic, and what of the rest others can have."""
    mine: dict[bytes, list[TopicIdPartition]] = {}
    for at in sorted(one.target):
        if at[0] in topics:
            mine.setdefault(at[0], []).append(at)
    kept: list[TopicIdPartition] = []
    returned: list[TopicIdPartition] = []
    for partitions in mine.values():
        room = share - len(kept)
        kept += partitions[:room]
        returned += partitions[room:]
    return kept, returned


ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
