"""Fetch v4-18: long poll by min_bytes and max_wait_ms, topic ids, truncation found (KIP-595).

Left out: sessions (every answer has session id 0, so clients go on with full requests, KIP-227),
hints about new leaders (KIP-951), preferred replicas, followers.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import PARKED, Call
from kcore.broker.config import FETCH_WAIT_MAX_MS
from kcore.broker.fetches import Place, Waiting
from kcore.broker.log import EpochEnd, Read
from kcore.broker.topics import Partition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FetchRequest, FetchResponse

_TOPIC_IDS_VERSION = 13
_READ_COMMITTED = 1

Wanted = FetchRequest.FetchPartition


def handle(call: Call, request: FetchRequest) -> FetchResponse | str:
    """What there is, at once if it is enough, else when it is or the time is over."""
    if request.session_id:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    fetch = _Fetch(call, request)
    if request.max_wait_ms <= 0 or fetch.ready():
        return fetch.response()
    waiting = Waiting(call.link, fetch.places, fetch.ready, lambda: call.answer(fetch.response()))
    until_ms = call.now_ms + min(request.max_wait_ms, FETCH_WAIT_MAX_MS)
    call.node.fetches.park(waiting, until_ms)
    return PARKED


class _Fetch:
    """One request; looked at again whenever something happens to its partitions."""

    def __init__(self, call: Call, request: FetchRequest) -> None:
        self._call = call
        self._request = request
        self._by_id = call.version >= _TOPIC_IDS_VERSION
        self._max_bytes = min(request.max_bytes, call.node.cluster.config.fetch_max_bytes)
        self.places: list[Place] = []
        topics = call.node.cluster.topics
        for entry in request.topics:
            topic = topics.get(None if self._by_id else entry.topic, entry.topic_id)
            if topic is not None:
                self.places += [(topic.name, wanted.partition) for wanted in entry.partitions]

    def ready(self) -> bool:
        """Whether there is enough, or an error to tell."""
        enough = min(self._request.min_bytes, self._max_bytes)
        size = 0
        for entry in self._request.topics:
            for wanted in entry.partitions:
                try:
                    partition = self._partition(entry, wanted)
                    if _divergence(partition, wanted) is not None:
                        return True
                    log = partition.log
                    if not log.start_offset <= wanted.fetch_offset <= log.end_offset:
                        return True
                except RefusedError:
                    return True
                here = min(enough - size, wanted.partition_max_bytes)
                size += min(here, log.bytes_from(wanted.fetch_offset, here))
                if size >= enough:
                    return True
        return not self._request.topics

    def response(self) -> FetchResponse:
        """What there is now. The first batch of all is given whatever its size, so that every
        client gets on (KIP-74).
        """
        response = FetchResponse()
        left = self._max_bytes
        empty = True
        for entry in self._request.topics:
            results = []
            for wanted in entry.partitions:
                limit = min(left, wanted.partition_max_bytes)
                result, size = self._read(entry, wanted, limit, at_least_one=empty and left > 0)
                results.append(result)
                left -= size
                empty = empty and not size
            response.responses.append(
                FetchResponse.FetchableTopicResponse(
                    topic=entry.topic, topic_id=entry.topic_id, partitions=results
                )
            )
        return response

    def _read(
        self, entry: FetchRequest.FetchTopic, wanted: Wanted, limit: int, *, at_least_one: bool
    ) -> tuple[FetchResponse.PartitionData, int]:
        committed = self._request.isolation_level == _READ_COMMITTED
        result = FetchResponse.PartitionData(
            partition_index=wanted.partition,
            aborted_transactions=[] if committed else None,
        )
        read = Read([], 0)
        try:
            partition = self._partition(entry, wanted)
            log = partition.log
            end = _divergence(partition, wanted)
            if end is None:
                read = log.read(wanted.fetch_offset, limit, at_least_one=at_least_one)
            else:
                result.diverging_epoch = FetchResponse.EpochEndOffset(
                    epoch=end.epoch, end_offset=end.end_offset
                )
            result.high_watermark = result.last_stable_offset = log.high_watermark
            result.log_start_offset = log.start_offset
        except RefusedError as refused:
            result.error_code = refused.code
            result.high_watermark = -1
        result.records = read.batches[0] if len(read.batches) == 1 else b"".join(read.batches)
        return result, read.size

    def _partition(self, entry: FetchRequest.FetchTopic, wanted: Wanted) -> Partition:
        """RefusedError with the code to answer."""
        node = self._call.node
        topic, error = node.cluster.find(entry.topic, entry.topic_id, by_id=self._by_id)
        if error:
            raise RefusedError(error, "no such topic")
        return node.cluster.lead(node.node_id, topic, wanted.partition, wanted.current_leader_epoch)


def _divergence(partition: Partition, wanted: Wanted) -> EpochEnd | None:
    """Where the client's log and this one part; None if they do not, or it does not ask."""
    if wanted.last_fetched_epoch < 0:
        return None
    end = partition.log.end_of_epoch(wanted.last_fetched_epoch)
    if end.epoch < 0:
        raise RefusedError(ErrorCode.OFFSET_OUT_OF_RANGE, "an epoch that is not known here")
    if end.epoch < wanted.last_fetched_epoch or end.end_offset < wanted.fetch_offset:
        return end
    return None
