"""What admin clients are asked for about access: arguments checked and made into procedures, as in
`requests.py`.
"""

from __future__ import annotations

import os
from typing import Any, Final

from kcore.admin import acls, scram
from kcore.admin.core import Procedure
from kcore.admin.security import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kcore.clients.admin import arguments as args
from kcore.errors import IllegalArgumentError, KafkaError

_SALT_BYTES: Final = 24

# Access control lists -----------------------------------------------------------------------------


def describe_acls(value: object) -> Procedure[tuple[list[ACL], type[KafkaError]]]:
    """An ACLFilter."""
    return acls.describe_acls(filter_of(value))


def create_acls(values: object, *, raise_errors: bool) -> Procedure[dict[str, list[Any]]]:
    """ACL objects, or confluent's AclBinding."""
    given = [acl_of(one) for one in args.listed(values, "acls")]
    return acls.create_acls(given, raise_errors=raise_errors)


def delete_acls(values: object, *, raise_errors: bool) -> Procedure[acls.Deleted]:
    """ACLFilter objects; an ACL is a filter for itself."""
    given = [filter_of(one) for one in args.listed(values, "acl_filters")]
    return acls.delete_acls(given, raise_errors=raise_errors)


def acl_of(one: Any) -> ACL:
    """An ACL, kafka-python's or confluent's, as ours."""
    kind, name, pattern = _resource(one, "acls must be ACL objects")
    found = ACL(*_entry(one), ResourcePattern(kind, name, pattern))
    _check(found)
    return found


def filter_of(one: Any) -> ACLFilter:
    """A filter, or an ACL, likewise."""
    kind, name, pattern = _resource(one, "acl_filters must be ACLFilter objects")
    found = ACLFilter(*_entry(one), ResourcePatternFilter(kind, name, pattern))
    _check(found)
    return found


def _resource(one: Any, what: str) -> tuple[ResourceType, str | None, ACLResourcePatternType]:
    """Type, name, and type of the pattern, of kafka-python's objects, ours or confluent's."""
    try:
        if hasattr(one, "restype"):
            kind, name, pattern = one.restype, one.name, one.resource_pattern_type
        else:
            resource = one.resource_pattern
            kind, name = resource.resource_type, resource.resource_name
            pattern = resource.pattern_type
    except AttributeError:
        raise TypeError(f"{what}, not {one!r}") from None
    if name is not None and not isinstance(name, str):
        raise TypeError(f"the name of a resource must be a string, not {name!r}")
    return ResourceType.of(args.plain(kind)), name, ACLResourcePatternType.of(args.plain(pattern))


def _entry(one: Any) -> tuple[str | None, str | None, ACLOperation, ACLPermissionType]:
    for value in (one.principal, one.host):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"principal and host must be strings, not {value!r}")
    operation = ACLOperation.of(args.plain(one.operation))
    return one.principal, one.host, operation, ACLPermissionType.of(args.plain(one.permission_type))


def _check(one: ACLFilter) -> None:
    """Brokers hang up on what they cannot read."""
    resource = one.resource_pattern
    parts = (resource.resource_type, resource.pattern_type, one.operation, one.permission_type)
    if any(part.name == "UNKNOWN" for part in parts):
        raise IllegalArgumentError(f"nothing in a request may be UNKNOWN: {one!r}")


# SCRAM credentials --------------------------------------------------------------------------------


def describe_user_scram_credentials(users: object) -> Procedure[dict[str, dict[str, Any]]]:
    """Names; None: all users."""
    wanted = None if users is None else [_user(one) for one in args.listed(users, "users")]
    return scram.describe_user_scram_credentials(wanted)


def alter_user_scram_credentials(
    values: object, *, raise_errors: bool
) -> Procedure[dict[str, str | None]]:
    """UserScramCredentialDeletion and UserScramCredentialUpsertion objects."""
    given = [alteration_of(one) for one in args.listed(values, "alterations")]
    known = [(one.user, one.mechanism) for one in given]
    if len(set(known)) < len(known):
        raise IllegalArgumentError("alterations: a user's credential is altered twice")
    return scram.alter_user_scram_credentials(given, raise_errors=raise_errors)


def _user(value: object) -> str:
    return args.name(value, "a user's name")


def alteration_of(one: Any) -> scram.Alteration:
    """One of these, with its password salted."""
    try:
        user, mechanism = one.user, one.mechanism
    except AttributeError:
        raise TypeError(
            "alterations must be UserScramCredentialDeletion or UserScramCredentialUpsertion, not "
            f"{type(one).__name__}"
        ) from None
    kind = UserScramCredentialDeletion(_user(user), mechanism).mechanism
    if isinstance(one, UserScramCredentialUpsertion):
        return scram.Alteration(user, kind, _salted(one, kind.hash_name))
    if hasattr(one, "salted_password"):  # kafka-python's have hashed it already
        salted = scram.Salted(one.iterations, bytes(one.salt), bytes(one.salted_password))
        return scram.Alteration(user, kind, salted)
    return scram.Alteration(user, kind, None)


def _salted(one: UserScramCredentialUpsertion, hash_name: str) -> scram.Salted:
    """RFC 5802's SaltedPassword, of the password as it is: Kafka does not prepare it (RFC 4013)."""
    import hashlib  # noqa: PLC0415 - OpenSSL, which most of what Admin is for need not load

    password = one.password.encode() if isinstance(one.password, str) else one.password
    if not isinstance(password, bytes):
        raise TypeError(f"the password of {one.user} must be a string or bytes")
    if not password:
        raise IllegalArgumentError(f"the password of {one.user} is empty")
    salt = os.urandom(_SALT_BYTES) if one.salt is None else one.salt
    if not isinstance(salt, bytes):
        raise TypeError("a salt must be bytes")
    iterations = one.DEFAULT_ITERATIONS if one.iterations is None else one.iterations
    iterations = args.count(iterations, "iterations", 1)
    made = hashlib.pbkdf2_hmac(hash_name, password, salt, iterations)
    return scram.Salted(iterations, salt, made)
