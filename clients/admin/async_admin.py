"""`AsyncAdmin`: aiokafka's AIOKafkaAdminClient over the sans-IO core, driven by the running loop.

Everything happens in the loop's own thread (`turns.py`); calls of several tasks go side by side.
The methods are those of `Admin`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NoReturn

from kcore.admin import PartitionLag, SharePartitionOffset
from kcore.admin.config import AdminConfig
from kcore.admin.core import CLOSED, AdminCore
from kcore.admin.groups import classes_of, words_of
from kcore.clients import arguments
from kcore.clients.admin import group_requests, requests
from kcore.clients.admin.async_cluster import AsyncClusterMethods
from kcore.clients.admin.async_delegation import AsyncDelegationMethods
from kcore.clients.admin.async_quorum import AsyncQuorumMethods
from kcore.clients.admin.async_security import AsyncSecurityMethods
from kcore.clients.admin.async_transactions import AsyncTransactionMethods
from kcore.clients.admin.engine import LAST_WORDS_MS, AdminEngine, AdminLoopGuard
from kcore.clients.engine import GRACE_MS
from kcore.clients.looping import EngineTurns, LoopLife, begin_at_names, open_driver
from kcore.clients.measured import MeasuredEngine
from kcore.clients.randomness import ClientRng
from kcore.clients.reporting import Reporter
from kcore.errors import (
    ConcurrentUseError,
    IllegalStateError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
)
from kcore.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from kcore.transports import monotonic_ms
from kcore.transports.forking import release_in_child
from kcore.transports.loops import Loop, here, running
from kcore.wire.messages import CreatePartitionsResponse


class AsyncAdmin(
    AsyncClusterMethods,
    AsyncSecurityMethods,
    AsyncDelegationMethods,
    AsyncTransactionMethods,
    AsyncQuorumMethods,
    MeasuredEngine,
    LoopLife,
):
    """Sees to topics, configurations and groups of a Kafka cluster, on asyncio or trio.

    Options are keywords, those of `Admin`. It may be made anywhere; it belongs to the loop that
    runs `start`. A call that is cancelled asks nothing more; what it has asked may be carried out.

    Several tasks may call it. A call from another loop or thread is a ConcurrentUseError.
    KafkaConfigurationError: options.
    """

    _engine: AdminEngine
    _closed_word = "closed"

    def __init__(self, **options: Any) -> None:
        self._wanted_loop: Loop | None = options.pop("loop", None)
        if options.pop("transport", None) is not None:
            raise KafkaConfigurationError(
                "transport: an AsyncAdmin is driven by the running event loop", option="transport"
            )
        self._settings = AdminConfig.from_options(options)
        self._engine = self._connect(self._settings)
        self._driver.engine = self._engine
        self.config: dict[str, object] = self._settings.as_mapping()
        release_in_child(self)

    def _connect(self, settings: AdminConfig) -> AdminEngine:
        """Core, transport and pump for these options."""
        now_ms, wall_ms = monotonic_ms(), time.time_ns() // 1_000_000
        core = AdminCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        self._driver = open_driver(core, settings, EngineTurns)
        self._guard = AdminLoopGuard()
        return AdminEngine(core, self._driver, self._guard, Reporter(settings.client_id, "admin"))

    # Life ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect. NoBrokersAvailable, a KafkaConnectionError: nobody answered within
        bootstrap_timeout_ms. After an error, or cancelled, it can be tried again.

        IllegalStateError: started already, or about to be; closed.
        """
        self._guard.enter()
        with self._guard.place.starting():
            await self._begin()

    async def _bind(self) -> None:
        """Belong to the running loop; nobody is asked anything yet."""
        driver, loop = self._driver, here()
        if self._wanted_loop not in (None, loop):
            raise ConcurrentUseError(
                "the admin client was given another event loop than the running"
            )
        if driver.loop is None:
            await begin_at_names(self._engine.core, self._settings)
            self._guard.bind(loop)
            driver.bind(loop)

    async def _begin(self) -> None:
        await self._bind()
        engine, driver = self._engine, self._driver
        limit = self._settings.bootstrap_timeout_ms
        try:
            await self._ended(engine.core.find_anybody(driver.now_ms(), limit), limit)
        except KafkaTimeoutError as error:
            raise engine.nobody_answered(limit, error) from error
        release = engine.release()
        if release is not None:
            self.config["api_version"] = release

    async def close(self) -> None:
        """End all connections. Twice is harmless. Calls of other tasks end in an
        IllegalStateError.
        """
        guard, driver = self._guard, self._driver
        if not guard.usable:
            return
        loop = driver.loop
        if loop is not None and not loop.is_closed():
            guard.check_place()
        guard.bar()
        engine = self._engine
        try:
            engine.core.close(driver.now_ms(), LAST_WORDS_MS)
            engine.collect()
            if not engine.core.closed and loop is not None and loop is running():
                driver.drain()
                await driver.ways.see_out(self._last_words)
        finally:
            driver.close()

    async def _last_words(self) -> None:
        await self._driver.until(lambda: self._engine.core.closed, LAST_WORDS_MS)

    async def _give_up(self) -> None:
        await self.close()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an AsyncAdmin cannot be pickled: it holds connections; pickle its options instead"
        )

    # Asking -------------------------------------------------------------------------------------

    async def client_instance_id(self, timeout_ms: float | None = None) -> str:
        """See `Admin.client_instance_id`."""
        limit = self._enter(timeout_ms)
        core, now_ms = self._engine.core, self._driver.now_ms()
        return str(await self._ended(core.client_instance_id(now_ms, int(limit)), limit))

    async def _run(self, procedure: Any, timeout_ms: float | None) -> Any:
        limit = self._enter(timeout_ms)
        number = self._engine.core.begin(procedure, self._driver.now_ms(), int(limit))
        return await self._ended(number, limit)

    def _enter(self, timeout_ms: float | None) -> float:
        """A call begins: how long it may take."""
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        self._guard.enter()
        if not self._guard.place.started or self._driver.loop is None:  # names are looked up first
            raise IllegalStateError(
                "the admin client was not started: await start() first, or use `async with`"
            )
        return limit

    async def _ended(self, number: int, limit_ms: float) -> Any:
        """The result of an operation that was begun just now; its error is raised."""
        engine, driver = self._engine, self._driver
        future = engine.later(number)

        def done() -> bool:
            engine.raise_pending()  # of a turn that has failed
            return bool(future.is_done)

        try:
            ended = await driver.until(done, limit_ms + GRACE_MS)
        finally:
            if not future.is_done:
                engine.forget(number)
        error: KafkaError | None = future.exception
        if error is not None:
            raise error
        if not ended:
            if driver.closed:
                raise IllegalStateError(CLOSED)
            raise KafkaTimeoutError(f"no answer in {limit_ms:.0f} ms", timeout_ms=limit_ms)
        return future.value

    # Topics -------------------------------------------------------------------------------------

    async def create_topics(
        self,
        new_topics: Iterable[Any] | Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """See `Admin.create_topics`."""
        procedure = requests.create_topics(
            new_topics,
            validate_only=validate_only,
            raise_errors=raise_errors,
            wait_for_metadata=wait_for_metadata,
        )
        found: dict[str, Any] = await self._run(procedure, timeout_ms)
        return found

    async def delete_topics(
        self, topics: Iterable[Any], timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        """See `Admin.delete_topics`."""
        procedure = requests.delete_topics(topics, raise_errors=raise_errors)
        found: dict[str, Any] = await self._run(procedure, timeout_ms)
        return found

    async def list_topics(self, timeout_ms: float | None = None) -> list[str]:
        """See `Admin.list_topics`."""
        found: list[str] = await self._run(requests.list_topics(), timeout_ms)
        return found

    async def describe_topics(
        self, topics: Iterable[Any] | None = None, timeout_ms: float | None = None
    ) -> list[dict[str, Any]]:
        """See `Admin.describe_topics`."""
        found: list[dict[str, Any]] = await self._run(requests.describe_topics(topics), timeout_ms)
        return found

    async def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10_000) -> None:
        """See `Admin.wait_for_topics`."""
        await self._run(requests.wait_for_topics(topic_names), timeout_ms)

    async def create_partitions(
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> CreatePartitionsResponse:
        """See `Admin.create_partitions`."""
        procedure = requests.create_partitions(
            topic_partitions, validate_only=validate_only, raise_errors=raise_errors
        )
        found: CreatePartitionsResponse = await self._run(procedure, timeout_ms)
        return found

    async def delete_records(
        self,
        records_to_delete: Mapping[Any, Any],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
    ) -> dict[TopicPartition, dict[str, int]]:
        """See `Admin.delete_records`."""
        found: dict[TopicPartition, dict[str, int]] = await self._run(
            requests.delete_records(records_to_delete), timeout_ms
        )
        return found

    # Configurations -----------------------------------------------------------------------------

    async def describe_configs(
        self,
        config_resources: Iterable[Any],
        include_synonyms: bool = False,
        config_filter: Any = "modified",
        timeout_ms: float | None = None,
        raise_errors: bool = True,
        include_documentation: bool = False,
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """See `Admin.describe_configs`."""
        procedure = requests.describe_configs(
            config_resources,
            include_synonyms=include_synonyms,
            config_filter=config_filter,
            raise_errors=raise_errors,
            documentation=include_documentation,
        )
        found: dict[str, dict[str, dict[str, Any]]] = await self._run(procedure, timeout_ms)
        return found

    async def alter_configs(
        self,
        config_resources: Iterable[Any],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, dict[str, str]]:
        """See `Admin.alter_configs`."""
        procedure = requests.alter_configs(
            config_resources,
            validate_only=validate_only,
            raise_on_unknown=raise_on_unknown,
            incremental=incremental,
            raise_errors=raise_errors,
        )
        found: dict[str, dict[str, str]] = await self._run(procedure, timeout_ms)
        return found

    async def reset_configs(
        self,
        config_resources: Iterable[Any],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, dict[str, str]]:
        """See `Admin.reset_configs`."""
        procedure = requests.reset_configs(
            config_resources,
            validate_only=validate_only,
            raise_on_unknown=raise_on_unknown,
            incremental=incremental,
            raise_errors=raise_errors,
        )
        found: dict[str, dict[str, str]] = await self._run(procedure, timeout_ms)
        return found

    # Groups -------------------------------------------------------------------------------------

    async def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[Any] | None = None,
        types_filter: Iterable[Any] | None = None,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """See `Admin.list_groups`."""
        procedure = group_requests.list_groups(broker_ids, states_filter, types_filter)
        found: list[dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found

    async def list_consumer_groups(
        self, broker_ids: Iterable[int] | None = None, timeout_ms: float | None = None
    ) -> list[tuple[str, str]]:
        """See `Admin.list_consumer_groups`."""
        rows = await self.list_groups(broker_ids, timeout_ms=timeout_ms)
        return [(row["group_id"], row["protocol_type"]) for row in rows]

    async def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        include_authorized_operations: bool = False,
        timeout_ms: float | None = None,
        include_topology_description: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """See `Admin.describe_groups`."""
        procedure = group_requests.describe_groups(
            group_ids,
            operations=include_authorized_operations,
            topologies=include_topology_description,
        )
        found: dict[str, dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found

    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
        timeout_ms: float | None = None,
    ) -> list[dict[str, Any]]:
        """See `Admin.describe_consumer_groups`."""
        found = await self.describe_groups(
            group_ids, group_coordinator_id, include_authorized_operations, timeout_ms
        )
        return list(found.values())

    async def find_coordinator(
        self, group_id: str, coordinator_type: int = 0, timeout_ms: float | None = None
    ) -> int:
        """See `Admin.find_coordinator`."""
        procedure = group_requests.find_coordinator(group_id, coordinator_type)
        found: int = await self._run(procedure, timeout_ms)
        return found

    async def delete_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, str]:
        """See `Admin.delete_groups`."""
        procedure = group_requests.delete_groups(group_ids, raise_errors=raise_errors)
        return words_of(await self._run(procedure, timeout_ms))

    async def delete_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
    ) -> list[tuple[str, type[KafkaError]]]:
        """See `Admin.delete_consumer_groups`."""
        procedure = group_requests.delete_groups(group_ids, raise_errors=False)
        return classes_of(await self._run(procedure, timeout_ms))

    async def remove_group_members(
        self,
        group_id: str,
        members: Iterable[Any],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, type[KafkaError]]:
        """See `Admin.remove_group_members`."""
        procedure = group_requests.remove_group_members(
            group_id, members, raise_errors=raise_errors
        )
        found: dict[str, type[KafkaError]] = await self._run(procedure, timeout_ms)
        return found

    # Offsets of groups --------------------------------------------------------------------------

    async def list_group_offsets(
        self, group_specs: Any, timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """See `Admin.list_group_offsets`."""
        procedure = group_requests.list_group_offsets(group_specs, raise_errors=raise_errors)
        found: dict[str, dict[TopicPartition, OffsetAndMetadata]] = await self._run(
            procedure, timeout_ms
        )
        return found

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        partitions: Iterable[Any] | None = None,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """See `Admin.list_consumer_group_offsets`."""
        found = await self.list_group_offsets({group_id: partitions}, timeout_ms)
        return found[group_id]

    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[Any, Any],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartition, type[KafkaError]]:
        """See `Admin.alter_group_offsets`."""
        procedure = group_requests.alter_group_offsets(group_id, offsets, raise_errors=raise_errors)
        found: dict[TopicPartition, type[KafkaError]] = await self._run(procedure, timeout_ms)
        return found

    async def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Any,
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
        validate_only: bool = False,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """See `Admin.reset_group_offsets`."""
        procedure = group_requests.reset_group_offsets(
            group_id, offset_specs, raise_errors=raise_errors, validate_only=validate_only
        )
        found: dict[TopicPartition, dict[str, Any]] = await self._run(procedure, timeout_ms)
        return found

    async def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[Any],
        group_coordinator_id: int | None = None,  # noqa: ARG002 - kafka-python's; it is found
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartition, type[KafkaError]]:
        """See `Admin.delete_group_offsets`."""
        procedure = group_requests.delete_group_offsets(
            group_id, partitions, raise_errors=raise_errors
        )
        found: dict[TopicPartition, type[KafkaError]] = await self._run(procedure, timeout_ms)
        return found

    async def lag(
        self,
        group_id: str,
        partitions: Iterable[Any] | None = None,
        isolation_level: Any = "read_uncommitted",
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """See `Admin.lag`."""
        procedure = group_requests.lag(group_id, partitions, isolation_level)
        found: dict[TopicPartition, PartitionLag] = await self._run(procedure, timeout_ms)
        return found

    # Start offsets of share groups --------------------------------------------------------------

    async def list_share_group_offsets(
        self, group_specs: Any, timeout_ms: float | None = None, raise_errors: bool = True
    ) -> dict[str, dict[TopicPartition, SharePartitionOffset]]:
        """See `Admin.list_share_group_offsets`."""
        procedure = group_requests.list_share_group_offsets(group_specs, raise_errors=raise_errors)
        found: dict[str, dict[TopicPartition, SharePartitionOffset]] = await self._run(
            procedure, timeout_ms
        )
        return found

    async def alter_share_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[Any, int],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[TopicPartition, type[KafkaError]]:
        """See `Admin.alter_share_group_offsets`."""
        procedure = group_requests.alter_share_group_offsets(
            group_id, offsets, raise_errors=raise_errors
        )
        found: dict[TopicPartition, type[KafkaError]] = await self._run(procedure, timeout_ms)
        return found

    async def delete_share_group_offsets(
        self,
        group_id: str,
        topics: Iterable[str],
        timeout_ms: float | None = None,
        raise_errors: bool = False,
    ) -> dict[str, type[KafkaError]]:
        """See `Admin.delete_share_group_offsets`."""
        procedure = group_requests.delete_share_group_offsets(
            group_id, topics, raise_errors=raise_errors
        )
        found: dict[str, type[KafkaError]] = await self._run(procedure, timeout_ms)
        return found

    # Offsets of partitions ----------------------------------------------------------------------

    async def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[Any, Any],
        isolation_level: Any = "read_uncommitted",
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """See `Admin.list_partition_offsets`."""
        procedure = requests.list_partition_offsets(topic_partition_specs, isolation_level)
        found: dict[TopicPartition, OffsetAndTimestamp] = await self._run(procedure, timeout_ms)
        return found

    list_offsets = list_partition_offsets
