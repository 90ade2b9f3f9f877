"""Made by tools/generate_wire.py from kcore/wire/schema/80_add_raft_voter.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class AddRaftVoterRequest(Message):
    __slots__ = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")

    API_KEY: ClassVar[int] = 80
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("cluster_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("voter_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("voter_directory_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
        ("listeners", "[]Listener", 0, 32767, -1, -1, ..., -1, False, False),
        ("ack_when_committed", "bool", 1, 32767, -1, -1, True, -1, False, False),
    )

    class Listener(Struct):
        __slots__ = ("name", "host", "port")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("port", "uint16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[AddRaftVoterRequest.Listener] = UNSET,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners: list[AddRaftVoterRequest.Listener] = [] if listeners is UNSET else listeners
        self.ack_when_committed = ack_when_committed


class AddRaftVoterResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    API_KEY: ClassVar[int] = 80
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, True, False),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
