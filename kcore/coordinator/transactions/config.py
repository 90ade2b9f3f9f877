"""What a transaction coordinator can be told; names and defaults are Kafka's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcore.bounds import check_kinds
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32

# Transactional ids of one partition of the journal. Kafka has no bound but its disks; ours is
# memory that any client could fill.
TRANSACTIONS_MAX: Final = 10_000

# When what could not be written is tried again.
RETRY_MS: Final = 100


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Options of one coordinator; times in ms.

    transaction_version: of the feature with this name, which the cluster has finalized (KIP-890).
    """

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_remove_expired_cleanup_interval_ms: int = 3_600_000
    transaction_state_log_num_partitions: int = 50
    transaction_version: int = 2

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        check_kinds(self)
        for name in (
            "transaction_max_timeout_ms",
            "transactional_id_expiration_ms",
            "transaction_remove_expired_cleanup_interval_ms",
            "transaction_state_log_num_partitions",
        ):
            value = getattr(self, name)
            if not 1 <= value <= MAX_INT32:
                raise KafkaConfigurationError(f"{name}={value} is not within 1 to {MAX_INT32}")
        if self.transaction_version not in {0, 1, 2}:
            raise KafkaConfigurationError(
                f"transaction_version={self.transaction_version} is not 0, 1 or 2"
            )
