"""Record batches: reading them as `ConsumerRecord` objects, and writing them."""

from kcore.records.builder import BatchBuilder, encode_batch
from kcore.records.message_set import encode_message_set
from kcore.records.reader import RecordReader
from kcore.records.record import ConsumerRecord

__all__ = ["BatchBuilder", "ConsumerRecord", "RecordReader", "encode_batch", "encode_message_set"]
