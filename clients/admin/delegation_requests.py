"""What admin clients are asked for about delegation tokens: arguments checked and made into
procedures, as in `requests.py`.
"""

from __future__ import annotations

from kcore.admin import DelegationToken, tokens
from kcore.admin.core import Procedure
from kcore.clients.admin import arguments as args
from kcore.errors import IllegalArgumentError
from kcore.limits import MAX_INT64


def create_delegation_token(
    renewers: object, owner: object, lifetime_ms: object
) -> Procedure[DelegationToken]:
    """Principals: "User:alice"."""
    return tokens.create_delegation_token(
        [_principal(one) for one in args.listed(renewers, "renewers")],
        None if owner is None else _principal(owner),
        args.count(lifetime_ms, "max_lifetime_ms", -1, MAX_INT64),
    )


def renew_delegation_token(token: object, period_ms: object) -> Procedure[int]:
    """A DelegationToken, or its hmac."""
    period = args.count(period_ms, "renew_time_period_ms", -1, MAX_INT64)
    return tokens.renew_delegation_token(_hmac(token), period)


def expire_delegation_token(token: object, period_ms: object) -> Procedure[int]:
    """A DelegationToken, or its hmac."""
    period = args.count(period_ms, "expiry_time_period_ms", -1, MAX_INT64)
    return tokens.expire_delegation_token(_hmac(token), period)


def describe_delegation_token(owners: object) -> Procedure[list[DelegationToken]]:
    """Principals; None: all."""
    if owners is None:
        return tokens.describe_delegation_token(None)
    wanted = [_principal(one) for one in args.listed(owners, "owners")]
    return tokens.describe_delegation_token(list(dict.fromkeys(wanted)))


def _principal(value: object) -> tokens.Principal:
    if not isinstance(value, str):
        raise TypeError(f'a principal must be a string ("User:alice"), not {value!r}')
    kind, colon, name = value.partition(":")
    if not kind or not colon or not name:
        raise IllegalArgumentError(f'a principal is its type and name, "User:alice", not {value!r}')
    return kind, name


def _hmac(token: object) -> bytes:
    found = getattr(token, "hmac", token)
    if not isinstance(found, (bytes, bytearray, memoryview)):
        # Not shown: it may be what a token is worth, as text.
        raise TypeError(f"a token is a DelegationToken, or its hmac: not a {type(token).__name__}")
    return bytes(found)
