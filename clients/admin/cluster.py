"""What an `Admin` does about the cluster itself: brokers, features, where replicas are."""

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


class ClusterMethods:
    """Over `_run`, which is what `Admin` waits by."""

    def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        raise NotImplementedError

    # The cluster --------------------------------------------------------------------------------

    def describe_cluster(self, timeout_ms: float | None = None) -> dict[str, Any]:
        """{"cluster_id", "controller_id", "brokers", "authorized_operations"}."""
        found: dict[str, Any] = self._run(requests.describe_cluster(), timeout_ms)
        return found

    def describe_log_dirs(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | None = None,
        brokers: Iterable[int] | None = None,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """What partitions take on the disks of brokers: [{"broker", "log_dirs": [row]}]."""
        procedure = requests.describe_log_dirs(topic_partitions, brokers)
        found: list[dict[str, Any]] = self._run(procedure, timeout_ms)
        return found

    def alter_replica_log_dirs(
        self,
        replica_assignments: Mapping[Any, str],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartitionReplica, type[KafkaError]]:
        """Have brokers move their replicas to other directories: {TopicPartitionReplica or (topic,
        partition, broker): absolute path}. {replica: the class of its error, or NoError}. A move
        goes on behind the answer: `describe_log_dirs` tells of it ("is_future_key").
        """
        procedure = requests.alter_replica_log_dirs(replica_assignments, raise_errors=raise_errors)
        found: dict[TopicPartitionReplica, type[KafkaError]] = self._run(procedure, timeout_ms)
        return found

    def describe_replica_log_dirs(
        self, replicas: Iterable[Any], timeout_ms: float | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirs]:
        """{replica: ReplicaLogDirs} of these (TopicPartitionReplica or (topic, partition, broker)):
        in which directory of its broker each is, into which it is being moved, and how far behind
        it is there. Of what is not there the directory is None.
        """
        procedure = requests.describe_replica_log_dirs(replicas)
        found: dict[TopicPartitionReplica, ReplicaLogDirs] = self._run(procedure, timeout_ms)
        return found

    def list_config_resources(
        self, resource_types: Iterable[Any] | None = None, timeout_ms: float | None = None
    ) -> dict[str, list[str]]:
        """{type: [name]} of what has a configuration: topics, brokers, groups, client metrics
        (Kafka 4.1; before, client metrics alone). None: of all types.
        """
        procedure = requests.list_config_resources(resource_types)
        found: dict[str, list[str]] = self._run(procedure, timeout_ms)
        return found

    def elect_leaders(
        self,
        election_type: Any,
        topic_partitions: Any = None,
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> ElectLeadersResponse:
        """Elect leaders: the preferred ones (0), or any there are (1). {topic: partitions}, topics
        or None for everything. Where the right one leads already, that is no error.
        """
        procedure = requests.elect_leaders(
            election_type, topic_partitions, raise_errors=raise_errors
        )
        found: ElectLeadersResponse = self._run(procedure, timeout_ms)
        return found

    # Features -----------------------------------------------------------------------------------

    def describe_features(
        self,
        send_request_to_controller: bool = False,
        timeout_ms: float | None = None,
        broker_id: int | None = None,
    ) -> dict[str, dict[str, Any]]:
        """{feature: {"supported": (min, max), "finalized": (min, max), "finalized_epoch"}}: what
        this broker supports, or (None) any, or the controller (the broker that stands for it, under
        KRaft), and what the cluster uses.
        """
        procedure = requests.describe_features(broker_id, of_controller=send_request_to_controller)
        found: dict[str, dict[str, Any]] = self._run(procedure, timeout_ms)
        return found

    def update_features(
        self,
        feature_updates: Mapping[str, Any],
        validate_only: bool = False,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, str]:
        """Have the cluster use features up to a version: {feature: version} or {feature:
        (UpdateFeatureType, version)}; below 1: not at all. {feature: "OK" or the error}. Since
        Kafka 4.0 all are updated or none, and what is wrong with one is raised.

        validate_only: nothing is updated.
        """
        procedure = requests.update_features(
            feature_updates, validate_only=validate_only, raise_errors=raise_errors
        )
        found: dict[str, str] = self._run(procedure, timeout_ms)
        return found

    def api_versions(self, timeout_ms: float | None = None) -> dict[int, tuple[int, int]]:
        """{number of an API: (lowest, highest version)}: what a broker speaks, whichever is asked.
        Those that clients here know are `ApiKey` members, with names.
        """
        found: BrokerVersionData = self._run(requests.api_versions(), timeout_ms)
        return dict(found.api_versions)

    def get_broker_version_data(
        self, broker_id: int, timeout_ms: float | None = None
    ) -> BrokerVersionData:
        """What this broker speaks (`api_versions`), and the release that it is like
        (`broker_version`).
        """
        procedure = requests.get_broker_version_data(broker_id)
        found: BrokerVersionData = self._run(procedure, timeout_ms)
        return found

    # Replicas and producers ---------------------------------------------------------------------

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[Any, Iterable[int] | None],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, type[KafkaError] | None]:
        """Begin to move partitions: {partition: its brokers, or None to have it stay where it was}.
        {partition: the class of its error, or None}.
        """
        procedure = requests.alter_partition_reassignments(
            reassignments,
            change_factor=allow_replication_factor_change,
            raise_errors=raise_errors,
        )
        found: dict[TopicPartition, type[KafkaError] | None] = self._run(procedure, timeout_ms)
        return found

    def list_partition_reassignments(
        self, topic_partitions: Any = None, timeout_ms: float | None = None
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """What is being moved, of {topic: partitions}, of these partitions, or (None) of all:
        {partition: {"replicas", "adding_replicas", "removing_replicas"}}.
        """
        found: dict[TopicPartition, dict[str, list[int]]] = self._run(
            requests.list_partition_reassignments(topic_partitions), timeout_ms
        )
        return found

    def describe_topic_partitions(
        self,
        topics: Iterable[str] | None,
        response_partition_limit: int = 2000,
        cursor: Mapping[str, Any] | None = None,
        timeout_ms: float | None = None,
    ) -> dict[str, Any]:
        """{"topics": rows, "next_cursor": the `cursor` of the next call, or None}: topics, or
        (None) all, so many partitions at a time, with those that may lead (KIP-966).
        """
        procedure = requests.describe_topic_partitions(topics, response_partition_limit, cursor)
        found: dict[str, Any] = self._run(procedure, timeout_ms)
        return found

    def describe_producers(
        self,
        partitions: Iterable[Any],
        broker_id: int | None = None,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, PartitionProducerState]:
        """{partition: PartitionProducerState}: the producers that leaders know, or this broker."""
        found: dict[TopicPartition, PartitionProducerState] = self._run(
            requests.describe_producers(partitions, broker_id), timeout_ms
        )
        return found
