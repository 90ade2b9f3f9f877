"""An error answer to any request: its error code wherever the answer has a place for one.

What the request names (topics, partitions, groups, keys, resources) is found in the answer again,
so clients take it as the broker's own word. Nothing that was asked for is done.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.share.sessions import INITIAL_EPOCH
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message, Struct

# What one side calls a thing -> what it is; both sides have one name for each at every level.
_MEANING: Final = {
    "name": "name",
    "topic": "name",
    "topic_name": "name",
    "key": "name",
    "group_id": "name",
    "transactional_id": "name",
    "resource_name": "name",
    "user": "name",
    "member_id": "member",
    "index": "number",
    "partition": "number",
    "partition_index": "number",
    "partition_id": "number",
    "resource_type": "number",
    "topic_id": "id",
    "group_instance_id": "instance",
    "producer_id": "producer",
    "entity_type": "type",
    "entity_name": "name",
}
# Lists in a request that its answer goes through; lists of names have one entry each.
_ASKED: Final = (
    *("topics", "topic_data", "partitions", "partition_data", "groups", "resources"),
    *("topic_names", "coordinator_keys", "groups_names", "members", "partition_indexes"),
    *("topic_partitions", "group_ids", "users"),
    *("creations", "filters", "entries", "entity"),
    *("transactions", "v3_and_below_topics", "transactional_ids", "markers"),
)
# Lists of which the answer has one for all, with each name once.
_TOGETHER: Final = ("deletions", "upsertions")
ERRORS: Final = ("error_code", "partition_error_code", "acknowledge_error_code")
# Lists in an answer that are about something else, such as where the nodes are.
_OTHER: Final = {"brokers", "node_endpoints", "api_keys", "configs", "record_errors"}
# The answer is at fault as a whole only if it has nothing that is: these say the error once.
_INNER_FIRST: Final = {ApiKey.FETCH, ApiKey.METADATA}
# With these it depends on the error: what is wrong with a session is said of the whole.
_SHARES: Final = {ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE}
_OF_PARTITIONS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
}


def refusal(request: Message, version: int, error: ErrorCode) -> Message:
    """The answer to `request` that says `error` of all of it."""
    key = ApiKey(request.API_KEY)
    root = API_TABLE[key].response
    answer = root()
    inner = _fill(root, answer, request, version, error)
    if inner and (key in _INNER_FIRST or _is_of_partitions(request, error)):
        answer.error_code = ErrorCode.NONE  # type: ignore[attr-defined]
    return answer


def _is_of_partitions(request: Message, error: ErrorCode) -> bool:
    """Whether a share session goes on, and only partitions are refused. One that was to begin has
    not: whoever is told of partitions only would go on in it.
    """
    opens = getattr(request, "share_session_epoch", None) == INITIAL_EPOCH
    return request.API_KEY in _SHARES and error in _OF_PARTITIONS and not opens


def _fill(
    root: type[Message], answer: Struct, asked: object, version: int, error: ErrorCode
) -> bool:
    """Make one level of the answer say what was asked for and the error; whether a level below
    does.
    """
    inner = False
    known = meanings(asked)
    for name, kind, first, last, nullable_from, nullable_to, *_ in answer.FIELDS:
        if not first <= version <= last:
            continue
        value = known.get(_MEANING.get(name))
        if name in ERRORS:
            setattr(answer, name, error)
        elif value is not None or (name in _MEANING and nullable_from <= version <= nullable_to):
            setattr(answer, name, value)
        elif name == "error_message" and nullable_from <= version <= nullable_to:
            setattr(answer, name, None)  # the code says it all
        elif kind.startswith("[]") and hasattr(root, kind[2:]) and name not in _OTHER:
            parts = []
            for one in _listed(asked, version):
                part = getattr(root, kind[2:])()
                _fill(root, part, one, version, error)
                parts.append(part)
            setattr(answer, name, parts)
            inner = inner or bool(parts)
    return inner


def meanings(asked: object) -> dict[str | None, object]:
    """What a level of a request, or of an answer, is about: "name", "number", "id" and so on."""
    if isinstance(asked, str):
        return {"name": asked}
    if isinstance(asked, int):
        return {"number": asked}
    assert isinstance(asked, Struct)
    return {_MEANING[row[0]]: getattr(asked, row[0]) for row in asked.FIELDS if row[0] in _MEANING}


def list_of(asked: object, version: int) -> str | None:
    """Where a level of the request has what it asks for; None: it has nothing below it."""
    if isinstance(asked, Struct):
        for name, _, first, last, *_ in asked.FIELDS:
            if name in _ASKED and first <= version <= last:
                return name
    return None


def _listed(asked: object, version: int) -> list[object]:
    """What a level of the request asks for."""
    if not isinstance(asked, Struct):
        return []
    found = list_of(asked, version)
    if found is not None:
        return list(getattr(asked, found) or ())
    together: dict[str, object] = {}
    for name, *_ in asked.FIELDS:
        if name in _TOGETHER:
            together.update((one.name, one) for one in getattr(asked, name))
    return list(together.values())
