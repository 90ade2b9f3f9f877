"""What the nodes of one process have in common: topics, addresses, producer ids, journals.

It is the controller, too: who leads what, and which nodes are up, is decided here at once, and
every node that is up knows it. The logs are each replica's own (`partitions.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final

from kcore.broker.authorization.authorizer import Authorizer
from kcore.broker.authorization.hosts import RANGES_SINCE
from kcore.broker.batches import RefusedError
from kcore.broker.clocks import CommonClock, NodeClock
from kcore.broker.config import BrokerConfig
from kcore.broker.delegation.tokens import Tokens
from kcore.broker.features import Features
from kcore.broker.internal import InternalTopics
from kcore.broker.journals import Journal
from kcore.broker.mishaps import Mishaps
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.replication import Replication
from kcore.broker.sasl.users import Users
from kcore.broker.selectors import NO_REPLICA, RACK_AWARE, preferred_replica, selector_of
from kcore.broker.settings import Settings
from kcore.broker.share.keeping import UNINITIALIZED, Kept, ShareStates
from kcore.broker.telemetry.pushed import Pushes
from kcore.broker.topics import Catalog, Topic
from kcore.coordinator import partition_for
from kcore.coordinator.consumer.options import ConsumerOptions
from kcore.coordinator.journal import (
    INTERNAL_TOPICS,
    OFFSETS_TOPIC,
    SHARES_TOPIC,
    TRANSACTIONS_TOPIC,
)
from kcore.coordinator.share.keeper import NOT_STARTED, ShareOffset
from kcore.coordinator.share.options import ShareOptions
from kcore.coordinator.streams.options import StreamsOptions
from kcore.coordinator.streams.topology import InternalTopic
from kcore.structs import Node as Address
from kcore.structs import Rng
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.group_settings import GroupOptions
    from kcore.broker.node import Node
    from kcore.broker.quotas.quotas import Quotas

# A replication factor that is the cluster's own choice.
DEFAULT_FACTOR: Final = -1

__all__ = ["NOBODY", "Cluster", "Journal"]


class Cluster:
    """The shared state. Nodes sign on when they are made; the first one is the controller.

    addresses: every node as clients are to reach it. wall_offset_ms: the time of day minus the
    `now_ms` of the nodes' inputs. clocks: of nodes whose coordinators have one of their own.
    """

    def __init__(
        self,
        config: BrokerConfig,
        addresses: Iterable[Address],
        rng: Rng,
        *,
        wall_offset_ms: int = 0,
        clocks: Mapping[int, NodeClock] | None = None,
    ) -> None:
        self.config = config
        self.rng = rng
        self.addresses = {address.node_id: address for address in addresses}
        self.wall_offset_ms = wall_offset_ms
        self._clocks = dict(clocks or {})
        self.node_ids = sorted(self.addresses)
        self.live = list(self.node_ids)  # those that are up, in order
        self.replication = Replication(self)
        self.features = Features(config)
        self.settings = Settings(config, {at.node_id: at.rack for at in self.addresses.values()})
        self._rack_aware = selector_of(config.replica_selector_class or "") == RACK_AWARE
        self.users = Users(rng, {} if config.sasl is None else config.sasl.users)
        self.tokens = Tokens(config.delegation_tokens, rng)
        self.topics = Catalog(rng, self.settings, self.node_ids, self.replication)
        self.authorizer = (
            None
            if config.authorizer is None
            else Authorizer(config.authorizer, ranges=config.release >= RANGES_SINCE)
        )
        self.quotas: Quotas | None = None  # None: none was ever set
        self.mishaps = Mishaps()
        self.pushes = Pushes()
        self.nodes: dict[int, Node] = {}
        self.internal = InternalTopics(self)
        self.share_states = ShareStates(self.share_journal)
        self.controller_epoch = 1  # how many controllers there have been
        self.now_ms = 0  # of the input that is being handled
        self._producer_ids = count()

    @property
    def controller_id(self) -> int:
        """The node that clients are told to administer the cluster by; any node does it."""
        return self.live[0] if self.live else NOBODY

    @property
    def live_addresses(self) -> list[Address]:
        """The nodes that clients are told of."""
        return [self.addresses[node_id] for node_id in self.live]

    def wall_ms(self, now_ms: int) -> int:
        """The time of day."""
        return now_ms + self.wall_offset_ms

    def clock_of(self, node_id: int) -> NodeClock:
        """What a node's coordinators go by."""
        return self._clocks.get(node_id) or CommonClock(self.wall_offset_ms)

    def with_quotas(self) -> Quotas:
        """The quotas of clients; nodes count from the first time on that they are asked for."""
        if self.quotas is None:
            from kcore.broker.quotas.quotas import Quotas  # noqa: PLC0415 - few brokers have any

            self.quotas = Quotas(self)
            for node in self.nodes.values():
                node.begin_throttling(self.quotas)
        return self.quotas

    def new_producer_id(self) -> int:
        """An id no producer of this cluster has had."""
        producer_id = next(self._producer_ids)
        if self.replication.store is not None:
            self.replication.store.producer_id_given(producer_id)
        return producer_id

    def begin_producer_ids_at(self, first: int) -> None:
        """Those before have been given."""
        self._producer_ids = count(first)

    def finalize(self, levels: Mapping[str, int]) -> None:
        """Use features up to these levels from now on."""
        self.features.set(levels, self.features.epoch + 1)
        if self.replication.store is not None:
            self.replication.store.features_changed(self.features.levels, self.features.epoch)
        for node in self.nodes.values():
            node.finalized()

    # Topics --------------------------------------------------------------------------------------

    def find(
        self, name: str | None, topic_id: bytes, *, by_id: bool
    ) -> tuple[Topic | None, ErrorCode]:
        """The topic of a request, or what to answer if there is none."""
        topic = self.topics.get(None if by_id else name, topic_id)
        if topic is not None:
            return topic, ErrorCode.NONE
        return None, (ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def ensure(self, name: str) -> Topic | None:
        """A topic, made now if it does not exist and that is allowed; None otherwise.

        RefusedError if it cannot have that name.
        """
        topic = self.topics.get(name)
        if topic is not None or not self.config.auto_create_topics:
            return topic
        if name in INTERNAL_TOPICS:
            topic = self.internal.ensure(name)
        else:
            topic = self.topics.create(
                name,
                self.config.num_partitions,
                replication_factor=min(self.config.default_replication_factor, len(self.node_ids)),
            )
        return topic

    def delete(self, topic: Topic, now_ms: int) -> None:
        """Delete a topic: whoever waits for its records is told, offsets committed in it go."""
        self.delete_all([topic], now_ms)

    def delete_all(self, topics: Collection[Topic], now_ms: int) -> None:
        """The same of several. What else there is to look through is looked through once."""
        if not topics:
            return
        self.now_ms = now_ms
        for topic in topics:
            self.topics.delete(topic)
        self.settle_coordinators(now_ms)  # first: with their topic, what they keep is gone
        names = {topic.name for topic in topics}
        topic_ids = {topic.topic_id for topic in topics}
        for topic in topics:
            self.internal.topic_deleted(topic.name)
        if SHARES_TOPIC in names:
            self.share_states.reset()
        self.share_states.forget_topics(topic_ids)
        places = [(topic.name, at.number) for topic in topics for at in topic.partitions]
        for node in self.nodes.values():
            node.fetches.recheck(places)
            node.groups.delete_topics(names, now_ms)
            node.shares.forget(None, topic_ids)

    def configured(self, topics: Iterable[Topic], now_ms: int) -> None:
        """Options of topics have changed: leaders may be found, more may be readable."""
        changed = list(topics)
        for topic in changed:
            for partition in topic.partitions:
                partition.tick(now_ms)
        self.elect(now_ms, changed)

    def partition(self, name: str, number: int) -> Partition:
        """A partition, whoever leads it. RefusedError if there is none."""
        topic = self.topics.get(name)
        if topic is None or not 0 <= number < len(topic.partitions):
            raise RefusedError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "This server does not host this topic-partition.",
            )
        return topic.partitions[number]

    def lead(
        self, node_id: int, topic: Topic | None, number: int, current_epoch: int = -1
    ) -> Partition:
        """The partition, if the node leads it and the client knows its epoch (KIP-320).

        RefusedError with the code to answer.
        """
        partition = self.host(node_id, topic, number, current_epoch)
        if partition.leader != node_id:
            raise RefusedError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"node {partition.leader} leads it"
            )
        return partition

    def host(
        self, node_id: int, topic: Topic | None, number: int, current_epoch: int = -1
    ) -> Partition:
        """The partition, if the node has a replica, leader or follower; the rest as in `lead`."""
        if topic is None or not 0 <= number < len(topic.partitions):
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such partition")
        partition = topic.partitions[number]
        if node_id not in partition.logs:
            raise RefusedError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"node {node_id} does not have it")
        if current_epoch >= 0 and current_epoch != partition.leader_epoch:
            old = current_epoch < partition.leader_epoch
            code = ErrorCode.FENCED_LEADER_EPOCH if old else ErrorCode.UNKNOWN_LEADER_EPOCH
            raise RefusedError(code, f"the leader epoch is {partition.leader_epoch}")
        return partition

    def preferred_replica(self, partition: Partition, rack: str, offset: int) -> int:
        """The follower that a consumer of this rack is sent to; NO_REPLICA: the leader."""
        if not self._rack_aware:
            return NO_REPLICA
        return preferred_replica(self, partition, rack, offset)

    def move_leader(self, topic: Topic, number: int, node_id: int, now_ms: int) -> None:
        """Let another node lead a partition: a new leader epoch, and who waits at the old one is
        told. A node that has no replica gets the leader's. A node that is not in sync loses what it
        lacks.
        """
        self.move_leader_of(topic.partitions[number], node_id, now_ms)

    def move_leader_of(self, partition: Partition, node_id: int, now_ms: int) -> None:
        """The same."""
        self.now_ms = now_ms
        if node_id in partition.logs:
            partition.lead(node_id, now_ms)
        else:
            partition.replace(node_id, now_ms)
        self.settle_coordinators(now_ms)

    # Nodes ---------------------------------------------------------------------------------------

    def stop_node(self, node_id: int, now_ms: int) -> None:
        """A node is gone: its connections end, replicas in sync lead its partitions, other nodes
        keep its groups from what their journals say. Its logs stay as they are.
        """
        self.now_ms = now_ms
        before = self.controller_id
        self.live.remove(node_id)
        self.controller_epoch += self.controller_id != before
        self.nodes[node_id].stop(now_ms)
        for partition in self._partitions_of(node_id):
            # The last one in sync stays so: nobody else has everything.
            if node_id in partition.isr and len(partition.isr) > 1:
                partition.isr.remove(node_id)
            if partition.leader == node_id:
                partition.lead(self.successor(partition), now_ms)
            else:
                partition.settle(now_ms)
        self.settle_coordinators(now_ms)

    def fence_node(self, node_id: int, now_ms: int) -> None:
        """The controller has heard nothing of a node for broker.session.timeout.ms: for all others
        it is gone, while its connections stay.
        """
        self.stop_node(node_id, now_ms)
        self.nodes[node_id].pause()

    def start_node(self, node_id: int, now_ms: int) -> None:
        """It is back: it cuts off what the leaders do not have and follows them, and leads what
        nobody else could. What else it led, it leads again when preferred leaders are elected.
        """
        self.now_ms = now_ms
        before = self.controller_id
        self.live.append(node_id)
        self.live.sort()
        self.controller_epoch += self.controller_id != before
        for partition in self._partitions_of(node_id):
            if partition.leader != NOBODY:
                partition.settle(now_ms)
        self.elect(now_ms)

    def elect(self, now_ms: int, topics: Iterable[Topic] | None = None) -> None:
        """Find leaders for partitions that have none. topics: whose; None: all."""
        for topic in self.topics.topics() if topics is None else topics:
            for partition in topic.partitions:
                if partition.leader == NOBODY:
                    successor = self.successor(partition)
                    if successor != NOBODY:
                        partition.lead(successor, now_ms)
        self.settle_coordinators(now_ms)

    def elect_preferred(self, now_ms: int) -> None:
        """Let the first replica of each partition lead it again, where it can."""
        for topic in self.topics.topics():
            for number, partition in enumerate(topic.partitions):
                first = partition.replicas[0]
                if partition.leader != first and first in partition.isr and first in self.live:
                    self.move_leader(topic, number, first, now_ms)

    def keep_balance(self, node_id: int, now_ms: int) -> None:
        """From time to time the controller lets the preferred leaders lead."""
        if node_id == self.controller_id and self.config.auto_leader_rebalance_enable:
            self.elect_preferred(now_ms)

    def successor(self, partition: Partition) -> int:
        """Who can lead: a live replica in sync, or any live one if the topic allows for losses."""
        live = [one for one in partition.replicas if one in self.live]
        able = [one for one in live if one in partition.isr]
        if not able and partition.log.config.unclean_leader_election_enable:
            able = live
        return able[0] if able else NOBODY

    def _partitions_of(self, node_id: int) -> Iterator[Partition]:
        for topic in self.topics.topics():
            for partition in topic.partitions:
                if node_id in partition.logs:
                    yield partition

    def settle_coordinators(self, now_ms: int) -> None:
        """Have nodes keep what the partitions of internal topics say that they lead now."""
        if not self.internal.moved:
            return
        self.internal.moved = False
        nodes = [self.nodes[node_id] for node_id in self.live if node_id in self.nodes]
        for node in nodes:
            node.groups.take_over(now_ms)
        for node in nodes:  # after those: markers go to where the groups are now
            node.transactions.take_over(now_ms)

    # Coordinators --------------------------------------------------------------------------------

    def coordinator_of(self, group_id: str) -> int:
        """The node that keeps a group."""
        partitions = self.config.coordinator.offsets_topic_num_partitions
        return self.internal.keeper(OFFSETS_TOPIC, partition_for(group_id, partitions))

    def move_coordinator(self, partition: int, node_id: int, now_ms: int) -> None:
        """Let another node, which is up, lead a partition of the coordinators' journals."""
        self.internal.move(partition, node_id, now_ms)

    def journal(self, offsets_partition: int) -> Journal:
        """The journal of a partition."""
        return self.internal.journal(OFFSETS_TOPIC, offsets_partition)

    def _group_options(self, group_id: str) -> GroupOptions:
        return self.settings.of(group_id, self.coordinator_of(group_id))

    def consumer_options(self, group_id: str) -> ConsumerOptions:
        """What is set for a consumer group, over what the nodes say."""
        return self._group_options(group_id).consumer

    # Share groups --------------------------------------------------------------------------------

    def share_options(self, group_id: str) -> ShareOptions:
        """What is set for a share group, over what the nodes say."""
        options = self._group_options(group_id).share
        if options.errors_deadletterqueue_topic_name and not self.features.has_dead_letters:
            return replace(options, errors_deadletterqueue_topic_name="")
        return options

    def share_offset(self, group_id: str, topic_id: bytes, partition: int) -> ShareOffset:
        """How far a share group is in a partition (KIP-1226: lag)."""
        kept = self.share_states.get((group_id, topic_id, partition))
        topic = self.topics.get(None, topic_id)
        if kept is None or topic is None or partition >= len(topic.partitions):
            return NOT_STARTED
        if kept.start_offset == UNINITIALIZED:
            return NOT_STARTED
        at = topic.partitions[partition]
        lag = max(at.log.high_watermark - kept.start_offset - kept.complete_count, 0)
        return ShareOffset(kept.start_offset, at.leader_epoch, lag)

    def alter_share_offset(
        self, group_id: str, topic_id: bytes, partition: int, offset: int
    ) -> None:
        """A share group begins there from now on."""
        key = group_id, topic_id, partition
        kept = self.share_states.get(key) or Kept()
        self.share_states.put(
            key, Kept(kept.state_epoch + 1, start_offset=offset), self.wall_ms(self.now_ms)
        )

    def share_journal(self, partition: int) -> Journal:
        """The journal of a partition of `__share_group_state`."""
        return self.internal.journal(SHARES_TOPIC, partition)

    def forget_share_group(self, group_id: str, topic_ids: Iterable[bytes] | None = None) -> None:
        """A share group is gone, or what it has read of some topics."""
        topics = None if topic_ids is None else set(topic_ids)
        self.share_states.forget(group_id, topics)
        for node in self.nodes.values():
            node.shares.forget(group_id, topics)

    # Streams groups ------------------------------------------------------------------------------

    def streams_options(self, group_id: str) -> StreamsOptions:
        """What is set for a streams group, over what the nodes say."""
        return self._group_options(group_id).streams

    def create_internal_topics(self, topics: Iterable[InternalTopic]) -> dict[str, str]:
        """Topics of an application, whose members are told why some cannot be made."""
        errors = {}
        for topic in topics:
            factor = topic.replication_factor
            if factor in {0, DEFAULT_FACTOR}:
                factor = self.config.default_replication_factor
            try:
                self.topics.create(
                    topic.name, topic.partitions, dict(topic.configs), replication_factor=factor
                )
            except RefusedError as refused:
                errors[topic.name] = refused.why
        return errors

    # Transactions --------------------------------------------------------------------------------

    def transaction_coordinator_of(self, transactional_id: str) -> int:
        """The node that keeps a transactional id."""
        partitions = self.config.transactions.transaction_state_log_num_partitions
        return self.internal.keeper(
            TRANSACTIONS_TOPIC, partition_for(transactional_id, partitions)
        )

    def transaction_journal(self, partition: int) -> Journal:
        """The journal of a partition of `__transaction_state`."""
        return self.internal.journal(TRANSACTIONS_TOPIC, partition)
