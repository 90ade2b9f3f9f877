"""Opening one partition's record bytes, the way the options say."""

from __future__ import annotations

from collections.abc import Callable

from kcore.fetch.config import FetchConfig
from kcore.records import RecordReader
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple


class Slice(NamedTuple):
    """Record bytes of one partition, and the aborted transactions among them (read_committed)."""

    tp: TopicPartition
    data: bytes | bytearray | memoryview
    aborted: list[tuple[int, int]] | None

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    def copy(self) -> Slice:
        """The same in memory of its own."""
        return self._replace(data=bytes(self.data))


Opener = Callable[[Slice, int], RecordReader]


def opener(config: FetchConfig) -> Opener:
    """`open(slice, offset)`: a reader from `offset` on.

    It raises KafkaError if the first batch there has a header that cannot be used.
    """

    def open_slice(found: Slice, offset: int) -> RecordReader:
        return RecordReader(
            found.tp.topic,
            found.tp.partition,
            found.data,
            offset,
            check_crcs=config.check_crcs,
            aborted=found.aborted,
            key_deserializer=config.key_deserializer,
            value_deserializer=config.value_deserializer,
            max_batch_bytes=config.max_batch_bytes,
            keep_control=config.include_control_records,
        )

    return open_slice
