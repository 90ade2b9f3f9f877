"""Access control lists: described, created, deleted. Brokers need an authorizer for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Outcome, Reply
from kcore.admin.core import Procedure
from kcore.admin.rows import verdict
from kcore.admin.security import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    as_told,
    known,
)
from kcore.errors import KafkaError, NoError, UnsupportedVersionError, for_code
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

_USERS_SINCE: Final = 3  # of resources of the type USER (KIP-373, Kafka 3.3)
_HINTS: Final[Mapping[int, str]] = {
    ErrorCode.SECURITY_DISABLED: "the brokers have no authorizer.class.name",
    ErrorCode.INVALID_REQUEST: 'principals are written "User:name", the cluster is called '
    '"kafka-cluster"',
}

Deleted = list[tuple[ACLFilter, list[ACL], type[KafkaError]]]


def _check_users(patterns: Iterable[ACLFilter], version: int) -> None:
    for one in patterns:
        if one.resource_pattern.resource_type is ResourceType.USER and version < _USERS_SINCE:
            raise UnsupportedVersionError(
                "access control lists of users: this broker (before 3.3) has none"
            )


def _name(one: ACLFilter | None) -> str:
    return "them" if one is None else f"of {one.principal or 'anybody'} for {_what(one)}"


def _what(one: ACLFilter) -> str:
    pattern = one.resource_pattern
    return f"{pattern.resource_type.name.lower()} {pattern.resource_name or '(any)'!r}"


def _entry(pattern: Any, row: Any) -> ACL:
    """An entry as it is told: whatever a broker says, it is one."""
    resource = as_told(
        ResourcePattern,
        resource_type=known(ResourceType, pattern.resource_type),
        resource_name=pattern.resource_name,
        pattern_type=known(ACLResourcePatternType, pattern.pattern_type),
    )
    return as_told(
        ACL,
        principal=row.principal,
        host=row.host,
        operation=known(ACLOperation, row.operation),
        permission_type=known(ACLPermissionType, row.permission_type),
        resource_pattern=resource,
    )


# Describing ---------------------------------------------------------------------------------------


def describe_acls(wanted: ACLFilter) -> Procedure[tuple[list[ACL], type[KafkaError]]]:
    """kafka-python's (entries that match, NoError)."""

    def build(_keys: list[None], version: int, _limit_ms: int) -> DescribeAclsRequest:
        _check_users([wanted], version)
        return DescribeAclsRequest(**_filter(wanted))

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        found = [_entry(pattern, row) for pattern in body.resources for row in pattern.acls]
        yield Reply(None, body.error_code, found, body.error_message)

    ask = Ask(
        ApiKey.DESCRIBE_ACLS,
        (None,),
        "describing access control lists: looking for",
        build,
        read,
        hints=_HINTS,
        name=_name,
    )
    (outcome,) = yield [ask]
    return outcome.all_done()[None], NoError


def _filter(one: ACLFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": one.resource_pattern.resource_type,
        "resource_name_filter": one.resource_pattern.resource_name,
        "pattern_type_filter": one.resource_pattern.pattern_type,
        "principal_filter": one.principal,
        "host_filter": one.host,
        "operation": one.operation,
        "permission_type": one.permission_type,
    }


# Creating -----------------------------------------------------------------------------------------


def create_acls(acls: Sequence[ACL], *, raise_errors: bool) -> Procedure[dict[str, list[Any]]]:
    """kafka-python's {"succeeded": entries, "failed": classes of errors}. One that is there already
    is no error.
    """

    def build(keys: list[ACL], version: int, _limit_ms: int) -> CreateAclsRequest:
        _check_users(keys, version)
        kind = CreateAclsRequest.AclCreation
        return CreateAclsRequest(
            creations=[
                kind(
                    resource_type=one.resource_pattern.resource_type,
                    resource_name=one.resource_pattern.resource_name or "",
                    resource_pattern_type=one.resource_pattern.pattern_type,
                    principal=one.principal or "",
                    host=one.host or "",
                    operation=one.operation,
                    permission_type=one.permission_type,
                )
                for one in keys
            ]
        )

    def read(body: Any, _version: int, keys: list[ACL]) -> Iterable[Reply]:
        for one, row in zip(keys, body.results, strict=False):  # in the order of the request
            yield Reply(one, row.error_code, words=row.error_message)

    ask = Ask(
        ApiKey.CREATE_ACLS,
        tuple(dict.fromkeys(acls)),
        "creating an access control list",
        build,
        read,
        changes=True,
        hints=_HINTS,
        name=_name,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    return {
        "succeeded": [one for one in acls if one in outcome.done],
        "failed": [verdict(outcome.failed[one]) for one in acls if one in outcome.failed],
    }


# Deleting -----------------------------------------------------------------------------------------


class _Matching(NamedTuple):
    """What a filter has found: entries that are gone, and what was wrong with the first that is
    not.
    """

    gone: list[ACL]
    error: KafkaError | None


def delete_acls(filters: Sequence[ACLFilter], *, raise_errors: bool) -> Procedure[Deleted]:
    """kafka-python's [(filter, entries that are gone, class of the error, or NoError)]."""

    def build(keys: list[ACLFilter], version: int, _limit_ms: int) -> DeleteAclsRequest:
        _check_users(keys, version)
        kind = DeleteAclsRequest.DeleteAclsFilter
        return DeleteAclsRequest(filters=[kind(**_filter(one)) for one in keys])

    def read(body: Any, _version: int, keys: list[ACLFilter]) -> Iterable[Reply]:
        for one, row in zip(keys, body.filter_results, strict=False):
            yield Reply(one, row.error_code, _matching(row), row.error_message)

    ask = Ask(
        ApiKey.DELETE_ACLS,
        tuple(dict.fromkeys(filters)),
        "deleting access control lists",
        build,
        read,
        changes=True,
        hints=_HINTS,
        name=_name,
    )
    (outcome,) = yield [ask]
    whole = Outcome(_name)
    whole.failed = dict(outcome.failed)
    for one, found in outcome.done.items():
        if found.error is None:
            whole.done[one] = found.gone
        else:
            whole.failed[one] = found.error
    whole.check(raise_errors=raise_errors)
    told: Deleted = []
    for one in filters:
        gone = outcome.done[one].gone if one in outcome.done else []
        told.append((one, gone, verdict(whole.failed.get(one))))
    return told


def _matching(row: Any) -> _Matching:
    gone, error = [], None
    for match in row.matching_acls:
        entry = _entry(match, match)
        if not match.error_code:
            gone.append(entry)
        elif error is None:
            kind = for_code(match.error_code)
            said = (match.error_message or kind.description).rstrip(".")
            error = kind(f"deleting an access control list {_name(entry)}: {said}")
    return _Matching(gone, error)
