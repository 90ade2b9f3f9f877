"""Where share groups are (KIP-932): their start offsets listed, altered, deleted.

Their coordinator keeps a start offset for each partition, before which nothing is delivered any
more. Members do not commit it: brokers move it behind what is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route, of_all
from kcore.admin.core import Procedure
from kcore.admin.offsets import by_topic
from kcore.admin.places import ask_leaders
from kcore.admin.rows import verdicts
from kcore.admin.told import Told, offsets_of, reply_of
from kcore.admin.values import SharePartitionOffset
from kcore.errors import BrokerResponseError, KafkaError
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
)

_LAG_SINCE: Final = 1  # DescribeShareGroupOffsets with lags (KIP-1226, Kafka 4.2)
_NOT_KNOWN: Final = -1  # a lag: before 4.2 it was not kept how many are done behind the start
LISTING: Final = "listing the offsets of share group"
_HINTS: Final[Mapping[int, str]] = {
    ErrorCode.NON_EMPTY_GROUP: "start offsets of a share group are changed while it has no "
    "members: stop them first",
    ErrorCode.GROUP_ID_NOT_FOUND: "only share groups have start offsets",
}

Starts = dict[TopicPartition, SharePartitionOffset]


# Listing ------------------------------------------------------------------------------------------


def ask_starts(specs: Mapping[str, Sequence[TopicPartition] | None]) -> Ask:
    """Values: {partition: SharePartitionOffset} of each group; None: of all that it has.

    Partitions that are named have to be there, and have leaders: Kafka 4.3 never answers who asks
    for one that has none.
    """

    def build(keys: list[str], _version: int, _limit_ms: int) -> DescribeShareGroupOffsetsRequest:
        cls = DescribeShareGroupOffsetsRequest
        return cls(
            groups=[
                cls.DescribeShareGroupOffsetsRequestGroup(
                    group_id=group, topics=_topics(specs[group])
                )
                for group in keys
            ]
        )

    def read(body: Any, version: int, _keys: list[str]) -> Iterable[Reply]:
        for group in body.groups:
            told = Told({}, {}, {})
            for topic in group.topics:
                for part in topic.partitions:
                    tp = TopicPartition(topic.topic_name, part.partition_index)
                    if part.error_code:
                        told.codes[tp], told.words[tp] = part.error_code, part.error_message
                        continue
                    known = version >= _LAG_SINCE and part.lag != _NOT_KNOWN
                    lag = max(0, part.lag) if known and part.start_offset >= 0 else None
                    told.done[tp] = SharePartitionOffset(part.start_offset, part.leader_epoch, lag)
            yield reply_of(group.group_id, group.error_code, group.error_message, told)

    return Ask(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        tuple(specs),
        LISTING,
        build,
        read,
        route=Route.COORDINATOR,
        hints=_HINTS,
    )


def _topics(partitions: Sequence[TopicPartition] | None) -> Any:
    if partitions is None:
        return None
    kind = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic
    return [
        kind(topic_name=topic, partitions=[tp.partition for tp in tps])
        for topic, tps in by_topic(partitions)
    ]


def list_share_group_offsets(
    specs: Mapping[str, Sequence[TopicPartition] | None], *, raise_errors: bool = True
) -> Procedure[dict[str, Starts]]:
    """{group: {partition: SharePartitionOffset}}; None: of all partitions that have anything.

    A partition that was named and has nothing has the start offset -1. raise_errors: False:
    partitions that brokers refuse to tell of, or do not know, are left out.
    """
    named = dict.fromkeys(tp for parts in specs.values() for tp in parts or ())
    (there,) = yield [ask_leaders(named)]
    there.check(raise_errors=False)
    gone = {
        tp: error for tp, error in there.failed.items() if isinstance(error, BrokerResponseError)
    }
    asked = {
        group: None if parts is None else [tp for tp in parts if tp not in gone]
        for group, parts in specs.items()
    }
    none = [group for group, parts in specs.items() if parts and not asked[group]]
    (outcome,) = yield [
        ask_starts({group: parts for group, parts in asked.items() if group not in none})
    ]
    for group in none:
        outcome.done[group] = Told({}, {}, {})
    for group, told in outcome.done.items():
        for tp in gone.keys() & (specs[group] or ()):
            told.codes[tp] = gone[tp].errno
            told.words[tp] = str(gone[tp].args[0]).partition(": ")[2]  # behind what was done
    found = offsets_of(outcome, LISTING, raise_errors=raise_errors)
    return {group: found[group] for group in specs}


# Altering -----------------------------------------------------------------------------------------


def ask_alter(group: str, offsets: Mapping[TopicPartition, int]) -> Ask:
    """Have the group begin there, in each partition."""

    def build(
        keys: list[TopicPartition], _version: int, _limit_ms: int
    ) -> AlterShareGroupOffsetsRequest:
        cls = AlterShareGroupOffsetsRequest
        part = cls.AlterShareGroupOffsetsRequestPartition
        return cls(
            group_id=group,
            topics=[
                cls.AlterShareGroupOffsetsRequestTopic(
                    topic_name=topic,
                    partitions=[
                        part(partition_index=tp.partition, start_offset=offsets[tp]) for tp in tps
                    ],
                )
                for topic, tps in by_topic(keys)
            ],
        )

    def read(body: Any, _version: int, keys: list[TopicPartition]) -> Iterable[Reply]:
        if body.error_code:
            for tp in keys:
                yield Reply(tp, body.error_code, words=body.error_message)
            return
        for topic in body.responses:
            for part in topic.partitions:
                tp = TopicPartition(topic.topic_name, part.partition_index)
                yield Reply(tp, part.error_code, words=part.error_message)

    return Ask(
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        tuple(offsets),
        f"altering the offsets of share group {group} in",
        build,
        read,
        route=Route.COORDINATOR,
        place=lambda _key: group,
        changes=True,
        hints=_HINTS,
    )


def alter_share_group_offsets(
    group: str, offsets: Mapping[TopicPartition, int], *, raise_errors: bool
) -> Procedure[dict[TopicPartition, type[KafkaError]]]:
    """{partition: the class of its error, or NoError}."""
    (outcome,) = yield [ask_alter(group, offsets)]
    return verdicts(outcome, offsets, raise_errors=raise_errors)


# Deleting -----------------------------------------------------------------------------------------


def delete_share_group_offsets(
    group: str, topics: Sequence[str], *, raise_errors: bool
) -> Procedure[dict[str, type[KafkaError]]]:
    """{topic: the class of its error, or NoError}; what is wrong with the group is raised."""

    def build(keys: list[str], _version: int, _limit_ms: int) -> DeleteShareGroupOffsetsRequest:
        cls = DeleteShareGroupOffsetsRequest
        kind = cls.DeleteShareGroupOffsetsRequestTopic
        return cls(group_id=group, topics=[kind(topic_name=name) for name in keys])

    def read(body: Any, _version: int, keys: list[str]) -> Iterable[Reply]:
        if body.error_code:
            yield from of_all(keys, body.error_code, body.error_message)
            return
        for topic in body.responses:
            yield Reply(topic.topic_name, topic.error_code, words=topic.error_message)

    ask = Ask(
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        tuple(topics),
        f"deleting the offsets of share group {group} in",
        build,
        read,
        route=Route.COORDINATOR,
        place=lambda _key: group,
        patience=1,  # it is also what a group without offsets there is told
        changes=True,
        hints=_HINTS,
    )
    (outcome,) = yield [ask]
    return verdicts(outcome, topics, raise_errors=raise_errors)
