"""Replicas on the disks of their brokers: moved (KIP-113). `cluster.py` describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import verdicts
from kcore.admin.values import TopicPartitionReplica
from kcore.errors import KafkaError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import AlterReplicaLogDirsRequest

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


def _name(key: TopicPartitionReplica) -> str:
    return f"{key.topic}-{key.partition} on broker {key.broker_id}"
