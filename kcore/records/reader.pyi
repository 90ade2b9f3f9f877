from collections.abc import Callable, Iterable
from typing import Any, Self, TypeAlias, final

from kcore.records.acquired import Acquired
from kcore.records.columns import Columns
from kcore.records.markers import ControlRecord
from kcore.records.record import ConsumerRecord, Header

Deserializer: TypeAlias = Callable[[str, list[Header], bytes | None], Any]

@final
class RecordReader:
    def __new__(
        cls,
        topic: str,
        partition: int,
        data: bytes | bytearray | memoryview,
        fetch_offset: int,
        *,
        check_crcs: bool = True,
        aborted: Iterable[tuple[int, int]] | None = None,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        max_batch_bytes: int = 67_108_864,
        keep_control: bool = False,
        acquired: Acquired | None = None,
    ) -> Self: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def control_records(self) -> list[ControlRecord] | None: ...
    @property
    def acquired(self) -> Acquired | None: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def next_epoch(self) -> int: ...
    @property
    def end_epoch(self) -> int: ...
    @property
    def has_batches(self) -> bool: ...
    @property
    def exhausted(self) -> bool: ...
    @property
    def size_bytes(self) -> int: ...
    taken_bytes: int
    taken_records: int
    def take(self, max_records: int, max_bytes: int = ...) -> list[ConsumerRecord]: ...
    def take_columns(self, out: Columns) -> int: ...
