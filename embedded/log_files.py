"""One replica's log as files, in the format of Kafka's own: batches back to back in `*.log`.

    <folder>/00000000000000000000.log      named after the first offset it may have
    <folder>/00000000000000123456.log
    <folder>/start-offset                  where the log starts, if that is not 0
    <folder>/partition.metadata            the topic's id, as Kafka keeps it

What a crash can leave is a torn batch at the end of the last file, or a file that a rewritten one
has taken the place of. `recover` reads as far as every batch is whole and its checksum holds, and
cuts off the rest: what is left is a prefix of what was appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from crc32c import crc32c

from kcore.broker.batches import HEADER_SIZE, read_header
from kcore.embedded.disk import Disk
from kcore.tuples import NamedTuple

# A file is closed and the next one begun beyond this.
FILE_BYTES: Final = 64 << 20

_PREFIX_SIZE: Final = 12  # base offset and length
_CRC_END: Final = 21  # what the checksum covers begins here
_MAGIC: Final = 2
_START: Final = "start-offset"


class _Place(NamedTuple):
    """A batch in a file."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class LogFiles:
    """A `LogStore` (kcore.broker.stores). Raises StorageError.

    prepare: makes the folder, when there is something to write; None: it is there.
    """

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        file_bytes: int = FILE_BYTES,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.folder = folder
        self._prepare = prepare
        self._disk = disk
        self._file_bytes = file_bytes
        self._files: list[tuple[int, int]] = []  # (first offset it may have, bytes)
        self._end_offset = 0

    # Told by the log -----------------------------------------------------------------------------

    def appended(self, data: bytes) -> None:
        """A batch was added at the end."""
        batch = read_header(data)
        self._begin()
        first, size = self._files[-1] if self._files else (0, 0)
        if not self._files or (size and size + len(data) > self._file_bytes):
            first, size = batch.base_offset, 0
            self._files.append((first, 0))
        self._disk.append(self._path(first), data)
        self._files[-1] = (first, size + len(data))
        self._end_offset = batch.last_offset + 1

    def truncated(self, end_offset: int) -> None:
        """Every batch that reached `end_offset` is gone."""
        while self._files and self._files[-1][0] >= end_offset:
            self._disk.remove(self._path(self._files.pop()[0]))
        self._end_offset = min(self._end_offset, end_offset)
        if not self._files:
            return
        first, _ = self._files[-1]
        path = self._path(first)
        for place in _places(path.read_bytes()):
            if place.last_offset >= end_offset:
                self._disk.truncate(path, place.position)
                self._files[-1] = (first, place.position)
                return

    def started(self, start_offset: int) -> None:
        """The log starts here now: files that end before go."""
        self._begin()
        self._disk.replace(self.folder / _START, b"%d\n" % start_offset)
        ends = [first for first, _ in self._files[1:]] + [self._end_offset]
        gone = sum(end <= start_offset for end in ends[: len(self._files)])
        for first, _ in self._files[:gone]:
            self._disk.remove(self._path(first))
        del self._files[:gone]
        self._end_offset = max(self._end_offset, start_offset)

    def replaced(self, first_offset: int, end_offset: int, batches: Sequence[bytes]) -> None:
        """Compaction: these batches are what is left from first_offset up to end_offset."""
        ends = [first for first, _ in self._files[1:]] + [self._end_offset]
        touched = [
            index
            for index, (first, _) in enumerate(self._files)
            if first < end_offset and ends[index] > first_offset
        ]
        if not touched:
            return
        before, after = [], []
        for index in touched:
            data = self._path(self._files[index][0]).read_bytes()
            for place in _places(data):
                whole = data[place.position : place.position + place.size]
                if place.last_offset < first_offset:
                    before.append(whole)
                elif place.base_offset >= end_offset:
                    after.append(whole)
        data = b"".join([*before, *batches, *after])
        first = self._files[touched[0]][0]
        self._disk.replace(self._path(first), data)
        for index in touched[1:]:
            self._disk.remove(self._path(self._files[index][0]))
        self._files[touched[0] : touched[-1] + 1] = [(first, len(data))]

    def _begin(self) -> None:
        prepare, self._prepare = self._prepare, None
        if prepare is not None:
            prepare()

    # Life ----------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Remove what another log of this name has left."""
        for path in [*self.folder.glob("*.log"), self.folder / _START]:
            self._disk.remove(path)
        self._files.clear()

    def fill(self, batches: Iterator[bytes], start_offset: int) -> None:
        """Begin with what a log has already."""
        if start_offset:
            self.started(start_offset)
        for data in batches:
            self.appended(data)

    def recover(self) -> tuple[list[bytes], int]:
        """The batches that are whole, in their order, and where the log starts."""
        batches: list[bytes] = []
        paths = sorted(self.folder.glob("*.log"))
        start_offset = self._read_start(int(paths[0].stem) if paths else 0)
        expected, whole = 0, True
        for path in paths:
            first = int(path.stem)
            if not whole or first < expected:  # behind a torn one; replaced by the one before
                self._disk.remove(path)
                continue
            data = path.read_bytes()
            size = 0
            for place in _sound_places(data, expected):
                size = place.position + place.size
                expected = place.last_offset + 1
                if place.last_offset >= start_offset:
                    batches.append(data[place.position : size])
            whole = size == len(data)
            if not whole:
                self._disk.truncate(path, size)
            self._files.append((first, size))
        self._end_offset = max(expected, start_offset)
        for left in self.folder.glob("*.new"):
            self._disk.remove(left)
        return batches, start_offset

    def delete(self) -> None:
        """Remove every file, and the folder."""
        for path in list(self.folder.glob("*")):
            self._disk.remove(path)
        if self.folder.is_dir():
            self.folder.rmdir()
        self._files.clear()

    def _read_start(self, first_offset: int) -> int:
        """Where the log starts; with its first file if a crash took what says so, as in a Kafka."""
        try:
            return max(int((self.folder / _START).read_bytes()), 0)
        except FileNotFoundError:
            return 0
        except ValueError:
            return first_offset

    def _path(self, first_offset: int) -> Path:
        return self.folder / f"{first_offset:020d}.log"


def _places(data: bytes) -> Iterator[_Place]:
    """The batches of a file, as far as they are whole."""
    position = 0
    while position + HEADER_SIZE <= len(data):
        batch = read_header(memoryview(data)[position : position + HEADER_SIZE])
        size = batch.length + _PREFIX_SIZE
        if size < HEADER_SIZE or position + size > len(data):
            return
        last_offset = batch.last_offset
        yield _Place(position, size, batch.base_offset, last_offset)
        position += size


def _sound_places(data: bytes, expected: int) -> Iterator[_Place]:
    """The batches of a file up to the first one that is not what was written."""
    view = memoryview(data)
    for place in _places(data):
        batch = read_header(view[place.position : place.position + HEADER_SIZE])
        covered = view[place.position + _CRC_END : place.position + place.size]
        if (
            batch.magic != _MAGIC
            or place.base_offset < expected
            or batch.last_offset_delta < 0
            or crc32c(covered) != batch.crc & 0xFFFFFFFF
        ):
            return
        expected = place.last_offset + 1
        yield place
