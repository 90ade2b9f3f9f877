from collections.abc import Container
from typing import Final, final

from kcore.records.columns import Columns

FIELD_NAMES: Final[tuple[str, ...]]

@final
class ArrowBatch:
    def __new__(
        cls,
        columns: Columns,
        start: int = 0,
        stop: int | None = None,
        *,
        include_headers: bool = False,
        dictionary: bool = False,
        only: Container[str] | None = None,
    ) -> ArrowBatch: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def include_headers(self) -> bool: ...
    @property
    def dictionary(self) -> bool: ...
    @property
    def views(self) -> bool: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
