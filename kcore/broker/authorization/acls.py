"""Entries of access control lists, and filters that find them (KIP-11, KIP-290).

Numbers: org.apache.kafka.common.acl and .resource of Kafka 4.3.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from kcore.tuples import NamedTuple

WILDCARD: Final = "*"
CLUSTER_NAME: Final = "kafka-cluster"
ANONYMOUS: Final = "User:ANONYMOUS"
EVERYBODY: Final = "User:*"

# Of a name, a principal or a host, in UTF-8: what the older versions of the APIs can tell of.
TEXT_BYTES_MAX: Final = 32_767


class Resource(IntEnum):
    """What access is to. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Operation(IntEnum):
    """What may be done, or not. ANY is for filters."""

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


class Permission(IntEnum):
    """Whether it may be done. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Pattern(IntEnum):
    """How a name stands for resources. ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Acl(NamedTuple):
    """An entry: what a principal may do, or may not, to which resources, from which host."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def covers(self, name: str) -> bool:
        """Whether it is about a resource of its type of this name."""
        if self.pattern_type == Pattern.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in {name, WILDCARD}


class AclFilter(NamedTuple):
    """Entries to find; None: whatever it is."""

    resource_type: int = Resource.ANY
    resource_name: str | None = None
    pattern_type: int = Pattern.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission_type: int = Permission.ANY

    def matches(self, acl: Acl) -> bool:
        """Whether it finds an entry."""
        return (
            self.resource_type in {Resource.ANY, acl.resource_type}
            and self.principal in {None, acl.principal}
            and self.host in {None, acl.host}
            and self.operation in {Operation.ANY, acl.operation}
            and self.permission_type in {Permission.ANY, acl.permission_type}
            and self._matches_pattern(acl)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in {Pattern.ANY, Pattern.MATCH, acl.pattern_type}:
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type == Pattern.MATCH:
            return acl.covers(self.resource_name)
        return acl.resource_name == self.resource_name
