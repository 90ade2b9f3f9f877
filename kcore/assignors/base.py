"""What an assignor is: a pure plan from members and topics to partitions per member.

The group's leader runs it (KIP-62 and KIP-429; Java: ConsumerPartitionAssignor). It gets no clock,
no network and no randomness, so the same input always gives the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcore.enums import IntEnum
from kcore.hints import ClassVar
from kcore.structs import TopicPartition
from kcore.values import Value

Plan = dict[str, list[TopicPartition]]


class RebalanceProtocol(IntEnum):
    """How partitions change hands; of those all assignors support, the highest is used."""

    EAGER = 0  # everything is given up before the member joins again
    COOPERATIVE = 1  # only what goes elsewhere is given up, in a second rebalance (KIP-429)


class MemberSubscription(Value):
    """What one member told the leader about itself."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    userdata: bytes | None = None
    instance_id: str | None = None


class Assignor:
    """The base of all assignors; `assign` is the one method that must be there."""

    name: ClassVar[str]
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def subscription_userdata(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """What goes into this member's subscription for this assignor alone."""
        return None

    def assign(
        self,
        members: Mapping[str, MemberSubscription],
        partitions: Mapping[str, Sequence[int]],
        racks: Mapping[TopicPartition, frozenset[str]] | None = None,
    ) -> Plan:
        """Plan who reads what.

        members: member id -> its subscription. partitions: topic -> partition numbers, ascending;
        topics without metadata are left out. racks: where the replicas are, if it is known.
        Answers a list (possibly empty) for every member.
        """
        raise NotImplementedError

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """What this member was given, before it is put into effect."""


def in_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Member ids as every assignor walks them: static by instance id, then dynamic by member id.

    A static member keeps its place when its process restarts under a new member id.
    """

    def place(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return (instance_id is None, member_id if instance_id is None else instance_id)

    return sorted(members, key=place)
