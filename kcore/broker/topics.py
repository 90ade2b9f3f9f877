"""The topics of a cluster: names, ids, partitions and their leaders, configuration."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.config import PARTITIONS_MAX, PARTITIONS_TOTAL_MAX, TOPICS_MAX
from kcore.broker.options import LogConfig
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.replication import Replication
from kcore.broker.settings import Settings, checked_topic, update
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.limits import MAX_NAME_CHARS
from kcore.structs import Rng
from kcore.wire.codes import ErrorCode

# Java: common.internals.Topic.
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")

# The controllers' log, which is no topic.
_METADATA_LOG: Final = "__cluster_metadata"

_NAMES_COLLIDE: Final = str.maketrans(".", "_")  # in the names of Kafka's metrics


def check_name(name: str) -> None:
    """RefusedError if no topic can have this name (Java: common.internals.Topic.validate)."""
    wrong = None
    if not name:
        wrong = "the empty string is not allowed"
    elif name in {".", ".."}:
        wrong = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_CHARS:
        wrong = f"it is longer than the max allowed length {MAX_NAME_CHARS}"
    elif not _LEGAL_NAME.fullmatch(name):
        wrong = (
            f"'{name}' contains one or more characters other than"
            " ASCII alphanumerics, '.', '_' and '-'"
        )
    if wrong is not None:
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {wrong}")


def check_even(assignments: list[list[int]], count: int) -> None:
    """RefusedError if partitions that somebody places have other than `count` replicas."""
    for nodes in assignments:
        if nodes and len(nodes) != count:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes a partition with {len(nodes)}"
                " replica(s), but this is not consistent with previous partitions, which have"
                f" {count} replica(s).",
            )


class Topic:
    """One topic. `settings`: what it was told, as text, under Kafka's names."""

    __slots__ = ("config", "name", "partitions", "settings", "topic_id")

    def __init__(self, name: str, topic_id: bytes, config: LogConfig) -> None:
        self.name = name
        self.topic_id = topic_id
        self.config = config
        self.settings: dict[str, str] = {}
        self.partitions: list[Partition] = []


class Catalog:
    """Every topic there is; the coordinator's `Topics`."""

    def __init__(
        self, rng: Rng, settings: Settings, node_ids: list[int], replication: Replication
    ) -> None:
        self._rng = rng
        self._replication = replication
        self._settings = settings
        self._node_ids = node_ids
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._alike: dict[str, list[str]] = {}  # names that differ in dots only
        self._partition_count = 0
        self.version = 0  # another one after each topic that comes, grows or goes

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

    def names(self) -> list[str]:
        """All topics, by name."""
        return sorted(self._by_name)

    def partition_count(self, name: str) -> int:
        """How many partitions a topic has; 0 if there is no such topic."""
        topic = self._by_name.get(name)
        return 0 if topic is None else len(topic.partitions)

    # Looking up ----------------------------------------------------------------------------------

    def topics(self) -> list[Topic]:
        """All topics, by name."""
        return [self._by_name[name] for name in self.names()]

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
        topic_id: bytes | None = None,
        beside: Collection[str] = (),
    ) -> Topic:
        """A new topic. assignments: the nodes of each partition, the leader first; None: they go
        round. topic_id: of a topic that was there before. beside: topics that were made by the
        same request, which its name may be alike, as with Kafka. RefusedError.
        """
        own = self.checked(
            name, settings or {}, beside=beside if topic_id is None else self._by_name
        )
        if assignments is None and replication_factor < 1:
            raise RefusedError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if partitions < 1:
            raise RefusedError(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            )
        if len(self._by_name) >= TOPICS_MAX and name not in INTERNAL_TOPICS:
            raise RefusedError(ErrorCode.POLICY_VIOLATION, f"{TOPICS_MAX} topics are the most")
        topic = Topic(name, topic_id or self._new_id(), self._settings.log_config(own))
        topic.settings = own
        self.add_partitions(topic, partitions, replication_factor, assignments, dry_run=dry_run)
        if not dry_run:
            self._by_name[name] = self._by_id[topic.topic_id] = topic
            self._alike.setdefault(name.translate(_NAMES_COLLIDE), []).append(name)
            self._tell(topic)
        return topic

    def checked(
        self, name: str, settings: Mapping[str, str | None], *, beside: Collection[str]
    ) -> dict[str, str]:
        """The settings of a topic that is to be made; RefusedError for what Kafka looks at first,
        before partitions and replicas. beside: as in `create`.
        """
        self._check_name(name, beside)
        if name == _METADATA_LOG:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
            )
        own: dict[str, str] = {}
        for option, text in settings.items():
            if text is None:
                raise RefusedError(
                    ErrorCode.INVALID_CONFIG,
                    f"Null value not supported for topic configs: {option[:1_000]}",
                )
            own[option] = text
        checked_topic(own)
        return own

    def _tell(self, topic: Topic) -> None:
        """Have the store know of a topic, once it is there."""
        if topic.topic_id not in self._by_id:
            return
        self.version += 1
        store = self._replication.store
        if store is not None:
            store.topic_changed(topic)

    def _check_name(self, name: str, beside: Collection[str]) -> None:
        check_name(name)
        if name in self._by_name:
            raise RefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        for other in self._alike.get(name.translate(_NAMES_COLLIDE), ()):
            if other not in beside:
                raise RefusedError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"Topic '{name}' collides with existing topic: {other}",
                )

    def add_partitions(
        self,
        topic: Topic,
        more: int,
        replication_factor: int = 1,
        assignments: list[list[int]] | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        """Give a topic more partitions; the rest as in `create`. RefusedError.

        Nodes that are down get replicas, too, but none gets all of a partition.
        """
        self._check_nodes(len(topic.partitions), replication_factor, assignments)
        count = len(topic.partitions) + more
        if count > PARTITIONS_MAX or self._partition_count + more > PARTITIONS_TOTAL_MAX:
            raise RefusedError(
                ErrorCode.POLICY_VIOLATION, f"{count} partitions are more than {PARTITIONS_MAX}"
            )
        for index in range(0 if dry_run else more):
            number = len(topic.partitions)
            if assignments is None:
                nodes = self._replication.places(self._partition_count, replication_factor)
            else:
                nodes = list(assignments[index])
            topic.partitions.append(
                Partition(topic.name, number, topic.config, nodes, self._replication)
            )
            # Where the next topic is placed does not go by what coordinators need.
            self._partition_count += topic.name not in INTERNAL_TOPICS
        if not dry_run:
            self._tell(topic)

    def _check_nodes(
        self, first: int, replication_factor: int, assignments: list[list[int]] | None
    ) -> None:
        if assignments is None and replication_factor > len(self._node_ids):
            raise RefusedError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"The target replication factor of {replication_factor} cannot be reached"
                f" because only {len(self._node_ids)} broker(s) are registered.",
            )
        if assignments is None and self._replication.first_live(self._node_ids) == NOBODY:
            raise RefusedError(
                ErrorCode.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced."
            )
        for number, nodes in enumerate(assignments or (), first):
            self._check_assignment(nodes)
            if self._replication.first_live(nodes) == NOBODY:
                raise RefusedError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    "All brokers specified in the manual partition assignment for partition"
                    f" {number} are currently fenced or in controlled shutdown.",
                )

    def _check_assignment(self, nodes: list[int]) -> None:
        wrong = None if nodes else "an empty replica list"
        for index, node_id in enumerate(nodes):
            if node_id not in self._node_ids:
                wrong = f"broker {node_id}, but no such broker is registered"
            elif node_id in nodes[:index]:
                wrong = f"the broker {node_id} more than once"
            if wrong is not None:
                break
        if wrong is not None:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes {wrong}.",
            )

    def configure(self, topic: Topic, own: dict[str, str]) -> None:
        """Give a topic these settings, which have been checked, in place of those it had."""
        topic.settings = own
        update(topic.config, self._settings.log_config(own))
        self._tell(topic)

    def reconfigure(self) -> None:
        """The defaults of all topics have changed."""
        for topic in self._by_name.values():
            update(topic.config, self._settings.log_config(topic.settings))
        if self._replication.store is not None:
            self._replication.store.settings_changed(self._settings.nodes)

    def delete(self, topic: Topic) -> None:
        """Forget a topic and its records."""
        self.version += 1
        del self._by_name[topic.name], self._by_id[topic.topic_id]
        alike = topic.name.translate(_NAMES_COLLIDE)
        self._alike[alike].remove(topic.name)
        if not self._alike[alike]:
            del self._alike[alike]
        for partition in topic.partitions:
            partition.leader = NOBODY
            self._replication.led(partition)
            self._partition_count -= topic.name not in INTERNAL_TOPICS
        if self._replication.store is not None:
            self._replication.store.topic_deleted(topic)

    def _new_id(self) -> bytes:
        while True:
            topic_id = self._rng.getrandbits(128).to_bytes(16, "big")
            # The first two are Kafka's own: no topic, and the metadata log.
            if int.from_bytes(topic_id, "big") > 1 and topic_id not in self._by_id:
                return topic_id
