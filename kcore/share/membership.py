"""Membership in a share group: heartbeats, which are all there is to it (KIP-932).

One heartbeat at a time; the interval is the coordinator's. A field goes out only if it is not what
the coordinator was last told; after any failure all of them do, as nobody knows what arrived. The
member id is made here, once, and kept for good.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Final

from kcore.connection.calls import Answer, Message, StruckError
from kcore.errors import KafkaError, Unexpected, UnsupportedVersionError
from kcore.events import ErrorRaised, GroupJoined, GroupLeft, HeartbeatAnswered
from kcore.group.config import MAX_IMMEDIATE_RETRIES
from kcore.group.context import Timer
from kcore.group.coordinator import Coordinator
from kcore.group.effects import Effect, Effects, error_of
from kcore.group.machine import Machine
from kcore.share.context import ShareContext
from kcore.share.requests import TOO_OLD
from kcore.share.states import SHARE_TABLE, ShareInput, ShareState
from kcore.structs import Rng
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as Code
from kcore.wire.messages import ShareGroupHeartbeatRequest

_JOIN_EPOCH: Final = 0
_LEAVE_EPOCH: Final = -1
_UUID_BITS: Final = 128
# A topic's partitions are only assigned when brokers have begun to keep the group's state there: a
# moment after a member has joined, or the topic was made anew. Who has nothing yet, or loses a
# topic, asks again soon, this often, instead of some seconds later (Java's waits for its interval).
_EMPTY_MAX: Final = 8
_ACTIVE: Final = (ShareState.JOINING, ShareState.STABLE)

# What a heartbeat's error does. Java: AbstractHeartbeatRequestManager.
HEARTBEAT: Final = Effects(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS: Effect.RETRY,
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.UNKNOWN_MEMBER_ID: Effect.OUTDATED,
        Code.FENCED_MEMBER_EPOCH: Effect.OUTDATED,
        Code.TOPIC_AUTHORIZATION_FAILED: Effect.SAY,
    },
    Effect.FATAL,
)

# Partitions as the coordinator names them: topic id and number.
Assigned = frozenset[tuple[bytes, int]]


def make_member_id(rng: Rng) -> str:
    """As Java's Uuid writes itself: 22 characters, of which the first is no dash."""
    while True:
        number = rng.getrandbits(_UUID_BITS)
        text = urlsafe_b64encode(number.to_bytes(_UUID_BITS // 8, "big")).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


class ShareMembership:
    """on_assigned(assigned): the partitions to read are these from here on; none without a
    membership.

    epoch: the member's; 0 without a membership. refusal: why there will be none (FATAL).
    """

    def __init__(self, ctx: ShareContext, on_assigned: Callable[[Assigned], None]) -> None:
        self._ctx = ctx
        self._on_assigned = on_assigned
        self._machine = Machine(SHARE_TABLE, ShareState.UNSUBSCRIBED)
        self.coordinator = Coordinator(ctx, self._found, self._not_found)
        self.member_id = make_member_id(ctx.rng)
        self.epoch = 0
        self.refusal: KafkaError | None = None
        self._topics: tuple[str, ...] = ()
        self._told: tuple[str, ...] | None = None  # None: all fields are to be said
        self._count = 0  # goes up with each membership that begins or ends
        self._busy = False  # a heartbeat is on its way
        self._named = False  # the coordinator may have heard of this membership
        self._interval_ms = 0  # not told yet
        self._failures = 0
        self._rejoins = 0  # in a row
        self._empty = 0  # answers in a row that assigned nothing, since it joined or lost a topic
        self._read: frozenset[bytes] = frozenset()  # the topics assigned, by their ids
        self._leaves = 0  # last heartbeats on their way
        self._owed = False  # one waits for a coordinator

    @property
    def state(self) -> ShareState:
        """See ShareState."""
        return self._machine.state

    @property
    def leaving(self) -> bool:
        """Whether the coordinator has not heard yet that this member goes."""
        return self._leaves > 0 or self._owed

    # The application -------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], now_ms: int) -> None:
        """Be a member that reads these."""
        self._topics = topics
        if self.state in (ShareState.UNSUBSCRIBED, ShareState.LEAVING):
            self._begin(now_ms)

    def handle_poll(self, now_ms: int) -> None:
        """The application is alive."""
        if self.state is ShareState.STALE:
            self._begin(now_ms)
        if self.state in _ACTIVE:
            self._ctx.timers.set(Timer.POLL, now_ms + self._ctx.config.max_poll_interval_ms)
        elif self.refusal is not None:
            self._ctx.emit(ErrorRaised(self.refusal))

    def hurry(self) -> None:
        """A topic that is assigned has gone: the coordinator finds that out when it is asked."""
        if self.state is ShareState.STABLE and not self._failures:
            self._empty = 0
            self._ctx.timers.set(Timer.HEARTBEAT, 0)

    def leave(self, reason: str, now_ms: int) -> None:
        """Go, and say so once if the coordinator may have heard of this member."""
        self._machine.move(ShareInput.LEAVE)
        self._topics, self.refusal = (), None
        self._say_leave(reason, now_ms)
        self._end()

    def _begin(self, now_ms: int) -> None:
        self._machine.move(ShareInput.JOIN)
        self._count += 1
        self._told = None
        self._busy = self._owed = False
        self._failures = self._rejoins = self._empty = 0
        timers = self._ctx.timers
        timers.cancel(Timer.HEARTBEAT)
        timers.set(Timer.POLL, now_ms + self._ctx.config.max_poll_interval_ms)

    def _end(self) -> None:
        """No membership any more: no answer counts, nothing is to be read."""
        self._count += 1
        self.epoch = 0
        self._read = frozenset()
        self._busy = self._named = False
        self._ctx.timers.cancel(Timer.HEARTBEAT)
        self._ctx.timers.cancel(Timer.POLL)
        self._on_assigned(frozenset())

    # Turns -----------------------------------------------------------------------------------

    def recover(self, now_ms: int) -> None:
        """None is on its way (see ClientCore.handle_interrupted), and nobody knows what arrived. A
        leave that was not answered is said again.
        """
        self._busy = False
        self._told = None
        self._leaves = 0  # who was only counted was never asked
        self.coordinator.recover()
        if self._owed:  # whoever was told of the coordinator may have been struck
            self.coordinator.seek(self._sought)
        if self.state not in _ACTIVE:
            self._say_leave("a call was interrupted", now_ms)
            self._end()

    def handle_tick(self, now_ms: int) -> None:
        """Send what is due; find out that the application is stuck."""
        self.coordinator.handle_tick(now_ms, wanted=self.state in _ACTIVE)
        if self.state not in _ACTIVE:
            return
        if self._ctx.due(Timer.POLL, now_ms):
            limit_ms = self._ctx.config.max_poll_interval_ms
            self._machine.move(ShareInput.STALLED)
            self._say_leave(f"no poll for max_poll_interval_ms={limit_ms}", now_ms)
            self._end()
        elif not self._busy and self.coordinator.key is not None and self._due_at() <= now_ms:
            self._send(now_ms)

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        active = self.state in _ACTIVE
        first = self.coordinator.deadline(wanted=active)
        if active:
            first = min(first, self._ctx.timers.at(Timer.POLL))
            if not self._busy and self.coordinator.key is not None:
                first = min(first, self._due_at())
        return first

    def _due_at(self) -> int:
        timers = self._ctx.timers
        if not timers.armed(Timer.HEARTBEAT):
            return 0
        news = self.state is ShareState.STABLE and self._told not in (None, self._topics)
        return 0 if news and not self._failures else timers.at(Timer.HEARTBEAT)

    def _found(self, now_ms: int) -> None:
        """The timer of the next heartbeat goes on."""

    def _not_found(self, error: KafkaError, now_ms: int) -> None:
        """The coordinator cannot be looked up."""
        del now_ms
        if not error.retriable and self.state in _ACTIVE:
            self._refuse(error)

    # One heartbeat ---------------------------------------------------------------------------

    def _send(self, now_ms: int) -> None:
        ctx, count, topics = self._ctx, self._count, self._topics
        joining = self.state is ShareState.JOINING
        epoch = _JOIN_EPOCH if joining else self.epoch
        full = joining or self._told is None

        def build(version: int) -> Message:
            del version
            if count != self._count:  # it has waited for its link, and whoever it is about is gone
                return self._leaving()
            self._named = True
            return ShareGroupHeartbeatRequest(
                group_id=ctx.config.group_id,
                member_id=self.member_id,
                member_epoch=epoch,
                rack_id=ctx.config.client_rack if full else None,
                subscribed_topic_names=list(topics) if full or self._told != topics else None,
            )

        def done(answer: Answer, at_ms: int) -> None:
            if count == self._count:
                self._busy = False
                self._answered(answer, topics, now_ms, at_ms)

        self.coordinator.ask(ApiKey.SHARE_GROUP_HEARTBEAT, build, done, now_ms)
        # Behind it: see ClientCore.handle_interrupted.
        self._busy = True
        interval_ms = self._interval_ms or ctx.config.request_timeout_ms
        ctx.timers.set(Timer.HEARTBEAT, now_ms + interval_ms)

    def _answered(self, answer: Answer, topics: tuple[str, ...], sent_ms: int, now_ms: int) -> None:
        error, epoch = answer.error, self.epoch
        if isinstance(error, UnsupportedVersionError):
            self._refuse(_too_old(error))
        elif error is not None:
            self._failed(now_ms)
        elif answer.body.error_code != Code.NONE:
            error = self._refused(answer.body, now_ms)
        else:
            try:
                self._take(answer.body, topics, sent_ms)
            except Unexpected as unexpected:
                error = unexpected
                self.coordinator.lost(str(error), now_ms)
                self._failed(now_ms)
        self._ctx.emit(HeartbeatAnswered(self.epoch or epoch, now_ms - sent_ms, error))

    def _take(self, body: Any, topics: tuple[str, ...], sent_ms: int) -> None:
        if body.member_epoch <= 0 or body.heartbeat_interval_ms <= 0:
            raise Unexpected(
                f"ShareGroupHeartbeat answered epoch {body.member_epoch}, interval"
                f" {body.heartbeat_interval_ms} ms"
            )
        if self.state is ShareState.JOINING:
            self._ctx.emit(GroupJoined(body.member_epoch, self.member_id, "", "share", False, 0))
        elif body.member_epoch == self.epoch:
            self._rejoins = 0
        self._machine.move(ShareInput.ANSWERED)
        # An assignment is told once, with its epoch, perhaps on a connection that is gone: to a
        # heartbeat that lingered there. Whoever says all is told all. And one that lingered may
        # have had other topics, behind those that are read now: the coordinator is told them again.
        as_before = self._told == topics
        missed = body.member_epoch != self.epoch and (body.assignment is None or as_before)
        self.epoch = body.member_epoch
        self._told = None if missed else topics
        self._interval_ms = body.heartbeat_interval_ms
        self._failures = 0
        self.coordinator.works()
        if body.assignment is not None:
            assigned = frozenset(
                (topic.topic_id, number)
                for topic in body.assignment.topic_partitions
                for number in topic.partitions
            )
            self._on_assigned(assigned)
            before, self._read = self._read, frozenset(topic_id for topic_id, _ in assigned)
            if as_before and not self._read >= before:
                self._empty = 0
            elif assigned:
                self._empty = _EMPTY_MAX
        wait_ms = self._interval_ms
        if self._empty < _EMPTY_MAX:
            wait_ms = min(wait_ms, self._ctx.backoff(self._empty))
            self._empty += 1
        self._ctx.timers.set(Timer.HEARTBEAT, sent_ms + wait_ms)

    def _failed(self, now_ms: int) -> None:
        """A backoff; and all fields next time."""
        self._told = None
        self._ctx.timers.set(Timer.HEARTBEAT, now_ms + self._ctx.backoff(self._failures))
        self._failures += 1

    def _refused(self, body: Any, now_ms: int) -> KafkaError:
        code = body.error_code
        error: KafkaError = error_of(code, body.error_message or "the coordinator refuses")
        effect = HEARTBEAT.of(code)
        if code == Code.GROUP_ID_NOT_FOUND and self.state is ShareState.STABLE:
            effect = Effect.OUTDATED  # it was there; where one joins, it is of another kind
        if effect is Effect.MOVED:
            self.coordinator.lost(str(error), now_ms)
            self._told = None
            self._ctx.timers.set(Timer.HEARTBEAT, now_ms)  # as soon as there is one again
        elif effect is Effect.OUTDATED:
            self._rejoin(now_ms)
        elif effect is Effect.SAY:
            self._ctx.emit(ErrorRaised(error))
            self._failed(now_ms)
        elif effect is Effect.RETRY or error.retriable:
            self._failed(now_ms)
        else:
            self._refuse(_too_old(error) if code == Code.UNSUPPORTED_VERSION else error)
        return error

    def _rejoin(self, now_ms: int) -> None:
        """At once, unless that has been in vain before."""
        self._machine.move(ShareInput.FENCED)
        self._end()
        self._told = None
        self._rejoins += 1
        timers = self._ctx.timers
        timers.set(Timer.POLL, now_ms + self._ctx.config.max_poll_interval_ms)
        if self._rejoins > MAX_IMMEDIATE_RETRIES:
            backoff_ms = self._ctx.backoff(self._rejoins - MAX_IMMEDIATE_RETRIES - 1)
            timers.set(Timer.HEARTBEAT, now_ms + backoff_ms)

    def _refuse(self, error: KafkaError) -> None:
        self._machine.move(ShareInput.REFUSED)
        self._end()
        self.refusal = error
        self._ctx.emit(ErrorRaised(error))

    # Leaving ---------------------------------------------------------------------------------

    def _say_leave(self, reason: str, now_ms: int) -> None:
        """The last heartbeat, once, if the coordinator may have heard of this member."""
        if self._named:
            self._ctx.emit(GroupLeft(reason))
            if self.coordinator.usable(now_ms):
                self._send_leave(now_ms)
            else:
                self._owe_leave()
            self._named = False  # behind it: see ClientCore.handle_interrupted
        self._left()

    def _owe_leave(self) -> None:
        self.coordinator.seek(self._sought)
        self._owed = True

    def _sought(self, found: bool, now_ms: int) -> None:
        if self._owed and found:
            self._send_leave(now_ms)
        self._owed = False  # behind it, as above
        self._left()

    def _send_leave(self, now_ms: int) -> None:
        """Its answer is the end, whatever it says: the coordinator's session timeout does the rest.
        But who was struck is not to be a member for so long.
        """

        def answered(answer: Answer, _at_ms: int) -> None:
            if isinstance(answer.error, StruckError) and self.state not in _ACTIVE:
                self._owe_leave()
            self._leaves -= 1
            self._left()

        self._leaves += 1
        self.coordinator.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, lambda _version: self._leaving(), answered, now_ms
        )

    def _left(self) -> None:
        if self.state is ShareState.LEAVING and not self.leaving:
            self._machine.move(ShareInput.LEFT)

    def _leaving(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self._ctx.config.group_id,
            member_id=self.member_id,
            member_epoch=_LEAVE_EPOCH,
        )


def _too_old(error: KafkaError) -> UnsupportedVersionError:
    refusal = UnsupportedVersionError(f"{TOO_OLD} ({error})")
    refusal.__cause__ = error
    return refusal
