from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypedDict, Unpack, final

from kcore.records.record import Header

_Field: TypeAlias = bytes | bytearray | memoryview | None
_NewRecord: TypeAlias = tuple[int, _Field, _Field] | tuple[int, _Field, _Field, Sequence[Header]]

class _BatchOptions(TypedDict, total=False):
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
    expected_bytes: int

@final
class BatchBuilder:
    def __init__(self, **options: Unpack[_BatchOptions]) -> None: ...
    @property
    def record_count(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def append(
        self,
        timestamp: int,
        key: _Field,
        value: _Field,
        headers: Sequence[Header] = ...,
        offset: int | None = ...,
    ) -> None: ...
    def seal(self, last_offset: int | None = ...) -> bytearray: ...
    def finish(self, last_offset: int | None = ...) -> bytes: ...

def stamp(batch: bytearray, producer_id: int, producer_epoch: int, base_sequence: int) -> None: ...
def encode_batch(
    records: Iterable[_NewRecord],
    *,
    offsets: Iterable[int] | None = ...,
    last_offset: int | None = ...,
    **options: Unpack[_BatchOptions],
) -> bytes: ...
