"""Auto commit: what the application has finished with, every interval, before a rebalance,
before some of it is given up in one, and on close (C2, C3).
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.errors import KafkaError
from kcore.events import OffsetsCommitted
from kcore.group.commits import CommitDone, Committer, Ids, Offsets
from kcore.group.context import Context, Timer
from kcore.group.membership import Membership
from kcore.hints import Final
from kcore.structs import TopicPartition

# An interval below this is that of what is new. Where nothing is, this is when the same is said
# again: with an interval of 0 a consumer that has nothing to read would do nothing but commit.
_SAME_AGAIN_MS: Final = 1_000


def _ignore(error: KafkaError | None) -> None:
    del error


class _Asked:
    """What one commit is about. latest: what was consumed at the last poll, if it may be tried
    again; sent: at the last try. ids: of the topics, as they were known at that poll.
    """

    __slots__ = ("again", "ids", "latest", "sent")

    def __init__(self, offsets: Offsets, ids: Ids, *, again: bool = False) -> None:
        self.latest = self.sent = offsets
        self.ids = ids
        self.again = again

    def renew(self) -> tuple[Offsets, Ids]:
        """What to send now."""
        self.sent = self.latest
        return self.sent, self.ids


class AutoCommit:
    """Its timer only wakes the driver: a commit goes out in a poll, when the records handed over
    are done with.
    """

    def __init__(self, ctx: Context, membership: Membership, committer: Committer) -> None:
        self._ctx = ctx
        self._membership = membership
        self._committer = committer
        self._next_ms: int | None = None
        self._under_way: list[_Asked] = []
        self._hurry = False  # the last one failed for a passing reason
        # What the last one was about, and when it may be that again.
        self._settled: Offsets | None = None
        self._same_again_ms = 0
        self.lurking = False  # the interval is over: the first poll with news is to commit them

    @property
    def possible(self) -> bool:
        """Whether a commit would be sent: enabled, and a member, or without membership at all."""
        if not self._ctx.config.enable_auto_commit:
            return False
        return not self._membership.managed or self._membership.may_commit

    def restart(self, now_ms: int) -> None:
        """The interval starts anew, as with each assignment."""
        if self._ctx.config.enable_auto_commit:
            self._arm(now_ms + self._ctx.config.auto_commit_interval_ms)

    def handle_tick(self, now_ms: int) -> None:
        """A passing failure is tried again after retry_backoff_ms instead of the interval (C2)."""
        if self._hurry:
            self._hurry = False
            self._arm(now_ms + self._ctx.config.retry_backoff_ms)

    def handle_poll(self, now_ms: int) -> None:
        """Commit if the interval is over and nothing is under way."""
        if not self._ctx.config.enable_auto_commit:
            return
        if any(asked.again for asked in self._under_way):
            self._follow(self._ctx.host.consumed_offsets())
        self.lurking = False
        if self._next_ms is None:
            self.restart(now_ms)
        elif now_ms >= self._next_ms and not self._under_way:
            self.lurking = not self._has_news(now_ms)
            if self.lurking:
                return
            self._begin(now_ms)
            if self.possible:
                self.commit(self._retry_soon)

    def _begin(self, now_ms: int) -> None:
        """A commit is due, and the interval over that it ends."""
        self.restart(now_ms)
        self._same_again_ms = now_ms + _SAME_AGAIN_MS

    def _has_news(self, now_ms: int) -> bool:
        """Whether an interval that is over has anything to commit; a short one waits for that."""
        if self._ctx.config.auto_commit_interval_ms >= _SAME_AGAIN_MS:
            return True
        news = self._ctx.host.consumed_offsets() != self._settled
        if news or now_ms >= self._same_again_ms:
            return True
        self._ctx.timers.set(Timer.AUTO_COMMIT, self._same_again_ms)
        return False

    def commit(
        self, then: Callable[[KafkaError | None], None] = _ignore, *, deadline_ms: int | None = None
    ) -> bool:
        """Commit all that is consumed; False if that is nothing. `then(error)` follows, and the
        event. Tried again (until `deadline_ms`), it is what was consumed at the last poll: what
        stays here is read on meanwhile, and no older commit may follow a newer one.
        """
        offsets = self._ctx.host.consumed_offsets()
        if not offsets:
            return False
        self._follow(offsets)
        asked = _Asked(offsets, self._committer.ids_of(offsets), again=deadline_ms is not None)
        done = self._done(asked, then)
        self._committer.commit(offsets, done, deadline_ms=deadline_ms, renew=asked.renew)
        return True

    def _follow(self, offsets: Offsets) -> None:
        """Those that are tried again commit what the application has finished with now."""
        for asked in self._under_way:
            if asked.again and offsets:
                asked.latest, asked.ids = offsets, self._committer.ids_of(offsets)

    def repeat(self, now_ms: int) -> bool:
        """`handle_poll` where a commit is due and commits what the last one did: it is sent at
        once. False if it is not so.
        """
        if self._next_ms is None or now_ms < self._next_ms or self._under_way or not self.possible:
            return False
        offsets = self._ctx.host.consumed_offsets()
        if not offsets or not self._committer.repeats(offsets) or not self._has_news(now_ms):
            return False
        self._begin(now_ms)
        done = self._done(_Asked(offsets, {}), self._retry_soon)
        self._committer.repeat(offsets, done, now_ms)
        return True

    def _done(self, asked: _Asked, then: Callable[[KafkaError | None], None]) -> CommitDone:
        self._under_way.append(asked)

        def done(committed: Offsets, error: KafkaError | None) -> None:
            self._under_way.remove(asked)
            offsets = asked.sent
            self._settled = None if error is not None and error.retriable else offsets
            dropped: tuple[TopicPartition, ...] = ()
            if error is None and len(committed) != len(offsets):
                dropped = tuple(sorted(offsets.keys() - committed.keys()))
            self._ctx.emit(
                OffsetsCommitted(None, offsets if error is not None else committed, error, dropped)
            )
            then(error)

        return done

    def _retry_soon(self, error: KafkaError | None) -> None:
        self._hurry = error is not None and error.retriable

    def _arm(self, at_ms: int) -> None:
        self._next_ms = at_ms
        self._ctx.timers.set(Timer.AUTO_COMMIT, at_ms)
