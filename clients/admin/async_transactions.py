"""What an `AsyncAdmin` does about transactions: who has which, and what to do if one hangs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.admin import FencedProducer, TransactionDescription, TransactionListing
from kcore.clients.admin import transaction_requests as requests


class AsyncTransactionMethods:
    """Over `_run`, which is what `AsyncAdmin` waits by."""

    async def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    async def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[Any] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
        timeout_ms: float | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """See `Admin.list_transactions`."""
        procedure = requests.list_transactions(
            broker_ids,
            producer_id_filters,
            state_filters,
            duration_filter_ms,
            transactional_id_pattern,
        )
        found: dict[int, list[TransactionListing]] = await self._run(procedure, timeout_ms)
        return found

    async def describe_transactions(
        self, transactional_ids: Iterable[str], timeout_ms: float | None = None
    ) -> dict[str, TransactionDescription]:
        """See `Admin.describe_transactions`."""
        found: dict[str, TransactionDescription] = await self._run(
            requests.describe_transactions(transactional_ids), timeout_ms
        )
        return found

    async def abort_transaction(self, spec: Any, timeout_ms: float | None = None) -> None:
        """See `Admin.abort_transaction`."""
        await self._run(requests.abort_transaction(spec), timeout_ms)

    async def fence_producers(
        self, transactional_ids: Iterable[str], timeout_ms: float | None = None
    ) -> dict[str, FencedProducer]:
        """See `Admin.fence_producers`."""
        found: dict[str, FencedProducer] = await self._run(
            requests.fence_producers(transactional_ids), timeout_ms
        )
        return found

    async def force_terminate_transaction(
        self, transactional_id: str, timeout_ms: float | None = None
    ) -> None:
        """See `Admin.force_terminate_transaction`."""
        await self._run(requests.fence_producers([transactional_id]), timeout_ms)

    async def find_hanging_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        max_transaction_timeout_ms: int = 900_000,
        topic_partitions: Any = None,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """See `Admin.find_hanging_transactions`."""
        procedure = requests.find_hanging_transactions(
            broker_ids, max_transaction_timeout_ms, topic_partitions
        )
        found: list[dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found
