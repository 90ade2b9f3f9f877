"""What an `Admin` does about the quorum of controllers (KIP-595, KIP-853), and who is registered
with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kcore.admin import quorum
from kcore.clients.admin import quorum_requests as requests


class QuorumMethods:
    """Over `_run`, which is what `Admin` waits by."""

    def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    def describe_metadata_quorum(self, timeout_ms: float | None = None) -> dict[str, Any]:
        """{"topics": [{"topic_name", "partitions": [row]}], "nodes": [row]}: a row has "leader_id",
        "leader_epoch", "high_watermark", and as "current_voters" and "observers" replicas with
        "replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp" and
        "last_caught_up_timestamp" (ms since 1970; -1: unknown). "nodes": where controllers are to
        be found (Kafka 3.9).

        UnsupportedVersionError: brokers before 3.3, or with ZooKeeper.
        """
        found: dict[str, Any] = self._run(quorum.describe_metadata_quorum(), timeout_ms)
        return found

    def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: UUID | str,
        endpoints: Iterable[Any],
        cluster_id: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Have a controller that runs as an observer vote (KIP-853, Kafka 3.9; kraft.version 1).

        voter_directory_id: the directory.id of its meta.properties; endpoints: of its listeners,
        RaftVoterEndpoint or (name, host, port). cluster_id: refused if it is another's.
        """
        procedure = requests.add_raft_voter(voter_id, voter_directory_id, endpoints, cluster_id)
        self._run(procedure, timeout_ms)

    def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: UUID | str,
        cluster_id: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Have a controller vote no more; it may be gone already, or the leader."""
        procedure = requests.remove_raft_voter(voter_id, voter_directory_id, cluster_id)
        self._run(procedure, timeout_ms)

    def unregister_broker(self, broker_id: int, timeout_ms: float | None = None) -> None:
        """Strike off a broker that was shut down for good: `describe_cluster` tells of it no more,
        and it gets no replicas. Those it has are to be moved before (or they stay under its number
        without it). BrokerIdNotRegisteredError: there is none.
        """
        self._run(requests.unregister_broker(broker_id), timeout_ms)

    def unregister_controller(self, controller_id: int, timeout_ms: float | None = None) -> None:
        """Strike off a controller that was shut down for good, and votes no more (Kafka 4.4): what
        it could do no longer keeps features from being raised. Not the one that leads.
        ControllerIdNotRegisteredError: there is none.
        """
        self._run(requests.unregister_controller(controller_id), timeout_ms)
