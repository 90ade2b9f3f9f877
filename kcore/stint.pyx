"""What may go by in a loop that others share before they must have their turn."""

cimport cython
from cpython.time cimport monotonic_ns
from libc.stdint cimport int64_t


@cython.final
cdef class Stint:
    """Over behind `records_max` records, or `limit_ms`, by a clock that is its own: it is looked at
    with each record.

    begun: anything has gone by since the loop had its turn. records: what has, or is as good as
    that.
    """

    def __init__(self, int64_t records_max, int64_t limit_ms) -> None:
        self.records_max = records_max
        self.limit_ns = limit_ms * 1_000_000

    def begin(self) -> None:
        """The first is about to go by."""
        self.begun = True
        self.began_at_ns = monotonic_ns()

    def end(self) -> None:
        """The loop has its turn."""
        self.begun = False
        self.records = 0

    def spent(self) -> bool:
        """Whether the others' turn must come before more goes by."""
        return self.over()

    cdef bint over(self) noexcept:
        return self.begun and (
            self.records >= self.records_max
            or monotonic_ns() - self.began_at_ns >= self.limit_ns
        )
