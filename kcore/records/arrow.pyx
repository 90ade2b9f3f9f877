"""Columns as Arrow, without any Arrow library: the C Data Interface behind PyCapsules.

`ArrowBatch` gives one struct array (a record batch) whose children are Spark's Kafka columns:

    key binary, value binary, topic string, partition int32, offset int64,
    timestamp timestamp[us, UTC], timestampType int32, headers list<struct<key, value>>

or those of them that were asked for.
Whoever imports it gets pointers to our memory, no copies. Every array given away holds a reference
to the batch (cdata.pyx), the batch the columns, and they, when they are views, the fetched bytes.

Source: the specifications of the Arrow C stream interface and the Arrow PyCapsule interface.
"""

cimport cython
from cpython.mem cimport PyMem_RawFree
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF, PyObject
from libc.errno cimport ENOMEM
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from kcore.records.cdata cimport (
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
    calloc,
    child_array,
    child_schema,
    fill_array,
    fill_schema,
    free_array_capsule,
    free_schema_capsule,
    give_back,
    malloc,
    release_array,
    release_schema,
)
from kcore.records.columns cimport Columns, Run
from kcore.records.names cimport Names, repeated
from kcore.records.strings cimport (
    Strings, free_strings, put_copy, put_null, reserve_data, reserve_rows,
)
from kcore.records.varint cimport read_varint

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from *:
    int popcount "__builtin_popcount" (unsigned int) noexcept nogil

cdef enum Field:  # in the order of the schema
    KEY
    VALUE
    TOPIC
    PARTITION
    OFFSET
    TIMESTAMP
    TIMESTAMP_TYPE
    HEADERS
    FIELDS_MAX

cdef enum:
    HEADERS_FIRST = 64
    MICROSECONDS = 1000  # in a millisecond

# From -SURE_MS up to it, any time has its microseconds in 64 bits; it is a power of two.
cdef uint64_t SURE_MS = <uint64_t> 1 << 53

FIELD_NAMES: tuple[str, ...] = (
    "key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers",
)

cdef struct Source:
    PyObject* batch
    bint given


# Streams --------------------------------------------------------------------------------------


cdef int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept nogil:
    cdef Source* source = <Source*> stream.private_data
    with gil:
        try:
            (<ArrowBatch> source.batch).export_schema(out)
        except MemoryError:
            return ENOMEM
    return 0


cdef int stream_next(ArrowArrayStream* stream, ArrowArray* out) noexcept nogil:
    """The batch, and after it the end: a released array."""
    cdef Source* source = <Source*> stream.private_data
    memset(out, 0, sizeof(ArrowArray))
    if source.given:
        return 0
    with gil:
        try:
            (<ArrowBatch> source.batch).export_array(out)
        except MemoryError:
            return ENOMEM
    source.given = True
    return 0


cdef const char* stream_error(ArrowArrayStream* stream) noexcept nogil:
    return "no memory"


cdef void release_stream(ArrowArrayStream* stream) noexcept nogil:
    cdef Source* source = <Source*> stream.private_data
    stream.release = NULL
    stream.private_data = NULL
    give_back(source.batch)
    PyMem_RawFree(source)


cdef void free_stream_capsule(object capsule) noexcept:
    cdef ArrowArrayStream* stream
    stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release != NULL:  # not moved elsewhere
        stream.release(stream)
    PyMem_RawFree(stream)


# The batch ------------------------------------------------------------------------------------


@cython.final
@cython.no_gc
cdef class ArrowBatch:
    """Records as one Arrow record batch; `pyarrow.record_batch(it)`, `polars.DataFrame(it)`, ...

    columns: what the records are in. start, stop: of its rows. include_headers: whether there is a
    column of headers; the columns must have been made with them. dictionary: whether topic is
    dictionary-encoded. only: the columns there are (FIELD_NAMES), None for all; their order is that
    of the schema. What is not asked for is not made.

    It can be imported any number of times, and whatever was imported stays valid without it.
    """

    cdef Columns columns
    cdef int64_t start
    cdef readonly int64_t num_rows
    cdef readonly bint include_headers
    cdef readonly bint dictionary
    cdef unsigned int fields  # a bit each

    # Made here, for the rows of this batch; the rest is in the columns.
    cdef int64_t* timestamps
    cdef uint8_t* timestamps_valid
    cdef int64_t timestamps_null
    cdef int32_t* partitions
    cdef int32_t* kinds
    cdef int32_t* topics  # numbers in the dictionary
    cdef Names names  # the topics, or the dictionary
    cdef int32_t* header_lists
    cdef uint8_t* header_lists_valid
    cdef int64_t header_lists_null
    cdef int64_t header_count
    cdef int64_t header_capacity
    cdef Strings header_keys
    cdef Strings header_values
    cdef int64_t* buffer_sizes

    def __cinit__(
        self,
        Columns columns not None,
        int64_t start=0,
        stop=None,
        *,
        bint include_headers=False,
        bint dictionary=False,
        only=None,
    ):
        columns.seal()
        cdef int64_t end = columns.rows if stop is None else stop
        if not 0 <= start <= end <= columns.rows:
            raise ValueError(f"rows {start} to {end} of {columns.rows}")
        self.columns = columns
        self.start = start
        self.num_rows = end - start
        self.dictionary = dictionary
        self.choose(include_headers, only)
        if self.has(TIMESTAMP):
            self.make_timestamps()
        if self.has(PARTITION) or self.has(TIMESTAMP_TYPE) or (self.has(TOPIC) and dictionary):
            self.make_runs()
        if self.has(TOPIC):
            self.make_names()
        if self.include_headers:
            self.make_headers()
        if columns.views:
            self.make_sizes()

    def __dealloc__(self):
        PyMem_RawFree(self.timestamps)
        PyMem_RawFree(self.timestamps_valid)
        PyMem_RawFree(self.partitions)
        PyMem_RawFree(self.kinds)
        PyMem_RawFree(self.topics)
        PyMem_RawFree(self.header_lists)
        PyMem_RawFree(self.header_lists_valid)
        free_strings(&self.header_keys)
        free_strings(&self.header_values)
        PyMem_RawFree(self.buffer_sizes)

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        return f"<ArrowBatch of {self.num_rows} records>"

    @property
    def views(self) -> bool:
        """Whether keys and values are `binary_view` over the fetched bytes."""
        return self.columns.views

    def __arrow_c_schema__(self):
        """A capsule `arrow_schema`: a struct of the columns."""
        cdef ArrowSchema* schema = <ArrowSchema*> calloc(1, sizeof(ArrowSchema))
        capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule)
        self.export_schema(schema)
        return capsule

    def __arrow_c_array__(self, requested_schema=None):
        """Capsules `arrow_schema` and `arrow_array`. `requested_schema` is not looked at."""
        cdef ArrowArray* array = <ArrowArray*> calloc(1, sizeof(ArrowArray))
        capsule = PyCapsule_New(array, "arrow_array", free_array_capsule)
        self.export_array(array)
        return self.__arrow_c_schema__(), capsule

    def __arrow_c_stream__(self, requested_schema=None):
        """A capsule `arrow_array_stream` of this one batch. `requested_schema` is not looked at."""
        cdef ArrowArrayStream* stream
        cdef Source* source
        stream = <ArrowArrayStream*> calloc(1, sizeof(ArrowArrayStream))
        capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule)
        source = <Source*> calloc(1, sizeof(Source))
        Py_INCREF(self)
        source.batch = <PyObject*> self
        stream.private_data = source
        stream.get_schema = stream_schema
        stream.get_next = stream_next
        stream.get_last_error = stream_error
        stream.release = release_stream
        return capsule

    cdef int choose(self, bint include_headers, only) except -1:
        cdef int field
        if only is None:
            self.fields = (1 << FIELDS_MAX) - 1 if include_headers else (1 << HEADERS) - 1
        else:
            for field in range(<int> FIELDS_MAX):
                if FIELD_NAMES[field] in only:
                    self.fields |= 1 << field
        self.include_headers = self.has(HEADERS)
        for field, there in (
            (HEADERS, self.columns.with_headers),
            (KEY, self.columns.with_keys),
            (VALUE, self.columns.with_values),
        ):
            if self.has(field) and not there:
                raise ValueError(f"the columns were read without {FIELD_NAMES[field]}")
        return 0

    cdef inline bint has(self, int field) noexcept:
        return self.fields >> field & 1

    # Making what the columns do not have ----------------------------------------------------------

    cdef int make_timestamps(self) except -1:
        """Microseconds; null if they leave the range of 64 bits."""
        cdef const int64_t* source = self.columns.timestamps + self.start
        cdef int64_t highest = INT64_MAX // MICROSECONDS
        cdef int64_t lowest = -highest
        cdef int64_t row
        cdef uint64_t bits = 0
        cdef int64_t* to = <int64_t*> malloc(self.num_rows, sizeof(int64_t))
        self.timestamps = to
        with nogil:  # nothing here depends on a row: compilers make vectors of it
            for row in range(self.num_rows):
                bits |= <uint64_t> source[row] + SURE_MS
                to[row] = <int64_t> (<uint64_t> source[row] * MICROSECONDS)
        if bits < 2 * SURE_MS:
            return 0
        self.timestamps_valid = <uint8_t*> calloc(self.num_rows // 8 + 1, 1)
        for row in range(self.num_rows):
            self.timestamps[row] = 0
            if lowest <= source[row] <= highest:
                self.timestamps[row] = source[row] * MICROSECONDS
                self.timestamps_valid[row >> 3] |= <uint8_t> (1 << (row & 7))
            else:
                self.timestamps_null += 1
        return 0

    cdef int make_runs(self) except -1:
        """The columns partition and timestampType, and topic as numbers."""
        cdef Columns columns = self.columns
        cdef int64_t end = self.start + self.num_rows
        cdef int64_t index
        cdef int64_t first
        cdef int64_t after
        cdef Run* run
        self.partitions = <int32_t*> malloc(self.num_rows, sizeof(int32_t))
        self.kinds = <int32_t*> malloc(self.num_rows, sizeof(int32_t))
        if self.dictionary:
            self.topics = <int32_t*> malloc(self.num_rows, sizeof(int32_t))
        for index in range(columns.run_count):
            run = &columns.runs[index]
            first = max(run.row, self.start)
            after = min(end, columns.end_of(run))
            if first < after:
                repeat(self.partitions + first - self.start, run.partition, after - first)
                repeat(self.kinds + first - self.start, run.timestamp_type, after - first)
                if self.dictionary:
                    repeat(self.topics + first - self.start, run.topic, after - first)
        return 0

    cdef int make_names(self) except -1:
        """The column topic, or its dictionary."""
        cdef Columns columns = self.columns
        cdef list names = [topic.encode() for topic in columns.topics]
        cdef int64_t end = self.start + self.num_rows
        cdef int64_t index
        cdef Run* run
        if len(names) == 1 and not self.dictionary:
            self.names = repeated(names[0], self.num_rows)
            return 0
        self.names = Names.__new__(Names)
        self.names.add(b"", 0)
        if self.dictionary:
            for name in names:
                self.names.add(name, 1)
            return 0
        for index in range(columns.run_count):
            run = &columns.runs[index]
            first = max(run.row, self.start)
            after = min(end, columns.end_of(run))
            if first < after:
                self.names.add(names[run.topic], after - first)
        return 0

    cdef int make_headers(self) except -1:
        """Lists of (key, value) from what is on the wire; null for a record without headers."""
        cdef Columns columns = self.columns
        cdef int64_t row
        cdef int32_t size = 0
        cdef const uint8_t* at
        self.header_lists = <int32_t*> malloc(self.num_rows + 1, sizeof(int32_t))
        self.header_lists[0] = 0
        self.header_lists_valid = <uint8_t*> calloc(self.num_rows // 8 + 1, 1)
        self.reserve_header(0, 0)
        for row in range(self.num_rows):
            at = NULL
            if columns.has_headers():
                at = columns.find(&columns.headers, self.start + row, &size)
            if at == NULL:
                self.header_lists_null += 1
            else:
                self.header_lists_valid[row >> 3] |= <uint8_t> (1 << (row & 7))
                self.add_headers(at, at + size)
            self.header_lists[row + 1] = <int32_t> self.header_count
        return 0

    cdef int add_headers(self, const uint8_t* at, const uint8_t* end) except -1:
        """The headers of one record; the reader has checked them."""
        cdef int32_t size = 0
        cdef int32_t value_size = 0
        cdef Py_ssize_t length = 0
        cdef const uint8_t* key
        cdef str name
        while at != NULL and at < end:
            key = read_varint(at, end, &size)
            at = read_varint(key + size, end, &value_size)
            if not is_ascii(key, size):  # Arrow's strings are UTF-8: what is not is replaced
                name = PyUnicode_DecodeUTF8(<const char*> key, size, b"replace")
                key = <const uint8_t*> PyUnicode_AsUTF8AndSize(name, &length)
                size = <int32_t> length
            self.reserve_header(size, value_size)
            put_copy(&self.header_keys, self.header_count, key, size)
            put_copy(&self.header_values, self.header_count, at, value_size)
            if value_size < 0:
                put_null(&self.header_values, self.header_count, self.header_capacity)
            else:
                at += value_size
            self.header_count += 1
        return 0

    cdef int reserve_header(self, int32_t key_size, int32_t value_size) except -1:
        """Make room for one more."""
        cdef int64_t before = self.header_capacity
        cdef int64_t capacity = max(2 * before, HEADERS_FIRST)
        if self.header_count == before:
            if (
                reserve_rows(&self.header_keys, before, capacity, False) < 0
                or reserve_rows(&self.header_values, before, capacity, False) < 0
            ):
                raise MemoryError
            self.header_capacity = capacity
        if (
            reserve_data(&self.header_keys, key_size, 0) < 0
            or reserve_data(&self.header_values, value_size, 0) < 0
        ):
            raise MemoryError
        return 0

    cdef int make_sizes(self) except -1:
        """The sizes of the buffers that views point into."""
        cdef int32_t index
        self.buffer_sizes = <int64_t*> malloc(self.columns.buffer_count, sizeof(int64_t))
        for index in range(self.columns.buffer_count):
            self.buffer_sizes[index] = self.columns.buffers[index].size
        return 0

    # Giving away ----------------------------------------------------------------------------------

    cdef int export_schema(self, ArrowSchema* schema) except -1:
        cdef int field
        cdef int64_t at = 0
        try:
            fill_schema(schema, b"+s", b"", popcount(self.fields))
            schema.flags = 0
            for field in range(<int> FIELDS_MAX):
                if self.has(field):
                    self.export_type(schema, at, field)
                    at += 1
        except MemoryError:
            release_schema(schema)
            raise
        return 0

    cdef int export_type(self, ArrowSchema* parent, int64_t at, int field) except -1:
        cdef const char* binary = "z"
        cdef ArrowSchema* child
        if self.columns.views:
            binary = "vz"
        if field == KEY:
            child_schema(parent, at, binary, b"key")
        elif field == VALUE:
            child_schema(parent, at, binary, b"value")
        elif field == TOPIC and not self.dictionary:
            child_schema(parent, at, b"u", b"topic")
        elif field == TOPIC:
            child = child_schema(parent, at, b"i", b"topic")
            child.dictionary = <ArrowSchema*> calloc(1, sizeof(ArrowSchema))
            fill_schema(child.dictionary, b"u", b"", 0)
        elif field == PARTITION:
            child_schema(parent, at, b"i", b"partition")
        elif field == OFFSET:
            child_schema(parent, at, b"l", b"offset")
        elif field == TIMESTAMP:
            child_schema(parent, at, b"tsu:UTC", b"timestamp")
        elif field == TIMESTAMP_TYPE:
            child_schema(parent, at, b"i", b"timestampType")
        else:
            child = child_schema(parent, at, b"+l", b"headers", 1)
            child = child_schema(child, 0, b"+s", b"element", 2)
            child_schema(child, 0, b"u", b"key")
            child_schema(child, 1, b"z", b"value")
        return 0

    cdef int export_array(self, ArrowArray* array) except -1:
        cdef int field
        cdef int64_t at = 0
        try:
            fill_array(array, self, self.num_rows, 0, 1, popcount(self.fields))
            for field in range(<int> FIELDS_MAX):
                if self.has(field):
                    self.export_field(array, at, field)
                    at += 1
        except MemoryError:
            release_array(array)
            raise
        return 0

    cdef int export_field(self, ArrowArray* parent, int64_t at, int field) except -1:
        if field == KEY:
            self.export_strings(parent, at, &self.columns.keys)
        elif field == VALUE:
            self.export_strings(parent, at, &self.columns.values)
        elif field == TOPIC:
            self.export_topics(parent, at)
        elif field == PARTITION:
            self.export_numbers(parent, at, self.partitions)
        elif field == OFFSET:
            self.export_numbers(parent, at, self.columns.offsets).offset = self.first()
        elif field == TIMESTAMP:
            child = self.export_numbers(parent, at, self.timestamps)
            child.null_count = self.timestamps_null
            child.buffers[0] = self.timestamps_valid
        elif field == TIMESTAMP_TYPE:
            self.export_numbers(parent, at, self.kinds)
        else:
            self.export_headers(parent, at)
        return 0

    cdef ArrowArray* export_numbers(
        self, ArrowArray* parent, int64_t at, const void* numbers
    ) except NULL:
        cdef ArrowArray* child = child_array(parent, at, self, self.num_rows, 0, 2)
        child.buffers[1] = numbers
        return child

    cdef int64_t first(self) noexcept:
        """Where the rows begin in the columns; some importers want no offset without rows."""
        return self.start if self.num_rows else 0

    cdef int export_strings(self, ArrowArray* parent, int64_t index, Strings* column) except -1:
        cdef Columns columns = self.columns
        cdef bint whole = self.num_rows == columns.rows
        cdef int64_t nulls = column.nulls if whole or not column.nulls else -1  # -1: not counted
        cdef int64_t number
        cdef ArrowArray* child
        if not columns.views:
            child = child_array(parent, index, self, self.num_rows, nulls, 3)
            child.buffers[1] = column.offsets
            child.buffers[2] = column.data
        else:
            child = child_array(
                parent, index, self, self.num_rows, nulls, 3 + columns.buffer_count
            )
            child.buffers[1] = column.views
            for number in range(columns.buffer_count):
                child.buffers[2 + number] = columns.buffers[number].start
            child.buffers[2 + columns.buffer_count] = self.buffer_sizes
        child.buffers[0] = column.valid
        child.offset = self.first()
        return 0

    cdef int export_topics(self, ArrowArray* parent, int64_t at) except -1:
        cdef ArrowArray* child
        if not self.dictionary:
            child = child_array(parent, at, self, self.num_rows, 0, 3)
            child.buffers[1] = self.names.offsets
            child.buffers[2] = self.names.data
            return 0
        child = self.export_numbers(parent, at, self.topics)
        child.dictionary = <ArrowArray*> calloc(1, sizeof(ArrowArray))
        fill_array(child.dictionary, self, self.names.rows, 0, 3, 0)
        child.dictionary.buffers[1] = self.names.offsets
        child.dictionary.buffers[2] = self.names.data
        return 0

    cdef int export_headers(self, ArrowArray* parent, int64_t at) except -1:
        cdef ArrowArray* child
        cdef ArrowArray* pair
        child = child_array(parent, at, self, self.num_rows, self.header_lists_null, 2, 1)
        child.buffers[0] = self.header_lists_valid
        child.buffers[1] = self.header_lists
        pair = child_array(child, 0, self, self.header_count, 0, 1, 2)
        child = child_array(pair, 0, self, self.header_count, 0, 3)
        child.buffers[1] = self.header_keys.offsets
        child.buffers[2] = self.header_keys.data
        child = child_array(pair, 1, self, self.header_count, self.header_values.nulls, 3)
        child.buffers[0] = self.header_values.valid
        child.buffers[1] = self.header_values.offsets
        child.buffers[2] = self.header_values.data
        return 0


cdef void repeat(int32_t* to, int32_t number, int64_t count) noexcept nogil:
    cdef int64_t index
    for index in range(count):
        to[index] = number


cdef bint is_ascii(const uint8_t* at, int32_t size) noexcept nogil:
    cdef int32_t index
    cdef uint8_t bits = 0
    for index in range(size):
        bits |= at[index]
    return bits < 0x80
