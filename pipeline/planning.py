"""Ranges of offsets: split by size for tasks, and cut to what a micro-batch may take.

The rules and the rounding are those of Spark's own source (KafkaOffsetRangeCalculator,
KafkaMicroBatchStream.rateLimit), so that the same options give the same ranges. That small ones
share a task (`pack`) is ours: theirs has no such rule, and no task of Python's price.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kcore.pipeline.offsets import Offsets
from kcore.structs import TopicPartition

# To be sent to another partition costs a task about as much as to read so many records.
RANGE_RECORDS: Final = 500


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Records of one partition from `begin` up to, not including, `end`."""

    topic: str
    partition: int
    begin: int
    end: int

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Offsets in it; records may be fewer."""
        return self.end - self.begin


def split(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records: int | None = None,
) -> list[OffsetRange]:
    """Ranges for tasks; empty ones are left out.

    max_records: of a range. min_partitions: how many there should be at least; larger ranges are
    cut into more pieces than smaller ones.
    """
    wanted = [one for one in ranges if one.size > 0]
    if max_records is not None:
        wanted = [piece for one in wanted for piece in _cut(one, -(-one.size // max_records))]
    if min_partitions is None or len(wanted) >= min_partitions:
        return wanted
    total = sum(one.size for one in wanted)
    # Those that an even share leaves whole are left out of the sum for the others.
    whole = {one for one in wanted if _parts(one.size, total, min_partitions) == 1}
    rest = total - sum(one.size for one in whole)
    places = min_partitions - len(whole)
    return [
        piece
        for one in wanted
        for piece in _cut(one, 1 if one in whole else _parts(one.size, rest, places))
    ]


def _parts(size: int, total: int, places: int) -> int:
    return max(math.floor(size / total * places + 0.5), 1)


def _cut(one: OffsetRange, parts: int) -> list[OffsetRange]:
    """`parts` pieces of about the same size, or fewer: none of them is empty."""
    pieces: list[OffsetRange] = []
    begin = one.begin
    for left in range(min(parts, one.size), 0, -1):
        end = begin + (one.end - begin) // left
        pieces.append(OffsetRange(one.topic, one.partition, begin, end))
        begin = end
    return pieces


def pack(
    ranges: list[OffsetRange], least_records: int, min_partitions: int | None = None
) -> list[list[OffsetRange]]:
    """The ranges of each task: small neighbours share one until it is worth its cost.

    least_records: what a task should have; a range counts as RANGE_RECORDS more than it has, for
    the consumer that it needs. min_partitions: so many tasks, if there are as many ranges.
    """
    costs = [one.size + RANGE_RECORDS for one in ranges]
    total = sum(costs)
    tasks = max(-(-total // least_records), min_partitions or 0)
    if tasks >= len(ranges):
        return [[one] for one in ranges]
    packed: list[list[OffsetRange]] = [[] for _ in range(tasks)]
    before = 0
    for one, cost in zip(ranges, costs, strict=True):
        packed[(before + cost // 2) * tasks // total].append(one)  # where its middle is
        before += cost
    packed = [taken for taken in packed if taken]
    # A range that has most of it all leaves the places beside its middle empty.
    while len(packed) < (min_partitions or 0):
        most = max(range(len(packed)), key=lambda place: len(packed[place]))
        half = len(packed[most]) // 2
        packed[most : most + 1] = [packed[most][:half], packed[most][half:]]
    return packed


def limit_offsets(begin: Offsets, end: Offsets, limit: int) -> Offsets:
    """Where a micro-batch ends that takes about `limit` offsets, from each partition in proportion
    to what it has.
    """
    sizes = {tp: end[tp] - begin[tp] for tp in end if tp in begin and end[tp] > begin[tp]}
    total = sum(sizes.values())
    found: Offsets = {}
    for tp, until in end.items():
        size = sizes.get(tp)
        if size is None:
            found[tp] = until
            continue
        share = limit * (size / total)
        # Slow partitions must move, too: less than one record is one.
        taken = math.ceil(share) if share < 1 else math.floor(share)
        found[tp] = min(begin[tp] + taken, until)
    return found
