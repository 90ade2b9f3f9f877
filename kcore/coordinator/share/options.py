"""What can be set for one share group (Java: GroupConfig), over what its brokers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcore.durations import parse_ms

LATEST: Final = "latest"
EARLIEST: Final = "earliest"
BY_DURATION: Final = "by_duration:"

READ_UNCOMMITTED: Final = "read_uncommitted"
READ_COMMITTED: Final = "read_committed"

# The options for which brokers have a default and bounds.
BOUNDED: Final = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "assignment_interval_ms",
    "record_lock_duration_ms",
    "delivery_count_limit",
    "partition_max_record_locks",
)


@dataclass(frozen=True, slots=True)
class ShareOptions:
    """Options of one share group; times in ms. assignor_offload_enable: as of consumer groups.
    errors_deadletterqueue_*: where what is given up is written (KIP-1191), "": nowhere; whether
    with its key and value.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    record_lock_duration_ms: int = 30_000
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2_000
    auto_offset_reset: str = LATEST
    isolation_level: str = READ_UNCOMMITTED
    renew_acknowledge_enable: bool = True
    assignor_offload_enable: bool = True
    errors_deadletterqueue_topic_name: str = ""
    errors_deadletterqueue_copy_record_enable: bool = False


def duration_ms(reset: str) -> int:
    """How far back `by_duration:<ISO 8601>` goes; ValueError if it says nothing."""
    return parse_ms(reset.removeprefix(BY_DURATION))
