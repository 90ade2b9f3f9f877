"""Record batches: reading them as `ConsumerRecord` objects, and writing them.

What no consumer needs is not imported here: `kcore.records.batches` (headers alone) and
`kcore.records.message_set` (writing v0 and v1).
"""

from kcore.records.builder import BatchBuilder, encode_batch
from kcore.records.markers import ControlRecord
from kcore.records.reader import RecordReader
from kcore.records.record import ConsumerRecord

__all__ = ["BatchBuilder", "ConsumerRecord", "ControlRecord", "RecordReader", "encode_batch"]
