"""Rows of Arrow columns on their way into batches, without an object a row.

Taken is whatever has `__arrow_c_stream__` or `__arrow_c_array__` (pyarrow, polars, duckdb,
nanoarrow, our own columns) and is a table of these columns, by name, the ones Spark's Kafka sink
takes:

    value      binary or string, of any Arrow layout; needed
    key        the same
    topic      string, also dictionary-encoded
    partition  int32 or int64; null: chosen by the key
    timestamp  timestamp of any unit, or int64 ms; null: now
    headers    list of struct<key: string, value: binary>, or a map

Source: the Arrow C data and C stream interfaces. What the structs say of themselves is believed, as
everywhere in Arrow: they are memory of this process.
"""

cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset, strcmp, strncmp

from kcore.produce.column cimport (
    ABSENT,
    FIXED,
    INDEX8,
    INT32,
    INT64,
    NULLS,
    OFFSETS32,
    OFFSETS64,
    PLAIN,
    VIEWS,
    Column,
    Index,
    field_at,
    is_null,
    largest,
    number_at,
)
from kcore.produce.murmur cimport partition_at
from kcore.records.builder cimport BatchBuilder, Field
from kcore.records.cdata cimport ArrowArray, ArrowArrayStream, ArrowSchema
from kcore.records.varint cimport varint_size, write_varlong

cdef enum:
    RECORD_OVERHEAD = 32  # accumulator.RECORD_OVERHEAD
    BATCH_HEADER = 61  # accumulator.BATCH_OVERHEAD


class ColumnError(TypeError):
    """A table that cannot be sent as it is; the text says which column, and what it may be."""


# What columns are ----------------------------------------------------------------------------


cdef int describe(
    Column* column, const ArrowSchema* schema, const ArrowArray* array, str name, bint numeric
) except -1:
    """Make out how a column is laid out; array: NULL of a stream without batches."""
    cdef const char* kind = schema.format
    cdef int size
    column.index = PLAIN
    column.scale = 1
    column.indices = column.values = array
    if schema.dictionary != NULL:
        size = "cCsSiIlL".find(kind.decode())  # int8, uint8, ... uint64
        column.index = <Index> (INDEX8 + size)
        if size < 0:
            raise ColumnError(f"column {name}: dictionary indices of format {kind.decode()!r}")
        column.values = array.dictionary if array != NULL else NULL
        kind = schema.dictionary.format
    if strcmp(kind, "n") == 0:
        column.layout = NULLS
    elif numeric:
        describe_number(column, kind, name)
    elif strcmp(kind, "z") == 0 or strcmp(kind, "u") == 0:
        column.layout = OFFSETS32
    elif strcmp(kind, "Z") == 0 or strcmp(kind, "U") == 0:
        column.layout = OFFSETS64
    elif strcmp(kind, "vz") == 0 or strcmp(kind, "vu") == 0:
        column.layout = VIEWS
    elif strncmp(kind, "w:", 2) == 0:
        column.layout = FIXED
        column.width = int(kind[2:].decode())
    else:
        raise ColumnError(
            f"column {name} is of Arrow format {kind.decode()!r}: it has to be binary or string"
        )
    return 0


cdef int describe_number(Column* column, const char* kind, str name) except -1:
    if column.index != PLAIN:
        raise ColumnError(f"column {name} must not be dictionary-encoded")
    column.layout = INT64
    if strcmp(kind, "i") == 0:
        column.layout = INT32
    elif strcmp(kind, "l") == 0:
        pass
    elif name == "timestamp" and strncmp(kind, "tss:", 4) == 0:
        column.scale = -1000
    elif name == "timestamp" and strncmp(kind, "tsm:", 4) == 0:
        pass
    elif name == "timestamp" and strncmp(kind, "tsu:", 4) == 0:
        column.scale = 1000
    elif name == "timestamp" and strncmp(kind, "tsn:", 4) == 0:
        column.scale = 1_000_000
    else:
        wanted = "a timestamp, or int64 ms" if name == "timestamp" else "int32 or int64"
        raise ColumnError(
            f"column {name} is of Arrow format {kind.decode()!r}: it has to be {wanted}"
        )
    return 0


# The rows ------------------------------------------------------------------------------------


@cython.final
cdef class Rows:
    """One record batch. length: its rows. has_topic: whether it says where they go."""

    cdef object capsules  # keep alive what is pointed at
    cdef ArrowArray owned  # of a stream: released with this
    cdef bint owns
    cdef Column key
    cdef Column value
    cdef Column topic
    cdef Column partition
    cdef Column timestamp
    cdef Column header_key
    cdef Column header_value
    cdef const ArrowArray* headers
    cdef const ArrowArray* header_items
    cdef bint wide_headers
    cdef uint8_t* scratch
    cdef Py_ssize_t scratch_size
    cdef int64_t checked_until  # rows before it have partitions that exist, if there are
    cdef int64_t checked_count  # so many
    cdef readonly int64_t length
    cdef readonly bint has_topic

    def __cinit__(self) -> None:
        memset(&self.owned, 0, sizeof(ArrowArray))

    def __dealloc__(self) -> None:
        if self.owns and self.owned.release != NULL:
            self.owned.release(&self.owned)
        PyMem_RawFree(self.scratch)

    cdef int look(self, const ArrowSchema* schema, const ArrowArray* array) except -1:
        cdef int64_t at
        cdef const ArrowSchema* child
        if strcmp(schema.format, "+s") != 0:
            raise ColumnError("not a table: give one with a column `value`")
        if array != NULL:
            if is_sliced(array):
                raise ColumnError("a struct with an offset or nulls of its own is not a table")
            self.length = array.length
        names = set()
        for at in range(schema.n_children):
            child = schema.children[at]
            name = name_of(child)
            if name in names:
                raise ColumnError(f"there are two columns {name!r}")
            names.add(name)
            self.look_at(child, child_of(array, at), name)
        if self.value.layout == ABSENT:
            raise ColumnError("there is no column `value`")
        self.has_topic = self.topic.layout != ABSENT
        return 0

    cdef int look_at(self, const ArrowSchema* schema, const ArrowArray* array, str name) except -1:
        if name == "key":
            describe(&self.key, schema, array, name, False)
        elif name == "value":
            describe(&self.value, schema, array, name, False)
        elif name == "topic":
            describe(&self.topic, schema, array, name, False)
        elif name == "partition":
            describe(&self.partition, schema, array, name, True)
        elif name == "timestamp":
            describe(&self.timestamp, schema, array, name, True)
        elif name == "headers":
            self.look_at_headers(schema, array)
        else:
            raise ColumnError(
                f"column {name!r} means nothing here: there are key, value, topic, partition, "
                "timestamp and headers"
            )
        return 0

    cdef int look_at_headers(self, const ArrowSchema* schema, const ArrowArray* array) except -1:
        cdef const ArrowSchema* item
        cdef const ArrowArray* items
        cdef int key
        cdef int value
        if strcmp(schema.format, "n") == 0:
            return 0
        self.wide_headers = strcmp(schema.format, "+L") == 0
        if not self.wide_headers and strcmp(schema.format, "+l") and strcmp(schema.format, "+m"):
            raise ColumnError("column headers: it has to be a list of struct<key, value>")
        item = schema.children[0]
        if strcmp(item.format, "+s") != 0 or item.n_children != 2:
            raise ColumnError("column headers: its items have to be struct<key, value>")
        names = [name_of(item.children[0]), name_of(item.children[1])]
        if strcmp(schema.format, "+m") == 0:
            names = ["key", "value"]  # whatever a map calls them
        if sorted(names) != ["key", "value"]:
            raise ColumnError(
                f"column headers: its items have the fields {names[0]!r} and {names[1]!r}: "
                "they have to be key and value"
            )
        key, value = names.index("key"), names.index("value")
        self.headers = array
        self.header_items = items = child_of(array, 0)
        describe(&self.header_key, item.children[key], child_of(items, key), "headers.key", False)
        describe(
            &self.header_value, item.children[value], child_of(items, value), "headers.value", False
        )
        return 0

    # Asked before anything is sent ---------------------------------------------------------------

    def topic_run(self, int64_t begin) -> tuple[str | None, int]:
        """The topic of a row (None: null), and the first row behind it with another one."""
        cdef Field first = field_at(&self.topic, begin)
        cdef Field other
        cdef int64_t end = begin + 1
        while end < self.length:
            other = field_at(&self.topic, end)
            if other.size != first.size:
                break
            if first.size > 0 and memcmp(first.data, other.data, first.size):
                break
            end += 1
        if first.size < 0:
            return None, end
        return first.data[:first.size].decode("utf-8", "replace"), end

    def too_large(self, int64_t limit) -> tuple[int, int] | None:
        """The first row whose record may take more than `limit` bytes, and how many; else None."""
        cdef int64_t row
        cdef int64_t size
        if not self.length:
            return None
        if self.headers == NULL and (
            RECORD_OVERHEAD
            + largest(&self.key, self.length, limit)
            + largest(&self.value, self.length, limit)
            <= limit
        ):
            return None
        for row in range(self.length):
            size = self.size_of(row)
            if size > limit:
                return row, size
        return None

    def unfit(self) -> tuple[int, str] | None:
        """The first row that is no record, whatever the topic, and why; else None."""
        cdef int64_t row
        cdef int64_t at
        cdef int64_t begin = 0
        cdef int64_t end = 0
        cdef int64_t number = 0
        if self.headers == NULL and self.timestamp.layout == ABSENT:
            return None
        for row in range(self.length):
            if number_at(&self.timestamp, row, &number) and number < 0:
                return row, f"its timestamp, {number} ms, is before 1970"
            if number == INT64_MAX and self.timestamp.scale < 0:
                return row, f"its timestamp, in ms, is more than {number}"
            begin = end = 0
            self.header_range(row, &begin, &end)
            for at in range(begin, end):
                if self.header_key_at(at).size < 0:
                    return row, "a header without a key"
        return None

    cdef inline Field header_key_at(self, int64_t at) noexcept nogil:
        cdef Field none
        # The range counts the offset of the items in, which `is_null` adds itself.
        if is_null(self.header_items, at - self.header_items.offset):
            none.data = NULL
            none.size = -1
            return none
        return field_at(&self.header_key, at)

    def bad_partition(self, int64_t begin, int64_t end, int64_t count) -> tuple[int, int] | None:
        """The first row, of these, with a partition that is none of `count`, and which."""
        cdef int64_t row
        cdef int64_t number = 0
        if end <= self.checked_until and count == self.checked_count:
            return None  # rows are poured in several goes; each is looked at once
        for row in range(begin, end):
            if number_at(&self.partition, row, &number) and not 0 <= number < count:
                return row, number
        self.checked_until = end
        self.checked_count = count
        return None

    cdef int64_t size_of(self, int64_t row) noexcept nogil:
        """The most that a row takes as a record."""
        cdef Field key = field_at(&self.key, row)
        cdef Field value = field_at(&self.value, row)
        cdef int64_t size = RECORD_OVERHEAD + max(key.size, 0) + max(value.size, 0)
        return size + self.header_room(row)

    cdef inline int64_t header_room(self, int64_t row) noexcept nogil:
        """The most that a row's headers take."""
        cdef int64_t size = 0
        cdef int64_t begin = 0
        cdef int64_t end = 0
        cdef Field item
        if self.headers == NULL:
            return 0
        self.header_range(row, &begin, &end)
        while begin < end:
            item = field_at(&self.header_key, begin)
            size += 10 + max(item.size, 0)
            item = field_at(&self.header_value, begin)
            size += max(item.size, 0)
            begin += 1
        return size

    # Into batches --------------------------------------------------------------------------------

    def fill(self, int64_t begin, int64_t end, lane) -> int:
        """Append rows until `end`, or until there is no room; the first row that was not taken.

        lane: a `feeding.Feed`, which has the open batches of a topic.
        """
        cdef list builders = lane.builders
        cdef int32_t count = <int32_t> len(builders)
        cdef int64_t limit = lane.raw_limit
        cdef int64_t left = lane.room_bytes
        cdef int64_t now_ms = lane.wall_ms
        cdef bint by_key = lane.by_key
        cdef int64_t sticky = lane.sticky
        cdef int64_t sticky_left = lane.sticky_bytes
        cdef int64_t row = begin
        cdef int64_t number = 0
        cdef int64_t timestamp
        cdef int64_t size
        cdef Field key
        cdef Field value
        cdef Field headers
        cdef BatchBuilder builder
        headers.data = NULL
        headers.size = -1
        while row < end:
            key = field_at(&self.key, row)
            value = field_at(&self.value, row)
            size = RECORD_OVERHEAD + max(key.size, 0) + max(value.size, 0) + self.header_room(row)
            if size > left:
                break
            if not number_at(&self.partition, row, &number):
                if key.size >= 0 and by_key:
                    number = partition_at(key.data, key.size, count)
                else:
                    if sticky_left <= 0:
                        sticky, sticky_left = lane.move_on()
                    number = sticky
                    sticky_left -= size
            if not 0 <= number < count:  # the C below does not look
                raise IndexError(f"partition {number} of {count}")
            builder = <BatchBuilder> builders[<Py_ssize_t> number]
            if builder is None or builder.used + size > limit:
                if size + BATCH_HEADER > left or not lane.open_batch(number, size):
                    break
                builder = <BatchBuilder> builders[<Py_ssize_t> number]
                if not builder.record_count:
                    left -= BATCH_HEADER
            timestamp = now_ms
            number_at(&self.timestamp, row, &timestamp)
            if self.headers != NULL:
                headers = self.pack_headers(row)
            builder.add(timestamp, builder.last_delta + 1, key, value, headers)
            left -= size
            row += 1
        lane.sticky_bytes = sticky_left
        return row

    cdef void header_range(self, int64_t row, int64_t* begin, int64_t* end) noexcept nogil:
        cdef const void* offsets
        if self.headers == NULL or is_null(self.headers, row):
            return
        row += self.headers.offset
        offsets = self.headers.buffers[1]
        if self.wide_headers:
            begin[0] = (<const int64_t*> offsets)[row]
            end[0] = (<const int64_t*> offsets)[row + 1]
        else:
            begin[0] = (<const int32_t*> offsets)[row]
            end[0] = (<const int32_t*> offsets)[row + 1]
        # The items are children of a struct, whose own offset comes on top.
        begin[0] += self.headers.children[0].offset
        end[0] += self.headers.children[0].offset

    cdef Field pack_headers(self, int64_t row) except *:
        """A row's headers as on the wire, in the scratch; size -1: there are none."""
        cdef Field packed
        cdef Field item
        cdef int64_t begin = 0
        cdef int64_t end = 0
        cdef int64_t at
        cdef Py_ssize_t size
        cdef uint8_t* pos
        packed.data = NULL
        packed.size = -1
        self.header_range(row, &begin, &end)
        if begin == end:
            return packed
        size = varint_size(<int32_t> (end - begin))
        for at in range(begin, end):
            item = field_at(&self.header_key, at)
            size += 5 + max(item.size, 0)
            item = field_at(&self.header_value, at)
            size += 5 + max(item.size, 0)
        self.reserve(size)
        pos = write_varlong(self.scratch, end - begin)
        for at in range(begin, end):
            item = field_at(&self.header_key, at)  # not null: see `unfit`
            pos = write_field(pos, item)
            pos = write_field(pos, field_at(&self.header_value, at))
        packed.data = self.scratch
        packed.size = pos - self.scratch
        return packed

    cdef int reserve(self, Py_ssize_t size) except -1:
        cdef void* grown
        if size > self.scratch_size:
            grown = PyMem_RawRealloc(self.scratch, 2 * size)
            if grown == NULL:
                raise MemoryError
            self.scratch = <uint8_t*> grown
            self.scratch_size = 2 * size
        return 0


cdef str name_of(const ArrowSchema* schema):
    return schema.name.decode("utf-8", "replace") if schema.name != NULL else ""


cdef const ArrowArray* child_of(const ArrowArray* array, int64_t at) noexcept:
    return array.children[at] if array != NULL else NULL


cdef bint is_sliced(const ArrowArray* array) noexcept nogil:
    return array.offset != 0 or (
        array.null_count != 0 and array.n_buffers > 0 and array.buffers[0] != NULL
    )


cdef inline uint8_t* write_field(uint8_t* at, Field item) noexcept:
    if item.size < 0:
        return write_varlong(at, -1)
    at = write_varlong(at, item.size)
    memcpy(at, item.data, item.size)
    return at + item.size


# Whole tables --------------------------------------------------------------------------------


def read_rows(data):
    """Every record batch of a table or stream, one after the other, as `Rows`; one without rows of
    a stream that has none: whether a table can be sent is a matter of its columns.

    ColumnError (a TypeError): not Arrow data, or columns that cannot be sent.
    """
    if hasattr(data, "__arrow_c_stream__"):
        yield from _read_stream(data)
    elif hasattr(data, "__arrow_c_array__"):
        yield _read_array(data)
    else:
        raise ColumnError(
            f"{type(data).__name__} has neither __arrow_c_stream__ nor __arrow_c_array__"
        )


cdef Rows _read_array(data):
    schema, array = data.__arrow_c_array__()
    cdef Rows rows = Rows()
    rows.capsules = (schema, array)
    rows.look(
        <const ArrowSchema*> PyCapsule_GetPointer(schema, "arrow_schema"),
        <const ArrowArray*> PyCapsule_GetPointer(array, "arrow_array"),
    )
    return rows


@cython.final
cdef class _Schema:
    """The schema of a stream, released with the last of its batches."""

    cdef ArrowSchema schema

    def __cinit__(self) -> None:
        memset(&self.schema, 0, sizeof(ArrowSchema))

    def __dealloc__(self) -> None:
        if self.schema.release != NULL:
            self.schema.release(&self.schema)


def _read_stream(data):
    cdef ArrowArrayStream* stream
    cdef Rows rows
    cdef _Schema schema = _Schema()
    cdef int failed = 0
    cdef bint begun = False
    capsule = data.__arrow_c_stream__()
    stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.get_schema(stream, &schema.schema):
        raise ColumnError(f"the stream has no schema: {_last_error(stream)}")
    while True:
        rows = Rows()
        rows.owns = True
        rows.capsules = (capsule, schema)
        with nogil:  # it may run for long, or need other threads that want the GIL
            failed = stream.get_next(stream, &rows.owned)
        if failed:
            raise ColumnError(f"the stream broke off: {_last_error(stream)}")
        if rows.owned.release == NULL:
            if not begun:
                rows.look(&schema.schema, NULL)
                yield rows
            return
        begun = True
        rows.look(&schema.schema, &rows.owned)
        yield rows


cdef str _last_error(ArrowArrayStream* stream):
    cdef const char* text = stream.get_last_error(stream)
    return "" if text == NULL else text.decode("utf-8", "replace")
