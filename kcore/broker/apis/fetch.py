"""Fetch v4-18: sessions (KIP-227), long poll by min_bytes and max_wait_ms, topic ids, truncation
found (KIP-595), hints about new leaders (KIP-951), replicas near the consumer (KIP-392).

Left out: fetching as a follower does.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final, cast

from kcore.broker.authorization.acls import Operation, Resource
from kcore.broker.batches import RefusedError, read_header
from kcore.broker.calls import PARKED, Call
from kcore.broker.config import FETCH_WAIT_MAX_MS
from kcore.broker.epochs import EpochEnd
from kcore.broker.fetches import Place, Waiting
from kcore.broker.hints import HINTED, Hints
from kcore.broker.log import PartitionLog, Read
from kcore.broker.selectors import NO_REPLICA
from kcore.broker.sessions import TOPIC_IDS_VERSION, Key, Opened, Wanted
from kcore.broker.topics import Topic
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Pieces
from kcore.wire.messages import FetchRequest, FetchResponse

_READ_COMMITTED: Final = 1
_HINTS_VERSION: Final = 16
_RACKS_VERSION: Final = 11  # from which followers serve consumers
_UNKNOWN: Final = -1

Result = FetchResponse.PartitionData


def handle(call: Call, request: FetchRequest) -> FetchResponse | str:
    """What there is, at once if it is enough, else when it is or the time is over."""
    node = call.node
    try:
        opened = node.sessions.open(request, call.version, call.now_ms, node.cluster.topics.name_of)
    except RefusedError as refused:
        return FetchResponse(error_code=refused.code)
    fetch = _Fetch(call, request, opened)
    if request.max_wait_ms <= 0 or fetch.ready(first=True):
        return fetch.response()
    waiting = Waiting(call.link, fetch.places, fetch.ready, lambda: call.answer(fetch.response()))
    until_ms = call.now_ms + min(request.max_wait_ms, FETCH_WAIT_MAX_MS)
    node.fetches.park(waiting, until_ms)
    return PARKED


class _Fetch:
    """One request; looked at again whenever something happens to its partitions."""

    def __init__(self, call: Call, request: FetchRequest, opened: Opened) -> None:
        self._call = call
        self._opened = opened
        self._by_id = call.version >= TOPIC_IDS_VERSION
        self._followers = call.version >= _RACKS_VERSION
        self._rack = request.rack_id
        self._committed = request.isolation_level == _READ_COMMITTED
        self._max_bytes = min(request.max_bytes, call.node.cluster.config.fetch_max_bytes)
        if call.node.throttle is not None:
            self._max_bytes = call.node.throttle.fetch_bytes_max(call, self._max_bytes)
        self._enough = min(request.min_bytes, self._max_bytes)
        self._hints = Hints(call.node.cluster)
        self._refused = _refused_topics(call, opened) if call.guarded else frozenset[str]()
        # Partitions that do not exist are answered with the rest and hurry nobody (Java:
        # KafkaApis.handleFetchRequest keeps them apart); if they go while we wait, that does.
        self._there = {key: one for key, one in opened.parts.items() if self._exists(one)}
        self.places: list[Place] = [(str(one.name), one.number) for one in self._there.values()]

    def ready(self, *, first: bool = False) -> bool:
        """Whether there is enough, or an error to tell. first: nobody waits yet, and a batch that
        is larger than what is asked of its partition counts as it would be given.
        """
        if self._call.parts is not None:
            return True
        size = 0
        for wanted in self._there.values():
            try:
                log, preferred = self._replica(wanted)
                if preferred != NO_REPLICA or _divergence(log, wanted) is not None:
                    return True
                if not log.start_offset <= wanted.fetch_offset <= log.end_offset:
                    return True
            except RefusedError:
                return True
            here = min(self._enough - size, wanted.max_bytes)
            up_to = self._up_to(log)
            readable = log.bytes_from(wanted.fetch_offset, here, up_to)
            if first and not size and readable > here:
                here = max(
                    here, log.read(wanted.fetch_offset, 0, at_least_one=True, up_to=up_to).size
                )
            size += min(here, readable)
            if size >= self._enough:
                return True
        return not self._there

    def response(self) -> FetchResponse:
        """What there is now."""
        opened, session = self._opened, self._opened.session
        response = FetchResponse()
        if session is not None:
            response.session_id = session.number
            if session.epoch != opened.epoch:  # somebody else used it while this request waited
                response.error_code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
                return response
        results = self._read_all()
        if session is not None:
            results = [one for one in results if _is_news(one[1], one[2])]
        response.responses = self._by_topic(results)
        throttle = self._call.node.throttle
        ms = 0 if throttle is None else throttle.fetched_ms(self._call, response)
        if ms and self._call.parts is None:
            return FetchResponse(session_id=response.session_id, throttle_time_ms=ms)
        if session is not None or opened.create:
            self._remember(results, response)
        for address in self._hints.endpoints():
            response.node_endpoints.append(
                FetchResponse.NodeEndpoint(
                    node_id=address.node_id,
                    host=address.host,
                    port=address.port,
                    rack=address.rack,
                )
            )
        return response

    def _remember(self, results: list[tuple[Key, Wanted, Result]], response: FetchResponse) -> None:
        """Note what a client of a session is told; who got records goes last from now on."""
        session = self._opened.session
        for key, wanted, result in results:
            wanted.high_watermark = result.high_watermark  # of an error -1: its end is said, too
            wanted.log_start_offset = result.log_start_offset
            if session is not None and result.records:
                session.take_turn(key)
        if session is None:
            parts = {key: wanted for key, wanted, _ in results}
            response.session_id = self._call.node.sessions.create(
                parts, self._call.now_ms, by_id=self._by_id
            )

    def _read_all(self) -> list[tuple[Key, Wanted, Result]]:
        """Every partition, those last that were not there when they were asked for. The first batch
        of all is given whatever its size, so that every client gets on (KIP-74).
        """
        results = []
        left = self._max_bytes
        empty = True
        for key, wanted in (self._there | self._opened.parts).items():
            limit = min(left, wanted.max_bytes)
            result, size = self._read(key, wanted, limit, at_least_one=empty)
            left -= size
            empty = empty and not size
            results.append((key, wanted, result))
        return results

    def _by_topic(
        self, results: list[tuple[Key, Wanted, Result]]
    ) -> list[FetchResponse.FetchableTopicResponse]:
        """In this order: a topic has as many entries as others come between its partitions."""
        return [
            FetchResponse.FetchableTopicResponse(
                topic=wanted.name or "",
                topic_id=wanted.topic_id,
                partitions=[result, *(result for _, _, result in others)],
            )
            for _, ((_, wanted, result), *others) in groupby(results, key=lambda one: one[0][0])
        ]

    def _read(
        self, key: Key, wanted: Wanted, limit: int, *, at_least_one: bool
    ) -> tuple[Result, int]:
        result = Result(
            partition_index=wanted.number,
            aborted_transactions=[] if self._committed else None,
        )
        read = Read([], 0)
        try:
            self._check_mishap(wanted)
            log, result.preferred_read_replica = self._replica(wanted)
            here = result.preferred_read_replica == NO_REPLICA
            end = _divergence(log, wanted) if here else None
            if end is not None:
                result.diverging_epoch = FetchResponse.EpochEndOffset(
                    epoch=end.epoch, end_offset=end.end_offset
                )
                result.aborted_transactions = None
            elif here:
                up_to = self._up_to(log)
                read = log.read(wanted.fetch_offset, limit, at_least_one=at_least_one, up_to=up_to)
                if self._committed and read.batches:
                    result.aborted_transactions = _aborted(log, wanted.fetch_offset, read)
            else:
                result.aborted_transactions = None
            result.high_watermark = log.high_watermark
            result.last_stable_offset = log.last_stable_offset
            result.log_start_offset = log.start_offset
        except RefusedError as refused:
            self._refuse(result, wanted, refused.code)
            result.aborted_transactions = None if key in self._there else []
        result.records = cast("bytes", Pieces(read.batches))  # which the encoder takes in its place
        return result, read.size

    def _refuse(self, result: Result, wanted: Wanted, code: ErrorCode) -> None:
        result.error_code = code
        result.high_watermark = _UNKNOWN
        hinted = code in HINTED and self._call.parts is None
        if hinted and self._call.version >= _HINTS_VERSION:
            leader, epoch = self._hints.leader(self._topic(wanted), wanted.number)
            result.current_leader = FetchResponse.LeaderIdAndEpoch(
                leader_id=leader, leader_epoch=epoch
            )

    def _check_mishap(self, wanted: Wanted) -> None:
        """RefusedError with the code that a test asked for."""
        if self._call.parts is not None:
            code = self._call.parts.error_of(None, wanted.name, wanted.number)
            if code:
                raise RefusedError(code, "as was asked for")

    def _up_to(self, log: PartitionLog) -> int:
        """Where what this client may read ends."""
        return log.last_stable_offset if self._committed else log.high_watermark

    # Finding -------------------------------------------------------------------------------------

    def _topic(self, wanted: Wanted) -> Topic | None:
        topics = self._call.node.cluster.topics
        return topics.get(None, wanted.topic_id) if self._by_id else topics.get(wanted.name)

    def _exists(self, wanted: Wanted) -> bool:
        """Whether who asks may know of such a partition; its topic may have been made anew since it
        was asked for by id.
        """
        if wanted.name is None or wanted.name in self._refused:
            return False
        topic = self._call.node.cluster.topics.get(wanted.name)
        return topic is not None and 0 <= wanted.number < len(topic.partitions)

    def _replica(self, wanted: Wanted) -> tuple[PartitionLog, int]:
        """What this node has of a partition, and who is to be asked instead; NO_REPLICA: nobody.

        RefusedError with the code to answer.
        """
        node = self._call.node
        topic = self._topic(wanted)
        if wanted.name in self._refused:
            raise RefusedError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not for who asks")
        if topic is None:
            raise RefusedError(self._missing(wanted), "no topic of this id or name")
        cluster, here = node.cluster, node.node_id
        if not self._followers:
            return cluster.lead(here, topic, wanted.number, wanted.leader_epoch).log, NO_REPLICA
        partition = cluster.host(here, topic, wanted.number, wanted.leader_epoch)
        if partition.leader != here:
            return partition.logs[here], NO_REPLICA
        return partition.log, cluster.preferred_replica(partition, self._rack, wanted.fetch_offset)

    def _missing(self, wanted: Wanted) -> ErrorCode:
        """Why there is no topic of this id: never was, is made anew under its name, or is gone."""
        if wanted.name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if self._exists(wanted):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused_topics(call: Call, opened: Opened) -> frozenset[str]:
    """Topics that who asks may not read; it is asked once, also if the answer comes later."""
    names = {wanted.name for wanted in opened.parts.values() if wanted.name is not None}
    return frozenset(
        name for name in names if not call.allows(Operation.READ, Resource.TOPIC, name)
    )


def _aborted(log: PartitionLog, offset: int, read: Read) -> list[FetchResponse.AbortedTransaction]:
    """The aborted transactions that have records in what was read."""
    last = read_header(read.batches[-1])
    end_offset = last.last_offset + 1
    return [
        FetchResponse.AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
        for one in log.transactions.aborted(offset, end_offset)
    ]


def _is_news(wanted: Wanted, result: Result) -> bool:
    """Whether the client of a session is told of it (Java: CachedPartition)."""
    return bool(
        result.records
        or result.high_watermark != wanted.high_watermark
        or result.log_start_offset != wanted.log_start_offset
        or result.error_code
        or result.diverging_epoch.epoch >= 0
        or result.preferred_read_replica != NO_REPLICA
    )


def _divergence(log: PartitionLog, wanted: Wanted) -> EpochEnd | None:
    """Where the client's log and this one part; None if they do not, or it does not ask."""
    if wanted.last_fetched_epoch < 0:
        return None
    end = log.end_of_epoch(wanted.last_fetched_epoch)
    if end.epoch < 0 or wanted.fetch_offset < log.start_offset:
        raise RefusedError(ErrorCode.OFFSET_OUT_OF_RANGE, "an epoch, or an offset, that is gone")
    if end.epoch < wanted.last_fetched_epoch or end.end_offset < wanted.fetch_offset:
        return end
    return None
