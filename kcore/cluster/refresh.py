"""When to ask for metadata, whom, and what to make of the answer (rules M1-M7).

One request is in flight at most, of those that are waited for: where nothing comes of it for long,
another node is asked. What comes late is taken until a later request is answered: all brokers may
be slow. A refresh is due when somebody asked for it or the view is too old, but never before the
backoffs since the last attempt have passed: one after failures, one after answers that brought
nothing new (a topic without a leader would otherwise be asked for in a loop).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kcore import errors
from kcore.cluster.links import Links
from kcore.cluster.view import Metadata, Taken
from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer, Build
from kcore.errors import KafkaError
from kcore.events import ErrorRaised, Event, MetadataUpdated, TopicsMissing
from kcore.hints import Any
from kcore.structs import Rng
from kcore.timers import NEVER
from kcore.values import Value, field
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import MetadataRequest

_RAISED = (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)

_Take = Callable[["_Request", Answer, int], None]


class RefreshConfig(Value):
    """Options of the refresh; names and defaults as Java's."""

    metadata_max_age_ms: int = 300_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    allow_auto_create_topics: bool = True


class _Request(Value, frozen=False, eq=False):
    turn: int
    number: int  # see Refresher.requests
    partial: bool = False  # it is of new topics alone
    asked: set[str] | None = field(default_factory=set)


class Refresher:
    """See the module's text. requests, answered: how many times topics were asked for, and which of
    these was the last to be answered.
    """

    def __init__(
        self,
        config: RefreshConfig,
        links: Links,
        view: Metadata,
        rng: Rng,
        emit: Callable[[Event], None],
    ) -> None:
        self._config = config
        self._links = links
        self._view = view
        self._rng = rng
        self._emit = emit
        self._topics: set[str] | None = set()
        self._may_create = True
        self._transient: dict[str, int] = {}
        self._new: set[str] = set()  # of topics: to be asked for, and nothing else with them
        self._in_flight = False
        self._node = -1  # that was asked last
        self._turn = 0  # counts requests: the last one is waited for
        self._taken = 0  # the last one that was answered: what is older is no news
        self._covered = False
        self._asked_ids: frozenset[bytes] = frozenset()  # by the last request for names
        self.requests = 0
        self.answered = 0
        self._failures = 0
        self._equivalent = 0
        self._backoff_until = 0
        self._answered_at: int | None = None
        self._seen_alarms = 0
        self._missing: frozenset[str] = frozenset()
        # Called with topics that may not be read or named, and why: look-ups of them are over.
        self.refused: Callable[[set[str], KafkaError], None] = _nobody
        view.requested = True

    # -- interest ----------------------------------------------------------------------------------

    def set_topics(self, topics: set[str] | None, *, may_create: bool = True) -> None:
        """What to keep up to date: these topics, or None for all. New ones are asked for at once
        (M1). may_create: brokers may make those that are missing, if the options allow it.
        """
        self._may_create = may_create
        if topics != self._topics:
            self._topics = None if topics is None else set(topics)
            if topics is None or not topics <= self._view.topics():
                self._view.requested = True
                self._hurry()

    def set_used(self, topics: set[str]) -> None:
        """As `set_topics`, of who has many, one after the other: what is new is asked for alone
        (Java: ProducerMetadata). Brokers would look for all of them for each one that comes, and
        make those anew that have been deleted.
        """
        new = topics - (self._topics or set()) - self._view.topics()
        self._topics = set(topics)
        self._new = (self._new | new) & topics
        if new:
            self._hurry()

    def request_topic(self, topic: str) -> None:
        """Ask for one of them, which may be there meanwhile; if it is new, it is asked for."""
        if topic not in self._new:
            self._view.requested = True

    def add_transient(self, topics: Iterable[str]) -> None:
        """Topics of one look-up; each call is undone by one `drop_transient`."""
        for topic in topics:
            self._transient[topic] = self._transient.get(topic, 0) + 1
            if self._view.partitions(topic) is None:
                self._view.requested = True
                self._hurry()

    def drop_transient(self, topics: Iterable[str]) -> None:
        """The look-up is over."""
        for topic in topics:
            count = self._transient.get(topic, 0) - 1
            if count > 0:
                self._transient[topic] = count
            else:
                self._transient.pop(topic, None)

    @property
    def ever_answered(self) -> bool:
        """Whether any metadata was taken in yet."""
        return self._answered_at is not None

    @property
    def covered(self) -> bool:
        """Whether everything wanted was in an answered request.

        What is missing then is missing on the broker's side: a partition without a leader is asked
        for again and again, and nobody may wait for that.
        """
        return self._covered

    def _hurry(self) -> None:
        self._covered = False
        self._equivalent = 0
        if self._failures == 0:
            self._backoff_until = 0

    # -- time --------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Ask anew: see ClientCore.handle_interrupted."""
        self._in_flight = False
        self._view.requested = True

    def _due_at(self) -> int:
        if self._in_flight:
            return NEVER
        if self._view.requested or self._answered_at is None:
            # Ids that nobody has asked about yet wait no more than new topics do.
            new = not self._failures and not self._view.unnamed <= self._asked_ids
            return 0 if new else self._backoff_until
        if self._new:
            return self._backoff_until
        return max(self._backoff_until, self._expires_at())

    def _expires_at(self) -> int:
        """When all is asked for by its age."""
        if self._answered_at is None:
            return 0
        return self._answered_at + self._config.metadata_max_age_ms

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self._in_flight:
            return NEVER
        due = self._due_at()
        return max(due, self._links.next_retry_at())

    def handle_tick(self, now_ms: int) -> None:
        """Ask if it is time and somebody can be asked."""
        if self._links.alarms != self._seen_alarms:
            self._seen_alarms = self._links.alarms
            self._view.requested = True
            if self._in_flight and self._links.silent(self._node, now_ms):
                self._in_flight = False  # whoever is asked now answers in its place
        if self._in_flight or now_ms < self._due_at():
            return
        node = self._links.least_loaded(now_ms)
        if node is None:
            return
        node = self._links.beside(node, now_ms)
        if self._answered_at is not None and not self._view.requested:
            self._equivalent = 0  # asked because of its age
        partial = not self._view.requested and now_ms < self._expires_at()
        self._view.requested = False
        self._node = node
        if self._view.unnamed:
            ids, self._view.unnamed = self._view.unnamed, frozenset()
            self._asked_ids = ids
            request = self._next()
            self._ask(request, lambda _: names_request(ids), self._named, now_ms)
            return
        self.requests += not partial
        request = self._next(partial)
        self._ask(request, lambda version: self._build(request, version), self._done, now_ms)

    def _next(self, partial: bool = False) -> _Request:
        self._turn += 1
        return _Request(self._turn, self.requests, partial)

    def _ask(self, request: _Request, build: Build, take: _Take, now_ms: int) -> None:
        def done(answer: Answer, now_ms: int) -> None:
            waited_for = request.turn == self._turn
            if waited_for:
                self._in_flight = False
            body = answer.body
            if body is None or body.error_code:
                if waited_for:  # else another one is, which may be answered yet
                    self._refused(answer, now_ms)
            elif request.turn > self._taken:
                self._taken = request.turn
                take(request, answer, now_ms)

        self._links.send(self._node, ApiKey.METADATA, build, done, now_ms)
        self._in_flight = True  # behind it: see ClientCore.handle_interrupted

    def _refused(self, answer: Answer, now_ms: int) -> None:
        body = answer.body
        if body is not None and body.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self._links.set_nodes([], now_ms)  # only the bootstrap is left (KIP-1102)
        self._failed(now_ms)

    def _named(self, _request: _Request, answer: Answer, now_ms: int) -> None:
        """Names of ids were told, with all else about their topics. Whoever wants to keep them says
        so by `set_topics`; an id that is not known is asked for again by who needs it.
        """
        self._view.take(answer.body, answer.version, keep=None)
        self._links.set_nodes(self._view.nodes(), now_ms)
        self._backoff_until = now_ms + self._backoff(0)
        self._view.requested = True  # what was to be asked for by name
        self._emit(MetadataUpdated(self._view.version))

    def _wanted(self) -> set[str] | None:
        return None if self._topics is None else self._topics | self._transient.keys()

    def _build(self, request: _Request, version: int) -> MetadataRequest:
        # Where a link had to be opened first it is written later: what has come up since is in it.
        if request.turn == self._turn:
            request.partial = request.partial and not self._view.requested
            self._view.requested = bool(self._view.unnamed)
        request.asked = set(self._new) if request.partial else self._wanted()
        may_create = self._may_create and self._config.allow_auto_create_topics
        return metadata_request(request.asked, version, may_create)

    # -- answers -----------------------------------------------------------------------------------

    def _done(self, request: _Request, answer: Answer, now_ms: int) -> None:
        wanted = self._wanted()
        taken = self._view.take(answer.body, answer.version, keep=wanted or set())
        if not taken.brokers:
            self._failed(now_ms)
            return
        self._failures = 0
        if not request.partial:
            self._answered_at = now_ms
            self.answered = request.number
        self._links.set_nodes(self._view.nodes(), now_ms)
        self._links.release_bootstrap(now_ms)
        self._judge(taken)
        # Even a good answer is followed by a pause; answers without news by longer and longer ones.
        self._equivalent = 0 if taken.newer else self._equivalent + 1
        self._backoff_until = now_ms + self._backoff(max(0, self._equivalent - 1))
        self._new -= request.asked or set()
        self._covered = True
        asked = wanted if request.partial else request.asked
        if self._new or (asked is not None and (wanted is None or not wanted <= asked)):
            self._view.requested |= not self._new
            self._hurry()  # topics were added while this request was under way
        self._emit(MetadataUpdated(self._view.version))

    def forgive(self) -> None:
        """Failures so far are none any more: the backoff begins anew."""
        self._failures = 0

    def _failed(self, now_ms: int) -> None:
        self._view.requested = True
        self._backoff_until = now_ms + self._backoff(self._failures)
        self._failures += 1

    def _backoff(self, attempts: int) -> int:
        config = self._config
        return exponential(
            attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )

    def _judge(self, taken: Taken) -> None:
        missing: set[str] = set()
        raised: dict[int, set[str]] = {}
        for topic, code in taken.topic_errors.items():
            if code in _RAISED:
                raised.setdefault(code, set()).add(topic)
            else:
                missing.add(topic)
        for code, topics in raised.items():
            self.refused(topics, _refusal(code, topics))
            # What only a look-up wanted is its answer, and no error of whoever polls next.
            kept = topics if self._topics is None else topics & self._topics
            if kept:
                self._emit(ErrorRaised(_refusal(code, kept)))
        if missing or taken.incomplete:
            self._view.requested = True
        if missing != self._missing:
            self._missing = frozenset(missing)
            self._emit(TopicsMissing(self._missing))


def _nobody(_topics: set[str], _error: KafkaError) -> None:
    """There are no look-ups."""


def _refusal(code: int, topics: set[str]) -> KafkaError:
    words = f"metadata of {', '.join(sorted(topics))} was refused"
    if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return errors.TopicAuthorizationFailedError(words, topics=frozenset(topics))
    return errors.for_code(code)(words)


def names_request(topic_ids: frozenset[bytes]) -> MetadataRequest:
    """A Metadata request for topics by their ids (v12, Kafka 3.1)."""
    cls = MetadataRequest.MetadataRequestTopic
    topics = [cls(topic_id=topic_id, name=None) for topic_id in sorted(topic_ids)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def metadata_request(
    topics: set[str] | None, version: int, allow_auto_create: bool
) -> MetadataRequest:
    """A Metadata request for some topics (an empty set: brokers only) or for all (None)."""
    wanted: Any = None
    if topics is not None:
        wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(topics)]
    request = MetadataRequest(topics=wanted)
    if version >= 4:
        request.allow_auto_topic_creation = allow_auto_create
    return request
