"""The life of a transactional id as data; nothing else is in this file.

`TABLE` says which state follows an input: a cell that is missing cannot happen, and trying it is a
bug here. `REFUSED` and `ENDED` say what a state by itself answers to a request, after the request
passed the checks of producer id and epoch and nothing about the id is on its way to the journal;
what is missing there is served.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


class TransactionState(Enum):
    """Java: TransactionState. The values are what ListTransactions and DescribeTransactions say."""

    # A producer has its id and epoch; nothing is in a transaction.
    # InitProducerId: the next epoch. AddPartitionsToTxn, AddOffsetsToTxn: -> ONGOING.
    # EndTxn: INVALID_TXN_STATE; an abort with v5 is served, as the producer cannot know whether
    # what it sent arrived. Expires. Loses its partition: another node has it.
    EMPTY = "Empty"

    # Partitions are in the transaction; its timeout runs.
    # InitProducerId: the producer that is at it is fenced and its transaction aborted;
    # CONCURRENT_TRANSACTIONS, until that is done. AddPartitionsToTxn, AddOffsetsToTxn: more of it.
    # EndTxn: -> PREPARE_COMMIT or PREPARE_ABORT. Time is up: fenced and aborted. Does not expire.
    ONGOING = "Ongoing"

    # The outcome is in the journal, nothing can change it; markers are being written.
    # Everything: CONCURRENT_TRANSACTIONS. All markers written: COMPLETE_COMMIT.
    PREPARE_COMMIT = "PrepareCommit"

    # As before; all markers written: COMPLETE_ABORT.
    PREPARE_ABORT = "PrepareAbort"

    # The transaction is over. EndTxn that says the same again: NONE, the answer was lost; that says
    # the opposite: INVALID_TXN_STATE; an abort with v5 that is no retry: an empty transaction
    # ends. The rest as EMPTY.
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"

    # Expired: its tombstone is on its way. Never in the journal.
    DEAD = "Dead"

    # A producer is being fenced: it has the next epoch, and its transaction is aborted in the same
    # step. Never in the journal, and never seen from outside.
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


class TransactionInput(Enum):
    """What can happen to a transactional id."""

    INITIALIZED = "a producer got its id and epoch"
    ADDED = "partitions take part"
    COMMITTED = "it is to be committed"
    ABORTED = "it is to be aborted"
    MARKED = "all markers are written"
    FENCED = "its producer is replaced, or out of time"
    EXPIRED = "nobody has used it for long"


_S, _I = TransactionState, TransactionInput

_AT_REST: Final = {
    _I.INITIALIZED: _S.EMPTY,
    _I.ADDED: _S.ONGOING,
    _I.ABORTED: _S.PREPARE_ABORT,  # of nothing: with v5 every end has an epoch of its own
    _I.EXPIRED: _S.DEAD,
}

TABLE: Final[dict[TransactionState, dict[TransactionInput, TransactionState]]] = {
    _S.EMPTY: _AT_REST,
    _S.ONGOING: {
        _I.ADDED: _S.ONGOING,
        _I.COMMITTED: _S.PREPARE_COMMIT,
        _I.ABORTED: _S.PREPARE_ABORT,
        _I.FENCED: _S.PREPARE_EPOCH_FENCE,
    },
    _S.PREPARE_COMMIT: {_I.MARKED: _S.COMPLETE_COMMIT},
    _S.PREPARE_ABORT: {_I.MARKED: _S.COMPLETE_ABORT},
    _S.COMPLETE_COMMIT: _AT_REST,
    _S.COMPLETE_ABORT: _AT_REST,
    _S.DEAD: {},
    _S.PREPARE_EPOCH_FENCE: {_I.ABORTED: _S.PREPARE_ABORT},
}

# The states that have a number in the journal (Java: TransactionState.id).
NUMBERS: Final[dict[TransactionState, int]] = {
    _S.EMPTY: 0,
    _S.ONGOING: 1,
    _S.PREPARE_COMMIT: 2,
    _S.PREPARE_ABORT: 3,
    _S.COMPLETE_COMMIT: 4,
    _S.COMPLETE_ABORT: 5,
    _S.DEAD: 6,
    _S.PREPARE_EPOCH_FENCE: 7,
}

# States that are decided, and whose markers are being written.
DECIDED: Final = (_S.PREPARE_COMMIT, _S.PREPARE_ABORT)

# States in which an id that nobody uses is forgotten.
AT_REST: Final = (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)

_WAIT: Final = {
    ApiKey.INIT_PRODUCER_ID: ErrorCode.CONCURRENT_TRANSACTIONS,
    ApiKey.ADD_PARTITIONS_TO_TXN: ErrorCode.CONCURRENT_TRANSACTIONS,
    ApiKey.END_TXN: ErrorCode.CONCURRENT_TRANSACTIONS,
}
_GONE: Final = {
    ApiKey.INIT_PRODUCER_ID: ErrorCode.CONCURRENT_TRANSACTIONS,
    ApiKey.ADD_PARTITIONS_TO_TXN: ErrorCode.CONCURRENT_TRANSACTIONS,
    ApiKey.END_TXN: ErrorCode.CONCURRENT_TRANSACTIONS,
    ApiKey.DESCRIBE_TRANSACTIONS: ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
}

REFUSED: Final[dict[TransactionState, dict[ApiKey, ErrorCode]]] = {
    _S.EMPTY: {},
    _S.ONGOING: {},
    _S.PREPARE_COMMIT: _WAIT,
    _S.PREPARE_ABORT: _WAIT,
    _S.COMPLETE_COMMIT: {},
    _S.COMPLETE_ABORT: {},
    _S.DEAD: _GONE,
    _S.PREPARE_EPOCH_FENCE: _WAIT,
}


class End(Enum):
    """What kind of EndTxn it is."""

    OLD = "up to v4: the epoch stays"
    NEW = "v5: every end raises the epoch (KIP-890)"
    AGAIN = "v5, with the epoch before: its answer was lost"


_WRONG: Final = ErrorCode.INVALID_TXN_STATE

# (state, kind) -> what a commit and an abort are answered; None: served.
ENDED: Final[dict[tuple[TransactionState, End], tuple[ErrorCode | None, ErrorCode | None]]] = {
    (_S.EMPTY, End.OLD): (_WRONG, _WRONG),
    (_S.EMPTY, End.NEW): (_WRONG, None),
    (_S.ONGOING, End.OLD): (None, None),
    (_S.ONGOING, End.NEW): (None, None),
    (_S.COMPLETE_COMMIT, End.OLD): (ErrorCode.NONE, _WRONG),
    (_S.COMPLETE_COMMIT, End.NEW): (_WRONG, None),
    (_S.COMPLETE_COMMIT, End.AGAIN): (ErrorCode.NONE, _WRONG),
    (_S.COMPLETE_ABORT, End.OLD): (_WRONG, ErrorCode.NONE),
    (_S.COMPLETE_ABORT, End.NEW): (_WRONG, None),
    (_S.COMPLETE_ABORT, End.AGAIN): (_WRONG, ErrorCode.NONE),
}
