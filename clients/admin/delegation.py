"""What an `Admin` does about delegation tokens (KIP-48)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.admin import DelegationToken
from kcore.clients.admin import delegation_requests as requests


class DelegationMethods:
    """Over `_run`, which is what `Admin` waits by. Principals are "User:alice"."""

    def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    def create_delegation_token(
        self,
        renewers: Iterable[str] = (),
        owner: str | None = None,
        max_lifetime_ms: int = -1,
        timeout_ms: float | None = None,
    ) -> DelegationToken:
        """A token with which somebody may act for the owner (None: for who asks; Kafka 3.3), at
        most so long (-1: as brokers allow); these may renew it, too.
        """
        procedure = requests.create_delegation_token(renewers, owner, max_lifetime_ms)
        found: DelegationToken = self._run(procedure, timeout_ms)
        return found

    def renew_delegation_token(
        self, token: Any, renew_time_period_ms: int = -1, timeout_ms: float | None = None
    ) -> int:
        """Have a token (DelegationToken, or its hmac) be good for so long from now on (-1: as
        brokers are set up). Until when, in ms since 1970.
        """
        procedure = requests.renew_delegation_token(token, renew_time_period_ms)
        until_ms: int = self._run(procedure, timeout_ms)
        return until_ms

    def expire_delegation_token(
        self, token: Any, expiry_time_period_ms: int = -1, timeout_ms: float | None = None
    ) -> int:
        """Have a token be good for only so long; -1: no more. Until when, in ms since 1970."""
        procedure = requests.expire_delegation_token(token, expiry_time_period_ms)
        until_ms: int = self._run(procedure, timeout_ms)
        return until_ms

    def describe_delegation_token(
        self, owners: Iterable[str] | None = None, timeout_ms: float | None = None
    ) -> list[DelegationToken]:
        """The tokens of these owners, or (None) all that who asks may see."""
        procedure = requests.describe_delegation_token(owners)
        found: list[DelegationToken] = self._run(procedure, timeout_ms)
        return found
