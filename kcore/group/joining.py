"""One round of JoinGroup and SyncGroup, from the sending of the first to the assignment (rules
G2-G4, 3.1, 6.3).

    send -> JoinGroup -> (leader: members, metadata, assignor) -> SyncGroup -> Ended

Each `send` begins another exchange; answers of earlier ones are dropped. What an answer does to the
membership is done here, when to try again is decided by whoever takes `Ended`.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.assignors import MemberSubscription, RebalanceProtocol, blobs
from kcore.connection.calls import Answer, Message
from kcore.enums import Enum
from kcore.errors import DisconnectedError, KafkaError, Unexpected, UnsupportedVersionError
from kcore.events import ErrorRaised, GroupJoined
from kcore.group.classic_membership import ClassicMembership
from kcore.group.config import MAX_REASON_CHARS
from kcore.group.context import Context, Timer
from kcore.group.coordinator import Coordinator
from kcore.group.effects import JOIN, SYNC, Effect, Effects, error_of, passing
from kcore.group.leader import Leader
from kcore.group.leaving import Leaving
from kcore.group.membership import Generation, instance_fenced
from kcore.group.states import MemberState
from kcore.hints import Any
from kcore.timers import NEVER
from kcore.values import Value
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import JoinGroupRequest, SyncGroupRequest

PROTOCOL_TYPE = "consumer"
_JOIN_INSTANCE_ID_VERSION = 5
_SYNC_INSTANCE_ID_VERSION = 3


class Verdict(Enum):
    """How a round ended."""

    ASSIGNED = "assigned"
    AGAIN = "try again at once"
    LATER = "try again after a backoff"
    FATAL = "the application must know"


class Ended(Value):
    """A round's end: the assignment blob, or the error that ended it."""

    verdict: Verdict
    assignment: bytes = b""
    error: KafkaError | None = None


class Joining:
    """At most one exchange at a time; `on_ended(ended, now_ms)` follows each that was not
    abandoned.
    """

    def __init__(
        self,
        ctx: Context,
        membership: ClassicMembership,
        coordinator: Coordinator,
        leader: Leader,
        leaving: Leaving,
        on_accepted: Callable[[int], None],
        on_ended: Callable[[Ended, int], None],
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self._leader = leader
        self._leaving = leaving
        self._on_accepted = on_accepted
        self._on_ended = on_ended
        self._exchange = 0
        self._open = False
        self._accepted: Any = None  # the JoinGroup answer that SyncGroup belongs to
        self._awaits_metadata = False
        self.topics: frozenset[str] = frozenset()  # those of the last JoinGroup sent
        # The last one was a static member's that said no member id: it may be answered with the
        # assignment of before. And: it leads, and is to leave that as it is.
        self.came_back = self.skips = False

    @property
    def in_flight(self) -> bool:
        """An exchange is going on."""
        return self._open

    @property
    def held_up(self) -> bool:
        """An id that nobody wants any more is on its way: it goes back first. Before KIP-394 that
        could stand in line behind the next JoinGroup, which would be parked until it is back.
        """
        return self._leaving.unnamed and not self._membership.generation.member_id

    def abandon(self) -> None:
        """Drop whatever the exchange under way still brings."""
        self._exchange += 1
        self._open = False
        self._awaits_metadata = False
        self._accepted = None
        self._ctx.timers.cancel(Timer.METADATA)

    def recover(self, now_ms: int) -> None:
        """End an exchange in which nobody is being asked (see ClientCore.handle_interrupted)."""
        self._leaving.recover(now_ms)
        if self._open and not self._awaits_metadata:
            self._unanswered(DisconnectedError("interrupted"), now_ms)

    def handle_tick(self, now_ms: int) -> None:
        """The leader's wait for metadata."""
        if not self._awaits_metadata:
            return
        late = self._ctx.due(Timer.METADATA, now_ms)
        if late or self._ctx.host.metadata_fresh():
            self._awaits_metadata = False
            self._ctx.timers.cancel(Timer.METADATA)
            self._lead(now_ms)

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        return self._ctx.timers.at(Timer.METADATA) if self._awaits_metadata else NEVER

    # -- join ----------------------------------------------------------------------------------

    def send(self, now_ms: int) -> None:
        """Write JoinGroup; the coordinator must be known."""
        self.abandon()
        self._open = True
        ctx, exchange = self._ctx, self._exchange
        topics = ctx.host.subscribed_topics()
        self.topics = frozenset(topics)
        generation = self._membership.generation
        protocols = self._protocols(topics, generation)
        reason = (self._membership.rejoin_reason or "")[:MAX_REASON_CHARS]
        self._membership.join_sent()
        self.came_back = ctx.config.group_instance_id is not None and not generation.member_id
        unnamed = False  # its answer brings an id

        def build(version: int) -> Message:
            nonlocal unnamed
            if ctx.config.group_instance_id is not None and version < _JOIN_INSTANCE_ID_VERSION:
                raise UnsupportedVersionError(
                    "group_instance_id needs brokers of release 2.3 or later (JoinGroup v5)"
                )
            unnamed = unnamed or self._leaving.join_written(generation)
            return JoinGroupRequest(
                group_id=ctx.config.group_id,
                session_timeout_ms=ctx.config.session_timeout_ms,
                rebalance_timeout_ms=ctx.config.max_poll_interval_ms,
                member_id=generation.member_id,
                group_instance_id=ctx.config.group_instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocols=protocols,
                reason=reason,
            )

        def done(answer: Answer, at_ms: int) -> None:
            wanted = exchange == self._exchange
            if unnamed:
                self._leaving.join_answered(answer, at_ms, wanted=wanted)
            if wanted:
                self._joined(answer, generation, at_ms)

        timeout_ms = ctx.config.join_timeout_ms
        self._coordinator.parked_until = now_ms + timeout_ms
        self._coordinator.ask(ApiKey.JOIN_GROUP, build, done, now_ms, timeout_ms=timeout_ms)

    def _protocols(
        self, topics: list[str], generation: Generation
    ) -> list[JoinGroupRequest.JoinGroupRequestProtocol]:
        ctx = self._ctx
        owned: tuple[Any, ...] = ()
        if ctx.config.protocol is RebalanceProtocol.COOPERATIVE:
            owned = tuple(ctx.host.owned_partitions())
        return [
            JoinGroupRequest.JoinGroupRequestProtocol(
                name=assignor.name,
                metadata=blobs.encode_subscription(
                    MemberSubscription(
                        topics=tuple(topics),
                        owned=owned,
                        generation=generation.id,
                        rack=ctx.config.client_rack,
                        userdata=assignor.subscription_userdata(topics),
                    )
                ),
            )
            for assignor in ctx.config.assignors
        ]

    def _joined(self, answer: Answer, sent: Generation, now_ms: int) -> None:
        self._coordinator.parked_until = 0
        if answer.error is not None:
            self._unanswered(answer.error, now_ms)
            return
        body = answer.body
        if body.error_code != ErrorCode.NONE:
            self._refused(JOIN, body, sent, now_ms)
            return
        try:
            self._check_join(body)
        except KafkaError as error:
            self._distrust(error, now_ms)
            return
        self._coordinator.works()
        self._accepted = body
        self.skips = bool(body.skip_assignment)
        self._membership.join_accepted(
            Generation(body.generation_id, body.member_id, body.protocol_name)
        )
        self._on_accepted(now_ms)
        if body.leader != body.member_id:
            self._sync({}, now_ms)
            return
        self._elected(now_ms)

    def _check_join(self, body: Any) -> None:
        """G3: what a JoinGroup answer must say; raises what is wrong with it."""
        if body.protocol_type is not None and body.protocol_type != PROTOCOL_TYPE:
            raise error_of(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"the group is of type {body.protocol_type!r}, not {PROTOCOL_TYPE!r}",
            )
        if body.generation_id < 0 or not body.member_id:
            raise Unexpected(
                f"JoinGroup answered generation {body.generation_id}, member {body.member_id!r}"
            )
        if self._ctx.config.assignor(body.protocol_name) is None:
            raise Unexpected(
                f"JoinGroup chose assignor {body.protocol_name!r}, which was not offered"
            )

    # -- leader --------------------------------------------------------------------------------

    def _elected(self, now_ms: int) -> None:
        body = self._accepted
        try:
            ready = self._leader.elect(body.members, body.protocol_name)
        except KafkaError as error:
            # Every member is held up until the one that wrote this is gone: someone should know.
            self._ctx.emit(ErrorRaised(error))
            self._end(Verdict.LATER, now_ms, error)
            return
        if ready or self._ctx.host.metadata_fresh():
            self._lead(now_ms)
            return
        # The rebalance goes on without the missing topics if metadata does not come; the snapshot
        # then brings another rebalance when it does (D5, G1).
        self._awaits_metadata = True
        self._ctx.timers.set(Timer.METADATA, now_ms + self._ctx.config.request_timeout_ms)

    def _lead(self, now_ms: int) -> None:
        if self._membership.state is not MemberState.COMPLETING or self._accepted is None:
            return  # the membership was lost while waiting for metadata; whoever lost it goes on
        if self._accepted.skip_assignment:
            # D2: a returning static leader; the group keeps its assignment, we keep watching the
            # metadata.
            self._leader.observe()
            self._sync({}, now_ms)
            return
        if self._coordinator.key is None:
            self._end(Verdict.LATER, now_ms, error_of(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        try:
            plan = self._leader.assign()
        except KafkaError as error:
            self._end(Verdict.FATAL, now_ms, error)
            return
        self._sync(plan, now_ms)

    # -- sync ----------------------------------------------------------------------------------

    def _sync(self, plan: dict[str, bytes], now_ms: int) -> None:
        if self._coordinator.key is None:
            self._end(Verdict.LATER, now_ms, error_of(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        ctx, exchange, generation = self._ctx, self._exchange, self._membership.generation

        def build(version: int) -> Message:
            return SyncGroupRequest(
                group_id=ctx.config.group_id,
                generation_id=generation.id,
                member_id=generation.member_id,
                group_instance_id=(
                    ctx.config.group_instance_id if version >= _SYNC_INSTANCE_ID_VERSION else None
                ),
                protocol_type=PROTOCOL_TYPE,
                protocol_name=generation.protocol,
                assignments=[
                    SyncGroupRequest.SyncGroupRequestAssignment(
                        member_id=member_id, assignment=blob
                    )
                    for member_id, blob in plan.items()
                ],
            )

        def done(answer: Answer, at_ms: int) -> None:
            if exchange == self._exchange:
                self._synced(answer, generation, at_ms)

        self._coordinator.ask(ApiKey.SYNC_GROUP, build, done, now_ms)

    def _synced(self, answer: Answer, sent: Generation, now_ms: int) -> None:
        if answer.error is not None:
            self._unanswered(answer.error, now_ms)
            return
        body = answer.body
        if body.error_code != ErrorCode.NONE:
            self._refused(SYNC, body, sent, now_ms)
            return
        wrong = (body.protocol_type is not None and body.protocol_type != PROTOCOL_TYPE) or (
            body.protocol_name is not None and body.protocol_name != sent.protocol
        )
        if wrong:
            self._distrust(
                error_of(
                    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                    f"SyncGroup answered {body.protocol_type!r} / {body.protocol_name!r}, joined"
                    f" with {PROTOCOL_TYPE!r} / {sent.protocol!r}",
                ),
                now_ms,
            )
            return
        joined = self._accepted
        is_leader = joined.leader == joined.member_id
        self._coordinator.works()
        self._membership.sync_accepted()
        self._ctx.emit(
            GroupJoined(
                sent.id,
                sent.member_id,
                joined.leader,
                sent.protocol or "",
                is_leader,
                len(joined.members) if is_leader else 0,
            )
        )
        self._end(Verdict.ASSIGNED, now_ms, assignment=body.assignment)

    # -- the end of a round --------------------------------------------------------------------

    def _end(
        self,
        verdict: Verdict,
        now_ms: int,
        error: KafkaError | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.abandon()
        self._on_ended(Ended(verdict, assignment, error), now_ms)

    def _unanswered(self, error: KafkaError, now_ms: int) -> None:
        """No answer that can be read: the coordinator is lost already, the member id is kept
        (C03).
        """
        self._end(Verdict.LATER if passing(error) else Verdict.FATAL, now_ms, error)

    def _distrust(self, error: KafkaError, now_ms: int) -> None:
        """An answer that can be read but not be meant costs the link, like one that cannot be
        read.
        """
        if passing(error):
            self._coordinator.lost(str(error), now_ms)
        self._end(Verdict.LATER if passing(error) else Verdict.FATAL, now_ms, error)

    def _refused(self, effects: Effects, body: Any, sent: Generation, now_ms: int) -> None:
        membership = self._membership
        error: KafkaError = error_of(body.error_code)
        effect = effects.of(body.error_code)
        same = membership.generation == sent
        verdict = Verdict.FATAL
        self.abandon()  # before the membership changes: its loss is this round's own doing
        if effect is Effect.RETRY:
            verdict = Verdict.LATER
        elif effect is Effect.MOVED:
            self._coordinator.lost(str(error), now_ms)
            verdict = Verdict.LATER
        elif effect is Effect.AGAIN:
            verdict = Verdict.AGAIN
        elif effect is Effect.NAMED and body.member_id:
            membership.name(body.member_id)
            verdict = Verdict.AGAIN
        elif effect in (Effect.FORGET, Effect.OUTDATED):
            if same:
                membership.reset(str(error), now_ms, keep_member_id=effect is Effect.OUTDATED)
            verdict = Verdict.AGAIN
        elif effect is Effect.FENCED:
            error = instance_fenced(self._ctx.config.group_instance_id)
            membership.fence(error, now_ms)
        self._on_ended(Ended(verdict, error=error), now_ms)
