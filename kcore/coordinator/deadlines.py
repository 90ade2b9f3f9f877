"""What members are to have done by some time, or they are taken out of their group: of consumer
groups, share groups and streams groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.purgatory import Delayed, Key
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.streams.group import StreamsGroup
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

G = TypeVar("G", ConsumerGroup, ShareGroup, StreamsGroup)


class DelayedFence(Delayed):
    """Waits for what a member is to do; epoch: only if it is in this one still, None: in any."""

    __slots__ = ("_epoch", "_expire", "_key")

    def __init__(
        self, expire: Callable[[Key, int | None, int], None], key: Key, epoch: int | None
    ) -> None:
        self._expire = expire
        self._key = key
        self._epoch = epoch

    def expire(self, now_ms: int) -> None:
        """It has not."""
        self._expire(self._key, self._epoch, now_ms)


class Deadlines(Generic[G]):
    """Those of the members of one kind of group. A key is what is awaited, group and member."""

    kind: ClassVar[type[Any]]

    def __init__(self, context: Context) -> None:
        self._context = context

    def _fence(
        self, group: G, member_id: str, done: Callable[[ErrorCode, int], None], now_ms: int
    ) -> None:
        """Take a member out of a group that is held, and let go of it."""
        raise NotImplementedError

    def _session_timeout_ms(self, group: G, member_id: str) -> int:
        raise NotImplementedError

    def _await(self, key: Key, at_ms: int, epoch: int | None = None) -> None:
        """A member is to do something by then."""
        self._context.purgatory.watch(key, DelayedFence(self._expire, key, epoch), at_ms)

    def _expire(self, key: Key, epoch: int | None, now_ms: int) -> None:
        """It has not; unless it has meanwhile."""
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
            found = cast("G", group)

            def done(error: ErrorCode, now_ms: int) -> None:
                if error:  # nothing was written: it is still there, and awaited once more
                    self._await(key, now_ms + self._session_timeout_ms(found, member_id), epoch)

            self._fence(found, member_id, done, now_ms)

        self._context.hold(group_id, run, now_ms)
