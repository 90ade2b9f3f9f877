"""Options of groups (resource type GROUP): what can be set for one share group.

    a group's own > the node's file (`group.share.*`) > Kafka's default

Left out: those of consumer and streams groups, and `share.assignment.interval.ms`, as assignments
are made at once here. Source of the rules: Java's GroupConfig of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kcore.broker.batches import RefusedError
from kcore.broker.options import Kind, Option, invalid, read_value, shown
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.share.options import (
    BOUNDED,
    BY_DURATION,
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ShareOptions,
    duration_ms,
)
from kcore.wire.codes import ErrorCode

_PREFIX: Final = "share."
_RESET: Final = "share.auto.offset.reset"

_KAFKAS: Final = ShareOptions()


def field_of(name: str) -> str:
    """The field of `ShareOptions` that an option sets."""
    return name.removeprefix(_PREFIX).replace(".", "_")


def _option(
    name: str, kind: Kind, lowest: int | None = None, choices: tuple[str, ...] = ()
) -> tuple[str, Option]:
    field = field_of(name)
    synonym = f"group.{name}" if field in BOUNDED else None
    default = shown(getattr(_KAFKAS, field))
    return name, Option(kind, default, synonym, lowest, choices=choices)


OPTIONS: Final[Mapping[str, Option]] = dict(
    (
        _option("share.session.timeout.ms", Kind.INT, 1),
        _option("share.heartbeat.interval.ms", Kind.INT, 1),
        _option("share.record.lock.duration.ms", Kind.INT, 1_000),
        _option("share.delivery.count.limit", Kind.INT, 2),
        _option("share.partition.max.record.locks", Kind.INT, 100),
        _option(_RESET, Kind.STRING),
        _option("share.isolation.level", Kind.STRING, choices=(READ_COMMITTED, READ_UNCOMMITTED)),
        _option("share.renew.acknowledge.enable", Kind.BOOLEAN),
    )
)
# None of them is a list: there is nothing to append to.
KINDS: Final = dict.fromkeys(OPTIONS, "")


def share_options(own: Mapping[str, str], config: CoordinatorConfig) -> ShareOptions:
    """What a group has of which these are set; they have been checked."""
    fields: dict[str, Any] = {
        field_of(name): _read(name, text) for name, text in own.items() if name in OPTIONS
    }
    return replace(config.share_options, **fields)


def check(own: Mapping[str, str], config: CoordinatorConfig) -> None:
    """RefusedError (INVALID_CONFIG) if these cannot be a group's options."""
    for name, text in own.items():
        if name not in OPTIONS:
            raise _refused(f"Unknown group config name: {name[:1_000]}")
        value = _read(name, text)
        if OPTIONS[name].synonym is not None:
            _check_bounds(name, value, config)
    options = share_options(own, config)
    if options.session_timeout_ms <= options.heartbeat_interval_ms:
        raise _refused("share.session.timeout.ms must be greater than share.heartbeat.interval.ms")


def _check_bounds(name: str, value: Any, config: CoordinatorConfig) -> None:
    lowest, highest = config.share_bounds[field_of(name)]
    rest = name.removeprefix(_PREFIX)
    if value < lowest:
        raise _refused(f"{name} must be greater than or equal to group.share.min.{rest}")
    if value > highest:
        raise _refused(f"{name} must be less than or equal to group.share.max.{rest}")


def _read(name: str, text: str) -> Any:
    value = read_value(name, OPTIONS[name], text)
    return _read_reset(name, text) if name == _RESET else value


def _read_reset(name: str, text: str) -> str:
    reset = text.lower()
    if reset in {LATEST, EARLIEST}:
        return reset
    try:
        if not reset.startswith(BY_DURATION):
            raise ValueError(text)
        duration_ms(reset)
    except ValueError:
        raise invalid(
            name,
            text,
            f"Invalid value `{text[:1_000]}` for configuration {name}. The value must be either"
            " 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        ) from None
    return reset


def _refused(why: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_CONFIG, why)
