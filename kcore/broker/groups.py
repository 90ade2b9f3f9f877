"""A node's group coordinator: which partitions of the journal it keeps, its answers, its entries.

Journals cannot fail here, so entries count as appended when they are given out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcore.broker.calls import Call
from kcore.coordinator import GroupCoordinator
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message

if TYPE_CHECKING:
    from kcore.broker.node import Node


class Groups:
    """The coordinator of one node."""

    def __init__(self, node: Node, now_ms: int) -> None:
        cluster = node.cluster
        self._cluster = cluster
        self._clock = cluster.clock_of(node.node_id)
        self._coordinator = GroupCoordinator(
            cluster.config.coordinator,
            cluster.rng,
            cluster.topics,
            wall_offset_ms=self._clock.wall_offset_ms,
            immediate=True,
            keeper=cluster,
        )
        self._node_id = node.node_id
        self._led: set[int] = set()
        self.take_over(now_ms)

    def take_over(self, now_ms: int) -> None:
        """Keep the partitions of the journal that are this node's now, and give up the others."""
        local_ms = self._clock.read(now_ms)
        for partition in range(self._cluster.config.coordinator.offsets_topic_num_partitions):
            mine = self._cluster.keeper_of(partition) == self._node_id
            if mine and partition not in self._led:
                self._led.add(partition)
                self._coordinator.handle_elected(partition)
                items = self._cluster.journal(partition).items()
                self._coordinator.handle_entries(partition, items, local_ms)
                self._coordinator.handle_loaded(partition, local_ms)
            elif not mine and partition in self._led:
                self._led.remove(partition)
                self._coordinator.handle_resigned(partition, local_ms)
        self.settle()

    def request(self, call: Call, message: Message) -> None:
        """A request for the coordinator; it answers by `call.answer`."""
        local_ms = self._clock.read(call.now_ms)
        self._coordinator.handle_request(call.caller(), call.version, message, local_ms)
        self.settle()

    def delete_topic(self, topic: str, now_ms: int) -> None:
        """Offsets committed in a topic that is gone go, too."""
        self._coordinator.delete_topic(topic, self._clock.read(now_ms))
        self.settle()

    def keeps(self, partition: int) -> bool:
        """Whether this node has that partition of the journal."""
        return partition in self._led

    def end_transaction(
        self, partition: int, producer_id: int, epoch: int, now_ms: int, *, committed: bool
    ) -> ErrorCode:
        """Decide about the offsets that a producer has pending in a partition of the journal."""
        local_ms = self._clock.read(now_ms)
        error = self._coordinator.end_transaction(
            partition, producer_id, epoch, committed, local_ms
        )
        self.settle()
        return error

    def handle_closed(self, link: int) -> None:
        """Nobody is there to get the answers."""
        self._coordinator.handle_closed(link)

    def expire(self, now_ms: int) -> None:
        """Time has come."""
        self._coordinator.handle_deadline(self._clock.read(now_ms))
        self.settle()

    @property
    def coordinator(self) -> GroupCoordinator:
        """The coordinator itself, to look at."""
        return self._coordinator

    def deadline(self) -> int:
        """When the coordinator wants to be called."""
        return self._clock.when(self._coordinator.deadline())

    def settle(self) -> None:
        """Take what the coordinator gives out."""
        append = self._coordinator.next_append()
        while append is not None:
            self._cluster.journal(append.partition).append(append.entries)
            append = self._coordinator.next_append()
        reply = self._coordinator.next_reply()
        while reply is not None:
            assert isinstance(reply.token, Call)
            reply.token.answer(reply.message)
            reply = self._coordinator.next_reply()
