"""What groups have in common whose members do nothing but send heartbeats (share and streams
groups): a heartbeat's turn with its group, sessions, and members that are silent for too long.

Whatever writes to a group holds it, so that each heartbeat finds what the one before it wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from kcore.coordinator.desk import Ticket
from kcore.coordinator.purgatory import Delayed, Key
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.streams.group import StreamsGroup
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import ShareGroupHeartbeatRequest, StreamsGroupHeartbeatRequest

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

# The epochs by which members go are below this one.
JOINING: Final = 0

R = TypeVar("R", ShareGroupHeartbeatRequest, StreamsGroupHeartbeatRequest)
G = TypeVar("G", ShareGroup, StreamsGroup)


class DelayedFence(Delayed):
    """Waits for what a member is to do; epoch: only if it is in this one still, None: in any."""

    __slots__ = ("_epoch", "_expire", "_key")

    def __init__(
        self, expire: Callable[[Key, int | None, int], None], key: Key, epoch: int | None = None
    ) -> None:
        self._expire = expire
        self._key = key
        self._epoch = epoch

    def expire(self, now_ms: int) -> None:
        """It has not."""
        self._expire(self._key, self._epoch, now_ms)


class BaseHeartbeats(Generic[R, G]):
    """The heartbeats of one kind of group, of a partition's groups."""

    session: ClassVar[str]  # what a session's timer is called
    response: ClassVar[Callable[..., Message]]
    kind: ClassVar[type[Any]]

    def __init__(self, context: Context) -> None:
        self._context = context

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

    def _fence(
        self, group: G, member_id: str, done: Callable[[ErrorCode, int], None], now_ms: int
    ) -> None:
        """Take a member out of a group that is held, and let go of it."""
        raise NotImplementedError

    def _session_timeout_ms(self, group_id: str) -> int:
        raise NotImplementedError

    # Sessions ------------------------------------------------------------------------------------

    def watch(self, group_id: str, member_id: str, now_ms: int) -> None:
        """A member gave a sign of life."""
        key = (self.session, group_id, member_id)
        at_ms = now_ms + self._session_timeout_ms(group_id)
        self._context.purgatory.watch(key, DelayedFence(self.expire, key), at_ms)

    def load(self, group: G, now_ms: int) -> None:
        """The members of a group that has been loaded are taken to be alive until they are not."""
        for member_id in group.members:
            self.watch(group.group_id, member_id, now_ms)

    def forget(self, group: G) -> None:
        """Nothing of this group is to fire any more."""
        for member_id in group.members:
            self.forget_member(group.group_id, member_id)

    def forget_member(self, group_id: str, member_id: str) -> None:
        """Nothing of this member is to fire any more."""
        self._context.purgatory.cancel((self.session, group_id, member_id))

    def expire(self, key: Key, epoch: int | None, now_ms: int) -> None:
        """A member has not done what it was to; unless it has meanwhile."""
        _, group_id, member_id = map(str, key)

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if group is None or error:
                return
            member = group.members.get(member_id) if isinstance(group, self.kind) else None
            if (
                member is None
                or key in self._context.purgatory
                or epoch not in {None, member.epoch}
            ):
                group.held = False
                return

            def done(error: ErrorCode, now_ms: int) -> None:
                if error:  # nothing was written: it is still there, and looked at again
                    self.watch(group_id, member_id, now_ms)

            self._fence(group, member_id, done, now_ms)  # type: ignore[arg-type]

        self._context.hold(group_id, run, now_ms)
