"""Delegation tokens (KIP-48): created, renewed, let expire, described.

Brokers give them over connections that say who it is (SASL, or TLS with a certificate), and only
if they have a delegation.token.secret.key. Whoever holds one logs in by SCRAM: its id is the name,
its code in base64 the password.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply
from kcore.admin.core import Procedure
from kcore.admin.security import DelegationToken
from kcore.errors import UnsupportedVersionError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)

Principal = tuple[str, str]  # type, name: ("User", "alice")

_OWNERS_SINCE: Final = 3  # tokens for somebody else (KIP-373, Kafka 3.3)
_HINTS: Final[Mapping[int, str]] = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "the brokers have no delegation.token.secret.key",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "ask over a connection that says who it is "
    "(SASL, or TLS with a certificate), and not by a token",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "only its owner and its renewers may do that",
}


def create_delegation_token(
    renewers: Sequence[Principal], owner: Principal | None, lifetime_ms: int
) -> Procedure[DelegationToken]:
    """One for the owner, or (None) for whoever asks. lifetime_ms: -1: as long as brokers allow.

    An attempt whose answer was lost may have made one, too, which is nobody's loss.
    """

    def build(_keys: list[None], version: int, _limit_ms: int) -> CreateDelegationTokenRequest:
        cls = CreateDelegationTokenRequest
        request = cls(
            renewers=[
                cls.CreatableRenewers(principal_type=kind, principal_name=name)
                for kind, name in renewers
            ],
            max_lifetime_ms=lifetime_ms,
        )
        if version >= _OWNERS_SINCE:
            request.owner_principal_type, request.owner_principal_name = owner or (None, None)
        elif owner is not None:
            raise UnsupportedVersionError(
                "creating a delegation token for somebody else: this broker (before 3.3) cannot"
            )
        return request

    def read(body: Any, version: int, _keys: list[None]) -> Iterable[Reply]:
        found = DelegationToken(
            body.token_id,
            bytes(body.hmac),
            _text(body.principal_type, body.principal_name),
            _requester(body, version),
            tuple(_text(*one) for one in renewers),
            body.issue_timestamp_ms,
            body.expiry_timestamp_ms,
            body.max_timestamp_ms,
        )
        yield Reply(None, body.error_code, found)

    ask = _ask(ApiKey.CREATE_DELEGATION_TOKEN, "creating", build, read, changes=True)
    (outcome,) = yield [ask]
    token: DelegationToken = outcome.all_done()[None]
    return token


def renew_delegation_token(hmac: bytes, period_ms: int) -> Procedure[int]:
    """Until when (ms since 1970) it is good now. period_ms: -1: as brokers are set up."""

    def build(_keys: list[None], _version: int, _limit_ms: int) -> RenewDelegationTokenRequest:
        return RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)

    return (yield from _until(ApiKey.RENEW_DELEGATION_TOKEN, "renewing", build))


def expire_delegation_token(hmac: bytes, period_ms: int) -> Procedure[int]:
    """Until when (ms since 1970) it is good now. period_ms: so long; below 0: it goes at once."""

    def build(_keys: list[None], _version: int, _limit_ms: int) -> ExpireDelegationTokenRequest:
        return ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)

    return (yield from _until(ApiKey.EXPIRE_DELEGATION_TOKEN, "letting expire", build))


def _until(api: ApiKey, what: str, build: Callable[[list[None], int, int], Any]) -> Procedure[int]:
    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        yield Reply(None, body.error_code, body.expiry_timestamp_ms)

    (outcome,) = yield [_ask(api, what, build, read, changes=True)]
    until_ms: int = outcome.all_done()[None]
    return until_ms


def describe_delegation_token(
    owners: Sequence[Principal] | None,
) -> Procedure[list[DelegationToken]]:
    """Those of these owners, or (None) all that whoever asks may see."""

    def build(_keys: list[None], _version: int, _limit_ms: int) -> DescribeDelegationTokenRequest:
        cls = DescribeDelegationTokenRequest
        if owners is None:
            return cls(owners=None)
        return cls(
            owners=[
                cls.DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
                for kind, name in owners
            ]
        )

    def read(body: Any, version: int, _keys: list[None]) -> Iterable[Reply]:
        yield Reply(None, body.error_code, [_token(row, version) for row in body.tokens])

    ask = _ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, "describing", build, read, changes=False)
    (outcome,) = yield [ask]
    found: list[DelegationToken] = outcome.all_done()[None]
    return found


def _token(row: Any, version: int) -> DelegationToken:
    return DelegationToken(
        row.token_id,
        bytes(row.hmac),
        _text(row.principal_type, row.principal_name),
        _requester(row, version),
        tuple(_text(one.principal_type, one.principal_name) for one in row.renewers),
        row.issue_timestamp,
        row.expiry_timestamp,
        row.max_timestamp,
    )


def _requester(row: Any, version: int) -> str:
    """Who has asked for it; before there were owners, its owner."""
    if version < _OWNERS_SINCE:
        return _text(row.principal_type, row.principal_name)
    return _text(row.token_requester_principal_type, row.token_requester_principal_name)


def _text(kind: str, name: str) -> str:
    return f"{kind}:{name}"


def _ask(
    api: ApiKey,
    what: str,
    build: Callable[[list[None], int, int], Any],
    read: Callable[[Any, int, list[None]], Iterable[Reply]],
    *,
    changes: bool,
) -> Ask:
    """Any broker is asked: what is for the controller it passes on."""
    return Ask(api, (None,), what, build, read, changes=changes, hints=_HINTS, name=_name)


def _name(_key: None) -> str:
    return "a delegation token"
