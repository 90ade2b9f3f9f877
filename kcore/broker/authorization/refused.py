"""Answers to who may not: the shape of any refusal (`refusals.py`), Kafka's words, and what is in
fields that have nothing to say.
"""

from __future__ import annotations

from typing import Any, Final

from kcore.broker.refusals import refusal
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message, Struct

_ALL: Final = 99

# Java: Errors.
TEXTS: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}

# Answers that say it in words, too; up to which version.
_TOLD: Final = {
    ApiKey.FIND_COORDINATOR: 3,
    **dict.fromkeys(
        (
            ApiKey.CREATE_TOPICS,
            ApiKey.DESCRIBE_CONFIGS,
            ApiKey.ALTER_CONFIGS,
            ApiKey.ALTER_CLIENT_QUOTAS,
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            ApiKey.ELECT_LEADERS,
            ApiKey.UPDATE_FEATURES,
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            ApiKey.LIST_PARTITION_REASSIGNMENTS,
            ApiKey.DESCRIBE_PRODUCERS,
            ApiKey.DESCRIBE_QUORUM,
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
            ApiKey.ALTER_SHARE_GROUP_OFFSETS,
            ApiKey.DELETE_SHARE_GROUP_OFFSETS,
            ApiKey.DESCRIBE_ACLS,
            ApiKey.CREATE_ACLS,
            ApiKey.DELETE_ACLS,
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
            ApiKey.UNREGISTER_CONTROLLER,
        ),
        _ALL,
    ),
}

# Where Kafka's answers differ from what their schemas have by default: since which version.
_NOTHING: Final[dict[ApiKey, dict[str, tuple[Any, int]]]] = {
    ApiKey.PRODUCE: {"base_offset": (-1, 0)},
    ApiKey.FIND_COORDINATOR: {"node_id": (-1, 0), "port": (-1, 0), "error_message": ("", 4)},
    ApiKey.OFFSET_FETCH: {"committed_offset": (-1, 0), "metadata": ("", 0)},
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {"start_offset": (-1, 0)},
    ApiKey.DELETE_RECORDS: {"low_watermark": (-1, 0)},
    ApiKey.JOIN_GROUP: {"member_id": ("", 0), "protocol_name": (None, 7)},
    ApiKey.INIT_PRODUCER_ID: {"producer_id": (-1, 0), "producer_epoch": (-1, 0)},
    ApiKey.END_TXN: {"producer_id": (-1, 0), "producer_epoch": (-1, 0)},
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {"user": ("", 0)},
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {"entries": (None, 0)},
}


def refused_answer(
    request: Message, version: int, error: ErrorCode, *, once: bool = False, bare: bool = False
) -> Message:
    """The answer to a request that is refused as a whole. once: it has the error, and no more.
    bare: what it is about has it, and no more.
    """
    key = ApiKey(request.API_KEY)
    if once:
        answer = API_TABLE[key].response()
        answer.error_code = error  # type: ignore[attr-defined]
    else:
        answer = refusal(request, version, error)
    nothing = {
        name: value for name, (value, since) in _NOTHING.get(key, {}).items() if version >= since
    }
    text = TEXTS.get(error) if not bare and version <= _TOLD.get(key, -1) else None
    _complete(answer, version, nothing, text, bare=bare)
    return answer


def _complete(
    one: Struct, version: int, nothing: dict[str, Any], text: str | None, *, bare: bool
) -> None:
    for name, _, first, last, *_ in one.FIELDS:
        value = getattr(one, name)
        if not first <= version <= last:
            continue
        if name in nothing:
            setattr(one, name, nothing[name])
        elif isinstance(value, list):
            if bare and not isinstance(one, Message):
                value.clear()
            for inner in value:
                if isinstance(inner, Struct):
                    _complete(inner, version, nothing, text, bare=bare)
        elif name == "error_message":
            setattr(one, name, text)
