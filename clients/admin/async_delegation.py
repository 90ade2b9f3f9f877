"""What an `AsyncAdmin` does about delegation tokens (KIP-48)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.admin import DelegationToken
from kcore.clients.admin import delegation_requests as requests


class AsyncDelegationMethods:
    """Over `_run`, which is what `AsyncAdmin` waits by. Principals are "User:alice"."""

    async def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    async def create_delegation_token(
        self,
        renewers: Iterable[str] = (),
        owner: str | None = None,
        max_lifetime_ms: int = -1,
        timeout_ms: float | None = None,
    ) -> DelegationToken:
        """See `Admin.create_delegation_token`."""
        procedure = requests.create_delegation_token(renewers, owner, max_lifetime_ms)
        found: DelegationToken = await self._run(procedure, timeout_ms)
        return found

    async def renew_delegation_token(
        self, token: Any, renew_time_period_ms: int = -1, timeout_ms: float | None = None
    ) -> int:
        """See `Admin.renew_delegation_token`."""
        procedure = requests.renew_delegation_token(token, renew_time_period_ms)
        until_ms: int = await self._run(procedure, timeout_ms)
        return until_ms

    async def expire_delegation_token(
        self, token: Any, expiry_time_period_ms: int = -1, timeout_ms: float | None = None
    ) -> int:
        """See `Admin.expire_delegation_token`."""
        procedure = requests.expire_delegation_token(token, expiry_time_period_ms)
        until_ms: int = await self._run(procedure, timeout_ms)
        return until_ms

    async def describe_delegation_token(
        self, owners: Iterable[str] | None = None, timeout_ms: float | None = None
    ) -> list[DelegationToken]:
        """See `Admin.describe_delegation_token`."""
        procedure = requests.describe_delegation_token(owners)
        found: list[DelegationToken] = await self._run(procedure, timeout_ms)
        return found
