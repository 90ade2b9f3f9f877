"""What a broker can be told about delegation tokens; names and defaults are Kafka's."""

from __future__ import annotations

from dataclasses import dataclass, field

from kcore.bounds import check_kinds
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class DelegationTokenConfig:
    """Options of the nodes of one cluster.

    secret_key: what tokens are made with; None: nobody gets one. Who knows it can make all of them.
    max_lifetime_ms: how long a token can be renewed at most. expiry_time_ms: how long it is good
    until it is renewed. expiry_check_interval_ms: how often those that are over are swept away.
    """

    secret_key: str | None = field(default=None, repr=False)
    max_lifetime_ms: int = 604_800_000
    expiry_time_ms: int = 86_400_000
    expiry_check_interval_ms: int = 3_600_000

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        check_kinds(self)
        for name in ("max_lifetime_ms", "expiry_time_ms", "expiry_check_interval_ms"):
            value = getattr(self, name)
            if not 1 <= value <= MAX_TIMEOUT_MS:
                raise KafkaConfigurationError(
                    f"delegation_token_{name}={value} is not within 1 to {MAX_TIMEOUT_MS}"
                )
