"""Record batches: reading them as `ConsumerRecord` objects, and writing them.

What no consumer needs is not imported here: `kcore.records.batches` (headers alone) and
`kcore.records.message_set` (writing v0 and v1); `kcore.records.builder` when it is first asked for
(PEP 562).
"""

from importlib import import_module

from kcore.hints import TYPE_CHECKING
from kcore.records.markers import ControlRecord
from kcore.records.reader import RecordReader
from kcore.records.record import ConsumerRecord

if TYPE_CHECKING:
    from kcore.records.builder import BatchBuilder, encode_batch

__all__ = ["BatchBuilder", "ConsumerRecord", "ControlRecord", "RecordReader", "encode_batch"]

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in {"BatchBuilder", "encode_batch"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("kcore.records.builder"), name)
