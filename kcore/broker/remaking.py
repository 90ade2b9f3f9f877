"""Batches made anew from their records: when some of them go, or another codec is wanted."""

from __future__ import annotations

from typing import Final

from kcore.broker.batches import APPEND_TIME, TRANSACTIONAL, Batch, read_header
from kcore.broker.options import LogConfig
from kcore.errors import CorruptRecordError, UnsupportedCodecError
from kcore.records import ConsumerRecord, RecordReader, encode_batch
from kcore.records.codecs import name_of

_TAKE: Final = 10_000


def codec_of(header: Batch) -> str:
    """The name of a batch's codec."""
    return name_of(header.codec)


def recompressed(data: memoryview, batch: Batch, config: LogConfig) -> tuple[memoryview, Batch]:
    """The batch in the codec that the topic wants (`compression.type`), and its header."""
    codec, level = config.codec
    if codec_of(batch) == codec:
        return data, batch
    records = read_records(data, batch)
    if records is None:
        return data, batch
    made = remade(batch, records, codec=codec, level=level)
    return memoryview(made), read_header(made)


def read_records(data: bytes | memoryview, header: Batch) -> list[ConsumerRecord] | None:
    """The records of a batch; None if they cannot be read here."""
    records: list[ConsumerRecord] = []
    reader = RecordReader("", 0, data, header.base_offset)
    try:
        while not reader.exhausted:
            records += reader.take(_TAKE)
    except (CorruptRecordError, UnsupportedCodecError):
        return None
    return records


def remade(
    header: Batch,
    records: list[ConsumerRecord],
    *,
    horizon_ms: int | None = None,
    codec: str | None = None,
    level: int | None = None,
) -> bytes:
    """A batch of these records in the place of the one whose header this is.

    codec: another one than it had. horizon_ms: when its tombstones may go.
    """
    append_time = bool(header.attributes & APPEND_TIME)
    return encode_batch(
        [(one.timestamp, one.key, one.value, one.headers) for one in records],
        offsets=[one.offset for one in records],
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        codec=codec_of(header) if codec is None else codec,
        level=level,
        leader_epoch=header.leader_epoch,
        append_time_ms=header.max_timestamp if append_time else None,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=bool(header.attributes & TRANSACTIONAL),
        delete_horizon_ms=horizon_ms,
    )
