"""CreateDelegationToken v1-3, RenewDelegationToken v1-2, ExpireDelegationToken v1-2,
DescribeDelegationToken v1-3 (KIP-48, KIP-373).

Nobody who has logged in by a token gets another, nor anybody who has not said who he is (Java:
KafkaApis.allowTokenRequests). A node knows of a token as soon as it is made; a Kafka's hear of it
from the controller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcore.broker.authorization.acls import ANONYMOUS, Operation, Resource
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.delegation.tokens import USER, Principal, Token, principal_of
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

Described = DescribeDelegationTokenResponse.DescribedDelegationToken
Renewer = DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer

_Change = Callable[[bytes, Principal, int, int], int]

_REQUESTERS_SINCE: Final = 3  # who has asked for it is told, too (KIP-373)
_NEVER: Final = -1  # what a Kafka answers for times before it has asked its controller


def create(call: Call, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    """One for the owner that is named, or for who asks."""
    requester = owner = principal_of(call.link.principal)
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    renewers = tuple(Principal(one.principal_type, one.principal_name) for one in request.renewers)
    answer = CreateDelegationTokenResponse(principal_type=owner.kind, principal_name=owner.name)
    if call.version >= _REQUESTERS_SINCE:
        answer.token_requester_principal_type = requester.kind
        answer.token_requester_principal_name = requester.name
    answer.error_code = _refused_create(call, owner, requester, renewers)
    if answer.error_code:
        answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = _NEVER
        return answer
    tokens, wall_ms = call.node.cluster.tokens, call.node.cluster.wall_ms(call.now_ms)
    try:
        token = tokens.create(owner, requester, renewers, request.max_lifetime_ms, wall_ms)
    except RefusedError as refused:
        answer.error_code = refused.code
        return answer
    answer.issue_timestamp_ms = token.issued_ms
    answer.expiry_timestamp_ms = token.expires_ms
    answer.max_timestamp_ms = token.ends_ms
    answer.token_id = token.token_id
    answer.hmac = tokens.code_of(token.token_id)
    return answer


def renew(call: Call, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    """Good for longer."""
    answer, period_ms = RenewDelegationTokenResponse(), request.renew_period_ms
    answer.error_code, answer.expiry_timestamp_ms = _changed(
        call, call.node.cluster.tokens.renew, request.hmac, period_ms
    )
    return answer


def expire(call: Call, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    """Good for so long, or gone."""
    answer, period_ms = ExpireDelegationTokenResponse(), request.expiry_time_period_ms
    answer.error_code, answer.expiry_timestamp_ms = _changed(
        call, call.node.cluster.tokens.expire, request.hmac, period_ms
    )
    return answer


def _changed(call: Call, change: _Change, code: bytes, period_ms: int) -> tuple[int, int]:
    """The error, and until when the token is good now."""
    if not _may_ask(call):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, _NEVER
    somebody = principal_of(call.link.principal)
    wall_ms = call.node.cluster.wall_ms(call.now_ms)
    try:
        return ErrorCode.NONE, change(bytes(code), somebody, period_ms, wall_ms)
    except RefusedError as refused:
        return refused.code, 0


def describe(
    call: Call, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """Those of these owners, or all, as far as who asks may know of them; with what they are worth,
    as in a Kafka.
    """
    cluster = call.node.cluster
    if not _may_ask(call):
        error = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return DescribeDelegationTokenResponse(error_code=error)
    if not cluster.tokens.enabled:
        error = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        return DescribeDelegationTokenResponse(error_code=error)
    owners = None
    if request.owners is not None:
        owners = [Principal(one.principal_type, one.principal_name) for one in request.owners]
    somebody = principal_of(call.link.principal)
    return DescribeDelegationTokenResponse(
        tokens=[
            _described(token, cluster.tokens.code_of(token.token_id), call.version)
            for token in cluster.tokens.all(cluster.wall_ms(call.now_ms))
            if (owners is None or any(map(token.concerns, owners)))
            and _is_told(call, token, somebody)
        ]
    )


def _may_ask(call: Call) -> bool:
    """Whether it is known who asks, and by more than a token."""
    sasl = call.link.sasl
    if sasl is not None:
        return not sasl.delegated
    return call.link.principal != ANONYMOUS


def _refused_create(
    call: Call, owner: Principal, requester: Principal, renewers: tuple[Principal, ...]
) -> int:
    if not _may_ask(call):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    if owner != requester and not call.allows(Operation.CREATE_TOKENS, Resource.USER, str(owner)):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(one.kind != USER for one in renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return ErrorCode.NONE


def _is_told(call: Call, token: Token, somebody: Principal) -> bool:
    return (
        token.concerns(somebody)
        or call.allows(Operation.DESCRIBE, Resource.DELEGATION_TOKEN, token.token_id)
        or call.allows(Operation.DESCRIBE_TOKENS, Resource.USER, str(token.owner))
    )


def _described(token: Token, code: bytes, version: int) -> Described:
    found = Described(
        principal_type=token.owner.kind,
        principal_name=token.owner.name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.ends_ms,
        token_id=token.token_id,
        hmac=code,
        renewers=[
            Renewer(principal_type=one.kind, principal_name=one.name) for one in token.renewers
        ],
    )
    if version >= _REQUESTERS_SINCE:
        found.token_requester_principal_type = token.requester.kind
        found.token_requester_principal_name = token.requester.name
    return found
