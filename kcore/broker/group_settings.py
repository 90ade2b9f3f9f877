"""Options of groups (resource type GROUP): what can be set for one share group.

    a group's own > the node's file (`group.share.*`) > Kafka's default

Left out: those of consumer and streams groups, and `share.assignment.interval.ms`, as assignments
are made at once here. Source of the rules: Java's GroupConfig of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from kcore.broker.batches import RefusedError
from kcore.broker.options import Kind
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.share.options import (
    BY_DURATION,
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ShareOptions,
    duration_ms,
)
from kcore.limits import MAX_INT32
from kcore.wire.codes import ErrorCode

_PREFIX: Final = "share."


class GroupOption(NamedTuple):
    """One option: the field of `ShareOptions` it sets, its kind and the least it can be.

    bounded: whether nodes have a default and bounds for it.
    """

    field: str
    kind: Kind
    lowest: int = 1
    bounded: bool = True


OPTIONS: Final[Mapping[str, GroupOption]] = {
    "share.session.timeout.ms": GroupOption("session_timeout_ms", Kind.INT),
    "share.heartbeat.interval.ms": GroupOption("heartbeat_interval_ms", Kind.INT),
    "share.record.lock.duration.ms": GroupOption("record_lock_duration_ms", Kind.INT, 1_000),
    "share.delivery.count.limit": GroupOption("delivery_count_limit", Kind.INT, 2),
    "share.partition.max.record.locks": GroupOption("partition_max_record_locks", Kind.INT, 100),
    "share.auto.offset.reset": GroupOption("auto_offset_reset", Kind.STRING, bounded=False),
    "share.isolation.level": GroupOption("isolation_level", Kind.STRING, bounded=False),
    "share.renew.acknowledge.enable": GroupOption(
        "renew_acknowledge_enable", Kind.BOOLEAN, bounded=False
    ),
}
KINDS: Final = dict.fromkeys(OPTIONS, "")


def share_options(own: Mapping[str, str], config: CoordinatorConfig) -> ShareOptions:
    """What a group has of which these are set; they have been checked."""
    fields: dict[str, Any] = {
        OPTIONS[name].field: _read(name, text) for name, text in own.items() if name in OPTIONS
    }
    return replace(config.share_options, **fields)


def check(own: Mapping[str, str], config: CoordinatorConfig) -> None:
    """RefusedError (INVALID_CONFIG) if these cannot be a group's options."""
    for name, text in own.items():
        if name not in OPTIONS:
            raise _refused(f"Unknown group config name: {name[:1_000]}")
        value = _read(name, text)
        if OPTIONS[name].bounded:
            _check_bounds(name, value, config)
    options = share_options(own, config)
    if options.session_timeout_ms <= options.heartbeat_interval_ms:
        raise _refused("share.session.timeout.ms must be greater than share.heartbeat.interval.ms")


def synonym(name: str) -> str | None:
    """What nodes call their default for an option; None if they have none."""
    return f"group.{name}" if OPTIONS[name].bounded else None


def shown(value: object) -> str:
    """A value as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_bounds(name: str, value: Any, config: CoordinatorConfig) -> None:
    lowest, highest = config.share_bounds[OPTIONS[name].field]
    rest = name.removeprefix(_PREFIX)
    if value < lowest:
        raise _refused(f"{name} must be greater than or equal to group.share.min.{rest}")
    if value > highest:
        raise _refused(f"{name} must be less than or equal to group.share.max.{rest}")


def _read(name: str, text: str) -> Any:
    option, text = OPTIONS[name], text.strip()
    if option.kind is Kind.INT:
        return _read_int(name, text, option.lowest)
    if option.kind is Kind.BOOLEAN:
        if text.lower() not in {"true", "false"}:
            raise _invalid(name, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if option.field == "isolation_level":
        if text not in {READ_COMMITTED, READ_UNCOMMITTED}:
            raise _invalid(name, text, "String must be one of: read_committed, read_uncommitted")
        return text
    return _read_reset(name, text)


def _read_int(name: str, text: str, lowest: int) -> int:
    try:
        value = int(text) if text.isascii() and len(text) <= 20 and "_" not in text else None
    except ValueError:
        value = None
    if value is None or not -MAX_INT32 - 1 <= value <= MAX_INT32:
        raise _invalid(name, text, "Not a number of type INT")
    if value < lowest:
        raise _invalid(name, text, f"Value must be at least {lowest}")
    return value


def _read_reset(name: str, text: str) -> str:
    if text.lower() in {LATEST, EARLIEST}:
        return text.lower()
    try:
        if not text.lower().startswith(BY_DURATION):
            raise ValueError(text)
        duration_ms(text.lower())
    except ValueError:
        raise _invalid(
            name,
            text,
            f"Invalid value `{text[:1_000]}` for configuration {name}. The value must be either"
            " 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        ) from None
    return text.lower()


def _invalid(name: str, text: str, why: str) -> RefusedError:
    return _refused(f"Invalid value {text[:1_000]} for configuration {name}: {why}")


def _refused(why: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_CONFIG, why)
