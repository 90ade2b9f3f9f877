"""Made by tools/generate_wire.py from kcore/wire/schema/38_create_delegation_token.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class CreateDelegationTokenRequest(Message):
    __slots__ = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")

    API_KEY: ClassVar[int] = 38
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("owner_principal_type", "string", 3, 32767, 3, 32767, "", -1, False, False),
        ("owner_principal_name", "string", 3, 32767, 3, 32767, "", -1, False, False),
        ("renewers", "[]CreatableRenewers", 0, 32767, -1, -1, ..., -1, False, False),
        ("max_lifetime_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
    )

    class CreatableRenewers(Struct):
        __slots__ = ("principal_type", "principal_name")

        FIELDS: ClassVar[Fields] = (
            ("principal_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("principal_name", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            principal_type: str = "",
            principal_name: str = "",
        ) -> None:
            self.principal_type = principal_type
            self.principal_name = principal_name

    def __init__(
        self,
        *,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreateDelegationTokenRequest.CreatableRenewers] = UNSET,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers: list[CreateDelegationTokenRequest.CreatableRenewers] = [] if renewers is UNSET else renewers
        self.max_lifetime_ms = max_lifetime_ms


class CreateDelegationTokenResponse(Message):
    __slots__ = ("error_code", "principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "token_id", "hmac", "throttle_time_ms")

    API_KEY: ClassVar[int] = 38
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("principal_type", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("principal_name", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("token_requester_principal_type", "string", 3, 32767, -1, -1, "", -1, False, False),
        ("token_requester_principal_name", "string", 3, 32767, -1, -1, "", -1, False, False),
        ("issue_timestamp_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("expiry_timestamp_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("max_timestamp_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("token_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("hmac", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
