"""The assignor "simple": every partition to somebody, and members to share where there are more.

    sharing = members / partitions, rounded up: how many members a partition gets
    a member gets sharing * partitions / members of them, rounded so that the sum is right

What members have stays theirs as far as that goes. Members of different subscriptions are dealt
with topic by topic. Source of the rules: Java's SimpleAssignor of Kafka 4.3
(SimpleHomogeneousAssignmentBuilder, SimpleHeterogeneousAssignmentBuilder).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from kcore.coordinator.consumer.member import TopicIdPartition
from kcore.coordinator.share.member import NOTHING, Partitions

NAME = "simple"


def assign(
    wanted: Mapping[str, frozenset[bytes]],
    before: Mapping[str, Partitions],
    partitions: Mapping[bytes, Sequence[int]],
) -> dict[str, Partitions]:
    """Member -> what it is to have. wanted: the ids of topics by member; before: what each has;
    partitions: those of each topic that may be given out.
    """
    subscriptions = set(wanted.values())
    if len(subscriptions) == 1:
        (topics,) = subscriptions
        return _share_out(list(wanted), topics, before, partitions)
    given: dict[str, Partitions] = dict.fromkeys(wanted, NOTHING)
    for topic in sorted(set().union(*subscriptions)):
        members = [member for member, topics in wanted.items() if topic in topics]
        for member, part in _share_out(members, [topic], before, partitions).items():
            given[member] |= part
    return given


def _share_out(
    members: Sequence[str],
    topics: frozenset[bytes] | Sequence[bytes],
    before: Mapping[str, Partitions],
    partitions: Mapping[bytes, Sequence[int]],
) -> dict[str, Partitions]:
    """Members who all want the same topics."""
    targets = [(topic, number) for topic in sorted(topics) for number in partitions.get(topic, ())]
    if not targets:
        return dict.fromkeys(members, NOTHING)
    sharing = -(-len(members) // len(targets))
    each = sharing * len(targets) / len(members)
    known = set(targets)
    held: dict[TopicIdPartition, list[str]] = {partition: [] for partition in targets}
    have: dict[str, list[TopicIdPartition]] = {}
    lacking: dict[str, int] = {}  # how many more, in the order in which they get theirs
    for index, member in enumerate(members):
        due = ceil(each * (index + 1)) - ceil(each * index)
        kept: list[TopicIdPartition] = []
        for partition in sorted(before.get(member, NOTHING) & known):
            if len(kept) < due and len(held[partition]) < sharing:
                kept.append(partition)
                held[partition].append(member)
        have[member] = kept
        if len(kept) < due:
            lacking[member] = due - len(kept)
    _fill(targets, sharing, held, have, lacking)
    return {member: frozenset(kept) for member, kept in have.items()}


def _fill(
    targets: Sequence[TopicIdPartition],
    sharing: int,
    held: Mapping[TopicIdPartition, list[str]],
    have: Mapping[str, list[TopicIdPartition]],
    lacking: dict[str, int],
) -> None:
    """Give partitions that may have more members to those who may have more partitions."""
    for partition in targets:
        for member in list(lacking):
            if len(held[partition]) >= sharing:
                break
            if member in held[partition]:
                continue
            have[member].append(partition)
            held[partition].append(member)
            left = lacking.pop(member) - 1
            if left:
                lacking[member] = left  # the others come first next time
