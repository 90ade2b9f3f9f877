from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, TypeVar, final

from typing_extensions import disjoint_base

from kcore.locks import WorkLock
from kcore.records.builder import BatchBuilder

RECORD_OVERHEAD: Final[int]

@final
class Budget:
    limit_bytes: int
    held_bytes: int
    full_bytes: float
    def __init__(self, limit_bytes: int, full_bytes: float) -> None: ...

@disjoint_base
class Filling:
    builder: BatchBuilder | None
    data: bytearray | None
    waiters: list[Any]
    def pack(self) -> None: ...

@disjoint_base
class Inlet:
    filling: Filling | None

@disjoint_base
class Draw:
    partition: int
    taken_bytes: int
    batch_size: int
    def __init__(self, batch_size: int) -> None: ...

@final
class Route:
    def __init__(self, numbers: list[int], sticky: Draw, *, by_key: bool) -> None: ...
    @property
    def numbers(self) -> list[int]: ...
    @property
    def lanes(self) -> dict[int, Any]: ...
    @property
    def sticky(self) -> Draw: ...
    @property
    def by_key(self) -> bool: ...
    def choose(self, key: bytes | None) -> int: ...

@disjoint_base
class Ticket:
    calls: Any
    @property
    def batch(self) -> Any: ...
    @property
    def courier(self) -> Any: ...
    @property
    def number(self) -> int: ...
    @property
    def timestamp_ms(self) -> int: ...
    @property
    def key_size(self) -> int: ...
    @property
    def value_size(self) -> int: ...
    @property
    def header_size(self) -> int: ...

def record_bytes(
    key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> int: ...

@final
class Intake:
    def __init__(self, budget: Budget, record_bytes_max: int) -> None: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def routes(self) -> dict[str, Route]: ...
    @property
    def record_bytes_max(self) -> int: ...

@disjoint_base
class Receiver:
    stopped: bool
    last: Any

_Kind = TypeVar("_Kind", bound=Ticket)

@final
class Door(Generic[_Kind]):
    def __init__(
        self, intake: Intake, lock: WorkLock, kind: type[_Kind], courier: Receiver | None
    ) -> None: ...
    def send(
        self,
        topic: object,
        key: object,
        value: object,
        headers: object,
        partition: object,
        timestamp_ms: object,
    ) -> _Kind | None: ...
    def ticket(
        self,
        batch: object,
        number: int,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] | None,
        timestamp_ms: int,
    ) -> _Kind: ...

@disjoint_base
class Sending(Generic[_Kind]):
    _open_door: Door[_Kind] | None
    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> _Kind: ...
