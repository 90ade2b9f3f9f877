"""LeaveGroup: one request, no retry (rules E1-E3)."""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.calls import Answer, Message, StruckError
from kcore.events import GroupLeft
from kcore.group.classic_membership import ClassicMembership
from kcore.group.config import MAX_REASON_CHARS
from kcore.group.context import Context
from kcore.group.coordinator import Coordinator
from kcore.group.membership import Generation
from kcore.group.states import MemberState
from kcore.hints import Protocol
from kcore.structs import GroupMembershipOperation
from kcore.wire import messages  # hardly ever needed: loaded at first use
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

_BATCH_VERSION = 3
# JoinGroup answers that tell a member its id: before KIP-394 (Kafka 2.2) only that of the round.
_NAMING = (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.NONE)


class Leave(Protocol):
    """How a protocol tells the coordinator that this member goes."""

    def __call__(
        self,
        reason: str,
        now_ms: int,
        *,
        fresh_link: bool,
        done: Callable[[int], None],
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> bool:
        """False if there is nothing to wait for: nothing to tell, nobody to tell it to, all said
        before and answered; else `done(now_ms)` follows the last answer.
        """


class Leaving:
    """Tells the coordinator that this member goes, under whatever ids it is counted in there.

    A static member says nothing, unless it is told to: its place is kept until its session ends
    (KIP-345). Told to leave before a JoinGroup has given it an id, it goes by its instance id; Java
    says nothing then, and the group waits for its session.

    A coordinator hands out an id with the first answer to a member that has none, and from then on
    the next generation waits for that id to join, for a whole session if it has to (KIP-394). So
    who goes while that answer is on its way still has to hear it, and to give the id back. (Java's
    consumer does not: the group waits.)
    """

    def __init__(
        self, ctx: Context, membership: ClassicMembership, coordinator: Coordinator
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self._reason = ""
        self._unnamed = 0  # JoinGroups on their way whose answers bring an id
        self._open = 0  # LeaveGroups on their way
        # Member ids whose LeaveGroups wait for a coordinator, as a set that keeps its order.
        self._owed: dict[str, None] = {}
        self._done: Callable[[int], None] | None = None

    def __call__(
        self,
        reason: str,
        now_ms: int,
        *,
        fresh_link: bool,
        done: Callable[[int], None],
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> bool:
        """See Leave. With `fresh_link` the request does not wait behind a JoinGroup that the broker
        still holds.
        """
        self._reason = reason
        membership = self._membership
        member_id = membership.generation.member_id
        if membership.state is not MemberState.UNJOINED and member_id:
            self._ctx.emit(GroupLeft(reason))
        leaves = operation is GroupMembershipOperation.LEAVE_GROUP
        if operation is GroupMembershipOperation.REMAIN_IN_GROUP or (self._static and not leaves):
            return False
        known = bool(member_id) or (self._static and membership.preparing)
        if known and not self._coordinator.usable(now_ms):
            self._seek(member_id)
        elif known:
            if fresh_link:
                self._coordinator.reconnect(now_ms)
            self._tell(member_id, now_ms)
        self._done = done
        return self._waits

    @property
    def _static(self) -> bool:
        return self._ctx.config.group_instance_id is not None

    @property
    def _waits(self) -> bool:
        return self._open > 0 or self._unnamed > 0 or bool(self._owed)

    def _tell(self, member_id: str, now_ms: int) -> None:
        reason = self._reason

        def build(version: int) -> Message:
            request, group_id = messages.LeaveGroupRequest, self._ctx.config.group_id
            if version < _BATCH_VERSION:
                return request(group_id=group_id, member_id=member_id)
            member = request.MemberIdentity(
                member_id=member_id,
                group_instance_id=self._ctx.config.group_instance_id,
                reason=reason[:MAX_REASON_CHARS],
            )
            return request(group_id=group_id, members=[member])

        def answered(answer: Answer, at_ms: int) -> None:
            # E1: whatever it says, the session timeout does the rest. But who was struck may call
            # again, and is not to be a member for a session because of it.
            if isinstance(answer.error, StruckError):
                self._seek(member_id)
            self._open -= 1
            self._look(at_ms)

        self._open += 1
        self._coordinator.ask(ApiKey.LEAVE_GROUP, build, answered, now_ms)

    def _seek(self, member_id: str) -> None:
        """One look-up, as one request (E1)."""
        self._coordinator.seek(self._sought)
        self._owed[member_id] = None

    def _sought(self, found: bool, now_ms: int) -> None:
        for member_id in [*self._owed]:
            if found:
                self._tell(member_id, now_ms)
            self._owed.pop(member_id, None)  # behind it: see ClientCore.handle_interrupted
        self._look(now_ms)

    def _look(self, now_ms: int) -> None:
        """Nothing may be left to wait for."""
        if self._done is not None and not self._waits:
            done, self._done = self._done, None
            done(now_ms)

    def recover(self, now_ms: int) -> None:
        """Every question is answered: what was only counted was never asked."""
        self._open = self._unnamed = 0
        if self._owed:  # whoever was told of the coordinator may have been struck
            self._coordinator.seek(self._sought)
        self._look(now_ms)

    # -- ids that are on their way -----------------------------------------------------------------

    @property
    def unnamed(self) -> bool:
        """A JoinGroup is on its way whose answer brings an id."""
        return self._unnamed > 0

    def join_written(self, sent: Generation) -> bool:
        """A JoinGroup is written; True if its answer brings an id, and `join_answered` is owed."""
        unnamed = not sent.member_id and not self._static
        self._unnamed += unnamed
        return unnamed

    def join_answered(self, answer: Answer, now_ms: int, *, wanted: bool) -> None:
        """It is answered, or failed. wanted: the id in it is this member's now; else it is given
        back.
        """
        self._unnamed -= 1
        body = answer.body
        if (
            not wanted
            and answer.error is None
            and body.error_code in _NAMING
            and body.member_id
            and self._coordinator.key is not None
        ):
            self._tell(body.member_id, now_ms)
        self._look(now_ms)
