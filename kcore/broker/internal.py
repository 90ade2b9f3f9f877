"""The topics in which the coordinators of a cluster keep what is to outlive them.

Each is made when it is needed first (Java: AutoTopicCreationManager). Who leads a partition of it
keeps the groups, or the transactional ids, whose journal it is; when another node leads it, they
are kept there, from what its log says. So they can be read, described and moved as other topics
are. Nobody but coordinators writes to them.

Their replicas have everything at once, whatever is cut or late between two nodes that are up: a
coordinator does not wait for its journal.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import RefusedError
from kcore.broker.config import TOPICS_MAX
from kcore.broker.journals import Journal
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.share.keeping import STATE_PARTITIONS
from kcore.coordinator.journal import OFFSETS_TOPIC, SHARES_TOPIC, TRANSACTIONS_TOPIC
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.cluster import Cluster
    from kcore.broker.topics import Topic

# What is kept of a journal before it is compacted goes by this; a Kafka's segments have 100 MiB.
_SEGMENT_BYTES: Final = 1 << 20
_SETTINGS: Final[dict[str, dict[str, str]]] = {
    OFFSETS_TOPIC: {"compression.type": "producer"},
    TRANSACTIONS_TOPIC: {
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
    },
    SHARES_TOPIC: {"compression.type": "uncompressed"},
}


class _Plan(NamedTuple):
    partitions: int
    replication_factor: int


class InternalTopics:
    """Those of one cluster. `moved`: whether leaders are others than when coordinators looked."""

    def __init__(self, cluster: Cluster) -> None:
        config = cluster.config
        self._cluster = cluster
        self._plans = {
            OFFSETS_TOPIC: _Plan(
                config.coordinator.offsets_topic_num_partitions,
                config.offsets_topic_replication_factor,
            ),
            TRANSACTIONS_TOPIC: _Plan(
                config.transactions.transaction_state_log_num_partitions,
                config.transaction_state_log_replication_factor,
            ),
            SHARES_TOPIC: _Plan(
                STATE_PARTITIONS, config.share_coordinator_state_topic_replication_factor
            ),
        }
        self.moved = False
        # Partitions of committed offsets that nobody keeps -> topics that were deleted meanwhile.
        self._missed: dict[int, dict[str, None]] = {}

    @property
    def now_ms(self) -> int:
        """Of the input that is being handled."""
        return self._cluster.now_ms

    def ensure(self, name: str) -> Topic | None:
        """The topic, made now if it is not there; None if that cannot be, as no node is up."""
        cluster = self._cluster
        topic = cluster.topics.get(name)
        if topic is None and cluster.live:
            partitions, factor = self._plans[name]
            factor = min(factor, len(cluster.node_ids))
            made = f"{cluster.config.cluster_id}/{name}/{cluster.wall_ms(self.now_ms)}"
            topic = cluster.topics.create(
                name,
                partitions,
                self.settings_of(name),
                assignments=[
                    cluster.replication.places(number, factor) for number in range(partitions)
                ],
                topic_id=blake2b(made.encode(), digest_size=16).digest(),
            )
            cluster.settle_coordinators(self.now_ms)
        return topic

    @staticmethod
    def settings_of(name: str) -> dict[str, str]:
        """What a topic is made with; nothing if it is another one."""
        if name not in _SETTINGS:
            return {}
        common = {"cleanup.policy": "compact", "segment.bytes": str(_SEGMENT_BYTES)}
        return common | _SETTINGS[name]

    def check_count(self, name: str, partitions: int) -> None:
        """RefusedError if one of these topics is to have another number of partitions than where
        coordinators look for names.
        """
        plan = self._plans.get(name)
        if plan is not None and partitions != plan.partitions:
            raise RefusedError(
                ErrorCode.INVALID_PARTITIONS,
                f"Topic {name} has {plan.partitions} partitions in this cluster, and no other"
                " number: its options say how many.",
            )

    def partition(self, name: str, number: int) -> Partition | None:
        """A partition; None if it is not there."""
        topic = self._cluster.topics.get(name)
        if topic is None or not 0 <= number < len(topic.partitions):
            return None
        return topic.partitions[number]

    def keeper(self, name: str, number: int) -> int:
        """The live node that leads a partition, of a topic that is made for it; NOBODY."""
        self.ensure(name)
        partition = self.partition(name, number)
        return NOBODY if partition is None else self._leader(partition)

    def led_by(self, node_id: int, name: str) -> set[int]:
        """The partitions of a topic that a node leads."""
        topic = self._cluster.topics.get(name)
        if topic is None:
            return set()
        return {one.number for one in topic.partitions if self._leader(one) == node_id}

    def _leader(self, partition: Partition) -> int:
        return partition.leader if partition.leader in self._cluster.live else NOBODY

    def topic_deleted(self, name: str) -> None:
        """Whoever keeps offsets of it is told; this is for those who will, when a replica of theirs
        is up. Topics long gone are forgotten, if there are many.
        """
        if name == OFFSETS_TOPIC:
            self._missed.clear()
        topic = self._cluster.topics.get(OFFSETS_TOPIC)
        for partition in () if topic is None else topic.partitions:
            if self._leader(partition) == NOBODY:
                missed = self._missed.setdefault(partition.number, {})
                missed[name] = missed.pop(name, None)
                if len(missed) > TOPICS_MAX:
                    del missed[next(iter(missed))]

    def missed_deletions(self, number: int) -> list[str]:
        """Topics that were deleted while nobody kept a partition of committed offsets; once."""
        return list(self._missed.pop(number, ()))

    def move(self, number: int, node_id: int, now_ms: int) -> None:
        """Let a node that is up lead a partition of all of them, as far as they have it, and it has
        what was acknowledged.
        """
        self.ensure(OFFSETS_TOPIC)
        self.ensure(TRANSACTIONS_TOPIC)
        for name in self._plans:
            partition = self.partition(name, number)
            if partition is not None and partition.leader != node_id and node_id in partition.isr:
                self._cluster.move_leader_of(partition, node_id, now_ms)

    def journal(self, name: str, number: int) -> Journal:
        """A partition to append to."""
        return Journal(self, name, number)
