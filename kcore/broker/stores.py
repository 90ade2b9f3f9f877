"""What a log tells whoever keeps it elsewhere, such as on a disk: every change, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kcore.broker.authorization.acls import Acl
    from kcore.broker.delegation.tokens import Token
    from kcore.broker.partitions import Partition
    from kcore.broker.quotas.table import Entity
    from kcore.broker.sasl.credentials import Credential
    from kcore.broker.topics import Topic


class LogStore(Protocol):
    """Told of the changes of one replica's log, after they happened here."""

    def appended(self, data: bytes) -> None:
        """A batch was added at the end; its offsets and epoch stand in it."""

    def truncated(self, end_offset: int) -> None:
        """Every batch that reached `end_offset` is gone."""

    def started(self, start_offset: int) -> None:
        """The log starts here now; batches that end before may go."""

    def replaced(self, first_offset: int, end_offset: int, batches: Sequence[bytes]) -> None:
        """Compaction: these batches are what is left from first_offset up to end_offset."""

    def delete(self) -> None:
        """The node has no replica of the partition any more: nothing of it is kept."""


class ClusterStore(Protocol):
    """Told of what a controller knows, after it changed and before anybody is answered."""

    def topic_changed(self, topic: Topic) -> None:
        """It was made, or has more partitions, or other options."""

    def topic_deleted(self, topic: Topic) -> None:
        """It is gone, and so are its records."""

    def partition_changed(self, partition: Partition) -> None:
        """Another node leads it, or others are in sync, or have replicas. The topic may not have
        been told of yet.
        """

    def settings_changed(self, settings: dict[str, dict[str, str]]) -> None:
        """Nodes have these options now: by node id as text, "" for all nodes."""

    def groups_changed(self, groups: dict[str, dict[str, str]]) -> None:
        """Groups have these options now: by group id."""

    def client_metrics_changed(self, subscriptions: dict[str, dict[str, str]]) -> None:
        """Clients are asked for these metrics now: options by the name of the subscription."""

    def acls_changed(self, added: Sequence[Acl], removed: Sequence[Acl]) -> None:
        """There are other entries of access control lists."""

    def credential_changed(self, user: str, mechanism: str, credential: Credential | None) -> None:
        """A user goes by that in a SCRAM mechanism; None: by nothing any more."""

    def token_changed(self, token_id: str, token: Token | None) -> None:
        """There is a delegation token, or it is good for longer; None: it is gone."""

    def quotas_changed(self, entity: Entity, values: Mapping[str, float]) -> None:
        """An entity has these quotas now; without any it has none."""

    def features_changed(self, levels: Mapping[str, int], epoch: int) -> None:
        """Features are used up to these levels now, all that there are."""

    def producer_id_given(self, producer_id: int) -> None:
        """No producer may get it again."""
