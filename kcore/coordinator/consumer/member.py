"""A member of a consumer group: a value, which is replaced as a whole when something changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kcore.coordinator.consumer.states import MemberState

# The epochs by which a member says that it goes: for good, or (a static one) for a while.
LEAVING: Final = -1
LEAVING_STATIC: Final = -2

# A topic's id (16 bytes) and a partition.
TopicIdPartition = tuple[bytes, int]

# Partitions, and the epoch in which the member got each (KIP-1251): who commits in an older one
# had the partition from before somebody else had it.
Owned = Mapping[TopicIdPartition, int]


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What a member that speaks the classic protocol said in its JoinGroup."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """One member. assigned: what it may have; pending: what it is to give up and may still have.

    regex: None and "" both mean none. classic: None for members of the consumer protocol.
    """

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    assignor: str | None = None
    assigned: Owned = field(default_factory=dict)
    pending: Owned = field(default_factory=dict)
    classic: ClassicSide | None = None

    def reconciled_to(self, target_epoch: int) -> bool:
        """Whether it has all that this target gives it."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def since(self, at: TopicIdPartition) -> int | None:
        """The epoch in which it got a partition; None if it does not have it."""
        return self.assigned.get(at, self.pending.get(at))

    def moved(
        self, state: MemberState, epoch: int, assigned: Owned, pending: Owned
    ) -> ConsumerMember:
        """The member a step further."""
        return replace(
            self,
            state=state,
            epoch=epoch,
            previous_epoch=self.epoch,
            assigned=assigned,
            pending=pending,
        )
