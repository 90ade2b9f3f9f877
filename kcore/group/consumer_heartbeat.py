"""Heartbeats of the consumer protocol (KIP-848), which are all there is to it: they join, tell what
changed, acknowledge assignments, and leave (rules N1, N2, N4-N6).

A field goes out only if it is not what the coordinator was last told; after any failure all of them
do, as nobody knows what arrived. One heartbeat at a time; the interval is the coordinator's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kcore.connection.calls import Answer, Build, Message, StruckError
from kcore.errors import KafkaError, Unexpected, UnsupportedVersionError
from kcore.events import ErrorRaised, GroupJoined, GroupLeft, HeartbeatAnswered
from kcore.group.config import CONSUMER, MAX_IMMEDIATE_RETRIES
from kcore.group.consumer_membership import ConsumerMembership, Owned
from kcore.group.consumer_states import ConsumerState
from kcore.group.context import Context, Timer
from kcore.group.coordinator import Coordinator
from kcore.group.effects import CONSUMER_HEARTBEAT, Effect, error_of
from kcore.group.membership import Generation, instance_fenced
from kcore.group.repeated import Repeated
from kcore.structs import GroupMembershipOperation
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ConsumerGroupHeartbeatRequest

_OWN_ID_VERSION: Final = 1  # the member makes its id itself from here on (KIP-1082)
_JOIN_EPOCH: Final = 0
_LEAVE_EPOCH: Final = -1
_LEAVE_FOR_NOW_EPOCH: Final = -2  # a static member, whose partitions wait for it
_SILENT: Final = (
    ConsumerState.UNSUBSCRIBED,
    ConsumerState.FENCED,
    ConsumerState.LEAVING,
    ConsumerState.STALE,
    ConsumerState.FATAL,
)
_AT_ONCE: Final = (ConsumerState.JOINING, ConsumerState.ACKNOWLEDGING)
_TAKES_TARGETS: Final = (
    ConsumerState.JOINING,
    ConsumerState.RECONCILING,
    ConsumerState.ACKNOWLEDGING,
    ConsumerState.STABLE,
)
# What a join is answered where the member id, or the instance id, is in already. (A member id: not
# by Kafka 4.3, which takes the member back in.)
_STILL_IN: Final = (ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_MEMBER_EPOCH)
# A coordinator looks for what a pattern matches behind its answer, and tells of it when it is asked
# next: so often soon behind a new pattern, by the backoff of retries, and not at the interval.
_LOOKS_FOR_MATCHES: Final = 5
# From this version on there is a place for a pattern.
_PATTERN_VERSION: Final = 1
_TOO_OLD_FOR_PATTERNS: Final = (
    "this one does not match a SubscriptionPattern; a regular expression as a string is matched"
    " here"
)
_TOO_OLD: Final = (
    "group_protocol='consumer' needs brokers that serve it: Apache Kafka 4.0 or later, with the"
    " feature group.version at 1 (`kafka-features upgrade --feature group.version=1`) and"
    " 'consumer' among group.coordinator.rebalance.protocols; group_protocol='classic' works with"
    " all"
)


class _Told(NamedTuple):
    """What the coordinator was told of this member."""

    topics: tuple[str, ...]
    pattern: str | None
    owned: Owned | None  # None: another target was named since

    def same_wish(self, topics: tuple[str, ...], pattern: str | None) -> bool:
        """Whether that is the subscription that it was told."""
        return self.topics == topics and self.pattern == pattern


class ConsumerHeartbeats:
    """on_target(): the coordinator has said what this member is to have. on_sent(): what is
    owned is on its way to the coordinator. holds_still(): what is owned is not about to change.
    waits_for_poll(): a poll could take more of what the coordinator has said.
    on_stalled(now_ms): as of the classic protocol (B6).
    on_fenced(now_ms): the membership is refused for good.
    """

    def __init__(
        self,
        ctx: Context,
        membership: ConsumerMembership,
        coordinator: Coordinator,
        on_stalled: Callable[[int], None],
        on_fenced: Callable[[int], None],
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self._on_stalled = on_stalled
        self._on_fenced = on_fenced
        self.on_target: Callable[[], None]  # wired by GroupMember: the two know each other
        self.on_sent: Callable[[], None]
        self.holds_still: Callable[[], bool]
        self.waits_for_poll: Callable[[], bool]
        self._told: _Told | None = None
        self._changed = False  # the subscription is not what was told
        self._busy = False  # one is on its way
        # What it says is owned, if it says so, and what those say that were not answered.
        self._naming: Owned | None = None
        self._count = 0  # the membership that timers and `_busy` are about
        self._interval_ms = 0  # not told yet
        self._looks = 0  # for what a new pattern matches, that are to come
        self._looked_for: str | None = None  # that pattern
        self._taken_in = False  # the coordinator may count our member id in, from before
        self._leaves = 0  # last heartbeats on their way
        self._owed: list[Build] = []  # those that wait for a coordinator
        self._on_left: Callable[[int], None] | None = None
        self._failures = 0
        self._rejoins = 0  # in a row, each of which was refused
        self._repeated = Repeated()
        self._ticked_at = 0

    @property
    def active(self) -> bool:
        """Whether heartbeats are due from time to time."""
        return self._membership.state not in _SILENT

    def handle_poll(self, now_ms: int) -> None:
        """The application is alive."""
        self._membership.last_poll_ms = now_ms
        if self.active:
            self._ctx.timers.set(Timer.POLL, now_ms + self._ctx.config.max_poll_interval_ms)

    def coordinator_found(self, now_ms: int) -> None:
        """The timer of the next heartbeat goes on."""

    def recover(self) -> None:
        """None is on its way (see ClientCore.handle_interrupted), and nobody knows what the
        coordinator was told.
        """
        self._busy = False
        self._repeated = Repeated()
        self._told, self._changed = None, True

    def handle_tick(self, now_ms: int) -> None:
        """Send what is due; find out that the application is stuck."""
        self._ticked_at = now_ms
        self._follow(now_ms)
        timers = self._ctx.timers
        if not self.active:
            return
        if self._membership.state is ConsumerState.PREPARE_LEAVING:
            timers.cancel(Timer.POLL)  # nobody has to poll who is on the way out
        if self._ctx.due(Timer.POLL, now_ms):
            self._on_stalled(now_ms)
        elif self._waits or self._coordinator.key is None:
            return
        elif self._urgent or timers.at(Timer.HEARTBEAT) <= now_ms:
            self._send(now_ms)

    def _follow(self, now_ms: int) -> None:
        """Another membership than when this was last looked at, or none: begin anew."""
        membership, timers = self._membership, self._ctx.timers
        if self._count == membership.count:
            return
        self._count = membership.count
        self._busy, self._naming = False, None
        if self._repeated.busy:
            self._repeated = Repeated()
        self._told, self._changed = None, False
        self._failures = self._looks = 0
        self._looked_for = None
        timers.cancel(Timer.HEARTBEAT)
        timers.cancel(Timer.POLL)
        if not self.active:
            return
        timers.set(Timer.POLL, now_ms + self._ctx.config.max_poll_interval_ms)
        if self._rejoins > MAX_IMMEDIATE_RETRIES:
            backoff_ms = self._ctx.backoff(self._rejoins - MAX_IMMEDIATE_RETRIES - 1)
            timers.set(Timer.HEARTBEAT, now_ms + backoff_ms)
            self._failures = 1

    def repeat(self, now_ms: int) -> bool:
        """`handle_tick` where the next heartbeat is due, and nothing else; False if there is
        more to it.
        """
        if self._waits or self._urgent or self._count != self._membership.count:
            return False
        self._send(now_ms)
        return True

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self._count != self._membership.count:
            return 0
        if not self.active:
            return NEVER
        timers = self._ctx.timers
        first = timers.at(Timer.POLL)
        if self._coordinator.key is None:
            return first
        beat = timers.at(Timer.HEARTBEAT)
        if self._waits and (not self._repeated.busy or beat <= self._ticked_at):
            return first  # the answer comes before it, and has everybody asked again
        return min(first, 0 if self._urgent and not self._waits else beat)

    @property
    def _waits(self) -> bool:
        return self._busy or self._repeated.busy

    @property
    def _urgent(self) -> bool:
        """Whether to send at once: but not again and again what has failed."""
        if self._failures:
            return False
        if self._membership.state in _AT_ONCE:
            return True
        return self._changed

    def may_take(self, partitions: Owned) -> bool:
        """Whether all of these can be taken now. The coordinator gives away what a heartbeat does
        not name that says what is owned: while one is on its way, its answer has to be waited for,
        or if there is none, as its connection is gone, that of the next.
        """
        return self._naming is None or partitions <= self._naming

    def look_again(self) -> None:
        """The subscription may have changed: if so the coordinator is told at once."""
        told = self._told
        self._changed = told is not None and not told.same_wish(*self._wish())

    def correct(self) -> None:
        """The coordinator assigns what is not subscribed: unless the news is on its way, it has got
        that wrong (a join lingered, and arrived behind the next one), and is told all again.
        """
        told = self._told
        if told is not None and told.same_wish(*self._wish()) and not self._waits:
            self._told, self._changed = None, True

    def _wish(self) -> tuple[tuple[str, ...], str | None]:
        host = self._ctx.host
        return tuple(host.subscribed_topics()), host.remote_pattern()

    # -- one heartbeat -------------------------------------------------------------------------

    def _send(self, now_ms: int) -> None:
        ctx, membership = self._ctx, self._membership
        config, count, sent = ctx.config, membership.count, membership.generation
        joining = membership.state is ConsumerState.JOINING
        fields = self._news()

        def build(version: int) -> Message:
            if joining and count != membership.count:
                # It waited for its link, and whoever was to join has gone meanwhile: the answer
                # would find nobody, and the coordinator keep a member that is none.
                return self._leaving()(version)
            own = not joining or version >= _OWN_ID_VERSION
            if count == membership.count:
                membership.named |= own
            if version < _PATTERN_VERSION and "subscribed_topic_regex" in fields:
                raise UnsupportedVersionError(_TOO_OLD_FOR_PATTERNS)
            return ConsumerGroupHeartbeatRequest(
                group_id=config.group_id,
                member_id=sent.member_id if own else "",
                member_epoch=_JOIN_EPOCH if joining else sent.id,
                instance_id=config.group_instance_id,
                **fields,
            )

        def done(answer: Answer, at_ms: int) -> None:
            if repeats:
                repeated.read(good=_tells_nothing(answer, sent))
            if count == membership.count:
                self._busy = False
                self._answered(answer, sent, now_ms, at_ms)

        def taken(at_ms: int) -> bool:
            if count != membership.count or ctx.timers.at(Timer.HEARTBEAT) <= at_ms:
                return False
            self._good(at_ms)
            ctx.emit(HeartbeatAnswered(sent.id, at_ms - now_ms, None))
            return True

        # What says nothing is the same bytes every time, and mostly so is what it is answered with.
        repeats = not fields and not self._looks and membership.state is ConsumerState.STABLE
        repeated = self._repeated
        self._coordinator.ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            repeated.ask(sent, build, taken) if repeats else build,
            done,
            now_ms,
            standing=repeated if repeats else None,
        )
        # Behind it: see ClientCore.handle_interrupted.
        self._busy = not repeats
        ctx.timers.set(Timer.HEARTBEAT, now_ms + (self._interval_ms or config.request_timeout_ms))
        self.on_sent()

    def _news(self) -> dict[str, Any]:
        """N1: all fields when joining or after a failure, else those that changed."""
        config, owned = self._ctx.config, self._membership.owned or frozenset()
        told, telling = self._told, _Told(*self._wish(), owned)
        fields: dict[str, Any] = {}
        if told is None:
            fields["rebalance_timeout_ms"] = config.max_poll_interval_ms
            fields["server_assignor"] = config.remote_assignor
            fields["rack_id"] = config.client_rack
        if told is None or told.topics != telling.topics:
            fields["subscribed_topic_names"] = list(telling.topics)
        if telling.pattern is not None and (told is None or told.pattern != telling.pattern):
            fields["subscribed_topic_regex"] = telling.pattern
            if telling.pattern != self._looked_for:
                self._looks, self._looked_for = _LOOKS_FOR_MATCHES + 1, telling.pattern
        self._told, self._changed = telling, False
        if told is None or told.owned != telling.owned:
            joining = self._membership.state is ConsumerState.JOINING
            waits = told is not None and self.waits_for_poll()
            if joining or (self.holds_still() and not waits):
                fields["topic_partitions"] = _by_topic(owned)
                self._naming = owned if self._naming is None else self._naming & owned
            elif told is not None and (waits or told.owned is None):
                self._told = telling._replace(owned=None)  # it is said once that is over
            else:
                self._told = None  # all of it, once that is over
        return fields

    # -- answers -------------------------------------------------------------------------------

    def _answered(self, answer: Answer, sent: Generation, sent_ms: int, now_ms: int) -> None:
        error = answer.error
        self._naming = self._naming if error is not None else None
        if error is not None:
            self._unanswered(error, now_ms)
        elif answer.body.error_code != ErrorCode.NONE:
            error = self._refused(answer.body, sent, now_ms)
        else:
            try:
                self._take(answer.body, sent, sent_ms, now_ms)
            except Unexpected as unexpected:
                error = unexpected
                self._coordinator.lost(str(error), now_ms)
                self._failed(now_ms)
        self._ctx.emit(HeartbeatAnswered(sent.id, now_ms - sent_ms, error))

    def _take(self, body: Any, sent: Generation, sent_ms: int, now_ms: int) -> None:
        membership, ctx = self._membership, self._ctx
        joining = membership.state is ConsumerState.JOINING
        member_id = body.member_id or sent.member_id
        if body.member_epoch <= 0 or body.heartbeat_interval_ms <= 0 or not member_id:
            raise Unexpected(
                f"ConsumerGroupHeartbeat answered epoch {body.member_epoch}, interval"
                f" {body.heartbeat_interval_ms} ms, member {member_id!r}"
            )
        if joining and body.assignment is None:
            raise Unexpected("ConsumerGroupHeartbeat answered who joins without an assignment")
        if joining:
            assignor = ctx.config.remote_assignor or CONSUMER
            ctx.emit(GroupJoined(body.member_epoch, member_id, "", assignor, False, 0))
            membership.loss = None
        self._interval_ms = body.heartbeat_interval_ms
        self._set_next(body.assignment, sent_ms)
        self._good(now_ms)
        membership.named = self._taken_in = True
        membership.accepted(member_id, body.member_epoch)
        if body.assignment is not None and membership.state in _TAKES_TARGETS:
            before, told = membership.target, self._told
            target = membership.target = _target(body.assignment)
            changed = before is not None and before != target
            if told is not None and (changed or told.owned != target):
                # It waits to be told of this one, also if this or the next is what it was told
                # before.
                self._told = told._replace(owned=None)
            self.on_target()

    def _set_next(self, assignment: Any, sent_ms: int) -> None:
        """The next heartbeat: at the interval, or sooner while a pattern has matched nothing."""
        after_ms = self._interval_ms
        if assignment is not None and assignment.topic_partitions:
            self._looks = 0
        elif self._looks:
            self._looks -= 1
            if self._looks:
                backoff_ms = self._ctx.backoff(_LOOKS_FOR_MATCHES - self._looks)
                after_ms = min(after_ms, backoff_ms)
        self._ctx.timers.set(Timer.HEARTBEAT, sent_ms + after_ms)

    def _good(self, now_ms: int) -> None:
        self._failures = 0
        self._coordinator.works()
        self._membership.last_heartbeat_ms = now_ms
        if self._membership.state is ConsumerState.STABLE:
            self._rejoins = 0

    def _failed(self, now_ms: int) -> None:
        """N5: a backoff; and all fields next time, as nobody knows what arrived (N1)."""
        self._told = None
        self._ctx.timers.set(Timer.HEARTBEAT, now_ms + self._ctx.backoff(self._failures))
        self._failures += 1

    def _unanswered(self, error: KafkaError, now_ms: int) -> None:
        if isinstance(error, UnsupportedVersionError):
            self._fatal(_too_old(error), now_ms)
        else:
            self._taken_in = True  # for all we know
            self._failed(now_ms)

    def _refused(self, body: Any, sent: Generation, now_ms: int) -> KafkaError:
        code = body.error_code
        error: KafkaError = error_of(code, body.error_message or "the coordinator refuses")
        effect = self._effect(code, error, sent)
        if effect is Effect.AGAIN:
            self._reclaim(now_ms)
        elif effect is Effect.MOVED:
            self._coordinator.lost(str(error), now_ms)
            self._told = None
            self._ctx.timers.set(Timer.HEARTBEAT, now_ms)  # as soon as there is one again
        elif effect in (Effect.RETRY, Effect.SAY):
            if effect is Effect.SAY:
                self._ctx.emit(ErrorRaised(error))
            self._failed(now_ms)
        elif effect is Effect.OUTDATED:
            self._rejoins += 1
            self._membership.reset(str(error), now_ms)
        elif effect is Effect.FENCED:
            self._fatal(instance_fenced(self._ctx.config.group_instance_id), now_ms)
        elif code == ErrorCode.UNSUPPORTED_VERSION:
            self._fatal(_too_old(error), now_ms)
        else:
            self._fatal(error, now_ms)
        return error

    def _effect(self, code: int, error: KafkaError, sent: Generation) -> Effect:
        effect = CONSUMER_HEARTBEAT.of(code)
        if code == ErrorCode.GROUP_ID_NOT_FOUND and sent.valid:
            return Effect.OUTDATED  # it was there; where one joins, it is of another kind
        if code in _STILL_IN and self._taken_in and not sent.valid:
            return Effect.AGAIN
        return Effect.RETRY if effect is Effect.FATAL and error.retriable else effect

    def _reclaim(self, now_ms: int) -> None:
        """Who is in already may be ourselves, from before: a join whose answer was lost, or a
        membership that ended here alone. If so it is given up, else nothing comes of it.
        """
        self._taken_in = False
        self._coordinator.ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, self._leaving(), lambda *_: None, now_ms
        )
        self._told = None
        self._ctx.timers.set(Timer.HEARTBEAT, now_ms)  # right behind it

    def _fatal(self, error: KafkaError, now_ms: int) -> None:
        self._membership.fence(error, now_ms)
        self._on_fenced(now_ms)

    # -- leaving -------------------------------------------------------------------------------

    def leave(
        self,
        reason: str,
        now_ms: int,
        *,
        fresh_link: bool,
        done: Callable[[int], None],
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> bool:
        """N6: the last heartbeat, once. See kcore.group.leaving.Leave."""
        del fresh_link  # nothing here is held by the coordinator
        membership = self._membership
        # Who is LEAVING with a name was struck behind it, and comes again.
        if membership.named and membership.state is not ConsumerState.LEAVING:
            self._ctx.emit(GroupLeft(reason))
            static = self._ctx.config.group_instance_id is not None
            if operation is GroupMembershipOperation.REMAIN_IN_GROUP and not static:
                return False  # there is no epoch to say so; the session ends by itself
            build = self._leaving(operation)
            if self._coordinator.usable(now_ms):
                self._send_leave(build, now_ms)
            else:
                self._seek(build)
            membership.leave_sent()  # behind it: see ClientCore.handle_interrupted
        self._on_left = done
        return bool(self._leaves or self._owed)

    def _seek(self, build: Build) -> None:
        """One look-up, as one request."""
        self._coordinator.seek(self._sought)
        self._owed.append(build)

    def _sought(self, found: bool, now_ms: int) -> None:
        owed = self._owed
        while owed:
            if found:
                self._send_leave(owed[0], now_ms)
            else:
                self._membership.left()
            del owed[:1]  # behind it, as above
        self._look(now_ms)

    def _send_leave(self, build: Build, now_ms: int) -> None:
        membership = self._membership

        def answered(answer: Answer, at_ms: int) -> None:
            if isinstance(answer.error, StruckError):
                self._seek(build)
                self._leaves -= 1
                return
            # Whatever else it says, the coordinator's session timeout does the rest.
            self._leaves -= 1
            if answer.error is None and membership.state is ConsumerState.LEAVING:
                self._taken_in = False
            membership.left()
            self._look(at_ms)

        self._leaves += 1
        self._coordinator.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, build, answered, now_ms)

    def _look(self, now_ms: int) -> None:
        """Nothing may be left to wait for."""
        if self._on_left is not None and not self._leaves and not self._owed:
            on_left, self._on_left = self._on_left, None
            on_left(now_ms)

    def recover_leaving(self, now_ms: int) -> None:
        """Every question is answered (see ClientCore.handle_interrupted): a leave that was only
        counted was never asked.
        """
        self._leaves = 0
        if self._owed:  # whoever was told of the coordinator may have been struck
            self._coordinator.seek(self._sought)
        self._look(now_ms)

    def _leaving(
        self, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT
    ) -> Build:
        config, member_id = self._ctx.config, self._membership.generation.member_id
        for_now = (
            config.group_instance_id is not None
            and operation is not GroupMembershipOperation.LEAVE_GROUP
        )

        def build(version: int) -> Message:
            del version
            return ConsumerGroupHeartbeatRequest(
                group_id=config.group_id,
                member_id=member_id,
                member_epoch=_LEAVE_FOR_NOW_EPOCH if for_now else _LEAVE_EPOCH,
                instance_id=config.group_instance_id,
            )

        return build


def _too_old(error: KafkaError) -> UnsupportedVersionError:
    refusal = UnsupportedVersionError(f"{_TOO_OLD} ({error})")
    refusal.__cause__ = error
    return refusal


def _tells_nothing(answer: Answer, sent: Generation) -> bool:
    """Whether it is the usual answer: nothing has changed."""
    body = answer.body
    return (
        answer.error is None
        and body.error_code == ErrorCode.NONE
        and body.assignment is None
        and body.member_epoch == sent.id
        and not body.throttle_time_ms
    )


def _by_topic(owned: Owned) -> list[ConsumerGroupHeartbeatRequest.TopicPartitions]:
    numbers: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(owned):
        numbers.setdefault(topic_id, []).append(number)
    cls = ConsumerGroupHeartbeatRequest.TopicPartitions
    return [cls(topic_id=topic_id, partitions=found) for topic_id, found in numbers.items()]


def _target(assignment: Any) -> Owned:
    return frozenset(
        (topic.topic_id, number)
        for topic in assignment.topic_partitions
        for number in topic.partitions
    )
