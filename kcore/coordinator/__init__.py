"""The group coordinator of a broker, without I/O: see `kcore.coordinator.coordinator`."""

from __future__ import annotations

from kcore.coordinator.config import CoordinatorConfig
from kcore.coordinator.context import Topics
from kcore.coordinator.coordinator import GroupCoordinator
from kcore.coordinator.desk import Caller, Reply
from kcore.coordinator.front import AnyTopic, partition_for
from kcore.coordinator.journal import Append, Entry, Item, Marker
from kcore.coordinator.states import GroupState

__all__ = [
    "AnyTopic",
    "Append",
    "Caller",
    "CoordinatorConfig",
    "Entry",
    "GroupCoordinator",
    "GroupState",
    "Item",
    "Marker",
    "Reply",
    "Topics",
    "partition_for",
]
