"""One range of offsets as Arrow record batches: what a task of Spark's does.

Rules:
* Exactly the records between both offsets come, in order, once; fewer than offsets where compaction
  or transactions have left gaps.
* Nothing is ever reset: an offset that is gone is a DataLossError, or, if that is wished, said in
  the log, and reading goes on at the first offset there is.
* No object a record: what the consumer decodes to columns is handed on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from kcore.errors import (
    KafkaTimeoutError,
    LogTruncationError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
)
from kcore.pipeline.errors import DataLossError, ReadTimeoutError
from kcore.pipeline.leases import Lease, Leases
from kcore.pipeline.options import SourceOptions
from kcore.pipeline.planning import OffsetRange

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger("kcore.pipeline")

# How long one poll waits; a range is given up after SourceOptions.poll_timeout_ms without progress.
_POLL_MS = 500
# After so long without progress it is asked whether the log still has the rest of the range. Not at
# once: a new leader may know for a moment of fewer records than there are.
_DOUBT_MS = 5_000

# The consumers of this process. Spark's Python workers are used again for later tasks.
leases = Leases()


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[RecordBatch]:
    """The records of a range. DataLossError, ReadTimeoutError, and what a Consumer raises."""
    lease = leases.take(options, wanted.tp)
    whole = False
    try:
        yield from _read(lease, options, wanted)
        whole = True
    finally:
        # A task that was stopped half way (a LIMIT, a failure) leaves nobody its consumer.
        leases.give_back(lease, usable=whole)


def _read(lease: Lease, options: SourceOptions, wanted: OffsetRange) -> Iterator[RecordBatch]:
    position = wanted.begin
    lease.seek(position)
    moved_at = time.monotonic()
    refusals = 0  # in a row, of what is there when it is asked for
    while position < wanted.end:
        before = position
        try:
            batch = lease.poll(_POLL_MS)
        except (OffsetOutOfRangeError, NoOffsetForPartitionError):  # the second: topics made anew
            position = _what_is_left(lease, options, wanted, position, refused=True)
            if position == before:
                lease.back_off(refusals)
                refusals += 1
            lease.seek(position, again=True)
            batch = None
        except LogTruncationError as error:  # an unclean election
            where = error.divergent_offsets.get(wanted.tp)
            cut_at = None if where is None else where.offset
            position = _what_is_left(lease, options, wanted, position, refused=True, cut_at=cut_at)
            lease.seek(position, again=True)
            batch = None
        if batch is not None:
            batch, position = lease.cut(batch, wanted.end)
            if batch.num_rows:
                yield options.columns.shape(batch)
        position = min(max(position, lease.position()), wanted.end)
        still_ms = (time.monotonic() - moved_at) * 1000
        if position > before:
            moved_at, refusals = time.monotonic(), 0
        elif still_ms > min(_DOUBT_MS, options.poll_timeout_ms):
            position = _what_is_left(lease, options, wanted, position)
            still_ms = (time.monotonic() - moved_at) * 1000  # that may have taken its time
            if still_ms > options.poll_timeout_ms and position < wanted.end:
                raise ReadTimeoutError(
                    f"{wanted.topic}-{wanted.partition}: no records came for "
                    f"kafkaConsumer.pollTimeoutMs={options.poll_timeout_ms} at offset {position}, "
                    f"of {wanted.begin} to {wanted.end}: {_why(lease, options, position)}"
                )


def _why(lease: Lease, options: SourceOptions, position: int) -> str:
    """Why a record that is there does not come."""
    limits = None
    if options.is_committed:
        with suppress(KafkaTimeoutError):  # without a leader, which is why
            limits = lease.limits()
    if limits is not None and position >= limits[1]:
        return f"a transaction is open, and what is committed ends at {limits[1]}"
    return lease.health()


def _what_is_left(
    lease: Lease,
    options: SourceOptions,
    wanted: OffsetRange,
    position: int,
    *,
    refused: bool = False,
    cut_at: int | None = None,
) -> int:
    """Where to go on: `position` if the log has it. DataLossError if not, or what is left.

    refused: the leader has just said that it has not. cut_at: that its log goes on from there with
    other records than were read.
    """
    name = f"{wanted.topic}-{wanted.partition}"
    begin, go_on = position, wanted.end
    try:
        limits = lease.limits()
    except KafkaTimeoutError:
        return position  # it is without a leader, say: kafkaConsumer.pollTimeoutMs is for that
    if limits is None:
        why = "the topic or the partition is not there any more"
    elif limits[0] <= position < limits[1]:
        if cut_at is None:
            return position
        begin, go_on, why = cut_at, position, "the log was truncated, and has others in their place"
    elif options.is_committed and not refused and lease.may_have(position):
        return position  # in a transaction that is open, or behind one
    elif position < limits[0]:
        go_on, why = min(limits[0], wanted.end), f"the log begins at {limits[0]}"
    else:
        why = f"the log ends at {limits[1]}"
    text = f"{name}: records {begin} to {go_on} are gone; {why}"
    if options.fail_on_data_loss:
        raise DataLossError(text, wanted.tp, begin, go_on)
    log.warning("%s; going on, as failOnDataLoss is false", text)
    return go_on
