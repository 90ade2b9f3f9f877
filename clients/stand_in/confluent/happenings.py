"""What happens beside records, told as confluent-kafka tells it: error_cb, stats_cb, throttle_cb
and the logger are called in the program's own calls (poll, consume, flush), never in between.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ref

from kcore import errors
from kcore.clients.log import Log
from kcore.clients.reporting import Reporter
from kcore.clients.stand_in.confluent.errors import KafkaError, code_of, named, told, words
from kcore.clients.stand_in.confluent.options import Configuration
from kcore.clients.stand_in.confluent.structures import ThrottleEvent
from kcore.connection.calls import node_id_of
from kcore.events import (
    ClusterReachable,
    ClusterUnreachable,
    ErrorRaised,
    Event,
    LinkClosed,
    LinkOpened,
)

if TYPE_CHECKING:
    from kcore.connection.measures import LinkMeasures

log = Log("kcore.clients")

_AGAIN_MS: Final = 10_000  # until the same is said once more
_KINDS_MAX: Final = 100
_CALLS_MAX: Final = 10_000  # that wait for a program which does not come back
# What error_cb is told of, and no call of a consumer raises: it is tried again.
BACKGROUND: Final = (errors.AuthenticationFailedError, errors.KafkaConnectionError)
_AUTHENTICATION: Final = (errors.AuthenticationFailedError, errors.IllegalSaslStateError)


class Client(Protocol):
    """Whose happenings they are."""

    def see(self, event: Event) -> None:
        """Something has happened."""

    def statistics(self) -> str:
        """What is measured, as JSON."""


class Happenings(Reporter):
    """Who is told what the core says, in the place of the log's own reporter, which it is, too.

    calls: to be made in the program's next call.
    """

    def __init__(self, name: str, conf: Configuration) -> None:
        super().__init__(name)
        self.calls: deque[Callable[[], object]] = deque()
        self._name_of_client = str(conf.get("client.id", "rdkafka"))
        self._error_cb = conf.calls.get("error_cb")
        self._stats_cb = conf.calls.get("stats_cb")
        self._logger: Any = conf.calls.get("logger")
        self._throttle_cb: Any = conf.calls.get("throttle_cb")
        self._throttled_ms = 0  # as last said
        self._places: dict[int, str] = {}  # of brokers
        self._interval_ms = int(conf.get("statistics.interval.ms", 0)) if self._stats_cb else 0
        self._stats_at: int | None = None
        if self._logger is not None and conf.get("debug"):
            said = f"INIT [{self._name_of_client}] kcore stands in for librdkafka"
            self.calls.append(partial(self._logger.log, logging.DEBUG, said))
        self._said: dict[tuple[int, str], int] = {}
        conf.token_failed = partial(_token_failed, ref(self))
        self._client: Callable[[], Client | None] = lambda: None

    def serve_for(self, client: Client) -> None:
        """Have this client see events. Held weakly: whoever drives it holds what is in here."""
        self._client = ref(client)

    def watch(self, measures: LinkMeasures) -> None:
        """Hear of quotas by what is measured of a client's links."""
        if self._throttle_cb is not None:
            measures.throttled = self._throttled

    def _throttled(self, key: int, throttle_ms: int) -> None:
        """As librdkafka: that a broker had it wait, and once that this is over."""
        said, self._throttled_ms = self._throttled_ms, throttle_ms
        if (throttle_ms or said) and len(self.calls) < _CALLS_MAX:
            node_id = node_id_of(key)
            event = ThrottleEvent(self._places.get(node_id, ""), node_id, throttle_ms / 1000)
            self.calls.append(partial(self._throttle_cb, event))

    def report(self, event: Event, now_ms: int) -> None:
        """Take one event."""
        super().report(event, now_ms)
        match event:
            case LinkOpened():
                self._places[event.node_id] = f"{event.host}:{event.port}"
            case ClusterUnreachable():
                self._tell(named("_ALL_BROKERS_DOWN", "all brokers are down"), now_ms)
            case ClusterReachable():
                self._said.clear()
            case LinkClosed() if not event.opened or isinstance(event.error, _AUTHENTICATION):
                where = f"{event.host}:{event.port}/{_place(event.node_id)}"
                self._tell(_of_link(event.error, where), now_ms)
            case ErrorRaised() if isinstance(event.error, _AUTHENTICATION):
                self._tell(told(event.error), now_ms)
        client = self._client()
        if client is not None:
            client.see(event)

    def _tell(self, error: KafkaError, now_ms: int) -> None:
        key = error.code(), error.str()
        if now_ms < self._said.get(key, now_ms):
            return
        if len(self._said) >= _KINDS_MAX:
            self._said.clear()
        self._said[key] = now_ms + _AGAIN_MS
        self.tell(error)

    def tell(self, error: KafkaError) -> None:
        """Have error_cb and the logger hear of it."""
        if self._error_cb is not None:
            self.calls.append(partial(self._error_cb, error))
        if self._logger is not None:
            said = f"FAIL [{self._name_of_client}] {error.str()}"
            self.calls.append(partial(self._logger.log, logging.ERROR, said))

    @property
    def tells_errors(self) -> bool:
        """Whether somebody is to hear of errors, or of quotas, soon."""
        return any(one is not None for one in (self._error_cb, self._throttle_cb, self._logger))

    def due_in(self, now_ms: int) -> float:
        """How long nothing is to be called for by the clock, ms."""
        if not self._interval_ms:
            return float("inf")
        if self._stats_at is None:
            self._stats_at = now_ms + self._interval_ms
        return max(0, self._stats_at - now_ms)

    def serve(self, now_ms: int) -> int:
        """Call whoever is to be called: how many. Whatever they raise; others come next time."""
        served = 0
        if self._interval_ms and not self.due_in(now_ms):
            self._stats_at = now_ms + self._interval_ms
            client = self._client()
            if self._stats_cb is None:
                served = 1
            elif client is not None:
                self.calls.append(partial(self._stats_cb, client.statistics()))
        while self.calls:
            self.calls.popleft()()
            served += 1
        return served

    def serve_last(self) -> None:
        """The client is closed: whatever callbacks raise is for the log."""
        while self.calls:
            try:
                self.calls.popleft()()
            except Exception:
                log.exception("a callback failed while the client was closed")


def _token_failed(held: Callable[[], Happenings | None], why: str) -> None:
    happenings = held()
    if happenings is not None:
        happenings.tell(named("_AUTHENTICATION", f"{words('_AUTHENTICATION')}: {why}"))


def _place(node_id: int) -> str:
    return str(node_id) if node_id >= 0 else "bootstrap"


def _of_link(error: BaseException, where: str) -> KafkaError:
    code = code_of(error)
    if "resolve" in str(error).lower() or "name or service" in str(error).lower():
        return named("_RESOLVE", f"{where}: {error}")
    return KafkaError(code, f"{where}: {error}")
