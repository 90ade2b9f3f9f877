"""One partition's records as one object: what `poll_batches` gives.

Columns stay columns until something is asked for; a record is made when it is looked at.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t

from kcore.records.columns cimport Columns, Run
from kcore.records.record cimport ConsumerRecord, Origin, deserialized, make_record
from kcore.records.strings cimport Strings

from collections.abc import Sequence

from kcore.records.arrow import ArrowBatch


cdef tuple range_of(index, int64_t start, int64_t stop):
    """The rows of a slice, which has no step."""
    first, after, step = index.indices(stop - start)
    if step != 1:
        raise ValueError("slices of columns have no step")
    return start + first, start + max(first, after)


cdef int64_t row_of(index, int64_t start, int64_t stop) except -1:
    cdef int64_t row = index
    if row < 0:
        row += stop - start
    if not 0 <= row < stop - start:
        raise IndexError("no such record in the batch")
    return start + row


@cython.final
cdef class Memory:
    """Read-only memory of some columns, for a memoryview; it keeps them alive."""

    cdef Columns columns
    cdef const uint8_t* data
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, <void*> self.data, self.size, 1, flags)


cdef object memory_of(Columns columns, const void* data, Py_ssize_t size):
    cdef Memory memory = Memory.__new__(Memory)
    memory.columns = columns
    memory.data = <const uint8_t*> data
    memory.size = size
    return memoryview(memory)


@cython.final
cdef class BytesColumn:
    """Keys or values of a batch: a sequence of bytes or None, made when they are looked at."""

    cdef Columns columns
    cdef Strings* column
    cdef int64_t start
    cdef int64_t stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index):
        if isinstance(index, slice):
            first, after = range_of(index, self.start, self.stop)
            return column_of(self.columns, self.column, first, after)
        return self.bytes_at(row_of(index, self.start, self.stop))

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"<BytesColumn of {len(self)}>"

    def tolist(self) -> list:
        """All of them."""
        cdef int64_t row
        return [self.bytes_at(row) for row in range(self.start, self.stop)]

    def view(self, index):
        """One as a memoryview, without a copy, or None; it keeps the fetched bytes alive."""
        cdef int32_t size = 0
        cdef const uint8_t* at
        at = self.columns.find(self.column, row_of(index, self.start, self.stop), &size)
        return None if at == NULL else memory_of(self.columns, at, size)

    cdef object bytes_at(self, int64_t row):
        cdef int32_t size = 0
        cdef const uint8_t* at = self.columns.find(self.column, row, &size)
        return None if at == NULL else PyBytes_FromStringAndSize(<const char*> at, size)


cdef BytesColumn column_of(Columns columns, Strings* column, int64_t start, int64_t stop):
    cdef BytesColumn made = BytesColumn.__new__(BytesColumn)
    made.columns = columns
    made.column = column
    made.start = start
    made.stop = stop
    return made


@cython.final
cdef class PartitionBatch:
    """Records of one partition, in order.

    `batch[3]` and iteration make ConsumerRecords, `batch[10:20]` is a batch over the same memory.
    Columns: offsets and timestamps (ms) as memoryviews of int64, keys and values as BytesColumn. It
    can be imported as Arrow (see ArrowBatch), with headers and with keys and values as views.

    Columns are as fetched. Records come out of the deserializers, if there are any: one that fails
    is a DeserializationError with the raw record at that place, every time, and the records beside
    it can be had.

    A batch, its slices and its columns keep all answers of their poll alive; records and bytes made
    from it do not.
    """

    cdef Columns columns
    cdef int64_t start
    cdef int64_t stop
    cdef readonly str topic
    cdef readonly int32_t partition
    cdef object key_deserializer
    cdef object value_deserializer

    def __init__(self) -> None:
        raise TypeError("batches come from poll_batches()")

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index):
        if isinstance(index, slice):
            first, after = range_of(index, self.start, self.stop)
            return self.part(first, after)
        cdef int64_t row = row_of(index, self.start, self.stop)
        return self.records(row, row + 1)[0]

    def __iter__(self):
        if self.key_deserializer is None and self.value_deserializer is None:
            return iter(self.records(self.start, self.stop))
        return map(self.__getitem__, range(len(self)))  # those before one that fails come first

    def __repr__(self) -> str:
        return f"<PartitionBatch of {len(self)} records of {self.topic}-{self.partition}>"

    @property
    def offsets(self) -> memoryview:
        """int64."""
        return self.numbers(self.columns.offsets)

    @property
    def timestamps(self) -> memoryview:
        """int64: milliseconds since 1970, -1 if there is none."""
        return self.numbers(self.columns.timestamps)

    @property
    def keys(self) -> BytesColumn:
        """bytes or None each."""
        return column_of(self.columns, &self.columns.keys, self.start, self.stop)

    @property
    def values(self) -> BytesColumn:
        """bytes or None each."""
        return column_of(self.columns, &self.columns.values, self.start, self.stop)

    def tolist(self) -> list:
        """All records."""
        return self.records(self.start, self.stop)

    def __arrow_c_schema__(self):
        return self.arrow().__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        return self.arrow().__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.arrow().__arrow_c_stream__(requested_schema)

    cdef PartitionBatch part(self, int64_t start, int64_t stop):
        cdef PartitionBatch batch = PartitionBatch.__new__(PartitionBatch)
        batch.columns = self.columns
        batch.topic = self.topic
        batch.partition = self.partition
        batch.key_deserializer = self.key_deserializer
        batch.value_deserializer = self.value_deserializer
        batch.start = start
        batch.stop = stop
        return batch

    cdef object arrow(self):
        return ArrowBatch(self.columns, self.start, self.stop, include_headers=True)

    cdef object numbers(self, int64_t* column):
        cdef Py_ssize_t size = (self.stop - self.start) * <Py_ssize_t> sizeof(int64_t)
        return memory_of(self.columns, column + self.start, size).cast("q")

    cdef list records(self, int64_t start, int64_t stop):
        cdef Columns columns = self.columns
        cdef list made = []
        cdef int64_t row
        cdef int64_t run_stop = start
        cdef Run* run = NULL
        cdef Origin origin = None
        cdef ConsumerRecord record
        for row in range(start, stop):
            if row == run_stop:
                run = columns.run_of(row)
                origin = self.origin_of(run)
                run_stop = columns.end_of(run)
            record = self.record(row, origin)
            if self.key_deserializer is not None or self.value_deserializer is not None:
                record = deserialized(record, self.key_deserializer, self.value_deserializer)
            made.append(record)
        return made

    cdef Origin origin_of(self, Run* run):
        cdef Origin origin = Origin.__new__(Origin)
        origin.topic = self.topic
        origin.partition = self.partition
        origin.leader_epoch = run.leader_epoch
        origin.timestamp_type = None if run.timestamp_type < 0 else run.timestamp_type
        return origin

    cdef ConsumerRecord record(self, int64_t row, Origin origin):
        cdef Columns columns = self.columns
        cdef int32_t key_size = 0
        cdef int32_t value_size = 0
        cdef int32_t headers_size = 0
        cdef const uint8_t* key = columns.find(&columns.keys, row, &key_size)
        cdef const uint8_t* value = columns.find(&columns.values, row, &value_size)
        cdef const uint8_t* headers = NULL
        if columns.has_headers():
            headers = columns.find(&columns.headers, row, &headers_size)
        return make_record(
            origin,
            columns.offsets[row],
            columns.timestamps[row],
            key,
            key_size if key != NULL else -1,
            value,
            value_size if value != NULL else -1,
            headers,
            headers_size if headers != NULL else -1,
        )


def batches_of(Columns columns not None, *, key_deserializer=None, value_deserializer=None) -> list:
    """The rows of `columns`, which must hold headers, by partition and in order.

    The deserializers are called as RecordReader calls them, for records only.
    """
    cdef PartitionBatch batch
    cdef list made = []
    if not columns.with_headers:
        raise ValueError("the columns were read without headers")
    columns.seal()
    for topic, partition, start, stop in columns.spans():
        batch = PartitionBatch.__new__(PartitionBatch)
        batch.columns = columns
        batch.topic = topic
        batch.partition = partition
        batch.start = start
        batch.stop = stop
        batch.key_deserializer = key_deserializer
        batch.value_deserializer = value_deserializer
        made.append(batch)
    return made


Sequence.register(BytesColumn)
Sequence.register(PartitionBatch)
