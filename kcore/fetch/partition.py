"""All that is known of one assigned partition, in one place that the parts of this room share.

Who writes what: `positions.py` the state, the position and the flags; `shelf.py` what is buffered
and `next_offset`; `planner.py` the node; `answers.py` what a broker told; `retries` are everyone's.
"""

from __future__ import annotations

from collections import deque

from kcore.fetch.config import ResetStrategy
from kcore.fetch.states import PartitionState
from kcore.hints import TYPE_CHECKING, Final
from kcore.structs import Leader, OffsetAndMetadata, TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.fetch.shelf import Entry
    from kcore.records import RecordReader

# Reasons not to fetch and not to hand over, beside the state; a partition may have several.
PAUSED: Final = 1  # by the application
SUSPENDED: Final = 2  # about to be given up in a rebalance (pending revocation)
HELD: Final = 4  # just assigned, and the application has not been told yet (pending callback)
ASIDE: Final = 8  # the application waits for others, and for nothing of this one


class Position(NamedTuple):
    """Where the application is: the next offset to hand over.

    epoch: the leader epoch of the batch before it, -1 if unknown. leader: whom it was read from.
    """

    offset: int
    epoch: int
    leader: Leader | None


class Partition:
    """See the module's text. Compared by identity: assigned anew is another one."""

    __slots__ = (
        "anew",
        "assigned",
        "attempts",
        "before",
        "consumed",
        "entries",
        "error",
        "flags",
        "high_watermark",
        "last_stable_offset",
        "leader",
        "log_id",
        "log_start",
        "next_offset",
        "node",
        "offset",
        "offset_epoch",
        "preferred",
        "preferred_until",
        "refused",
        "retry_at",
        "state",
        "strategy",
        "told_at",
        "topic_id",
        "tp",
        "turn",
        "undecided",
        "vain",
    )

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.assigned = True  # False for good once it was given up
        self.state = PartitionState.INITIALIZING
        self.flags = 0
        # The position. Only meaningful in states with a position, else -1.
        self.offset = -1
        self.offset_epoch = -1
        self.consumed: OffsetAndMetadata | None = None  # the two as last asked for, to be committed
        self.leader: Leader | None = None
        self.topic_id: bytes | None = None
        self.log_id: bytes | None = None  # of the topic that the position is in, once it is known
        self.anew = False  # there was one in the topic that had its name before
        self.strategy = ResetStrategy.NONE  # what AWAIT_RESET waits for, until something is read
        self.before: int | None = None  # where it stood, if AWAIT_RESET is for want of that
        self.undecided = False  # nothing committed and no reset policy: the application must seek
        # Fetching ahead: what to ask for next, and what came already, oldest first.
        self.next_offset = -1
        self.entries: deque[Entry] = deque()
        # Its first record, by a deserializer: until it is taken, no more is asked for.
        self.refused = False
        self.turn = 0  # whoever has had theirs last is the last to have another
        # Whom to ask.
        self.node: int | None = None  # on whose list it is; None: not fetched
        self.preferred = -1  # KIP-392
        self.preferred_until = 0
        # Failures since the last success: when it may be asked for again, and why not before.
        self.retry_at = 0
        self.attempts = 0
        self.error = ""
        self.vain = 0  # places in a row that ListOffsets gave, and that the log did not hold
        # As last told by a broker; -1 before.
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start = -1
        self.told_at = -1  # when that was

    @property
    def deliverable(self) -> bool:
        """Whether records may be handed over, and so be fetched."""
        return self.state is PartitionState.FETCHING and not self.flags

    @property
    def reader(self) -> RecordReader:
        """Of the first entry, which must hold records."""
        reader = self.entries[0].reader
        assert reader is not None
        return reader

    @property
    def can_go_on(self) -> bool:
        """Whether more can follow what is buffered: not behind an error."""
        entries = self.entries
        return not (entries and entries[-1].error is not None)

    def __repr__(self) -> str:
        name = f"{self.tp.topic}-{self.tp.partition}"
        return f"<{name} {self.state.value} at {self.offset}, next {self.next_offset}>"
