"""Members of streams groups that have instance ids: who has which, and who may have it (KIP-345; in
streams groups since Kafka 4.4).
"""

from __future__ import annotations

from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import LEAVING_STATIC, StreamsMember
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode


def static_member(group: StreamsGroup, instance_id: str, member_id: str) -> StreamsMember:
    """The member of this id, which has the instance id; RefusedError if it is another one, or no
    one.
    """
    member = group.static_member(instance_id)
    if member is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id[:MAX_NAME_CHARS]} is unknown."
        )
    if member.member_id != member_id:
        raise RefusedError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id[:MAX_NAME_CHARS]} with instance id"
            f" {instance_id[:MAX_NAME_CHARS]} was fenced by member {member.member_id}.",
        )
    return member


def left_for_a_while(group: StreamsGroup, instance_id: str, member_id: str) -> StreamsMember | None:
    """Who had the instance id that a member of this id comes with; None if nobody did, RefusedError
    if somebody still does.
    """
    before = group.static_member(instance_id)
    if before is not None and before.epoch != LEAVING_STATIC:
        raise RefusedError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id[:MAX_NAME_CHARS]} with instance id"
            f" {instance_id[:MAX_NAME_CHARS]} cannot join the group because the instance id is"
            f" owned by {before.member_id} member.",
        )
    return before
