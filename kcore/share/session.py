"""A share session with one broker (KIP-932): which partitions are in it, and its epoch.

One request at a time: each carries the next epoch, and says only what changes. Whatever goes wrong
with it begins a new one, and the locks of the old one are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcore.structs import TopicPartition

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1

Topics = dict[TopicPartition, bytes]  # topic ids


class ShareSession:
    """epoch: of the next request; INITIAL_EPOCH while there is none. partitions: in it."""

    __slots__ = ("epoch", "partitions")

    def __init__(self) -> None:
        self.epoch = INITIAL_EPOCH
        self.partitions: Topics = {}

    @property
    def open(self) -> bool:
        """Whether the broker holds it, for all we know."""
        return self.epoch != INITIAL_EPOCH

    def change_to(self, wanted: Mapping[TopicPartition, bytes]) -> tuple[Topics, Topics]:
        """Have these partitions in it from the next request on: what that has to add and forget."""
        before, self.partitions = self.partitions, dict(wanted)
        if not self.open:
            return dict(wanted), {}
        added = {tp: topic for tp, topic in wanted.items() if before.get(tp) != topic}
        forgotten = {tp: topic for tp, topic in before.items() if wanted.get(tp) != topic}
        return added, forgotten

    def answered(self) -> None:
        """A request was taken in: the next one has the next epoch."""
        self.epoch = 1 if self.epoch == _EPOCH_MAX else self.epoch + 1

    def reset(self) -> None:
        """It is gone, or nobody knows: the next request opens another."""
        self.epoch = INITIAL_EPOCH
        self.partitions = {}
