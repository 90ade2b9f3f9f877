"""Who may commit and fetch the offsets of a streams group (KIP-1071, KIP-1251)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import StreamsMember
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode

# From this version of OffsetCommit on there is a place for member epochs.
_MEMBER_EPOCH_VERSION: Final = 9


def check_commit(
    group: StreamsGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    version: int | None,
    partitions: Iterable[TopicPartition],
) -> ErrorCode:
    """What is wrong with a commit of these partitions; without a version it is a transaction's."""
    anonymous = version is None and epoch == -1 and not member_id and instance_id is None
    if anonymous or (epoch < 0 and not group.members):
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version is not None and version < _MEMBER_EPOCH_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    if epoch == member.epoch or (
        epoch < member.epoch and all(_had(group, member, at, epoch) for at in partitions)
    ):
        return ErrorCode.NONE
    return ErrorCode.ILLEGAL_GENERATION if version is None else ErrorCode.STALE_MEMBER_EPOCH


def check_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """What is wrong with a question for offsets; whoever does not say who he is may ask."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH


def _had(group: StreamsGroup, member: StreamsMember, at: TopicPartition, epoch: int) -> bool:
    """Whether the member has the active task that reads a partition, and had it in an earlier epoch
    already: nobody else can have read the partition since.
    """
    reader = None if group.topology is None else group.topology.reader_of(at.topic)
    if reader is None:
        return False
    task = reader, at.partition
    since = member.assigned.active.get(task, member.pending.active.get(task))
    return since is not None and since <= epoch
