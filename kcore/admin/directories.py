"""Replicas on disks of brokers: found, and moved (KIP-113). `cluster.py` describes the disks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import verdicts
from kcore.admin.values import ReplicaLogDirs, TopicPartitionReplica
from kcore.errors import KafkaError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import AlterReplicaLogDirsRequest, DescribeLogDirsRequest

_DIRECTORY_FAILED: Final = ErrorCode.KAFKA_STORAGE_ERROR
# The broker has no such replica now: it keeps in mind where one is to be made, and says so.
_NOT_THERE: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REPLICA_NOT_AVAILABLE})
_HINTS: Final[Mapping[int, str]] = dict.fromkeys(
    (*_NOT_THERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "the broker has no replica of this partition; one that it gets will be in this directory",
)


def alter_replica_log_dirs(
    assignments: Mapping[TopicPartitionReplica, str], *, raise_errors: bool
) -> Procedure[dict[TopicPartitionReplica, type[KafkaError]]]:
    """Begin to move replicas to directories. {replica: the class of its error, or NoError}."""

    def build(
        keys: list[TopicPartitionReplica], _v: int, _limit_ms: int
    ) -> AlterReplicaLogDirsRequest:
        cls = AlterReplicaLogDirsRequest
        wanted: dict[str, dict[str, list[int]]] = {}
        for key in keys:
            topics = wanted.setdefault(assignments[key], {})
            topics.setdefault(key.topic, []).append(key.partition)
        return cls(
            dirs=[
                cls.AlterReplicaLogDir(
                    path=path,
                    topics=[
                        cls.AlterReplicaLogDirTopic(name=name, partitions=numbers)
                        for name, numbers in topics.items()
                    ],
                )
                for path, topics in wanted.items()
            ]
        )

    def read(body: Any, _version: int, keys: list[TopicPartitionReplica]) -> Iterable[Reply]:
        broker = keys[0].broker_id
        for topic in body.results:
            for part in topic.partitions:
                key = TopicPartitionReplica(topic.topic_name, part.partition_index, broker)
                yield Reply(key, part.error_code)

    ask = Ask(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        tuple(assignments),
        "moving the replica of",
        build,
        read,
        route=Route.BROKER,
        place=lambda key: key.broker_id,
        patience=1,
        changes=True,
        final=_NOT_THERE,
        hints=_HINTS,
        name=_name,
    )
    (outcome,) = yield [ask]
    return verdicts(outcome, assignments, raise_errors=raise_errors)


def describe_replica_log_dirs(
    replicas: Sequence[TopicPartitionReplica],
) -> Procedure[dict[TopicPartitionReplica, ReplicaLogDirs]]:
    """Where each of these is; one that its broker does not have is nowhere.

    Directories that have failed are passed over, as by Java: what was there is nowhere, too.
    """

    def build(
        keys: list[TopicPartitionReplica], _version: int, _limit_ms: int
    ) -> DescribeLogDirsRequest:
        cls = DescribeLogDirsRequest.DescribableLogDirTopic
        wanted: dict[str, list[int]] = {}
        for key in keys:
            wanted.setdefault(key.topic, []).append(key.partition)
        return DescribeLogDirsRequest(
            topics=[cls(topic=name, partitions=numbers) for name, numbers in wanted.items()]
        )

    def read(body: Any, _version: int, keys: list[TopicPartitionReplica]) -> Iterable[Reply]:
        broken = [
            one.error_code for one in body.results if one.error_code not in (0, _DIRECTORY_FAILED)
        ]
        code = body.error_code or (broken[0] if broken else 0)
        found = _found(body, keys[0].broker_id)
        for key in keys:
            yield Reply(key, code, found.get(key, ReplicaLogDirs(None, -1)))

    ask = Ask(
        ApiKey.DESCRIBE_LOG_DIRS,
        tuple(replicas),
        "finding the replica of",
        build,
        read,
        route=Route.BROKER,
        place=lambda key: key.broker_id,
        name=_name,
    )
    (outcome,) = yield [ask]
    return outcome.all_done()


def _found(body: Any, broker: int) -> dict[TopicPartitionReplica, ReplicaLogDirs]:
    found: dict[TopicPartitionReplica, ReplicaLogDirs] = {}
    nowhere = ReplicaLogDirs(None, -1)
    for place in body.results:
        for topic in place.topics:
            for part in topic.partitions:
                key = TopicPartitionReplica(topic.name, part.partition_index, broker)
                before = found.get(key, nowhere)
                here = (place.log_dir, part.offset_lag)
                if part.is_future_key:
                    found[key] = ReplicaLogDirs(*before[:2], *here)
                else:
                    found[key] = ReplicaLogDirs(*here, *before[2:])
    return found


def _name(key: TopicPartitionReplica) -> str:
    return f"{key.topic}-{key.partition} on broker {key.broker_id}"
