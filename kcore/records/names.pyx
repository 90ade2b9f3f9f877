"""Columns of topic names: one name in every row, mostly, and the same in batch after batch.

So those of the last topics are shared by all batches that are no longer than they are. They never
change; what is kept is bounded, and what a batch still needs lives as long as the batch.
"""

cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kcore import limits

cdef enum:
    KEPT_TOPICS = 4
    KEPT_BYTES = 8 << 20  # of all together; 40,960 rows of a name of 200 characters
    FIRST_ROWS = 1024

cdef int64_t USUAL_ROWS = limits.COLUMN_ROWS

cdef list kept = []  # of (name, Names), the one used last at the end
cdef cython.pymutex kept_lock


@cython.final
@cython.no_gc
cdef class Names:
    """A column of strings in Arrow's layout; `rows` of them."""

    def __dealloc__(self):
        PyMem_RawFree(self.offsets)
        PyMem_RawFree(self.data)

    cdef int add(self, bytes name, int64_t count) except -1:
        """Put a name at the end, `count` times."""
        cdef int64_t one = len(name)
        cdef int64_t more = one * count
        cdef int64_t done = one
        cdef int64_t place = self.size_bytes
        cdef int64_t row
        cdef uint8_t* to
        cdef int32_t* ends
        if place + more > INT32_MAX:
            raise OverflowError("the names of the topics take more than 2 GiB")
        ends = <int32_t*> grown(self.offsets, (self.rows + count + 1) * sizeof(int32_t))
        self.offsets = ends
        self.data = <uint8_t*> grown(self.data, place + more + 1)
        if self.rows == 0:
            ends[0] = 0
        ends += self.rows + 1
        for row in range(count):
            place += one
            ends[row] = <int32_t> place
        if count:
            to = self.data + self.size_bytes
            memcpy(to, <const char*> name, <size_t> one)
            while done < more:  # twice as much each time
                memcpy(to + done, to, <size_t> min(done, more - done))
                done += min(done, more - done)
        self.rows += count
        self.size_bytes += more
        return 0


cdef void* grown(void* array, int64_t size) except NULL:
    cdef void* fresh = PyMem_RawRealloc(array, <size_t> size)
    if fresh == NULL:
        raise MemoryError
    return fresh


cdef int64_t memory_of(int64_t rows, bytes name):
    return rows * <int64_t> (sizeof(int32_t) + len(name))


cdef Names repeated(bytes name, int64_t rows):
    """A column with a name in `rows` rows, or more."""
    cdef Names found
    cdef int64_t room = FIRST_ROWS
    with kept_lock:
        found = take(name)
        if found is not None and found.rows >= rows:
            kept.append((name, found))
            return found
    while room < rows:  # few lengths, so that a longer batch rarely makes it anew
        room *= 2
    if rows <= USUAL_ROWS:
        room = min(room, USUAL_ROWS)
    found = Names.__new__(Names)
    if memory_of(room, name) > KEPT_BYTES:
        found.add(name, rows)
        return found
    found.add(name, room)
    with kept_lock:
        take(name)
        kept.append((name, found))
        trim()
    return found


cdef Names take(bytes name):
    """The column of a name, which is no longer kept."""
    cdef Py_ssize_t index
    for index in range(len(kept)):
        if kept[index][0] == name:
            return kept.pop(index)[1]
    return None


cdef int trim() except -1:
    """Give up the columns used longest ago until what is left is within the bounds."""
    while len(kept) > KEPT_TOPICS or kept_bytes() > KEPT_BYTES:
        kept.pop(0)
    return 0


cdef int64_t kept_bytes() except -1:
    cdef int64_t size = 0
    for name, names in kept:
        size += memory_of((<Names> names).rows, name)
    return size


def kept_names() -> list[tuple[bytes, int]]:
    """What is kept, for tests: name and rows."""
    with kept_lock:
        return [(name, (<Names> names).rows) for name, names in kept]
