"""What the coordinator of streams groups asks of its owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kcore.coordinator.streams.options import StreamsOptions
from kcore.coordinator.streams.topology import InternalTopic


class StreamsKeeper(Protocol):
    """The owner's side."""

    def streams_options(self, group_id: str) -> StreamsOptions:
        """What is set for a group, over what the brokers say."""

    def create_internal_topics(self, topics: Iterable[InternalTopic]) -> Mapping[str, str]:
        """Make topics for an application, whose partitions are known; the answer says of those that
        could not be made why.
        """
