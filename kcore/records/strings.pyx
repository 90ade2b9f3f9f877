"""The memory of columns of byte strings, and their nulls: what is not done with every row."""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

cdef int64_t FIRST_BYTES = 4096


cdef bint grow(void** array, int64_t count, size_t item_size) noexcept nogil:
    """Make room for `count` items; False, and nothing changed, if there is no memory."""
    cdef void* fresh = PyMem_RawRealloc(array[0], <size_t> count * item_size)
    if fresh == NULL:
        return False
    array[0] = fresh
    return True


cdef void free_strings(Strings* column) noexcept nogil:
    PyMem_RawFree(column.views)
    PyMem_RawFree(column.offsets)
    PyMem_RawFree(column.data)
    PyMem_RawFree(column.valid)


cdef void reset_strings(Strings* column) noexcept nogil:
    """Back to no rows, with the arrays there are."""
    PyMem_RawFree(column.valid)
    column.valid = NULL
    column.nulls = column.size = 0


cdef inline int64_t bitmap_size(int64_t rows) noexcept nogil:
    return (rows + 7) // 8


cdef int reserve_rows(
    Strings* column, int64_t before, int64_t capacity, bint views
) noexcept nogil:
    cdef int64_t old = bitmap_size(before)
    cdef int64_t new = bitmap_size(capacity)
    if views:
        if not grow(<void**> &column.views, capacity, sizeof(View)):
            return -1
    elif not grow(<void**> &column.offsets, capacity + 1, sizeof(int32_t)):
        return -1
    elif before == 0:
        column.offsets[0] = 0
    if column.valid != NULL:
        if not grow(<void**> &column.valid, new, 1):
            return -1
        memset(column.valid + old, 0xFF, <size_t> (new - old))
    return 0


cdef int64_t roomy(
    int64_t needed, int64_t before, int64_t first, int64_t usual
) noexcept nogil:
    """How much to make room for: twice as much each time, and all that is usual at once as soon as
    an eighth of it is needed. What is never touched costs nothing; what is copied into an array
    that has grown is fresh memory once more.
    """
    cdef int64_t capacity = max(needed, max(2 * before, first))
    return usual if usual // 8 < capacity < usual else capacity


cdef int reserve_data(Strings* column, int64_t more, int64_t usual) noexcept nogil:
    cdef int64_t capacity
    if column.data != NULL and more + SLACK <= column.capacity - column.size:
        return 0
    capacity = roomy(column.size + more + SLACK, column.capacity, FIRST_BYTES, usual)
    if not grow(<void**> &column.data, capacity, 1):
        return -1
    column.capacity = capacity
    return 0


cdef int start_late(Strings* column, int64_t rows, int64_t capacity, bint views) noexcept nogil:
    """Begin a column when `rows` rows are there already: they are null in it."""
    cdef int64_t row
    if (
        reserve_rows(column, 0, capacity, views) < 0
        or reserve_data(column, 0, 0) < 0
        or not grow(<void**> &column.valid, bitmap_size(capacity), 1)
    ):
        free_strings(column)  # half a column would be taken for a whole one
        memset(column, 0, sizeof(Strings))
        return -1
    memset(column.valid, 0xFF, <size_t> bitmap_size(capacity))
    if views:
        memset(column.views, 0, <size_t> rows * sizeof(View))
    else:
        memset(column.offsets, 0, <size_t> (rows + 1) * sizeof(int32_t))
    for row in range(rows):
        put_null(column, row, capacity)
    return 0


cdef int put_null(Strings* column, int64_t row, int64_t capacity) noexcept nogil:
    """Mark a row as null; what it holds beside is that of an empty string."""
    if column.valid == NULL:
        if not grow(<void**> &column.valid, bitmap_size(capacity), 1):
            return -1
        memset(column.valid, 0xFF, <size_t> bitmap_size(capacity))
    column.valid[row >> 3] &= <uint8_t> ~(1 << (row & 7))
    column.nulls += 1
    return 0


cdef void cut_strings(Strings* column, int64_t rows, int64_t end) noexcept nogil:
    cdef int64_t row
    cdef uint8_t bit
    if column.valid != NULL:
        for row in range(rows, end):
            bit = <uint8_t> (1 << (row & 7))
            if not column.valid[row >> 3] & bit:
                column.valid[row >> 3] |= bit
                column.nulls -= 1
    if column.offsets != NULL:
        column.size = column.offsets[rows]
