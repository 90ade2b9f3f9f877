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
from typing import TYPE_CHECKING

from kcore.errors import OffsetOutOfRangeError
from kcore.pipeline.errors import DataLossError, ReadTimeoutError
from kcore.pipeline.leases import Lease, Leases
from kcore.pipeline.options import SourceOptions
from kcore.pipeline.planning import OffsetRange

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger("kcore.pipeline")

# How long one poll waits; a range is given up after SourceOptions.poll_timeout_ms without progress.
_POLL_MS = 500

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
    while position < wanted.end:
        try:
            batch = lease.poll(_POLL_MS)
        except OffsetOutOfRangeError:
            position = _lost(lease, options, wanted, position)
            lease.seek(position)
            continue
        before = position
        if batch is not None and batch.num_rows:
            batch, position = lease.cut(batch, wanted.end)
            if batch.num_rows:
                yield batch
        position = min(max(position, lease.position()), wanted.end)
        if position > before:
            moved_at = time.monotonic()
        elif (time.monotonic() - moved_at) * 1000 > options.poll_timeout_ms:
            _check_end(lease, options, wanted, position)
            raise ReadTimeoutError(
                f"{wanted.topic}-{wanted.partition}: no records came for "
                f"kafkaConsumer.pollTimeoutMs={options.poll_timeout_ms} at offset {position}, "
                f"of {wanted.begin} to {wanted.end}: {lease.health()}"
            )


def _lost(lease: Lease, options: SourceOptions, wanted: OffsetRange, position: int) -> int:
    """The position is outside of what the log has; where to go on, if that is allowed."""
    first, last = lease.limits()
    name = f"{wanted.topic}-{wanted.partition}"
    go_on, why = wanted.end, f"the log ends at {last}"
    if position < first:
        go_on, why = min(first, wanted.end), f"the log begins at {first}"
    text = f"{name}: records {position} to {go_on} are gone; {why}"
    if options.fail_on_data_loss:
        raise DataLossError(text, wanted.tp, position, go_on)
    log.warning("%s; going on, as failOnDataLoss is false", text)
    return go_on


def _check_end(lease: Lease, options: SourceOptions, wanted: OffsetRange, position: int) -> None:
    """Nothing came: is it that the log ends before the range does?"""
    _, last = lease.limits()
    if last <= position and options.fail_on_data_loss:
        text = (
            f"{wanted.topic}-{wanted.partition}: records {position} to {wanted.end} are gone; "
            f"the log ends at {last}"
        )
        raise DataLossError(text, wanted.tp, position, wanted.end)
