"""How answers are told: as kafka-python's dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from kcore.admin.asking import Outcome
from kcore.errors import (
    BrokerResponseError,
    KafkaError,
    KafkaTimeoutError,
    NoError,
    RequestTimedOutError,
)
from kcore.wire.message import ZERO_UUID, Struct

# By their bits, from the fourth (org.apache.kafka.common.acl.AclOperation; below are ANY and ALL).
_OPERATIONS: Final = (
    *("READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
    *("DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS"),
    *("DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"),
)
_NOT_TOLD: Final = -2_147_483_648  # of authorized operations: nobody asked, or nobody decides


def row_of(struct: Struct, *without: str) -> dict[str, Any]:
    """The fields of a part of a message, parts of it too; topic ids as text, or None."""
    row: dict[str, Any] = {}
    for known in struct.FIELDS:
        name = known[0]
        if name in without:
            continue
        value = getattr(struct, name)
        if known[1] == "uuid":
            value = id_of(value)
        elif isinstance(value, list):
            value = [row_of(one) if isinstance(one, Struct) else one for one in value]
        elif isinstance(value, Struct):
            value = row_of(value)
        row[name] = value
    return row


def id_of(raw: bytes) -> str | None:
    """A topic id as text; None if there is none."""
    return None if bytes(raw) == ZERO_UUID else str(UUID(bytes=bytes(raw)))


def operations_of(bits: int) -> list[str] | None:
    """What this principal may do, in Kafka's words; None if it was not told."""
    if bits == _NOT_TOLD:
        return None
    return [name for bit, name in enumerate(_OPERATIONS, 3) if bits & (1 << bit)]


def epochs_row(
    group: Any, kind: str, assignor: str, members: list[dict[str, Any]]
) -> dict[str, Any]:
    """A group of one of the protocols with epochs."""
    return {
        "error": None,
        "group_id": group.group_id,
        "group_state": group.group_state,
        "group_type": kind,
        "protocol_type": kind,
        "protocol_data": assignor,
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "members": members,
        "authorized_operations": operations_of(group.authorized_operations),
    }


def code_of(error: KafkaError) -> int:
    """The error code of a broker; of what was found on this side that of the nearest error."""
    if isinstance(error, BrokerResponseError):
        return error.errno
    return RequestTimedOutError.errno if isinstance(error, KafkaTimeoutError) else -1


def verdict(error: KafkaError | None) -> type[KafkaError]:
    """The class of what went wrong, or NoError."""
    return NoError if error is None else type(error)


def verdicts(outcome: Outcome, parts: Iterable[Any], *, raise_errors: bool) -> dict[Any, Any]:
    """{part: the class of what went wrong with it, or NoError}. Raises what no broker has said."""
    outcome.check(raise_errors=raise_errors)
    return {part: verdict(outcome.failed.get(part)) for part in parts}
