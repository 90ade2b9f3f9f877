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
from kcore.wire.messages import OffsetCommitRequest, TxnOffsetCommitRequest

# From these versions of OffsetCommit and TxnOffsetCommit on there are words for member epochs.
_MEMBER_EPOCH_VERSION: Final = 9
_TXN_MEMBER_EPOCH_VERSION: Final = 6

Commit = OffsetCommitRequest | TxnOffsetCommitRequest


def knows_groups(request: Commit, version: int) -> bool:
    """Whether who asks in this version knows groups by members' epochs, and that they may be gone
    (KIP-848, KIP-1319); else it is told so in the words of older groups.
    """
    commit = isinstance(request, OffsetCommitRequest)
    return version >= (_MEMBER_EPOCH_VERSION if commit else _TXN_MEMBER_EPOCH_VERSION)


def check_commit(
    group: ConsumerGroup | StreamsGroup,
    request: Commit,
    version: int,
    parts: Iterable[tuple[Any, int]],
) -> ErrorCode:
    """What is wrong with a commit of these partitions, or of what these tasks read."""
    transactional = isinstance(request, TxnOffsetCommitRequest)
    member_id, epoch = request.member_id, request.generation_id_or_member_epoch
    named = epoch != -1 or member_id or request.group_instance_id is not None
    if (transactional and not named) or (epoch < 0 and not group.members):
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    knows = knows_groups(request, version)
    if not transactional and not knows and member.classic is None:
        return ErrorCode.UNSUPPORTED_VERSION
    current = epoch == member.epoch or (
        epoch < member.epoch and all(_had(member, at, epoch) for at in parts)
    )
    if current:
        return ErrorCode.NONE
    return _stale(member) if knows or not transactional else ErrorCode.ILLEGAL_GENERATION


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
