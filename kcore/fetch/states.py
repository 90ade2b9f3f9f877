"""The states of an assigned partition's position, and every move between them; nothing else.

    INITIALIZING --SOUGHT--> FETCHING --DOUBTED--> AWAIT_VALIDATION --VALIDATED--> FETCHING
         |                      |                         |
         +---- RESET_ASKED -----+-------------------------+      VOIDED, TAKEN_BACK:
                                |                                back to INITIALIZING
                           AWAIT_RESET --RESET_ANSWERED--> FETCHING

An input that a state's row does not name is ignored there (rule P1): an answer that comes after the
application has sought elsewhere changes nothing. Source: Java's `SubscriptionState.FetchStates`.
"""

from __future__ import annotations

from kcore.enums import Enum
from kcore.hints import Final


class PartitionState(Enum):
    """What is known of a position. Only FETCHING partitions are fetched and handed over."""

    # No position yet: the committed offset is being looked up, or there is none and no reset
    # policy. Any position that is set ends it; answers to earlier questions are ignored.
    INITIALIZING = "initializing"

    # The position is known and trusted. A leader of a newer epoch puts it in doubt.
    FETCHING = "fetching"

    # No position: the first or last offset is being looked up. Only that answer, or the
    # application, ends it; a new leader does not matter as there is nothing to put in doubt.
    AWAIT_RESET = "await_reset"

    # There is a position, but the log of the new leader may have been cut off below it (KIP-320).
    # Another new leader asks the question again.
    AWAIT_VALIDATION = "await_validation"

    __hash__ = object.__hash__  # Enum's own is Python code, run ten times a partition


class PositionInput(Enum):
    """What can happen to a position."""

    SOUGHT = "sought"  # the application or the committed offset sets a position
    RESET_ASKED = "reset_asked"  # to the beginning or the end, by the application or the policy
    RESET_ANSWERED = "reset_answered"  # ListOffsets gave the offset
    DOUBTED = "doubted"  # the leader changed under a position whose epoch is known
    VALIDATED = "validated"  # OffsetForLeaderEpoch confirmed the position, or nobody can
    VOIDED = "voided"  # its topic was deleted, and made anew under its name
    TAKEN_BACK = "taken_back"  # by the application: it begins as when it is newly assigned

    __hash__ = object.__hash__


_S = PartitionState
_I = PositionInput

TRANSITIONS: Final[dict[PartitionState, dict[PositionInput, PartitionState]]] = {
    _S.INITIALIZING: {_I.SOUGHT: _S.FETCHING, _I.RESET_ASKED: _S.AWAIT_RESET},
    _S.FETCHING: {
        _I.SOUGHT: _S.FETCHING,
        _I.RESET_ASKED: _S.AWAIT_RESET,
        _I.DOUBTED: _S.AWAIT_VALIDATION,
        _I.VOIDED: _S.INITIALIZING,
        _I.TAKEN_BACK: _S.INITIALIZING,
    },
    _S.AWAIT_RESET: {
        _I.SOUGHT: _S.FETCHING,
        _I.RESET_ASKED: _S.AWAIT_RESET,
        _I.RESET_ANSWERED: _S.FETCHING,
        _I.TAKEN_BACK: _S.INITIALIZING,
    },
    _S.AWAIT_VALIDATION: {
        _I.SOUGHT: _S.FETCHING,
        _I.RESET_ASKED: _S.AWAIT_RESET,
        _I.DOUBTED: _S.AWAIT_VALIDATION,
        _I.VALIDATED: _S.FETCHING,
        _I.VOIDED: _S.INITIALIZING,
        _I.TAKEN_BACK: _S.INITIALIZING,
    },
}

# The states in which a partition has a position; entering another one forgets it.
WITH_POSITION: Final = frozenset({_S.FETCHING, _S.AWAIT_VALIDATION})
