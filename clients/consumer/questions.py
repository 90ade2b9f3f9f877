"""What consumers ask the cluster: arguments checked, the operation of the core that asks, and what
is made of its result. How the answer is waited for is the consumer's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kcore.clients import arguments
from kcore.clients.consumer.groupless import is_internal
from kcore.clients.consumer.verbs import Verbs
from kcore.clients.measured import MeasuredEngine
from kcore.hints import Any
from kcore.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from kcore.tuples import NamedTuple

EARLIEST, LATEST = -2, -1

Several = list[Any] | set[Any] | frozenset[Any]
"""Partitions, where one would be a tuple."""


def _as_it_is(result: Any) -> Any:
    return result


class Question(NamedTuple):
    """begin(now_ms): start the operation, its number; None: nothing is asked, the result is {}.

    limit_ms: how long it may take. read: what the caller gets, of the operation's result.
    """

    begin: Callable[[int], int] | None
    limit_ms: float
    read: Callable[[Any], Any] = _as_it_is


class Questions(Verbs, MeasuredEngine):
    """The part of a consumer that knows what to ask."""

    def bootstrap_connected(self) -> bool:
        """Whether any broker is connected. ForkedError."""
        self._engine.guard.check_process()
        return bool(self._engine.core.connected)

    def _consumed(self) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """What a commit without offsets commits; None: the core knows best."""
        return None

    def _ask_commit(
        self, offsets: Mapping[Any, Any] | None, timeout_ms: float | None = None
    ) -> Question:
        self._need_group("commit")
        given = None if offsets is None else arguments.offsets_of(offsets)
        limit = self._limit(timeout_ms)

        def begin(now_ms: int) -> int:
            wanted = self._consumed() if given is None else given
            return int(self._engine.core.commit(wanted, now_ms, int(limit)))

        interceptors = self._engine.interceptors
        read = _as_it_is if interceptors is None else interceptors.on_commit
        return Question(begin, limit, read)

    def _ask_committed(
        self, partitions: Iterable[Any], timeout_ms: float | None = None
    ) -> Question:
        """Result: {partition: OffsetAndMetadata or None}."""
        self._need_group("committed")
        wanted = arguments.assignable(partitions)
        core, limit = self._engine.core, self._limit(timeout_ms)
        return Question(lambda now_ms: int(core.committed(wanted, now_ms, int(limit))), limit)

    def _ask_committed_of(
        self, partitions: Any, timeout_ms: float | None = None, *, metadata: bool
    ) -> Question:
        """Result: of one partition its offset or OffsetAndMetadata; of several, {partition:
        that}.
        """
        several = arguments.is_several(partitions)
        wanted = partitions if several else [arguments.partition_of(partitions)]

        def read(found: dict[TopicPartition, OffsetAndMetadata | None]) -> Any:
            told: dict[TopicPartition, Any] = {
                tp: at if metadata or at is None else at.offset for tp, at in found.items()
            }
            return told if several else next(iter(told.values()), None)

        question = self._ask_committed(wanted, timeout_ms)
        return question._replace(read=read)

    def _ask_metadata(
        self,
        topics: Iterable[str] | None,
        read: Callable[[dict[str, list[int]]], Any],
        timeout_ms: float | None = None,
    ) -> Question:
        core, limit = self._engine.core, self._limit(timeout_ms)
        return Question(lambda now: int(core.fetch_metadata(topics, now, int(limit))), limit, read)

    def _ask_partitions(self, topics: Iterable[str]) -> Question:
        """Result: {topic: partition numbers}, of those that exist."""

        def read(answer: dict[str, list[int]]) -> dict[str, set[int]]:
            return {topic: set(numbers) for topic, numbers in answer.items() if numbers}

        return self._ask_metadata(sorted(arguments.topic_names(topics)), read)

    def _ask_topics(self) -> Question:
        """Result: names, without Kafka's own."""
        return self._ask_metadata(
            None, lambda found: {topic for topic in found if not is_internal(topic)}
        )

    def _ask_ends(
        self, partitions: Iterable[Any], end: int, timeout_ms: float | None = None
    ) -> Question:
        """Result: {partition: offset}. end: EARLIEST or LATEST."""

        def read(found: dict[TopicPartition, OffsetAndTimestamp | None]) -> dict[Any, int]:
            return {tp: answer.offset for tp, answer in found.items() if answer is not None}

        wanted = dict.fromkeys(arguments.assignable(partitions), end)
        return self._ask_offsets(wanted, timeout_ms)._replace(read=read)

    def _ask_times(
        self, timestamps: Mapping[Any, int], timeout_ms: float | None = None
    ) -> Question:
        """Result: {partition: OffsetAndTimestamp or None}."""
        return self._ask_offsets(arguments.timestamps_of(timestamps), timeout_ms)

    def _ask_offsets(self, wanted: dict[TopicPartition, int], timeout_ms: float | None) -> Question:
        core, limit = self._engine.core, self._limit(timeout_ms)
        if not wanted:
            return Question(None, limit)
        return Question(lambda now_ms: int(core.list_offsets(wanted, now_ms, int(limit))), limit)

    def _ask_client_instance_id(self, timeout_ms: float | None) -> Question:
        core, limit = self._engine.core, self._limit(timeout_ms)
        return Question(lambda now_ms: int(core.client_instance_id(now_ms, int(limit))), limit)

    # Which release the brokers are --------------------------------------------------------------

    def _ask_release(self, timeout_ms: float) -> Question:
        """Ask any broker for anything; `_note_release` then."""
        return self._ask_metadata((), _as_it_is, timeout_ms)
