"""LeaveGroup: one request, no retry (rules E1-E3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kcore.connection.calls import Answer, Message
from kcore.events import GroupLeft
from kcore.group.classic_membership import ClassicMembership
from kcore.group.config import MAX_REASON_CHARS
from kcore.group.context import Context
from kcore.group.coordinator import Coordinator
from kcore.group.states import MemberState
from kcore.wire.apis import ApiKey
from kcore.wire.messages import LeaveGroupRequest

_BATCH_VERSION = 3
_REASON_VERSION = 5


class Leave(Protocol):
    """How a protocol tells the coordinator that this member goes."""

    def __call__(
        self, reason: str, now_ms: int, *, fresh_link: bool, done: Callable[[int], None]
    ) -> bool:
        """False if there is nothing to tell, or nobody to tell it to; else `done(now_ms)` follows
        the answer.
        """


def send_leave(
    ctx: Context,
    membership: ClassicMembership,
    coordinator: Coordinator,
    reason: str,
    now_ms: int,
    *,
    fresh_link: bool,
    done: Callable[[int], None],
) -> bool:
    """Tell the coordinator that this member goes; False if there is nothing to tell, or nobody to
    tell it to.

    A static member says nothing: its place is kept until its session ends (KIP-345). With
    `fresh_link` the request does not wait behind a JoinGroup that the broker still holds.
    `done(now_ms)` follows the answer.
    """
    member_id = membership.generation.member_id
    was_member = membership.state is not MemberState.UNJOINED and member_id != ""
    if was_member:
        ctx.emit(GroupLeft(reason))
    if not was_member or ctx.config.group_instance_id is not None or coordinator.key is None:
        return False
    if fresh_link:
        coordinator.reconnect(now_ms)

    def build(version: int) -> Message:
        if version < _BATCH_VERSION:
            return LeaveGroupRequest(group_id=ctx.config.group_id, member_id=member_id)
        words = reason[:MAX_REASON_CHARS] if version >= _REASON_VERSION else None
        member = LeaveGroupRequest.MemberIdentity(member_id=member_id, reason=words)
        return LeaveGroupRequest(group_id=ctx.config.group_id, members=[member])

    def answered(_: Answer, at_ms: int) -> None:
        # E1: whatever it says, the session timeout does the rest.
        done(at_ms)

    coordinator.ask(ApiKey.LEAVE_GROUP, build, answered, now_ms)
    return True
