"""What membership needs to know of the consumer around it; `kcore.consumer` implements it."""

from __future__ import annotations

from collections.abc import Iterable

from kcore.hints import Protocol
from kcore.structs import OffsetAndMetadata, TopicPartition


class GroupHost(Protocol):
    """The subscription, the assignment and the positions, as the group sees them."""

    def subscribed_topics(self) -> list[str]:
        """The topics subscribed, sorted; for a pattern those that match now."""

    def remote_pattern(self) -> str | None:
        """A regular expression that the brokers are to match (KIP-848); None: there is none."""

    def covers(self, topic: str) -> bool:
        """Whether a topic is inside the subscription or matches the pattern."""

    def owned_partitions(self) -> list[TopicPartition]:
        """The partitions assigned now."""

    def consumed_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What may be committed: only records that the application has finished with."""

    def log_ids(self) -> dict[str, bytes]:
        """Ids of topics of which something that is assigned was read, also where they are gone."""

    def suspend(self, partitions: Iterable[TopicPartition]) -> None:
        """About to be revoked: no fetch, no delivery from now on."""

    def take_assignment(self, partitions: list[TopicPartition]) -> None:
        """Replace the assignment; partitions that stay keep their position and are not
        suspended.
        """

    def set_group_topics(self, topics: set[str] | None) -> bool:
        """Topics the leader needs metadata of, or whose partitions the brokers want this member to
        have (None: no more). True if all is at hand.
        """

    def metadata_fresh(self) -> bool:
        """Metadata of every topic that matters was asked for and answered."""
