"""What an `Admin` does about access: access control lists, and SCRAM credentials."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.admin.security import ACL, ACLFilter
from kcore.clients import admin_security_requests as requests
from kcore.errors import KafkaError


class SecurityMethods:
    """Over `_run`, which is what `Admin` waits by."""

    def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    # Access control lists -----------------------------------------------------------------------

    def describe_acls(
        self, acl_filter: Any, timeout_ms: float | None = None
    ) -> tuple[list[ACL], type[KafkaError]]:
        """(The entries that match an ACLFilter, NoError).

        SecurityDisabledError: the brokers have no authorizer.
        """
        found: tuple[list[ACL], type[KafkaError]] = self._run(
            requests.describe_acls(acl_filter), timeout_ms
        )
        return found

    def create_acls(
        self, acls: Iterable[Any], timeout_ms: float | None = None, raise_errors: bool = False
    ) -> dict[str, list[Any]]:
        """Add entries: ACL objects. {"succeeded": entries, "failed": classes of errors}. What is
        there already is no error.
        """
        procedure = requests.create_acls(acls, raise_errors=raise_errors)
        found: dict[str, list[Any]] = self._run(procedure, timeout_ms)
        return found

    def delete_acls(
        self,
        acl_filters: Iterable[Any],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> list[tuple[ACLFilter, list[ACL], type[KafkaError]]]:
        """Delete all entries that match. [(filter, the entries that are gone, the class of its
        error, or NoError)]; what an attempt of this call has deleted whose answer was lost is not
        among them.
        """
        procedure = requests.delete_acls(acl_filters, raise_errors=raise_errors)
        found: list[tuple[ACLFilter, list[ACL], type[KafkaError]]] = self._run(
            procedure, timeout_ms
        )
        return found

    # SCRAM credentials --------------------------------------------------------------------------

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, timeout_ms: float | None = None
    ) -> dict[str, dict[str, Any]]:
        """{user: {"error": text or None, "credential_infos": [{"mechanism", "iterations"}]}} of
        these, or of all users who have any.
        """
        found: dict[str, dict[str, Any]] = self._run(
            requests.describe_user_scram_credentials(users), timeout_ms
        )
        return found

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[Any],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, str | None]:
        """Set or delete passwords: UserScramCredentialUpsertion and UserScramCredentialDeletion
        objects. {user: what went wrong, or None}. Passwords do not leave this process: brokers are
        told salted hashes.
        """
        procedure = requests.alter_user_scram_credentials(alterations, raise_errors=raise_errors)
        found: dict[str, str | None] = self._run(procedure, timeout_ms)
        return found
