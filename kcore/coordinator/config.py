"""What a group coordinator can be told; names and defaults are Kafka's (BROKER_GROUPS.md
section 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32

# How long a member that has never been in a generation may wait in a parked JoinGroup: its client
# may be gone, and nothing but the answer would tell (Java: classic-group new member join timeout).
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000

# A join phase in which nobody rejoined is tried again after the members' rebalance timeout, but not
# sooner than this: a member may have said 0, and the coordinator must not spin.
MIN_JOIN_RETRY_MS: Final = 1_000

# Ids handed out with MEMBER_ID_REQUIRED that have not been used yet, in one group. An empty group
# gives one to whoever asks and keeps it for the session timeout asked for, which may be half an
# hour; this bounds what that can hold.
MAX_PENDING_MEMBERS: Final = 100_000

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """Options of one coordinator; times in ms unless named otherwise."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = MAX_INT32
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        lowest = {
            "group_min_session_timeout_ms": 0,
            "group_max_session_timeout_ms": self.group_min_session_timeout_ms,
            "group_initial_rebalance_delay_ms": 0,
            "group_max_size": 1,
            "offset_metadata_max_bytes": 0,
            "offsets_retention_minutes": 1,
            "offsets_retention_check_interval_ms": 1,
            "offsets_topic_num_partitions": 1,
        }
        for name, bound in lowest.items():
            value = getattr(self, name)
            if not bound <= value <= MAX_INT32:
                raise KafkaConfigurationError(
                    f"{name}={value} is not within {bound} to {MAX_INT32}"
                )

    @property
    def offsets_retention_ms(self) -> int:
        """How long a committed offset outlives its use."""
        return self.offsets_retention_minutes * _MINUTE_MS
