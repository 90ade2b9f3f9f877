"""The records of one partition's part of a Fetch answer, as objects.

A slice is a row of batches. The constructor walks their headers (so that the next fetch can go out
at once); each batch is checked, decompressed and read when its records are asked for, in one pass.

Nothing the slice says is believed, even under a right checksum: counts, lengths, offsets and the
ends of compressed streams have to agree. What is wrong becomes a `fault` at the place where it is
met: everything before it is handed over first, and from then on `take` raises, at every call.

    start        pos                                stop            end of data
    |--- done ---|-- open batch --|-- more batches --|-- partial batch --|
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.list cimport PyList_GET_SIZE
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcore.records cimport columns, layout, legacy
from kcore.records.acquired cimport Acquired
from kcore.records.columns cimport Columns, Cursor
from kcore.records.layout cimport (
    BatchHeader, Fault, RecordView, fetch_ahead, load32, load64, load_header, read_record,
)
from kcore.records.legacy cimport Message, Unfolded
from kcore.records.loan cimport Loan
from kcore.records.markers cimport read_control
from kcore.records.record cimport ConsumerRecord, Origin, deserialized, make_record, new_origin
from kcore.records.walk cimport Walked, walk

from collections.abc import Callable

from kcore.records.checksum import crc32c

from kcore import limits
from kcore.errors import ConcurrentUseError, DeserializationError
from kcore.records import codecs, faults
from kcore.records.aborted import AbortedTransactions
from kcore.records.legacy import MalformedMessageError
from kcore.records.record import Header
from kcore.structs import ABORT

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char* mem, Py_ssize_t size, int flags)
    int PyBUF_READ

Deserializer = Callable[[str, list[Header], bytes | None], object]

cdef object checksum = crc32c
cdef dict decompressors = codecs.DECOMPRESS
cdef tuple FAULT_TEXT = faults.RECORD_FAULTS


@cython.final
cdef class RecordReader:
    """The records of one partition's bytes, from `fetch_offset` on.

    data: record bytes of a Fetch answer, any buffer; held, and not to be changed, until the end.
    check_crcs: whether each batch's CRC-32C is checked before it is read.
    aborted: None for read_uncommitted; for read_committed the answer's aborted transactions as
        (producer_id, first_offset), in any order.
    key_deserializer, value_deserializer: called as `f(topic, headers, data)`, data bytes or None,
        headers a list of (str, bytes or None); what it returns becomes the record's field.
    max_batch_bytes: a batch that decompresses to more is a CorruptRecordError.
    keep_control: `control_records` collects the ControlRecords that are passed over (else None).
    acquired: `take` gives no other records than these of a share group.

    next_offset: behind the last record handed out or passed over.
    next_epoch: the leader epoch of that record's batch (-1: unknown).
    end_offset, end_epoch: the same behind the last complete batch: what to fetch next.
    size_bytes: bytes not yet handed over. taken_records: how many were handed out.
    taken_bytes: what the records of the last `take` took in their batches, unpacked.
    exhausted: `take` has nothing more to give or to raise.
    has_batches: False if the data has bytes but not one complete batch.

    Raises CorruptRecordError or UnsupportedCodecError from the constructor if the first batch at or
    behind `fetch_offset` has an unusable header: there is no `end_offset` to go on from.
    """

    def __cinit__(
        self,
        str topic not None,
        int32_t partition,
        data,
        int64_t fetch_offset,
        *,
        bint check_crcs=True,
        aborted=None,
        key_deserializer=None,
        value_deserializer=None,
        Py_ssize_t max_batch_bytes=limits.MAX_BATCH_BYTES,
        bint keep_control=False,
        Acquired acquired=None,
    ):
        self.topic = topic
        self.partition = partition
        self.check_crcs = check_crcs
        self.aborted = None if aborted is None else AbortedTransactions(aborted)
        self.key_deserializer = key_deserializer
        self.value_deserializer = value_deserializer
        self.plain = key_deserializer is None and value_deserializer is None
        self.max_batch_bytes = max_batch_bytes
        self.control_records = [] if keep_control else None
        self.acquired = acquired
        self.next_offset = fetch_offset
        self.next_epoch = self.epoch = self.last_offset = -1
        self.loan = Loan(data)
        self.start = self.pos = <const uint8_t*> self.loan.buffer.buf
        self.find_end()
        self.has_batches = self.stop != self.start
        if self.stop_fault is not None and self.end_offset == fetch_offset:
            faults.raise_fault(self.stop_fault)

    cdef int find_end(self) except -1:
        """Find the last complete batch."""
        cdef Walked found
        wrong = walk(self.start, self.start + self.loan.buffer.len, self.next_offset, &found)
        self.stop, self.end_offset, self.end_epoch = found.stop, found.end_offset, found.end_epoch
        if wrong is not None:  # of its offsets, nothing is known
            self.stop_fault = self.corrupt(wrong, self.end_offset, self.end_offset)
        return 0

    cdef void release(self) noexcept:
        with cython.critical_section(self):
            self.loan = None
            self.start = self.pos = self.stop = self.at = self.end = NULL

    @property
    def exhausted(self) -> bool:
        return self.loan is None or (
            self.remaining == 0
            and self.pos == self.stop
            and self.fault is None
            and self.stop_fault is None
        )

    @property
    def size_bytes(self) -> int:
        with cython.critical_section(self):
            if self.loan is None:
                return 0
            return <const uint8_t*> self.loan.buffer.buf + self.loan.buffer.len - self.pos

    def __repr__(self) -> str:
        where = f"{self.topic}-{self.partition} at {self.next_offset} of {self.end_offset}"
        return f"<RecordReader {where}, {self.size_bytes} bytes>"

    # Opening a batch ------------------------------------------------------------------------------

    cdef bint open_next(self) except -1:
        """Open the next batch that has records to give; False at the end or at a fault."""
        cdef BatchHeader head
        while self.fault is None:
            if self.pos == self.stop:
                self.fault = self.stop_fault
                return False
            if self.pos[layout.MAGIC_AT] != 2:
                if self.open_message():
                    return True
                continue
            load_header(self.pos, &head)
            self.epoch = head.leader_epoch
            self.base_offset = head.base_offset
            self.last_delta = head.last_offset_delta
            self.last_offset = head.base_offset + head.last_offset_delta
            self.fault = self.open_batch(&head)
            if self.fault is not None:
                return False
            if self.remaining:
                return True
            self.close_batch()
        return False

    cdef object open_batch(self, BatchHeader* head):
        """Check the batch at `pos` and make it the open one; a fault, or None.

        `remaining` stays 0 if there is nothing to give: a control batch, an aborted one, one below
        the position.
        """
        cdef const uint8_t* body = self.pos + layout.HEADER_SIZE
        cdef const uint8_t* end = self.pos + layout.PREFIX_SIZE + head.length
        cdef bint control = head.attributes & layout.CONTROL
        if self.check_crcs and self.crc_of(self.pos + layout.CHECKED_AT, end) != head.crc:
            return self.bad_checksum(end, self.likely_last(head))
        if head.attributes & ~layout.KNOWN_ATTRIBUTES:
            return self.bad_batch(f"unknown attributes {head.attributes:#x}")
        if self.aborted is not None and head.producer_id >= 0:
            self.aborted.advance(self.last_offset)
            if (
                head.attributes & layout.TRANSACTIONAL
                and not control
                and head.producer_id in self.aborted
            ):
                return None
        if control and self.aborted is None and self.control_records is None:
            return None
        if self.last_offset < self.next_offset and not control:
            return None
        if head.record_count == 0 and body == end:  # compaction leaves it for a producer's state
            return None
        fault = self.open_body(head, body, end)
        if fault is not None:
            return fault
        if not 0 <= head.record_count <= (self.end - self.at) // layout.RECORD_MIN_SIZE:
            return self.bad_batch(f"{head.record_count} records in {self.end - self.at} bytes")
        if head.record_count == 0 and self.at != self.end:
            return self.bad_batch("bytes left over after the last record")
        if control:
            return self.read_markers(head)
        self.begin_records(head)
        return None

    cdef uint32_t crc_of(self, const uint8_t* start, const uint8_t* end) except? 0:
        return checksum(PyMemoryView_FromMemory(<char*> start, end - start, PyBUF_READ))

    cdef object open_body(self, BatchHeader* head, const uint8_t* body, const uint8_t* end):
        """Set `at` and `end` to the records' bytes, decompressed if need be; a fault, or None."""
        cdef int codec = head.attributes & layout.CODEC_MASK
        if codec == 0:
            self.at = body
            self.end = end
            return None
        decompress = decompressors.get(codec)
        if decompress is None:
            return self.bad_batch(f"unknown codec {codec}")
        packed = PyMemoryView_FromMemory(<char*> body, end - body, PyBUF_READ)
        try:
            self.body = decompress(packed, self.max_batch_bytes)
        except codecs.CodecError as error:
            return self.bad_batch(str(error))
        except codecs.MissingPackageError as missing:
            return self.missing_package(codec, missing)
        self.at = <const uint8_t*> PyBytes_AS_STRING(<bytes> self.body)
        self.end = self.at + len(<bytes> self.body)
        return None

    cdef int begin_records(self, BatchHeader* head) except -1:
        self.append_time = head.attributes & layout.APPEND_TIME
        self.base_timestamp = head.max_timestamp if self.append_time else head.base_timestamp
        self.begin(head.record_count, 1 if self.append_time else 0)
        return 0

    cdef int begin(self, int32_t count, int timestamp_type) except -1:
        self.remaining = count
        self.timestamp_type = timestamp_type
        self.prior_delta = -1
        self.origin = new_origin(self.topic, self.partition, self.epoch, timestamp_type, None)
        return 0

    cdef object read_markers(self, BatchHeader* head):
        """Take note of a control batch, for read_committed or for who asked; a fault, or None."""
        try:
            found = read_control(self.at, self.end, head)
        except ValueError as error:
            return self.bad_batch(str(error))
        for record in found:
            if record.kind == ABORT and self.aborted is not None:
                self.aborted.end(head.producer_id)
            if self.control_records is not None and record.offset >= self.next_offset:
                self.control_records.append(record)
        return None

    # Opening a v0 or v1 message ------------------------------------------------------------------

    cdef bint open_message(self) except -1:
        """`open_next` for the message at `pos`; False also if it has nothing to give."""
        cdef Message message
        cdef const uint8_t* end = self.pos + layout.PREFIX_SIZE + load32(self.pos + 8)
        cdef int64_t passed = self.last_offset
        self.epoch = -1
        self.last_offset = load64(self.pos)
        # Where a wrapper's first offset is shows when it is open: behind what came before.
        self.base_offset = min(self.last_offset, max(passed + 1, self.next_offset))
        self.last_delta = <int32_t> min(self.last_offset - self.base_offset, <int64_t> INT32_MAX)
        wrong = legacy.read_message(self.pos, end, &message)
        if self.check_crcs and legacy.crc_of(self.pos, end) != message.crc:
            self.fault = self.bad_checksum(end, self.last_offset)
        elif wrong is not None:
            self.fault = self.bad_batch(wrong)
        elif self.last_offset < self.next_offset:
            self.close_batch()
        else:
            self.fault = self.unfold(&message, passed)
        return self.remaining != 0

    cdef object unfold(self, Message* message, int64_t passed):
        """Open what a message holds, all of it behind the offset `passed`; a fault, or None."""
        cdef Unfolded found
        try:
            found = legacy.unfold(message, self.check_crcs, self.max_batch_bytes)
        except (MalformedMessageError, codecs.CodecError) as error:
            return self.bad_batch(str(error))
        except codecs.MissingPackageError as missing:
            return self.missing_package(message.attributes & layout.CODEC_MASK, missing)
        if found.base_offset <= passed:
            return self.bad_batch(f"offsets go back to {found.base_offset} after {passed}")
        self.base_offset = found.base_offset
        self.last_delta = found.last_delta
        self.body = found.body
        self.at = <const uint8_t*> PyBytes_AS_STRING(found.body)
        self.end = self.at + found.used
        self.checksums = found.checksums
        self.append_time = message.attributes & layout.APPEND_TIME
        self.base_timestamp = found.base_timestamp
        self.begin(found.record_count, -1 if message.magic == 0 else 1 if self.append_time else 0)
        return None

    cdef Origin origin_of_message(self):
        """The open batch's origin, with the checksum of the next message."""
        checksum = self.checksums[len(self.checksums) - self.remaining]
        origin = new_origin(self.topic, self.partition, self.epoch, self.timestamp_type, checksum)
        return origin if self.acquired is None else self.acquired.counted(origin)

    cdef int close_batch(self) except -1:
        """Everything of the batch at `pos` is handed out or passed over."""
        self.pos += layout.PREFIX_SIZE + load32(self.pos + 8)
        self.at = self.end = NULL
        self.body = None
        self.origin = None
        self.checksums = None
        if self.last_offset >= self.next_offset:
            self.next_offset = self.last_offset + 1
            self.next_epoch = self.epoch
        return 0

    # Faults ---------------------------------------------------------------------------------------

    cdef int64_t likely_last(self, BatchHeader* head) noexcept:
        """Of a header that may be damaged: do not skip too far."""
        return self.base_offset + min(self.last_delta, max(head.record_count - 1, 0))

    cdef object bad_checksum(self, const uint8_t* after, int64_t last):
        """A fault of the open batch, up to `last` or to what is `after` it.

        Its header is in doubt, too; that of a wrapper says only where it ends.
        """
        cdef bint wrapper
        if after != self.stop:
            wrapper = after[layout.MAGIC_AT] != 2 and after[layout.MAGIC_AT + 1] & layout.CODEC_MASK
            if not wrapper:
                last = load64(after) - 1
        last = max(last, self.next_offset)
        return self.corrupt("the checksum is wrong", max(self.base_offset, self.next_offset), last)

    cdef object missing_package(self, int codec, missing):
        name = codecs.name_of(codec)
        first = max(self.base_offset, self.next_offset)
        last = self.last_offset
        return faults.missing_package(
            self.topic, self.partition, name, missing.package, first, last
        )

    cdef object bad_batch(self, str what):
        """A fault of the open batch, from the position on."""
        cdef int64_t first = min(max(self.base_offset, self.next_offset), self.last_offset)
        return self.corrupt(what, first, self.last_offset)

    cdef object corrupt(self, str what, int64_t first, int64_t last):
        return faults.corrupt(self.topic, self.partition, what, first, last)

    # Handing out ----------------------------------------------------------------------------------

    cdef int enter(self) except -1:
        """Keep others out until `leave`; ConcurrentUseError if somebody is in."""
        with cython.critical_section(self):
            if self.busy:
                raise ConcurrentUseError("take is running: in another thread, or in a deserializer")
            self.busy = True
        return 0

    cdef void leave(self) noexcept:
        with cython.critical_section(self):
            self.busy = False

    def take(self, Py_ssize_t max_records, Py_ssize_t max_bytes=limits.MAX_INT32) -> list:
        """Up to `max_records` records; fewer at the end, if an error follows, or when they have
        taken `max_bytes` in their batches (unpacked).

        An empty list with `exhausted` is possible: control and aborted batches only move the
        position. Raises CorruptRecordError, UnsupportedCodecError or DeserializationError if the
        next record cannot be given; it does so again at every call.
        """
        if max_records < 1:
            raise ValueError(f"max_records must be at least 1, not {max_records}")
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {max_bytes}")
        self.enter()
        try:
            return [] if self.loan is None else self.take_out(max_records, max_bytes)
        finally:
            self.leave()

    cdef list take_out(self, Py_ssize_t max_records, Py_ssize_t max_bytes):
        cdef list out = []
        cdef int64_t offset = self.next_offset
        cdef int32_t epoch = self.next_epoch
        cdef Py_ssize_t bytes_left = max_bytes
        self.taken_bytes = 0
        try:
            while PyList_GET_SIZE(out) < max_records and bytes_left > 0:
                if self.remaining == 0 and not self.open_next():
                    break
                if not self.read_records(out, max_records, &bytes_left):
                    break
        except DeserializationError:
            if not out:
                raise
        except BaseException:  # Ctrl-C in a deserializer, no memory: give nothing, lose nothing
            self.rewind(offset, epoch)
            raise
        self.taken_bytes = max_bytes - bytes_left
        self.end_taking(len(out))
        return out

    cdef ConsumerRecord take_inside(self):
        """The next record of the open batch, as `take(1)` gives it; None where that has more to do.

        So for the last record of a batch, for deserializers and for whatever is wrong: then nothing
        has changed.
        """
        cdef RecordView view
        cdef ConsumerRecord record
        cdef int64_t offset
        if self.acquired is not None or not self.plain:
            return None
        self.enter()
        try:
            if self.remaining < 2:
                return None
            fetch_ahead(self.at)
            if read_record(self.at, self.end, &view) != layout.FINE:
                return None
            if view.offset_delta <= self.prior_delta or view.offset_delta > self.last_delta:
                return None
            offset = self.base_offset + view.offset_delta
            if offset < self.next_offset:
                return None
            record = self.make(&view, offset)
            self.taken_bytes = view.end - self.at
            self.next_offset = offset + 1
            self.next_epoch = self.epoch
            self.prior_delta = view.offset_delta
            self.at = view.end
            self.remaining -= 1
            self.taken_records += 1
            return record
        finally:
            self.leave()

    cdef int end_taking(self, int64_t count) except -1:
        """Raise the fault if nothing came before it; give the bytes back behind the last record."""
        if not count and self.fault is not None:
            faults.raise_fault(self.fault)
        self.taken_records += count
        if self.remaining == 0 and self.pos == self.stop and not (self.fault or self.stop_fault):
            if self.acquired is not None:
                self.acquired.end()
            self.release()
        return 0

    def take_columns(self, Columns out not None) -> int:
        """Add records to `out` until it is full or nothing follows; how many were added.

        As `take` otherwise, but deserializers are not asked: columns hold what was fetched.
        """
        self.enter()
        try:
            out.enter()
            try:
                return 0 if self.loan is None else self.fill(out)
            finally:
                out.leave()
        finally:
            self.leave()

    cdef int64_t fill(self, Columns out) except -1:
        cdef int64_t offset = self.next_offset
        cdef int32_t epoch = self.next_epoch
        cdef int64_t rows = out.rows
        cdef int64_t size_bytes = out.size_bytes
        try:
            while not out.full:
                if self.remaining == 0 and not self.open_next():
                    break
                if not self.read_columns(out):
                    break
        except BaseException:
            out.cut(rows, size_bytes)
            self.rewind(offset, epoch)
            raise
        self.end_taking(out.rows - rows)
        return out.rows - rows

    cdef int rewind(self, int64_t offset, int32_t epoch) except -1:
        """Begin again with the first batch, passing over what is below `offset`."""
        self.pos = self.start
        self.remaining = 0
        self.body = self.checksums = None
        self.last_offset = -1
        self.next_offset, self.next_epoch = offset, epoch
        if self.acquired is not None:
            self.acquired.go_back(offset)
        if self.aborted is not None:
            self.aborted.rewind()
        if self.control_records is not None:
            self.control_records[:] = [one for one in self.control_records if one.offset < offset]
        return 0

    cdef bint read_records(
        self, list out, Py_ssize_t max_records, Py_ssize_t* bytes_left
    ) except -1:
        """Read the open batch on; False if it must not be read further."""
        cdef RecordView view
        cdef Fault wrong
        cdef ConsumerRecord record
        cdef int64_t offset
        cdef Py_ssize_t room = max_records - PyList_GET_SIZE(out)
        cdef bint plain = self.plain, picky = self.acquired is not None
        cdef int32_t epoch = self.epoch
        while room and self.remaining and bytes_left[0] > 0:
            fetch_ahead(self.at)
            wrong = read_record(self.at, self.end, &view)
            if wrong != layout.FINE:
                self.fail(FAULT_TEXT[<int> wrong])
                return False
            if view.offset_delta <= self.prior_delta or view.offset_delta > self.last_delta:
                self.fail(f"offset delta {view.offset_delta} after {self.prior_delta}")
                return False
            offset = self.base_offset + view.offset_delta
            if offset >= self.next_offset and (not picky or self.acquired.wants(offset)):
                if picky:
                    self.origin = self.acquired.counted(self.origin)
                record = self.make(&view, offset)
                if not plain:
                    record = deserialized(record, self.key_deserializer, self.value_deserializer)
                out.append(record)
                room -= 1
                bytes_left[0] -= view.end - self.at
                self.next_offset, self.next_epoch = offset + 1, epoch
                if picky:
                    self.acquired.first = offset + 1
            self.prior_delta = view.offset_delta
            self.at = view.end
            self.remaining -= 1
        if self.remaining:
            return True
        if self.at != self.end:
            self.fail("bytes left over after the last record")
            return False
        self.close_batch()
        return True

    cdef bint read_columns(self, Columns out) except -1:
        """`read_records` into columns, without the GIL."""
        cdef Cursor cursor
        cdef int stop
        cdef int64_t rows = out.rows
        cdef int32_t epoch = self.epoch
        cursor.at, cursor.end, cursor.remaining = self.at, self.end, self.remaining
        cursor.last_delta, cursor.prior_delta = self.last_delta, self.prior_delta
        cursor.base_offset, cursor.next_offset = self.base_offset, self.next_offset
        cursor.base_timestamp, cursor.append_time = self.base_timestamp, self.append_time
        out.begin_run(self.topic, self.partition, epoch, self.timestamp_type)
        if self.body is None:
            out.lend(self.loan, self.at, self.end, self.stop)
        else:
            out.lend(self.body, self.at, self.end, self.end)
        with nogil:
            stop = out.read_rows(&cursor)
        self.at, self.remaining = cursor.at, cursor.remaining
        self.prior_delta, self.next_offset = cursor.prior_delta, cursor.next_offset
        if out.rows > rows:
            self.next_epoch = epoch
        if stop == columns.NO_MEMORY:
            raise MemoryError
        if stop == columns.BAD_DELTA:
            self.fail(f"offset delta {cursor.bad_delta} after {self.prior_delta}")
        elif stop > 0:
            self.fail(FAULT_TEXT[stop])
        elif self.remaining == 0 and self.at != self.end:
            self.fail("bytes left over after the last record")
        elif self.remaining == 0:
            self.close_batch()
            return True
        return False

    cdef int fail(self, str what) except -1:
        self.fault = self.bad_batch(what)
        self.remaining = 0
        return 0

    cdef ConsumerRecord make(self, RecordView* view, int64_t offset):
        cdef int64_t timestamp_ms = self.base_timestamp
        if not self.append_time:  # may wrap around, as in Java, and must not be undefined
            timestamp_ms = <int64_t> (<uint64_t> timestamp_ms + <uint64_t> view.timestamp_delta)
        return make_record(
            self.origin if self.checksums is None else self.origin_of_message(),
            offset, timestamp_ms, view.key, view.key_size, view.value, view.value_size,
            view.headers, view.end - view.headers if view.header_count else -1,
        )
