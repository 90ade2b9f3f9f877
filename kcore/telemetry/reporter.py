"""Telemetry as a client does it (KIP-714): a broker is asked what it wants, gets it again and
again, and a last time at the end.

Rules:
* Brokers without a plug-in for telemetry do not serve the APIs: then nothing is asked.
* The first push of a subscription comes after half to one and a half intervals, so that clients
  that were told together do not push together.
* A request that failed on its way is tried again with a backoff, one that was refused as the error
  says (`_NOW`, `_LATER`); so nothing spins. Of a push that was not taken, the sums are in the next.
* A payload is never larger than the broker takes: what comes last has no room (see `Ledger`).

Source: Java's ClientTelemetryReporter and ClientTelemetryUtils.maybeFetchErrorIntervalMs.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Final, Protocol

from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer, Build, Done, node_id_of
from kcore.errors import (
    ConsumerStoppedError,
    KafkaError,
    KafkaTimeoutError,
    UnsupportedVersionError,
    for_code,
)
from kcore.events import Event, MetricsPushed
from kcore.meters import Reading
from kcore.structs import Rng
from kcore.telemetry.payload import Ledger, Wanted, pack
from kcore.telemetry.states import TABLE, TelemetryInput, TelemetryState
from kcore.timers import NEVER
from kcore.values import Value
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID
from kcore.wire.messages import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from kcore.wire.otlp import Point, encode

DEFAULT_INTERVAL_MS: Final = 300_000
# What Kafka lets people ask for at least (ClientMetricsConfigs); whoever says less is none.
INTERVAL_MS_MIN: Final = 100
# Brokers take a MiB unless told otherwise; more is not made, whatever they say.
PAYLOAD_BYTES_MAX: Final = 1 << 20
_PAYLOAD_BYTES_MIN: Final = 512
# Of requests that failed on their way.
_BACKOFF_MS: Final = 1_000
# How long a client that closes waits for the answer to its last push, if it has that long.
LAST_PUSH_MS: Final = 2_000

# What a refusal leads to: ask for the subscription now, or after an interval. Others: never again.
_NOW: Final = frozenset({ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE})
_LATER: Final = frozenset({ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.THROTTLING_QUOTA_EXCEEDED})

_S, _I = TelemetryState, TelemetryInput
_ENDING: Final = (_S.TERMINATING_PUSH_NEEDED, _S.TERMINATING_PUSH_IN_PROGRESS)


class Brokers(Protocol):
    """What is used of `kcore.cluster.links.Links`."""

    @property
    def request_timeout_ms(self) -> int:
        """How long an answer may take."""

    @property
    def connected(self) -> bool:
        """Whether any link is greeted."""

    def range_of(self, api: int) -> tuple[int, int] | None:
        """What any connected broker says it serves of an API."""

    def node_serving(self, api: ApiKey) -> int | None:
        """A connected node that serves an API."""

    def least_loaded(self, now_ms: int) -> int | None:
        """A node to ask what any broker answers."""

    def next_retry_at(self) -> int:
        """When the first of the nodes can be tried; 0: now."""

    def send(
        self,
        node: int,
        api: ApiKey,
        build: Build,
        done: Done,
        now_ms: int,
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Ask `node`."""


class _Subscription(Value):
    """What a broker wants. codecs: that it takes, the best first. delta: of sums, what is new."""

    id: int
    interval_ms: int
    max_bytes: int
    codecs: tuple[int, ...]
    delta: bool
    wanted: Wanted


class Reporter:
    """See the module's text.

    measured: what there is to push now. labels: attributes of the client. wall_ms: Unix ms when the
    time is 0; None: unknown. client_instance_id: as a broker gave it, as Kafka writes it.
    """

    def __init__(
        self,
        brokers: Brokers,
        rng: Rng,
        emit: Callable[[Event], None],
        finish: Callable[[int, Any, KafkaError | None], None],
        measured: Callable[[int], list[Reading]],
        labels: Callable[[], dict[str, str]],
        now_ms: int,
        wall_ms: int | None,
    ) -> None:
        self.state = _S.SUBSCRIPTION_NEEDED
        self._brokers = brokers
        self._rng = rng
        self._emit = emit
        self._finish = finish
        self._measured = measured
        self._labels = labels
        self._ledger = Ledger(now_ms, wall_ms)
        self._id = ZERO_UUID
        self._subscription: _Subscription | None = None
        self._refused_codecs: set[int] = set()
        self._room = PAYLOAD_BYTES_MAX  # less, once a broker has found a payload too large
        self._at_ms = now_ms  # when the next request is due
        self._look_at_ms = 0  # not before; later than `_at_ms`, if nobody could be asked then
        self._failures = 0
        self._asked = 0  # numbers requests: the answer to an older one means nothing
        self._until_ms = NEVER  # of the last push
        self._noted: tuple[list[Reading], dict[str, str]] | None = None  # for that
        self._pushed: list[Point] = []  # with the last request
        self._waiting: dict[int, int] = {}  # operations that wait for the id, and until when

    # -- the id ------------------------------------------------------------------------------------

    @property
    def client_instance_id(self) -> str | None:
        """None: no broker has given one."""
        if self._id == ZERO_UUID:
            return None
        return urlsafe_b64encode(self._id).rstrip(b"=").decode()

    def tell_id(self, operation: int, until_ms: int) -> None:
        """End the operation with the id as soon as there is one; KafkaTimeoutError then."""
        self._waiting[operation] = until_ms
        self._look_at_ms = 0

    def _serve_waiting(self, now_ms: int) -> None:
        found, error = self.client_instance_id, None
        if found is None and self.state is _S.TERMINATED:
            error = KafkaError("telemetry has ended: brokers give no id")
        elif found is None and self._unsupported():
            error = UnsupportedVersionError(
                "the brokers have no plug-in for client telemetry (KIP-714), and give no ids"
            )
        for operation, until_ms in [*self._waiting.items()]:
            late = now_ms >= until_ms
            if found is None and error is None and not late:
                continue
            del self._waiting[operation]
            if late and found is None and error is None:
                timed_out = KafkaTimeoutError("no broker gave a client instance id in time")
                self._finish(operation, None, timed_out)
            else:
                self._finish(operation, found, error)

    def _unsupported(self) -> bool:
        api = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS
        return self._brokers.connected and self._brokers.range_of(api) is None

    # -- turns -------------------------------------------------------------------------------------

    def handle_tick(self, now_ms: int) -> None:
        """Ask or push what is due."""
        self._look_at_ms = 0
        if now_ms >= self._at_ms:
            if self.state is _S.SUBSCRIPTION_NEEDED:
                self._ask(now_ms)
            elif self.state is _S.PUSH_NEEDED:
                self._push(now_ms)
        if self._waiting:
            self._serve_waiting(now_ms)

    def deadline(self) -> int:
        """When `handle_tick` has something to do by itself."""
        first = min(self._waiting.values(), default=NEVER)
        if self.state in (_S.SUBSCRIPTION_NEEDED, _S.PUSH_NEEDED):
            return min(first, max(self._at_ms, self._look_at_ms))
        return min(first, self._until_ms) if self.state in _ENDING else first

    def recover(self, now_ms: int) -> None:
        """Whatever was asked is not answered any more (see ClientCore.handle_interrupted)."""
        self._asked += 1
        if self.state in (_S.SUBSCRIPTION_IN_PROGRESS, _S.PUSH_IN_PROGRESS):
            self._move(_I.FAILED)
            self._at_ms = now_ms
        elif self.state is _S.TERMINATING_PUSH_IN_PROGRESS:
            self._move(_I.OVER)

    def note(self, now_ms: int) -> None:
        """What there is now goes with the last push: it is about to mean nothing."""
        self._noted = self._measured(now_ms), self._labels()

    def ended(self, now_ms: int, until_ms: int) -> bool:
        """The client is at its end, and has until then: whether nothing is to be waited for. The
        last push is begun with the first call.
        """
        if self.state in (_S.PUSH_NEEDED, _S.PUSH_IN_PROGRESS):
            self._until_ms = min(until_ms, now_ms + LAST_PUSH_MS)
            self._asked += 1
            if self.state is _S.PUSH_IN_PROGRESS:
                # Nobody waits for that answer any more. The broker has had the push, as good as
                # always: its deltas would count twice.
                self._ledger.taken(self._pushed)
        self._move(_I.CLOSING)
        if self.state is _S.TERMINATING_PUSH_NEEDED:
            if now_ms < self._until_ms and self._serving(ApiKey.PUSH_TELEMETRY) is not None:
                self._push(now_ms, last=True)
            else:
                self._move(_I.OVER)
        if self.state is _S.TERMINATING_PUSH_IN_PROGRESS and now_ms >= self._until_ms:
            self._move(_I.OVER)
        if self.state is _S.TERMINATED:
            for operation in self._waiting:
                self._finish(operation, None, ConsumerStoppedError("the client was closed"))
            self._waiting.clear()
        return self.state is _S.TERMINATED

    def _move(self, what: TelemetryInput) -> None:
        self.state = TABLE[self.state].get(what, self.state)

    # -- asking ------------------------------------------------------------------------------------

    def _serving(self, api: ApiKey) -> int | None:
        return self._brokers.node_serving(api)

    def _node_for(self, api: ApiKey, now_ms: int) -> int | None:
        """Whom to ask now. None: nobody; a link that changes, or `_look_at_ms`, brings us back. A
        link is opened for it only if somebody waits for the id, or a client that pushes has none to
        a node: all are gone, or it lives on the one to the bootstrap, as admin clients may.
        """
        brokers, node = self._brokers, self._serving(api)
        self._look_at_ms = 0
        if node is None:
            self._look_at_ms = NEVER
            if self._waiting or self._subscription is not None:
                node = brokers.least_loaded(now_ms)
                self._look_at_ms = max(brokers.next_retry_at(), now_ms + _BACKOFF_MS)
        return node

    def _ask(self, now_ms: int) -> None:
        api = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS
        node = self._node_for(api, now_ms)
        if node is None:
            return
        self._asked += 1
        number = self._asked

        def build(_version: int) -> GetTelemetrySubscriptionsRequest:
            return GetTelemetrySubscriptionsRequest(client_instance_id=self._id)

        def done(answer: Answer, at_ms: int) -> None:
            if number == self._asked:
                self._take_subscription(answer, at_ms)

        self._brokers.send(node, api, build, done, now_ms)
        self._move(_I.ASKED)

    def _take_subscription(self, answer: Answer, now_ms: int) -> None:
        body = answer.body
        if body is None or body.error_code:
            self._failed(answer, now_ms)
            return
        self._failures = 0
        if body.client_instance_id != ZERO_UUID:
            self._id = body.client_instance_id
        interval_ms = DEFAULT_INTERVAL_MS
        if body.push_interval_ms > 0:
            interval_ms = max(body.push_interval_ms, INTERVAL_MS_MIN)
        before = self._subscription
        max_bytes = body.telemetry_max_bytes
        self._subscription = _Subscription(
            id=body.subscription_id,
            interval_ms=interval_ms,
            max_bytes=max_bytes if max_bytes > 0 else PAYLOAD_BYTES_MAX,
            codecs=tuple(body.accepted_compression_types or ()),
            delta=body.delta_temporality,
            wanted=Wanted(body.requested_metrics or ()),
        )
        if not self._subscription.wanted:
            self._move(_I.UNWANTED)
            self._at_ms = now_ms + interval_ms
            return
        self._move(_I.SUBSCRIBED)
        wait_ms = interval_ms
        if before is None or before.id != self._subscription.id:
            wait_ms = int(interval_ms * (0.5 + self._rng.random()))
        self._at_ms = now_ms + wait_ms

    # -- pushing -----------------------------------------------------------------------------------

    def _push(self, now_ms: int, *, last: bool = False) -> None:
        api, subscription = ApiKey.PUSH_TELEMETRY, self._subscription
        assert subscription is not None  # or there would be nothing to push
        node = self._node_for(api, now_ms)
        if node is None:
            return
        noted = self._noted or (self._measured(now_ms), self._labels())
        points = self._ledger.points(
            noted[0], subscription.wanted, now_ms, delta=subscription.delta
        )
        limit = min(self._room, subscription.max_bytes)
        data, count = encode(noted[1], points, limit)
        packed, codec = pack(data, subscription.codecs, self._refused_codecs)
        pushed = self._pushed = points[:count]
        told = MetricsPushed(node_id_of(node), count, len(points) - count, len(packed))
        self._asked += 1
        number = self._asked

        def build(_version: int) -> PushTelemetryRequest:
            return PushTelemetryRequest(
                client_instance_id=self._id,
                subscription_id=subscription.id,
                terminating=last,
                compression_type=codec,
                metrics=packed,
            )

        def done(answer: Answer, at_ms: int) -> None:
            if number == self._asked:
                self._take_verdict(answer, told, pushed, codec, at_ms)

        timeout_ms = self._brokers.request_timeout_ms
        if last:
            timeout_ms = min(timeout_ms, self._until_ms - now_ms)
        self._brokers.send(node, api, build, done, now_ms, timeout_ms=timeout_ms)
        self._move(_I.ASKED)

    def _take_verdict(
        self, answer: Answer, told: MetricsPushed, points: list[Point], codec: int, now_ms: int
    ) -> None:
        body = answer.body
        if body is not None and not body.error_code:
            self._failures = 0
            self._ledger.taken(points)
            self._move(_I.TAKEN)
            assert self._subscription is not None  # or nothing would have been pushed
            self._at_ms = now_ms + self._subscription.interval_ms
            self._emit(told)
            return
        if body is not None and body.error_code == ErrorCode.TELEMETRY_TOO_LARGE:
            self._room = max(min(self._room, told.size_bytes) // 2, _PAYLOAD_BYTES_MIN)
        if body is not None and body.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
            self._refused_codecs.add(codec)
        self._failed(answer, now_ms, told)

    def _failed(self, answer: Answer, now_ms: int, told: MetricsPushed | None = None) -> None:
        """A request has come to nothing: when to ask for the subscription again, if at all."""
        subscription = self._subscription
        interval_ms = DEFAULT_INTERVAL_MS if subscription is None else subscription.interval_ms
        body, error, way = answer.body, answer.error, _I.FAILED
        again_ms = exponential(self._failures, _BACKOFF_MS, DEFAULT_INTERVAL_MS, self._rng)
        if body is not None:
            error = for_code(body.error_code)("telemetry was refused")
            if body.error_code in _NOW:
                again_ms = again_ms if self._failures else 0
            elif body.error_code in _LATER:
                again_ms = interval_ms
            else:
                way = _I.OVER
        elif isinstance(error, UnsupportedVersionError):
            again_ms = interval_ms  # that broker has no telemetry; another may
        self._failures += 1
        self._move(way)
        self._at_ms = now_ms + again_ms
        failed = MetricsPushed(node_id_of(answer.node), 0, 0, 0) if told is None else told
        self._emit(
            MetricsPushed(failed.node_id, failed.points, failed.left_out, failed.size_bytes, error)
        )
