from typing import NamedTuple

class Survey(NamedTuple):
    records: int
    min_timestamp: int
    max_timestamp: int
    newest: int
    unkeyed: int
    sequential: bool

class OversizedRecordError(ValueError): ...

def survey(
    data: bytes | bytearray | memoryview, *, check_crc: bool = True, record_bytes_max: int = ...
) -> Survey: ...
def first_at_or_after(
    data: bytes | bytearray | memoryview,
    timestamp: int,
    delta: int = 0,
    *,
    record_bytes_max: int = ...,
) -> tuple[int, int] | None: ...
