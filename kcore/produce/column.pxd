"""One value of an Arrow column, wherever its layout has put it.

Source: the Arrow columnar format. What the structs say is believed: they are memory of this
process.
"""

from libc.stdint cimport (
    INT64_MAX,
    INT64_MIN,
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
)
from libc.string cimport memcpy

from kcore.records.builder cimport Field
from kcore.records.cdata cimport ArrowArray

cdef enum:
    INLINE_SIZE = 12  # what a view holds itself

cdef enum Layout:
    ABSENT
    NULLS
    OFFSETS32
    OFFSETS64
    VIEWS
    FIXED
    INT32
    INT64

cdef enum Index:
    PLAIN  # the values are in the column itself
    INDEX8
    UNSIGNED8
    INDEX16
    UNSIGNED16
    INDEX32
    UNSIGNED32
    INDEX64
    UNSIGNED64  # read as INDEX64: nobody has so many


cdef struct Column:
    Layout layout
    Index index  # of dictionary-encoded columns; `values` is the dictionary then
    int64_t width  # of FIXED
    int64_t scale  # of times: a positive one divides, a negative one multiplies
    const ArrowArray* indices
    const ArrowArray* values


cdef inline bint is_null(const ArrowArray* array, int64_t row) noexcept nogil:
    cdef const uint8_t* bits = <const uint8_t*> array.buffers[0] if array.n_buffers else NULL
    if bits == NULL or array.null_count == 0:
        return False
    row += array.offset
    return not bits[row >> 3] >> (row & 7) & 1


cdef inline int64_t dictionary_row(const Column* column, int64_t row) noexcept nogil:
    """Where a row's value is in the dictionary."""
    cdef const void* data = column.indices.buffers[1]
    row += column.indices.offset
    if column.index == INDEX8:
        return (<const int8_t*> data)[row]
    if column.index == UNSIGNED8:
        return (<const uint8_t*> data)[row]
    if column.index == INDEX16:
        return (<const int16_t*> data)[row]
    if column.index == UNSIGNED16:
        return (<const uint16_t*> data)[row]
    if column.index == INDEX32:
        return (<const int32_t*> data)[row]
    if column.index == UNSIGNED32:
        return (<const uint32_t*> data)[row]
    return (<const int64_t*> data)[row]


cdef inline Field field_at(const Column* column, int64_t row) noexcept nogil:
    """The bytes of a row; size -1: null."""
    cdef Field field
    cdef const ArrowArray* array = column.values
    cdef const uint8_t* view
    cdef int32_t size = 0
    cdef int32_t buffer = 0
    cdef int32_t offset = 0
    field.data = NULL
    field.size = -1
    if column.layout == ABSENT or column.layout == NULLS:
        return field
    if column.index != PLAIN:
        if is_null(column.indices, row):
            return field
        row = dictionary_row(column, row)
    if is_null(array, row):
        return field
    row += array.offset
    if column.layout == OFFSETS32:
        offset = (<const int32_t*> array.buffers[1])[row]
        field.data = <const uint8_t*> array.buffers[2] + offset
        field.size = (<const int32_t*> array.buffers[1])[row + 1] - offset
    elif column.layout == OFFSETS64:
        field.data = <const uint8_t*> array.buffers[2] + (<const int64_t*> array.buffers[1])[row]
        field.size = <Py_ssize_t> (
            (<const int64_t*> array.buffers[1])[row + 1] - (<const int64_t*> array.buffers[1])[row]
        )
    elif column.layout == VIEWS:
        view = <const uint8_t*> array.buffers[1] + 16 * row
        memcpy(&size, view, 4)
        field.size = size
        if size <= INLINE_SIZE:
            field.data = view + 4
        else:
            memcpy(&buffer, view + 8, 4)
            memcpy(&offset, view + 12, 4)
            field.data = <const uint8_t*> array.buffers[2 + buffer] + offset
    else:
        field.data = <const uint8_t*> array.buffers[1] + column.width * row
        field.size = <Py_ssize_t> column.width
    return field


cdef inline int64_t largest(const Column* column, int64_t rows, int64_t many) noexcept nogil:
    """No value takes more; `many` where that cannot be seen at a glance."""
    cdef const int32_t* offsets
    cdef int64_t row
    cdef int32_t most = 0
    if column.layout == ABSENT or column.layout == NULLS:
        return 0
    if column.layout == FIXED:
        return column.width
    if column.layout != OFFSETS32 or column.index != PLAIN:
        return many
    offsets = <const int32_t*> column.values.buffers[1] + column.values.offset
    for row in range(rows):
        most = max(most, offsets[row + 1] - offsets[row])
    return most


cdef inline bint number_at(const Column* column, int64_t row, int64_t* number) noexcept nogil:
    """The number of a row; False: null. Seconds that are too many to be ms become the last or first
    number there is.
    """
    cdef const ArrowArray* array = column.values
    if column.layout == ABSENT or column.layout == NULLS or is_null(array, row):
        return False
    row += array.offset
    if column.layout == INT32:
        number[0] = (<const int32_t*> array.buffers[1])[row]
    else:
        number[0] = (<const int64_t*> array.buffers[1])[row]
    if column.scale > 1:
        number[0] = number[0] // column.scale
    elif column.scale < -1:
        if number[0] > INT64_MAX // -column.scale:
            number[0] = INT64_MAX
        elif number[0] < -(INT64_MAX // -column.scale):
            number[0] = INT64_MIN
        else:
            number[0] *= -column.scale
    return True
