"""DescribeAcls, CreateAcls, DeleteAcls v1-3 (KIP-11, KIP-290), at any node.

What says that its type or operation is UNKNOWN (0) costs its connection: a Kafka does not read it.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.authorization.acls import (
    CLUSTER_NAME,
    TEXT_BYTES_MAX,
    Acl,
    AclFilter,
    Operation,
    Pattern,
    Permission,
    Resource,
)
from kcore.broker.authorization.authorizer import ACLS_MAX
from kcore.broker.authorization.hosts import wrong_host
from kcore.broker.batches import RefusedError
from kcore.broker.calls import UNANSWERED, Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

_NO_AUTHORIZER: Final = "No Authorizer is configured."

# What an entry can have, and what a filter can: ANY, and of patterns MATCH.
_TYPES: Final = frozenset(Resource) - {Resource.UNKNOWN, Resource.ANY}
_OPERATIONS: Final = frozenset(Operation) - {Operation.UNKNOWN, Operation.ANY}
_PERMISSIONS: Final = frozenset({Permission.DENY, Permission.ALLOW})
_PATTERNS: Final = frozenset({Pattern.LITERAL, Pattern.PREFIXED})


def describe(call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse | str:
    """The entries that a filter finds, by what they are about."""
    authorizer = call.node.cluster.authorizer
    if authorizer is None:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    wanted = _filter(request)
    if _is_unreadable(wanted):
        call.node.hang_up(call)
        return UNANSWERED
    found: dict[tuple[int, str, int], DescribeAclsResponse.DescribeAclsResource] = {}
    for acl in authorizer.find(wanted):
        entry = found.setdefault(
            acl[:3],
            DescribeAclsResponse.DescribeAclsResource(
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
            ),
        )
        entry.acls.append(
            DescribeAclsResponse.AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
    return DescribeAclsResponse(error_message="", resources=list(found.values()))


def create(call: Call, request: CreateAclsRequest) -> CreateAclsResponse | str:
    """Each entry by itself succeeds or fails; one that is there already succeeds. One that is a
    filter fails all.
    """
    if any(_is_unreadable(_pattern(one)) for one in request.creations):
        call.node.hang_up(call)
        return UNANSWERED
    authorizer = call.node.cluster.authorizer
    Result = CreateAclsResponse.AclCreationResult  # noqa: N806 - a class
    response = CreateAclsResponse()
    if authorizer is not None and any(map(_is_filter, request.creations)):
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        response.results = [Result(error_code=code, error_message=None) for _ in request.creations]
        return response
    good = []
    for one in request.creations:
        result = Result(error_message="")
        response.results.append(result)
        try:
            if authorizer is None:
                raise RefusedError(ErrorCode.SECURITY_DISABLED, _NO_AUTHORIZER)
            good.append(_checked(one, ranges=authorizer.ranges))
            if len(authorizer) + len(good) > ACLS_MAX:
                raise RefusedError(
                    ErrorCode.POLICY_VIOLATION, f"{ACLS_MAX} entries are most of all"
                )
        except RefusedError as refused:
            result.error_code, result.error_message = refused.code, refused.why
    if authorizer is not None:
        authorizer.add(good[: max(ACLS_MAX - len(authorizer), 0)])
    return response


def delete(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse | str:
    """What each filter finds goes; one that two of them find is told by both."""
    authorizer = call.node.cluster.authorizer
    if any(_is_unreadable(_filter(one)) for one in request.filters):
        call.node.hang_up(call)
        return UNANSWERED
    response = DeleteAclsResponse()
    gone: list[Acl] = []
    for one in request.filters:
        result = DeleteAclsResponse.DeleteAclsFilterResult(error_message=None)
        response.filter_results.append(result)
        wanted = _filter(one)
        if authorizer is None:
            result.error_code, result.error_message = ErrorCode.SECURITY_DISABLED, _NO_AUTHORIZER
            continue
        if _is_unknown(wanted):
            result.error_code = ErrorCode.INVALID_REQUEST
            result.error_message = "The filter has unknown elements"
            continue
        found = authorizer.find(wanted)
        gone += found
        result.matching_acls = [
            DeleteAclsResponse.DeleteAclsMatchingAcl(error_message=None, **acl._asdict())
            for acl in found
        ]
    if authorizer is not None:
        authorizer.remove(gone)
    return response


def _checked(one: CreateAclsRequest.AclCreation, *, ranges: bool) -> Acl:
    """RefusedError if it can be no entry. ranges: those are looked at that hosts can be."""
    kind, name = one.resource_type, one.resource_name
    wrong = None
    if kind == Resource.CLUSTER and name != CLUSTER_NAME:
        wrong = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif not name:
        wrong = "Invalid empty resource name"
    elif any(len(t.encode()) > TEXT_BYTES_MAX for t in (name, one.principal, one.host)):
        wrong = f"More than {TEXT_BYTES_MAX} bytes of a text"
    elif _is_unknown(_pattern(one)):
        wrong = f"Invalid entry: {one}"
    elif ":" not in one.principal:
        wrong = f"Could not parse principal from `{one.principal}` (no colon is present)"
    elif ranges:
        wrong = wrong_host(one.host)
    if wrong is not None:
        raise RefusedError(ErrorCode.INVALID_REQUEST, wrong)
    return Acl(
        kind,
        name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def _filter(one: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        one.resource_type_filter,
        one.resource_name_filter,
        one.pattern_type_filter,
        one.principal_filter,
        one.host_filter,
        one.operation,
        one.permission_type,
    )


def _pattern(one: CreateAclsRequest.AclCreation) -> AclFilter:
    return AclFilter(
        one.resource_type,
        one.resource_name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def _is_filter(one: CreateAclsRequest.AclCreation) -> bool:
    """Whether something of it is for filters only."""
    return (
        one.resource_type == Resource.ANY
        or one.resource_pattern_type in {Pattern.ANY, Pattern.MATCH}
        or one.operation == Operation.ANY
        or one.permission_type == Permission.ANY
    )


def _is_unreadable(one: AclFilter) -> bool:
    """Whether it says itself that a part of it means nothing."""
    return 0 in {one.resource_type, one.pattern_type, one.operation, one.permission_type}


def _is_unknown(wanted: AclFilter) -> bool:
    """Whether a part of it means nothing."""
    return (
        wanted.resource_type not in {Resource.ANY, *_TYPES}
        or wanted.pattern_type not in {Pattern.ANY, Pattern.MATCH, *_PATTERNS}
        or wanted.operation not in {Operation.ANY, *_OPERATIONS}
        or wanted.permission_type not in {Permission.ANY, *_PERMISSIONS}
    )
