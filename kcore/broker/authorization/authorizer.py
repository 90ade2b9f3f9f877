"""Whether somebody may do something, by the rules of Kafka's StandardAuthorizer.

    a super user may; an entry that denies it counts before all that allow it; where no entry speaks
    of the resource, allow_everyone_if_no_acl_found decides

READ, WRITE, DELETE and ALTER allow for DESCRIBE, and ALTER_CONFIGS for DESCRIBE_CONFIGS; but whom
they are denied may describe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from kcore.broker.authorization.acls import (
    ANONYMOUS,
    EVERYBODY,
    WILDCARD,
    Acl,
    AclFilter,
    Operation,
    Pattern,
    Permission,
    Resource,
)
from kcore.broker.authorization.config import AuthorizerConfig
from kcore.broker.authorization.hosts import is_in_range

# Entries of a cluster: more than a test needs, by far.
ACLS_MAX: Final = 10_000

# What an operation is allowed by, other than itself and ALL.
_IMPLIED_BY: Final[dict[int, frozenset[int]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}

# What can be done to a resource (Java: AclEntry.supportedOperations).
_SUPPORTED: Final[dict[Resource, tuple[Operation, ...]]] = {
    Resource.TOPIC: (
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE),
        *(Operation.DELETE, Operation.ALTER),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    Resource.GROUP: (
        *(Operation.READ, Operation.DESCRIBE, Operation.DELETE),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    Resource.CLUSTER: (
        *(Operation.CREATE, Operation.CLUSTER_ACTION, Operation.DESCRIBE_CONFIGS),
        *(Operation.ALTER_CONFIGS, Operation.IDEMPOTENT_WRITE, Operation.ALTER),
        Operation.DESCRIBE,
    ),
}

Changed = Callable[[Sequence[Acl], Sequence[Acl]], None]


class Authorizer:
    """The entries of a cluster. ranges: whether a host with a slash is one (CIDR). changed: is told
    what was added and removed, before anybody is answered.
    """

    def __init__(self, config: AuthorizerConfig, *, ranges: bool = True) -> None:
        self.ranges = ranges
        self._super_users = frozenset(config.super_users)
        self._principals = dict(config.principals)
        self._default = config.allow_everyone_if_no_acl_found
        self._acls: dict[Acl, None] = {}
        # Of each type: those about one name, and all others.
        self._named: dict[tuple[int, str], list[Acl]] = {}
        self._others: dict[int, list[Acl]] = {}
        self.changed: Changed | None = None

    # Entries -------------------------------------------------------------------------------------

    def add(self, acls: Iterable[Acl]) -> None:
        """More entries; those that are there already stay as they are."""
        new = [acl for acl in dict.fromkeys(acls) if acl not in self._acls]
        for acl in new:
            self._acls[acl] = None
            self._place_of(acl).append(acl)
        self._tell(new, ())

    def remove(self, acls: Iterable[Acl]) -> None:
        """Fewer entries."""
        gone = [acl for acl in dict.fromkeys(acls) if acl in self._acls]
        for acl in gone:
            del self._acls[acl]
            self._place_of(acl).remove(acl)
        self._named = {key: acls for key, acls in self._named.items() if acls}
        self._tell((), gone)

    def find(self, wanted: AclFilter) -> list[Acl]:
        """The entries that a filter finds, in their order."""
        return [acl for acl in self._acls if wanted.matches(acl)]

    def __len__(self) -> int:
        return len(self._acls)

    def _place_of(self, acl: Acl) -> list[Acl]:
        if acl.pattern_type == Pattern.PREFIXED or acl.resource_name == WILDCARD:
            return self._others.setdefault(acl.resource_type, [])
        return self._named.setdefault((acl.resource_type, acl.resource_name), [])

    def _tell(self, added: Sequence[Acl], removed: Sequence[Acl]) -> None:
        if self.changed is not None and (added or removed):
            self.changed(added, removed)

    # Questions -----------------------------------------------------------------------------------

    def principal_of(self, client_id: str, principal: str) -> str:
        """Who a client is. One that has not said so is whom its id stands for, where that was asked
        for.
        """
        return self._principals.get(client_id, principal) if principal == ANONYMOUS else principal

    def allows(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> bool:
        """Whether a principal may do something to a resource, from a host."""
        if principal in self._super_users:
            return True
        spoken = allowed = False
        for acl in self._about(resource_type, name):
            spoken = True
            if not self._concerns(acl, principal, host) or not _speaks_of(acl, operation):
                continue
            if acl.permission_type == Permission.DENY:
                return False
            allowed = True
        return allowed if spoken else self._default

    def allows_some(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether a principal may do it to any resource of a type, known or not (Java:
        Authorizer.authorizeByResourceType).
        """
        if self.allows(principal, host, operation, resource_type, "hardcode"):
            return True
        exactly = {operation, Operation.ALL}
        about = [
            acl
            for acl in self._acls
            if acl.resource_type == resource_type
            and acl.operation in exactly
            and self._concerns(acl, principal, host)
        ]
        denied = [acl for acl in about if acl.permission_type == Permission.DENY]
        if any(_is_everything(acl) for acl in denied):
            return False
        return any(
            _is_everything(acl) or not any(_dominates(other, acl) for other in denied)
            for acl in about
            if acl.permission_type == Permission.ALLOW
        )

    def operations(self, principal: str, host: str, resource: Resource, name: str) -> int:
        """What may be done to a resource, a bit each."""
        return sum(
            1 << operation
            for operation in _SUPPORTED[resource]
            if self.allows(principal, host, operation, resource, name)
        )

    def _concerns(self, acl: Acl, principal: str, host: str) -> bool:
        """Whether an entry is about this principal at this host."""
        if acl.principal not in {principal, EVERYBODY}:
            return False
        if acl.host in {host, WILDCARD}:
            return True
        return self.ranges and "/" in acl.host and is_in_range(host, acl.host)

    def _about(self, resource_type: int, name: str) -> Iterator[Acl]:
        if name != WILDCARD:  # else they are among the others
            yield from self._named.get((resource_type, name), ())
        for acl in self._others.get(resource_type, ()):
            if acl.covers(name):
                yield acl


def _speaks_of(acl: Acl, operation: int) -> bool:
    """Whether an entry allows or denies an operation."""
    if acl.operation in {operation, Operation.ALL}:
        return True
    implied = acl.operation in _IMPLIED_BY.get(operation, ())
    return implied and acl.permission_type == Permission.ALLOW


def _is_everything(acl: Acl) -> bool:
    return acl.pattern_type == Pattern.LITERAL and acl.resource_name == WILDCARD


def _dominates(denied: Acl, allowed: Acl) -> bool:
    """Whether nothing is left of what one entry allows, as another denies it."""
    if denied.pattern_type == Pattern.PREFIXED:
        return allowed.resource_name.startswith(denied.resource_name)
    same = denied.resource_name == allowed.resource_name
    return same and allowed.pattern_type == Pattern.LITERAL
