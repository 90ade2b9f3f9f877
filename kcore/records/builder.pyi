from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypedDict, Unpack, final

from kcore.records.record import Header

Field: TypeAlias = bytes | bytearray | memoryview | None
NewRecord: TypeAlias = tuple[int, Field, Field] | tuple[int, Field, Field, Sequence[Header]]

class BatchOptions(TypedDict, total=False):
    base_offset: int
    codec: str
    level: int | None
    leader_epoch: int
    append_time_ms: int | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    delete_horizon_ms: int | None

@final
class BatchBuilder:
    def __init__(self, **options: Unpack[BatchOptions]) -> None: ...
    @property
    def record_count(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def append(
        self,
        timestamp: int,
        key: Field,
        value: Field,
        headers: Sequence[Header] = ...,
        offset: int | None = ...,
    ) -> None: ...
    def finish(self, last_offset: int | None = ...) -> bytes: ...

def encode_batch(
    records: Iterable[NewRecord],
    *,
    offsets: Iterable[int] | None = ...,
    last_offset: int | None = ...,
    **options: Unpack[BatchOptions],
) -> bytes: ...
