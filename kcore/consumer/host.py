"""What the group room may ask of the consumer around it (`kcore.group.host.GroupHost`)."""

from __future__ import annotations

from collections.abc import Iterable

from kcore.cluster.refresh import Refresher
from kcore.connection.calls import ClusterView
from kcore.consumer.config import ConsumerConfig
from kcore.consumer.subscription import Mode, Subscription
from kcore.fetch.positions import Positions
from kcore.structs import OffsetAndMetadata, TopicPartition


class Host:
    """Answers from the subscription and the positions, and keeps the metadata interest in step with
    both.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        subscription: Subscription,
        positions: Positions,
        view: ClusterView,
        refresher: Refresher,
    ) -> None:
        self._config = config
        self._subscription = subscription
        self._positions = positions
        self._view = view
        self._refresher = refresher
        self._group_topics: set[str] = set()

    # -- GroupHost ---------------------------------------------------------------------------------

    def subscribed_topics(self) -> list[str]:
        """Sorted; for a pattern the topics that match now; empty without a subscription, and for a
        pattern that brokers match.
        """
        return sorted(self._subscription.topics)

    def remote_pattern(self) -> str | None:
        """The pattern that brokers are to match; None if there is none."""
        return self._subscription.remote_pattern

    def covers(self, topic: str) -> bool:
        """Whether the topic is inside the subscription or the pattern."""
        return self._subscription.covers(topic)

    def owned_partitions(self) -> list[TopicPartition]:
        """What is assigned now."""
        return self._positions.assigned()

    def consumed_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What may be committed now."""
        return self._positions.consumed()

    def log_ids(self) -> dict[str, bytes]:
        """Ids of topics of which something that is assigned was read."""
        return self._positions.log_ids()

    def suspend(self, partitions: Iterable[TopicPartition]) -> None:
        """Neither fetch nor hand over these any more: they are about to go."""
        self._positions.suspend(partitions)

    def take_assignment(self, partitions: list[TopicPartition]) -> None:
        """Replace the assignment; what stays keeps its state."""
        before = set(self._positions.assigned())
        self._positions.assign(partitions)
        self.update_interest()
        if self._config.await_acknowledgement:
            self._positions.hold([tp for tp in partitions if tp not in before])

    def set_group_topics(self, topics: set[str] | None) -> bool:
        """The leader's interest beside our own; True if metadata of all of them is at hand."""
        self._group_topics = set(topics or ())
        self.update_interest()
        return all(self._view.partitions(topic) is not None for topic in self._group_topics)

    def metadata_fresh(self) -> bool:
        """Metadata of every topic that matters was asked for and answered."""
        return self._refresher.covered

    # -- interest ----------------------------------------------------------------------------------

    def update_interest(self) -> None:
        """Tell the refresher which topics matter now (M5)."""
        if self._subscription.mode is Mode.PATTERN:
            self._refresher.set_topics(None)
            return
        topics = set(self._subscription.topics) | self._group_topics
        topics.update(tp.topic for tp in self._positions.assigned())
        # What the brokers have found is named by nobody: when it is deleted it stays away.
        named = self._subscription.mode is not Mode.REMOTE_PATTERN
        self._refresher.set_topics(topics, may_create=named)
