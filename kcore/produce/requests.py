"""The bodies of Produce requests, and what their answers say of each partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from kcore.errors import UnsupportedVersionError
from kcore.produce.batch import Batch
from kcore.produce.config import ProduceConfig
from kcore.structs import TopicPartition
from kcore.wire.message import ZERO_UUID, Pieces
from kcore.wire.messages import ProduceRequest

# From this version on topics are named by their ids only (KIP-516).
TOPIC_IDS_SINCE: Final = 13
# The first version whose brokers read zstd (KIP-110, Kafka 2.1): earlier ones cannot say so.
ZSTD_SINCE: Final = 7
# The highest version in which a transaction has to be told of its partitions (KIP-890).
EXPLICIT_MAX: Final = 11


def build_produce(
    config: ProduceConfig,
    batches: list[Batch],
    topic_ids: Mapping[str, bytes | None],
    version: int,
) -> ProduceRequest:
    """One request; at most one batch of each partition. UnsupportedVersionError: a codec that the
    broker does not know.
    """
    if config.codec == "zstd" and version < ZSTD_SINCE:
        raise UnsupportedVersionError(
            "compression_type='zstd' needs brokers of release 2.1 or later (Produce v7); "
            "'lz4', 'snappy' and 'gzip' work with all"
        )
    topics: dict[str, ProduceRequest.TopicProduceData] = {}
    for batch in batches:
        name = batch.tp.topic
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = ProduceRequest.TopicProduceData(
                name=name, topic_id=topic_ids[name] or ZERO_UUID
            )
        # A batch whose time ran out while the request waited for its link has no bytes any more.
        if batch.data is not None:
            batch.sent_as = batch.identity
            topic.partition_data.append(
                ProduceRequest.PartitionProduceData(
                    index=batch.tp.partition,
                    records=cast("bytes", Pieces((memoryview(batch.data),))),
                )
            )
    return ProduceRequest(
        transactional_id=config.transactional_id,
        acks=config.acks,
        timeout_ms=config.request_timeout_ms,
        topic_data=[topic for topic in topics.values() if topic.partition_data],
    )


def read_answer(body: Any, topic_ids: Mapping[str, bytes | None]) -> dict[TopicPartition, Any]:
    """What the leader says of each partition. topic_ids: under which topics were asked for, which
    may be others by now.
    """
    found: dict[TopicPartition, Any] = {}
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    for topic in body.responses:
        name = topic.name or names.get(topic.topic_id)
        if name is not None:
            for part in topic.partition_responses:
                found[TopicPartition(name, part.index)] = part
    return found
