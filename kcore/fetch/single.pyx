"""Records handed over one by one, where nothing else is to be done: half a million times a second.

Almost always the record after the one just handed over is the next of the same batch: then all that
`take_records` decides comes out as it did for that one, as long as nothing has happened to a
partition since. So the fetcher says which reader it was (`follow`), and takes that back (`forget`)
at every change of any partition: of whose turn it is, of a position, a state or a flag. What is
left to be asked for each record is in `take`.
"""

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int32_t, int64_t

from kcore.records.reader cimport RecordReader
from kcore.records.record cimport ConsumerRecord


@cython.final
cdef class OneByOne:
    """See the module's text. With any error, or a partition without a position, it gives nothing.

    errors, undecided: the fetcher's and the positions' own dictionaries. burst: how many records
    `take_record` may give before it is to be said anew. taken: how often anything was handed over,
    or is being, here or by the fetcher. given, at, at_epoch: the partition `take` last gave of, and
    from where.
    """

    cdef public Py_ssize_t burst
    cdef public Py_ssize_t taken
    cdef unsigned long thread  # 0: nobody's
    cdef readonly object given
    cdef readonly int64_t at
    cdef readonly int32_t at_epoch
    cdef dict errors
    cdef dict undecided
    cdef RecordReader reader  # None: nobody is followed
    cdef readonly object partition
    cdef object tp

    def __init__(self, dict errors not None, dict undecided not None) -> None:
        self.errors = errors
        self.undecided = undecided

    def follow(self, partition, RecordReader reader not None) -> None:
        """A record of `partition` was handed over, and nothing is in the way of the next one."""
        self.reader = reader
        self.partition = partition
        self.tp = partition.tp

    def forget(self) -> None:
        """Something has changed."""
        self.reader = None
        self.partition = None

    def take(self):
        """What `take_records(1)` gives, the position moved past it; None: ask that."""
        cdef ConsumerRecord record
        cdef list records
        cdef dict found
        if self.reader is None or self.errors or self.undecided:
            return None
        # Made first: collecting garbage may run anything, a seek in a finalizer, too.
        records = [None]
        found = {self.tp: records}
        if self.reader is None:
            return None
        self.at = self.reader.next_offset
        self.at_epoch = self.reader.next_epoch
        record = self.reader.take_inside()
        if record is None:
            return None
        self.partition.offset = record.offset + 1
        records[0] = record
        self.given = self.partition
        self.taken += 1
        return found

    def belong_here(self) -> None:
        """`take_record` is this thread's: others are given nothing."""
        self.thread = PyThread_get_thread_ident()  # get_ident may be gevent's, of greenlets

    def take_record(self):
        """`take`, and of that the record alone; None, too, when `burst` is used up, and for other
        threads.
        """
        cdef ConsumerRecord record
        if self.burst <= 0 or self.thread != <unsigned long>PyThread_get_thread_ident():
            return None
        if self.reader is None or self.errors or self.undecided:
            return None
        self.burst -= 1
        record = self.reader.take_inside()
        if record is not None:
            self.partition.offset = record.offset + 1
        return record
