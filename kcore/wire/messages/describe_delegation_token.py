"""Made by tools/generate_wire.py from kcore/wire/schema/41_describe_delegation_token.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeDelegationTokenRequest(Message):
    __slots__ = ("owners",)

    API_KEY: ClassVar[int] = 41
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("owners", "[]DescribeDelegationTokenOwner", 0, 32767, 0, 32767, ..., -1, False, False),
    )

    class DescribeDelegationTokenOwner(Struct):
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
        owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = UNSET,
    ) -> None:
        self.owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = [] if owners is UNSET else owners


class DescribeDelegationTokenResponse(Message):
    __slots__ = ("error_code", "tokens", "throttle_time_ms")

    API_KEY: ClassVar[int] = 41
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("tokens", "[]DescribedDelegationToken", 0, 32767, -1, -1, ..., -1, False, False),
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    class DescribedDelegationTokenRenewer(Struct):
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

    class DescribedDelegationToken(Struct):
        __slots__ = ("principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp", "expiry_timestamp", "max_timestamp", "token_id", "hmac", "renewers")

        FIELDS: ClassVar[Fields] = (
            ("principal_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("principal_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("token_requester_principal_type", "string", 3, 32767, -1, -1, "", -1, False, False),
            ("token_requester_principal_name", "string", 3, 32767, -1, -1, "", -1, False, False),
            ("issue_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("expiry_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("max_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("token_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("hmac", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
            ("renewers", "[]DescribedDelegationTokenRenewer", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            principal_type: str = "",
            principal_name: str = "",
            token_requester_principal_type: str = "",
            token_requester_principal_name: str = "",
            issue_timestamp: int = 0,
            expiry_timestamp: int = 0,
            max_timestamp: int = 0,
            token_id: str = "",
            hmac: bytes = b"",
            renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = UNSET,
        ) -> None:
            self.principal_type = principal_type
            self.principal_name = principal_name
            self.token_requester_principal_type = token_requester_principal_type
            self.token_requester_principal_name = token_requester_principal_name
            self.issue_timestamp = issue_timestamp
            self.expiry_timestamp = expiry_timestamp
            self.max_timestamp = max_timestamp
            self.token_id = token_id
            self.hmac = hmac
            self.renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = [] if renewers is UNSET else renewers

    def __init__(
        self,
        *,
        error_code: int = 0,
        tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = UNSET,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = [] if tokens is UNSET else tokens
        self.throttle_time_ms = throttle_time_ms
