"""The life of a transactional producer as data; nothing else is in this file.

`TABLE` says which state follows an input. An input that is missing for a state is refused: a verb
with an error that names the state, a turn of events is not heard any more. Source: Java's
TransactionManager (KIP-98, KIP-360, KIP-588, KIP-890).
"""

from __future__ import annotations

from typing import Final

from kcore.enums import Enum


class TxnState(Enum):
    """Where a producer with a transactional id stands; the values are for messages."""

    # Nobody has been asked for a producer id.
    # INITIALIZE: -> INITIALIZING. BEGIN, SEND, OFFSETS, COMMIT, ABORT: refused, initialize first.
    # FAILED: nothing to fail. BROKEN: -> FATAL_ERROR.
    UNINITIALIZED = "not initialized"

    # The coordinator is asked for the producer id and the next epoch, which fences whoever had the
    # transactional id before and aborts what it left open.
    # INITIALIZE: the same again, the first has timed out. INITIALIZED: -> READY. FAILED (not
    # allowed to, told to abort): -> UNINITIALIZED, it can be tried again. BROKEN: -> FATAL_ERROR.
    # BEGIN, SEND, OFFSETS, COMMIT, ABORT: refused.
    INITIALIZING = "initializing"

    # There is an id, and no transaction.
    # BEGIN: -> IN_TRANSACTION. INITIALIZE, SEND, OFFSETS, COMMIT, ABORT: refused; save that a verb
    # nobody has heard the end of tells it. FAILED: nothing to fail. BROKEN: -> FATAL_ERROR.
    READY = "ready"

    # What is sent is part of the transaction.
    # SEND, OFFSETS: more of it. COMMIT: -> COMMITTING. ABORT: -> ABORTING. FAILED (a batch, the
    # offsets, a partition that cannot be added): -> ABORTABLE_ERROR. BROKEN: -> FATAL_ERROR.
    # INITIALIZE, BEGIN: refused.
    IN_TRANSACTION = "in a transaction"

    # Everything is sent, then the coordinator is told to commit.
    # COMMIT: the same again, the first has timed out. ABORT: -> ABORTING as long as the coordinator
    # was not told; refused behind that, as nobody can say that it is not committed. ENDED: ->
    # READY. FAILED: -> ABORTABLE_ERROR. BROKEN: -> FATAL_ERROR. All others: refused.
    COMMITTING = "committing a transaction"

    # What was not sent is dropped, what is under way is waited for, then the coordinator is told,
    # and asked for another epoch where the old one is not worth keeping.
    # ABORT: the same again, the first has timed out. ENDED: -> READY. FAILED: it is being aborted
    # already. BROKEN: -> FATAL_ERROR. All others: refused.
    ABORTING = "aborting a transaction"

    # Something of the transaction has failed; what was not sent is dropped.
    # ABORT: -> ABORTING. FAILED: the first reason stays. BROKEN: -> FATAL_ERROR. SEND, OFFSETS,
    # COMMIT: refused, with the reason. INITIALIZE, BEGIN: refused, with the reason.
    ABORTABLE_ERROR = "in a transaction that has failed"

    # Another producer has the id, or it may not be used: only close is left. Every verb is refused
    # with the reason; FAILED, BROKEN: the first reason stays.
    FATAL_ERROR = "at its end"


class TxnInput(Enum):
    """What can happen: the verbs of the application, then what the cluster has said."""

    INITIALIZE = "init_transactions"
    BEGIN = "begin_transaction"
    SEND = "send"
    OFFSETS = "send_offsets_to_transaction"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"
    INITIALIZED = "there is a producer id"
    ENDED = "the coordinator has ended the transaction"
    FAILED = "the transaction can only be aborted"
    BROKEN = "the producer cannot go on"


VERBS: Final = (
    TxnInput.INITIALIZE,
    TxnInput.BEGIN,
    TxnInput.SEND,
    TxnInput.OFFSETS,
    TxnInput.COMMIT,
    TxnInput.ABORT,
)

_S, _I = TxnState, TxnInput

TABLE: Final[dict[TxnState, dict[TxnInput, TxnState]]] = {
    _S.UNINITIALIZED: {
        _I.INITIALIZE: _S.INITIALIZING,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.INITIALIZING: {
        _I.INITIALIZE: _S.INITIALIZING,
        _I.INITIALIZED: _S.READY,
        _I.FAILED: _S.UNINITIALIZED,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.READY: {
        _I.BEGIN: _S.IN_TRANSACTION,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.IN_TRANSACTION: {
        _I.SEND: _S.IN_TRANSACTION,
        _I.OFFSETS: _S.IN_TRANSACTION,
        _I.COMMIT: _S.COMMITTING,
        _I.ABORT: _S.ABORTING,
        _I.FAILED: _S.ABORTABLE_ERROR,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.COMMITTING: {
        _I.COMMIT: _S.COMMITTING,
        _I.ABORT: _S.ABORTING,
        _I.ENDED: _S.READY,
        _I.FAILED: _S.ABORTABLE_ERROR,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.ABORTING: {
        _I.ABORT: _S.ABORTING,
        _I.ENDED: _S.READY,
        _I.FAILED: _S.ABORTING,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.ABORTABLE_ERROR: {
        _I.ABORT: _S.ABORTING,
        _I.FAILED: _S.ABORTABLE_ERROR,
        _I.BROKEN: _S.FATAL_ERROR,
    },
    _S.FATAL_ERROR: {
        _I.FAILED: _S.FATAL_ERROR,
        _I.BROKEN: _S.FATAL_ERROR,
    },
}

# What the user is told to do where a verb is refused without an error to name.
ADVICE: Final[dict[TxnState, str]] = {
    _S.UNINITIALIZED: "call init_transactions first",
    _S.INITIALIZING: "init_transactions is not over: call it again",
    _S.READY: "begin_transaction first",
    _S.IN_TRANSACTION: "commit or abort that first",
    _S.COMMITTING: "call commit_transaction again to hear how that ends",
    _S.ABORTING: "call abort_transaction again until it is over",
}
