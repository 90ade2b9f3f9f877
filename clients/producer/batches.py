"""Batches that the application fills by itself: aiokafka's `create_batch` and `send_batch`."""

from __future__ import annotations

import asyncio
from time import time_ns
from typing import TYPE_CHECKING, Any

from kcore.clients import arguments
from kcore.clients.producer.async_deliveries import tell_rows
from kcore.clients.producer.loop_door import metadata_of
from kcore.clients.producer.metadata import RecordMetadata
from kcore.clients.producer.packing import Headers, Packing, check_headers
from kcore.errors import IllegalArgumentError, IllegalStateError, RecordTooLargeError
from kcore.produce.feeding import RowsDelivery
from kcore.produce.intake import record_bytes
from kcore.records.builder import BatchBuilder
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.produce.batch import Batch
    from kcore.transports.loops import Loop


class BatchedRecord(NamedTuple):
    """A record that a batch has taken; aiokafka's fields.

    offset: its number in the batch. crc: None, it is the batch's. size: bytes it takes at most,
    uncompressed. timestamp: ms.
    """

    offset: int
    crc: None
    size: int
    timestamp: int


class ProducerBatch:
    """Records for one partition that go out as one record batch: `AsyncProducer.create_batch`
    makes it, `send_batch` sends it, once. It holds no memory of `buffer_memory` before that.
    """

    def __init__(
        self, builder: BatchBuilder, packing: Packing, topic: str, size_max: int, record_max: int
    ) -> None:
        self._builder = builder
        self._packing = packing
        self._topic = topic
        self._size_max = size_max
        self._record_max = record_max
        self._closed = False
        self._sent = False
        self.first_timestamp_ms = -1

    def append(
        self, *, timestamp: int | None, key: Any, value: Any, headers: Headers | None = None
    ) -> BatchedRecord | None:
        """Take a record; None: it does not fit into `batch_size` beside the others, or the batch is
        closed, and it is closed from then on. The first fits always, up to `max_request_size`.

        timestamp: wall time in ms; None: now. key, value: bytes or None, or what the serializers
        make that of. RecordTooLargeError, TypeError, ValueError: the record is not taken.
        """
        if self._closed:
            return None
        time_ms = time_ns() // 1_000_000 if timestamp is None else timestamp
        _, key, value, given, _, time_ms = self._packing.pack(
            self._topic, key, value, headers, 0, time_ms
        )
        check_headers(given)
        builder, size = self._builder, record_bytes(key, value, given)
        if size > self._record_max:
            raise RecordTooLargeError(
                f"a record takes up to {size} bytes: more than the {self._record_max} that "
                "max_request_size and buffer_memory leave for one"
            )
        if builder.record_count and builder.size_bytes + size > self._size_max:
            self._closed = True
            return None
        if not builder.record_count:
            self.first_timestamp_ms = time_ms
        builder.append(time_ms, key, value, given)
        return BatchedRecord(builder.record_count - 1, None, size, time_ms)

    def close(self) -> None:
        """Take no more records. Nothing needs it: a batch that was sent takes none either."""
        self._closed = True

    def closed(self) -> bool:
        """Whether it takes no more records."""
        return self._closed

    def size(self) -> int:
        """Bytes so far, uncompressed."""
        return self._builder.size_bytes

    def record_count(self) -> int:
        """Records so far."""
        return self._builder.record_count

    def take(self, packing: Packing) -> BatchBuilder:
        """What is to be sent, by whoever takes it first. IllegalStateError: it was sent, or is
        about to be. IllegalArgumentError: nothing is in it, or it was made by another producer than
        the one of `packing`, and would be in its transaction, or in none, as that one's is.
        """
        if packing is not self._packing:
            raise IllegalArgumentError("the batch is another producer's: create_batch of this one")
        if self._sent:
            raise IllegalStateError("the batch was sent already: create_batch makes another one")
        if not self._builder.record_count:
            raise IllegalArgumentError("the batch has no records: append some before send_batch")
        self._closed = self._sent = True
        return self._builder

    def give_back(self) -> None:
        """It could not be sent, and may be again."""
        self._sent = False

    def __repr__(self) -> str:
        how = "sent" if self._sent else "closed" if self._closed else "open"
        return f"<ProducerBatch: {self.record_count()} records, {self.size()} bytes, {how}>"


def sent_batch(value: object) -> ProducerBatch:
    """TypeError: it is none of create_batch's."""
    if not isinstance(value, ProducerBatch):
        raise TypeError(f"batch: what create_batch has made, not {type(value).__name__}")
    return value


def batch_topic(topic: str | None) -> str:
    """The topic that serializers are told of; a word of its own where nobody has said it."""
    return "unknown" if topic is None else arguments.topic_name(topic)


def batch_future(loop: Loop, batch: Batch, timestamp_ms: int) -> asyncio.Future[RecordMetadata]:
    """A future of a batch that was taken just now: where its first record is, once all of it is
    there. timestamp_ms: of that record.
    """
    delivery = RowsDelivery()
    delivery.add(batch, 0, batch.record_count)
    delivery.complete = True

    def metadata() -> RecordMetadata:
        outcome = batch.outcome(0)
        assert outcome is not None
        return metadata_of(batch.tp, outcome, timestamp_ms)

    return tell_rows(loop, delivery, metadata)
