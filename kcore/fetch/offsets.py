"""Looking offsets up with ListOffsets: resets of positions (P5-P7) and the application's (P8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer, ClusterView, Network, Reach, node_id_of
from kcore.errors import (
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
    for_code,
)
from kcore.events import Event, OffsetReset
from kcore.fetch.config import FetchConfig, ResetStrategy
from kcore.fetch.inquiry import Beside, Inquiry
from kcore.fetch.partition import Partition
from kcore.fetch.positions import Positions
from kcore.fetch.states import PartitionState
from kcore.hints import Final
from kcore.structs import OffsetAndTimestamp, Rng, TopicPartition
from kcore.timers import NEVER, Bounded
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ListOffsetsRequest, ListOffsetsResponse

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3

# KIP-734; an older broker would look for a time before 1970 instead.
_MAX_TIMESTAMP_SINCE: Final = 7

LookupDone = Callable[
    [dict[TopicPartition, OffsetAndTimestamp | None] | None, KafkaError | None], None
]

# Whose resets a request is for, and how each is to be.
_Asked = Mapping[TopicPartition, tuple[Partition, ResetStrategy]]


class Wanted(NamedTuple):
    """One partition's question: a time (ms) or one of the names above, and the leader's epoch."""

    timestamp: int
    leader_epoch: int


class Resets:
    """Positions in AWAIT_RESET get the offset their strategy names.

    One by duration takes two questions, first for the end, then for the time (KIP-1106): if no
    record is so young it is the end that was there before. Asked the other way round, what is
    written between the two answers would be passed over: the first records of a new partition.
    Java's consumer instead repeats the question for the time, after each request.timeout.ms, until
    such a record is there. Whatever fails begins anew, with the time it is then, as there.
    """

    def __init__(
        self,
        config: FetchConfig,
        network: Network,
        cluster: ClusterView,
        positions: Positions,
        rng: Rng,
        emit: Callable[[Event], None],
        raise_later: Callable[[KafkaError, Partition], None],
        beside: Beside,
    ) -> None:
        self.inquiry = Inquiry(
            config, network, cluster, positions, rng, PartitionState.AWAIT_RESET, self._ask, beside
        )
        self._config = config
        self._network = network
        self._cluster = cluster
        self._positions = positions
        self._emit = emit
        self._raise_later = raise_later

    def _ask(self, node_id: int, partitions: list[Partition], now_ms: int) -> None:
        asked = {partition.tp: (partition, partition.strategy) for partition in partitions}
        self._send(node_id, asked, {}, now_ms)

    def _send(
        self, node_id: int, asked: _Asked, ends: Mapping[TopicPartition, int], now_ms: int
    ) -> None:
        """ends: of those by duration, once they are known."""
        wanted = {}
        for tp, (_, strategy) in asked.items():
            by_end = strategy.duration_ms is not None and tp not in ends
            timestamp = LATEST if by_end else self._positions.reset_timestamp(strategy, now_ms)
            wanted[tp] = Wanted(timestamp, _epoch(self._cluster, tp))
        topic_ids = {tp.topic: self._cluster.topic_id(tp.topic) for tp in asked}
        self._network.send(
            node_id,
            ApiKey.LIST_OFFSETS,
            lambda _version: _build(self._config, wanted),
            lambda answer, at_ms: self._answered(asked, ends, topic_ids, answer, at_ms),
            now_ms,
            timeout_ms=self._config.request_timeout_ms,
        )

    def _answered(
        self,
        asked: _Asked,
        ends: Mapping[TopicPartition, int],
        topic_ids: Mapping[str, bytes | None],
        answer: Answer,
        now_ms: int,
    ) -> None:
        # Who sought, was reset elsewhere or given up meanwhile does not want it any more (P6).
        waiting = {
            tp: partition
            for tp, (partition, strategy) in asked.items()
            if partition.assigned
            and partition.state is PartitionState.AWAIT_RESET
            and partition.strategy is strategy
        }
        found_ends: dict[TopicPartition, int] = {}
        for tp, found in _read(answer):
            partition = waiting.pop(tp, None)
            if partition is None:
                continue
            if self._cluster.topic_id(tp.topic) != topic_ids[tp.topic]:
                self.inquiry.again(partition, now_ms, "its topic was made anew")
                continue
            known = found.error_code == ErrorCode.NONE and found.offset >= 0
            if known and partition.strategy.duration_ms is not None and tp not in ends:
                found_ends[tp] = found.offset
            else:
                self._take(partition, found, ends.get(tp, -1), now_ms)
        for partition in waiting.values():
            self.inquiry.again(partition, now_ms, str(answer.error or "left out of the answer"))
            if isinstance(answer.error, UnsupportedVersionError):
                self._raise_later(answer.error, partition)
        if found_ends:
            self._go_on({tp: asked[tp] for tp in found_ends}, found_ends, answer.node, now_ms)

    def _go_on(
        self, asked: _Asked, ends: Mapping[TopicPartition, int], node_id: int, now_ms: int
    ) -> None:
        """The ends are known: ask for the time."""
        self._send(node_id, asked, ends, now_ms)
        for partition, _ in asked.values():
            partition.retry_at = now_ms + self._config.request_timeout_ms

    def _take(
        self,
        partition: Partition,
        found: ListOffsetsResponse.ListOffsetsPartitionResponse,
        end: int,
        now_ms: int,
    ) -> None:
        """end: where to go if there is no such offset; -1: there always is one."""
        code = found.error_code
        offset = end if found.offset < 0 else found.offset
        if code == ErrorCode.NONE and offset >= 0:
            strategy, before = partition.strategy, partition.before
            self._positions.reset_answered(partition, offset)
            self._positions.found_in(partition.tp, self._cluster.topic_id(partition.tp.topic))
            self._cluster.see_epoch(partition.tp, found.leader_epoch)
            self._emit(OffsetReset(partition.tp, offset, strategy.value, before))
        elif code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
            partition.error = for_code(code).name  # asked again when the request would time out
        else:
            self.inquiry.again(partition, now_ms, for_code(code).name if code else "no offset")
            if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                self._raise_later(_denied({partition.tp.topic}), partition)


class _Lookup(Bounded):
    """One call of the application's: what is still open, what was found. why: what stood in the
    way of each last.
    """

    __slots__ = ("attempts", "done", "found", "open", "retry_at", "under_way", "why")

    def __init__(
        self, timestamps: Mapping[TopicPartition, int], deadline_ms: int, done: LookupDone
    ) -> None:
        super().__init__(deadline_ms)
        self.open = dict(timestamps)
        self.found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        self.under_way: set[TopicPartition] = set()
        self.done = done
        self.retry_at = 0
        self.attempts = 0
        self.why: dict[TopicPartition, str] = {}


class Lookups:
    """Offsets by time, for the application (P8); each ends in exactly one `done`."""

    def __init__(
        self,
        config: FetchConfig,
        network: Network,
        cluster: ClusterView,
        positions: Positions,
        rng: Rng,
        beside: Beside,
    ) -> None:
        self.due = NEVER
        self._config = config
        self._network = network
        self._cluster = cluster
        self._positions = positions
        self._rng = rng
        self._beside = beside
        self._all: dict[_Lookup, None] = {}

    def begin(
        self, timestamps: Mapping[TopicPartition, int], done: LookupDone, deadline_ms: int
    ) -> None:
        """Start one; it is sent, or ended if there is nothing to ask, at the next turn."""
        plain = {TopicPartition(*tp): timestamp for tp, timestamp in timestamps.items()}
        self._all[_Lookup(plain, deadline_ms, done)] = None
        self.due = 0

    def leaders_changed(self) -> None:
        """Metadata changed: what waited for it need wait no longer."""
        for lookup in self._all:
            lookup.retry_at = 0
            self.due = 0

    def recover(self) -> None:
        """Nobody is being asked: a turn was broken off in the middle."""
        for lookup in self._all:
            lookup.under_way.clear()
            lookup.retry_at = 0
        self.due = 0

    def handle_tick(self, now_ms: int) -> None:
        """Send what is due; end what is complete or out of time."""
        if now_ms < self.due:
            return
        for lookup in list(self._all):
            if not lookup.open:
                self._end(lookup, lookup.found, None)
            elif lookup.expired(now_ms, away=self._network.late):
                self._time_out(lookup)
            elif now_ms >= lookup.retry_at and len(lookup.under_way) < len(lookup.open):
                self._send(lookup, now_ms)
        self.due = min((_due(lookup) for lookup in self._all), default=NEVER)

    def _time_out(self, lookup: _Lookup) -> None:
        failed = {tp: self._late(lookup, tp, [tp]) for tp in sorted(lookup.open)}
        first = next(iter(sorted(lookup.under_way)), next(iter(failed)))
        error = self._late(lookup, first, failed)
        error.failed, error.done = failed, lookup.found
        self._end(lookup, None, error)

    def _late(
        self, lookup: _Lookup, tp: TopicPartition, of: Iterable[TopicPartition]
    ) -> KafkaTimeoutError:
        """What stood in the way of one, which is said of these."""
        names = ", ".join(f"{tp.topic}-{tp.partition}" for tp in of)
        why = lookup.why.get(tp, "no broker could be asked")
        leader = self._cluster.leader(tp) if tp in lookup.under_way else None
        if leader is not None:
            why = f"{_where(self._cluster, leader.node_id)} has not answered"
        return KafkaTimeoutError(f"no offset was found in time for {names}: {why}")

    def _end(
        self,
        lookup: _Lookup,
        found: dict[TopicPartition, OffsetAndTimestamp | None] | None,
        error: KafkaError | None,
    ) -> None:
        if self._all.pop(lookup, _GONE) is not _GONE:
            lookup.done(found, error)

    def refuse(self, topics: set[str], error: KafkaError) -> None:
        """End those that ask for one of these topics."""
        for lookup in list(self._all):
            if any(tp.topic in topics for tp in lookup.open):
                self._end(lookup, None, error)

    def refuse_partition(self, tp: TopicPartition, error: KafkaError) -> None:
        """End those that ask for this partition."""
        for lookup in list(self._all):
            if tp in lookup.open:
                self._end(lookup, None, error)

    def close(self, error: KafkaError) -> None:
        """End all of them."""
        for lookup in list(self._all):
            self._end(lookup, None, error)

    def _send(self, lookup: _Lookup, now_ms: int) -> None:
        by_node: dict[int, dict[TopicPartition, Wanted]] = {}
        missing = False
        for tp, timestamp in lookup.open.items():
            if tp in lookup.under_way:
                continue
            leader = self._cluster.leader(tp)
            if leader is None:
                missing = True
                lookup.why[tp] = self._why_no_leader(tp)
            elif self._network.reach(leader.node_id, now_ms) in _ASKABLE:
                asked = by_node.setdefault(leader.node_id, {})
                asked[tp] = Wanted(timestamp, leader.epoch)
            else:
                missing = True
                # What was said when its link failed says more.
                why = f"{_where(self._cluster, leader.node_id)} is not reached"
                lookup.why.setdefault(tp, why)
        timeout_ms = min(self._config.request_timeout_ms, lookup.deadline_ms - now_ms)
        for node_id, asked in by_node.items():
            self._ask(lookup, self._beside(node_id, now_ms), asked, timeout_ms, now_ms)
            lookup.under_way.update(asked)  # behind it: see ClientCore.handle_interrupted
        if missing:
            self._again(lookup, now_ms)

    def _why_no_leader(self, tp: TopicPartition) -> str:
        numbers = self._cluster.partitions(tp.topic)
        if numbers is None:
            return f"topic {tp.topic} is not known"
        if tp.partition not in numbers:
            return f"topic {tp.topic} has no partition {tp.partition}: it has {len(numbers)}"
        return f"no leader of {tp.topic}-{tp.partition} is known"

    def _ask(
        self,
        lookup: _Lookup,
        key: int,
        asked: dict[TopicPartition, Wanted],
        timeout_ms: int,
        now_ms: int,
    ) -> None:
        self._network.send(
            key,
            ApiKey.LIST_OFFSETS,
            lambda _version: _build(self._config, asked),
            lambda answer, at_ms: self._answered(lookup, asked, answer, at_ms),
            now_ms,
            timeout_ms=timeout_ms,
        )

    def _again(self, lookup: _Lookup, now_ms: int) -> None:
        config = self._config
        lookup.retry_at = now_ms + exponential(
            lookup.attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )
        lookup.attempts += 1
        self._cluster.request_update()

    def _answered(
        self,
        lookup: _Lookup,
        asked: Mapping[TopicPartition, Wanted],
        answer: Answer,
        now_ms: int,
    ) -> None:
        self.due = 0
        lookup.under_way.difference_update(asked)
        error = answer.error
        if isinstance(error, UnsupportedVersionError):
            self._end(lookup, None, error)
            return
        if error is not None:
            lookup.why.update(dict.fromkeys(asked, str(error)))
        node_id = node_id_of(answer.node)
        newest = any(one.timestamp == MAX_TIMESTAMP for one in asked.values())
        if newest and 0 <= answer.version < _MAX_TIMESTAMP_SINCE:
            why = f"node {node_id} is too old to look up the newest timestamp (KIP-734)"
            self._end(lookup, None, UnsupportedVersionError(why))
            return
        denied: set[str] = set()
        for tp, found in _read(answer):
            if tp in asked and tp in lookup.open:
                self._take(lookup, tp, found, denied, node_id)
        if denied:
            self._end(lookup, None, _denied(denied))
        elif any(tp in lookup.open for tp in asked):
            self._again(lookup, now_ms)

    def _take(
        self,
        lookup: _Lookup,
        tp: TopicPartition,
        found: ListOffsetsResponse.ListOffsetsPartitionResponse,
        denied: set[str],
        node_id: int,
    ) -> None:
        code = found.error_code
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            denied.add(tp.topic)
        elif code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
            lookup.found[tp] = None
            del lookup.open[tp]
        elif code != ErrorCode.NONE:
            where = _where(self._cluster, node_id)
            why = f"{where} answered {for_code(code).name} for {tp.topic}-{tp.partition}"
            lookup.why[tp] = why
        else:
            timestamp = lookup.open.pop(tp)
            self._cluster.see_epoch(tp, found.leader_epoch)
            if found.offset < 0:
                lookup.found[tp] = None
                return
            lookup.found[tp] = OffsetAndTimestamp(found.offset, found.timestamp, found.leader_epoch)
            self._note_end(tp, timestamp, found.offset)

    def _note_end(self, tp: TopicPartition, timestamp: int, offset: int) -> None:
        """What was found also says how far behind an assigned partition is (I5)."""
        partition = self._positions.find(tp)
        if partition is None:
            return
        if timestamp == EARLIEST:
            partition.log_start = offset
        elif timestamp == LATEST and self._config.committed_only:
            partition.last_stable_offset = offset
        elif timestamp == LATEST:
            partition.high_watermark = offset


_GONE: Final = object()
_ASKABLE: Final = (Reach.READY, Reach.CONNECTING, Reach.IDLE)


def _due(lookup: _Lookup) -> int:
    if not lookup.open:
        return 0
    if len(lookup.under_way) == len(lookup.open):
        return lookup.deadline_ms  # `retry_at` says nothing before an answer has come
    return min(lookup.deadline_ms, lookup.retry_at)


def _where(cluster: ClusterView, node_id: int) -> str:
    node = cluster.node(node_id)
    return f"node {node_id}" if node is None else f"node {node_id} at {node.host}:{node.port}"


def _epoch(cluster: ClusterView, tp: TopicPartition) -> int:
    leader = cluster.leader(tp)
    return -1 if leader is None else leader.epoch


def _denied(topics: Iterable[str]) -> KafkaError:
    names = ", ".join(sorted(topics))
    return TopicAuthorizationFailedError(
        f"not authorized to read topic {names}", topics=frozenset(topics)
    )


def _read(
    answer: Answer,
) -> Iterable[tuple[TopicPartition, ListOffsetsResponse.ListOffsetsPartitionResponse]]:
    body: ListOffsetsResponse | None = answer.body
    if body is not None:
        for topic in body.topics:
            for found in topic.partitions:
                yield TopicPartition(topic.name, found.partition_index), found


def _build(config: FetchConfig, wanted: Mapping[TopicPartition, Wanted]) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsRequest.ListOffsetsTopic] = {}
    for tp, one in wanted.items():
        topic = topics.get(tp.topic)
        if topic is None:
            topic = topics[tp.topic] = ListOffsetsRequest.ListOffsetsTopic(name=tp.topic)
        topic.partitions.append(
            ListOffsetsRequest.ListOffsetsPartition(
                partition_index=tp.partition,
                current_leader_epoch=one.leader_epoch,
                timestamp=one.timestamp,
            )
        )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=config.isolation_level.value,
        topics=list(topics.values()),
        timeout_ms=config.request_timeout_ms,
    )
