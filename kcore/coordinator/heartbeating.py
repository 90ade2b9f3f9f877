"""What groups have in common whose members do nothing but send heartbeats (share and streams
groups): a heartbeat's turn with its group, sessions, and members that are silent for too long.

Whatever writes to a group holds it, so that each heartbeat finds what the one before it wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from kcore.coordinator.deadlines import Deadlines
from kcore.coordinator.desk import Ticket
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.streams.group import StreamsGroup
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import ShareGroupHeartbeatRequest, StreamsGroupHeartbeatRequest

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup

# The epochs by which members go are below this one.
JOINING: Final = 0

R = TypeVar("R", ShareGroupHeartbeatRequest, StreamsGroupHeartbeatRequest)
G = TypeVar("G", ShareGroup, StreamsGroup)


def is_old_enough(made_ms: int, interval_ms: int, wall_ms: int) -> bool:
    """Whether a target that was made then (0: not known when) may be followed by another
    (KIP-1263). One that will be made later is of a clock that was ahead (let_time_pass, before a
    restart): waiting for it would take days, and does at a Kafka.
    """
    return not (made_ms and made_ms <= wall_ms < made_ms + interval_ms)


class BaseHeartbeats(Deadlines[G], Generic[R, G]):
    """The heartbeats of one kind of group, of a partition's groups."""

    session: ClassVar[str]  # what a session's timer is called
    response: ClassVar[Callable[..., Message]]

    def handle(self, ticket: Ticket, request: R, now_ms: int) -> None:
        """A member joins, is there, or goes; the request makes sense by itself."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error:
                ticket.answer(self.response(error_code=error))
                return
            try:
                if request.member_epoch < JOINING:
                    self._leave(ticket, request, group, now_ms)
                else:
                    self._beat(ticket, request, group, now_ms)
            except RefusedError as refused:
                if group is not None:
                    group.held = False
                ticket.answer(refused.answer(self.response))

        self._context.hold(request.group_id, run, now_ms)

    # Of each kind --------------------------------------------------------------------------------

    def _beat(self, ticket: Ticket, request: R, kept: AnyGroup | None, now_ms: int) -> None:
        """A member is there. The group is held; RefusedError lets go of it."""
        raise NotImplementedError

    def _leave(self, ticket: Ticket, request: R, group: AnyGroup | None, now_ms: int) -> None:
        """A member goes. The group is held; RefusedError lets go of it."""
        raise NotImplementedError

    # Sessions ------------------------------------------------------------------------------------

    def watch(self, group: G, member_id: str, now_ms: int) -> None:
        """A member gave a sign of life."""
        key = (self.session, group.group_id, member_id)
        self._await(key, now_ms + self._session_timeout_ms(group, member_id))

    def load(self, group: G, now_ms: int) -> None:
        """The members of a group that has been loaded are taken to be alive until they are not."""
        for member_id in group.members:
            self.watch(group, member_id, now_ms)

    def forget(self, group: G) -> None:
        """Nothing of this group is to fire any more."""
        for member_id in group.members:
            self.forget_member(group.group_id, member_id)

    def forget_member(self, group_id: str, member_id: str) -> None:
        """Nothing of this member is to fire any more."""
        self._context.purgatory.cancel((self.session, group_id, member_id))
