"""Calls that ask the cluster and wait for the answer: commits, committed offsets, look-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kcore.clients import arguments
from kcore.clients.consumer.questions import EARLIEST, LATEST, Question, Questions, Several
from kcore.clients.consumer.rebalance import Bridge
from kcore.clients.futures import OperationFuture
from kcore.clients.iteration import Batch
from kcore.errors import KafkaTimeoutError
from kcore.hints import Any, overload
from kcore.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition


class Calls(Questions):
    """The part of Consumer that asks, and steps until the answer is there."""

    _batch: Batch | None
    _bridge: Bridge

    def _answer(self, question: Question) -> Any:
        with self._engine.guard:
            return self._answer_inside(question)

    def _answer_inside(self, question: Question) -> Any:
        begin, limit_ms, read = question
        return read({} if begin is None else self._engine.run(begin, limit_ms))

    def client_instance_id(self, timeout_ms: float | None = None) -> str:
        """The id that brokers know this client's metrics by (KIP-714), as Kafka's tools write it.

        UnsupportedVersionError: they have no plug-in for telemetry. IllegalStateError:
        enable_metrics_push is off. KafkaTimeoutError after `timeout_ms` (default_api_timeout_ms).
        """
        return str(self._answer(self._ask_client_instance_id(timeout_ms)))

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
        question = self._ask_commit(offsets, timeout_ms)
        with self._engine.guard:
            try:
                self._answer_inside(question)
            finally:
                self._engine.run_callbacks()

    def commit_async(
        self,
        offsets: Mapping[Any, Any] | None = None,
        callback: Callable[[Any, Any], object] | None = None,
    ) -> OperationFuture:
        """Send a commit and return; one try.

        callback(offsets, error) runs in a later call of the consumer; `error` is None if they were
        committed. Without one, default_offset_commit_callback is called.
        """
        self._need_group("commit_async")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback: a function of offsets and an error, not {callback!r}")
        given = None if offsets is None else arguments.offsets_of(offsets)
        with self._engine.guard:
            engine = self._engine
            engine.recover()
            wanted = (
                (self._consumed() or engine.core.consumed_offsets()) if given is None else given
            )
            operation = engine.core.commit(wanted, engine.pump.now_ms(), None)
            called = engine.told(callback or self._settings.default_offset_commit_callback)
            return engine.later(operation, called, wanted)

    def _consumed(self) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """None (the core knows best), unless a loop is in the middle of a batch, or workers have
        records in hand.
        """
        core = self._engine.core
        attendant = self._bridge.attendant
        if attendant is not None:
            ahead = {**attendant.unfinished()}
        else:
            ahead = {} if self._batch is None else self._batch.positions(finished=True)
        if not ahead:
            return None
        mine = core.assignment()  # never commit for what has gone meanwhile
        consumed: dict[TopicPartition, OffsetAndMetadata] = core.consumed_offsets()
        return consumed | {tp: at for tp, at in ahead.items() if tp in mine}

    @overload
    def committed(
        self, partition: Several, metadata: bool = False, timeout_ms: float | None = None
    ) -> dict[TopicPartition, Any]: ...

    @overload
    def committed(
        self, partition: tuple[str, int], metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None: ...

    def committed(
        self, partition: Any, metadata: bool = False, timeout_ms: float | None = None
    ) -> Any:
        """The offset the group has committed for any partition, None if there is none. Of a list or
        set of partitions, which are asked for at once: {partition: that}.

        metadata: OffsetAndMetadata in place of offsets.
        """
        return self._answer(self._ask_committed_of(partition, timeout_ms, metadata=metadata))

    # Looking up ------------------------------------------------------------------------------

    def topics(self) -> set[str]:
        """All topics this client may see, asked anew; Kafka's own are left out."""
        found: set[str] = self._answer(self._ask_topics())
        return found

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Partition numbers of a topic; an empty set if it does not exist."""
        name = arguments.topic_name(topic)
        with self._engine.guard:
            known = self._engine.core.cluster.partitions(name)
        return set(known or self.fetch_partitions([name]).get(name, ()))

    def fetch_partitions(self, topics: Iterable[str]) -> dict[str, set[int]]:
        """Partition numbers of topics as they are now, whatever is known already; one question for
        all. Those that do not exist are left out.
        """
        found: dict[str, set[int]] = self._answer(self._ask_partitions(topics))
        return found

    def beginning_offsets(
        self, partitions: Iterable[Any], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each; they need not be assigned. IllegalArgumentError: a topic has no
        such partition. KafkaTimeoutError: also where a topic is not known, or a partition has no
        leader; `done` has an OffsetAndTimestamp for each of the others, `failed` what is wrong.
        """
        return self._ends(partitions, EARLIEST, timeout_ms)

    def end_offsets(
        self, partitions: Iterable[Any], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset behind the last record of each (with read_committed: the last stable one)."""
        return self._ends(partitions, LATEST, timeout_ms)

    def offsets_for_times(
        self, timestamps: Mapping[Any, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each the first offset whose time is at or after the given one (ms), else None."""
        found: dict[TopicPartition, OffsetAndTimestamp | None]
        found = self._answer(self._ask_times(timestamps, timeout_ms))
        return found

    def _ends(
        self, partitions: Iterable[Any], end: int, timeout_ms: float | None
    ) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = self._answer(self._ask_ends(partitions, end, timeout_ms))
        return found

    def _find_release(self, timeout_ms: float) -> None:
        """Ask any broker for anything, and keep the release found."""
        try:
            self._answer(self._ask_release(timeout_ms))
        except KafkaTimeoutError as error:
            raise self._nobody_answered(timeout_ms) from error
        self._note_release()
