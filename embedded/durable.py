"""A node whose answers wait until the store has what they say."""

from __future__ import annotations

from kcore.actions import Action, Disconnect
from kcore.broker import Cluster, Node
from kcore.broker.calls import Call
from kcore.broker.refusals import refusal
from kcore.embedded.disk import StorageError
from kcore.embedded.store import Store
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import ProduceRequest


class DurableNode(Node):
    """A node of a cluster that is kept in a folder."""

    def __init__(self, cluster: Cluster, node_id: int, now_ms: int, store: Store) -> None:
        self._store = store
        super().__init__(cluster, node_id, now_ms)

    def next_action(self) -> Action | None:
        """As `Node.next_action`; what cannot be kept is not answered."""
        action = super().next_action()
        if action is not None and self._store.sync_first:
            try:
                self._store.sync()
            except StorageError as error:
                self.faults.append(error)
                return Disconnect(action.link)
        return action

    def _handle(self, call: Call, message: Message) -> None:
        """As `Node`; once the store has failed, records are refused as Kafka does whose log
        directory has (KAFKA_STORAGE_ERROR).
        """
        if self._store.disk.failed and isinstance(message, ProduceRequest) and message.acks:
            self.answer(call, refusal(message, call.version, ErrorCode.KAFKA_STORAGE_ERROR))
        else:
            super()._handle(call, message)

    def deadline(self) -> int:
        """As `Node.deadline`."""
        return min(super().deadline(), self._store.deadline())

    def handle_deadline(self, now_ms: int) -> None:
        """As `Node.handle_deadline`."""
        if self._store.deadline() <= now_ms:
            self._store.sync()
        super().handle_deadline(now_ms)
