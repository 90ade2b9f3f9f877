"""Who may commit and fetch the offsets of a consumer group (rules C20, C21; KIP-1251)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember, TopicIdPartition
from kcore.wire.codes import ErrorCode

# From this version of OffsetCommit on there is a place for member epochs.
_MEMBER_EPOCH_VERSION: Final = 9


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    version: int | None,
    partitions: Iterable[TopicIdPartition],
) -> ErrorCode:
    """What is wrong with a commit of these partitions; without a version it is a transaction's."""
    anonymous = version is None and epoch == -1 and not member_id and instance_id is None
    if anonymous or (epoch < 0 and not group.members):
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version is not None and version < _MEMBER_EPOCH_VERSION and member.classic is None:
        return ErrorCode.UNSUPPORTED_VERSION
    current = epoch == member.epoch or (
        epoch < member.epoch and all(_had(member, at, epoch) for at in partitions)
    )
    stale = ErrorCode.ILLEGAL_GENERATION if version is None else _stale(member)
    return ErrorCode.NONE if current else stale


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """What is wrong with a question for offsets; whoever does not say who he is may ask."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else _stale(member)


def _had(member: ConsumerMember, at: TopicIdPartition, epoch: int) -> bool:
    """Whether the member has a partition, and had it in an earlier epoch already: the answer with
    the later one may be on its way, and nobody else can have read the partition since.
    """
    since = member.assigned.get(at, member.pending.get(at))
    return since is not None and since <= epoch


def _stale(member: ConsumerMember) -> ErrorCode:
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH
