"""What the room is told of the user's options; names and defaults as Java's ProducerConfig."""

from __future__ import annotations

from typing import Final

from kcore.values import Value

ACKS_ALL: Final = -1
LINGER_MS: Final = 5


class ProduceConfig(Value):
    """Options of producing. Times are ms, sizes bytes.

    acks: 0 nobody answers, 1 the leader, -1 every replica in sync.
    linger_ms: how long a batch that is not full waits for more. awaited_linger: also one with a
        record that somebody waits for.
    batch_size: when a batch is full, after compression as far as that can be foretold.
    buffer_memory: what unsent and unanswered records may hold together.
    delivery_timeout_ms: from the append to the end of all attempts.
    retries: attempts after the first, within delivery_timeout_ms.
    max_in_flight: requests of one connection that are not answered; with idempotence at most 5,
        because that is how many batches a leader remembers.
    rack: where records without a key stay, if partitions have leaders there; "": anywhere.
    transaction_timeout_ms: how long a transaction may be open before its coordinator aborts it.
    """

    acks: int = ACKS_ALL
    enable_idempotence: bool = True
    codec: str = "none"
    compression_level: int | None = None
    linger_ms: int = LINGER_MS
    awaited_linger: bool = True
    batch_size: int = 16_384
    buffer_memory: int = 33_554_432
    max_request_size: int = 1_048_576
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    retries: int = 2_147_483_647
    max_in_flight: int = 5
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    metadata_max_idle_ms: int = 300_000
    partitioner_ignore_keys: bool = False
    partitioner_adaptive: bool = True
    rack: str = ""
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
