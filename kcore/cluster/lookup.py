"""One-off questions about topics: which there are, and their partitions. Kept apart from the view
that fetching relies on.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore import errors
from kcore.cluster.links import Links
from kcore.cluster.refresh import RefreshConfig, metadata_request
from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer
from kcore.errors import KafkaError, KafkaTimeoutError
from kcore.hints import Any
from kcore.structs import Rng
from kcore.timers import NEVER, Bounded
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

_UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

LookupDone = Callable[[dict[str, list[int]] | None, KafkaError | None], None]


class _Lookup(Bounded):
    __slots__ = ("asking", "attempts", "done", "last_error", "may_create", "next_try_ms", "topics")

    def __init__(
        self,
        topics: set[str] | None,
        deadline_ms: int,
        done: LookupDone,
        next_try_ms: int,
        *,
        may_create: bool,
    ) -> None:
        super().__init__(deadline_ms)
        self.topics = topics
        self.done = done
        self.next_try_ms = next_try_ms
        self.may_create = may_create
        self.attempts = 0
        self.asking = False
        self.last_error: KafkaError | None = None


class TopicLookup:
    """Asks any broker; retried with backoff until the deadline. A topic that does not exist is
    simply not in the result.
    """

    def __init__(self, config: RefreshConfig, links: Links, rng: Rng) -> None:
        self._config = config
        self._links = links
        self._rng = rng
        self._open: list[_Lookup] = []

    def ask(
        self,
        topics: set[str] | None,
        now_ms: int,
        done: LookupDone,
        *,
        deadline_ms: int,
        may_create: bool = False,
    ) -> None:
        """`done({topic: partition numbers}, None)`, or `done(None, error)` at the deadline or when
        refused. may_create: brokers make topics that are missing, if they do that.
        """
        self._open.append(_Lookup(topics, deadline_ms, done, now_ms, may_create=may_create))

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        first = NEVER
        for lookup in self._open:
            first = min(first, lookup.deadline_ms)
            if not lookup.asking:
                first = min(first, max(lookup.next_try_ms, self._links.next_retry_at()))
        return first

    def recover(self) -> None:
        """Nobody is being asked (see ClientCore.handle_interrupted)."""
        for lookup in self._open:
            lookup.asking = False

    def handle_tick(self, now_ms: int) -> None:
        """Ask what is due, give up what is late."""
        for lookup in list(self._open):
            if lookup.expired(now_ms, away=self._links.late):
                cause = f": {lookup.last_error}" if lookup.last_error else ""
                error = KafkaTimeoutError(f"no broker gave metadata in time{cause}")
                error.__cause__ = lookup.last_error
                self._finish(lookup, None, error)
            elif not lookup.asking and now_ms >= lookup.next_try_ms:
                self._try(lookup, now_ms)

    def _try(self, lookup: _Lookup, now_ms: int) -> None:
        node = self._links.least_loaded(now_ms)
        if node is None:
            return
        lookup.asking = True

        def build(version: int) -> Any:
            return metadata_request(lookup.topics, version, lookup.may_create)

        def done(answer: Answer, at_ms: int) -> None:
            self._take(lookup, answer, at_ms)

        self._links.send(
            self._links.beside(node, now_ms, opens=True),
            ApiKey.METADATA,
            build,
            done,
            now_ms,
            # A node that stands still is not all there is.
            timeout_ms=min(self._links.request_timeout_ms, lookup.deadline_ms - now_ms),
        )

    def _take(self, lookup: _Lookup, answer: Answer, now_ms: int) -> None:
        lookup.asking = False
        if lookup not in self._open:
            return
        if isinstance(answer.error, errors.AuthenticationFailedError):
            self._finish(lookup, None, answer.error)
            return
        if answer.body is None:
            self._again(lookup, answer.error, now_ms)
            return
        found: dict[str, list[int]] = {}
        retry: KafkaError | None = None
        for topic in answer.body.topics:
            error = errors.for_code(topic.error_code) if topic.error_code else None
            if error is None and topic.name:
                found[topic.name] = sorted({part.partition_index for part in topic.partitions})
            elif error is not None and error.retriable and error.errno != _UNKNOWN_TOPIC:
                retry = error(f"metadata of {topic.name}")
            elif error is not None and lookup.topics is not None and not error.retriable:
                self._finish(lookup, None, error(f"metadata of {topic.name} was refused"))
                return
        if retry is not None:
            self._again(lookup, retry, now_ms)
        else:
            self._finish(lookup, found, None)

    def _again(self, lookup: _Lookup, error: KafkaError | None, now_ms: int) -> None:
        lookup.last_error = error
        config = self._config
        lookup.next_try_ms = now_ms + exponential(
            lookup.attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )
        lookup.attempts += 1

    def _finish(
        self, lookup: _Lookup, result: dict[str, list[int]] | None, error: KafkaError | None
    ) -> None:
        self._open.remove(lookup)
        lookup.done(result, error)
