"""What can be set for one consumer group (Java: GroupConfig), over what its brokers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The options for which brokers have a default and bounds.
BOUNDED: Final = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """Options of one consumer group; times in ms. assignor_offload_enable: whether targets are made
    in a thread of their own, by a Kafka 4.4; nothing here.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    assignor_offload_enable: bool = True
