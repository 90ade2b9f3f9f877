"""The bodies of fetch requests, from what the session says is to be sent."""

from __future__ import annotations

from collections.abc import Mapping

from kcore.fetch.config import FetchConfig
from kcore.fetch.partition import Partition
from kcore.fetch.session import FINAL_EPOCH, INITIAL_EPOCH, Ask, FetchSession
from kcore.fetch.window import Window
from kcore.hints import Final
from kcore.structs import TopicPartition
from kcore.wire.message import ZERO_UUID
from kcore.wire.messages import FetchRequest

# From this version on topics are named by their ids only (KIP-516).
TOPIC_IDS_SINCE: Final = 13


def build_fetch(
    config: FetchConfig,
    session: FetchSession,
    wanted: Mapping[TopicPartition, Partition],
    window: Window,
    changed: dict[TopicPartition, None],
    version: int,
    max_bytes: int,
    *,
    waits: bool,
) -> FetchRequest:
    """The next request of a session; `changed` is emptied of what it says. waits: where there is
    nothing new; else it is answered at once, and begins no session.
    """
    ids = version >= TOPIC_IDS_SINCE
    if session.epoch == INITIAL_EPOCH or ids is not session.with_ids:
        asks = {tp: ask_for(config, one) for tp, one in wanted.items() if tp in window}
    else:
        asks = {tp: ask_for(config, wanted[tp]) for tp in changed if tp in wanted and tp in window}
    # A topic whose id is not known any more, though it was when the version was chosen, waits.
    nameless = [tp for tp, ask in asks.items() if ask.topic_id is None] if ids else []
    for tp in nameless:
        del asks[tp]
    request = session.next_request(asks, changed, ids)
    changed.clear()
    changed.update(dict.fromkeys(nameless))
    epoch = request.session_epoch
    if not (waits and config.enable_incremental_fetch_sessions):
        epoch = FINAL_EPOCH  # without a session to end: "and make none" (KIP-227)
    body = next_empty(config, request.session_id, epoch, max_bytes)
    # There is more, of those left out if not of these; or nobody knows where the log ends, and so
    # whether the broker would keep this: it tells at once.
    if window.narrow or not waits or any(wanted[ask.tp].told_at < 0 for ask in request.send):
        body.min_bytes = 0
    body.topics = _topics(request.send)
    body.forgotten_topics_data = _forgotten(request.forget)
    return body


def next_empty(
    config: FetchConfig, session_id: int, session_epoch: int, max_bytes: int
) -> FetchRequest:
    """The next request of a session in which nothing changes."""
    return FetchRequest(
        max_wait_ms=config.fetch_max_wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=max_bytes,
        isolation_level=config.isolation_level.value,
        session_id=session_id,
        session_epoch=session_epoch,
        rack_id=config.client_rack,
    )


def build_close(session: FetchSession) -> FetchRequest:
    """The request that ends a session (S6)."""
    return FetchRequest(session_id=session.id, session_epoch=FINAL_EPOCH)


def ask_for(config: FetchConfig, partition: Partition) -> Ask:
    """What to ask for a partition: from behind what is buffered.

    The epoch of the last record is not sent along (`last_fetched_epoch`, KIP-595): a broker whose
    epoch cache does not reach back far enough answers OFFSET_OUT_OF_RANGE to it. A leader that is
    newer than the position is met by validation (KIP-320) before it is asked.
    """
    leader = partition.leader
    return Ask(
        partition.tp,
        partition.topic_id,
        partition.next_offset,
        -1 if leader is None else leader.epoch,
        config.max_partition_fetch_bytes,
    )


def _topics(asks: list[Ask]) -> list[FetchRequest.FetchTopic]:
    """Neighbours of one topic in one group: the order of partitions is the order of service."""
    topics: list[FetchRequest.FetchTopic] = []
    last: tuple[str, bytes | None] | None = None
    for ask in asks:
        tp = ask.tp
        if last != (tp.topic, ask.topic_id):
            last = (tp.topic, ask.topic_id)
            topics.append(
                FetchRequest.FetchTopic(topic=tp.topic, topic_id=ask.topic_id or ZERO_UUID)
            )
        topics[-1].partitions.append(
            FetchRequest.FetchPartition(
                partition=tp.partition,
                current_leader_epoch=ask.leader_epoch,
                fetch_offset=ask.offset,
                partition_max_bytes=ask.max_bytes,
            )
        )
    return topics


def _forgotten(
    forget: list[tuple[TopicPartition, bytes | None]],
) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[tuple[str, bytes | None], FetchRequest.ForgottenTopic] = {}
    for tp, topic_id in forget:
        key = (tp.topic, topic_id)
        if key not in topics:
            topics[key] = FetchRequest.ForgottenTopic(
                topic=tp.topic, topic_id=topic_id or ZERO_UUID
            )
        topics[key].partitions.append(tp.partition)
    return list(topics.values())
