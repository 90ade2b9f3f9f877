"""The offsets of one partition that a share consumer has acquired (KIP-932), for a reader to give
no others: the bytes that it reads hold whole batches.
"""

cimport cython
from libc.stdint cimport int64_t

from kcore.records.record cimport Origin, new_origin


Range = tuple[int, int, int]


@cython.final
cdef class Acquired:
    """ranges: of (first offset, last offset, delivery count), in order and without overlap.

    gaps: of what was passed over the offsets that have no record, as (first, last): compaction took
    them, or they are markers of transactions. through: nothing is left of the ranges.
    """

    def __cinit__(self, ranges) -> None:
        self.ranges = tuple(ranges)
        self.gaps = []
        self.open_range()

    @property
    def through(self) -> bool:
        cdef Py_ssize_t left = len(self.ranges) - self.at
        return left == 0 or (left == 1 and self.first > self.last)

    def __repr__(self) -> str:
        return f"<Acquired {self.ranges!r}, gaps {self.gaps!r}>"

    cdef bint wants(self, int64_t offset) except -1:
        """Whether the record at `offset`, the next one there is, has been acquired. Who takes it
        says so by `first`.
        """
        while self.at < len(self.ranges) and self.first <= offset:
            if offset <= self.last:
                self.pass_over(offset - 1)
                self.first = offset
                return True
            self.pass_over(self.last)
            self.at += 1
            self.open_range()
        return False

    cdef Origin counted(self, Origin origin):
        """The origin of a record that is wanted, with its delivery count."""
        if self.made is None or self.made.delivery_count is not self.delivery_count or (
            origin is not self.base and origin is not self.made
        ):
            self.base = origin
            self.made = new_origin(
                origin.topic,
                origin.partition,
                origin.leader_epoch,
                -1 if origin.timestamp_type is None else origin.timestamp_type,
                origin.checksum,
            )
            self.made.delivery_count = self.delivery_count
        return self.made

    def end(self) -> None:
        """There is no record behind this: all that is left is passed over."""
        while self.at < len(self.ranges):
            self.pass_over(self.last)
            self.at += 1
            self.open_range()

    cdef int go_back(self, int64_t offset) except -1:
        """Begin again with what is at or behind `offset`."""
        self.gaps[:] = [gap for gap in self.gaps if gap[0] < offset]
        self.at = 0
        self.open_range()
        while self.at < len(self.ranges) and self.last < offset:
            self.at += 1
            self.open_range()
        self.first = max(self.first, offset)
        return 0

    cdef int open_range(self) except -1:
        if self.at < len(self.ranges):
            self.first, self.last, self.delivery_count = self.ranges[self.at]
        return 0

    cdef int pass_over(self, int64_t last) except -1:
        """There is no record from the beginning of what is left up to `last`."""
        if self.first <= last:
            self.gaps.append((self.first, last))
        return 0
