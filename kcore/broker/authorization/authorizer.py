"""Whether somebody may do something, by the rules of Kafka's StandardAuthorizer.

    a super user may; an entry that denies it counts before all that allow it; where no entry speaks
    of the resource, allow_everyone_if_no_acl_found decides

READ, WRITE, DELETE and ALTER allow for DESCRIBE, and ALTER_CONFIGS for DESCRIBE_CONFIGS; but whom
they are denied may describe.
"""

from __future__ import annotations

from collections import Counter
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
from kcore.tuples import NamedTuple

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

# What entries can be about, all of a name or all that begins with it.
_PATTERNS: Final = frozenset({Pattern.LITERAL, Pattern.PREFIXED})

Changed = Callable[[Sequence[Acl], Sequence[Acl]], None]


class _Place(NamedTuple):
    """What entries are about; of a name, or prefix, there may be thousands."""

    resource_type: int
    prefixed: bool
    name: str


def _place_of(acl: Acl) -> _Place:
    return _Place(acl.resource_type, acl.pattern_type == Pattern.PREFIXED, acl.resource_name)


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
        # By what they are about: by name, or prefix, of a type; and how long its prefixes are.
        self._places: dict[_Place, dict[Acl, None]] = {}
        self._lengths: dict[int, Counter[int]] = {}
        self.changed: Changed | None = None

    # Entries -------------------------------------------------------------------------------------

    def add(self, acls: Iterable[Acl]) -> None:
        """More entries; those that are there already stay as they are."""
        new = [acl for acl in dict.fromkeys(acls) if acl not in self._acls]
        for acl in new:
            self._acls[acl] = None
            place = _place_of(acl)
            if place not in self._places:
                self._places[place] = {}
                if place.prefixed:
                    self._lengths.setdefault(place.resource_type, Counter())[len(place.name)] += 1
            self._places[place][acl] = None
        self._tell(new, ())

    def remove(self, acls: Iterable[Acl]) -> None:
        """Fewer entries."""
        gone = [acl for acl in dict.fromkeys(acls) if acl in self._acls]
        for acl in gone:
            del self._acls[acl]
            place = _place_of(acl)
            del self._places[place][acl]
            if not self._places[place]:
                self._vacate(place)
        self._tell((), gone)

    def find(self, wanted: AclFilter) -> list[Acl]:
        """The entries that a filter finds, in their order."""
        found: Iterable[Acl] = self._acls
        name, pattern = wanted.resource_name, wanted.pattern_type
        if name is not None and pattern in _PATTERNS and wanted.resource_type != Resource.ANY:
            prefixed = pattern == Pattern.PREFIXED
            found = self._places.get(_Place(wanted.resource_type, prefixed, name), ())
        return [acl for acl in found if wanted.matches(acl)]

    def __len__(self) -> int:
        return len(self._acls)

    def _vacate(self, place: _Place) -> None:
        """Nothing is about it any more."""
        del self._places[place]
        if place.prefixed:
            lengths = self._lengths[place.resource_type]
            lengths[len(place.name)] -= 1
            if not lengths[len(place.name)]:
                del lengths[len(place.name)]

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
        denied = _Denied([acl for acl in about if acl.permission_type == Permission.DENY])
        if WILDCARD in denied.names:
            return False
        return any(
            _is_everything(acl) or not denied.dominates(acl)
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
        for literal in {name, WILDCARD}:
            yield from self._places.get(_Place(resource_type, False, literal), ())
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self._places.get(_Place(resource_type, True, name[:length]), ())


def _speaks_of(acl: Acl, operation: int) -> bool:
    """Whether an entry allows or denies an operation."""
    if acl.operation in {operation, Operation.ALL}:
        return True
    implied = acl.operation in _IMPLIED_BY.get(operation, ())
    return implied and acl.permission_type == Permission.ALLOW


def _is_everything(acl: Acl) -> bool:
    return acl.pattern_type == Pattern.LITERAL and acl.resource_name == WILDCARD


class _Denied:
    """What entries deny."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        places = {_place_of(acl) for acl in acls}
        self.names = {place.name for place in places if not place.prefixed}
        self._prefixes = {place.name for place in places if place.prefixed}
        self._lengths = {len(prefix) for prefix in self._prefixes}

    def dominates(self, allowed: Acl) -> bool:
        """Whether nothing is left of what an entry allows."""
        name = allowed.resource_name
        if any(name[:length] in self._prefixes for length in self._lengths):
            return True
        return name in self.names and allowed.pattern_type == Pattern.LITERAL
