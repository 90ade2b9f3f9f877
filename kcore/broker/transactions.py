"""A node's transaction coordinator: which ids it keeps, its answers, its entries, its markers.

Journals cannot fail here, so entries count as appended when they are given out. Markers can: their
partition may have no leader, or too few replicas. They are tried again until they are written, or
their topic is gone. What a log refuses that knows a newer epoch is given up: the id stays as it was
decided until another node keeps it, as at a Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.endings import append_marker, end_offsets
from kcore.broker.features import TRANSACTIONS
from kcore.coordinator import Caller
from kcore.coordinator.journal import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kcore.coordinator.transactions import Markers, TransactionCoordinator
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import InitProducerIdRequest, ListTransactionsRequest

if TYPE_CHECKING:
    from kcore.broker.node import Node
    from kcore.broker.partitions import Partition
    from kcore.structs import TopicPartition

# When markers that could not be written are tried again.
_RETRY_MS: Final = 20

# A marker that is refused like this is not tried again, nor is its partition done with: the log
# knows a newer epoch of the producer, or of its coordinator.
_OVERTAKEN: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


class Fate(Enum):
    """What has become of a marker."""

    WRITTEN = "it is in its log, or its log is gone"
    LATER = "not yet"
    GIVEN_UP = "it is refused for good"


class _Asked:
    """A request of a node, not of a client."""

    __slots__ = ("answer",)

    def __init__(self, answer: Callable[[Message], None]) -> None:
        self.answer = answer


def _needs_journal(message: Message) -> bool:
    """Whether a request is about a transactional id, and not of who is idempotent only or asks for
    what there is.
    """
    if isinstance(message, InitProducerIdRequest):
        return message.transactional_id is not None
    return not isinstance(message, ListTransactionsRequest)


class _Unwritten:
    """Markers that are not in all their logs; `placed`: where they are, but not replicated yet."""

    __slots__ = ("left", "markers", "placed")

    def __init__(self, markers: Markers) -> None:
        self.markers = markers
        self.left = list(markers.partitions)
        self.placed: dict[TopicPartition, tuple[Partition, int, int]] = {}


class Transactions:
    """The transaction coordinator of one node."""

    def __init__(self, node: Node, now_ms: int) -> None:
        cluster = node.cluster
        version = cluster.features.levels.get(TRANSACTIONS, 0)
        config = replace(cluster.config.transactions, transaction_version=version)
        self._cluster = cluster
        self._clock = cluster.clock_of(node.node_id)
        self._node_id = node.node_id
        self._coordinator = TransactionCoordinator(
            config,
            cluster,
            cluster.topics,
            offsets_partitions=cluster.config.coordinator.offsets_topic_num_partitions,
            wall_offset_ms=self._clock.wall_offset_ms,
            immediate=True,
        )
        self._led: set[int] = set()
        self._unwritten: list[_Unwritten] = []
        self._retry_at = NEVER
        self.take_over(now_ms)

    def take_over(self, now_ms: int) -> None:
        """Keep the partitions of the journal that are this node's now, and give up the others."""
        local_ms = self._clock.read(now_ms)
        led = self._cluster.internal.led_by(self._node_id, TRANSACTIONS_TOPIC)
        gone = self._led.difference(led)
        for partition in sorted(gone):
            self._led.remove(partition)
            self._coordinator.handle_resigned(partition, local_ms)
        self._unwritten = [one for one in self._unwritten if one.markers.partition not in gone]
        for partition in sorted(led.difference(self._led)):
            self._led.add(partition)
            journal = self._cluster.transaction_journal(partition)
            self._coordinator.handle_elected(partition, journal.epoch)
            self._coordinator.handle_entries(partition, journal.entries(), local_ms)
            self._coordinator.handle_loaded(partition, local_ms)
        self.settle(now_ms)

    def finalized(self) -> None:
        """Levels of features have been set: what the coordinator decides by itself follows them."""
        self._coordinator.handle_finalized(self._cluster.features.levels.get(TRANSACTIONS, 0))

    # Requests ------------------------------------------------------------------------------------

    def request(self, call: Call, message: Message) -> None:
        """A request for the coordinator; it answers by `call.answer`."""
        if _needs_journal(message):
            self._cluster.internal.ensure(TRANSACTIONS_TOPIC)
        local_ms = self._clock.read(call.now_ms)
        self._coordinator.handle_request(call.caller(), call.version, message, local_ms)
        self.settle(call.now_ms)

    def ask(
        self, message: Message, version: int, answer: Callable[[Message], None], now_ms: int
    ) -> None:
        """A request of another node, or of this one."""
        self._cluster.internal.ensure(TRANSACTIONS_TOPIC)
        local_ms = self._clock.read(now_ms)
        self._coordinator.handle_request(Caller(_Asked(answer)), version, message, local_ms)
        self.settle(now_ms)

    def handle_closed(self, link: int) -> None:
        """Nobody is there to get the answers."""
        self._coordinator.handle_closed(link)

    # Time ----------------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """Time has come."""
        self._coordinator.handle_deadline(self._clock.read(now_ms))
        if now_ms >= self._retry_at:
            self._retry_at = NEVER
            for unwritten in list(self._unwritten):
                self._write(unwritten, now_ms)
        self.settle(now_ms)

    def deadline(self) -> int:
        """When the coordinator wants to be called."""
        return min(self._clock.when(self._coordinator.deadline()), self._retry_at)

    def settle(self, now_ms: int) -> None:
        """Take what the coordinator gives out."""
        busy = True
        while busy:
            busy = False
            append = self._coordinator.next_append()
            while append is not None:
                self._cluster.transaction_journal(append.partition).append(append.entries)
                append = self._coordinator.next_append()
            markers = self._coordinator.next_markers()
            while markers is not None:
                busy = True
                unwritten = _Unwritten(markers)
                self._unwritten.append(unwritten)
                self._write(unwritten, now_ms)
                markers = self._coordinator.next_markers()
        if self._unwritten and self._retry_at == NEVER:
            self._retry_at = now_ms + _RETRY_MS
        reply = self._coordinator.next_reply()
        while reply is not None:
            assert isinstance(reply.token, (Call, _Asked))
            reply.token.answer(reply.message)
            reply = self._coordinator.next_reply()

    # Markers -------------------------------------------------------------------------------------

    def _write(self, unwritten: _Unwritten, now_ms: int) -> None:
        """Write the markers that can be written now."""
        fates = {tp: self._fate(unwritten, tp, now_ms) for tp in unwritten.left}
        written = [tp for tp, fate in fates.items() if fate is Fate.WRITTEN]
        unwritten.left = [tp for tp, fate in fates.items() if fate is Fate.LATER]
        if not unwritten.left:
            self._unwritten.remove(unwritten)
        if written:
            local_ms = self._clock.read(now_ms)
            self._coordinator.handle_marked(unwritten.markers, written, local_ms)

    def _fate(self, unwritten: _Unwritten, tp: TopicPartition, now_ms: int) -> Fate:
        markers = unwritten.markers
        if tp.topic == OFFSETS_TOPIC:
            if not self._reaches(self._cluster.internal.keeper(OFFSETS_TOPIC, tp.partition)):
                return Fate.LATER
            return _told(end_offsets(self._cluster, tp.partition, markers, now_ms))
        topic = self._cluster.topics.get(tp.topic)
        if topic is None or not 0 <= tp.partition < len(topic.partitions):
            return Fate.WRITTEN
        partition = topic.partitions[tp.partition]
        if not self._reaches(partition.leader):
            return Fate.LATER
        at = unwritten.placed.get(tp)
        if at is None or at[0] is not partition or at[1] != partition.leader_epoch:
            try:
                end_offset = append_marker(partition, markers, now_ms)
            except RefusedError as refused:
                return _told(refused.code)
            at = unwritten.placed[tp] = (partition, partition.leader_epoch, end_offset)
        return Fate.WRITTEN if partition.log.high_watermark >= at[2] else Fate.LATER

    def _reaches(self, node_id: int) -> bool:
        """Whether a node is up and goes on, and the link to it is up."""
        node = self._cluster.nodes.get(node_id)
        if node is None or node.paused:
            return False
        return self._cluster.replication.reach(self._node_id, node_id)


def _told(error: ErrorCode) -> Fate:
    """What follows when a marker is answered with this."""
    if error in _OVERTAKEN:
        return Fate.GIVEN_UP
    return Fate.LATER if error else Fate.WRITTEN
