"""The bodies of ShareFetch and ShareAcknowledge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcore.errors import UnsupportedVersionError
from kcore.share.acknowledgements import Sheet
from kcore.share.config import ShareGroupConfig
from kcore.share.session import Topics
from kcore.structs import TopicPartition
from kcore.wire.messages import ShareAcknowledgeRequest, ShareFetchRequest

RENEW_VERSION: Final = 2  # KIP-1222
RECORD_LIMIT_VERSION: Final = 2  # KIP-1206
_RECORD_LIMIT: Final = 1

TOO_OLD: Final = (
    "share groups need brokers that serve them: Apache Kafka 4.1 or later, with the feature"
    " share.version at 1 (`kafka-features upgrade --feature share.version=1`)"
)
_NO_RENEWAL: Final = "AcknowledgeType.RENEW needs brokers that serve it: Apache Kafka 4.2 or later"
_NO_RECORD_LIMIT: Final = (
    "share_acquire_mode='record_limit' needs brokers that serve it: Apache Kafka 4.2 or later"
)


def fetch_request(
    config: ShareGroupConfig,
    member_id: str,
    epoch: int,
    added: Topics,
    forgotten: Iterable[tuple[bytes, int]],
    sheets: Iterable[Sheet],
    version: int,
) -> ShareFetchRequest:
    """Ask for records; acknowledgements ride along. forgotten: topic ids and partitions."""
    if config.one_by_one and version < RECORD_LIMIT_VERSION:
        raise UnsupportedVersionError(_NO_RECORD_LIMIT)
    body = ShareFetchRequest(
        group_id=config.group_id,
        member_id=member_id,
        share_session_epoch=epoch,
        max_wait_ms=config.fetch_max_wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=config.fetch_max_bytes,
        max_records=config.max_poll_records,
        batch_size=config.max_poll_records,
        share_acquire_mode=_RECORD_LIMIT if config.one_by_one else 0,
    )
    topic_of, partition_of = ShareFetchRequest.FetchTopic, ShareFetchRequest.FetchPartition
    topics: dict[bytes, ShareFetchRequest.FetchTopic] = {}
    parts: dict[tuple[bytes, int], ShareFetchRequest.FetchPartition] = {}

    def part(tp: TopicPartition, topic_id: bytes) -> ShareFetchRequest.FetchPartition:
        key = (topic_id, tp.partition)
        if key not in parts:
            topic = topics.setdefault(topic_id, topic_of(topic_id=topic_id))
            parts[key] = partition_of(partition_index=tp.partition)
            topic.partitions.append(parts[key])
        return parts[key]

    for tp, topic_id in added.items():
        part(tp, topic_id)
    for sheet in sheets:
        part(sheet.place.tp, sheet.place.topic_id).acknowledgement_batches = [
            ShareFetchRequest.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=types
            )
            for first, last, types in sheet.batches()
        ]
    body.topics = list(topics.values())
    gone: dict[bytes, ShareFetchRequest.ForgottenTopic] = {}
    for topic_id, number in forgotten:
        entry = gone.setdefault(topic_id, ShareFetchRequest.ForgottenTopic(topic_id=topic_id))
        entry.partitions.append(number)
    body.forgotten_topics_data = list(gone.values())
    return body


def acknowledge_request(
    config: ShareGroupConfig, member_id: str, epoch: int, sheets: Iterable[Sheet], version: int
) -> ShareAcknowledgeRequest:
    """Acknowledge alone; with FINAL_EPOCH it closes the session, which releases what is held."""
    body = ShareAcknowledgeRequest(
        group_id=config.group_id, member_id=member_id, share_session_epoch=epoch
    )
    topics: dict[bytes, ShareAcknowledgeRequest.AcknowledgeTopic] = {}
    for sheet in sheets:
        if sheet.renews:
            if version < RENEW_VERSION:
                raise UnsupportedVersionError(_NO_RENEWAL)
            body.is_renew_ack = True
        topic_id = sheet.place.topic_id
        topic = topics.setdefault(
            topic_id, ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=topic_id)
        )
        topic.partitions.append(
            ShareAcknowledgeRequest.AcknowledgePartition(
                partition_index=sheet.place.tp.partition,
                acknowledgement_batches=[
                    ShareAcknowledgeRequest.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=types
                    )
                    for first, last, types in sheet.batches()
                ],
            )
        )
    body.topics = list(topics.values())
    return body
