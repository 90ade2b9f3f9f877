from typing import NamedTuple

class Survey(NamedTuple):
    records: int
    min_timestamp: int
    max_timestamp: int
    newest: int
    unkeyed: int
    sequential: bool

def survey(data: bytes | bytearray | memoryview, *, check_crc: bool = True) -> Survey: ...
def first_at_or_after(
    data: bytes | bytearray | memoryview, timestamp: int, delta: int = 0
) -> tuple[int, int] | None: ...
