"""Where `kcore consume` begins and ends in each partition, and offsets that the command line asks
for: those that are known, where a partition has no leader.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kcore.cli.endings import RefusalError
from kcore.cli.reading import is_place
from kcore.errors import KafkaTimeoutError
from kcore.structs import OffsetAndTimestamp, TopicPartition

if TYPE_CHECKING:
    from kcore import Consumer

_Found = dict[TopicPartition, int | None]

# How long partitions wait for one that nobody leads, unless the user has said how long calls may
# take. Electing a leader in place of a broker that is gone takes some 9 s (broker.session.timeout).
PATIENCE_MS: Final = 12_000
_SAID: Final = "default_api_timeout_ms"


def patience(settings: Mapping[str, object]) -> int | None:
    """ms; None: as calls are."""
    return None if _SAID in settings else PATIENCE_MS


def later() -> float:
    """When to ask who leads what of which nothing comes, on the monotonic clock (s)."""
    return time.monotonic() + PATIENCE_MS / 1_000


class Offsets:
    """What leaders say of partitions. lost: why nothing is known of one, which is left out of what
    is found. KafkaTimeoutError: nobody has said anything yet.
    """

    def __init__(self, consumer: Consumer, timeout_ms: int | None) -> None:
        self.lost: dict[TopicPartition, str] = {}
        self._consumer = consumer
        self._timeout_ms = timeout_ms
        self._heard = False

    def first(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each."""
        return _there(self._known(self._consumer.beginning_offsets, partitions))

    def end(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each."""
        return _there(self._known(self._consumer.end_offsets, partitions))

    def since(
        self, when: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int | None]:
        """The first offset of each with a time from @MS on."""
        wanted = dict.fromkeys(partitions, int(when[1:]))
        return self._known(self._consumer.offsets_for_times, wanted)

    def check(self, words: str = "") -> None:
        """RefusalError: why nothing is known of some. words: what that means of each."""
        if self.lost:
            said = (
                f"{tp.topic}-{tp.partition} {words}: {why}" if words else why
                for tp, why in sorted(self.lost.items())
            )  # fmt: skip
            raise RefusalError("\n".join(said))

    def _known(self, ask: Callable[..., Any], of: Iterable[TopicPartition]) -> _Found:
        found: Mapping[TopicPartition, Any]
        try:
            found = ask(of, timeout_ms=self._timeout_ms)
        except KafkaTimeoutError as error:
            if not (error.done or self._heard):
                raise
            self.lost.update((tp, str(why)) for tp, why in error.failed.items())
            found = error.done
        self._heard |= bool(found)
        return {
            tp: at.offset if isinstance(at, OffsetAndTimestamp) else at for tp, at in found.items()
        }


def _there(found: _Found) -> dict[TopicPartition, int]:
    return {tp: offset for tp, offset in found.items() if offset is not None}


def seek(
    consumer: Consumer, offsets: Offsets, start: str, partitions: Sequence[TopicPartition]
) -> None:
    """Go there, wherever that is known. start: see `ConsumeOptions`."""
    if start == "earliest":
        consumer.seek_to_beginning(*partitions)
    elif start == "latest":
        consumer.seek_to_end(*partitions)
    elif start.startswith("-"):
        ends = offsets.end(partitions)
        for partition, first in offsets.first(ends).items():
            consumer.seek(partition, max(first, ends[partition] + int(start)))
    elif start.startswith("@"):
        for partition, offset in offsets.since(start, partitions).items():
            if offset is None:
                consumer.seek_to_end(partition)
            else:
                consumer.seek(partition, offset)
    elif is_place(start):  # by duration begins where nothing is sought
        for partition in partitions:
            consumer.seek(partition, int(start))


def ends(
    offsets: Offsets, stop: str | None, at_end: bool, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """The first offset of each that is not read any more, where it is known. stop: an offset, which
    may be still to come, or @MS, and as far as there is nothing of that time the end. at_end: or
    the end, whichever is nearer.
    """
    if stop is not None and not stop.startswith("@"):
        last = int(stop)
        if not at_end:
            return dict.fromkeys(partitions, last)
        return {partition: min(last, end) for partition, end in offsets.end(partitions).items()}
    there = offsets.end(partitions)
    since = {} if stop is None else offsets.since(stop, there)
    behind = ((partition, since.get(partition)) for partition in there)
    return {partition: there[partition] if at is None else at for partition, at in behind}
