"""The books of the wire: every request and its answer, by correlation id, in their order.

It reads what peers send, not what they think: a second answer, one out of turn, one that never
comes. Requests and answers that other checkers judge are decoded here, once.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kcore.sim.plan import LATE_ANSWER_MAX_MS, Fault, Plan
from kcore.sim.violations import Rule, ViolationError
from kcore.wire import frames
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.message import Message

if TYPE_CHECKING:
    from kcore.sim.network import Wire
    from kcore.sim.trace import Trace

_REQUEST: Final = struct.Struct(">ihhi")  # length, API, version, correlation id
_ANSWER: Final = struct.Struct(">ii")  # length, correlation id

# What a node may take for an answer beyond what the request itself allows: its timers are as coarse
# as its clock. The network's time comes on top, and that of answers that are late on purpose.
_SLACK_MS: Final = 2_000

# Requests in flight on one connection; more means that a client does not wait for anything.
_IN_FLIGHT_MAX: Final = 200

# Read by other checkers.
_WATCHED: Final = {
    ApiKey.OFFSET_COMMIT,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.INIT_PRODUCER_ID,
}

# So are these of who operates the cluster.
_OPERATED: Final = {ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS}

_NAMES: Final = {int(key): key.name.lower() for key in ApiKey}


@dataclass(slots=True)
class Asked:
    """A request under way. `message` is there if a checker reads it. lives: of the topics that it
    commits in, as far as they were made anew (`logs.py`).
    """

    correlation_id: int
    api: ApiKey
    version: int
    at_ms: int
    message: Message | None
    lives: dict[str, int] = field(default_factory=dict)


AskedWatcher = Callable[["Wire", Asked], None]
AnsweredWatcher = Callable[["Wire", Asked, Message], None]
DroppedWatcher = Callable[["Wire"], None]


class Ledger:
    """What is asked and answered on all wires."""

    def __init__(self, plan: Plan, trace: Trace) -> None:
        self._trace = trace
        # Who operates the cluster, and is no member: only these hear of it.
        self.operators: dict[str, tuple[AskedWatcher, AnsweredWatcher]] = {}
        waits_ms = plan.max_poll_interval_ms + plan.session_timeout_ms + plan.rebalance_delay_ms
        self._bounds_ms = {
            ApiKey.JOIN_GROUP: 2 * waits_ms,
            ApiKey.SYNC_GROUP: 2 * waits_ms,
            ApiKey.FETCH: plan.fetch_max_wait_ms,
            ApiKey.SHARE_FETCH: plan.fetch_max_wait_ms,
            ApiKey.PRODUCE: plan.request_timeout_ms,
        }
        self._slack_ms = _SLACK_MS + LATE_ANSWER_MAX_MS + 12 * plan.latency_ms[1]
        self.asked_watchers: list[AskedWatcher] = []
        self.answered_watchers: list[AnsweredWatcher] = []
        self.dropped_watchers: list[DroppedWatcher] = []
        self.counted: Callable[[str], None] = _nobody
        self.requests = 0
        self.answers = 0
        self._throttles = Fault.THROTTLE in plan.faults
        self.open: Counter[ApiKey] = Counter()  # what others judge, and is not answered yet

    def asked(self, wire: Wire, data: bytes, now_ms: int) -> None:
        """A client sends this, one request."""
        length, key, version, correlation_id = _REQUEST.unpack_from(data)
        if length + 4 != len(data):
            raise ViolationError(Rule.NO_FAULT, f"{wire.client.name} sent no whole request")
        api = ApiKey(key)
        message = None
        operator = self.operators.get(wire.client.name)
        if api in (_WATCHED if operator is None else _OPERATED):
            message = frames.decode_request(memoryview(data)[4:]).message
        if wire.mute_ms < now_ms < wire.speaks_ms and not wire.client.deaf:
            raise ViolationError(
                Rule.THROTTLED,
                f"{wire.client.name} was told at {wire.mute_ms} to wait until {wire.speaks_ms}, and"
                f" sends {api.name} to {wire.node.name}",
            )
        asked = Asked(correlation_id, api, version, now_ms, message)
        wire.asked.append(asked)
        self.requests += 1
        self.counted(wire.client.name)
        self._trace.passed(wire.client.name, _NAMES[key], data)
        if len(wire.asked) > _IN_FLIGHT_MAX:
            raise ViolationError(
                Rule.BOUNDED, f"{wire.client.name} has {len(wire.asked)} requests in flight"
            )
        if message is not None:
            self.open[api] += 1
            for watcher in self.asked_watchers if operator is None else operator[:1]:
                watcher(wire, asked)

    def answered(self, wire: Wire, data: bytes, now_ms: int) -> ApiKey:
        """A node sends this, one answer; to what."""
        length, correlation_id = _ANSWER.unpack_from(data)
        if not wire.asked:
            raise ViolationError(
                Rule.ANSWERED_ONCE,
                f"{wire.node.name} answers {correlation_id} to {wire.client.name}, who asked"
                " nothing that is open",
            )
        asked = wire.asked.popleft()
        if asked.correlation_id != correlation_id or length + 4 != len(data):
            raise ViolationError(
                Rule.ANSWERED_ONCE,
                f"{wire.node.name} answers {correlation_id} to {wire.client.name}, whose"
                f" {asked.api.name} {asked.correlation_id} is next",
            )
        self.answers += 1
        self._trace.passed(wire.node.name, f"answers {asked.api.name.lower()}", data)
        self._judge_time(wire, asked, now_ms)
        wire.turn_ms = now_ms
        wire.throttle_ms = 0
        if asked.message is None and (not self._throttles or asked.api is ApiKey.API_VERSIONS):
            return asked.api  # to a version that a node does not know it answers in another one
        response = API_TABLE[asked.api].response
        answer = frames.decode_response(response, asked.version, memoryview(data)[4:])
        wire.throttle_ms = getattr(answer, "throttle_time_ms", 0)
        wire.excused = wire.excused or wire.throttle_ms > 0
        if asked.message is not None:
            self.open[asked.api] -= 1
            operator = self.operators.get(wire.client.name)
            for watcher in self.answered_watchers if operator is None else operator[1:]:
                watcher(wire, asked, answer)
        return asked.api

    def dropped(self, wire: Wire) -> None:
        """The node's side is gone: nothing is owed any more."""
        self.open.subtract(asked.api for asked in wire.asked if asked.message is not None)
        wire.asked.clear()
        for watcher in self.dropped_watchers:
            watcher(wire)

    def judge_open(self, wire: Wire, now_ms: int) -> None:
        """A wire that stands, or that its client gives up now: is an answer overdue?"""
        if wire.asked:
            self._judge_time(wire, wire.asked[0], now_ms)

    def _judge_time(self, wire: Wire, asked: Asked, now_ms: int) -> None:
        """The first request of a wire has had its time."""
        if wire.excused:
            return
        bound_ms = self._bounds_ms.get(asked.api, 0) + self._slack_ms
        if now_ms - max(asked.at_ms, wire.turn_ms) > bound_ms:
            raise ViolationError(
                Rule.ANSWERED_ONCE,
                f"{wire.node.name} has not answered {asked.api.name} {asked.correlation_id} of"
                f" {wire.client.name} for {now_ms - asked.at_ms} ms",
            )


def _nobody(_name: str) -> None:
    """Nobody counts."""
