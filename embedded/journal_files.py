"""A coordinator's journal as files: the record batches that Kafka's own internal topics have.

`kafka-dump-log --offsets-decoder` reads them. A journal is compacted
as it is written, so the files hold more than it says; they are written anew once most is old.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from kcore.broker.journals import Journal
from kcore.coordinator import Entry, Item
from kcore.coordinator.journal import NO_PRODUCER, Marker
from kcore.embedded.disk import Disk
from kcore.embedded.log_files import LogFiles
from kcore.records import RecordReader, encode_batch

# The files are written anew when they have so many times what the journal says, and this at least.
_WASTE_MAX: Final = 4
_REWRITE_BYTES: Final = 1 << 20

_MARKER_KEY: Final = struct.Struct(">hh")  # version, type
_MARKER_VALUE: Final = struct.Struct(">hi")  # version, coordinator epoch
_ABORT, _COMMIT = 0, 1
_TAKE: Final = 1_000


class KeptJournal(Journal):
    """A journal that is in files, too."""

    def __init__(self, name: str, partition: int, folder: Path, disk: Disk) -> None:
        super().__init__()
        self._name = name
        self._partition = partition
        self._disk = disk
        self._folder = folder
        self._files = LogFiles(folder, disk)
        self._next_offset = 0
        self._size = 0
        self._live = 0  # what the files had when they were written last
        if folder.is_dir():
            self._recover()

    def append(self, items: Iterable[Item]) -> None:
        """Keep them here, then in the files."""
        kept = list(items)
        super().append(kept)
        if not kept:
            return
        if not self._size:
            self._disk.make_folder(self._folder)
        self._write(kept)
        if self._size > _REWRITE_BYTES and self._size > _WASTE_MAX * self._live:
            self._rewrite()

    def _write(self, items: Sequence[Item]) -> None:
        for data in encode_items(items, self._next_offset, self.epoch):
            self._files.appended(data)
            self._size += len(data)
        self._next_offset += len(items)

    def _rewrite(self) -> None:
        """What the journal says, in the place of all that it was told."""
        batches = list(encode_items(self.items(), 0, self.epoch))
        self._files.replaced(0, self._next_offset, batches)
        self._live = self._size = sum(map(len, batches))

    def _recover(self) -> None:
        batches, _ = self._files.recover()
        for data in batches:
            items = decode_items(self._name, self._partition, data)
            super().append(items)
            self._size += len(data)
            self._next_offset = int.from_bytes(data[:8], "big") + len(items)
            self.epoch = int.from_bytes(data[12:16], "big", signed=True)
        self._live = self._size


def encode_items(items: Iterable[Item], offset: int, leader_epoch: int = 0) -> Iterator[bytes]:
    """Batches of journal entries from this offset on: one for those that belong together."""
    for (producer_id, epoch, decision), run in groupby(items, _kind):
        if decision is not None:
            for _ in run:
                key = _MARKER_KEY.pack(0, _COMMIT if decision else _ABORT)
                yield encode_batch(
                    [(0, key, _MARKER_VALUE.pack(0, 0))],
                    base_offset=offset,
                    leader_epoch=leader_epoch,
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    transactional=True,
                    control=True,
                )
                offset += 1
            continue
        records = [(0, item.key, item.value) for item in run if isinstance(item, Entry)]
        yield encode_batch(
            records,
            base_offset=offset,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0 if producer_id != NO_PRODUCER else -1,
            transactional=producer_id != NO_PRODUCER,
        )
        offset += len(records)


def decode_items(name: str, partition: int, data: bytes) -> list[Item]:
    """The entries of one batch."""
    base_offset = int.from_bytes(data[:8], "big")
    reader = RecordReader(name, partition, data, base_offset, keep_control=True)
    producer_id = int.from_bytes(data[43:51], "big", signed=True)
    epoch = int.from_bytes(data[51:53], "big", signed=True)
    found: list[Item] = []
    while not reader.exhausted:
        found += [
            Entry(_bytes(record.key) or b"", _bytes(record.value), producer_id, epoch)
            for record in reader.take(_TAKE)
        ]
    found += [
        Marker(producer_id, epoch, control.kind == _COMMIT)
        for control in reader.control_records or ()
    ]
    return found


def _kind(item: Item) -> tuple[int, int, bool | None]:
    """What has to be the same for entries to share a batch."""
    decision = item.committed if isinstance(item, Marker) else None
    return item.producer_id, item.producer_epoch, decision


def _bytes(value: bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
