"""What a topic's logs can be told, under Kafka's names (Java: LogConfig, TopicConfig)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

UNLIMITED: Final = -1
INT64_MAX: Final = 0x7FFFFFFFFFFFFFFF


@dataclass(slots=True)
class LogConfig:
    """Options of a topic's logs; -1: no limit. Sizes in bytes, times in ms."""

    retention_ms: int = 604_800_000
    retention_bytes: int = UNLIMITED
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    max_message_bytes: int = 1_048_588
    cleanup_policy: tuple[str, ...] = ("delete",)
    delete_retention_ms: int = 86_400_000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = INT64_MAX
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False

    @property
    def compact(self) -> bool:
        """Whether only the latest record of each key stays."""
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        """Whether old records go."""
        return "delete" in self.cleanup_policy

    @property
    def log_append_time(self) -> bool:
        """Whether records get the time at which they are kept."""
        return self.message_timestamp_type == "LogAppendTime"
