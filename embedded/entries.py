"""Entries of access control lists, as kcore.admin has them and as the broker keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import TYPE_CHECKING, Final

from kcore.admin.security import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    as_told,
)
from kcore.broker.authorization.acls import CLUSTER_NAME, TEXT_BYTES_MAX, WILDCARD, Acl, AclFilter
from kcore.broker.authorization.authorizer import ACLS_MAX, Authorizer
from kcore.broker.authorization.config import check_principal
from kcore.broker.authorization.hosts import wrong_host
from kcore.errors import KafkaConfigurationError, UsageError

if TYPE_CHECKING:
    from kcore.embedded.access import Where
    from kcore.embedded.inside import Serving

WHERE: Final = frozenset({"topic", "group", "transactional_id", "cluster", "prefixed", "host"})

_EVERYTHING: Final = ACLFilter()
_EITHER: Final = (ACLPermissionType.ALLOW, ACLPermissionType.DENY)


class Access:
    """Entries of access control lists, in the words of tests and as kcore.admin's `ACL`."""

    def __init__(self, server: Serving, authorizer: Authorizer | None) -> None:
        if authorizer is None:
            raise UsageError("this broker has no authorizer: EmbeddedBroker(authorizer=True)")
        self._server = server
        self._authorizer = authorizer

    def add(
        self, permission: str, principal: str, operations: str | Iterable[str], where: Where
    ) -> list[ACL]:
        """ALLOW or DENY it. UsageError: it cannot be, or entries are too many."""
        made = [*_made(ACLPermissionType[permission], principal, operations, where)]
        entries = [_entry(acl) for acl in made]
        wrong = wrong_host(entries[0].host) if self._authorizer.ranges else None
        if wrong is not None:
            raise UsageError(f"host={entries[0].host!r:.100}: {wrong}")

        def add(_now_ms: int) -> None:
            if len(self._authorizer) + len(entries) > ACLS_MAX:
                raise UsageError(f"{ACLS_MAX} entries are most")
            self._authorizer.add(entries)

        self._server.call(add)
        return made

    def remove(self, principal: str, operations: str | Iterable[str], where: Where) -> list[ACL]:
        """Both that allow it and that deny it. LookupError if there was none."""
        made = [*_made(ACLPermissionType.ALLOW, principal, operations, where)]
        wanted = {
            _entry(acl)._replace(permission_type=int(kind)) for acl in made for kind in _EITHER
        }

        def remove(_now_ms: int) -> list[Acl]:
            gone = [acl for acl in self._authorizer.find(AclFilter()) if acl in wanted]
            self._authorizer.remove(gone)
            return gone

        gone = [_told(acl) for acl in self._server.call(remove)]
        if not gone:
            raise LookupError(f"there is no such entry: {made[0]!r}")
        return gone

    def find(self, wanted: ACLFilter | None = None) -> list[ACL]:
        """Those that a filter finds; all, if there is none."""
        if not isinstance(wanted, (ACLFilter, NoneType)):
            raise UsageError(f"wanted={wanted!r:.100} is no ACLFilter of kcore.admin")
        one = _EVERYTHING if wanted is None else wanted
        pattern = one.resource_pattern
        found = AclFilter(
            pattern.resource_type,
            pattern.resource_name,
            pattern.pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        return [
            _told(acl) for acl in self._server.call(lambda _now_ms: self._authorizer.find(found))
        ]


def _made(
    permission: ACLPermissionType, principal: str, operations: str | Iterable[str], where: Where
) -> Iterator[ACL]:
    """UsageError: one of them cannot be."""
    unknown = set(where) - WHERE
    if unknown:
        raise UsageError(f"{min(unknown)}= is nothing that access is to, nor how")
    names = [operations] if isinstance(operations, str) else operations
    known = {one.name for one in ACLOperation if one.value > ACLOperation.ANY.value}
    if (
        not isinstance(names, (list, tuple, set, frozenset))
        or not names
        or not known.issuperset(name if isinstance(name, str) else "" for name in names)
    ):
        raise UsageError(f"operations={operations!r:.100}: there are {', '.join(sorted(known))}")
    _check_text("principal", principal)
    _check_text("host", where.get("host", WILDCARD))
    for name in ("cluster", "prefixed"):
        if not isinstance(where.get(name, False), bool):
            raise UsageError(f"{name}={where.get(name)!r:.100} is not True or False")
    try:
        check_principal(principal)
    except KafkaConfigurationError as error:
        raise UsageError(f"principal={error}") from None
    for kind, resource in _resources(where).items():
        # The cluster has one name: there is nothing that begins like it.
        begins = where.get("prefixed", False) and kind is not ResourceType.CLUSTER
        pattern = ACLResourcePatternType.PREFIXED if begins else ACLResourcePatternType.LITERAL
        for name in names:
            yield ACL(
                principal=principal,
                host=where.get("host", WILDCARD),
                operation=ACLOperation[name],
                permission_type=permission,
                resource_pattern=ResourcePattern(
                    resource_type=kind, resource_name=resource, pattern_type=pattern
                ),
            )


def _resources(where: Where) -> dict[ResourceType, str]:
    """UsageError if none is named."""
    named = {
        ResourceType.TOPIC: where.get("topic"),
        ResourceType.GROUP: where.get("group"),
        ResourceType.TRANSACTIONAL_ID: where.get("transactional_id"),
        ResourceType.CLUSTER: CLUSTER_NAME if where.get("cluster") else None,
    }
    found = {kind: name for kind, name in named.items() if name is not None}
    for kind, name in found.items():
        _check_text(kind.name.lower(), name)
    if not found:
        raise UsageError(
            'access is to something: topic="orders", group="billing", transactional_id="tx" or'
            " cluster=True"
        )
    return found


def _check_text(name: str, text: object) -> None:
    """UsageError: a Kafka could not be told of it."""
    fits = isinstance(text, str) and 0 < len(text.encode("utf-8", "replace")) <= TEXT_BYTES_MAX
    if not fits or (isinstance(text, str) and text.encode("utf-8", "replace").decode() != text):
        raise UsageError(f"{name}={text!r:.100} is no text of 1 to {TEXT_BYTES_MAX} bytes")


def _entry(acl: ACL) -> Acl:
    pattern = acl.resource_pattern
    return Acl(
        int(pattern.resource_type),
        str(pattern.resource_name),
        int(pattern.pattern_type),
        str(acl.principal),
        str(acl.host),
        int(acl.operation),
        int(acl.permission_type),
    )


def _told(acl: Acl) -> ACL:
    """Entries that came over the wire may be such as nobody here would make."""
    resource = as_told(
        ResourcePattern,
        resource_type=ResourceType(acl.resource_type),
        resource_name=acl.resource_name,
        pattern_type=ACLResourcePatternType(acl.pattern_type),
    )
    return as_told(
        ACL,
        principal=acl.principal,
        host=acl.host,
        operation=ACLOperation(acl.operation),
        permission_type=ACLPermissionType(acl.permission_type),
        resource_pattern=resource,
    )
