"""Heartbeats, and the three timers around them: heartbeat, session, poll (rules B1-B8)."""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.calls import Answer, Message
from kcore.errors import KafkaError
from kcore.events import HeartbeatAnswered
from kcore.group.classic_membership import ClassicMembership
from kcore.group.context import Context, Timer
from kcore.group.coordinator import Coordinator
from kcore.group.effects import HEARTBEAT, Effect, error_of
from kcore.group.membership import Generation, instance_fenced
from kcore.group.repeated import Repeated
from kcore.group.states import MemberState
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import HeartbeatRequest

_INSTANCE_ID_VERSION = 3


class Heartbeats:
    """Runs from the JoinGroup answer on, as long as the member has joined (B1).

    on_stalled(now_ms): the application let max_poll_interval_ms pass without a poll (B6).
    on_fenced(now_ms): another process runs under our group.instance.id (B7).
    """

    def __init__(
        self,
        ctx: Context,
        membership: ClassicMembership,
        coordinator: Coordinator,
        on_stalled: Callable[[int], None],
        on_fenced: Callable[[int], None],
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self._on_stalled = on_stalled
        self._on_fenced = on_fenced
        self._enabled = False
        self._failures = 0
        self._repeated = Repeated()
        self._ticked_at = 0

    @property
    def active(self) -> bool:
        """Whether heartbeats are due from time to time."""
        return self._enabled and self._membership.state in (
            MemberState.COMPLETING,
            MemberState.STABLE,
        )

    def enable(self, now_ms: int) -> None:
        """JoinGroup was answered: all three timers start anew (G3)."""
        self._enabled = True
        self._failures = 0
        self._membership.last_heartbeat_ms = now_ms
        config, timers = self._ctx.config, self._ctx.timers
        timers.set(Timer.HEARTBEAT, now_ms + config.heartbeat_interval_ms)
        timers.set(Timer.SESSION, now_ms + config.session_timeout_ms)
        timers.set(Timer.POLL, now_ms + config.max_poll_interval_ms)

    def handle_poll(self, now_ms: int) -> None:
        """The application is alive; this holds also while the coordinator is unknown (B5)."""
        self._membership.last_poll_ms = now_ms
        if self._enabled:
            self._ctx.timers.set(Timer.POLL, now_ms + self._ctx.config.max_poll_interval_ms)

    def coordinator_found(self, now_ms: int) -> None:
        """The session starts anew with the coordinator found (K2); the heartbeat timer does not."""
        if self._enabled:
            self._ctx.timers.set(Timer.SESSION, now_ms + self._ctx.config.session_timeout_ms)

    def recover(self) -> None:
        """None is on its way (see ClientCore.handle_interrupted)."""
        self._repeated = Repeated()

    def handle_tick(self, now_ms: int) -> None:
        """One turn of the checks of rule B2, in its order."""
        timers = self._ctx.timers
        self._ticked_at = now_ms
        if not self.active:
            if self._enabled:
                self._enabled = False
                for timer in (Timer.HEARTBEAT, Timer.SESSION, Timer.POLL):
                    timers.cancel(timer)
        elif self._coordinator.key is None:
            return  # the coordinator is wanted, its own timer paces that (K6)
        elif self._ctx.due(Timer.SESSION, now_ms):
            limit_ms = self._ctx.config.session_timeout_ms
            self._coordinator.lost(f"no heartbeat was answered for {limit_ms} ms", now_ms)
        elif self._ctx.due(Timer.POLL, now_ms):
            self._on_stalled(now_ms)
        elif not self._repeated.busy and self._ctx.due(Timer.HEARTBEAT, now_ms):
            self._send(now_ms)

    def repeat(self, now_ms: int) -> bool:
        """`handle_tick` where the next heartbeat is due, and nothing else; False if there is
        more to it.
        """
        if self._repeated.busy:
            return False
        self._send(now_ms)
        return True

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if not self.active:
            return 0 if self._enabled else NEVER
        if self._coordinator.key is None:
            return NEVER
        timers = self._ctx.timers
        first = min(timers.at(Timer.SESSION), timers.at(Timer.POLL))
        beat = timers.at(Timer.HEARTBEAT)
        if self._repeated.busy and beat <= self._ticked_at:
            return first  # the answer comes before it, and has everybody asked again
        # While one is under way, too: nobody is asked again when its answer is taken unread.
        return min(first, beat)

    # -- one heartbeat -------------------------------------------------------------------------

    def _send(self, now_ms: int) -> None:
        config, generation = self._ctx.config, self._membership.generation
        # B3: the period is counted from the sending.
        self._ctx.timers.set(Timer.HEARTBEAT, now_ms + config.heartbeat_interval_ms)

        def build(version: int) -> Message:
            return HeartbeatRequest(
                group_id=config.group_id,
                generation_id=generation.id,
                member_id=generation.member_id,
                group_instance_id=(
                    config.group_instance_id if version >= _INSTANCE_ID_VERSION else None
                ),
            )

        def taken(at_ms: int) -> bool:
            if self._ctx.timers.at(Timer.HEARTBEAT) <= at_ms:
                return False  # the next one has been waiting for this
            self._good(at_ms)
            self._ctx.emit(HeartbeatAnswered(generation.id, at_ms - now_ms, None))
            return True

        def done(answer: Answer, at_ms: int) -> None:
            self._answered(answer, generation, now_ms, at_ms)

        repeated = self._repeated
        asked = repeated.ask(generation, build, taken)
        self._coordinator.ask(ApiKey.HEARTBEAT, asked, done, now_ms, standing=repeated)

    def _answered(self, answer: Answer, sent: Generation, sent_ms: int, now_ms: int) -> None:
        error = answer.error
        if error is None and answer.body.error_code != ErrorCode.NONE:
            error = error_of(answer.body.error_code)
        self._repeated.read(good=error is None and not answer.body.throttle_time_ms)
        if error is None:
            self._good(now_ms)
        elif answer.error is not None:
            self._failed(now_ms)
        else:
            self._refused(answer.body.error_code, error, sent, now_ms)
        self._ctx.emit(HeartbeatAnswered(sent.id, now_ms - sent_ms, error))

    def _good(self, now_ms: int) -> None:
        """B4: only this, a discovery and enabling move the session on."""
        self._failures = 0
        self._coordinator.works()
        self._membership.last_heartbeat_ms = now_ms
        if self._enabled:
            self._ctx.timers.set(Timer.SESSION, now_ms + self._ctx.config.session_timeout_ms)

    def _failed(self, now_ms: int) -> None:
        if self._enabled:
            self._ctx.timers.set(Timer.HEARTBEAT, now_ms + self._ctx.backoff(self._failures))
        self._failures += 1

    def _refused(self, code: int, error: KafkaError, sent: Generation, now_ms: int) -> None:
        membership = self._membership
        effect = HEARTBEAT.of(code)
        if effect is Effect.REJOIN:
            if membership.state is MemberState.STABLE:
                membership.request_rejoin("the group rebalances")
            self._good(now_ms)
        elif effect is Effect.MOVED:
            self._coordinator.lost(str(error), now_ms)
            self._failed(now_ms)
        elif effect is Effect.FAILED:
            self._failed(now_ms)
        elif membership.generation != sent:
            self._good(now_ms)  # about an earlier generation: no news
        elif effect is Effect.FENCED:
            membership.fence(instance_fenced(self._ctx.config.group_instance_id), now_ms)
            self._on_fenced(now_ms)
        else:
            membership.reset(str(error), now_ms, keep_member_id=effect is Effect.OUTDATED)
