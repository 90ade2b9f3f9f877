"""What an `AsyncAdmin` does about access: access control lists, SCRAM credentials, quotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcore.admin.security import ACL, ACLFilter
from kcore.clients.admin import quota_requests
from kcore.clients.admin import security_requests as requests
from kcore.errors import KafkaError


class AsyncSecurityMethods:
    """Over `_run`, which is what `AsyncAdmin` waits by."""

    async def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    # Access control lists -----------------------------------------------------------------------

    async def describe_acls(
        self, acl_filter: Any, timeout_ms: float | None = None
    ) -> tuple[list[ACL], type[KafkaError]]:
        """See `Admin.describe_acls`."""
        found: tuple[list[ACL], type[KafkaError]] = await self._run(
            requests.describe_acls(acl_filter), timeout_ms
        )
        return found

    async def create_acls(
        self, acls: Iterable[Any], timeout_ms: float | None = None, raise_errors: bool = False
    ) -> dict[str, list[Any]]:
        """See `Admin.create_acls`."""
        procedure = requests.create_acls(acls, raise_errors=raise_errors)
        found: dict[str, list[Any]] = await self._run(procedure, timeout_ms)
        return found

    async def delete_acls(
        self,
        acl_filters: Iterable[Any],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> list[tuple[ACLFilter, list[ACL], type[KafkaError]]]:
        """See `Admin.delete_acls`."""
        procedure = requests.delete_acls(acl_filters, raise_errors=raise_errors)
        found: list[tuple[ACLFilter, list[ACL], type[KafkaError]]] = await self._run(
            procedure, timeout_ms
        )
        return found

    # SCRAM credentials --------------------------------------------------------------------------

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, timeout_ms: float | None = None
    ) -> dict[str, dict[str, Any]]:
        """See `Admin.describe_user_scram_credentials`."""
        found: dict[str, dict[str, Any]] = await self._run(
            requests.describe_user_scram_credentials(users), timeout_ms
        )
        return found

    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[Any],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, str | None]:
        """See `Admin.alter_user_scram_credentials`."""
        procedure = requests.alter_user_scram_credentials(alterations, raise_errors=raise_errors)
        found: dict[str, str | None] = await self._run(procedure, timeout_ms)
        return found

    # Quotas -------------------------------------------------------------------------------------

    async def describe_client_quotas(
        self,
        components: Mapping[str, Any] | None = None,
        strict: bool = False,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """See `Admin.describe_client_quotas`."""
        procedure = quota_requests.describe_client_quotas(components, strict=strict)
        found: list[dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found

    async def alter_client_quotas(
        self,
        alterations: Iterable[tuple[Mapping[str, str | None], Mapping[str, float | None]]],
        validate_only: bool = False,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> list[tuple[dict[str, str | None], type[KafkaError]]]:
        """See `Admin.alter_client_quotas`."""
        procedure = quota_requests.alter_client_quotas(
            alterations, validate_only=validate_only, raise_errors=raise_errors
        )
        found: list[tuple[dict[str, str | None], type[KafkaError]]] = await self._run(
            procedure, timeout_ms
        )
        return found
