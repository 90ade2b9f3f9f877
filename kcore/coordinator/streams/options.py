"""What can be set for one streams group (Java: GroupConfig), over what its brokers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The options for which brokers have a default.
DEFAULTED: Final = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "num_standby_replicas",
    "initial_rebalance_delay_ms",
    "assignment_interval_ms",
)

# Those for which they have bounds, too; num_standby_replicas has an upper one.
BOUNDED: Final = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")


@dataclass(frozen=True, slots=True)
class StreamsOptions:
    """Options of one streams group; times in ms."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    num_standby_replicas: int = 0
    initial_rebalance_delay_ms: int = 3_000
    assignment_interval_ms: int = 1_000

    @property
    def assignment_configs(self) -> dict[str, str]:
        """What a target is made with, as the journal keeps it; another value makes a new one."""
        return {"num.standby.replicas": str(self.num_standby_replicas)}
