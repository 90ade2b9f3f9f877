"""A segment: batches in a row that are kept, dropped and compacted together."""

from __future__ import annotations

from bisect import bisect_left

NO_TIME = -1


class Segment:
    """Some batches of a log, oldest first; batch n ends at `lasts[n]` and is `latest[n]` ms old.

    ends: how many bytes were appended up to the end of each. created_ms: the time of day.
    max_timestamp: of all it ever had, by which its age goes. newest: of those it still has.
    """

    __slots__ = (
        "base_offset",
        "batches",
        "created_ms",
        "ends",
        "first_time",
        "gone_bytes",
        "lasts",
        "latest",
        "max_timestamp",
        "newest",
    )

    def __init__(self, base_offset: int, created_ms: int) -> None:
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.first_time = NO_TIME  # of the first batch it got
        self.max_timestamp = self.newest = NO_TIME
        self.batches: list[bytes] = []
        self.lasts: list[int] = []
        self.latest: list[int] = []
        self.ends: list[int] = []
        self.gone_bytes = 0  # of batches dropped from its front

    @property
    def size_bytes(self) -> int:
        """What it keeps."""
        return self.ends[-1] - self.gone_bytes if self.ends else 0

    def add(self, data: bytes, last_offset: int, latest: int) -> None:
        """Keep one more batch."""
        ends = self.ends
        if ends:
            ends.append(ends[-1] + len(data))
        else:
            ends.append(self.gone_bytes + len(data))
            if self.first_time == NO_TIME:
                self.first_time = latest
        self.batches.append(data)
        self.lasts.append(last_offset)
        self.latest.append(latest)
        self.max_timestamp = max(self.max_timestamp, latest)
        self.newest = max(self.newest, latest)

    def index_of(self, offset: int) -> int:
        """The first batch that ends at `offset` or behind; the number of batches if none does."""
        return bisect_left(self.lasts, offset)

    def position(self, index: int) -> int:
        """How many bytes were appended before a batch."""
        return self.ends[index - 1] if index else self.gone_bytes

    def drop_before(self, offset: int) -> int:
        """Forget the batches that end before `offset`; their bytes."""
        count = self.index_of(offset)
        if not count:
            return 0
        gone = self.ends[count - 1] - self.gone_bytes
        self.gone_bytes = self.ends[count - 1]
        del self.batches[:count], self.lasts[:count], self.latest[:count], self.ends[:count]
        self.newest = max(self.latest, default=NO_TIME)
        return gone

    def truncate(self, keep: int) -> int:
        """Forget all but the first `keep` batches; the bytes of the others."""
        size = self.size_bytes
        del self.batches[keep:], self.lasts[keep:], self.latest[keep:], self.ends[keep:]
        self.max_timestamp = self.newest = max(self.latest, default=NO_TIME)
        return size - self.size_bytes

    def should_roll(self, size: int, newest: int, max_bytes: int, max_ms: int, now_ms: int) -> bool:
        """Whether a batch of `size` bytes is to begin a new segment (Java: LogSegment.shouldRoll).

        newest: the batch's largest timestamp. now_ms: the time of day.
        """
        if not self.ends:
            return False
        age_ms = now_ms - self.created_ms
        if self.first_time >= 0 <= newest:
            age_ms = newest - self.first_time
        return age_ms > max_ms or self.size_bytes > max_bytes - size
