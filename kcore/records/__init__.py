"""Record batches: reading them as `ConsumerRecord` objects, and writing them."""

from kcore.records.batches import BatchInfo, describe_batches
from kcore.records.builder import BatchBuilder, encode_batch
from kcore.records.markers import ControlRecord
from kcore.records.message_set import encode_message_set
from kcore.records.reader import RecordReader
from kcore.records.record import ConsumerRecord

__all__ = [
    "BatchBuilder",
    "BatchInfo",
    "ConsumerRecord",
    "ControlRecord",
    "RecordReader",
    "describe_batches",
    "encode_batch",
    "encode_message_set",
]
