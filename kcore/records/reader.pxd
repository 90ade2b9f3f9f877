"""What a reader holds, for who takes from one record by record: see reader.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from kcore.records.acquired cimport Acquired
from kcore.records.columns cimport Columns
from kcore.records.layout cimport BatchHeader, RecordView
from kcore.records.legacy cimport Message
from kcore.records.loan cimport Loan
from kcore.records.record cimport ConsumerRecord, Origin


cdef class RecordReader:
    cdef Loan loan  # None once everything is handed over
    cdef const uint8_t* start
    cdef const uint8_t* pos
    cdef const uint8_t* stop

    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly int64_t next_offset
    cdef readonly int64_t end_offset
    cdef readonly int32_t next_epoch
    cdef readonly int32_t end_epoch
    cdef readonly bint has_batches

    cdef bint check_crcs
    cdef readonly list control_records
    cdef object aborted
    cdef readonly Acquired acquired
    cdef object key_deserializer
    cdef object value_deserializer
    cdef bint plain  # neither of them
    cdef Py_ssize_t max_batch_bytes

    # The open batch: `remaining` records from `at` to `end`; `body` keeps decompressed bytes alive.
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef object body
    cdef int32_t remaining
    cdef int32_t last_delta
    cdef int32_t prior_delta
    cdef int64_t base_offset
    cdef int64_t last_offset
    cdef int64_t base_timestamp
    cdef bint append_time
    cdef int timestamp_type  # -1: none
    cdef int32_t epoch
    cdef Origin origin
    cdef list checksums  # of v0 and v1 messages

    cdef readonly Py_ssize_t taken_bytes  # by the last `take`, as in its max_bytes
    cdef readonly int64_t taken_records  # in all
    cdef bint busy  # `take` or `take_columns` is running
    cdef object fault  # None, or (class, message, details) of what `take` raises
    cdef object stop_fault  # the same for the bytes at `stop`

    cdef ConsumerRecord take_inside(self)

    cdef int find_end(self) except -1
    cdef void release(self) noexcept
    cdef bint open_next(self) except -1
    cdef object open_batch(self, BatchHeader* head)
    cdef uint32_t crc_of(self, const uint8_t* start, const uint8_t* end) except? 0
    cdef object open_body(self, BatchHeader* head, const uint8_t* body, const uint8_t* end)
    cdef int begin_records(self, BatchHeader* head) except -1
    cdef int begin(self, int32_t count, int timestamp_type) except -1
    cdef object read_markers(self, BatchHeader* head)
    cdef bint open_message(self) except -1
    cdef object unfold(self, Message* message, int64_t passed)
    cdef Origin origin_of_message(self)
    cdef int close_batch(self) except -1
    cdef int64_t likely_last(self, BatchHeader* head) noexcept
    cdef object bad_checksum(self, const uint8_t* after, int64_t last)
    cdef object missing_package(self, int codec, missing)
    cdef object bad_batch(self, str what)
    cdef object corrupt(self, str what, int64_t first, int64_t last)
    cdef int enter(self) except -1
    cdef void leave(self) noexcept
    cdef list take_out(self, Py_ssize_t max_records, Py_ssize_t max_bytes)
    cdef int end_taking(self, int64_t count) except -1
    cdef int64_t fill(self, Columns out) except -1
    cdef int rewind(self, int64_t offset, int32_t epoch) except -1
    cdef bint read_records(
        self, list out, Py_ssize_t max_records, Py_ssize_t* bytes_left
    ) except -1
    cdef bint read_columns(self, Columns out) except -1
    cdef int fail(self, str what) except -1
    cdef ConsumerRecord make(self, RecordView* view, int64_t offset)
