"""Transaction markers: control batches of one record that say how a transaction ended.

Layout (Kafka: EndTransactionMarker): the record's key is an int16 version and an int16 type (0:
abort, 1: commit), its value an int16 version and the int32 epoch of the coordinator.
"""

from __future__ import annotations

import struct
from typing import Final

from kcore.records import RecordReader, encode_batch
from kcore.structs import ABORT, COMMIT
from kcore.tuples import NamedTuple

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 0


class Marker(NamedTuple):
    """How a transaction ended, and in which epoch of the coordinator's partition."""

    committed: bool
    coordinator_epoch: int


def marker_batch(producer_id: int, producer_epoch: int, marker: Marker, timestamp: int) -> bytes:
    """The batch to append for it."""
    key, value = marker_record(marker)
    return encode_batch(
        [(timestamp, key, value)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=-1,
        transactional=True,
        control=True,
    )


def marker_record(marker: Marker) -> tuple[bytes, bytes]:
    """The key and value of its record."""
    key = _KEY.pack(_KEY_VERSION, COMMIT if marker.committed else ABORT)
    return key, _VALUE.pack(_VALUE_VERSION, marker.coordinator_epoch)


def read_marker(data: bytes) -> Marker | None:
    """What a control batch says; None if it is about something else."""
    reader = RecordReader("", 0, data, 0, keep_control=True)
    reader.take(1)
    for record in reader.control_records or ():
        if record.kind in {ABORT, COMMIT}:
            return Marker(record.kind == COMMIT, record.coordinator_epoch)
    return None
