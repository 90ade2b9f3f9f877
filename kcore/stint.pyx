"""What may go by in a loop that others share before they must have their turn."""

cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class Stint:
    """records: what went by since the loop had its turn, or what is as good as that. Times are
    monotonic ms.

    begun: anything has. began_at: when that was.
    """

    def __init__(self, int64_t records_max, int64_t limit_ms) -> None:
        self.records_max = records_max
        self.limit_ms = limit_ms

    def begin(self, int64_t now_ms) -> None:
        """The first is about to go by."""
        self.begun = True
        self.began_at = now_ms

    def end(self) -> None:
        """The loop has its turn."""
        self.begun = False
        self.records = 0

    def spent(self, int64_t now_ms) -> bool:
        """Whether the others' turn must come before more goes by."""
        return self.over(now_ms)

    cdef bint over(self, int64_t now_ms) noexcept:
        return self.begun and (
            self.records >= self.records_max or now_ms - self.began_at >= self.limit_ms
        )
