"""One column of byte strings in Arrow's layouts: a row at a time, and its memory (strings.pyx)."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    INLINE_MAX = 12  # a view holds up to so many bytes itself
    SLACK = 16  # behind what was asked for: short strings are copied without counting

cdef struct View:
    # Arrow's view of a byte string. head: the length, and behind it the first four bytes. tail: the
    # next eight bytes if there are at most twelve, else the buffer's number and the place in it.
    uint64_t head
    uint64_t tail

cdef struct Strings:
    # One column of byte strings or nulls: `views`, or `offsets` (one more than rows) into `data`.
    # `valid` is Arrow's bitmap, and NULL as long as nothing is null.
    View* views
    int32_t* offsets
    uint8_t* data
    int64_t size
    int64_t capacity
    uint8_t* valid
    int64_t nulls

cdef struct Sink:
    # Where the next string of a column is copied to.
    uint8_t* start
    uint8_t* at
    int32_t* ends


cdef bint grow(void** array, int64_t count, size_t item_size) noexcept nogil
cdef void free_strings(Strings* column) noexcept nogil
cdef void reset_strings(Strings* column) noexcept nogil
cdef int reserve_rows(
    Strings* column, int64_t before, int64_t capacity, bint views
) noexcept nogil
cdef int64_t roomy(
    int64_t needed, int64_t before, int64_t first, int64_t usual
) noexcept nogil
cdef int reserve_data(Strings* column, int64_t more, int64_t usual) noexcept nogil
cdef int start_late(Strings* column, int64_t rows, int64_t capacity, bint views) noexcept nogil
cdef int put_null(Strings* column, int64_t row, int64_t capacity) noexcept nogil
cdef void cut_strings(Strings* column, int64_t rows, int64_t end) noexcept nogil


cdef inline Sink sink_of(Strings* column) noexcept nogil:
    """Where a column goes on; `size` is behind until the sink's owner says so."""
    cdef Sink sink
    sink.start = column.data
    sink.at = column.data + column.size
    sink.ends = column.offsets + 1
    return sink


cdef inline void put_next(
    Sink* sink, int64_t row, const uint8_t* data, int32_t size, const uint8_t* end
) noexcept nogil:
    """Copy a string in; `reserve_data` has made room. Nothing is read at or behind `end`."""
    if size > SLACK or end - data < SLACK:
        if size > 0:
            memcpy(sink.at, data, <size_t> size)
            sink.at += size
    else:  # most keys: two moves instead of a call
        memcpy(sink.at, data, SLACK)
        if size > 0:
            sink.at += size
    sink.ends[row] = <int32_t> (sink.at - sink.start)


cdef inline void put_copy(
    Strings* column, int64_t row, const uint8_t* data, int32_t size
) noexcept nogil:
    """Copy a string in; `reserve_data` has made room."""
    if size > 0:
        memcpy(column.data + column.size, data, <size_t> size)
        column.size += size
    column.offsets[row + 1] = <int32_t> column.size


cdef inline void put_view(
    View* view,
    const uint8_t* data,
    int32_t size,
    const uint8_t* end,
    const uint8_t* base,
    uint64_t buffer,
) noexcept nogil:
    """Make the view of a string at `data`; nothing is read at or behind `end`."""
    cdef uint64_t low = 0
    cdef uint32_t high = 0
    if size > INLINE_MAX:
        memcpy(&high, data, 4)
        view.head = <uint64_t> high << 32 | <uint32_t> size
        view.tail = <uint64_t> (data - base) << 32 | buffer
        return
    if size <= 0:
        view.head = view.tail = 0
        return
    if end - data >= INLINE_MAX:  # nearly always: two loads and a mask instead of a copy
        memcpy(&low, data, 8)
        memcpy(&high, data + 8, 4)
        if size < 8:
            low &= (<uint64_t> 1 << (8 * size)) - 1
            high = 0
        else:
            high &= <uint32_t> ((<uint64_t> 1 << (8 * (size - 8))) - 1)
    elif size <= 8:
        memcpy(&low, data, <size_t> size)
    else:
        memcpy(&low, data, 8)
        memcpy(&high, data + 8, <size_t> (size - 8))
    view.head = low << 32 | <uint32_t> size
    view.tail = low >> 32 | <uint64_t> high << 32
