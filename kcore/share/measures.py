"""What a share consumer measures of itself, under the names of Java's metrics.

Records count when the last of what one answer brought of a partition is handed over or dropped, one
that comes again because its lock was renewed only once; acknowledgements are counted by records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kcore.connection.measures import LinkMeasures
from kcore.events import Event, HeartbeatAnswered, PartitionsAssigned
from kcore.meters import Group, Meter, Reading
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.cluster.client import ClientCore
    from kcore.share.config import ShareConsumerConfig

_HOUR: Final = 3600
_NEVER: Final = -1


class ShareMeasures:
    """See the module's text. member_id: who this is in its group."""

    def __init__(self, core: ClientCore, config: ShareConsumerConfig, now_ms: int) -> None:
        self.links = LinkMeasures(now_ms, (ApiKey.SHARE_FETCH,))
        self.member_id = ""
        self._core = core
        self._config = config
        self._now_ms = now_ms
        self._idle = Meter(now_ms)  # ms
        self._idle_ms = 0
        self._between = Meter(now_ms)  # ms from one poll to the next
        self._polled_at = self._heard_at = _NEVER
        self._heartbeats = Meter(now_ms)  # ms
        self._rebalances = Meter(now_ms)
        self._bytes = Meter(now_ms)
        self._records = Meter(now_ms)
        self._sent = Meter(now_ms)
        self._failed = Meter(now_ms)

    # -- what happens ------------------------------------------------------------------------------

    def turn(self, now_ms: int) -> None:
        """It is now; calls have waited for records, perhaps."""
        self._now_ms, idle_ms = now_ms, self._core.idle_ms
        if idle_ms != self._idle_ms:
            self._idle.record(idle_ms - self._idle_ms, now_ms)
            self._idle_ms = idle_ms

    def polled(self, now_ms: int) -> None:
        """A poll begins."""
        if self._polled_at != _NEVER:
            self._between.record(now_ms - self._polled_at, now_ms)
        self._polled_at = now_ms

    def consumed(self, records: int, size_bytes: int) -> None:
        """What an answer brought of a partition is handed over, as far as it will be."""
        self._records.record(records, self._now_ms)
        self._bytes.record(size_bytes, self._now_ms)

    def sent(self, records: int) -> None:
        """So many are acknowledged in a request that goes out."""
        self._sent.record(records, self._now_ms)

    def failed(self, records: int) -> None:
        """The acknowledgements of so many were not taken in."""
        self._failed.record(records, self._now_ms)

    def noting(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """`emit`, of what is told of the group: it is noted."""

        def note(event: Event) -> None:
            if type(event) is HeartbeatAnswered:
                if event.error is None:
                    self._heartbeats.record(event.latency_ms, self._now_ms)
                    self._heard_at = self._now_ms
            elif type(event) is PartitionsAssigned:
                self._rebalances.record(1, self._now_ms)
            emit(event)

        return note

    # -- what is told ------------------------------------------------------------------------------

    def labels(self) -> dict[str, str]:
        """What is told beside it when it is pushed."""
        found = {
            "client_rack": self._config.client_rack,
            "group_id": self._config.group_id,
            "group_member_id": self.member_id,
        }
        return {name: value for name, value in found.items() if value}

    def tell(self, now_ms: int) -> list[Reading]:
        """Everything."""
        self.turn(now_ms)
        whole = {**self.links.tell(now_ms), **self.links.tell_requests(now_ms)}
        return [
            Reading("consumer-metrics", (), whole),
            Reading("consumer-share-metrics", (), self._tell_polls(now_ms)),
            Reading("consumer-share-coordinator-metrics", (), self._tell_group(now_ms)),
            Reading("consumer-share-fetch-manager-metrics", (), self._tell_fetching(now_ms)),
            *self.links.tell_nodes("consumer-node-metrics", now_ms),
        ]

    def _tell_polls(self, now_ms: int) -> Group:
        return {
            "last-poll-seconds-ago": _seconds(self._polled_at, now_ms),
            "poll-idle-ratio-avg": min(self._idle.rate(now_ms) / 1000, 1.0),
            "time-between-poll-avg": self._between.average(now_ms),
            "time-between-poll-max": self._between.largest(now_ms),
        }

    def _tell_group(self, now_ms: int) -> Group:
        heartbeats, rebalances = self._heartbeats, self._rebalances
        return {
            "heartbeat-rate": heartbeats.frequency(now_ms),
            "heartbeat-response-time-max": heartbeats.largest(now_ms),
            "heartbeat-total": float(heartbeats.times),
            "last-heartbeat-seconds-ago": _seconds(self._heard_at, now_ms),
            "rebalance-rate-per-hour": rebalances.frequency(now_ms) * _HOUR,
            "rebalance-total": float(rebalances.times),
        }

    def _tell_fetching(self, now_ms: int) -> Group:
        fetches, size, records = self.links.apis[ApiKey.SHARE_FETCH], self._bytes, self._records
        return {
            "acknowledgements-error-rate": self._failed.rate(now_ms),
            "acknowledgements-error-total": self._failed.total,
            "acknowledgements-send-rate": self._sent.rate(now_ms),
            "acknowledgements-send-total": self._sent.total,
            "bytes-consumed-rate": size.rate(now_ms),
            "bytes-consumed-total": size.total,
            "fetch-latency-avg": fetches.latency.average(now_ms),
            "fetch-latency-max": fetches.latency.largest(now_ms),
            "fetch-rate": fetches.latency.frequency(now_ms),
            "fetch-size-avg": size.average(now_ms),
            "fetch-size-max": size.largest(now_ms),
            "fetch-throttle-time-avg": fetches.throttle.average(now_ms),
            "fetch-throttle-time-max": fetches.throttle.largest(now_ms),
            "fetch-total": float(fetches.latency.times),
            "records-consumed-rate": records.rate(now_ms),
            "records-consumed-total": records.total,
            "records-per-request-avg": records.average(now_ms),
            "records-per-request-max": records.largest(now_ms),
        }


def _seconds(since_ms: int, now_ms: int) -> float:
    """How long ago that was, or -1."""
    return -1.0 if since_ms == _NEVER else float((now_ms - since_ms) // 1000)
