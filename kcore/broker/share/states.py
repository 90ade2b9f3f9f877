"""The states of a record in a share-partition as data; nothing else is in this file."""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import Final


class RecordState(IntEnum):
    """Java: RecordState. The values are what is kept; an acquired record is kept as available."""

    # Nobody has it: the next fetch gets it.
    AVAILABLE = 0

    # A member has it, until it says what became of it or its lock is over.
    ACQUIRED = 1

    # Done with.
    ACKNOWLEDGED = 2

    # Given up, and to be written to the dead letter queue (KIP-1191). Kept as such: who leads next
    # writes it, again perhaps.
    ARCHIVING = 3

    # Given up: rejected, delivered too often, not there any more.
    ARCHIVED = 4


class RecordInput(Enum):
    """What happens to records."""

    # A fetch takes them.
    ACQUIRE = auto()

    # Their member says: there was no record at this offset.
    GAP = auto()

    # ... they are done.
    ACCEPT = auto()

    # ... somebody else is to have them; or the lock is over, or the member's session.
    RELEASE = auto()

    # ... nobody is ever to have them.
    REJECT = auto()

    # ... more time is needed.
    RENEW = auto()

    # Their last delivery has been released.
    EXHAUST = auto()

    # One of the last two, where there is a dead letter queue.
    CONDEMN = auto()

    # It has them, or cannot have them.
    BURY = auto()

    # They are not in the log any more, or of an aborted transaction.
    VANISH = auto()


# Records do not go back once they are done or given up. A cell that is missing is refused.
TABLE: Final[dict[RecordState, dict[RecordInput, RecordState]]] = {
    RecordState.AVAILABLE: {
        RecordInput.ACQUIRE: RecordState.ACQUIRED,
        RecordInput.VANISH: RecordState.ARCHIVED,
    },
    RecordState.ACQUIRED: {
        RecordInput.GAP: RecordState.ARCHIVED,
        RecordInput.ACCEPT: RecordState.ACKNOWLEDGED,
        RecordInput.RELEASE: RecordState.AVAILABLE,
        RecordInput.REJECT: RecordState.ARCHIVED,
        RecordInput.RENEW: RecordState.ACQUIRED,
        RecordInput.EXHAUST: RecordState.ARCHIVED,
        RecordInput.CONDEMN: RecordState.ARCHIVING,
        RecordInput.VANISH: RecordState.ARCHIVED,
    },
    RecordState.ARCHIVING: {
        RecordInput.BURY: RecordState.ARCHIVED,
    },
    RecordState.ACKNOWLEDGED: {},
    RecordState.ARCHIVED: {},
}

TERMINAL: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})

# What is kept of records; those that are acquired are kept as available.
KEPT: Final = TERMINAL | {RecordState.AVAILABLE, RecordState.ARCHIVING}

# What clients write (Java: AcknowledgeType; 0 stands for a gap).
TYPES: Final[dict[int, RecordInput]] = {
    0: RecordInput.GAP,
    1: RecordInput.ACCEPT,
    2: RecordInput.RELEASE,
    3: RecordInput.REJECT,
    4: RecordInput.RENEW,
}
