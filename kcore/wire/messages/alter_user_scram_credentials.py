"""Made by tools/generate_wire.py from kcore/wire/schema/51_alter_user_scram_credentials.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class AlterUserScramCredentialsRequest(Message):
    __slots__ = ("deletions", "upsertions")

    API_KEY: ClassVar[int] = 51
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("deletions", "[]ScramCredentialDeletion", 0, 32767, -1, -1, ..., -1, False, False),
        ("upsertions", "[]ScramCredentialUpsertion", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ScramCredentialDeletion(Struct):
        __slots__ = ("name", "mechanism")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("mechanism", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            mechanism: int = 0,
        ) -> None:
            self.name = name
            self.mechanism = mechanism

    class ScramCredentialUpsertion(Struct):
        __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("mechanism", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("iterations", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("salt", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
            ("salted_password", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            mechanism: int = 0,
            iterations: int = 0,
            salt: bytes = b"",
            salted_password: bytes = b"",
        ) -> None:
            self.name = name
            self.mechanism = mechanism
            self.iterations = iterations
            self.salt = salt
            self.salted_password = salted_password

    def __init__(
        self,
        *,
        deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = UNSET,
        upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = UNSET,
    ) -> None:
        self.deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = [] if deletions is UNSET else deletions
        self.upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = [] if upsertions is UNSET else upsertions


class AlterUserScramCredentialsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")

    API_KEY: ClassVar[int] = 51
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("results", "[]AlterUserScramCredentialsResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AlterUserScramCredentialsResult(Struct):
        __slots__ = ("user", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("user", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            user: str = "",
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.user = user
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = [] if results is UNSET else results
