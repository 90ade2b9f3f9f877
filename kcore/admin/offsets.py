"""Offsets of partitions, asked of their leaders; and records deleted there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import row_of
from kcore.errors import UnsupportedVersionError
from kcore.structs import OffsetAndTimestamp, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.messages import DeleteRecordsRequest, ListOffsetsRequest

# The first version of ListOffsets that knows a spec; an older broker would take it for a time.
_SINCE: Final[Mapping[int, int]] = {-3: 7, -4: 8, -5: 9, -6: 11}
_ISOLATION_SINCE: Final = 2
_TIMEOUT_SINCE: Final = 10


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[TopicPartition]]]:
    """Partitions of each topic, both in order."""
    ordered = sorted(partitions)
    return [(topic, list(tps)) for topic, tps in groupby(ordered, key=lambda tp: tp.topic)]


def ask_offsets(
    wanted: Mapping[TopicPartition, int], isolation_level: int, what: str = "listing the offsets of"
) -> Ask:
    """wanted: a time (ms), or the number of an OffsetSpec. Values: OffsetAndTimestamp."""

    def build(keys: list[TopicPartition], version: int, limit_ms: int) -> ListOffsetsRequest:
        for tp in keys:
            since = _SINCE.get(wanted[tp], 0)
            if version < since:
                raise UnsupportedVersionError(
                    f"{what} {tp.topic}-{tp.partition}: this broker does not know the offset spec "
                    f"{wanted[tp]} (ListOffsets v{since})"
                )
        cls = ListOffsetsRequest
        request = cls(
            replica_id=-1,
            topics=[
                cls.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        cls.ListOffsetsPartition(partition_index=tp.partition, timestamp=wanted[tp])
                        for tp in tps
                    ],
                )
                for topic, tps in by_topic(keys)
            ],
        )
        if version >= _ISOLATION_SINCE:
            request.isolation_level = isolation_level
        if version >= _TIMEOUT_SINCE:
            request.timeout_ms = limit_ms
        return request

    def read(body: Any, _version: int, _keys: list[TopicPartition]) -> Iterable[Reply]:
        for topic in body.topics:
            for part in topic.partitions:
                found = OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
                tp = TopicPartition(topic.name, part.partition_index)
                yield Reply(tp, part.error_code, found)

    return Ask(ApiKey.LIST_OFFSETS, tuple(wanted), what, build, read, route=Route.LEADER)


def list_partition_offsets(
    wanted: Mapping[TopicPartition, int], isolation_level: int
) -> Procedure[dict[TopicPartition, OffsetAndTimestamp]]:
    """{partition: offset, its time (-1 of what is no record's) and epoch}; offset -1: none."""
    (outcome,) = yield [ask_offsets(wanted, isolation_level)]
    return outcome.all_done()


def delete_records(
    wanted: Mapping[TopicPartition, int],
) -> Procedure[dict[TopicPartition, dict[str, int]]]:
    """Delete what is below these offsets (-1: below the high watermark)."""

    def build(keys: list[TopicPartition], _version: int, limit_ms: int) -> DeleteRecordsRequest:
        cls = DeleteRecordsRequest
        return cls(
            topics=[
                cls.DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        cls.DeleteRecordsPartition(partition_index=tp.partition, offset=wanted[tp])
                        for tp in tps
                    ],
                )
                for topic, tps in by_topic(keys)
            ],
            timeout_ms=limit_ms,
        )

    def read(body: Any, _version: int, _keys: list[TopicPartition]) -> Iterable[Reply]:
        for topic in body.topics:
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                yield Reply(tp, part.error_code, row_of(part))

    ask = Ask(
        ApiKey.DELETE_RECORDS,
        tuple(wanted),
        "deleting records of",
        build,
        read,
        route=Route.LEADER,
        changes=True,
    )
    (outcome,) = yield [ask]
    return outcome.all_done()
