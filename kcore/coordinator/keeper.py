"""What a group coordinator asks of its owner: of what share groups have read, of the options of
groups, and that topics be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from kcore.coordinator.consumer.options import ConsumerOptions
from kcore.coordinator.share.keeper import NOT_STARTED, ShareKeeper, ShareOffset
from kcore.coordinator.share.options import ShareOptions
from kcore.coordinator.streams.keeper import StreamsKeeper
from kcore.coordinator.streams.options import StreamsOptions
from kcore.coordinator.streams.topology import InternalTopic

if TYPE_CHECKING:
    from kcore.coordinator.config import CoordinatorConfig


class Keeper(ShareKeeper, StreamsKeeper, Protocol):
    """All of it."""

    def consumer_options(self, group_id: str) -> ConsumerOptions:
        """What is set for a consumer group, over what the brokers say."""


class NoKeeper:
    """For owners that keep no records: groups are there, and what they have read is not."""

    def __init__(self, config: CoordinatorConfig) -> None:
        self._config = config

    def consumer_options(self, _group_id: str) -> ConsumerOptions:
        """The same for all."""
        return self._config.consumer_options

    def share_options(self, _group_id: str) -> ShareOptions:
        """The same for all."""
        return self._config.share_options

    def share_offset(self, _group_id: str, _topic_id: bytes, _partition: int) -> ShareOffset:
        """Not known."""
        return NOT_STARTED

    def alter_share_offset(
        self, _group_id: str, _topic_id: bytes, _partition: int, _offset: int
    ) -> None:
        """Nothing to alter."""

    def forget_share_group(self, _group_id: str, _topic_ids: Iterable[bytes] | None = None) -> None:
        """Nothing to forget."""

    def streams_options(self, _group_id: str) -> StreamsOptions:
        """The same for all."""
        return self._config.streams_options

    def create_internal_topics(self, topics: Iterable[InternalTopic]) -> Mapping[str, str]:
        """Nobody makes topics here."""
        return {topic.name: "topics are not made here" for topic in topics}
