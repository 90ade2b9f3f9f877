"""A partitioner of the user's, of either kind that kafka-python has had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# (topic, key, key bytes, value, value bytes) -> partition
Chooser = Callable[[str, Any, bytes | None, Any, bytes | None], int]


class TopicView:
    """What a kafka.partitioner.Partitioner asks of its `cluster`."""

    def __init__(
        self, known: Callable[[str], set[int]], available: Callable[[str], list[int]], topic: str
    ) -> None:
        self._known = known
        self._available = available
        self._topic = topic

    def topics(self) -> set[str]:
        """The topic that is sent to."""
        return {self._topic}

    def partitions_for_topic(self, topic: str) -> set[int]:
        """All partitions."""
        return self._known(topic)

    def available_partitions_for_topic(self, topic: str) -> set[int]:
        """Those with a leader."""
        return set(self._available(topic))


def chooser(
    partitioner: Any, known: Callable[[str], set[int]], available: Callable[[str], list[int]]
) -> Chooser:
    """One call for both: a function of (key bytes, all partitions, those with a leader), and an
    object with `partition(topic, key, key bytes, value, value bytes, cluster)`.

    known: partitions of a topic, waited for if need be. available: those with a leader.
    """
    method = getattr(partitioner, "partition", None)

    def choose(
        topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None
    ) -> int:
        numbers = sorted(known(topic))
        if callable(method):
            view = TopicView(known, available, topic)
            number = method(topic, key, key_bytes, value, value_bytes, view)
        else:
            number = partitioner(key_bytes, numbers, available(topic))
        if number not in numbers:
            raise ValueError(f"the partitioner chose {number!r} of {topic}, which has {numbers}")
        return int(number)

    return choose
