"""Columns of records: what the reader fills and `arrow.pyx` and `batch.pyx` show (columns.pyx)."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcore.records cimport layout
from kcore.records.layout cimport RecordView, fetch_ahead, read_record, read_short
from kcore.records.strings cimport Strings

# Why `read_rows` stopped, beside the faults of layout.pxd.
cdef enum Stop:
    ALL_READ = 0
    FULL = -1
    BAD_DELTA = -2
    NO_MEMORY = -3

cdef struct Run:
    # From this row on, to the next run's: what is the same for many rows.
    int64_t row
    int32_t topic
    int32_t partition
    int32_t leader_epoch
    int32_t timestamp_type

cdef struct Buffer:
    const uint8_t* start
    int64_t size

cdef struct Cursor:
    # Where the reader stands in its open batch; `read_rows` moves it.
    const uint8_t* at
    const uint8_t* end
    int32_t remaining
    int32_t last_delta
    int32_t prior_delta
    int32_t bad_delta
    int64_t base_offset
    int64_t next_offset
    int64_t offset  # of the record read last
    int64_t base_timestamp
    bint append_time


cdef class Columns:
    cdef readonly int64_t rows
    cdef readonly int64_t max_rows
    cdef readonly int64_t max_bytes
    cdef readonly int64_t size_bytes
    cdef readonly bint views
    cdef readonly bint full
    cdef readonly bint with_headers
    cdef readonly bint with_keys
    cdef readonly bint with_values
    cdef bint busy

    cdef int64_t capacity
    cdef int64_t* offsets
    cdef int64_t* timestamps
    cdef Strings keys
    cdef Strings values
    cdef Strings headers  # as on the wire, behind the count; without arrays until there is one

    cdef Run* runs
    cdef int64_t run_count
    cdef int64_t run_capacity
    cdef list topics

    cdef Buffer* buffers
    cdef int32_t buffer_count
    cdef int32_t buffer_capacity
    cdef list owners  # of the buffers, one each

    cdef int enter(self) except -1
    cdef int leave(self) except -1
    cdef int seal(self) except -1
    cdef list find_spans(self)
    cdef int begin_run(
        self, str topic, int32_t partition, int32_t leader_epoch, int32_t timestamp_type
    ) except -1
    cdef int lend(
        self, object owner, const uint8_t* start, const uint8_t* end, const uint8_t* limit
    ) except -1
    cdef int read_rows(self, Cursor* cursor) noexcept nogil
    cdef int read_copies(self, Cursor* cursor) noexcept nogil
    cdef int read_views(self, Cursor* cursor) noexcept nogil
    cdef bint has_room(self, Cursor* cursor) noexcept nogil
    cdef void copy_plain(self, Cursor* cursor) noexcept nogil
    cdef void view_plain(self, Cursor* cursor) noexcept nogil
    cdef void took_plain(self, Cursor* cursor, Cursor* here, int64_t row) noexcept nogil
    cdef bint has_headers(self) noexcept nogil
    cdef int put_nulls(self, int64_t row, int32_t key_size, int32_t value_size) noexcept nogil
    cdef int put_headers(
        self, int64_t row, const uint8_t* data, int32_t size, const uint8_t* end
    ) noexcept nogil
    cdef int cut(self, int64_t rows, int64_t size_bytes) noexcept
    cdef int reserve(self, int64_t rows, int64_t data_bytes) noexcept nogil
    cdef Run* run_of(self, int64_t row) noexcept
    cdef const uint8_t* find(self, Strings* column, int64_t row, int32_t* size) noexcept nogil
    cdef int64_t end_of(self, Run* run) noexcept
    cdef void take_spare(self) noexcept
    cdef void keep_spare(self) noexcept


# The cursor's steps.

cdef inline int next_record(Cursor* here, RecordView* view) noexcept nogil:
    """Read the record at `here`, whose offset must be behind the one before: a Fault, or a Stop."""
    fetch_ahead(here.at)
    cdef int wrong = <int> read_record(here.at, here.end, view)
    if wrong != <int> layout.FINE:
        return wrong
    if view.offset_delta <= here.prior_delta or view.offset_delta > here.last_delta:
        here.bad_delta = view.offset_delta
        return BAD_DELTA
    here.offset = here.base_offset + view.offset_delta
    return ALL_READ


cdef inline bint next_plain(Cursor* here, RecordView* view) noexcept nogil:
    """Read the record at `here` if it is one of the many that are short and fine, and have a key, a
    value and no headers.
    """
    fetch_ahead(here.at)
    cdef const uint8_t* stop = read_short(here.at, here.end, view)
    if stop == NULL or stop[0] != 0 or stop + 1 != view.end:
        return False
    if view.offset_delta <= here.prior_delta or view.offset_delta > here.last_delta:
        return False
    here.offset = here.base_offset + view.offset_delta
    return (view.key_size | view.value_size) >= 0


cdef inline void pass_record(Cursor* here, RecordView* view) noexcept nogil:
    here.prior_delta = view.offset_delta
    here.at = view.end
    here.remaining -= 1


cdef inline int32_t headers_size(RecordView* view) noexcept nogil:
    return <int32_t> (view.end - view.headers) if view.header_count else -1


cdef inline int64_t time_of(Cursor* here, int64_t delta) noexcept nogil:
    """Of a record, in ms; it may wrap around, as in Java, and must not be undefined."""
    if here.append_time:
        return here.base_timestamp
    return <int64_t> (<uint64_t> here.base_timestamp + <uint64_t> delta)
