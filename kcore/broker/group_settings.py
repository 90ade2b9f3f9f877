"""Options of groups (resource type GROUP): what can be set for one group, but for classic ones.

    a group's own > the node's file (`group.consumer.*` and the like) > Kafka's default

Source of the rules: Java's GroupConfig of Kafka 4.3 and 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kcore.broker.batches import RefusedError
from kcore.broker.options import (
    Kind,
    Option,
    checked_value,
    invalid,
    parts,
    read_value,
    shown,
)
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.consumer.options import BOUNDED as CONSUMER_BOUNDED
from kcore.coordinator.consumer.options import ConsumerOptions
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
from kcore.coordinator.streams.options import DEFAULTED, DEFAULTED_44, StreamsOptions
from kcore.wire.codes import ErrorCode

_CONSUMER: Final = "consumer."
_SHARE: Final = "share."
_STREAMS: Final = "streams."
_RESET: Final = "share.auto.offset.reset"
_ERRORS: Final = "errors."
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_STANDBYS: Final = "streams.num.standby.replicas"
_WARMUPS: Final = "streams.num.warmup.replicas"
_OFFSETS: Final = "streams.task.offset.interval.ms"
_TAGS: Final = "streams.rack.aware.assignment.tags"
_ASSIGNOR: Final = "streams.assignor.name"
_OFFLOAD: Final = "assignor_offload_enable"

_KAFKAS: Final = {
    _CONSUMER: ConsumerOptions(), _SHARE: ShareOptions(), _STREAMS: StreamsOptions(),
}  # fmt: skip
# The fields that brokers have a default for.
_WITH_SYNONYM: Final = {
    _CONSUMER: (*CONSUMER_BOUNDED, _OFFLOAD),
    _SHARE: (*BOUNDED, _OFFLOAD),
    _STREAMS: (*DEFAULTED, *DEFAULTED_44),
}
_SYNONYMS: Final = {_ASSIGNOR: "group.streams.assignors"}


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """What a group has, whatever kind of group it is."""

    consumer: ConsumerOptions
    share: ShareOptions
    streams: StreamsOptions


def _split(name: str) -> tuple[str, str]:
    """The kind of group that an option is of, and the field of its options that it sets."""
    if name.startswith(_ERRORS):
        return _SHARE, name.replace(".", "_")
    prefix = name[: name.find(".") + 1]
    return prefix, name.removeprefix(prefix).replace(".", "_")


def file_value(name: str, config: CoordinatorConfig) -> Any:
    """What nodes say of an option."""
    if name == _ASSIGNOR:
        return config.group_streams_assignors
    prefix, field = _split(name)
    return getattr(_of_nodes(config)[prefix], field)


def _of_nodes(config: CoordinatorConfig) -> dict[str, Any]:
    return {
        _CONSUMER: config.consumer_options,
        _SHARE: config.share_options,
        _STREAMS: config.streams_options,
    }


def _wrong_tags(name: str, text: str) -> str | None:
    tags = parts(text) if text.strip() else []
    if len(set(tags)) < len(tags):
        return f"{name} must not contain duplicate tag keys."
    return f"Configuration '{name}' values must not be empty." if "" in tags else None


def _option(name: str, kind: Kind, lowest: int | None = None, **more: Any) -> tuple[str, Option]:
    prefix, field = _split(name)
    synonym = f"group.{name}" if field in _WITH_SYNONYM[prefix] else _SYNONYMS.get(name)
    default = shown(getattr(_KAFKAS[prefix], field))
    return name, Option(kind, default, synonym, lowest, **more)


# Known since Kafka 4.4.
_OF_44: Final[Mapping[str, Option]] = dict(
    (
        *(
            _option(f"{prefix}assignor.offload.enable", Kind.BOOLEAN, hidden=True)
            for prefix in (_CONSUMER, _SHARE, _STREAMS)
        ),
        _option(_DEAD_LETTERS, Kind.STRING),
        _option("errors.deadletterqueue.copy.record.enable", Kind.BOOLEAN),
        _option(_ASSIGNOR, Kind.STRING),
        _option(_TAGS, Kind.LIST, check=_wrong_tags),
        _option(_OFFSETS, Kind.INT, 1, hidden=True),
        _option(_WARMUPS, Kind.INT, 0, hidden=True),
        _option("streams.acceptable.recovery.lag", Kind.LONG, 0, hidden=True),
    )
)


_OF_ALL: Final[Mapping[str, Option]] = dict(
    (
        _option("consumer.session.timeout.ms", Kind.INT, 1),
        _option("consumer.heartbeat.interval.ms", Kind.INT, 1),
        _option("consumer.assignment.interval.ms", Kind.INT, 0),
        _option("share.session.timeout.ms", Kind.INT, 1),
        _option("share.heartbeat.interval.ms", Kind.INT, 1),
        _option("share.assignment.interval.ms", Kind.INT, 0),
        _option("share.record.lock.duration.ms", Kind.INT, 1_000),
        _option("share.delivery.count.limit", Kind.INT, 2),
        _option("share.partition.max.record.locks", Kind.INT, 100),
        _option(_RESET, Kind.STRING),
        _option("share.isolation.level", Kind.STRING, choices=(READ_COMMITTED, READ_UNCOMMITTED)),
        _option("share.renew.acknowledge.enable", Kind.BOOLEAN),
        _option("streams.session.timeout.ms", Kind.INT, 1),
        _option("streams.heartbeat.interval.ms", Kind.INT, 1),
        _option(_STANDBYS, Kind.INT, 0),
        _option("streams.initial.rebalance.delay.ms", Kind.INT, 0),
        _option("streams.assignment.interval.ms", Kind.INT, 0),
    )
)
_OPTIONS: Final[Mapping[str, Option]] = {**_OF_ALL, **_OF_44}


def known_to(config: CoordinatorConfig) -> Mapping[str, Option]:
    """The options that nodes of this release know."""
    return _OPTIONS if config.as_44 else _OF_ALL


def read(own: Mapping[str, str], config: CoordinatorConfig) -> GroupOptions:
    """What a group has of which these are set; they have been checked."""
    return GroupOptions(
        replace(config.consumer_options, **_fields(_CONSUMER, own)),
        replace(config.share_options, **_fields(_SHARE, own)),
        replace(config.streams_options, **_fields(_STREAMS, own)),
    )


def _fields(prefix: str, own: Mapping[str, str]) -> dict[str, Any]:
    return {
        _split(name)[1]: _read(name, text)
        for name, text in own.items()
        if name in _OPTIONS and _split(name)[0] == prefix
    }


def check(own: Mapping[str, str], config: CoordinatorConfig) -> None:
    """RefusedError (INVALID_CONFIG) if these cannot be a group's options."""
    for name, text in own.items():
        if name not in known_to(config):
            raise _refused(f"Unknown group config name: {name[:1_000]}")
        value = _read(name, text)
        checked_value(name, _OPTIONS[name], text)
        out = (_out_of_range if config.as_44 else out_of_bounds)(name, value, config)
        if out is not None:
            raise _refused(out)
    options = read(own, config)
    for prefix, of_kind in (
        (_CONSUMER, options.consumer),
        (_SHARE, options.share),
        (_STREAMS, options.streams),
    ):
        if of_kind.session_timeout_ms <= of_kind.heartbeat_interval_ms:
            raise _refused(
                f"{prefix}session.timeout.ms must be greater than {prefix}heartbeat.interval.ms"
            )
    if options.share.errors_deadletterqueue_topic_name.startswith("__"):
        raise _refused(f"{_DEAD_LETTERS}: DLQ topic name must not start with '__'")


def _bounds(name: str, config: CoordinatorConfig) -> tuple[Any, Any] | None:
    """What nodes let an option be at least and at most; None if they do not care."""
    prefix, field = _split(name)
    return {
        _CONSUMER: config.consumer_bounds,
        _SHARE: config.share_bounds,
        _STREAMS: config.streams_bounds,
    }[prefix].get(field)


def _out_of_range(name: str, value: Any, config: CoordinatorConfig) -> str | None:
    """Why nodes do not let a group's option be that, in the words of Kafka 4.4."""
    most = {
        _STANDBYS: config.group_streams_max_standby_replicas,
        _WARMUPS: config.group_streams_max_warmup_replicas,
    }.get(name)
    if most is not None and value > most:
        return f"{name} must be less than or equal to {most}"
    least = config.group_streams_min_task_offset_interval_ms
    if name == _OFFSETS and value < least:
        return f"{name} must be greater than or equal to {least}"
    assignors = config.group_streams_assignors
    if name == _ASSIGNOR and value not in assignors:
        return (
            f"{name} '{value[:1_000]}' is not a registered task assignor. Registered assignors are:"
            f" [{', '.join(assignors)}]."
        )
    lowest, highest = _bounds(name, config) or (value, value)
    if not lowest <= value <= highest:
        return f"{name} must be in the range {lowest} to {highest} inclusive."
    return None


def out_of_bounds(name: str, value: Any, config: CoordinatorConfig) -> str | None:
    """Why nodes do not let an option be that; None if they do. Of groups so until Kafka 4.3."""
    if name == _STANDBYS and value > config.group_streams_max_standby_replicas:
        return f"{name} must be less than or equal to group.streams.max.standby.replicas"
    prefix, _ = _split(name)
    lowest, highest = _bounds(name, config) or (value, value)
    rest = name.removeprefix(prefix)
    if value < lowest:
        return f"{name} must be greater than or equal to group.{prefix}min.{rest}"
    if value > highest:
        return f"{name} must be less than or equal to group.{prefix}max.{rest}"
    return None


def _read(name: str, text: str) -> Any:
    value = read_value(name, _OPTIONS[name], text)
    return _read_reset(name, str(value)) if name == _RESET else value


def normal(name: str, text: str) -> str:
    """A text that has been checked, as it is understood; as it was given, where it is hidden."""
    return text if _OPTIONS[name].hidden else shown(_read(name, text))


def _read_reset(name: str, reset: str) -> str:
    if reset in {LATEST, EARLIEST}:
        return reset
    try:
        if not reset.startswith(BY_DURATION):
            raise ValueError(reset)
        duration_ms(reset)
    except ValueError:
        raise invalid(
            name,
            reset,
            f"Invalid value `{reset[:1_000]}` for configuration {name}. The value must be either"
            " 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        ) from None
    return reset


def _refused(why: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_CONFIG, why)
