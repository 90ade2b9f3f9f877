"""Calls that ask the cluster and wait for the answer: commits, committed offsets, look-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcore.clients import arguments
from kcore.clients.engine import Engine
from kcore.clients.futures import OperationFuture
from kcore.clients.groupless import is_internal
from kcore.clients.iteration import Batch
from kcore.clients.opening import nobody_answered
from kcore.consumer.config import ConsumerConfig
from kcore.errors import KafkaTimeoutError
from kcore.structs import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

_EARLIEST, _LATEST = -2, -1


class Calls:
    """The part of Consumer that asks. The attributes are the consumer's.

    config: every option by kafka-python's name; `api_version` is the release found.
    """

    config: dict[str, object]
    _settings: ConsumerConfig
    _engine: Engine
    _batch: Batch | None

    # Commits ---------------------------------------------------------------------------------

    def commit(
        self, offsets: Mapping[Any, Any] | None = None, timeout_ms: float | None = None
    ) -> None:
        """Commit these, or the position of everything returned so far, and wait for the answer.

        offsets: {TopicPartition: OffsetAndMetadata}, the offset being the next one to read. In a
        loop over the consumer, the record just yielded counts as done.
        Retried until `timeout_ms` (default_api_timeout_ms). CommitFailedError: the group has moved
        on. RebalanceInProgressError: poll first. KafkaTimeoutError. NoGroupIdError.
        """
        self._need_group("commit")
        given = None if offsets is None else arguments.offsets_of(offsets)
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        with self._engine.guard:
            engine = self._engine
            wanted = self._consumed() if given is None else given
            try:
                engine.run(lambda now: engine.core.commit(wanted, now, int(limit)), limit)
            finally:
                engine.run_callbacks()

    def commit_async(
        self,
        offsets: Mapping[Any, Any] | None = None,
        callback: Callable[[Any, Any], object] | None = None,
    ) -> OperationFuture:
        """Send a commit and return; one try.

        callback(offsets, outcome) runs in a later call of the consumer; `outcome` is what was
        committed, or the error. Without one, default_offset_commit_callback is called.
        """
        self._need_group("commit_async")
        given = None if offsets is None else arguments.offsets_of(offsets)
        with self._engine.guard:
            engine = self._engine
            wanted = (
                (self._consumed() or engine.core.consumed_offsets()) if given is None else given
            )
            operation = engine.core.commit(wanted, engine.pump.now_ms(), None)
            called = callback or self._settings.default_offset_commit_callback
            return engine.later(operation, called, wanted)

    def _consumed(self) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """None (the core knows best), unless a loop is in the middle of a batch."""
        core = self._engine.core
        ahead = {} if self._batch is None else self._batch.positions(finished=True)
        if not ahead:
            return None
        mine = core.assignment()  # never commit for what has gone meanwhile
        consumed: dict[TopicPartition, OffsetAndMetadata] = core.consumed_offsets()
        return consumed | {tp: at for tp, at in ahead.items() if tp in mine}

    def committed(
        self, partition: Any, metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None:
        """The offset the group has committed for any partition, None if there is none.

        metadata: return the OffsetAndMetadata.
        """
        self._need_group("committed")
        tp = arguments.partition_of(partition)
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        with self._engine.guard:
            engine = self._engine
            found = engine.run(lambda now: engine.core.committed([tp], now, int(limit)), limit)
        offset: OffsetAndMetadata | None = found.get(tp)
        return offset if metadata or offset is None else offset.offset

    # Looking up ------------------------------------------------------------------------------

    def topics(self) -> set[str]:
        """All topics this client may see, asked anew; Kafka's own are left out."""
        found = self._lookup(None)
        return {topic for topic in found if not is_internal(topic)}

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Partition numbers of a topic; an empty set if it does not exist."""
        name = arguments.topic_name(topic)
        with self._engine.guard:
            known = self._engine.core.cluster.partitions(name)
        return set(known or self._lookup([name]).get(name, ()))

    def fetch_partitions(self, topics: Iterable[str]) -> dict[str, set[int]]:
        """Partition numbers of topics as they are now, whatever is known already; one question for
        all. Those that do not exist are left out.
        """
        found = self._lookup([arguments.topic_name(topic) for topic in topics])
        return {topic: set(numbers) for topic, numbers in found.items() if numbers}

    def _lookup(self, topics: list[str] | None) -> dict[str, list[int]]:
        limit = self._settings.default_api_timeout_ms
        with self._engine.guard:
            engine = self._engine
            found: dict[str, list[int]] = engine.run(
                lambda now: engine.core.fetch_metadata(topics, now, limit), limit
            )
            return found

    def beginning_offsets(
        self, partitions: Iterable[Any], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each; they need not be assigned."""
        wanted = dict.fromkeys(arguments.partitions_of(partitions), _EARLIEST)
        return self._ends(wanted, timeout_ms)

    def end_offsets(
        self, partitions: Iterable[Any], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset behind the last record of each (with read_committed: the last stable one)."""
        wanted = dict.fromkeys(arguments.partitions_of(partitions), _LATEST)
        return self._ends(wanted, timeout_ms)

    def offsets_for_times(
        self, timestamps: Mapping[Any, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each the first offset whose time is at or after the given one (ms), else None."""
        return self._list_offsets(arguments.timestamps_of(timestamps), timeout_ms)

    def _ends(
        self, wanted: dict[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, int]:
        found = self._list_offsets(wanted, timeout_ms)
        return {tp: answer.offset for tp, answer in found.items() if answer is not None}

    def _list_offsets(
        self, wanted: dict[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        with self._engine.guard:
            if not wanted:
                return {}
            engine = self._engine
            found: dict[TopicPartition, OffsetAndTimestamp | None] = engine.run(
                lambda now: engine.core.list_offsets(wanted, now, int(limit)), limit
            )
            return found

    def _find_release(self, timeout_ms: float) -> None:
        """Ask any broker for anything, and keep the release found."""
        engine = self._engine
        try:
            engine.run(lambda now: engine.core.fetch_metadata((), now, int(timeout_ms)), timeout_ms)
        except KafkaTimeoutError as error:
            raise nobody_answered(
                self._settings.bootstrap_servers, engine.reporter.attempts, timeout_ms
            ) from error
        release = engine.core.broker_api_version()
        if release is not None and self._settings.api_version is None:
            self.config["api_version"] = release
