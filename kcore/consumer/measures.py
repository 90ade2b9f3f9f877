"""What a consumer measures of itself, under the names of Java's and kafka-python's metrics.

Requests, and what the group goes through, are recorded as they happen; records when the last of
what one answer brought of a partition is handed over or dropped, as in Java. How far behind the
partitions are is looked up when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.measures import ApiMeasures, LinkMeasures
from kcore.events import Event, HeartbeatAnswered, PartitionsAssigned, RebalanceStarted
from kcore.hints import TYPE_CHECKING, Final
from kcore.meters import Group, Meter, Reading
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.cluster.client import ClientCore
    from kcore.consumer.config import ConsumerConfig
    from kcore.fetch.partition import Partition
    from kcore.fetch.positions import Positions
    from kcore.fetch.shelf import Entry
    from kcore.group.member import GroupMember
    from kcore.structs import TopicPartition

_WATCHED: Final = (
    ApiKey.FETCH,
    ApiKey.OFFSET_COMMIT,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
)
_COORDINATOR: Final = "consumer-coordinator-metrics"
_FETCHING: Final = "consumer-fetch-manager-metrics"
_HOUR: Final = 3600


class _Consumed:
    """Of one topic, or of all: what each part of an answer held."""

    __slots__ = ("bytes", "records")

    def __init__(self, now_ms: int) -> None:
        self.bytes = Meter(now_ms)
        self.records = Meter(now_ms)

    def add(self, records: int, size_bytes: int, now_ms: int) -> None:
        self.records.record(records, now_ms)
        self.bytes.record(size_bytes, now_ms)

    def tell(self, now_ms: int) -> Group:
        return {
            "bytes-consumed-rate": self.bytes.rate(now_ms),
            "bytes-consumed-total": self.bytes.total,
            "records-consumed-rate": self.records.rate(now_ms),
            "records-consumed-total": self.records.total,
            "fetch-size-avg": self.bytes.average(now_ms),
            "fetch-size-max": self.bytes.largest(now_ms),
            "records-per-request-avg": self.records.average(now_ms),
        }


class ConsumerMeasures:
    """See the module's text. group: of which the consumer is a member; None: there is none."""

    def __init__(
        self, core: ClientCore, config: ConsumerConfig, positions: Positions, now_ms: int
    ) -> None:
        self.links = LinkMeasures(now_ms, _WATCHED)
        self.group: GroupMember | None = None
        self._core = core
        self._config = config
        self._positions = positions
        self._now_ms = now_ms
        self._consumed = _Consumed(now_ms)
        self._topics: dict[str, _Consumed] = {}
        self._idle = Meter(now_ms)  # ms
        self._idle_ms = 0
        self._heartbeats = Meter(now_ms)  # ms
        self._rebalances = Meter(now_ms)  # ms
        self._rebalancing_since = -1
        self._rebalanced_at = self._heard_at = -1

    # -- what happens ------------------------------------------------------------------------------

    def turn(self, now_ms: int) -> None:
        """It is now; calls have waited for records, perhaps."""
        self._now_ms, idle_ms = now_ms, self._core.idle_ms
        if idle_ms != self._idle_ms:
            self._idle.record(idle_ms - self._idle_ms, now_ms)
            self._idle_ms = idle_ms

    def consumed(self, entry: Entry) -> None:
        """What an answer brought of a partition is handed over, as far as it will be."""
        reader, found = entry.reader, entry.slice
        if reader is None or found is None or not reader.taken_records:
            return
        size_bytes = found.size - reader.size_bytes
        topic = self._topics.get(found.tp.topic)
        if topic is None:
            topic = self._topics[found.tp.topic] = _Consumed(self._now_ms)
        for one in (topic, self._consumed):
            one.add(reader.taken_records, size_bytes, self._now_ms)

    def noting(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """`emit`, for a group: what it tells is noted."""

        def note(event: Event) -> None:
            if type(event) is HeartbeatAnswered:
                if event.error is None:
                    self._heartbeats.record(event.latency_ms, self._now_ms)
                    self._heard_at = self._now_ms
            elif type(event) is RebalanceStarted:
                if self._rebalancing_since < 0:
                    self._rebalancing_since = self._now_ms
            elif type(event) is PartitionsAssigned:
                since, self._rebalancing_since = self._rebalancing_since, -1
                self._rebalanced_at = self._now_ms
                self._rebalances.record(0 if since < 0 else self._now_ms - since, self._now_ms)
            emit(event)

        return note

    # -- what is told ------------------------------------------------------------------------------

    def labels(self) -> dict[str, str]:
        """What is told beside it when it is pushed."""
        return self._config.labels("" if self.group is None else self.group.metadata().member_id)

    def tell(self, now_ms: int) -> list[Reading]:
        """Everything."""
        self.turn(now_ms)
        whole = {
            **self.links.tell(now_ms),
            **self.links.tell_requests(now_ms),
            "poll-idle-ratio-avg": min(self._idle.rate(now_ms) / 1000, 1.0),
        }
        readings = [Reading("consumer-metrics", (), whole)]
        if self.group is not None:
            readings.append(Reading(_COORDINATOR, (), self._tell_group(now_ms)))
        parts = self._tell_partitions()
        readings.append(Reading(_FETCHING, (), self._tell_fetching(parts, now_ms)))
        readings += self.links.tell_nodes("consumer-node-metrics", now_ms)
        for name, topic in sorted(self._topics.items()):
            readings.append(Reading(_FETCHING, (("topic", name),), topic.tell(now_ms)))
        return readings + parts

    def _tell_group(self, now_ms: int) -> Group:
        commits = self.links.apis[ApiKey.OFFSET_COMMIT].latency
        joins = self.links.apis[ApiKey.JOIN_GROUP].latency
        syncs = self.links.apis[ApiKey.SYNC_GROUP].latency
        heartbeats, rebalances = self._heartbeats, self._rebalances
        found = {
            "assigned-partitions": float(len(self._positions.assigned())),
            "commit-latency-avg": commits.average(now_ms),
            "commit-latency-max": commits.largest(now_ms),
            "commit-rate": commits.frequency(now_ms),
            "commit-total": float(commits.times),
            "heartbeat-rate": heartbeats.frequency(now_ms),
            "heartbeat-response-time-max": heartbeats.largest(now_ms),
            "heartbeat-total": float(heartbeats.times),
            "join-rate": joins.frequency(now_ms),
            "join-time-avg": joins.average(now_ms),
            "join-time-max": joins.largest(now_ms),
            "join-total": float(joins.times),
            "rebalance-latency-avg": rebalances.average(now_ms),
            "rebalance-latency-max": rebalances.largest(now_ms),
            "rebalance-latency-total": rebalances.total,
            "rebalance-rate-per-hour": rebalances.frequency(now_ms) * _HOUR,
            "rebalance-total": float(rebalances.times),
            "sync-rate": syncs.frequency(now_ms),
            "sync-time-avg": syncs.average(now_ms),
            "sync-time-max": syncs.largest(now_ms),
            "sync-total": float(syncs.times),
        }
        for name, at_ms in (
            ("last-heartbeat-seconds-ago", self._heard_at),
            ("last-rebalance-seconds-ago", self._rebalanced_at),
        ):
            found[name] = -1.0 if at_ms < 0 else float((now_ms - at_ms) // 1000)
        return found

    def _tell_fetching(self, parts: list[Reading], now_ms: int) -> Group:
        fetches: ApiMeasures = self.links.apis[ApiKey.FETCH]
        lags = [values["records-lag"] for _, _, values in parts if "records-lag" in values]
        leads = [values["records-lead"] for _, _, values in parts if "records-lead" in values]
        found = {
            **self._consumed.tell(now_ms),
            "fetch-latency-avg": fetches.latency.average(now_ms),
            "fetch-latency-max": fetches.latency.largest(now_ms),
            "fetch-rate": fetches.latency.frequency(now_ms),
            "fetch-total": float(fetches.latency.times),
            "fetch-throttle-time-avg": fetches.throttle.average(now_ms),
            "fetch-throttle-time-max": fetches.throttle.largest(now_ms),
        }
        if lags:
            found["records-lag-max"] = max(lags)
        if leads:
            found["records-lead-min"] = min(leads)
        return found

    def _tell_partitions(self) -> list[Reading]:
        """How far each partition is from the end and the beginning of its log, as last told."""
        found = []
        committed = self._config.isolation_level == "read_committed"
        for one in sorted(self._positions, key=_by_name):
            values: Group = {}
            end = one.last_stable_offset if committed else one.high_watermark
            if one.offset >= 0 and end >= 0:
                values["records-lag"] = float(max(end - one.offset, 0))
            if one.offset >= 0 and one.log_start >= 0:
                values["records-lead"] = float(max(one.offset - one.log_start, 0))
            if values:
                tags = (("topic", one.tp.topic), ("partition", str(one.tp.partition)))
                found.append(Reading(_FETCHING, tags, values))
        return found


def _by_name(partition: Partition) -> TopicPartition:
    return partition.tp
