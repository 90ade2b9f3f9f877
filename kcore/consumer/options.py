"""The options that only consumers have, and all the names a consumer knows."""

from __future__ import annotations

from collections.abc import Mapping

from kcore.errors import KafkaConfigurationError
from kcore.fetch.config import BY_DURATION, ResetStrategy
from kcore.hints import Final
from kcore.settings import java, names
from kcore.settings.parsers import (
    Parser,
    callback,
    choice,
    deserializer,
    group_id,
    instance_id,
    integer,
    interceptors,
    optional,
    refuse,
    text,
    truth,
    wait_ms,
)

_JAVA_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def assignors(option: str, value: object) -> tuple[str, ...]:
    """Names in order of preference; also kafka-python's classes and Java's class names."""
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, (list, tuple)):
        entries = [entries]
    names: list[str] = []
    for entry in entries:
        name = entry.strip() if isinstance(entry, str) else getattr(entry, "name", None)
        if not isinstance(name, str) or not name:
            raise refuse(option, entry, "the name of an assignor, such as 'range'")
        names.append(_JAVA_ASSIGNORS.get(name.rpartition(".")[2], name))
    if not names or len(set(names)) != len(names):
        raise refuse(option, value, "a list of one or more assignors, each named once")
    return tuple(names)


_ms = integer(0)
_size = integer(0)
_named = choice("earliest", "latest", "none", aliases={"smallest": "earliest", "largest": "latest"})


def reset(option: str, value: object) -> str:
    """A name, or by_duration: with a duration of ISO 8601 (KIP-1106)."""
    why = ""
    try:
        if isinstance(value, str) and value.strip().lower().startswith(BY_DURATION):
            return ResetStrategy.of(value.strip()).value
        return str(_named(option, value))
    except KafkaConfigurationError:
        pass
    except ValueError as error:
        why = f" ({error})"
    wanted = "'earliest', 'latest', 'none' or a duration as 'by_duration:PT1H30M'"
    raise refuse(option, value, wanted + why)


PARSERS: Final[Mapping[str, Parser]] = {
    **names.PARSERS,
    "client_rack": text,
    "group_id": optional(group_id),
    "group_instance_id": optional(instance_id),
    "group_protocol": choice("classic", "consumer"),
    "group_remote_assignor": optional(text),
    "key_deserializer": optional(deserializer),
    "value_deserializer": optional(deserializer),
    "fetch_min_bytes": _size,
    "fetch_max_wait_ms": _ms,
    "fetch_max_bytes": _size,
    "max_partition_fetch_bytes": _size,
    "max_buffered_bytes": integer(1, 1 << 40),
    "max_batch_bytes": integer(1024),
    "check_crcs": truth,
    "include_control_records": truth,
    "isolation_level": choice("read_uncommitted", "read_committed"),
    "enable_incremental_fetch_sessions": truth,
    "auto_offset_reset": reset,
    "out_of_range_reset": optional(reset),
    "enable_auto_commit": truth,
    "auto_commit_interval_ms": _ms,
    "default_offset_commit_callback": optional(callback),
    "partition_assignment_strategy": assignors,
    "max_poll_records": integer(1),
    "max_poll_interval_ms": integer(1),
    "session_timeout_ms": integer(1),
    "heartbeat_interval_ms": integer(1),
    "consumer_timeout_ms": wait_ms,
    "default_api_timeout_ms": _ms,
    "exclude_internal_topics": truth,
    "interceptor_classes": interceptors("on_consume", "on_commit"),
}

# Known names whose default is taken and anything else refused, with what to do instead.
LATER: Final = names.without(names.LATER, "interceptor_classes")

WITHOUT_EFFECT: Final[Mapping[str, object]] = {
    **names.WITHOUT_EFFECT,
    "metric_group_prefix": "consumer",
}

TABLE: Final = names.Table(PARSERS, LATER, WITHOUT_EFFECT, java.CONSUMER)
