"""Options of fetching, parsed once by the consumer; names and defaults are ConsumerConfig's."""

from __future__ import annotations

from collections.abc import Callable

from kcore.enums import Enum
from kcore.hints import Any, ClassVar, Final
from kcore.limits import MAX_BATCH_BYTES, MAX_BUFFERED_BYTES
from kcore.values import Value

# A node is asked for more as soon as what it sent before, and nobody has taken yet, is below this:
# it keeps an application that takes 200 MB/s busy for 20 ms, which is longer than a broker next
# door needs.
FETCH_AHEAD_BYTES: Final = 4 * 1024 * 1024

# More is not asked for at once, whatever fetch_max_bytes allows (unless one partition may bring
# more). As it is no more than the above, the next request leaves before the first record is handed
# over; frames of this size are used again, and two of them, one being decoded and one arriving,
# stay in a third-level cache, where those of 50 MB are zeroed, copied and read through main memory.
# A broker looks through all it is asked for, for each answer: see window.py.
FETCH_ASK_BYTES: Final = 4 * 1024 * 1024

# Records handed over at once end with the one that makes it so many bytes, whatever their number:
# objects that leave the cache before they are looked at cost a third more. As many as a partition
# brings at most (max_partition_fetch_bytes): 500 records of up to 2 KiB, 10,000 of up to 100 B.
TAKE_BYTES: Final = 1024 * 1024

# Holding an answer costs more than its record bytes: a reader, an entry, views into the frame.
# Counted, so that a topic of tiny answers cannot pile up objects below a limit counted in bytes.
ENTRY_OVERHEAD_BYTES: Final = 1024

# A parked fetch is answered after fetch_max_wait_ms; the broker's clock and the way back get this
# much on top before the request counts as lost.
FETCH_SLACK_MS: Final = 5_000

# Empty answers that come before the wait is over are taken as they are this often in a row; then
# the node is asked ever more slowly. A sound broker sends none; another must not make us spin.
EARLY_EMPTY_MAX: Final = 3

# Batches that all end before the offset asked for are what no sound broker sends, though one that
# has just taken over might. This often in a row, some seconds with the backoff of retries, they are
# waited out; then the application is told, as nothing would ever come.
STALE_ANSWERS_MAX: Final = 5


BY_DURATION: Final = "by_duration:"  # and a duration, which makes a reset strategy of it


class ResetStrategy(Value):
    """Where to go when there is no position, or when it is out of range: EARLIEST, LATEST, NONE, or
    what `of` makes of "by_duration:PT1H" (KIP-1106).

    value: as an option says it. duration_ms: go to the first record that is no older; None: the
    strategy does not depend on time.
    """

    EARLIEST: ClassVar[ResetStrategy]
    LATEST: ClassVar[ResetStrategy]
    NONE: ClassVar[ResetStrategy]  # an error tells the application, which seeks

    value: str
    duration_ms: int | None = None

    @classmethod
    def of(cls, said: ResetStrategy | str) -> ResetStrategy:
        """The strategy of that name; ValueError says what is wrong with it."""
        if isinstance(said, ResetStrategy):
            return said
        if said[: len(BY_DURATION)].lower() == BY_DURATION:
            from kcore.durations import parse_ms  # noqa: PLC0415 - few name one

            duration_ms = parse_ms(said[len(BY_DURATION) :])
            return cls(BY_DURATION + said[len(BY_DURATION) :].upper(), duration_ms)
        for strategy in (cls.EARLIEST, cls.LATEST, cls.NONE):
            if strategy.value == said:
                return strategy
        raise ValueError(f"there is no reset strategy {said!r}")

    def timestamp(self, wall_ms: int) -> int:
        """What ListOffsets is asked for (rule P5) at that time of day; NONE is never asked for.

        Below 0 ListOffsets has names instead of times: nothing is older than 1970.
        """
        if self.duration_ms is not None:
            return max(0, wall_ms - self.duration_ms)
        return -2 if self is ResetStrategy.EARLIEST else -1


ResetStrategy.EARLIEST = ResetStrategy("earliest")
ResetStrategy.LATEST = ResetStrategy("latest")
ResetStrategy.NONE = ResetStrategy("none")


class IsolationLevel(Enum):
    """Whether records of open and aborted transactions are read (KIP-98)."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class FetchConfig(Value):
    """What the rooms of fetching need; the reset policy is the positions' own."""

    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    check_crcs: bool = True
    include_control_records: bool = False
    client_rack: str = ""
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 30_000
    metadata_max_age_ms: int = 300_000
    max_buffered_bytes: int = MAX_BUFFERED_BYTES
    max_batch_bytes: int = MAX_BATCH_BYTES
    fetch_ahead_bytes: int = FETCH_AHEAD_BYTES
    enable_incremental_fetch_sessions: bool = True
    key_deserializer: Callable[..., Any] | None = None
    value_deserializer: Callable[..., Any] | None = None

    @property
    def committed_only(self) -> bool:
        """Whether aborted transactions are left out."""
        return self.isolation_level is IsolationLevel.READ_COMMITTED
