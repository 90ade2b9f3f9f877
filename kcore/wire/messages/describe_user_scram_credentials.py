"""Made by tools/generate_wire.py from kcore/wire/schema/50_describe_user_scram_credentials.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeUserScramCredentialsRequest(Message):
    __slots__ = ("users",)

    API_KEY: ClassVar[int] = 50
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("users", "[]UserName", 0, 32767, 0, 32767, ..., -1, False, False),
    )

    class UserName(Struct):
        __slots__ = ("name",)

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
        ) -> None:
            self.name = name

    def __init__(
        self,
        *,
        users: list[DescribeUserScramCredentialsRequest.UserName] | None = UNSET,
    ) -> None:
        self.users: list[DescribeUserScramCredentialsRequest.UserName] | None = [] if users is UNSET else users


class DescribeUserScramCredentialsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    API_KEY: ClassVar[int] = 50
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("results", "[]DescribeUserScramCredentialsResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class CredentialInfo(Struct):
        __slots__ = ("mechanism", "iterations")

        FIELDS: ClassVar[Fields] = (
            ("mechanism", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("iterations", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            mechanism: int = 0,
            iterations: int = 0,
        ) -> None:
            self.mechanism = mechanism
            self.iterations = iterations

    class DescribeUserScramCredentialsResult(Struct):
        __slots__ = ("user", "error_code", "error_message", "credential_infos")

        FIELDS: ClassVar[Fields] = (
            ("user", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("credential_infos", "[]CredentialInfo", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            user: str = "",
            error_code: int = 0,
            error_message: str | None = "",
            credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] = UNSET,
        ) -> None:
            self.user = user
            self.error_code = error_code
            self.error_message = error_message
            self.credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] = [] if credential_infos is UNSET else credential_infos

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = [] if results is UNSET else results
