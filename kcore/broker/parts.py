"""Requests of which a test has parts refused: what they name, and how the rest of them is served.

What is refused is taken out before a request is served, so that nothing is done for it; the answer
gets it back, with its errors, whenever it comes. Requests in sessions are served as they are: it is
the session that names partitions, and it goes on, so their handlers ask for each (`error_of`).
Requests that ask for topics and are told partitions have these refused in the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kcore.broker.apis import share_fetch
from kcore.broker.authorization.refused import refused_answer
from kcore.broker.calls import Call
from kcore.broker.mishaps import Mishap, Named, Refused
from kcore.broker.refusals import ERRORS, list_of, meanings
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID, Message, Struct
from kcore.wire.messages import (
    DescribeTopicPartitionsResponse,
    FetchRequest,
    MetadataRequest,
    MetadataResponse,
    ShareFetchRequest,
)

_SESSIONS: Final = {ApiKey.FETCH, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE}
_TOLD: Final = {ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS}
# In these no list of topics stands for all that there is something of.
_NULL_IS_ALL: Final = {ApiKey.OFFSET_FETCH, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS}

_TOPICS: Final = {"topics", "topic_data", "topic_names", "topic_partitions", "v3_and_below_topics"}
_GROUPS: Final = {"groups", "group_ids", "groups_names"}
_TOPIC_RESOURCE: Final = 2  # Java: ConfigResource.Type
_GROUP_KEY: Final = 0  # Java: CoordinatorType

Picks = Callable[[Named], bool]


def group_of(request: Any, version: int) -> str | None:
    """The group that all of a request is about."""
    for name, _, first, last, *_ in request.FIELDS:
        if first <= version <= last:
            if name == "group_id":
                return request.group_id  # type: ignore[no-any-return]
            if name == "key" and request.key_type == _GROUP_KEY:
                return request.key  # type: ignore[no-any-return]
    return None


def named_in(call: Call, request: Message) -> Iterator[Named]:
    """Everything that a request names, of which something can be said by itself."""
    name_of = call.node.cluster.topics.name_of
    if isinstance(request, FetchRequest):
        for topic, number in call.node.sessions.named(request, call.version):
            yield Named(None, topic if isinstance(topic, str) else name_of(topic), number)
    elif isinstance(request, ShareFetchRequest):
        for topic_id, number in share_fetch.named(call, request):
            yield Named(request.group_id, name_of(topic_id), number)
    elif call.key in _TOLD:
        yield from _topics_told(call, request)
    else:
        found: list[Named] = []

        def look(named: Named) -> bool:
            found.append(named)
            return False

        _divided(call, request, Named(group_of(request, call.version)), look)
        yield from found


class Parts:
    """A request of which parts are refused.

    rest: what is to be served of it; None: nothing. answer: to the parts, by themselves.
    """

    __slots__ = ("_alone", "_call", "_refused", "_topics", "answer", "rest")

    def __init__(self, call: Call, request: Message, refused: Refused) -> None:
        self._call = call
        self._refused = refused
        self._topics: list[Any] = []  # that would be told of, and are refused
        self._alone = False  # whether no others are asked for
        self.rest: Any = request
        self.answer: Any = None
        if call.key in _TOLD:
            self._take_topics(request)
        elif call.key not in _SESSIONS:
            self._take_out(request)

    def error_of(self, group: str | None, topic: str | None, number: int) -> ErrorCode:
        """What is to be said of a partition of a session."""
        mishap = self._refused.get(Named(group, topic, number))
        return ErrorCode.NONE if mishap is None else mishap.error

    def put_back(self, answer: Any) -> None:
        """Have the answer to the rest say what is refused; unless it is an error by itself."""
        if answer is self.answer or _fails(answer):
            return
        if self._call.key in _TOLD:
            self._tell(answer)
        elif self.answer is not None:
            _join(answer, self.answer)

    # Taken out -----------------------------------------------------------------------------------

    def _take_out(self, request: Message) -> None:
        root = Named(group_of(request, self._call.version))
        for mishap in dict.fromkeys(self._refused.values()):
            self._take(root, mishap, self._about(mishap))
        if self._call.key is ApiKey.ADD_PARTITIONS_TO_TXN:  # all of them or none
            others = Mishap(mishap.api, mishap.kind, error=ErrorCode.OPERATION_NOT_ATTEMPTED)
            self._take(root, others, lambda _named: True)

    def _about(self, mishap: Mishap) -> Picks:
        return lambda named: self._refused.get(named) is mishap

    def _take(self, root: Named, mishap: Mishap, picks: Picks) -> None:
        if self.rest is None:
            return
        self.rest, taken = _divided(self._call, self.rest, root, picks)
        if taken is None:
            return
        answer = refused_answer(taken, self._call.version, mishap.error)
        _clear(answer, all_levels=mishap.group is None or mishap.topic is not None)
        if self.answer is None:
            self.answer = answer
        else:
            _join(self.answer, answer)

    # Topics that are told of ---------------------------------------------------------------------

    def _take_topics(self, request: Any) -> None:
        """Topics that are refused are not looked up, nor made."""
        if _wants_all(request, self._call.version):
            self._topics = [
                _told(self._call, named.topic, ZERO_UUID, mishap)
                for named, mishap in self._refused.items()
                if named.partition is None
            ]
            return
        kept = []
        for one in request.topics:
            mishap = self._refused.get(Named(None, _topic_in(self._call, one)))
            if mishap is None:
                kept.append(one)
            else:
                topic_id = getattr(one, "topic_id", ZERO_UUID)
                name = _topic_in(self._call, one)
                self._topics.append(_told(self._call, name, topic_id, mishap))
        self.rest = _with(request, "topics", kept)
        self._alone = not kept

    def _tell(self, answer: Any) -> None:
        told = []
        for topic in () if self._alone else answer.topics:
            if Named(None, topic.name) in self._refused:
                continue
            for one in topic.partitions:
                mishap = self._refused.get(Named(None, topic.name, one.partition_index))
                if mishap is not None:
                    one.error_code = mishap.error
                    one.leader_id = one.leader_epoch = -1
            told.append(topic)
        answer.topics = told + self._topics
        if self._alone and self._call.key is ApiKey.DESCRIBE_TOPIC_PARTITIONS:
            answer.next_cursor = None


# Requests -----------------------------------------------------------------------------------------


def _topics_told(call: Call, request: Any) -> Iterator[Named]:
    topics = call.node.cluster.topics
    if _wants_all(request, call.version):
        names: list[str | None] = list(topics.names())
    else:
        names = [_topic_in(call, one) for one in request.topics]
    for name in names:
        yield Named(None, name)
        for number in range(topics.partition_count(name or "")):
            yield Named(None, name, number)


def _wants_all(request: Any, version: int) -> bool:
    """Whether topics are asked for without a name."""
    if isinstance(request, MetadataRequest) and version:
        return request.topics is None
    return not request.topics


def _told(call: Call, name: str | None, topic_id: bytes, mishap: Mishap) -> Any:
    """A topic of an answer that is refused; by its id, if it was asked for by that."""
    if call.key is ApiKey.METADATA:
        return MetadataResponse.MetadataResponseTopic(
            name=name, topic_id=topic_id, error_code=mishap.error
        )
    return DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        name=name, error_code=mishap.error
    )


def _divided(call: Call, asked: Any, above: Named, picks: Picks) -> tuple[Any, Any]:
    """What is left of one level of a request, and what is picked of it; None: nothing.

    above: what it is about. picks: is asked of everything that nothing is below of.
    """
    field = list_of(asked, call.version)
    if field is None:
        return (None, asked) if picks(above) else (asked, None)
    entries = getattr(asked, field)
    everything = entries is None
    if everything and call.key in _NULL_IS_ALL:
        entries = _all_topics(call, asked, field)
    if not entries:
        return (None, asked) if picks(above) else (asked, None)
    left, picked = [], []
    for one in entries:
        rest, taken = _divided(call, one, _below(call, above, asked, field, one), picks)
        if rest is not None:
            left.append(rest)
        if taken is not None:
            picked.append(taken)
    if not picked:
        return asked, None
    rest = None
    if left:  # of everything it is that still, and the answer says of these what is to be said
        rest = asked if everything else _with(asked, field, left)
    return rest, _with(asked, field, picked)


def _below(call: Call, above: Named, asked: Any, field: str, one: Any) -> Named:
    """What an entry of a list is about."""
    if field in _GROUPS or (field == "coordinator_keys" and asked.key_type == _GROUP_KEY):
        return above._replace(group=one if isinstance(one, str) else one.group_id)
    if field in _TOPICS:
        return above._replace(topic=_topic_in(call, one))
    if field == "resources":
        return above._replace(
            topic=one.resource_name if one.resource_type == _TOPIC_RESOURCE else None
        )
    number: Any = meanings(one).get("number")
    return above._replace(partition=number) if above.topic is not None else above


def _topic_in(call: Call, one: Any) -> str | None:
    """The topic that an entry names, by its name or its id."""
    known = meanings(one)
    name: Any = known.get("name")
    topic_id: Any = known.get("id", ZERO_UUID)
    if name or topic_id == ZERO_UUID:
        return name  # type: ignore[no-any-return]
    return call.node.cluster.topics.name_of(topic_id)


def _all_topics(call: Call, asked: Any, field: str) -> list[Any]:
    """Every partition there is, as a request would name it."""
    (kind,) = (row[1][2:] for row in asked.FIELDS if row[0] == field)
    made = getattr(API_TABLE[call.key].request, kind)
    found = []
    for topic in call.node.cluster.topics.topics():
        one = made()
        for name, *_ in one.FIELDS:
            if name == "topic_id":
                one.topic_id = topic.topic_id
            elif name == list_of(one, call.version):
                setattr(one, name, list(range(len(topic.partitions))))
            else:
                setattr(one, name, topic.name)
        found.append(one)
    return found


def _with(one: Any, field: str, value: object) -> Any:
    """A copy with another value."""
    copy = type(one)()
    for name, *_ in one.FIELDS:
        setattr(copy, name, getattr(one, name))
    setattr(copy, field, value)
    return copy


# Answers ------------------------------------------------------------------------------------------


def _lists(one: Struct) -> Iterator[tuple[str, list[Any]]]:
    """What is below a part of an answer."""
    for name, *_ in one.FIELDS:
        value = getattr(one, name)
        if isinstance(value, list) and value and isinstance(value[0], Struct):
            yield name, value


def _clear(one: Any, *, all_levels: bool) -> None:
    """The error is said of what is refused, and not of what that is a part of."""
    for name, *_ in one.FIELDS:
        if name in ERRORS:
            setattr(one, name, ErrorCode.NONE)
        elif name == "error_message":
            setattr(one, name, None)
    for _, entries in _lists(one) if all_levels else ():
        for entry in entries:
            if any(_lists(entry)):
                _clear(entry, all_levels=True)


def _join(answer: Any, more: Any) -> None:
    """An answer, or a part of one, says also what another one does; of the same, only that."""
    for name, entries in _lists(more):
        mine = getattr(answer, name)
        for entry in entries:
            twin = next((one for one in mine if _same(one, entry)), None)
            if twin is None or not any(_lists(entry)):
                mine = [*(one for one in mine if one is not twin), entry]
            elif not _fails(twin):
                _join(twin, entry)
        setattr(answer, name, mine)


def _fails(one: Any) -> bool:
    """Whether an answer, or a part of one, is an error by itself."""
    return bool(getattr(one, "error_code", 0))


def _same(one: Struct, other: Struct) -> bool:
    """Whether two parts of an answer are about the same."""
    mine, its = meanings(one), meanings(other)
    ids = mine.pop("id", ZERO_UUID), its.pop("id", ZERO_UUID)
    return ids[0] == ids[1] if ZERO_UUID not in ids else mine == its
