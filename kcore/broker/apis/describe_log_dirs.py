"""DescribeLogDirs v1-5: the logs of this node, as if they were in one directory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kcore.broker.calls import Call
from kcore.broker.topics import Topic
from kcore.wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse

# Where the logs are said to be.
_PLACE: Final = "/memory"

Described = DescribeLogDirsResponse.DescribeLogDirsTopic


def handle(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """The size of each log, and how far it is behind what consumers may read."""
    cluster = call.node.cluster
    asked: list[tuple[Topic | None, Collection[int] | None]]
    if request.topics is None:
        asked = [(topic, None) for topic in cluster.topics.topics()]
    else:
        asked = [(cluster.topics.get(one.topic), set(one.partitions)) for one in request.topics]
    topics = [_describe(call, topic, numbers) for topic, numbers in asked if topic is not None]
    used = sum(one.partition_size for topic in topics for one in topic.partitions)
    total = cluster.config.log_bytes_max
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResponse.DescribeLogDirsResult(
                log_dir=_PLACE,
                topics=[topic for topic in topics if topic.partitions],
                total_bytes=total,
                usable_bytes=max(0, total - used),
            )
        ]
    )


def _describe(call: Call, topic: Topic, numbers: Collection[int] | None) -> Described:
    described = Described(name=topic.name)
    for partition in topic.partitions:
        log = partition.logs.get(call.node.node_id)
        if log is None or (numbers is not None and partition.number not in numbers):
            continue
        described.partitions.append(
            DescribeLogDirsResponse.DescribeLogDirsPartition(
                partition_index=partition.number,
                partition_size=log.size_bytes,
                offset_lag=max(0, partition.log.high_watermark - log.end_offset),
            )
        )
    return described
