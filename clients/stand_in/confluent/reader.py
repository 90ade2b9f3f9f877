"""Our consumer as the one that stands in needs it: nothing is waited for when it is made, and a
poll without a subscription waits like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kcore.clients.consumer.consumer import Consumer
from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import raised
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.options import Options
from kcore.errors import (
    KafkaError,
    KafkaTimeoutError,
    RetriableCommitFailedError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kcore.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition


class Reader(Consumer):
    """See the module's text."""

    def __init__(self, happenings: Happenings, options: Options) -> None:
        self.began_at = time.time()
        try:
            super().__init__(**options)
        except KafkaError as error:
            raise raised(error) from error
        self._engine.reporter = happenings
        self._remade = self._engine.remade.since_now()
        self.now_ms = self._engine.pump.now_ms
        self.core: Any = self._engine.core
        happenings.watch(self.core._links.measures)  # noqa: SLF001 - who measures them anyway

    def _find_release(self, timeout_ms: float) -> None:
        """Nobody waits for that."""

    def _begin_poll(self) -> None:
        """There may be nothing to poll: then nothing comes."""
        if self._wanted is not None:
            self._want(None)

    def nudge(self) -> None:
        """End the wait of a poll. From any thread."""
        if self._engine.guard.usable:
            self._engine.nudge()

    @property
    def subscribed(self) -> bool:
        """Whether a group says what is read."""
        return self._wish in ("topics", "pattern")

    def here(self, tp: TopicPartition) -> bool:
        """Whether the partition is read, and known where."""
        return tp in self.core.assignment() and self.core.position(tp) is not None

    def end_of(self, tp: TopicPartition) -> int | None:
        """The end of what may be read, as last told; None: nobody has said yet."""
        if self._settings.isolation_level == "read_committed":
            found: int | None = self.core.last_stable_offset(tp)
            return found
        return self.core.highwater(tp)  # type: ignore[no-any-return]

    def told_of(self, tp: TopicPartition) -> float:
        """When a fetch answer last named the partition, by `now_ms`; below 0: never yet."""
        found = self.core._positions.told_at(tp)  # noqa: SLF001 - as in `edges`
        return -1 if found is None else found

    def go_back(self, tp: TopicPartition, offset: int) -> None:
        """Read again from a record that was handed over."""
        with self._engine.guard:
            self._hold_batch()
            self.core.go_back(tp, offset, self._engine.pump.now_ms())
            self._cut_batch([tp], go_back=False)
            self._engine.pump.drain()

    def begin_anew(self, tp: TopicPartition) -> None:
        """Read as if it were newly assigned."""
        with self._engine.guard:
            self._hold_batch()
            self.core.begin_anew(tp, self._engine.pump.now_ms())
            self._cut_batch([tp], go_back=False)
            self._engine.pump.drain()

    def made_anew(self) -> set[TopicPartition]:
        """Partitions whose topics were made anew since this was asked last."""
        return self._remade.take()

    @property
    def by_pattern(self) -> bool:
        """Whether a pattern says what is read."""
        return self._wish == "pattern"

    def edges(self, tp: TopicPartition) -> tuple[int, int]:
        """(the first offset, the end), as last told; OFFSET_INVALID: nobody has said yet."""
        if tp not in self.core.assignment():
            return constants.OFFSET_INVALID, constants.OFFSET_INVALID
        end, first = self.core.highwater(tp), self.core._positions.log_start(tp)  # noqa: SLF001
        missing = constants.OFFSET_INVALID
        return missing if first is None else first, missing if end is None else end

    def exists(self, tp: TopicPartition, timeout_ms: float | None) -> bool:
        """Whether there is such a partition, as far as is known; if not, asked once.
        KafkaTimeoutError.
        """
        return not self.strangers([tp], timeout_ms)

    def knows(self, tp: TopicPartition) -> bool:
        """Whether brokers have told of the partition."""
        return tp.partition in (self.core.cluster.partitions(tp.topic) or ())

    def strangers(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None
    ) -> dict[TopicPartition, str]:
        """Which of these are not there, as far as is known; if not, asked once: the name of what
        librdkafka says of each. KafkaTimeoutError.
        """
        strange = [tp for tp in partitions if not self.knows(tp)]
        if not strange:
            return {}
        topics = sorted({tp.topic for tp in strange})
        found = self._answer(self._ask_metadata(topics, dict, timeout_ms))
        return {
            tp: "_UNKNOWN_PARTITION" if found.get(tp.topic) else "UNKNOWN_TOPIC_OR_PART"
            for tp in strange
            if tp.partition not in found.get(tp.topic, ())
        }

    def offsets_at(
        self, times: Mapping[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """As `offsets_for_times`; -1 and -2 are the end and the beginning."""
        found: dict[TopicPartition, OffsetAndTimestamp | None]
        found = self._answer(self._ask_offsets(dict(times), timeout_ms))
        return found

    def commit_here(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """As `commit`, but for what brokers do not know: that is raised at once, when the others
        are committed. UnknownTopicOrPartitionError.
        """
        engine, until = self._engine, self.now_ms() + self._settings.default_api_timeout_ms
        while True:
            future = self.commit_async(offsets, _unheard)
            if not engine.wait(partial(getattr, future, "is_done"), until - self.now_ms()):
                raise KafkaTimeoutError("the commit was not answered in time")
            error = future.exception
            if error is None:
                return
            cause = error.__cause__
            if isinstance(cause, (UnknownTopicOrPartitionError, UnknownTopicIdError)):
                raise cause
            if not isinstance(error, RetriableCommitFailedError) or self.now_ms() >= until:
                raise error
            engine.wait(_never, self._settings.retry_backoff_ms)

    def authenticate_as(self, username: str, password: str) -> None:
        """On connections that are made from now on."""
        authenticate_as(self.core, username, password)


def _unheard(_offsets: Any, _error: Any) -> None:
    """Of a commit that is waited for."""


def _never() -> bool:
    return False


def authenticate_as(core: Any, username: Any, password: Any) -> None:
    """Have a core be this user on connections that are made from now on. TypeError."""
    if not isinstance(username, str) or not isinstance(password, str):
        raise TypeError("username and password must be strings")
    core._links.authenticate_as(username, password)  # noqa: SLF001 - it has no door for that
