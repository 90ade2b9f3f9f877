"""What users of the admin client hold of access: access control lists, SCRAM
credentials, delegation tokens.

Names, fields and numbers are kafka-python's; its own objects are taken in their place. Numbers:
org.apache.kafka.common.acl, .resource and clients.admin.ScramMechanism.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from kcore.admin.values import Named
from kcore.errors import IllegalArgumentError
from kcore.values import Value, field

# Access control lists (KIP-11, KIP-290) -----------------------------------------------------------


class ResourceType(Named):
    """What access is to. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class ACLOperation(Named):
    """What may be done, or not. ANY is for filters; ALL is a permission to do everything."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ACLPermissionType(Named):
    """Whether it may be done. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ACLResourcePatternType(Named):
    """How a name stands for resources: itself, or all that begin with it. For filters: ANY, and
    MATCH for all that apply to a resource of this name.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class _Access(Value):
    """Enums may be given as their names or numbers."""

    __slots__ = ()

    _ENUMS: ClassVar[Mapping[str, type[Named]]] = {
        "resource_type": ResourceType,
        "pattern_type": ACLResourcePatternType,
        "operation": ACLOperation,
        "permission_type": ACLPermissionType,
    }

    def __post_init__(self) -> None:
        for name, kind in self._ENUMS.items():
            if name in self.__match_args__:
                object.__setattr__(self, name, kind.of(getattr(self, name)))
        self._check()

    def _check(self) -> None:
        """Raise what cannot be."""


class ResourcePatternFilter(_Access):
    """Resources to find. resource_name: None: of any name."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: ACLResourcePatternType = ACLResourcePatternType.ANY


class ResourcePattern(ResourcePatternFilter):
    """Resources: of a type, by name or by what their names begin with; "*": all of the type.

    The cluster's name is "kafka-cluster".
    """

    pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL

    def _check(self) -> None:
        kind, pattern = ResourceType, ACLResourcePatternType
        if self.resource_type is kind.ANY or self.pattern_type in (pattern.ANY, pattern.MATCH):
            raise IllegalArgumentError(f"ANY and MATCH are for filters: {self!r}")
        if not isinstance(self.resource_name, str) or not self.resource_name:
            raise IllegalArgumentError(f"resources have a name: {self!r}")


class ACLFilter(_Access):
    """Entries to find. principal, host: None: any."""

    principal: str | None = None
    host: str | None = None
    operation: ACLOperation = ACLOperation.ANY
    permission_type: ACLPermissionType = ACLPermissionType.ANY
    resource_pattern: ResourcePatternFilter = ResourcePatternFilter()


class ACL(ACLFilter):
    """An entry: what a principal ("User:alice", "User:*") may do, or may not, to which resources,
    from which host ("*": any).
    """

    def _check(self) -> None:
        if self.operation is ACLOperation.ANY or self.permission_type is ACLPermissionType.ANY:
            raise IllegalArgumentError(f"ANY is for filters: {self!r}")
        if not isinstance(self.resource_pattern, ResourcePattern):
            raise IllegalArgumentError(f"an ACL has a ResourcePattern, no filter: {self!r}")
        if not self.principal or not self.host:
            raise IllegalArgumentError(f"an ACL has a principal and a host: {self!r}")


# SCRAM credentials (KIP-554) ----------------------------------------------------------------------


class ScramMechanism(Named):
    """How a password is hashed."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def hash_name(self) -> str:
        """As hashlib calls it."""
        return {1: "sha256", 2: "sha512"}[self]


class _Credential(Value):
    """Of a user, by one mechanism; that may be given as its name or number."""

    user: str
    mechanism: ScramMechanism

    def __post_init__(self) -> None:
        kind: ScramMechanism = ScramMechanism.of(self.mechanism)
        if kind is ScramMechanism.UNKNOWN:
            raise IllegalArgumentError("the mechanism is SCRAM-SHA-256 or SCRAM-SHA-512")
        object.__setattr__(self, "mechanism", kind)


class UserScramCredentialDeletion(_Credential):
    """What a user has of this mechanism is to go."""


class UserScramCredentialUpsertion(_Credential):
    """A user's password is to be this one; brokers are told only its salted hash.

    iterations: of the hash; brokers take 4096 to 16384. salt: None: random.
    """

    DEFAULT_ITERATIONS: ClassVar[int] = 4_096

    password: str | bytes = field(repr=False)
    iterations: int | None = None
    salt: bytes | None = field(default=None, repr=False)


# Delegation tokens (KIP-48) -----------------------------------------------------------------------


class DelegationToken(Value):
    """With which somebody else may act for its owner. Times in ms since 1970; principals are
    "User:alice".

    hmac: what it is worth: whoever knows it has the token. token_requester: who has asked for it.
    max_timestamp: it cannot be renewed beyond that.
    """

    token_id: str
    hmac: bytes = field(repr=False)
    owner: str
    token_requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int

    @property
    def hmac_as_base64_string(self) -> str:
        """The password of who logs in with it by SCRAM, as `token_id`."""
        return b64encode(self.hmac).decode()


T = TypeVar("T", bound=Value)


def as_told(kind: type[T], **fields: Any) -> T:
    """One that a broker tells of, which nobody checks."""
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def known(kind: type[Named], number: int) -> Any:
    """What a broker's number stands for; UNKNOWN, also if that is for filters."""
    concrete = number in set(kind) and kind(number).name not in ("ANY", "MATCH")
    return kind(number if concrete else 0)
