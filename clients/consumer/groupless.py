"""Subscribing without a group: every partition of the topics, as kafka-python does it.

The core knows topics as a group's business only, so this looks the topics up and assigns what it
finds by hand; again when metadata is old, and sooner while a topic is still missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kcore.clients.engine import Engine
from kcore.clients.futures import OperationFuture
from kcore.clients.log import Log
from kcore.hints import TYPE_CHECKING
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig

log = Log("kcore.consumer")

# A topic that is missing is asked for again: soon, as being asked for may have had it made, and
# then now and then.
_MISSING_RETRY_MS = 1_000
_SOON_MS, _SOON_TIMES = 50, 10
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def is_internal(topic: str) -> bool:
    """Whether the topic is one of Kafka's own."""
    return topic in _INTERNAL


def warn_of_auto_commit(config: ConsumerConfig, options: Mapping[str, object]) -> None:
    """Say that what was asked for is not to be had without a group, as kafka-python does."""
    if config.group_id is None and options.get("enable_auto_commit"):
        log.warning("enable_auto_commit has no effect without a group_id: nothing is committed")


class AllPartitions:
    """A wish for topics (names, or a pattern) and the partitions it comes to.

    topics: the names wished for, or those the pattern matched last. answered: the cluster has said
    what there is of them. complete: that was partitions of each.
    """

    def __init__(
        self, engine: Engine, config: ConsumerConfig, topics: frozenset[str], pattern: str | None
    ) -> None:
        self.topics = topics
        self.answered = False
        self.complete = False
        self._engine = engine
        self._config = config
        self._pattern = None if pattern is None else re.compile(pattern)
        self._found: set[TopicPartition] = set()
        self._due_at = 0
        self._asked: OperationFuture | None = None
        self._soon = _SOON_TIMES

    def tick(self, now_ms: int) -> None:
        """Ask if it is time, take the answer if it is there; never waits.

        KafkaError: a topic is refused (its name, or the right to see it).
        """
        if self._asked is None:
            if now_ms >= self._due_at:
                wanted = None if self._pattern is not None else self.topics
                config = self._config
                operation = self._engine.core.fetch_metadata(
                    wanted,
                    now_ms,
                    config.request_timeout_ms,
                    may_create=config.allow_auto_create_topics,  # of named ones, as in a group
                )
                self._asked = self._engine.later(operation)
            return
        if not self._asked.is_done:
            return
        asked, self._asked = self._asked, None
        self._due_at = now_ms + (_SOON_MS if self._soon else _MISSING_RETRY_MS)
        self._soon = max(0, self._soon - 1)
        if asked.exception is None:
            self._take(asked.value, now_ms)
        elif not asked.exception.retriable:
            raise asked.exception

    def _take(self, answer: dict[str, list[int]], now_ms: int) -> None:
        self.answered = True
        if self._pattern is not None:
            self.topics = frozenset(filter(self.covers, answer))
        found = {
            TopicPartition(topic, number)
            for topic in self.topics
            for number in answer.get(topic, ())
        }
        if found and found != self._found:
            self._found = found
            self._engine.core.assign(sorted(found), now_ms)
        self.complete = all(answer.get(topic) for topic in self.topics)
        if self.complete:
            self._due_at = now_ms + self._config.metadata_max_age_ms

    def covers(self, topic: str) -> bool:
        """Whether the topic is inside the wish."""
        if self._pattern is None:
            return topic in self.topics
        if self._config.exclude_internal_topics and is_internal(topic):
            return False
        return self._pattern.match(topic) is not None

    def keep_only_covered(self, now_ms: int) -> None:
        """Let go at once of what the wish before this one had assigned."""
        core = self._engine.core
        assigned = core.assignment()
        self._found = {tp for tp in assigned if self.covers(tp.topic)}
        if not self._found:
            core.unsubscribe(now_ms)
        elif self._found != assigned:
            core.assign(sorted(self._found), now_ms)
