"""What the coordinator asks of whoever keeps the state of share-partitions, and what is set for
their groups: in Kafka another coordinator and the configuration, here the owner.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kcore.coordinator.share.options import ShareOptions
from kcore.tuples import NamedTuple


class ShareOffset(NamedTuple):
    """How far a group is in a partition.

    start: -1 if nobody has read yet. lag: how many records are not done, -1 if that is not known.
    """

    start: int
    leader_epoch: int
    lag: int


NOT_STARTED = ShareOffset(-1, 0, -1)


class ShareKeeper(Protocol):
    """The owner's side. Topics go by their ids (16 bytes)."""

    def share_options(self, group_id: str) -> ShareOptions:
        """What is set for a group, over what the brokers say."""

    def share_offset(self, group_id: str, topic_id: bytes, partition: int) -> ShareOffset:
        """How far a group is."""

    def alter_share_offset(
        self, group_id: str, topic_id: bytes, partition: int, offset: int
    ) -> None:
        """The group begins there from now on, and knows nothing of what was delivered."""

    def forget_share_group(self, group_id: str, topic_ids: Iterable[bytes] | None = None) -> None:
        """Nothing of the group, or of these topics in it, is kept any more."""
