"""What a topic's logs can be told, under Kafka's names (Java: LogConfig, TopicConfig, ConfigDef).

Every option of Kafka 4.4 is known, checked and shown; those with a field in `LogConfig` act.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Final

from kcore.bounds import check_kinds
from kcore.broker.batches import RefusedError
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT16, MAX_INT32
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

UNLIMITED: Final = -1
INT64_MAX: Final = 0x7FFFFFFFFFFFFFFF
_INT64_MIN: Final = -INT64_MAX - 1
_LARGEST: Final = MAX_INT32 - 8  # of what Java can have in one piece

Value = int | float | bool | str | tuple[str, ...]


@dataclass(slots=True)
class LogConfig:
    """Options of a topic's logs; -1: no limit. Sizes in bytes, times in ms."""

    retention_ms: int = 604_800_000
    retention_bytes: int = UNLIMITED
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    max_message_bytes: int = 1_048_588
    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = INT64_MAX
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    max_decompressed_message_bytes: int = _LARGEST
    errors_deadletterqueue_group_enable: bool = False

    @property
    def compact(self) -> bool:
        """Whether only the latest record of each key stays."""
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        """Whether old records go."""
        return "delete" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """The age at which a segment is closed."""
        if self.compact:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @property
    def codec(self) -> tuple[str, int | None]:
        """The codec that batches are kept in, and its level; not with "producer"."""
        if self.compression_type == "uncompressed":
            return "none", None
        level = getattr(self, f"compression_{self.compression_type}_level", None)
        return self.compression_type, None if level == -1 else level

    @property
    def log_append_time(self) -> bool:
        """Whether records get the time at which they are kept."""
        return self.message_timestamp_type == "LogAppendTime"


class Kind(IntEnum):
    """Java: ConfigType, as DescribeConfigs has it."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Option(NamedTuple):
    """One option: its kind and bounds; `default` as text.

    synonym: what brokers call their default for it, None if they have none. choices: what it, or
    each of a list, may be. hidden: not described, as Kafka's internal ones are not. check: what is
    wrong with a text else, None if nothing is.
    """

    kind: Kind
    default: str
    synonym: str | None = None
    lowest: float | None = None
    highest: float | None = None
    choices: tuple[str, ...] = ()
    hidden: bool = False
    check: Callable[[str, str], str | None] | None = None


# What Java's trim takes off, and what it may have beside a comma: no spaces of other scripts, which
# Python's strip takes off.
BLANKS: Final = "".join(map(chr, range(33)))
_BESIDE_COMMAS: Final = " \t\n\v\f\r"


def parts(text: str) -> list[str]:
    """Of a list, as Java tells them apart (ConfigDef)."""
    return [part.strip(_BESIDE_COMMAS) for part in text.strip(BLANKS).split(",")]


def _long(default: int, synonym: str | None, lowest: int | None = 0) -> Option:
    return Option(Kind.LONG, str(default), synonym, lowest)


def _int(
    default: int, synonym: str | None, lowest: int | None = 0, highest: int | None = None
) -> Option:
    return Option(Kind.INT, str(default), synonym, lowest, highest)


def _flag(synonym: str | None = None) -> Option:
    return Option(Kind.BOOLEAN, "false", synonym)


def _wrong_policy(name: str, text: str) -> str | None:
    """A list may be empty, which is forever, but none of its parts (KIP-1161)."""
    if not text.strip(BLANKS) or all(parts(text)):
        return None
    return f"Configuration '{name}' values must not be empty."


_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")


def _wrong_throttled(name: str, text: str) -> str | None:
    replicas = parts(text)
    if replicas == ["*"] or all(map(_REPLICA.fullmatch, replicas)):
        return None
    return (
        f"Invalid value [{', '.join(replicas)[:1_000]}] for configuration {name}: {name} must be"
        " the literal '*' or a list of replicas in the following format:"
        " [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )


def _wrong_gzip_level(name: str, text: str) -> str | None:
    if _number(name, Kind.INT, text) != 0:
        return None
    why = "Value must be between 1 and 9 or equal to -1"
    return f"Invalid value 0 for configuration {name}: {why}"


def _wrong_tiers(_name: str, text: str) -> str | None:
    """There are none, as in a Kafka that is told nothing of them."""
    if text.strip(BLANKS).lower() != "true":
        return None
    return (
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with"
        " remote log storage."
    )


_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_TIMES: Final = ("CreateTime", "LogAppendTime")
_POLICIES: Final = ("compact", "delete")

OPTIONS: Final[Mapping[str, Option]] = {
    "cleanup.policy": Option(
        Kind.LIST, "delete", "log.cleanup.policy", choices=_POLICIES, check=_wrong_policy
    ),
    "compression.gzip.level": Option(
        Kind.INT, "-1", "compression.gzip.level", -1, 9, check=_wrong_gzip_level
    ),
    "compression.lz4.level": _int(9, "compression.lz4.level", 1, 17),
    "compression.type": Option(Kind.STRING, "producer", "compression.type", choices=_CODECS),
    "compression.zstd.level": _int(3, "compression.zstd.level", -131_072, 22),
    "delete.retention.ms": _long(86_400_000, "log.cleaner.delete.retention.ms"),
    "errors.deadletterqueue.group.enable": _flag(),
    "file.delete.delay.ms": _long(60_000, "log.segment.delete.delay.ms"),
    "flush.messages": _long(INT64_MAX, "log.flush.interval.messages", 1),
    "flush.ms": _long(INT64_MAX, "log.flush.interval.ms"),
    "follower.replication.throttled.replicas": Option(Kind.LIST, "", check=_wrong_throttled),
    "index.interval.bytes": _int(4_096, "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": Option(Kind.LIST, "", check=_wrong_throttled),
    "local.retention.bytes": _long(-2, "log.local.retention.bytes", -2),
    "local.retention.ms": _long(-2, "log.local.retention.ms", -2),
    "max.compaction.lag.ms": _long(INT64_MAX, "log.cleaner.max.compaction.lag.ms", 1),
    "max.decompressed.message.bytes": _int(
        _LARGEST, "max.decompressed.message.bytes", 1, _LARGEST
    ),
    "max.message.bytes": _int(1_048_588, "message.max.bytes"),
    "message.timestamp.after.max.ms": _long(3_600_000, "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": _long(INT64_MAX, "log.message.timestamp.before.max.ms"),
    "message.timestamp.type": Option(
        Kind.STRING, "CreateTime", "log.message.timestamp.type", choices=_TIMES
    ),
    "min.cleanable.dirty.ratio": Option(
        Kind.DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio", 0, 1
    ),
    "min.compaction.lag.ms": _long(0, "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": _int(1, "min.insync.replicas", 1),
    "preallocate": _flag("log.preallocate"),
    "remote.copy.lag.bytes": _long(-1, "log.remote.copy.lag.bytes", -1),
    "remote.copy.lag.ms": _long(0, "log.remote.copy.lag.ms", -1),
    "remote.log.copy.disable": _flag(),
    "remote.log.delete.on.disable": _flag(),
    "remote.storage.enable": Option(Kind.BOOLEAN, "false", check=_wrong_tiers),
    "retention.bytes": _long(UNLIMITED, "log.retention.bytes", None),
    "retention.ms": _long(604_800_000, "log.retention.ms", -1),
    "segment.bytes": _int(1_073_741_824, "log.segment.bytes", 1_048_576),
    "segment.index.bytes": _int(10_485_760, "log.index.size.max.bytes", 4),
    "segment.jitter.ms": _long(0, "log.roll.jitter.ms"),
    "segment.ms": _long(604_800_000, "log.roll.ms", 1),
    "unclean.leader.election.enable": _flag("unclean.leader.election.enable"),
    # For tests: segments smaller than `segment.bytes` allows for.
    "internal.segment.bytes": Option(Kind.INT, "", lowest=1, hidden=True),
}

SYNONYMS: Final = {option.synonym: name for name, option in OPTIONS.items() if option.synonym}

_ACTING: Final = {field.name for field in fields(LogConfig)}
# Digits of any script, as in Java; Python's int() takes more than that: underscores, blanks.
_NUMBER: Final = re.compile(r"[-+]?\d{1,19}")
_REAL: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[dDfF]?")
_RANGES: Final = {
    Kind.SHORT: (-MAX_INT16 - 1, MAX_INT16),
    Kind.INT: (-MAX_INT32 - 1, MAX_INT32),
    Kind.LONG: (_INT64_MIN, INT64_MAX),
}


def read_value(name: str, option: Option, text: str) -> Value:
    """The value that a text means; RefusedError (INVALID_CONFIG) in Kafka's words if none."""
    value: Value
    if option.kind in _RANGES:
        value = _number(name, option.kind, text)
    elif option.kind is Kind.DOUBLE:
        if not _REAL.fullmatch(text.strip(BLANKS)):
            raise invalid(name, text, "Not a number of type DOUBLE")
        value = float(text.strip(BLANKS).rstrip("dDfF"))
    elif option.kind is Kind.BOOLEAN:
        lowered = text.strip(BLANKS).lower()
        if lowered not in {"true", "false"}:
            raise invalid(name, text, "Expected value to be either true or false")
        return lowered == "true"
    elif option.kind is Kind.LIST:
        value = tuple(dict.fromkeys(filter(None, parts(text))))
        for part in value:
            _check_choice(name, part, option)
        return value
    else:
        text = text.strip(BLANKS)
        _check_choice(name, text, option)
        return text
    if option.lowest is not None and not value >= option.lowest:
        raise invalid(name, text, f"Value must be at least {option.lowest}")
    if option.highest is not None and not value <= option.highest:
        raise invalid(name, text, f"Value must be no more than {option.highest}")
    return value


def checked_value(name: str, option: Option, text: str) -> Value:
    """As `read_value`, of what somebody sets; what was set before this was looked at stays."""
    value = read_value(name, option, text)
    wrong = option.check and option.check(name, text)
    if wrong:
        raise RefusedError(ErrorCode.INVALID_CONFIG, wrong)
    return value


def _number(name: str, kind: Kind, text: str) -> int:
    lowest, highest = _RANGES[kind]
    stripped = text.strip(BLANKS)
    if _NUMBER.fullmatch(stripped):
        value = int(stripped)
        if lowest <= value <= highest:
            return value
    raise invalid(name, text, f"Not a number of type {kind.name}")


def _check_choice(name: str, text: str, option: Option) -> None:
    if option.choices and text not in option.choices:
        raise invalid(name, text, f"String must be one of: {', '.join(option.choices)}")


def invalid(name: str, text: str, why: str) -> RefusedError:
    """INVALID_CONFIG for one option, in Kafka's words."""
    return RefusedError(
        ErrorCode.INVALID_CONFIG, f"Invalid value {text[:1_000]} for configuration {name}: {why}"
    )


def shown(value: Value) -> str:
    """A value as Kafka writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def shown_default(name: str, defaults: LogConfig) -> str:
    """What an option is, as text, if nobody sets it."""
    field = _field(name)
    return shown(getattr(defaults, field)) if field in _ACTING else OPTIONS[name].default


def _field(name: str) -> str:
    return name.replace(".", "_")


def check_topic_settings(settings: Mapping[str, str]) -> None:
    """RefusedError (INVALID_CONFIG) for what is not known, or cannot be."""
    values = {}
    for name, text in settings.items():
        if name not in OPTIONS:
            raise RefusedError(
                ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name[:1_000]}"
            )
        values[name] = checked_value(name, OPTIONS[name], text)
    least, most = values.get("min.compaction.lag.ms"), values.get("max.compaction.lag.ms")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({least}) >"
            f" max.compaction.lag.ms ({most})",
        )


def check_log_config(config: LogConfig) -> None:
    """KafkaConfigurationError for what no topic could be told. Segments may be of any size, as with
    `internal.segment.bytes`.
    """
    check_kinds(config)
    for name in OPTIONS:
        if _field(name) in _ACTING:
            known = "internal.segment.bytes" if name == "segment.bytes" else name
            try:
                checked_value(name, OPTIONS[known], shown(getattr(config, _field(name))))
            except RefusedError as refused:
                raise KafkaConfigurationError(f"log: {refused}") from None


def apply(config: LogConfig, settings: Mapping[str, str]) -> None:
    """Let checked settings act."""
    for name, text in settings.items():
        if _field(name) in _ACTING:
            setattr(config, _field(name), read_value(name, OPTIONS[name], text))
    small = settings.get("internal.segment.bytes")
    if small is not None:
        config.segment_bytes = _number("internal.segment.bytes", Kind.INT, small)
