"""What tests say of access: who may do what at an `EmbeddedBroker` that has an authorizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict, Unpack

if TYPE_CHECKING:
    from kcore.admin.security import ACL, ACLFilter
    from kcore.embedded.entries import Access


class Where(TypedDict, total=False):
    """What access is to, and from where."""

    topic: str
    group: str
    transactional_id: str
    cluster: bool
    prefixed: bool
    host: str


class AccessVerbs:
    """The part of `EmbeddedBroker` that is about access."""

    def _access(self) -> Access:
        """UsageError if there is no authorizer."""
        raise NotImplementedError

    def _flush_now(self) -> None:
        """What was done from inside is answered by returning."""
        raise NotImplementedError

    def allow(
        self, principal: str, operations: str | Iterable[str], **where: Unpack[Where]
    ) -> list[ACL]:
        """Let a principal ("User:alice", "User:*") do something ("READ", ["READ", "WRITE"], "ALL")
        to each of the topic, group, transactional_id or cluster that are named. "*" is all of them;
        prefixed: all whose names begin like that; host: from there only, an address or, as in Kafka
        4.4, a range (CIDR). It counts from now on, for connections that are there, too. The entries
        are returned; one that is there already is no error.
        """
        made = self._access().add("ALLOW", principal, operations, where)
        self._flush_now()
        return made

    def deny(
        self, principal: str, operations: str | Iterable[str], **where: Unpack[Where]
    ) -> list[ACL]:
        """Do not let him, whatever else allows it. The arguments are those of `allow`."""
        made = self._access().add("DENY", principal, operations, where)
        self._flush_now()
        return made

    def revoke(
        self, principal: str, operations: str | Iterable[str], **where: Unpack[Where]
    ) -> list[ACL]:
        """Take back what `allow` or `deny` has said with the same arguments. The entries that are
        gone; LookupError if there was none.
        """
        gone = self._access().remove(principal, operations, where)
        self._flush_now()
        return gone

    def acls(self, wanted: ACLFilter | None = None) -> list[ACL]:
        """The entries that a filter of kcore.admin finds; None: all."""
        return self._access().find(wanted)
