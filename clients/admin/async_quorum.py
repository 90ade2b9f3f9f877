"""What an `AsyncAdmin` does about the quorum of controllers (KIP-595, KIP-853), and who is
registered with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kcore.admin import quorum
from kcore.clients.admin import quorum_requests as requests


class AsyncQuorumMethods:
    """Over `_run`, which is what `AsyncAdmin` waits by."""

    async def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    async def describe_metadata_quorum(self, timeout_ms: float | None = None) -> dict[str, Any]:
        """See `Admin.describe_metadata_quorum`."""
        found: dict[str, Any] = await self._run(quorum.describe_metadata_quorum(), timeout_ms)
        return found

    async def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: UUID | str,
        endpoints: Iterable[Any],
        cluster_id: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """See `Admin.add_raft_voter`."""
        procedure = requests.add_raft_voter(voter_id, voter_directory_id, endpoints, cluster_id)
        await self._run(procedure, timeout_ms)

    async def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: UUID | str,
        cluster_id: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """See `Admin.remove_raft_voter`."""
        procedure = requests.remove_raft_voter(voter_id, voter_directory_id, cluster_id)
        await self._run(procedure, timeout_ms)

    async def unregister_broker(self, broker_id: int, timeout_ms: float | None = None) -> None:
        """See `Admin.unregister_broker`."""
        await self._run(requests.unregister_broker(broker_id), timeout_ms)

    async def unregister_controller(
        self, controller_id: int, timeout_ms: float | None = None
    ) -> None:
        """See `Admin.unregister_controller`."""
        await self._run(requests.unregister_controller(controller_id), timeout_ms)
