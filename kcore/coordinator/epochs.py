"""Who may commit and fetch the offsets of a consumer group or a streams group (rules C20, C21;
KIP-1071, KIP-1251).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import StreamsMember
from kcore.wire.codes import ErrorCode

# From this version of OffsetCommit on there is a place for member epochs.
_MEMBER_EPOCH_VERSION: Final = 9


def check_commit(
    group: ConsumerGroup | StreamsGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    version: int | None,
    parts: Iterable[tuple[Any, int]],
) -> ErrorCode:
    """What is wrong with a commit of these partitions, or of what these tasks read; without a
    version it is a transaction's.
    """
    anonymous = version is None and epoch == -1 and not member_id and instance_id is None
    if anonymous or (epoch < 0 and not group.members):
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version is not None and version < _MEMBER_EPOCH_VERSION and member.classic is None:
        return ErrorCode.UNSUPPORTED_VERSION
    current = epoch == member.epoch or (
        epoch < member.epoch and all(_had(member, at, epoch) for at in parts)
    )
    stale = ErrorCode.ILLEGAL_GENERATION if version is None else _stale(member)
    return ErrorCode.NONE if current else stale


def check_fetch(
    group: ConsumerGroup | StreamsGroup, member_id: str | None, epoch: int
) -> ErrorCode:
    """What is wrong with a question for offsets; whoever does not say who he is may ask."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else _stale(member)


def _had(member: ConsumerMember | StreamsMember, at: tuple[Any, int], epoch: int) -> bool:
    """Whether the member has a partition or an active task, and had it in an earlier epoch already:
    the answer with the later one may be on its way, and nobody else can have read it since.
    """
    since = member.since(at)
    return since is not None and since <= epoch


def _stale(member: ConsumerMember | StreamsMember) -> ErrorCode:
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH
