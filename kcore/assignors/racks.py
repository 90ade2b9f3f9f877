"""Whether racks decide anything, and who is near what (KIP-881)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcore.assignors.base import MemberSubscription
from kcore.structs import TopicPartition

Racks = Mapping[TopicPartition, frozenset[str]]
_NOWHERE: frozenset[str] = frozenset()


def matter(
    partitions: Iterable[TopicPartition], members: Mapping[str, MemberSubscription], racks: Racks
) -> bool:
    """Only if some member sits in a replica's rack, and not every partition is in every rack."""
    ours = {member.rack for member in members.values() if member.rack}
    found = [racks.get(tp, _NOWHERE) for tp in partitions]
    everywhere = _NOWHERE.union(*found)
    return bool(ours & everywhere) and any(rack != everywhere for rack in found)


class Nearness:
    """Which members can read a partition within their rack; all, where racks do not matter."""

    def __init__(
        self,
        partitions: Iterable[TopicPartition],
        members: Mapping[str, MemberSubscription],
        racks: Racks | None,
    ) -> None:
        self.matters = bool(racks) and matter(partitions, members, racks or {})
        self._racks: Racks = racks or {}
        self._rack = {member_id: member.rack for member_id, member in members.items()}

    def __call__(self, member_id: str, tp: TopicPartition) -> bool:
        """Whether racks are no reason against it; for a member without a rack they never are."""
        return not (self.matters and self._rack[member_id]) or self.beside(member_id, tp)

    def beside(self, member_id: str, tp: TopicPartition) -> bool:
        """Whether a replica is in the member's rack."""
        rack = self._rack[member_id]
        return bool(rack) and rack in self.of(tp)

    def of(self, tp: TopicPartition) -> frozenset[str]:
        """The racks of its replicas."""
        return self._racks.get(tp, _NOWHERE)

    def by_rack(self, members: Iterable[str]) -> dict[str, list[str]]:
        """Rack -> those of the members that sit in it, in their order."""
        found: dict[str, list[str]] = {}
        for member_id in members:
            rack = self._rack[member_id]
            if rack:
                found.setdefault(rack, []).append(member_id)
        return found
