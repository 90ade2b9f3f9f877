"""What members of the classic protocol say and are told in bytes (Java: ConsumerProtocol)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kcore.coordinator.consumer.member import TopicIdPartition
from kcore.coordinator.numbered import grouped
from kcore.errors import ProtocolError
from kcore.wire import codec
from kcore.wire.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics

# The highest version there is; one that is newer begins like it.
_VERSION_MAX: Final = 3
_VERSION: Final = struct.Struct(">h")

_Part = ConsumerProtocolAssignment.TopicPartition


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """What a member subscribes to, and has; ProtocolError."""
    body = memoryview(data)[_VERSION.size :]
    version = min(version_of(data), _VERSION_MAX)
    return codec.decode(ConsumerProtocolSubscription, version, body, allow_trailing=True)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """What a member was assigned; ProtocolError."""
    if not data:
        return ConsumerProtocolAssignment()  # it has never asked
    body = memoryview(data)[_VERSION.size :]
    version = min(version_of(data), _VERSION_MAX)
    return codec.decode(ConsumerProtocolAssignment, version, body, allow_trailing=True)


def version_of(data: bytes) -> int:
    """The version in which a member speaks; ProtocolError."""
    if len(data) < _VERSION.size or data[0] & 0x80:
        raise ProtocolError("no version of the consumer protocol")
    (version,) = _VERSION.unpack_from(data)
    return int(version)


def write_assignment(partitions: Iterable[TopicIdPartition], topics: Topics, version: int) -> bytes:
    """An assignment as a member of this version reads it; topics that are gone are left out."""
    shown = []
    for topic_id, numbers in grouped(partitions).items():
        name = topics.name_of(topic_id)
        if name is not None:
            shown.append(_Part(topic=name, partitions=numbers))
    version = min(version, _VERSION_MAX)
    message = ConsumerProtocolAssignment(assigned_partitions=shown)
    return _VERSION.pack(version) + codec.encode(message, version)


def ids_and_partitions(
    named: Iterable[tuple[str, Iterable[int]]], topics: Topics
) -> set[TopicIdPartition]:
    """Partitions of topics by name; those that do not exist are left out, also of a topic that was
    made anew with fewer: whoever were given one would have it in place of one that is there.
    """
    found = set()
    for name, numbers in named:
        topic_id = topics.id_of(name)
        if topic_id is not None:
            there = range(topics.partition_count(name))
            found |= {(topic_id, number) for number in numbers if number in there}
    return found
