"""ShareFetch v1-2 (KIP-932): share sessions, long poll, acknowledgements riding along, acquisition
by batches or by count (KIP-1206), renewal of locks (KIP-1222), hints about new leaders.
"""

from __future__ import annotations

from typing import Final, cast

from kcore.broker.apis.share_acknowledge import (
    acknowledge_all,
    by_topic,
    check_mishap,
    check_readable,
    renews,
    who_asks,
)
from kcore.broker.batches import RefusedError
from kcore.broker.calls import PARKED, Call
from kcore.broker.config import FETCH_WAIT_MAX_MS
from kcore.broker.features import SHARES
from kcore.broker.fetches import Place, Waiting
from kcore.broker.hints import HINTED, Hints
from kcore.broker.share.keeping import ShareKey
from kcore.broker.share.partition import Demand
from kcore.broker.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    Part,
    SessionKey,
    ShareSession,
)
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Pieces
from kcore.wire.messages import ShareFetchRequest, ShareFetchResponse

_EXACT: Final = 1  # ShareAcquireMode: record_limit
_EXACT_VERSION: Final = 2

Result = ShareFetchResponse.PartitionData


def handle(call: Call, request: ShareFetchRequest) -> ShareFetchResponse | str:
    """What can be acquired, at once if it is enough, else when it is or the time is over."""
    key, renewing = who_asks(request), renews(call, request)
    wants = request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms
    if key is None or (renewing and any(wants)):
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    try:
        session = _open(call, request, key)
    except RefusedError as refused:
        response = ShareFetchResponse(error_code=refused.code)
        if refused.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
            _answer_late(call, request, response)
            return PARKED
        return response
    fetch = _Fetch(call, request, session)
    if request.share_session_epoch == FINAL_EPOCH:
        call.node.shares.release(session)
        return fetch.response()
    at_once = renewing or request.max_wait_ms <= 0 or fetch.wants_nothing
    if at_once or fetch.ready():
        return fetch.response(acquire=not renewing)

    def answer() -> None:
        """With nothing, if there are no share groups any more: its session is gone."""
        off = call.node.cluster.features.is_off(SHARES)
        call.answer(fetch.response(acquire=not off))

    waiting = Waiting(call.link, fetch.places, fetch.ready, answer)
    until_ms = call.now_ms + min(request.max_wait_ms, FETCH_WAIT_MAX_MS)
    call.node.fetches.park(waiting, until_ms)
    return PARKED


def named(call: Call, request: ShareFetchRequest) -> list[Part]:
    """The partitions of which the answer may say something; nothing is changed."""
    key = who_asks(request)
    if key is None:
        return []
    # Each part, and whether it says what became of records.
    asked = {
        (topic.topic_id, one.partition_index): bool(one.acknowledgement_batches)
        for topic in request.topics
        for one in topic.partitions
    }
    said = [part for part, acknowledges in asked.items() if acknowledges]
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        return list(asked)
    try:
        session = call.node.shares.sessions.find(key)
    except RefusedError:
        return []
    if epoch == FINAL_EPOCH or renews(call, request):
        return said
    if epoch != session.epoch:
        return []
    found = dict.fromkeys([*session.parts, *asked])
    for topic in request.forgotten_topics_data:
        for number in topic.partitions:
            found.pop((topic.topic_id, number), None)
    return list(dict.fromkeys([*found, *said]))


def _open(call: Call, request: ShareFetchRequest, key: SessionKey) -> ShareSession:
    sessions = call.node.shares.sessions
    epoch = request.share_session_epoch
    if epoch == FINAL_EPOCH:
        return sessions.find(key)
    parts: list[Part] = [
        (topic.topic_id, one.partition_index)
        for topic in request.topics
        for one in topic.partitions
    ]
    if epoch == INITIAL_EPOCH:
        if any(one.acknowledgement_batches for topic in request.topics for one in topic.partitions):
            raise RefusedError(ErrorCode.INVALID_REQUEST, "nothing can be acknowledged yet")
        return sessions.create(key, call.link.number, parts)
    session = sessions.step(key, epoch)
    forgotten = [
        (topic.topic_id, number)
        for topic in request.forgotten_topics_data
        for number in topic.partitions
    ]
    sessions.change(session, parts, forgotten)
    return session


def _answer_late(call: Call, request: ShareFetchRequest, response: ShareFetchResponse) -> None:
    """Whoever finds no room is not to ask again at once."""
    waiting = Waiting(call.link, [], lambda: False, lambda: call.answer(response))
    until_ms = call.now_ms + min(request.max_wait_ms, FETCH_WAIT_MAX_MS)
    call.node.fetches.park(waiting, until_ms)


class _Fetch:
    """One request; looked at again whenever something happens to its partitions."""

    def __init__(self, call: Call, request: ShareFetchRequest, session: ShareSession) -> None:
        self._call = call
        self._request = request
        self._shares = call.node.shares
        self._max_bytes = min(request.max_bytes, call.node.cluster.config.fetch_max_bytes)
        if call.node.throttle is not None:
            self._max_bytes = call.node.throttle.fetch_bytes_max(call, self._max_bytes)
        # Then no share-partition begins anywhere, either; what is wrong by name is told.
        self.wants_nothing = request.max_bytes <= 0 or request.max_records <= 0
        self._group, self._member = session.key
        # Whom a fetch begins with changes, so that all get their turn.
        parts = list(session.parts)
        turn = max(request.share_session_epoch, 0) % len(parts) if parts else 0
        self._parts = parts[turn:] + parts[:turn]
        self._said = acknowledge_all(call, request, session.key)
        topics = call.node.cluster.topics
        refused = _refused_topics(call, self._parts) if call.guarded else frozenset[bytes]()
        self._refused = refused
        # Partitions that do not exist, or not for who asks, are answered with the rest and hurry
        # nobody.
        self._there = [
            part
            for part in self._parts
            if topics.has_partition(topics.name_of(part[0]) or "", part[1])
            and part[0] not in refused
        ]
        session.parts.update(dict.fromkeys(self._there, True))
        self._seen = session.parts
        self.places: list[Place] = [
            (topics.name_of(topic_id) or "", number) for topic_id, number in self._there
        ]

    def ready(self) -> bool:
        """Whether there is enough, or an error to tell; a node that stands still acquires nothing,
        whatever others write meanwhile.
        """
        if self._call.node.paused:
            return False
        if self._call.parts is not None:
            return True
        enough = min(self._request.min_bytes, self._max_bytes)
        size = 0
        for part in self._there:
            try:
                size += self._shares.bytes_ready(self._key(part), max(enough - size, 1))
            except RefusedError:
                return True
            if size >= max(enough, 1):
                return True
        return not self._there

    def response(self, *, acquire: bool = False) -> ShareFetchResponse:
        """What there is now, and what became of the acknowledgements. Who is above a quota is told
        nothing of that, as by a Kafka: what was acquired for him stays locked until its time is
        over.
        """
        lock_ms = self._call.node.cluster.share_options(self._group).record_lock_duration_ms
        response = self._found(lock_ms, acquire=acquire)
        throttle = self._call.node.throttle
        ms = 0 if throttle is None else throttle.fetched_ms(self._call, response)
        if ms and self._call.parts is None:
            return ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms, throttle_time_ms=ms)
        return response

    def _found(self, lock_ms: int, *, acquire: bool) -> ShareFetchResponse:
        response = ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms)
        hints = Hints(self._call.node.cluster)
        results: dict[Part, Result] = {}
        for part, (code, why) in self._said.items():
            results[part] = result = Result(partition_index=part[1])
            result.acknowledge_error_code, result.acknowledge_error_message = code, why
        if acquire:
            self._acquire(results, hints)
        response.responses = by_topic(results, ShareFetchResponse.ShareFetchableTopicResponse)
        for address in hints.endpoints():
            response.node_endpoints.append(
                ShareFetchResponse.NodeEndpoint(
                    node_id=address.node_id,
                    host=address.host,
                    port=address.port,
                    rack=address.rack,
                )
            )
        return response

    def _acquire(self, results: dict[Part, Result], hints: Hints) -> None:
        """The first record batch of all is given whatever its size, so that everybody gets on."""
        request = self._request
        records, size = request.max_records, self._max_bytes
        exact = self._call.version >= _EXACT_VERSION and request.share_acquire_mode == _EXACT
        share = size // max(len(self._there), 1)
        there = frozenset(self._there)
        empty = True
        for part in self._parts:
            demand = Demand(self._member, records, max(request.batch_size, 1), exact)
            try:
                check_mishap(self._call, self._group, part)
                if part[0] in self._refused:
                    raise RefusedError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not for who asks")
                if self.wants_nothing and part in there:
                    continue
                got = self._shares.acquire(
                    self._key(part), demand, min(share, size), at_least_one=empty
                )
            except RefusedError as refused:
                result = results.setdefault(part, Result(partition_index=part[1]))
                result.error_code = self._code(part, refused.code)
                self._hint(hints, result, part, refused.code)
                continue
            if not got.acquired:
                continue
            size -= got.size
            empty = False
            result = results.setdefault(part, Result(partition_index=part[1]))
            result.records = cast("bytes", Pieces(got.batches))
            for one in got.acquired:
                records -= one.last - one.first + 1
                result.acquired_records.append(
                    ShareFetchResponse.AcquiredRecords(
                        first_offset=one.first, last_offset=one.last, delivery_count=one.deliveries
                    )
                )

    def _code(self, part: Part, code: ErrorCode) -> ErrorCode:
        """Of a topic that was there when it was asked for, a Kafka since 4.4 does not speak by id:
        before, one said nothing of the whole session.
        """
        gone = code is ErrorCode.UNKNOWN_TOPIC_ID and self._seen.get(part, False)
        if gone and self._call.node.cluster.config.release >= (4, 4):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return code

    def _hint(self, hints: Hints, result: Result, part: Part, code: ErrorCode) -> None:
        if code in HINTED and self._call.parts is None:
            topic = self._call.node.cluster.topics.get(None, part[0])
            leader, epoch = hints.leader(topic, part[1])
            result.current_leader = ShareFetchResponse.LeaderIdAndEpoch(
                leader_id=leader, leader_epoch=epoch
            )

    def _key(self, part: Part) -> ShareKey:
        return (self._group, *part)


def _refused_topics(call: Call, parts: list[Part]) -> frozenset[bytes]:
    """Topics that who asks may not read; it is asked once, also if the answer comes later."""
    refused = set()
    for topic_id in {topic_id for topic_id, _ in parts}:
        try:
            check_readable(call, topic_id)
        except RefusedError:
            refused.add(topic_id)
    return frozenset(refused)
