"""Made by tools/generate_wire.py from kcore/wire/schema/42_delete_groups.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DeleteGroupsRequest(Message):
    __slots__ = ("groups_names",)

    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("groups_names", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        groups_names: list[str] = UNSET,
    ) -> None:
        self.groups_names: list[str] = [] if groups_names is UNSET else groups_names


class DeleteGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")

    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("results", "[]DeletableGroupResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeletableGroupResult(Struct):
        __slots__ = ("group_id", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 3, 32767, 3, 32767, None, -1, True, False),
        )

        def __init__(
            self,
            *,
            group_id: str = "",
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.group_id = group_id
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[DeleteGroupsResponse.DeletableGroupResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DeleteGroupsResponse.DeletableGroupResult] = [] if results is UNSET else results
