"""The sans-IO admin client (`core.py`), and what users of `kcore.Admin` hold (`values.py`)."""

from __future__ import annotations

from kcore.admin.values import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
    ConfigType,
    ElectionType,
    GroupState,
    GroupType,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetDuration,
    OffsetShift,
    OffsetSpec,
    OffsetTimestamp,
    PartitionLag,
    RecordsToDelete,
    SharePartitionOffset,
)

__all__ = [
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSourceType",
    "ConfigType",
    "ElectionType",
    "GroupState",
    "GroupType",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetDuration",
    "OffsetShift",
    "OffsetSpec",
    "OffsetTimestamp",
    "PartitionLag",
    "RecordsToDelete",
    "SharePartitionOffset",
]
