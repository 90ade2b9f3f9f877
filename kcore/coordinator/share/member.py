"""A member of a share group: a value, which is replaced as a whole when something changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcore.coordinator.consumer.member import TopicIdPartition

# The epoch by which a member says that it goes.
LEAVING: Final = -1

# Member ids are UUIDs.
MEMBER_CHARS_MAX: Final = 36

Partitions = frozenset[TopicIdPartition]

NOTHING: Partitions = frozenset()


@dataclass(frozen=True, slots=True)
class ShareMember:
    """One member. assigned: the partitions it reads, perhaps beside others."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    assigned: Partitions = NOTHING
