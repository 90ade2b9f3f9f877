"""The topics of a cluster: names, ids, partitions and their leaders, configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.config import PARTITIONS_MAX, PARTITIONS_TOTAL_MAX, TOPICS_MAX
from kcore.broker.options import LogConfig
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.replication import Replication
from kcore.limits import MAX_INT32, MAX_NAME_CHARS
from kcore.structs import Rng
from kcore.wire.codes import ErrorCode

# Java: common.internals.Topic.
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")

_INT64_MAX: Final = 0x7FFFFFFFFFFFFFFF

# Topic options that act: Kafka's name -> the field of LogConfig, lowest and highest value.
_ACTING: Final[Mapping[str, tuple[str, int, int]]] = {
    "retention.ms": ("retention_ms", -1, _INT64_MAX),
    "retention.bytes": ("retention_bytes", -1, _INT64_MAX),
    "max.message.bytes": ("max_message_bytes", 0, MAX_INT32),
}

# Topic options that are kept and shown, and change nothing here: name -> default, allowed values
# (None: any).
_SHOWN: Final[Mapping[str, tuple[str, tuple[str, ...] | None]]] = {
    "cleanup.policy": ("delete", ("delete",)),
    "compression.type": ("producer", ("producer",)),
    "message.timestamp.type": ("CreateTime", ("CreateTime",)),
    "min.insync.replicas": ("1", None),
    "segment.bytes": ("1073741824", None),
    "segment.ms": ("604800000", None),
    "flush.messages": ("9223372036854775807", None),
    "flush.ms": ("9223372036854775807", None),
}


class Topic:
    """One topic. `settings`: what it was told, as text, under Kafka's names."""

    __slots__ = ("config", "name", "partitions", "settings", "topic_id")

    def __init__(self, name: str, topic_id: bytes, config: LogConfig) -> None:
        self.name = name
        self.topic_id = topic_id
        self.config = config
        self.settings: dict[str, str] = {}
        self.partitions: list[Partition] = []

    def options(self) -> dict[str, str]:
        """All its options as text, under Kafka's names, the defaults included."""
        shown = {name: default for name, (default, _) in _SHOWN.items()}
        acting = {name: str(getattr(self.config, field)) for name, (field, *_) in _ACTING.items()}
        return shown | acting | self.settings


class Catalog:
    """Every topic there is; the coordinator's `Topics`."""

    def __init__(
        self, rng: Rng, defaults: LogConfig, node_ids: list[int], replication: Replication
    ) -> None:
        self._rng = rng
        self._replication = replication
        self._defaults = defaults
        self._node_ids = node_ids
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._partition_count = 0

    # What the coordinator asks -------------------------------------------------------------------

    def name_of(self, topic_id: bytes) -> str | None:
        """The name of a topic id (16 bytes); None if there is none."""
        topic = self._by_id.get(topic_id)
        return None if topic is None else topic.name

    def id_of(self, name: str) -> bytes | None:
        """The id of a topic; None if there is no such topic."""
        topic = self._by_name.get(name)
        return None if topic is None else topic.topic_id

    def has_partition(self, name: str, partition: int) -> bool:
        """Whether offsets can be committed for it."""
        topic = self._by_name.get(name)
        return topic is not None and 0 <= partition < len(topic.partitions)

    # Looking up ----------------------------------------------------------------------------------

    def topics(self) -> list[Topic]:
        """All topics, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def get(self, name: str | None, topic_id: bytes = b"") -> Topic | None:
        """A topic by name or, if that is empty, by id."""
        return self._by_name.get(name) if name else self._by_id.get(topic_id)

    # Changing ------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        partitions: int,
        settings: Mapping[str, str | None] | None = None,
        *,
        replication_factor: int = 1,
        assignments: list[list[int]] | None = None,
        dry_run: bool = False,
    ) -> Topic:
        """A new topic. assignments: the nodes of each partition, the leader first; None: they go
        round. RefusedError.
        """
        if not (0 < len(name) <= MAX_NAME_CHARS and _LEGAL_NAME.fullmatch(name)) or name in "..":
            raise RefusedError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name[:300]!r} is no topic name"
            )
        if name in self._by_name:
            raise RefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} exists already")
        if not 1 <= partitions <= PARTITIONS_MAX:
            raise RefusedError(
                ErrorCode.INVALID_PARTITIONS, f"{partitions} is not within 1 to {PARTITIONS_MAX}"
            )
        if len(self._by_name) >= TOPICS_MAX:
            raise RefusedError(ErrorCode.POLICY_VIOLATION, f"{TOPICS_MAX} topics are the most")
        topic = Topic(name, self._new_id(), replace(self._defaults))
        _configure(topic, settings or {})
        self.add_partitions(topic, partitions, replication_factor, assignments, dry_run=dry_run)
        if not dry_run:
            self._by_name[name] = self._by_id[topic.topic_id] = topic
        return topic

    def add_partitions(
        self,
        topic: Topic,
        more: int,
        replication_factor: int = 1,
        assignments: list[list[int]] | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        """Give a topic more partitions; the rest as in `create`. RefusedError."""
        self._check_nodes(replication_factor, assignments)
        count = len(topic.partitions) + more
        if count > PARTITIONS_MAX or self._partition_count + more > PARTITIONS_TOTAL_MAX:
            raise RefusedError(ErrorCode.INVALID_PARTITIONS, f"{count} partitions are too many")
        for index in range(0 if dry_run else more):
            number = len(topic.partitions)
            if assignments is None:
                at = self._partition_count % len(self._node_ids)
                nodes = (self._node_ids[at:] + self._node_ids[:at])[:replication_factor]
            else:
                nodes = list(assignments[index])
            topic.partitions.append(
                Partition(topic.name, number, topic.config, nodes, self._replication)
            )
            self._partition_count += 1

    def _check_nodes(self, replication_factor: int, assignments: list[list[int]] | None) -> None:
        known = set(self._node_ids)
        if not 1 <= replication_factor <= len(known):
            raise RefusedError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"{replication_factor} replicas on {len(known)} nodes",
            )
        for nodes in assignments or ():
            if not nodes or len(set(nodes)) != len(nodes) or not known.issuperset(nodes):
                raise RefusedError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{nodes[:100]} of {sorted(known)}"
                )

    def delete(self, topic: Topic) -> None:
        """Forget a topic and its records."""
        del self._by_name[topic.name], self._by_id[topic.topic_id]
        for partition in topic.partitions:
            partition.leader = NOBODY
        self._partition_count -= len(topic.partitions)

    def _new_id(self) -> bytes:
        while True:
            topic_id = self._rng.getrandbits(128).to_bytes(16, "big")
            # The first two are Kafka's own: no topic, and the metadata log.
            if int.from_bytes(topic_id, "big") > 1 and topic_id not in self._by_id:
                return topic_id


def _configure(topic: Topic, settings: Mapping[str, str | None]) -> None:
    """Take settings over; RefusedError (INVALID_CONFIG) for one that is not known or not served."""
    for name, text in settings.items():
        if name in _SHOWN:
            allowed = _SHOWN[name][1]
            if text is None or (allowed is not None and text not in allowed):
                raise RefusedError(
                    ErrorCode.INVALID_CONFIG, f"{name}={text}: served here is {allowed}"
                )
        elif name in _ACTING:
            field, lowest, highest = _ACTING[name]
            try:
                value = int(text or "")
            except ValueError:
                value = lowest - 1
            if not lowest <= value <= highest:
                raise RefusedError(
                    ErrorCode.INVALID_CONFIG, f"{name}={text} is not within {lowest} to {highest}"
                )
            setattr(topic.config, field, value)
        else:
            raise RefusedError(ErrorCode.INVALID_CONFIG, f"{name} is not a topic option here")
        topic.settings[name] = str(text)
