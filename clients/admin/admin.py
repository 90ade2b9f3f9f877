"""`Admin`: kafka-python's KafkaAdminClient over the sans-IO core.

The caller's thread drives the pump inside a call; between calls nothing runs. Threads are served
one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Self

from kcore import transports
from kcore.admin import PartitionLag, SharePartitionOffset
from kcore.admin.config import AdminConfig
from kcore.admin.core import AdminCore
from kcore.admin.groups import classes_of, words_of
from kcore.clients import arguments
from kcore.clients.admin import group_requests, requests
from kcore.clients.admin.cluster import ClusterMethods
from kcore.clients.admin.delegation import DelegationMethods
from kcore.clients.admin.engine import LAST_WORDS_MS, AdminEngine, AdminGuard
from kcore.clients.admin.quorum import QuorumMethods
from kcore.clients.admin.security import SecurityMethods
from kcore.clients.admin.transactions import TransactionMethods
from kcore.clients.measured import MeasuredEngine
from kcore.clients.opening import begin_at_names, open_proxy, open_sasl, open_tls, open_transport
from kcore.clients.randomness import ClientRng
from kcore.clients.reporting import Reporter
from kcore.errors import KafkaError
from kcore.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from kcore.transports.background import make_lock
from kcore.transports.forking import release_in_child
from kcore.wire.messages import CreatePartitionsResponse

# What `close` grants the call of another thread to end.
_CLOSE_S = 5.0


class Admin(
    ClusterMethods,
    SecurityMethods,
    DelegationMethods,
    TransactionMethods,
    QuorumMethods,
    MeasuredEngine,
):
    """Sees to topics, configurations and groups of a Kafka cluster.

    Options are keywords under kafka-python's names (Java's dotted ones in a mapping), listed in
    `kcore.admin.config`. With `api_version` given the constructor does not connect; without, it
    waits for a broker for `bootstrap_timeout_ms`.

    Every call ends within its `timeout_ms` (default: the option default_api_timeout_ms), and is
    tried again until then where that may help: docs/ADMIN.md. Threads may share it, and are served
    one after the other; `wakeup` may be called from anywhere.

    KafkaConfigurationError: options. NoBrokersAvailable: nobody answers.
    """

    _engine: AdminEngine

    def __init__(self, **options: Any) -> None:
        self._settings = AdminConfig.from_options(options)
        self._engine = self._connect(self._settings)
        self.config: dict[str, object] = self._settings.as_mapping()
        self._released = False
        release_in_child(self)
        if self._settings.api_version is None:
            try:
                limit = self._settings.bootstrap_timeout_ms
                with self._engine.guard:
                    self.config["api_version"] = self._engine.find_release(limit)
            except BaseException:
                self.close()
                raise

    def _connect(self, settings: AdminConfig) -> AdminEngine:
        """Core, transport and pump for these options."""
        tls, sasl, proxy = open_tls(settings), open_sasl(settings), open_proxy(settings)
        transport = open_transport(settings, settings.transport)
        now_ms, wall_ms = transports.monotonic_ms(), time.time_ns() // 1_000_000
        core = AdminCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        begin_at_names(core, settings, transport.name)
        self._guard = AdminGuard(make_lock(transport.name))
        pump = transports.Pump(core, transport, tls=tls, sasl=sasl, proxy=proxy)
        return AdminEngine(core, pump, self._guard, Reporter(settings.client_id, "admin"))

    def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        return self._do(lambda core, now, limit: core.begin(procedure, now, limit), timeout_ms)

    def _do(self, begin: Callable[[AdminCore, int, int], int], timeout_ms: float | None) -> Any:
        """An operation of the core's, within its time: its result, or its error raised."""
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        engine, guard = self._engine, self._guard
        guard.check()
        until = engine.pump.now_ms() + limit
        with guard.even_barred(limit / 1000):
            guard.check()
            return engine.answer(begin, max(until - engine.pump.now_ms(), 0))

    def client_instance_id(self, timeout_ms: float | None = None) -> str:
        """The id that brokers know this client's metrics by (KIP-714), as Kafka's tools write it.

        UnsupportedVersionError: they have no plug-in for telemetry. IllegalStateError:
        enable_metrics_push is off, as it is by default. KafkaTimeoutError.
        """
        return str(
            self._do(lambda core, now, limit: core.client_instance_id(now, limit), timeout_ms)
        )

    # Life ---------------------------------------------------------------------------------------

    def bootstrap_connected(self) -> bool:
        """Whether any broker is connected."""
        return bool(self._engine.core.connected)

    def wakeup(self) -> None:
        """End a blocking call with WakeupError; if none is going on, the next one.

        From any thread or signal handler. What was asked already may be carried out.
        """
        self._guard.check()
        self._engine.wakeup()

    def close(self) -> None:
        """End the calls of other threads, with WakeupError, and all connections. Twice is
        harmless.
        """
        guard, engine = self._guard, self._engine
        if self._released:
            return
        guard.bar()
        if guard.inside:
            engine.wakeup()
        with guard.even_barred(_CLOSE_S):
            if not self._released:
                with suppress(KafkaError):  # all is closed, by an end that was struck behind it
                    engine.recover()
                    engine.core.close(engine.pump.now_ms(), LAST_WORDS_MS)
                    engine.wait(lambda: engine.core.closed, LAST_WORDS_MS, interruptible=False)
                    engine.pump.drain()
                engine.pump.close()
                self._released = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def forked(self) -> None:
        """In the child of a fork (called by itself): every later call raises ForkedError."""
        self._guard.forked()
        self._released = True  # the connections are the parent's

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an Admin cannot be pickled: it holds connections; pickle its options instead"
        )

    # Topics -------------------------------------------------------------------------------------

    def create_topics(
        self,
        new_topics: Iterable[Any] | Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Make topics: names, {name: {"num_partitions", "replication_factor", "assignments",
        "configs"}}, or NewTopic objects. {"topics": [row]}.

        validate_only: nothing is made. raise_errors: False: errors are in the rows alone.
        wait_for_metadata: until every partition has a leader that brokers tell of.

        TopicAlreadyExistsError: also of a topic that an earlier attempt of this call has made,
        whose answer was lost; its message says if there was one.
        """
        procedure = requests.create_topics(
            new_topics,
            validate_only=validate_only,
            raise_errors=raise_errors,
            wait_for_metadata=wait_for_metadata,
        )
        found: dict[str, Any] = self._run(procedure, timeout_ms)
        return found

    def delete_topics(
        self, topics: Iterable[Any], timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        """Delete topics, by name or by id (uuid.UUID). {"topics": [row]}.

        UnknownTopicOrPartitionError: likewise of one that an earlier attempt has deleted.
        """
        procedure = requests.delete_topics(topics, raise_errors=raise_errors)
        found: dict[str, Any] = self._run(procedure, timeout_ms)
        return found

    def list_topics(self, timeout_ms: float | None = None) -> list[str]:
        """The names of all topics, Kafka's own as well."""
        found: list[str] = self._run(requests.list_topics(), timeout_ms)
        return found

    def describe_topics(
        self, topics: Iterable[Any] | None = None, timeout_ms: float | None = None
    ) -> list[dict[str, Any]]:
        """A row for each topic, with its partitions; None: all topics. One that is not there has
        an "error_code".
        """
        found: list[dict[str, Any]] = self._run(requests.describe_topics(topics), timeout_ms)
        return found

    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10_000) -> None:
        """Wait until every partition of these has a leader that brokers tell of.
        KafkaTimeoutError.
        """
        self._run(requests.wait_for_topics(topic_names), timeout_ms)

    def create_partitions(
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> CreatePartitionsResponse:
        """Add partitions: {topic: new total}, {"count", "assignments"} or NewPartitions in its
        place. The answer has `results`.
        """
        procedure = requests.create_partitions(
            topic_partitions, validate_only=validate_only, raise_errors=raise_errors
        )
        found: CreatePartitionsResponse = self._run(procedure, timeout_ms)
        return found

    def delete_records(
        self,
        records_to_delete: Mapping[Any, Any],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
    ) -> dict[TopicPartition, dict[str, int]]:
        """Delete what is below these offsets (-1: all below the high watermark). {partition:
        {"partition_index", "low_watermark", "error_code"}}.
        """
        found: dict[TopicPartition, dict[str, int]] = self._run(
            requests.delete_records(records_to_delete), timeout_ms
        )
        return found

    # Configurations -----------------------------------------------------------------------------

    def describe_configs(
        self,
        config_resources: Iterable[Any],
        include_synonyms: bool = False,
        config_filter: Any = "modified",
        timeout_ms: float | None = None,
        raise_errors: bool = True,
        include_documentation: bool = False,
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """{type: {name: {entry: row}}}. config_filter: "modified", "dynamic", "default", "static"
        or "all". configs of a resource: the entries to tell; None: all.

        raise_errors: False: of what is not there, {}, as of what has nothing set.
        include_documentation: what each is for, as its "documentation".
        """
        procedure = requests.describe_configs(
            config_resources,
            include_synonyms=include_synonyms,
            config_filter=config_filter,
            raise_errors=raise_errors,
            documentation=include_documentation,
        )
        found: dict[str, dict[str, dict[str, Any]]] = self._run(procedure, timeout_ms)
        return found

    def alter_configs(
        self,
        config_resources: Iterable[Any],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, dict[str, str]]:
        """Alter entries and leave all others as they are. configs of a resource: {entry: value}
        or {entry: (op, value)}. {type: {name: "OK" or the error}}.

        raise_on_unknown: IllegalArgumentError (a ValueError) for entries that cannot be altered,
        before anything is. raise_errors: have errors raised.
        """
        procedure = requests.alter_configs(
            config_resources,
            validate_only=validate_only,
            raise_on_unknown=raise_on_unknown,
            incremental=incremental,
            raise_errors=raise_errors,
        )
        found: dict[str, dict[str, str]] = self._run(procedure, timeout_ms)
        return found

    def reset_configs(
        self,
        config_resources: Iterable[Any],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, dict[str, str]]:
        """Have entries be what they are by default: those named, or all that were set."""
        procedure = requests.reset_configs(
            config_resources,
            validate_only=validate_only,
            raise_on_unknown=raise_on_unknown,
            incremental=incremental,
            raise_errors=raise_errors,
        )
        found: dict[str, dict[str, str]] = self._run(procedure, timeout_ms)
        return found

    # Groups -------------------------------------------------------------------------------------

    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[Any] | None = None,
        types_filter: Iterable[Any] | None = None,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """A row for each group of these brokers, or of all: "group_id", "protocol_type",
        "group_state", "group_type". Filters are of GroupState and GroupType.
        """
        procedure = group_requests.list_groups(broker_ids, states_filter, types_filter)
        found: list[dict[str, Any]] = self._run(procedure, timeout_ms)
        return found

    def list_consumer_groups(
        self, broker_ids: Iterable[int] | None = None, timeout_ms: float | None = None
    ) -> list[tuple[str, str]]:
        """(group, protocol type) of each (the name in kafka-python before 3, and aiokafka)."""
        rows = self.list_groups(broker_ids, timeout_ms=timeout_ms)
        return [(row["group_id"], row["protocol_type"]) for row in rows]

    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        include_authorized_operations: bool = False,
        timeout_ms: float | None = None,
        include_topology_description: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """{group: its row, with its members and what is assigned to each}, of any kind.
        What is wrong with a group is its "error". include_topology_description: of streams groups
        with what their topologies are made of, where brokers (Kafka 4.4) keep that.
        """
        procedure = group_requests.describe_groups(
            group_ids,
            operations=include_authorized_operations,
            topologies=include_topology_description,
        )
        found: dict[str, dict[str, Any]] = self._run(procedure, timeout_ms)
        return found

    def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """The rows of `describe_groups` (the name in kafka-python before 3, and aiokafka)."""
        found = self.describe_groups(
            group_ids, group_coordinator_id, include_authorized_operations, timeout_ms
        )
        return list(found.values())

    def find_coordinator(
        self, group_id: str, coordinator_type: int = 0, timeout_ms: float | None = None
    ) -> int:
        """The number of the broker that coordinates a group, or (1) a transactional id."""
        found: int = self._run(
            group_requests.find_coordinator(group_id, coordinator_type), timeout_ms
        )
        return found

    def delete_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, str]:
        """Delete groups that have no members, with their offsets. {group: "OK", or the name of the
        error's class}.
        """
        procedure = group_requests.delete_groups(group_ids, raise_errors=raise_errors)
        return words_of(self._run(procedure, timeout_ms))

    def delete_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
    ) -> list[tuple[str, type[KafkaError]]]:
        """(group, the class of its error, or NoError) (the name in kafka-python before 3)."""
        procedure = group_requests.delete_groups(group_ids, raise_errors=False)
        return classes_of(self._run(procedure, timeout_ms))

    def remove_group_members(
        self,
        group_id: str,
        members: Iterable[Any],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, type[KafkaError]]:
        """Take members out of a group: MemberToRemove objects. {member id, or instance id where
        that was given alone: the class of its error, or NoError}.
        """
        procedure = group_requests.remove_group_members(
            group_id, members, raise_errors=raise_errors
        )
        found: dict[str, type[KafkaError]] = self._run(procedure, timeout_ms)
        return found

    # Offsets of groups --------------------------------------------------------------------------

    def list_group_offsets(
        self, group_specs: Any, timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """{group: {partition: what is committed}} of a group, several, or {group: partitions};
        None: of all partitions. A partition that is named and has nothing: the offset -1.
        raise_errors: False: partitions that are refused are left out, as by Java's client.
        """
        procedure = group_requests.list_group_offsets(group_specs, raise_errors=raise_errors)
        found: dict[str, dict[TopicPartition, OffsetAndMetadata]] = self._run(procedure, timeout_ms)
        return found

    def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        partitions: Iterable[Any] | None = None,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """`list_group_offsets` of one (the name in kafka-python before 3, and aiokafka)."""
        return self.list_group_offsets({group_id: partitions}, timeout_ms)[group_id]

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[Any, Any],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartition, type[KafkaError]]:
        """Commit for a group that has no members: {partition: OffsetAndMetadata}. {partition: the
        class of its error, or NoError}.
        """
        procedure = group_requests.alter_group_offsets(group_id, offsets, raise_errors=raise_errors)
        found: dict[TopicPartition, type[KafkaError]] = self._run(procedure, timeout_ms)
        return found

    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Any,
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
        validate_only: bool = False,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Move what a group without members has committed, or the start offsets of a share group.
        {partition: {"error": class, "offset"}}.

        offset_specs: {partition: where to}, or where to for all partitions that the group has
        committed: OffsetSpec or its name, OffsetTimestamp, OffsetDuration, OffsetShift, or an
        offset. It is kept between the beginning and the end of the partition. validate_only: tell
        where to that is, and commit nothing.
        """
        procedure = group_requests.reset_group_offsets(
            group_id, offset_specs, raise_errors=raise_errors, validate_only=validate_only
        )
        found: dict[TopicPartition, dict[str, Any]] = self._run(procedure, timeout_ms)
        return found

    def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[Any],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartition, type[KafkaError]]:
        """Delete what is committed for topics that no member subscribes to. {partition: the class
        of its error, or NoError}. GroupIdNotFoundError and the like are raised.
        """
        procedure = group_requests.delete_group_offsets(
            group_id, partitions, raise_errors=raise_errors
        )
        found: dict[TopicPartition, type[KafkaError]] = self._run(procedure, timeout_ms)
        return found

    def lag(
        self,
        group_id: str,
        partitions: Iterable[Any] | None = None,
        isolation_level: Any = "read_uncommitted",
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """How far a group of any kind is behind, and who reads what, in all partitions that it
        reads or has read.
        """
        procedure = group_requests.lag(group_id, partitions, isolation_level)
        found: dict[TopicPartition, PartitionLag] = self._run(procedure, timeout_ms)
        return found

    # Start offsets of share groups --------------------------------------------------------------

    def list_share_group_offsets(
        self, group_specs: Any, timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, dict[TopicPartition, SharePartitionOffset]]:
        """{group: {partition: its start offset, leader epoch and lag}} of a share group, several,
        or {group: partitions}; None: of all partitions. One that has nothing: the offset -1.
        raise_errors: False: partitions that are refused are left out.
        """
        procedure = group_requests.list_share_group_offsets(group_specs, raise_errors=raise_errors)
        found: dict[str, dict[TopicPartition, SharePartitionOffset]] = self._run(
            procedure, timeout_ms
        )
        return found

    def alter_share_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[Any, int],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartition, type[KafkaError]]:
        """Have a share group that has no members begin at these: {partition: offset}, which brokers
        take as they are (`reset_group_offsets` keeps them within the partition). {partition: the
        class of its error, or NoError}.
        """
        procedure = group_requests.alter_share_group_offsets(
            group_id, offsets, raise_errors=raise_errors
        )
        found: dict[TopicPartition, type[KafkaError]] = self._run(procedure, timeout_ms)
        return found

    def delete_share_group_offsets(
        self,
        group_id: str,
        topics: Iterable[str],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, type[KafkaError]]:
        """Delete what a share group without members knows of these topics. {topic: the class of its
        error, or NoError}. GroupIdNotFoundError and the like are raised.
        """
        procedure = group_requests.delete_share_group_offsets(
            group_id, topics, raise_errors=raise_errors
        )
        found: dict[str, type[KafkaError]] = self._run(procedure, timeout_ms)
        return found

    # Offsets of partitions ----------------------------------------------------------------------

    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[Any, Any],
        isolation_level: Any = "read_uncommitted",
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """{partition: offset, timestamp and leader epoch} of {partition: OffsetSpec, its name, or
        a time (ms)}. Offset -1: no record is so young.
        """
        procedure = requests.list_partition_offsets(topic_partition_specs, isolation_level)
        found: dict[TopicPartition, OffsetAndTimestamp] = self._run(procedure, timeout_ms)
        return found

    list_offsets = list_partition_offsets
