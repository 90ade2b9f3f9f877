"""Where `kcore consume` begins and ends in each partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcore.cli.reading import is_place

if TYPE_CHECKING:
    from kcore import Consumer
    from kcore.structs import TopicPartition


def seek(consumer: Consumer, start: str, partitions: Sequence[TopicPartition]) -> None:
    """Go there. start: see `ConsumeOptions`."""
    if start == "earliest":
        consumer.seek_to_beginning(*partitions)
    elif start == "latest":
        consumer.seek_to_end(*partitions)
    elif start.startswith("-"):
        begins = consumer.beginning_offsets(partitions)
        for partition, end in consumer.end_offsets(partitions).items():
            consumer.seek(partition, max(begins[partition], end + int(start)))
    elif start.startswith("@"):
        for partition, offset in _since(consumer, start, partitions).items():
            if offset is None:
                consumer.seek_to_end(partition)
            else:
                consumer.seek(partition, offset)
    elif is_place(start):  # by duration begins where nothing is sought
        for partition in partitions:
            consumer.seek(partition, int(start))


def ends(
    consumer: Consumer, stop: str | None, at_end: bool, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """The first offset of each that is not read any more. stop: an offset, which may be still to
    come, or @MS, and as far as there is nothing of that time the end. at_end: or the end, whichever
    is nearer.
    """
    if stop is not None and not stop.startswith("@"):
        found = dict.fromkeys(partitions, int(stop))
        if not at_end:
            return found
        there = consumer.end_offsets(partitions)
        return {partition: min(found[partition], there[partition]) for partition in partitions}
    there = consumer.end_offsets(partitions)
    since = {} if stop is None else _since(consumer, stop, partitions)
    behind = ((partition, since.get(partition)) for partition in partitions)
    return {partition: there[partition] if at is None else at for partition, at in behind}


def _since(
    consumer: Consumer, when: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """The first offset of each with a time from @MS on."""
    found = consumer.offsets_for_times(dict.fromkeys(partitions, int(when[1:])))
    return {partition: None if at is None else at.offset for partition, at in found.items()}
