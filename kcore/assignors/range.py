"""The range assignor: per topic, consecutive partitions to each member (Java: RangeAssignor,
KIP-881).

Members are walked in one order for all topics, so equally partitioned topics are read side by side:
partition i of each goes to the same member. If racks are known on both sides, partitions go first
to members in a rack that holds a replica, under the same limits; equally partitioned topics then
stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from kcore.assignors.base import Assignor, MemberSubscription, Plan, in_order
from kcore.hints import TYPE_CHECKING
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.assignors.racks import Racks

_Near = Callable[[str, str, int], bool]  # member id, topic, partition: is a replica in its rack


class _Topic:
    """One topic's partitions left to give and what each of its members may still take."""

    def __init__(self, name: str, numbers: Sequence[int], members: list[str]) -> None:
        self.name = name
        self.left = dict.fromkeys(numbers)  # in order, and quick to take from
        self.members = members
        self.count = len(self.left)
        self.quota, self.extras = divmod(self.count, len(members))
        self.taken = dict.fromkeys(members, 0)

    def room(self, member_id: str) -> int:
        """How many more this member may take: the quota, and one more while extras remain."""
        return self.quota + (1 if self.extras > 0 else 0) - self.taken[member_id]

    def give(self, member_id: str, number: int) -> TopicPartition:
        """Take a partition off the list for a member; whoever exceeds the quota uses an extra
        up.
        """
        del self.left[number]
        self.taken[member_id] += 1
        if self.taken[member_id] > self.quota:
            self.extras -= 1
        return TopicPartition(self.name, number)


class RangeAssignor(Assignor):
    """See the module's text."""

    name = "range"

    def assign(
        self,
        members: Mapping[str, MemberSubscription],
        partitions: Mapping[str, Sequence[int]],
        racks: Racks | None = None,
    ) -> Plan:
        """See Assignor.assign."""
        order = in_order(members)
        plan: Plan = {member_id: [] for member_id in order}
        by_topic: dict[str, list[str]] = {}
        for member_id in order:
            for topic in dict.fromkeys(members[member_id].topics):
                if topic in partitions:
                    by_topic.setdefault(topic, []).append(member_id)
        topics = [_Topic(name, partitions[name], by_topic[name]) for name in sorted(by_topic)]
        if racks:
            from kcore.assignors.racks import matter  # noqa: PLC0415 - few clusters have any

            every = (TopicPartition(one.name, number) for one in topics for number in one.left)
            if matter(every, members, racks):
                _give_by_rack(topics, members, racks, plan)
        for entry in topics:
            _give_in_order(entry, plan)
        for given in plan.values():
            given.sort()
        return plan


def _give_in_order(topic: _Topic, plan: Plan) -> None:
    for member_id in topic.members:
        for number in list(islice(topic.left, max(0, topic.room(member_id)))):
            plan[member_id].append(topic.give(member_id, number))


def _give_by_rack(
    topics: list[_Topic],
    members: Mapping[str, MemberSubscription],
    racks: Racks,
    plan: Plan,
) -> None:
    def near(member_id: str, topic: str, number: int) -> bool:
        rack = members[member_id].rack
        return not rack or rack in racks.get(TopicPartition(topic, number), frozenset())

    alike: dict[tuple[tuple[str, ...], int], list[_Topic]] = {}
    for topic in topics:
        alike.setdefault((tuple(topic.members), topic.count), []).append(topic)
    for (member_ids, _), group in alike.items():
        if len(group) > 1:
            _give_together(group, member_ids, near, plan)
    for topic in topics:
        for member_id in topic.members:
            numbers = [number for number in topic.left if near(member_id, topic.name, number)]
            for number in numbers[: max(0, topic.room(member_id))]:
                plan[member_id].append(topic.give(member_id, number))


def _give_together(
    group: list[_Topic], member_ids: tuple[str, ...], near: _Near, plan: Plan
) -> None:
    """Equally partitioned topics: partition i of all of them to the first member near all, with
    room.
    """
    for number in list(group[0].left):
        if any(number not in topic.left for topic in group):
            continue
        for member_id in member_ids:
            if all(
                topic.room(member_id) > 0 and near(member_id, topic.name, number) for topic in group
            ):
                for topic in group:
                    plan[member_id].append(topic.give(member_id, number))
                break
