"""All the names that a share consumer knows, and what to do instead of those it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcore.settings import java, names
from kcore.settings.parsers import (
    Parser,
    choice,
    deserializer,
    group_id,
    integer,
    optional,
    text,
    truth,
    wait_ms,
)

_ms = integer(0)
_size = integer(0)

PARSERS: Final[Mapping[str, Parser]] = {
    **names.PARSERS,
    "client_rack": text,
    "group_id": group_id,
    "key_deserializer": optional(deserializer),
    "value_deserializer": optional(deserializer),
    "fetch_min_bytes": _size,
    "fetch_max_wait_ms": _ms,
    "fetch_max_bytes": integer(1),
    "max_batch_bytes": integer(1024),
    "check_crcs": truth,
    "max_poll_records": integer(1),
    "max_poll_interval_ms": integer(1),
    "share_acknowledgement_mode": choice("implicit", "explicit"),
    "share_acquire_mode": choice(
        "batch_optimized", "record_limit", aliases={"batch-optimized": "batch_optimized"}
    ),
    "consumer_timeout_ms": wait_ms,
    "default_api_timeout_ms": _ms,
}

_NOTHING: Final = object()  # no value of an option: whatever is given is refused
_GROUPS_OWN: Final = (
    "a share group has its own, whoever reads: set the group's {name} (`kafka-configs --entity-type"
    " groups`, or incremental_alter_configs of kcore.Admin)"
)
_ACKNOWLEDGE: Final = (
    "a share group keeps no offsets of its members; records are acknowledged, see"
    " share_acknowledgement_mode"
)
_ASSIGNED: Final = "the brokers assign partitions in a share group"

# What Java's share consumer refuses, and what of `Consumer` means nothing here.
REFUSED: Final[Mapping[str, str]] = {
    "auto_offset_reset": _GROUPS_OWN.format(name="share.auto.offset.reset"),
    "out_of_range_reset": _GROUPS_OWN.format(name="share.auto.offset.reset"),
    "isolation_level": _GROUPS_OWN.format(name="share.isolation.level"),
    "session_timeout_ms": _GROUPS_OWN.format(name="share.session.timeout.ms"),
    "heartbeat_interval_ms": _GROUPS_OWN.format(name="share.heartbeat.interval.ms"),
    "enable_auto_commit": _ACKNOWLEDGE,
    "auto_commit_interval_ms": _ACKNOWLEDGE,
    "default_offset_commit_callback": "use set_acknowledgement_commit_callback()",
    "group_instance_id": "members of a share group cannot be static",
    "group_protocol": "a share group has a protocol of its own",
    "group_remote_assignor": _ASSIGNED,
    "partition_assignment_strategy": _ASSIGNED,
    "max_partition_fetch_bytes": "give max_poll_records or fetch_max_bytes",
    "max_buffered_bytes": "records are fetched when a poll wants them: give max_poll_records",
}

WITHOUT_EFFECT: Final[Mapping[str, object]] = {
    **names.WITHOUT_EFFECT,
    "metric_group_prefix": "consumer",
}

FOREIGN: Final[java.Foreign] = {
    **java.COMMON,
    **{name: (_NOTHING, why) for name, why in REFUSED.items()},
}

TABLE: Final = names.Table(PARSERS, names.LATER, WITHOUT_EFFECT, FOREIGN)
