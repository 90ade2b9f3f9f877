"""What becomes of a batch that the broker refuses in part, or as too large."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.errors import BrokerResponseError
from kcore.limits import MAX_INT32
from kcore.produce.batch import SEQUENCES, Batch, BatchState
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import record_bytes
from kcore.records import RecordReader


def split(batch: Batch, config: ProduceConfig) -> list[Batch]:
    """The records of a batch in smaller ones, at least two; each knows its place in the sequence.

    A part holds about `batch_size` bytes at most (or one record), uncompressed; a batch that is
    below that already is halved.
    """
    assert batch.data is not None
    limit = min(config.batch_size, max(1, batch.raw_bytes // 2))
    reader = RecordReader(
        batch.tp.topic,
        batch.tp.partition,
        bytes(batch.data),
        0,
        max_batch_bytes=MAX_INT32,  # it is ours, and was in memory uncompressed
    )
    parts: list[tuple[int, Batch]] = []
    for number, record in enumerate(reader.take(batch.record_count)):
        part = parts[-1][1] if parts else None
        size = record_bytes(record.key, record.value, record.headers)
        if part is None or part.raw_bytes + size > limit:
            part = Batch(batch.tp, config, batch.created_at, (*batch.serial, number))
            part.attempts = batch.attempts - 1
            part.waiters = batch.waiters
            part.part_of = batch.origin
            part.place = batch.place
            parts.append((number, part))
        part.append(record.timestamp, record.key, record.value, record.headers)
    for begin, part in parts:
        part.seal()
        assert part.data is not None
        part.held_bytes = len(part.data)
        sequence = -1
        if batch.has_sequence:
            sequence = (batch.base_sequence + begin) % SEQUENCES
        part.identify(batch.producer_id, batch.producer_epoch, sequence)
    batch.parts = parts
    batch.state = BatchState.DONE
    batch.data = None
    return [part for _, part in parts]


def blame(batch: Batch, found: Iterable[Any], kind: type[BrokerResponseError], where: str) -> None:
    """The broker names the records it does not take (KIP-467); the others failed with them."""
    for one in found:
        text = one.batch_index_error_message or "the broker does not say why"
        batch.record_errors[one.batch_index] = kind(f"a record for {where} was refused: {text}")
    numbers = ", ".join(map(str, sorted(batch.record_errors)))
    batch.error = kind(
        f"records for {where} were refused because of others in the same batch (number {numbers}): "
        "these can be sent again"
    )
