"""What coordinators keep, as records of the topics that Kafka itself keeps it in.

A journal is one partition of such a topic (`internal.py`). What is appended to it is a batch in the
leader's log, and in the other replicas' at once; what there is to load is read from there. It is
compacted when most of it is old, by who appends to it, and not when a cleaner comes by: nobody else
sees to it that the journals of a broker in memory stay small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from kcore.broker import markers
from kcore.broker.batches import read_header
from kcore.broker.compaction import clean, dirt
from kcore.coordinator import Entry, Item, Marker
from kcore.coordinator.journal import NO_PRODUCER
from kcore.records import RecordReader, encode_batch
from kcore.structs import COMMIT

if TYPE_CHECKING:
    from kcore.broker.internal import InternalTopics
    from kcore.broker.partitions import Partition

# It is compacted when so many bytes, and half of it, have been appended since the last time.
DIRTY_BYTES: Final = 4 << 20

_TAKE: Final = 1_000


class Journal:
    """One partition of an internal topic, which is made when it is appended to."""

    __slots__ = ("_name", "_number", "_topics")

    def __init__(self, topics: InternalTopics, name: str, number: int) -> None:
        self._topics = topics
        self._name = name
        self._number = number

    @property
    def epoch(self) -> int:
        """How often it got a new leader."""
        partition = self._partition()
        return 0 if partition is None else partition.leader_epoch

    def append(self, items: Iterable[Item]) -> None:
        """Keep entries that belong together, and markers, in their order."""
        self._topics.ensure(self._name)
        partition = self._partition()
        assert partition is not None
        now_ms = self._topics.now_ms
        for data in encode_items(items, partition.home.wall_ms(now_ms)):
            partition.add(data, now_ms)
        if len(partition.log.segments) > 1 and len(partition.log.segments[-1].ends) == 1:
            _compact(partition, now_ms)

    def entries(self) -> list[Item]:
        """All that there is to load, oldest first."""
        partition = self._partition()
        if partition is None:
            return []
        return [
            item
            for data in partition.log.batches()
            for item in decode_items(self._name, self._number, data)
        ]

    def _partition(self) -> Partition | None:
        return self._topics.partition(self._name, self._number)


def _compact(partition: Partition, now_ms: int) -> None:
    """A segment is full: look whether the logs are to be compacted."""
    wall_ms = partition.home.wall_ms(now_ms)
    for node_id, log in partition.logs.items():
        if not partition.home.is_live(node_id):
            continue
        found = dirt(log, wall_ms)
        if found.dirty_bytes >= max(DIRTY_BYTES, found.clean_bytes):
            for _ in clean(log, found.end_offset, wall_ms):
                pass


def encode_items(items: Iterable[Item], wall_ms: int) -> Iterator[bytes]:
    """Batches to append: one for entries that belong together, one for each marker."""
    for (producer_id, epoch, decision), run in groupby(items, _kind):
        if decision is not None:
            yield markers.marker_batch(producer_id, epoch, decision, wall_ms)
            continue
        in_transaction = producer_id != NO_PRODUCER
        yield encode_batch(
            [(wall_ms, item.key, item.value) for item in run if isinstance(item, Entry)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0 if in_transaction else -1,
            transactional=in_transaction,
        )


def decode_items(name: str, partition: int, data: bytes) -> list[Item]:
    """The entries of one batch, or its marker."""
    header = read_header(data)
    producer_id, epoch = header.producer_id, header.producer_epoch
    reader = RecordReader(name, partition, data, header.base_offset, keep_control=True)
    found: list[Item] = []
    while not reader.exhausted:
        found += [
            Entry(_bytes(record.key) or b"", _bytes(record.value), producer_id, epoch)
            for record in reader.take(_TAKE)
        ]
    found += [
        Marker(producer_id, epoch, control.kind == COMMIT, control.coordinator_epoch)
        for control in reader.control_records or ()
    ]
    return found


def _kind(item: Item) -> tuple[int, int, markers.Marker | None]:
    """What has to be the same for entries to share a batch; no two markers do."""
    decision = None
    if isinstance(item, Marker):
        decision = markers.Marker(item.committed, item.coordinator_epoch)
    return item.producer_id, item.producer_epoch, decision


def _bytes(value: bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
