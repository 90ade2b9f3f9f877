"""What an `AsyncAdmin` does about the cluster itself: brokers, features, where replicas are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcore.admin import (
    BrokerVersionData,
    PartitionProducerState,
    ReplicaLogDirs,
    TopicPartitionReplica,
)
from kcore.clients.admin import requests
from kcore.errors import KafkaError
from kcore.structs import TopicPartition
from kcore.wire.messages import ElectLeadersResponse


class AsyncClusterMethods:
    """Over `_run`, which is what `AsyncAdmin` waits by."""

    async def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    # The cluster --------------------------------------------------------------------------------

    async def describe_cluster(self, timeout_ms: float | None = None) -> dict[str, Any]:
        """See `Admin.describe_cluster`."""
        found: dict[str, Any] = await self._run(requests.describe_cluster(), timeout_ms)
        return found

    async def describe_log_dirs(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | None = None,
        brokers: Iterable[int] | None = None,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """See `Admin.describe_log_dirs`."""
        procedure = requests.describe_log_dirs(topic_partitions, brokers)
        found: list[dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found

    async def alter_replica_log_dirs(
        self,
        replica_assignments: Mapping[Any, str],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartitionReplica, type[KafkaError]]:
        """See `Admin.alter_replica_log_dirs`."""
        procedure = requests.alter_replica_log_dirs(replica_assignments, raise_errors=raise_errors)
        found: dict[TopicPartitionReplica, type[KafkaError]] = await self._run(
            procedure, timeout_ms
        )
        return found

    async def describe_replica_log_dirs(
        self, replicas: Iterable[Any], timeout_ms: float | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirs]:
        """See `Admin.describe_replica_log_dirs`."""
        procedure = requests.describe_replica_log_dirs(replicas)
        found: dict[TopicPartitionReplica, ReplicaLogDirs] = await self._run(procedure, timeout_ms)
        return found

    async def list_config_resources(
        self, resource_types: Iterable[Any] | None = None, timeout_ms: float | None = None
    ) -> dict[str, list[str]]:
        """See `Admin.list_config_resources`."""
        procedure = requests.list_config_resources(resource_types)
        found: dict[str, list[str]] = await self._run(procedure, timeout_ms)
        return found

    async def elect_leaders(
        self,
        election_type: Any,
        topic_partitions: Any = None,
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> ElectLeadersResponse:
        """See `Admin.elect_leaders`."""
        procedure = requests.elect_leaders(
            election_type, topic_partitions, raise_errors=raise_errors
        )
        found: ElectLeadersResponse = await self._run(procedure, timeout_ms)
        return found

    # Features -----------------------------------------------------------------------------------

    async def describe_features(
        self,
        send_request_to_controller: bool = False,
        timeout_ms: float | None = None,
        broker_id: int | None = None,
    ) -> dict[str, dict[str, Any]]:
        """See `Admin.describe_features`."""
        procedure = requests.describe_features(broker_id, of_controller=send_request_to_controller)
        found: dict[str, dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found

    async def update_features(
        self,
        feature_updates: Mapping[str, Any],
        validate_only: bool = False,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, str]:
        """See `Admin.update_features`."""
        procedure = requests.update_features(
            feature_updates, validate_only=validate_only, raise_errors=raise_errors
        )
        found: dict[str, str] = await self._run(procedure, timeout_ms)
        return found

    async def api_versions(self, timeout_ms: float | None = None) -> dict[int, tuple[int, int]]:
        """See `Admin.api_versions`."""
        found: BrokerVersionData = await self._run(requests.api_versions(), timeout_ms)
        return dict(found.api_versions)

    async def get_broker_version_data(
        self, broker_id: int, timeout_ms: float | None = None
    ) -> BrokerVersionData:
        """See `Admin.get_broker_version_data`."""
        procedure = requests.get_broker_version_data(broker_id)
        found: BrokerVersionData = await self._run(procedure, timeout_ms)
        return found

    # Replicas and producers ---------------------------------------------------------------------

    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[Any, Iterable[int] | None],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, type[KafkaError] | None]:
        """See `Admin.alter_partition_reassignments`."""
        procedure = requests.alter_partition_reassignments(
            reassignments,
            change_factor=allow_replication_factor_change,
            raise_errors=raise_errors,
        )
        found: dict[TopicPartition, type[KafkaError] | None] = await self._run(
            procedure, timeout_ms
        )
        return found

    async def list_partition_reassignments(
        self, topic_partitions: Any = None, timeout_ms: float | None = None
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """See `Admin.list_partition_reassignments`."""
        found: dict[TopicPartition, dict[str, list[int]]] = await self._run(
            requests.list_partition_reassignments(topic_partitions), timeout_ms
        )
        return found

    async def describe_topic_partitions(
        self,
        topics: Iterable[str] | None,
        response_partition_limit: int = 2000,
        cursor: Mapping[str, Any] | None = None,
        timeout_ms: float | None = None,
    ) -> dict[str, Any]:
        """See `Admin.describe_topic_partitions`."""
        procedure = requests.describe_topic_partitions(topics, response_partition_limit, cursor)
        found: dict[str, Any] = await self._run(procedure, timeout_ms)
        return found

    async def describe_producers(
        self,
        partitions: Iterable[Any],
        broker_id: int | None = None,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, PartitionProducerState]:
        """See `Admin.describe_producers`."""
        found: dict[TopicPartition, PartitionProducerState] = await self._run(
            requests.describe_producers(partitions, broker_id), timeout_ms
        )
        return found
