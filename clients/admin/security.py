"""What an `Admin` does about access: access control lists, SCRAM credentials, quotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcore.admin.security import ACL, ACLFilter
from kcore.clients.admin import quota_requests
from kcore.clients.admin import security_requests as requests
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

    # Quotas -------------------------------------------------------------------------------------

    def describe_client_quotas(
        self,
        components: Mapping[str, Any] | None = None,
        strict: bool = False,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """[{"entity": {type: name}, "quotas": {quota: number}}] of the entities that match {entity
        type: name, None for the default, or ClientQuotaMatch.ANY}; None: of all. strict: and have
        no other types. Types are "user", "client-id" and "ip".
        """
        procedure = quota_requests.describe_client_quotas(components, strict=strict)
        found: list[dict[str, Any]] = self._run(procedure, timeout_ms)
        return found

    def alter_client_quotas(
        self,
        alterations: Iterable[tuple[Mapping[str, str | None], Mapping[str, float | None]]],
        validate_only: bool = False,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> list[tuple[dict[str, str | None], type[KafkaError]]]:
        """Set quotas, or (None) take them back: [({type: name}, {quota: number})]. [(entity, the
        class of its error, or NoError)].
        """
        procedure = quota_requests.alter_client_quotas(
            alterations, validate_only=validate_only, raise_errors=raise_errors
        )
        found: list[tuple[dict[str, str | None], type[KafkaError]]] = self._run(
            procedure, timeout_ms
        )
        return found
