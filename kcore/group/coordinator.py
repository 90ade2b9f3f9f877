"""Finding the group's coordinator and losing it again (rules K1-K7).

Losing the coordinator changes nothing about the membership (K5): generation, member id and
assignment stay, and heartbeats go on as soon as it is found. Who needs it says so by `wanted`;
nobody does, nobody asks (K7).

    unknown --FindCoordinator answered--> known
    known --disconnect, NOT_COORDINATOR, session timer--> unknown
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.calls import Answer, Build, Done, Message, Reach, Standing, StruckError
from kcore.errors import (
    IllegalStateError,
    KafkaError,
    NodeNotReadyError,
    RequestTimedOutError,
    Unexpected,
    UnsupportedVersionError,
)
from kcore.events import CoordinatorFound, CoordinatorLost
from kcore.group.context import Surroundings, Timer
from kcore.group.effects import error_of, passing
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FindCoordinatorRequest

_GROUP = 0  # FindCoordinator's key type of a group
_BATCH_VERSION = 4  # keys are asked in a list from here on (KIP-699)
_MAX_PORT = 65_535


class _Found(NamedTuple):
    node_id: int
    host: str
    port: int


class Coordinator:
    """`key` is the node key to ask, None while unknown.

    on_found(now_ms) follows each discovery, on_failed(error, now_ms) each look-up that failed.
    """

    def __init__(
        self,
        ctx: Surroundings,
        on_found: Callable[[int], None],
        on_failed: Callable[[KafkaError, int], None],
    ) -> None:
        self._ctx = ctx
        self._on_found = on_found
        self._on_failed = on_failed
        self.key: int | None = None
        self.parked_until = 0  # until when a JoinGroup may hold up whatever is sent behind it
        self._looking = False
        self._worked = False  # the coordinator found last did what it was asked
        self._attempts = 0  # look-ups in a row that led to no coordinator that works
        self._finds = 0  # tells answers from the coordinator before this one apart
        self._left: int | None = None  # the key of one whose connection goes on
        self._seekers: list[Callable[[bool, int], None]] = []

    def handle_tick(self, now_ms: int, *, wanted: bool) -> None:
        """Notice a connection that is gone; look up if someone wants it and the backoff is over."""
        ctx = self._ctx
        wanted = wanted or bool(self._seekers)
        if self.key is not None:
            if wanted and not self.usable(now_ms):
                self.lost("its connection is gone", now_ms)
            else:
                return
        if not wanted or self._looking:
            return
        if ctx.timers.armed(Timer.LOOKUP) and not ctx.due(Timer.LOOKUP, now_ms):
            return
        self._look_up(now_ms)

    def deadline(self, *, wanted: bool) -> int:
        """When `handle_tick` has something to do."""
        if self.key is not None or self._looking or not (wanted or self._seekers):
            return NEVER
        timers = self._ctx.timers
        return timers.at(Timer.LOOKUP) if timers.armed(Timer.LOOKUP) else 0

    def usable(self, now_ms: int) -> bool:
        """Whether it is known, and there is a connection or may be one now."""
        return self.key is not None and (
            self._ctx.network.reach(self.key, now_ms) not in (Reach.BACKOFF, Reach.UNKNOWN)
        )

    def seek(self, then: Callable[[bool, int], None]) -> None:
        """Look for one that is usable; `then(found, now_ms)` follows: False if a look-up fails."""
        self._seekers.append(then)

    def _tell_seekers(self, now_ms: int, *, found: bool) -> None:
        seekers, self._seekers = self._seekers, []
        for then in seekers:
            then(found, now_ms)

    def works(self) -> None:
        """The coordinator did what it was asked: the next loss starts over without backoff."""
        self._worked = True
        self._attempts = 0

    def lost(self, reason: str, now_ms: int, *, asked: bool = True) -> None:
        """Forget the coordinator and its connection; what is in flight there fails (K4).

        asked: False if it was never asked what it has not answered: its connection is not ready,
        and goes on, for it may well be the coordinator that is found next.
        """
        if self.key is None:
            return
        key, self.key = self.key, None
        self._finds += 1
        self.parked_until = 0
        if self._worked:
            self._worked = False
        else:
            self._wait(now_ms)
        self._ctx.emit(CoordinatorLost(reason))
        if asked:
            self._ctx.network.drop(key, now_ms)
        else:
            self._left = key

    def reconnect(self, now_ms: int) -> None:
        """Get a fresh connection: what is sent next must not wait behind a parked JoinGroup."""
        if self.key is not None:
            self._finds += (
                1  # what fails with the old connection is no sign against the coordinator
            )
            self.parked_until = 0
            self._ctx.network.drop(self.key, now_ms)

    def ask(
        self,
        api: ApiKey,
        build: Build,
        done: Done,
        now_ms: int,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        standing: Standing | None = None,
    ) -> None:
        """Ask the coordinator, which must be known. A disconnect, a timeout or an unreadable answer
        loses it.
        """
        if self.key is None:
            raise IllegalStateError("the coordinator is not known")
        find = self._finds
        if timeout_ms is None:
            # The broker answers a connection's requests in order. One behind a parked JoinGroup
            # must not time out before it and take the connection, and so the join, with it.
            timeout_ms = max(self._ctx.config.request_timeout_ms, self.parked_until - now_ms)

        def answered(answer: Answer, at_ms: int) -> None:
            error = answer.error
            if (
                error is not None
                and find == self._finds
                and not isinstance(error, UnsupportedVersionError)
            ):
                late = isinstance(error, RequestTimedOutError)
                self.lost(str(error), at_ms, asked=answer.version >= 0 or not late)
            done(answer, at_ms)

        self._ctx.network.send(
            self.key,
            api,
            build,
            answered,
            now_ms,
            timeout_ms=timeout_ms,
            max_version=max_version,
            standing=standing,
        )

    # -- looking up ----------------------------------------------------------------------------

    def recover(self) -> None:
        """Nobody is being asked (see ClientCore.handle_interrupted)."""
        self._looking = False

    def _look_up(self, now_ms: int) -> None:
        node = self._ctx.network.least_loaded(now_ms)
        if node is None:
            self._failed(NodeNotReadyError("no broker can be asked for the coordinator"), now_ms)
            return
        self._ctx.network.send(node, ApiKey.FIND_COORDINATOR, self._build, self._answered, now_ms)
        self._looking = True  # behind it: see ClientCore.handle_interrupted

    def _build(self, version: int) -> Message:
        group_id = self._ctx.config.group_id
        if version >= _BATCH_VERSION:
            return FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=[group_id])
        return FindCoordinatorRequest(key=group_id, key_type=_GROUP)

    def _answered(self, answer: Answer, now_ms: int) -> None:
        self._looking = False
        if isinstance(answer.error, StruckError):
            return  # whoever wants it has it looked up again
        if answer.error is not None:
            self._failed(answer.error, now_ms)
            return
        try:
            found = self._read(answer)
        except KafkaError as error:
            self._failed(error, now_ms)
            return
        self.key = self._ctx.network.add_coordinator(*found)
        left, self._left = self._left, None
        if left is not None and left != self.key:
            self._ctx.network.drop(left, now_ms)
        self._finds += 1
        self._ctx.emit(CoordinatorFound(*found))
        self._on_found(now_ms)
        if self.usable(now_ms):  # else it is lost in the next tick, and looked for again
            self._tell_seekers(now_ms, found=True)

    def _read(self, answer: Answer) -> _Found:
        """The coordinator in an answer; raises the error in it, or Unexpected if it cannot be
        meant.
        """
        entry = answer.body
        group_id = self._ctx.config.group_id
        if answer.version >= _BATCH_VERSION:
            entry = next((it for it in answer.body.coordinators if it.key == group_id), None)
            if entry is None:
                raise Unexpected("FindCoordinator answered without our group", node=answer.node)
        if entry.error_code != ErrorCode.NONE:
            words = entry.error_message or f"looking up the coordinator of group {group_id!r}"
            raise error_of(entry.error_code, words)
        if entry.node_id < 0 or not entry.host or not 0 < entry.port <= _MAX_PORT:
            raise Unexpected(
                f"FindCoordinator answered node {entry.node_id} at {entry.host!r}:{entry.port}",
                node=answer.node,
            )
        return _Found(entry.node_id, entry.host, entry.port)

    def _failed(self, error: KafkaError, now_ms: int) -> None:
        self._wait(now_ms)
        if passing(error):
            self._ctx.cluster.request_update()  # K3: another broker may be the one to ask
        self._on_failed(error, now_ms)
        self._tell_seekers(now_ms, found=False)

    def _wait(self, now_ms: int) -> None:
        self._ctx.timers.set(Timer.LOOKUP, now_ms + self._ctx.backoff(self._attempts))
        self._attempts += 1
