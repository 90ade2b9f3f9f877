"""The transaction coordinator of a broker, without I/O: see
`kcore.coordinator.transactions.coordinator`.
"""

from __future__ import annotations

from kcore.coordinator.transactions.config import TransactionConfig
from kcore.coordinator.transactions.coordinator import TransactionCoordinator
from kcore.coordinator.transactions.shard import Markers
from kcore.coordinator.transactions.states import TransactionState
from kcore.coordinator.transactions.transaction import TV_BUMPS

__all__ = [
    "TV_BUMPS",
    "Markers",
    "TransactionConfig",
    "TransactionCoordinator",
    "TransactionState",
]
