"""Made by tools/generate_wire.py from kcore/wire/schema/16_list_groups.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ListGroupsRequest(Message):
    __slots__ = ("states_filter", "types_filter")

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("states_filter", "[]string", 4, 32767, -1, -1, ..., -1, False, False),
        ("types_filter", "[]string", 5, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        states_filter: list[str] = UNSET,
        types_filter: list[str] = UNSET,
    ) -> None:
        self.states_filter: list[str] = [] if states_filter is UNSET else states_filter
        self.types_filter: list[str] = [] if types_filter is UNSET else types_filter


class ListGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "groups")

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("groups", "[]ListedGroup", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ListedGroup(Struct):
        __slots__ = ("group_id", "protocol_type", "group_state", "group_type")

        FIELDS: ClassVar[Fields] = (
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("protocol_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_state", "string", 4, 32767, -1, -1, "", -1, True, False),
            ("group_type", "string", 5, 32767, -1, -1, "", -1, True, False),
        )

        def __init__(
            self,
            *,
            group_id: str = "",
            protocol_type: str = "",
            group_state: str = "",
            group_type: str = "",
        ) -> None:
            self.group_id = group_id
            self.protocol_type = protocol_type
            self.group_state = group_state
            self.group_type = group_type

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListGroupsResponse.ListedGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups: list[ListGroupsResponse.ListedGroup] = [] if groups is UNSET else groups
