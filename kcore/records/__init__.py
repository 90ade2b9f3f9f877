"""Record batches: reading them as `ConsumerRecord` objects, and writing them."""

from kcore.records.reader import RecordReader
from kcore.records.record import ConsumerRecord

__all__ = ["ConsumerRecord", "RecordReader"]
