"""One question to the cluster about several things: who is asked for which, what is tried again,
until when.

A question (`Ask`) is data and two functions: what to send for a version, what an answer says. It is
about its `keys` (topics, groups, partitions, brokers), and each of them ends by itself, with a
value or with an error (`Outcome`). Keys that go to the same node share a request.

What is tried again, with backoff, until the deadline:
* a link that ended, an answer that did not come or cannot be read, a key that it leaves out;
* every error that Kafka calls retriable. Who refused is then looked up anew.

What is not:
* UNKNOWN_TOPIC_OR_PARTITION, after `patience` answers in a row: a broker that has not heard yet of
  a new topic says the same as one that never will;
* a version that the broker does not speak, credentials that it refuses: nothing would change.

Where a first attempt may have been carried out although its answer is lost, and a later one is
refused, the error says so: a topic that "already exists" may be the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kcore.admin.hints import HINTS
from kcore.connection.calls import Answer, Message, Reach, node_id_of
from kcore.enums import Enum
from kcore.errors import (
    AuthenticationFailedError,
    BrokerResponseError,
    KafkaError,
    KafkaTimeoutError,
    Unexpected,
    UnsupportedVersionError,
    UsageError,
    for_code,
)
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.values import Value, field
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.admin.places import Places

Key = Any

_UNKNOWN: Final = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
# Of these a broker may have carried out what it was asked to.
_IN_DOUBT: Final = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION}
_AFTER_DOUBT: Final = (
    "an earlier attempt of this call was not answered, and may be what has done it"
)
_NAMES_MAX: Final = 10  # of parts spelled out in one error


class Route(Enum):
    """Who answers."""

    ANY = "any broker"
    CONTROLLER = "the controller"
    BROKER = "the broker of a number"
    COORDINATOR = "the coordinator of a group"
    TRANSACTIONS = "the coordinator of a transactional id"
    LEADER = "the leader of a partition"


class Reply(NamedTuple):
    """What an answer says of one key: an error code with the broker's words, or a value. whole: it
    is about all that was asked for.
    """

    key: Key
    code: int
    value: Any = None
    words: str | None = None
    whole: bool = False


def of_all(keys: Iterable[Key], code: int, words: str | None = None) -> Iterable[Reply]:
    """An error of all that was asked for: `Outcome.check` raises it, asked to or not."""
    return [Reply(key, code, words=words, whole=True) for key in keys]


def _is_said(error: KafkaError) -> bool:
    """Whether a broker has said it of what it was asked."""
    return isinstance(error, BrokerResponseError) and not isinstance(error, UnsupportedVersionError)


def _itself(key: Key) -> Key:
    return key


def _every(_version: int) -> int | None:
    return None


def plain_name(key: Key) -> str:
    """How a key is called in errors."""
    return f"{key[0]}-{key[1]}" if isinstance(key, tuple) and len(key) == 2 else str(key)


class Ask(Value, eq=False):
    """See the module's text.

    what: what it is, for errors ("creating topic"). build(keys, version, limit_ms): the request;
    limit_ms is how long a broker may take; it may raise UnsupportedVersionError.
    read(body, version, keys): what the answer says of them; keys that were not asked are passed
    over. place(key): whose node it is that answers, of the route: a group, a partition, a broker.
    most(version): so many keys fit into one request; None: all. changes: it is no mere question.
    final: codes that are not tried again though Kafka calls them retriable. hints: what to do, by
    code, beside those of all. after(key, outcomes): whether a key is asked for at all, by how it
    went with it in the questions before this one that are asked beside it; None: that is not known
    yet. What is not asked for does not end, either.
    """

    api: ApiKey
    keys: tuple[Key, ...]
    what: str
    build: Callable[[list[Key], int, int], Message]
    read: Callable[[Any, int, list[Key]], Iterable[Reply]]
    route: Route = Route.ANY
    place: Callable[[Key], Any] = _itself
    most: Callable[[int], int | None] = _every
    max_version: int | None = None
    patience: int = 3
    changes: bool = False
    final: frozenset[int] = frozenset()
    hints: Mapping[int, str] = field(default_factory=dict)
    name: Callable[[Key], str] = plain_name
    after: Callable[[Key, Sequence[Outcome]], bool | None] | None = None


class Outcome:
    """How a question ended, key by key. name: how a key is called in errors. refused: something is
    wrong with all that was asked for. nodes: who has said what is done, by number.
    """

    __slots__ = ("_name", "done", "failed", "nodes", "refused")

    def __init__(self, name: Callable[[Key], str]) -> None:
        self.done: dict[Key, Any] = {}
        self.failed: dict[Key, KafkaError] = {}
        self.refused = False
        self.nodes: dict[Key, int] = {}
        self._name = name

    def all_done(self) -> dict[Key, Any]:
        """Every value. Raises what failed, if anything has."""
        self.check(raise_errors=True)
        return self.done

    def check(self, *, raise_errors: bool) -> None:
        """Raise what failed; if not asked to, then only what no broker has said of a part: it is
        about all of them, or there was no time, or no way to ask.
        """
        said = not self.refused and all(map(_is_said, self.failed.values()))
        if self.failed and (raise_errors or not said):
            raise self.error()

    def error(self) -> KafkaError:
        """What failed, as one error: of the first one's class, and saying how it went with each.

        failed, done: the parts of the call.
        """
        first = next(iter(self.failed.values()))
        words = "; ".join(map(str, first.args))
        if self.done or len(self.failed) > 1:
            # An error of a broker begins with its code, and so does the whole.
            words = first.args[0] if first.args else str(first)
            others = list(self.failed.values())[1:_NAMES_MAX]
            words = "; ".join([words, *map(str, others)])
            if len(self.failed) > _NAMES_MAX:
                words += f"; and {len(self.failed) - _NAMES_MAX} more"
            if self.done:
                names = ", ".join(self._name(key) for key in list(self.done)[:_NAMES_MAX])
                more = f" and {len(self.done) - _NAMES_MAX} more" * (len(self.done) > _NAMES_MAX)
                words += f"; the others are done: {names}{more}"
        whole = type(first)(words)
        whole.__dict__.update(first.__dict__)
        whole.failed = dict(self.failed)
        whole.done = dict(self.done)
        return whole


class Asking:
    """An Ask on its way. over: every key has ended, in `outcome`. stranded: any broker would do,
    and none can be asked now.
    """

    def __init__(self, ask: Ask, places: Places, before: Sequence[Outcome] = ()) -> None:
        self.ask = ask
        self.outcome = Outcome(ask.name)
        self.over = not ask.keys
        self.stranded = False
        self._places = places
        self._limit = places.limit
        keys: dict[Key, None] = dict.fromkeys(ask.keys)
        self._open, self._held = (keys, {}) if ask.after is None else ({}, keys)
        self._before = before
        self._under_way: dict[Key, int] = {}  # the node that was asked
        self._doubtful: set[Key] = set()
        self._unknown: dict[Key, int] = {}
        self._why: dict[Key, KafkaError] = {}
        self._retry_at = 0
        self._attempts = 0

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        if self.over:
            return NEVER
        if not self._open or self._is_waiting_for_places():
            return self._limit.deadline_ms
        first = self._retry_at
        if self.stranded:
            first = max(first, self._places.network.next_retry_at())
        return min(self._limit.deadline_ms, first)

    def _is_waiting_for_places(self) -> bool:
        """Whether all that is open waits for look-ups, which have deadlines of their own."""
        return self.ask.route is not Route.ANY and all(
            self._places.is_sought(self.ask.route, self.ask.place(key)) for key in self._open
        )

    def handle_tick(self, now_ms: int) -> None:
        """Ask what is due; give up what is late."""
        if self.over:
            return
        if self._held:
            self._let_go()
        self.stranded = False
        if now_ms >= self._limit.deadline_ms:
            self._expire()
        elif self._open and now_ms >= self._retry_at:
            for node, keys in self._by_node(now_ms).items():
                self._send(node, keys, now_ms)
            self.stranded = bool(self._open) and self.ask.route is Route.ANY
        self._end()

    def _let_go(self) -> None:
        """See what is to be asked by now."""
        after = self.ask.after
        assert after is not None
        for key in list(self._held):
            wanted = after(key, self._before)
            if wanted is not None:
                del self._held[key]
            if wanted:
                self._open[key] = None

    def why(self, key: Key) -> KafkaError | None:
        """What stood in the way of a key last."""
        return self._why.get(key)

    def _by_node(self, now_ms: int) -> dict[int, list[Key]]:
        """Whom to ask for what now; those whose node is not known are looked up."""
        ask, places = self.ask, self._places
        if ask.route is Route.ANY:
            node = places.network.least_loaded(now_ms)
            return {} if node is None else {node: list(self._open)}
        found: dict[int, list[Key]] = {}
        away = False
        refusals: dict[Any, KafkaError | None] = {}  # several keys may have the same place
        for key in list(self._open):
            place = ask.place(key)
            if place not in refusals:
                refusals[place] = places.take_refusal(ask.route, place)
            refusal = refusals[place]
            if refusal is not None:
                self._fail(key, refusal)
                continue
            node = places.find(ask.route, place)
            if node is None:
                continue
            if places.network.reach(node, now_ms) in (Reach.BACKOFF, Reach.UNKNOWN):
                places.forget(ask.route, place)  # somebody else may have its place meanwhile
                away = True
            else:
                found.setdefault(node, []).append(key)
        if away:
            self._wait(now_ms)
        return found

    def _send(self, node: int, keys: list[Key], now_ms: int) -> None:
        ask = self.ask
        left_ms = self._limit.deadline_ms - now_ms
        limit_ms = min(self._places.network.request_timeout_ms, left_ms)
        # Who is told how long to take says that it has not managed before it is given up.
        told_ms = max(1, limit_ms * 9 // 10)
        sent: list[Key] = []

        def build(version: int) -> Message:
            sent[:] = keys[: ask.most(version)]
            return ask.build(sent, version, told_ms)

        def done(answer: Answer, at_ms: int) -> None:
            self._take(answer, keys, sent, at_ms)

        self._places.network.send(
            node,
            ask.api,
            build,
            done,
            now_ms,
            timeout_ms=limit_ms,
            max_version=ask.max_version,
        )
        for key in keys:
            del self._open[key]
            self._under_way[key] = node

    # -- answers -----------------------------------------------------------------------------------

    def _take(self, answer: Answer, keys: Sequence[Key], sent: list[Key], now_ms: int) -> None:
        if self.over or self._places.abandoned:
            return
        self._places.stirred = True
        for key in keys:
            del self._under_way[key]
            self._open[key] = None
        if answer.body is None:
            self._lose(answer, keys, sent, now_ms)
        else:
            self._read(answer, sent, now_ms)
        self._end()

    def _lose(self, answer: Answer, keys: Sequence[Key], sent: Sequence[Key], now_ms: int) -> None:
        """There is no answer."""
        error = answer.error
        assert error is not None
        fatal = isinstance(error, (AuthenticationFailedError, UnsupportedVersionError, UsageError))
        asked = set(sent)
        for key in keys:
            if fatal:
                self._fail(key, error)
                continue
            if self.ask.changes and answer.version >= 0 and key in asked:
                self._doubtful.add(key)
            self._put_off(key, error)
        self._wait(now_ms)

    def _read(self, answer: Answer, sent: list[Key], now_ms: int) -> None:
        self._places.learn(self.ask.api, answer.body, now_ms)
        left = dict.fromkeys(sent)
        again = False
        for reply in self.ask.read(answer.body, answer.version, sent):
            if reply.key in left:
                del left[reply.key]
                again |= not self._judge(reply)
                if reply.key in self.outcome.done:
                    self.outcome.nodes[reply.key] = node_id_of(answer.node)
        for key in left:
            if self.ask.changes:
                self._doubtful.add(key)
            words = f"{self.ask.what} {self.ask.name(key)}: the answer leaves it out"
            self._put_off(key, Unexpected(words, node=answer.node))
        if again or left:
            self._wait(now_ms)

    def _judge(self, reply: Reply) -> bool:
        """Whether that was all about a key; else it is tried again."""
        key, code, value = reply[:3]
        if code == ErrorCode.NONE:
            del self._open[key]
            self.outcome.done[key] = value
            return True
        kind = for_code(code)
        if code in _UNKNOWN:
            self._unknown[key] = self._unknown.get(key, 0) + 1
            retriable = self._unknown[key] < self.ask.patience
        else:
            retriable = kind.retriable or code == ErrorCode.REBOOTSTRAP_REQUIRED
        if self.ask.changes and code in _IN_DOUBT:
            self._doubtful.add(key)
        error = kind(self._words(reply))
        if retriable and code not in self.ask.final:
            self._put_off(key, error)
            return False
        self.outcome.refused |= reply.whole
        self._fail(key, error)
        return True

    def _words(self, reply: Reply) -> str:
        key, code, words = reply.key, reply.code, reply.words
        said = (words or for_code(code).description).rstrip(".")
        parts = [f"{self.ask.what} {self.ask.name(key)}: {said}"]
        hint = self.ask.hints.get(code) or HINTS.get(code)
        if hint:
            parts.append(hint)
        if key in self._doubtful and code not in _IN_DOUBT:
            parts.append(_AFTER_DOUBT)
        return "; ".join(parts)

    def _put_off(self, key: Key, error: KafkaError) -> None:
        self._why[key] = error
        if self.ask.route is not Route.ANY:
            self._places.forget(self.ask.route, self.ask.place(key))

    def _wait(self, now_ms: int) -> None:
        self._retry_at = now_ms + self._places.backoff(self._attempts)
        self._attempts += 1

    # -- ends --------------------------------------------------------------------------------------

    def _fail(self, key: Key, error: KafkaError) -> None:
        self._open.pop(key, None)
        self._under_way.pop(key, None)
        self.outcome.failed[key] = error

    def _expire(self) -> None:
        for key in (*self._open, *self._under_way):
            places, words = self._places, f"{self.ask.what} {self.ask.name(key)}: not done in time"
            why = self._why.get(key) or places.why(self.ask.route, self.ask.place(key))
            if why is not None:
                words += f": {why}"
            elif key in self._under_way:
                where = places.network.address(self._under_way[key]) or "who was asked"
                words += f": {where} did not answer {self.ask.api.name} in time"
            else:
                words += f": {self.ask.route.value} could not be reached"
            if self.ask.changes and (key in self._under_way or key in self._doubtful):
                words += "; it may be done nevertheless, or still be"
            self._fail(key, KafkaTimeoutError(words, timeout_ms=places.timeout_ms))

    def _end(self) -> None:
        if self.over or self._open or self._under_way or self._held:
            return
        self.over = True
        order = {key: at for at, key in enumerate(self.ask.keys)}
        for parts in (self.outcome.done, self.outcome.failed):
            items = sorted(parts.items(), key=lambda item: order[item[0]])
            parts.clear()
            parts.update(items)
