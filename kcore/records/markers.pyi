from typing import NamedTuple

ABORT: int
COMMIT: int

class ControlRecord(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    kind: int
    key: bytes
    value: bytes | None
    @property
    def coordinator_epoch(self) -> int: ...
