"""What answers of ShareFetch and ShareAcknowledge do: to the session, the stock, the leaders, and
what was acknowledged.

An answer is judged as a whole first: one that does not fit what was asked is not used. Then
partition by partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kcore.errors import (
    AuthorizationError,
    KafkaError,
    TopicAuthorizationFailedError,
    Unexpected,
    for_code,
)
from kcore.events import RecordsFetched
from kcore.fetch.hints import learn_leader
from kcore.records.acquired import Range
from kcore.share.acknowledgements import Sheet
from kcore.share.context import ShareContext
from kcore.share.node import ShareNode
from kcore.share.parcel import Parcel, Place
from kcore.share.requests import TOO_OLD
from kcore.share.stock import Stock, checked
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode as Code

_SESSION_GONE: Final = frozenset({Code.SHARE_SESSION_NOT_FOUND, Code.INVALID_SHARE_SESSION_EPOCH})
# Somebody else leads: what was held there is released.
_MOVED: Final = frozenset({Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH})
# So says, of what was acquired from it, whom the topic is gone for: nothing is locked any more.
_GONE: Final = frozenset({Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID})
# The node cannot serve the partition now: look who does, then ask again.
_LOST: Final = _MOVED | _GONE
_ELSEWHERE: Final = _LOST | {
    Code.LEADER_NOT_AVAILABLE,
    Code.REPLICA_NOT_AVAILABLE,
    Code.KAFKA_STORAGE_ERROR,
    Code.OFFSET_NOT_AVAILABLE,
    Code.INCONSISTENT_TOPIC_ID,
}
# As locks are configured by default (group.share.record.lock.duration.ms), if no answer says it.
_LOCK_MS: Final = 30_000

Filled = tuple[Parcel, list[Range]]
Asked = tuple[bytes, int]  # topic id, partition


class Answers:
    """end_sheet(sheet, error): what it says is told, or cannot be. on_error(error): the application
    must know.
    """

    def __init__(
        self,
        ctx: ShareContext,
        stock: Stock,
        end_sheet: Callable[[Sheet, KafkaError | None], None],
        on_error: Callable[[KafkaError], None],
    ) -> None:
        self._ctx = ctx
        self._stock = stock
        self._end_sheet = end_sheet
        self._on_error = on_error
        self.lock_timeout_ms: int | None = None

    # ShareFetch ------------------------------------------------------------------------------

    def take_fetch(
        self,
        node: ShareNode,
        names: Mapping[Asked, TopicPartition],
        riding: list[Sheet],
        body: Any,
        now_ms: int,
    ) -> None:
        """names: the partitions that may be in it. riding: what the request acknowledged."""
        if body.error_code:
            self._refused(node, riding, body.error_code, body.error_message, now_ms)
            return
        sheets = {(one.place.topic_id, one.place.tp.partition): one for one in riding}
        try:
            found = _parts(body, names)
            parcels = self._parcels(node, found, names, body, now_ms)
        except Unexpected as error:
            node.session.reset()
            self._stock.lose(node.node_id)
            for sheet in riding:
                self._end_sheet(sheet, error)
            node.failed(now_ms + self._ctx.backoff(node.failures), error)
            return
        node.session.answered()
        self._note_lock(body)
        for key, data in found.items():
            if key in sheets:
                self._end_sheet(sheets.pop(key), _acknowledge_error(data))
        for sheet in sheets.values():  # the broker has nothing to say of them
            self._end_sheet(sheet, None)
        troubled = [(names[key], data) for key, data in found.items() if data.error_code]
        for tp, data in troubled:
            self._trouble(tp, data, body)
        self._add(node, parcels)
        early = now_ms - node.asked_at < self._ctx.config.fetch_max_wait_ms // 2
        if not parcels and (troubled or (early and not riding)):
            why = _error_of(troubled[0][1].error_code, None) if troubled else "an early answer"
            node.failed(now_ms + self._ctx.backoff(node.failures), why)  # must not make us spin
        else:
            node.works()

    def _add(self, node: ShareNode, parcels: list[Filled]) -> None:
        for parcel, ranges in parcels:
            leader = self._ctx.cluster.leader(parcel.place.tp)
            if leader is None or leader.node_id == node.node_id:
                self._stock.add(parcel, ranges)
            # Else it is late: what it gave out is another's to give out, and may have been since.
        if parcels:
            places = tuple(parcel.place.tp for parcel, _ in parcels)
            size = sum(parcel.size for parcel, _ in parcels)
            self._ctx.emit(RecordsFetched(node.node_id, places, size))

    def _parcels(
        self,
        node: ShareNode,
        found: Mapping[Asked, Any],
        names: Mapping[Asked, TopicPartition],
        body: Any,
        now_ms: int,
    ) -> list[Filled]:
        lock_ms = self._lock_ms(body)
        made: list[Filled] = []
        for (topic_id, number), data in found.items():
            if data.error_code or not data.acquired_records:
                continue
            ranges = checked(
                (one.first_offset, one.last_offset, one.delivery_count)
                for one in data.acquired_records
            )
            place = Place(names[topic_id, number], topic_id, node.node_id)
            records = data.records or b""
            made.append(
                (Parcel(place, ranges, records, now_ms + lock_ms, self._ctx.config.read), ranges)
            )
        return made

    def _trouble(self, tp: TopicPartition, data: Any, body: Any) -> None:
        """What is wrong with fetching a partition."""
        code = data.error_code
        where = f"{tp.topic}-{tp.partition}"
        if code in _ELSEWHERE:
            learn_leader(self._ctx.cluster, tp, data, body)
            self._ctx.cluster.request_update()
        elif code == Code.UNKNOWN_SERVER_ERROR:  # see `_refused`
            self._ctx.cluster.request_update()
        elif code == Code.TOPIC_AUTHORIZATION_FAILED:
            self._on_error(
                TopicAuthorizationFailedError(
                    f"not authorized to read topic {tp.topic}", topics=frozenset({tp.topic})
                )
            )
        elif not for_code(code).retriable:
            words = data.error_message or "the broker refuses"
            self._on_error(for_code(code)(f"fetching {where} failed: {words}"))

    # ShareAcknowledge ------------------------------------------------------------------------

    def take_acknowledge(
        self, node: ShareNode, told: list[Sheet], body: Any, now_ms: int, *, final: bool
    ) -> None:
        """told: what the request said. final: it was the session's last."""
        if body.error_code:
            self._refused(node, told, body.error_code, body.error_message, now_ms)
            return
        node.session.answered()
        lock_ms = self._note_lock(body)
        answers = {
            (topic.topic_id, data.partition_index): data
            for topic in body.responses
            for data in topic.partitions
        }
        again: list[Sheet] = []
        for sheet in told:
            tp = sheet.place.tp
            data = answers.get((sheet.place.topic_id, tp.partition))
            if data is None:
                why = f"ShareAcknowledge answered without {tp.topic}-{tp.partition}"
                self._end_sheet(sheet, Unexpected(why, node=node.node_id))
            elif not data.error_code:
                sheet.lock_until(now_ms + lock_ms)
                self._end_sheet(sheet, None)
            elif final or data.error_code in _LOST or not for_code(data.error_code).retriable:
                learn_leader(self._ctx.cluster, tp, data, body)
                if data.error_code in _ELSEWHERE:
                    self._ctx.cluster.request_update()
                self._end_sheet(sheet, _error_of(data.error_code, data.error_message))
            else:
                again.append(sheet)
        if again:
            node.pending[:0] = again
            node.failed(
                now_ms + self._ctx.backoff(node.failures), "acknowledgements are told again"
            )
        else:
            node.works()

    # Both ------------------------------------------------------------------------------------

    def _lock_ms(self, body: Any) -> int:
        told: int = body.acquisition_lock_timeout_ms
        return told if told > 0 else self.lock_timeout_ms or _LOCK_MS

    def _note_lock(self, body: Any) -> int:
        """How long locks last from here on."""
        if body.acquisition_lock_timeout_ms > 0:
            self.lock_timeout_ms = body.acquisition_lock_timeout_ms
        return self._lock_ms(body)

    def _refused(
        self, node: ShareNode, sheets: list[Sheet], code: int, message: str | None, now_ms: int
    ) -> None:
        """The whole request was."""
        error = _error_of(code, message)
        if code in _SESSION_GONE or not node.session.open:
            node.session.reset()
            self._stock.lose(node.node_id)
        else:
            node.session.answered()
        # What the broker cannot explain may pass. A Kafka 4.3 says it of all fetches in a session
        # with a topic that is deleted, until that is forgotten, a Kafka 4.4 of that topic alone,
        # once it is made anew: look whether there is another one.
        unexplained = code == Code.UNKNOWN_SERVER_ERROR
        if code in _ELSEWHERE or unexplained:
            self._ctx.cluster.request_update()
        for sheet in sheets:
            self._end_sheet(sheet, error)
        # A broker may lose a session; one that keeps losing them must not make us spin.
        once = code in _SESSION_GONE and not node.failures
        node.failed(now_ms if once else now_ms + self._ctx.backoff(node.failures), error)
        if isinstance(error, AuthorizationError) or not (error.retriable or unexplained):
            self._on_error(error)


def _parts(body: Any, names: Mapping[Asked, TopicPartition]) -> dict[Asked, Any]:
    """The partitions of an answer. Unexpected: one that was not asked for, or one comes twice."""
    found: dict[Asked, Any] = {}
    for topic in body.responses:
        for data in topic.partitions:
            key = (topic.topic_id, data.partition_index)
            if key not in names or key in found:
                raise Unexpected(f"ShareFetch answered with partition {key}, which was not asked")
            found[key] = data
    return found


def _acknowledge_error(data: Any) -> KafkaError | None:
    code = data.acknowledge_error_code
    return _error_of(code, data.acknowledge_error_message) if code else None


def _error_of(code: int, message: str | None) -> KafkaError:
    if code == Code.UNSUPPORTED_VERSION:  # the feature was taken back
        return for_code(code)(TOO_OLD)
    return for_code(code)(message or "the broker refuses")
