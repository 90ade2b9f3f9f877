"""One batch of records for one partition, from its first record to the broker's answer.

    OPEN --full, lingered, flushed--> SEALED --written--> SENT --answered--> DONE
                                        ^                  |
                                        +---- retried -----+

Whoever waits for a record holds the batch and the record's number in it. A batch that was too large
for the broker is split: `outcome` follows the record into its part.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final

from kcore.enums import Enum
from kcore.errors import KafkaError
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import Filling
from kcore.records.builder import BatchBuilder, stamp
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1
SEQUENCES: Final = 1 << 31  # they wrap to 0 (Java: DefaultRecordBatch.incrementSequence)


class BatchState(Enum):
    """Where a batch is."""

    OPEN = "open"  # takes records
    SEALED = "sealed"  # waits to be sent, for the first time or again
    SENT = "sent"  # part of a request that is not answered
    DONE = "done"  # delivered, failed, or split


class Outcome(NamedTuple):
    """What became of one record.

    offset: -1 if the broker did not say it (acks=0, or a duplicate it no longer remembers).
    timestamp_ms: of the log append, where the topic has it so; else -1: the record's own counts.
    log_start_offset: where the log began then; -1 if the broker did not say it.
    """

    offset: int
    timestamp_ms: int
    error: KafkaError | None
    log_start_offset: int = -1


def new_builder(config: ProduceConfig) -> BatchBuilder:
    """What takes the records of a batch."""
    return BatchBuilder(
        codec=config.codec,
        level=config.compression_level,
        expected_bytes=config.batch_size,
        transactional=config.transactional_id is not None,
    )


class Batch(Filling):
    """See the module's text. Times are monotonic ms.

    builder: with the records of one that was filled elsewhere.
    serial: its place among those of its partition. hurried: to be sent though it is not full.
    expires_at: when it has failed, unanswered. held_bytes: what it costs of `buffer_memory`, once
    it takes no more records.
    """

    __slots__ = (
        "_raw_bytes",
        "_record_count",
        "attempts",
        "base_offset",
        "base_sequence",
        "codec",
        "created_at",
        "error",
        "expires_at",
        "held_bytes",
        "hurried",
        "log_append_time_ms",
        "log_start_offset",
        "part_of",
        "parts",
        "place",
        "producer_epoch",
        "producer_id",
        "record_errors",
        "sent_as",
        "serial",
        "state",
        "tp",
        "trouble",
    )

    def __init__(
        self,
        tp: TopicPartition,
        config: ProduceConfig,
        now_ms: int,
        serial: tuple[int, ...],
        builder: BatchBuilder | None = None,
    ) -> None:
        self.tp = tp
        self.serial = serial
        self.codec = config.codec
        self.state = BatchState.OPEN
        self.hurried = config.linger_ms == 0
        self.created_at = now_ms
        self.expires_at = now_ms + config.delivery_timeout_ms
        self._record_count = 0  # these three: from when it takes no more records
        self._raw_bytes = 0
        self.held_bytes = 0
        self.producer_id = NO_PRODUCER
        self.producer_epoch = -1
        self.base_sequence = NO_SEQUENCE
        self.place = 0  # among those of its partition that were numbered
        # Who sent it and from which sequence on, as last written to a broker.
        self.sent_as: tuple[int, int, int] | None = None
        self.attempts = 0
        self.trouble = ""  # why the last attempt failed
        self.base_offset = -1
        self.log_append_time_ms = -1
        self.log_start_offset = -1
        self.error: KafkaError | None = None
        self.record_errors: dict[int, KafkaError] = {}
        self.part_of: Batch | None = None  # the batch that was split first
        self.parts: list[tuple[int, Batch]] = []
        self.waiters = []  # the parts of a split batch share them
        # What takes the records while it is open.
        self.builder = builder or new_builder(config)

    # Filling -------------------------------------------------------------------------------------

    @property
    def record_count(self) -> int:
        """Records so far."""
        builder = self.builder
        return self._record_count if builder is None else builder.record_count

    @property
    def raw_bytes(self) -> int:
        """What they take uncompressed, with the batch's header; 0 while there are none."""
        builder = self.builder
        if builder is None:
            return self._raw_bytes
        return builder.size_bytes if builder.record_count else 0

    def append(self, timestamp_ms: int, key: Any, value: Any, headers: Any) -> int:
        """Add a record; its number in the batch."""
        builder = self.builder
        assert builder is not None
        builder.append(timestamp_ms, key, value, headers)
        return builder.record_count - 1

    def seal(self) -> None:
        """Compress; nothing is added any more."""
        self.pack()
        self._let_builder_go()
        self.state = BatchState.SEALED

    def _let_builder_go(self) -> None:
        builder = self.builder
        if builder is not None:
            self._record_count = builder.record_count
            self._raw_bytes = self.held_bytes = self.raw_bytes
            self.builder = None

    @property
    def origin(self) -> Batch:
        """The batch that its records were appended to: of a part, the one that was split first."""
        return self if self.part_of is None else self.part_of

    @property
    def lingers(self) -> bool:
        """Whether it waits for more records."""
        return self.state is BatchState.OPEN and not self.hurried

    # Sending -------------------------------------------------------------------------------------

    @property
    def has_sequence(self) -> bool:
        """Whether it was sent, or is about to be, as part of a sequence."""
        return self.base_sequence != NO_SEQUENCE

    @property
    def next_sequence(self) -> int:
        """What the batch behind it begins with."""
        return (self.base_sequence + self.record_count) % SEQUENCES

    @property
    def identity(self) -> tuple[int, int, int]:
        """Producer id, epoch and first sequence, as its bytes say now."""
        return self.producer_id, self.producer_epoch, self.base_sequence

    def identify(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Say who sends it, and write the checksum. Again: as another producer's."""
        assert self.data is not None
        if self.sent_as is not None:  # a request may still hold its bytes, and is to stay as it is
            self.data = bytearray(self.data)
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.base_sequence = base_sequence
        stamp(self.data, producer_id, producer_epoch, base_sequence)

    # The end -------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether every record of it has come to its end."""
        if self.parts:
            return all(part.done for _, part in self.parts)
        return self.state is BatchState.DONE

    def finish(self) -> None:
        """It is over; its bytes are let go."""
        self.state = BatchState.DONE
        self.data = None
        self._let_builder_go()

    def mend(self) -> None:
        """Something was struck, perhaps in the middle of a change of this batch: what was begun is
        ended, what was out is to be sent again.
        """
        if self.state is BatchState.OPEN:
            if not self.record_count:
                self.finish()
            elif self.data is not None:
                self.seal()
        elif self.state is BatchState.DONE:
            self._let_builder_go()
            return
        else:
            self.state = BatchState.SEALED
            if self.attempts or self.has_sequence:
                self.identify(self.producer_id, self.producer_epoch, self.base_sequence)
        self.error = None
        self.record_errors = {}

    @property
    def leaves(self) -> list[Batch]:
        """The batches that its records are in now: itself, or the parts it was split into."""
        if not self.parts:
            return [self]
        return [leaf for _, part in self.parts for leaf in part.leaves]

    def locate(self, number: int) -> tuple[Batch, int]:
        """The batch that a record is in now, and its number there."""
        batch = self
        while batch.parts:
            index = bisect_right(batch.parts, number, key=lambda part: part[0]) - 1
            begin, batch = batch.parts[index]
            number -= begin
        return batch, number

    def outcome(self, number: int) -> Outcome | None:
        """What became of a record; None: nothing yet."""
        batch = self
        while True:
            batch, number = batch.locate(number)
            if batch.state is not BatchState.DONE:
                return None
            if not batch.parts:
                break  # else it was split just now, by another thread
        error = batch.record_errors.get(number, batch.error)
        if error is not None:
            return Outcome(-1, -1, error)
        offset = batch.base_offset + number if batch.base_offset >= 0 else -1
        return Outcome(offset, batch.log_append_time_ms, None, batch.log_start_offset)

    def __repr__(self) -> str:
        return (
            f"<Batch of {self.tp.topic}-{self.tp.partition}: {self.record_count} records, "
            f"{self.state.value}, sequence {self.base_sequence}, {self.attempts} attempts>"
        )
