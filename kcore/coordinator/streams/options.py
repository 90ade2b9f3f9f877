"""What can be set for one streams group (Java: GroupConfig), over what its brokers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The only assignor that a Kafka brings along.
ASSIGNOR: Final = "sticky"

# Who keeps descriptions of topologies, if anybody does.
IN_MEMORY: Final = "InMemory"

# The options for which brokers have a default.
DEFAULTED: Final = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "num_standby_replicas",
    "initial_rebalance_delay_ms",
    "assignment_interval_ms",
)

# Those of which they have one since Kafka 4.4.
DEFAULTED_44: Final = (
    "rack_aware_assignment_tags",
    "num_warmup_replicas",
    "acceptable_recovery_lag",
    "task_offset_interval_ms",
    "assignor_offload_enable",
)

# Those for which they have bounds, too; num_standby_replicas and num_warmup_replicas have an upper
# one, task_offset_interval_ms a lower one.
BOUNDED: Final = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")


@dataclass(frozen=True, slots=True)
class StreamsOptions:
    """Options of one streams group; times in ms. Since Kafka 4.4:

    rack_aware_assignment_tags: keys of clients' tags that members have to have, for assignors that
    spread standbys by them, of which Kafka has none. acceptable_recovery_lag (offsets) and
    task_offset_interval_ms: told to members. num_warmup_replicas: warm-up tasks at most; there are
    none in Kafka 4.4 either. assignor_offload_enable: as of consumer groups.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    num_standby_replicas: int = 0
    initial_rebalance_delay_ms: int = 3_000
    assignment_interval_ms: int = 1_000
    assignor_name: str = ASSIGNOR
    rack_aware_assignment_tags: tuple[str, ...] = ()
    num_warmup_replicas: int = 2
    acceptable_recovery_lag: int = 10_000
    task_offset_interval_ms: int = 60_000
    assignor_offload_enable: bool = True

    @property
    def assignment_configs(self) -> dict[str, str]:
        """What a target is made with, as the journal keeps it; another value makes a new one."""
        found = {"num.standby.replicas": str(self.num_standby_replicas)}
        if self.rack_aware_assignment_tags:
            found["rack.aware.assignment.tags"] = ",".join(self.rack_aware_assignment_tags)
        return found
