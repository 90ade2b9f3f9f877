"""The round-robin assignor: all partitions dealt out one by one (Java: RoundRobinAssignor)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcore.assignors.base import Assignor, MemberSubscription, Plan, in_order
from kcore.structs import TopicPartition


class RoundRobinAssignor(Assignor):
    """Partitions by topic and number go to the members in a ring; who has no use for one is
    skipped.
    """

    name = "roundrobin"

    def assign(
        self,
        members: Mapping[str, MemberSubscription],
        partitions: Mapping[str, Sequence[int]],
        racks: Mapping[TopicPartition, frozenset[str]] | None = None,  # noqa: ARG002
    ) -> Plan:
        """See Assignor.assign."""
        ring = in_order(members)
        plan: Plan = {member_id: [] for member_id in ring}
        wishes = {member_id: frozenset(members[member_id].topics) for member_id in ring}
        wanted: frozenset[str] = frozenset().union(*wishes.values())
        at = 0
        for topic in sorted(wanted & partitions.keys()):
            for partition in partitions[topic]:
                while topic not in wishes[ring[at]]:
                    at = (at + 1) % len(ring)
                plan[ring[at]].append(TopicPartition(topic, partition))
                at = (at + 1) % len(ring)
        return plan
