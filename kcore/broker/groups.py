"""A node's group coordinator: which partitions of the journal it keeps, its answers, its entries.

It keeps those that it leads (`internal.py`). Journals cannot fail here, so entries count as
appended when they are given out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kcore.broker.calls import Call
from kcore.coordinator import GroupCoordinator, Marker
from kcore.coordinator.journal import OFFSETS_TOPIC
from kcore.wire.apis import ApiKey
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
        led = self._cluster.internal.led_by(self._node_id, OFFSETS_TOPIC)
        for partition in sorted(self._led.difference(led)):
            self._led.remove(partition)
            self._coordinator.handle_resigned(partition, local_ms)
        for partition in sorted(led.difference(self._led)):
            self._led.add(partition)
            self._coordinator.handle_elected(partition)
            entries = self._cluster.journal(partition).entries()
            self._coordinator.handle_entries(partition, entries, local_ms)
            self._coordinator.handle_loaded(partition, local_ms)
            for topic in self._cluster.internal.missed_deletions(partition):
                self._coordinator.delete_topics({topic}, local_ms, partition)
        self.settle()

    def request(self, call: Call, message: Message) -> None:
        """A request for the coordinator; it answers by `call.answer`."""
        if call.key is not ApiKey.LIST_GROUPS:  # that asks for what there is
            self._cluster.internal.ensure(OFFSETS_TOPIC)
        local_ms = self._clock.read(call.now_ms)
        self._coordinator.handle_request(call.caller(), call.version, message, local_ms)
        self.settle()

    def delete_topics(self, topics: Collection[str], now_ms: int) -> None:
        """Offsets committed in topics that are gone go, too."""
        self._coordinator.delete_topics(topics, self._clock.read(now_ms))
        self.settle()

    def keeps(self, partition: int) -> bool:
        """Whether this node has that partition of the journal."""
        self._cluster.internal.ensure(OFFSETS_TOPIC)
        return partition in self._led

    def end_transaction(
        self, partition: int, marker: Marker, now_ms: int, *, transaction_version: int
    ) -> ErrorCode:
        """Decide about the offsets that a producer has pending in a partition of the journal."""
        local_ms = self._clock.read(now_ms)
        error = self._coordinator.end_transaction(
            partition, marker, local_ms, transaction_version=transaction_version
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
