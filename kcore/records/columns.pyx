"""Records as columns: offsets, timestamps, keys, values and headers of many records in C arrays.

`RecordReader.take_columns` fills them, a batch at a time with the GIL released, after the same
checks that `take` makes. The arrays are laid out as Arrow wants them, so that `arrow.pyx` shows
them as they are. Byte strings are either copied together (`offsets` into `data`) or left where they
are (`views`): then the fetched bytes, or what they were decompressed to, stay alive with the
columns.

What does not change from record to record (topic, partition, leader epoch, kind of timestamp) is
kept once for each run of rows.
"""

cimport cython
from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from kcore.records.layout cimport RecordView
from kcore.records.strings cimport (
    INLINE_MAX,
    SLACK,
    Sink,
    Strings,
    View,
    cut_strings,
    free_strings,
    grow,
    put_copy,
    put_next,
    put_null,
    put_view,
    reserve_data,
    reserve_rows,
    reset_strings,
    roomy,
    sink_of,
    start_late,
)
from kcore.records.varint cimport unlikely

from kcore import limits
from kcore.errors import ConcurrentUseError

cdef int64_t FIRST_ROWS = 1024

# What columns have unless the caller says otherwise.
cdef int64_t USUAL_ROWS = limits.COLUMN_ROWS
cdef int64_t USUAL_BYTES = limits.COLUMN_BYTES + SLACK

# The arrays of the last columns that went, for the next ones: fresh memory costs a page fault for
# every 4 KiB, as much as decoding does. Kept are no more than columns of the usual size need, one
# set for views and one for copies.
cdef int64_t SPARE_ROWS = USUAL_ROWS
cdef int64_t SPARE_BYTES = 2 * USUAL_BYTES

cdef struct Spare:
    int64_t capacity
    int64_t* offsets
    int64_t* timestamps
    Strings keys
    Strings values

cdef Spare[2] spares
memset(spares, 0, sizeof(spares))
cdef cython.pymutex spares_lock


@cython.final
@cython.no_gc
cdef class Columns:
    """Up to `max_rows` records with up to `max_bytes` on the wire, but one record in any case.

    views: leave keys and values where they are instead of copying them. with_headers: keep record
    headers, too. with_keys, with_values: whether those are kept; what they take on the wire counts
    in any case. rows: how many there are. size_bytes: what they took on the wire. full: no more
    fit.
    """

    # Out of the collector's sight, as loan.Loan is and for the same reason; it holds buffers and
    # names, so it cannot be part of a cycle.

    def __cinit__(
        self,
        int64_t max_rows=limits.MAX_COLUMN_ROWS,
        int64_t max_bytes=limits.MAX_INT32,
        *,
        bint views=False,
        bint with_headers=False,
        bint with_keys=True,
        bint with_values=True,
    ):
        if max_rows < 1 or max_bytes < 1:
            raise ValueError(f"no room for a record: {max_rows} rows, {max_bytes} bytes")
        # Plain columns have offsets of 32 bits: what would not fit them waits for the next columns.
        self.max_rows = min(max_rows, <int64_t> limits.MAX_COLUMN_ROWS)
        # A byte of a header's name that is no UTF-8 becomes three (U+FFFD).
        self.max_bytes = min(max_bytes, <int64_t> INT32_MAX // (3 if with_headers else 1))
        self.views = views
        self.with_headers = with_headers
        self.with_keys = with_keys
        self.with_values = with_values
        self.topics = []
        self.owners = []
        with spares_lock:
            self.take_spare()

    def __dealloc__(self):
        with spares_lock:
            self.keep_spare()
        PyMem_RawFree(self.offsets)
        PyMem_RawFree(self.timestamps)
        free_strings(&self.keys)
        free_strings(&self.values)
        free_strings(&self.headers)
        PyMem_RawFree(self.runs)
        PyMem_RawFree(self.buffers)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<Columns of {self.rows} records, {self.size_bytes} bytes>"

    cdef void take_spare(self) noexcept:
        cdef Spare* spare = &spares[self.views]
        self.capacity = spare.capacity
        self.offsets = spare.offsets
        self.timestamps = spare.timestamps
        self.keys = spare.keys
        self.values = spare.values
        memset(spare, 0, sizeof(Spare))

    cdef void keep_spare(self) noexcept:
        cdef Spare* spare = &spares[self.views]
        if (
            spare.capacity
            or self.capacity > SPARE_ROWS
            or self.keys.capacity + self.values.capacity > SPARE_BYTES
        ):
            return
        reset_strings(&self.keys)
        reset_strings(&self.values)
        spare.capacity = self.capacity
        spare.offsets = self.offsets
        spare.timestamps = self.timestamps
        spare.keys = self.keys
        spare.values = self.values
        self.offsets = self.timestamps = NULL
        memset(&self.keys, 0, sizeof(Strings))
        memset(&self.values, 0, sizeof(Strings))

    # Filling, for the reader -------------------------------------------------------------------

    cdef int enter(self) except -1:
        """Keep other threads out until `leave`; ConcurrentUseError if one is in."""
        with cython.critical_section(self):
            if self.busy:
                raise ConcurrentUseError("the columns are being filled, in another thread")
            self.busy = True
        return 0

    cdef int leave(self) except -1:
        with cython.critical_section(self):
            self.busy = False
        return 0

    cdef int seal(self) except -1:
        """No more rows: somebody looks at the arrays, which must not move any more."""
        self.enter()
        try:
            self.full = True
            # Without rows, too: importers of Arrow do not like NULL for a buffer.
            if self.reserve(1, 1) < 0:
                raise MemoryError
        finally:
            self.leave()
        return 0

    cdef int begin_run(
        self, str topic, int32_t partition, int32_t leader_epoch, int32_t timestamp_type
    ) except -1:
        """The rows that follow are of these."""
        cdef Run* last
        cdef int32_t number
        if not self.topics or (<str> self.topics[len(self.topics) - 1]) != topic:
            if topic in self.topics:
                number = self.topics.index(topic)
            else:
                number = <int32_t> len(self.topics)
                self.topics.append(topic)
        else:
            number = <int32_t> len(self.topics) - 1
        if self.run_count:
            last = &self.runs[self.run_count - 1]
            if (
                last.topic == number
                and last.partition == partition
                and last.leader_epoch == leader_epoch
                and last.timestamp_type == timestamp_type
            ):
                return 0
            if last.row == self.rows:  # it brought no rows
                self.run_count -= 1
        if self.run_count == self.run_capacity:
            if not grow(<void**> &self.runs, 2 * self.run_capacity + 8, sizeof(Run)):
                raise MemoryError
            self.run_capacity = 2 * self.run_capacity + 8
        last = &self.runs[self.run_count]
        last.row = self.rows
        last.topic = number
        last.partition = partition
        last.leader_epoch = leader_epoch
        last.timestamp_type = timestamp_type
        self.run_count += 1
        return 0

    cdef int lend(
        self, object owner, const uint8_t* start, const uint8_t* end, const uint8_t* limit
    ) except -1:
        """The rows that follow are from `start` to `end`; `owner` keeps all up to `limit` there."""
        cdef Buffer* last
        if not self.views:
            return 0
        if self.buffer_count:
            last = &self.buffers[self.buffer_count - 1]
            if (
                self.owners[self.buffer_count - 1] is owner
                and start >= last.start
                and end <= last.start + last.size
            ):
                return 0
        if self.buffer_count == self.buffer_capacity:
            if not grow(<void**> &self.buffers, 2 * self.buffer_capacity + 8, sizeof(Buffer)):
                raise MemoryError
            self.buffer_capacity = 2 * self.buffer_capacity + 8
        self.owners.append(owner)
        last = &self.buffers[self.buffer_count]
        last.start = start
        # Places in a buffer have 32 bits: what is cut off is lent again in its turn.
        last.size = min(limit - start, <int64_t> INT32_MAX)
        self.buffer_count += 1
        return 0

    cdef int read_rows(self, Cursor* cursor) noexcept nogil:
        """Read the open batch on, as far as there is room: a Fault, or a Stop."""
        cdef int stop = self.read_views(cursor) if self.views else self.read_copies(cursor)
        if stop == FULL or self.rows == self.max_rows or self.size_bytes >= self.max_bytes:
            self.full = True
        return stop

    # All of these keep what changes with every row in variables of their own: for all the compiler
    # knows a string may be copied over any field, which it would have to read again.

    cdef int read_copies(self, Cursor* cursor) noexcept nogil:
        if self.reserve(
            min(self.max_rows, self.rows + cursor.remaining),
            min(cursor.end - cursor.at, self.max_bytes - self.size_bytes),
        ) < 0:
            return NO_MEMORY
        if self.with_keys and self.with_values and self.has_room(cursor):
            self.copy_plain(cursor)
        cdef Cursor here = cursor[0]
        cdef RecordView view
        cdef int64_t row = self.rows
        cdef int64_t max_rows = self.max_rows
        cdef int64_t left = self.max_bytes - self.size_bytes
        cdef bint with_keys = self.with_keys
        cdef bint with_values = self.with_values
        cdef bint with_headers = self.with_headers
        cdef int stop = ALL_READ
        cdef Sink keys = sink_of(&self.keys)
        cdef Sink values = sink_of(&self.values)
        cdef int64_t* offsets = self.offsets
        cdef int64_t* timestamps = self.timestamps
        while here.remaining:
            stop = next_record(&here, &view)
            if stop != ALL_READ:
                break
            if here.offset >= here.next_offset:
                if row == max_rows or (view.end - here.at > left and row):
                    stop = FULL
                    break
                if unlikely(view.end - here.at > left):  # a first that is too large
                    if self.reserve(1, view.end - here.at) < 0:
                        stop = NO_MEMORY
                        break
                    keys, values = sink_of(&self.keys), sink_of(&self.values)
                left -= view.end - here.at
                offsets[row] = here.offset
                timestamps[row] = time_of(&here, view.timestamp_delta)
                if with_keys:
                    put_next(&keys, row, view.key, view.key_size, here.end)
                if with_values:
                    put_next(&values, row, view.value, view.value_size, here.end)
                if unlikely((view.key_size | view.value_size) < 0):
                    if self.put_nulls(row, view.key_size, view.value_size) < 0:
                        stop = NO_MEMORY
                        break
                if with_headers and (view.header_count or self.has_headers()):
                    if self.put_headers(row, view.headers, headers_size(&view), here.end) < 0:
                        stop = NO_MEMORY
                        break
                row += 1
                here.next_offset = here.offset + 1
            pass_record(&here, &view)
        cursor[0] = here
        self.keys.size = keys.at - keys.start
        self.values.size = values.at - values.start
        self.rows = row
        self.size_bytes = self.max_bytes - left
        return stop

    cdef int read_views(self, Cursor* cursor) noexcept nogil:
        cdef Buffer* lent = &self.buffers[self.buffer_count - 1]
        if self.reserve(min(self.max_rows, self.rows + cursor.remaining), 0) < 0:
            return NO_MEMORY
        if cursor.end <= lent.start + lent.size and self.has_room(cursor):
            self.view_plain(cursor)
        cdef Cursor here = cursor[0]
        cdef RecordView view
        cdef int64_t row = self.rows
        cdef int64_t max_rows = self.max_rows
        cdef int64_t left = self.max_bytes - self.size_bytes
        cdef uint64_t buffer = <uint64_t> (self.buffer_count - 1)
        cdef const uint8_t* base = self.buffers[buffer].start
        cdef const uint8_t* limit = base + self.buffers[buffer].size  # of what views can reach
        cdef bint with_headers = self.with_headers
        cdef int stop = ALL_READ
        cdef View* keys = self.keys.views
        cdef View* values = self.values.views
        cdef int64_t* offsets = self.offsets
        cdef int64_t* timestamps = self.timestamps
        while here.remaining:
            stop = next_record(&here, &view)
            if stop != ALL_READ:
                break
            if here.offset >= here.next_offset:
                if row == max_rows or view.end > limit or (view.end - here.at > left and row):
                    stop = FULL
                    break
                left -= view.end - here.at
                offsets[row] = here.offset
                timestamps[row] = time_of(&here, view.timestamp_delta)
                put_view(&keys[row], view.key, view.key_size, here.end, base, buffer)
                put_view(&values[row], view.value, view.value_size, here.end, base, buffer)
                if unlikely((view.key_size | view.value_size) < 0):
                    if self.put_nulls(row, view.key_size, view.value_size) < 0:
                        stop = NO_MEMORY
                        break
                if with_headers and (view.header_count or self.has_headers()):
                    if self.put_headers(row, view.headers, headers_size(&view), here.end) < 0:
                        stop = NO_MEMORY
                        break
                row += 1
                here.next_offset = here.offset + 1
            pass_record(&here, &view)
        cursor[0] = here
        self.rows = row
        self.size_bytes = self.max_bytes - left
        return stop

    # Most batches are plain throughout (`next_plain`). These two stop at the first record that is
    # not, and the two above go on: a loop with nothing else in it keeps all it needs in registers.

    cdef bint has_room(self, Cursor* cursor) noexcept nogil:
        """Whether all that the open batch has left is wanted, and no more bytes than may come."""
        return (
            cursor.base_offset + cursor.prior_delta + 1 >= cursor.next_offset
            and cursor.end - cursor.at <= self.max_bytes - self.size_bytes
            and not self.has_headers()
        )

    cdef void copy_plain(self, Cursor* cursor) noexcept nogil:
        cdef Cursor here = cursor[0]
        cdef RecordView view
        cdef int64_t row = self.rows
        cdef int64_t end = min(self.max_rows, row + here.remaining)
        cdef Sink keys = sink_of(&self.keys)
        cdef Sink values = sink_of(&self.values)
        cdef int64_t* offsets = self.offsets
        cdef int64_t* timestamps = self.timestamps
        while row < end and next_plain(&here, &view):
            offsets[row] = here.offset
            timestamps[row] = time_of(&here, view.timestamp_delta)
            put_next(&keys, row, view.key, view.key_size, here.end)
            put_next(&values, row, view.value, view.value_size, here.end)
            pass_record(&here, &view)
            row += 1
        self.keys.size = keys.at - keys.start
        self.values.size = values.at - values.start
        self.took_plain(cursor, &here, row)

    cdef void view_plain(self, Cursor* cursor) noexcept nogil:
        cdef Cursor here = cursor[0]
        cdef RecordView view
        cdef int64_t row = self.rows
        cdef int64_t end = min(self.max_rows, row + here.remaining)
        cdef uint64_t buffer = <uint64_t> (self.buffer_count - 1)
        cdef const uint8_t* base = self.buffers[buffer].start
        cdef View* keys = self.keys.views
        cdef View* values = self.values.views
        cdef int64_t* offsets = self.offsets
        cdef int64_t* timestamps = self.timestamps
        while row < end and next_plain(&here, &view):
            offsets[row] = here.offset
            timestamps[row] = time_of(&here, view.timestamp_delta)
            put_view(&keys[row], view.key, view.key_size, here.end, base, buffer)
            put_view(&values[row], view.value, view.value_size, here.end, base, buffer)
            pass_record(&here, &view)
            row += 1
        self.took_plain(cursor, &here, row)

    cdef inline void took_plain(self, Cursor* cursor, Cursor* here, int64_t row) noexcept nogil:
        """Rows up to `row` were read from `cursor` to `here`."""
        self.size_bytes += here.at - cursor.at
        cursor.at, cursor.remaining = here.at, here.remaining
        cursor.prior_delta = here.prior_delta
        if row > self.rows:
            cursor.next_offset = here.base_offset + here.prior_delta + 1
        self.rows = row

    cdef int put_nulls(self, int64_t row, int32_t key_size, int32_t value_size) noexcept nogil:
        if key_size < 0 and self.with_keys and put_null(&self.keys, row, self.capacity) < 0:
            return -1
        if value_size < 0 and self.with_values:
            return put_null(&self.values, row, self.capacity)
        return 0

    cdef bint has_headers(self) noexcept nogil:
        return self.headers.views != NULL or self.headers.offsets != NULL

    cdef int put_headers(
        self, int64_t row, const uint8_t* data, int32_t size, const uint8_t* end
    ) noexcept nogil:
        """The headers of one row; null if it has none."""
        cdef int32_t last = self.buffer_count - 1
        if not self.has_headers() and start_late(
            &self.headers, row, self.capacity, self.views
        ) < 0:
            return -1
        if self.views:
            put_view(
                &self.headers.views[row], data, size, end, self.buffers[last].start, last
            )
        else:
            if reserve_data(&self.headers, size, 0) < 0:
                return -1
            put_copy(&self.headers, row, data, size)
        return put_null(&self.headers, row, self.capacity) if size < 0 else 0

    cdef int reserve(self, int64_t rows, int64_t data_bytes) noexcept nogil:
        """Make room for so many rows in all, and for so many more bytes of keys and of values."""
        cdef int64_t capacity
        cdef int64_t usual = min(self.max_bytes + SLACK, USUAL_BYTES)
        if not self.views and (
            (self.with_keys and reserve_data(&self.keys, data_bytes, usual) < 0)
            or (self.with_values and reserve_data(&self.values, data_bytes, usual) < 0)
        ):
            return -1
        if rows <= self.capacity:
            return 0
        capacity = roomy(rows, self.capacity, FIRST_ROWS, min(self.max_rows, USUAL_ROWS))
        capacity = min(capacity, self.max_rows)
        if (
            not grow(<void**> &self.offsets, capacity, sizeof(int64_t))
            or not grow(<void**> &self.timestamps, capacity, sizeof(int64_t))
            or reserve_rows(&self.keys, self.capacity, capacity, self.views) < 0
            or reserve_rows(&self.values, self.capacity, capacity, self.views) < 0
        ):
            return -1
        if self.has_headers() and (
            reserve_rows(&self.headers, self.capacity, capacity, self.views) < 0
        ):
            return -1
        self.capacity = capacity
        return 0

    cdef int cut(self, int64_t rows, int64_t size_bytes) noexcept:
        """Forget the rows behind `rows`: what was read of a call that failed."""
        cdef int64_t end = min(self.rows + 1, self.capacity)  # memory may have ended within a row
        cut_strings(&self.keys, rows, end)
        cut_strings(&self.values, rows, end)
        if self.has_headers():
            cut_strings(&self.headers, rows, end)
        self.rows = rows
        self.size_bytes = size_bytes
        self.full = False
        while self.run_count and self.runs[self.run_count - 1].row > rows:
            self.run_count -= 1
        return 0

    # Looking -----------------------------------------------------------------------------------

    cdef Run* run_of(self, int64_t row) noexcept:
        """The run that a row is of."""
        cdef int64_t low = 0
        cdef int64_t high = self.run_count - 1
        cdef int64_t middle
        while low < high:
            middle = (low + high + 1) // 2
            if self.runs[middle].row <= row:
                low = middle
            else:
                high = middle - 1
        return &self.runs[low]

    cdef int64_t end_of(self, Run* run) noexcept:
        """The row behind a run's last."""
        return self.rows if run == &self.runs[self.run_count - 1] else (run + 1).row

    cdef const uint8_t* find(self, Strings* column, int64_t row, int32_t* size) noexcept nogil:
        """The bytes of a row; NULL if they are null."""
        cdef View* view
        if column.valid != NULL and not column.valid[row >> 3] & <uint8_t> (1 << (row & 7)):
            return NULL
        if not self.views:
            size[0] = column.offsets[row + 1] - column.offsets[row]
            return column.data + column.offsets[row]
        view = &column.views[row]
        size[0] = <int32_t> <uint32_t> view.head
        if size[0] <= INLINE_MAX:
            return <const uint8_t*> view + 4
        return self.buffers[<uint32_t> view.tail].start + (view.tail >> 32)

    def spans(self) -> list:
        """The rows by partition, in order: (topic, partition, first row, row behind the last)."""
        self.enter()
        try:
            return self.find_spans()
        finally:
            self.leave()

    cdef list find_spans(self):
        cdef list found = []
        cdef int64_t index
        cdef int64_t start = 0
        cdef Run* run
        cdef Run* after
        for index in range(self.run_count):
            run = &self.runs[index]
            if run.row >= self.rows:
                break
            after = run + 1
            if index + 1 < self.run_count and after.row < self.rows:
                if after.topic == run.topic and after.partition == run.partition:
                    continue
                found.append((self.topics[run.topic], run.partition, start, after.row))
                start = after.row
            else:
                found.append((self.topics[run.topic], run.partition, start, self.rows))
                break
        return found
