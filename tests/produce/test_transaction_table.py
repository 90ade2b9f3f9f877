"""The states of transactions as data, cell by cell, and what each error code is to each request."""

import pytest

from kcore import errors
from kcore.produce.transaction_effects import EFFECTS, FATAL_TO_BATCHES, OUTDATED, Effect, effect_of
from kcore.produce.transaction_states import ADVICE, TABLE, VERBS, TxnInput, TxnState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

# Columns: INITIALIZE BEGIN SEND OFFSETS COMMIT ABORT INITIALIZED ENDED FAILED BROKEN; "-": refused.
CELLS = {
    "UNINITIALIZED": "INITIALIZING - - - - - - - - FATAL_ERROR",
    "INITIALIZING": "INITIALIZING - - - - - READY - UNINITIALIZED FATAL_ERROR",
    "READY": "- IN_TRANSACTION - - - - - - - FATAL_ERROR",
    "IN_TRANSACTION": "- - IN_TRANSACTION IN_TRANSACTION COMMITTING ABORTING - - ABORTABLE_ERROR "
    "FATAL_ERROR",
    "COMMITTING": "- - - - COMMITTING ABORTING - READY ABORTABLE_ERROR FATAL_ERROR",
    "ABORTING": "- - - - - ABORTING - READY ABORTING FATAL_ERROR",
    "ABORTABLE_ERROR": "- - - - - ABORTING - - ABORTABLE_ERROR FATAL_ERROR",
    "FATAL_ERROR": "- - - - - - - - FATAL_ERROR FATAL_ERROR",
}


@pytest.mark.parametrize("state", TxnState)
def test_every_cell(state):
    cells = CELLS[state.name].split()
    assert len(cells) == len(TxnInput)
    for what, cell in zip(TxnInput, cells, strict=True):
        found = TABLE[state].get(what)
        assert (found.name if found else "-") == cell, what


def test_every_state_is_reached_and_left():
    assert set(TABLE) == set(TxnState)
    reached = {to for row in TABLE.values() for to in row.values()}
    assert reached == set(TxnState)
    for state in TxnState:
        left = any(to is not state for to in TABLE[state].values())
        assert left == (state is not TxnState.FATAL_ERROR)
    assert set(ADVICE) == set(TxnState) - {TxnState.ABORTABLE_ERROR, TxnState.FATAL_ERROR}
    assert [one.name for one in TxnInput][: len(VERBS)] == [one.name for one in VERBS]


# What Java's handlers do (4.3.1), code by code; the rest is RETRY if it can be retried, else REST.
MOVED = [E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR]
FENCED = [E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED]
JAVA = {
    ApiKey.FIND_COORDINATOR: {
        Effect.ABORT: [E.GROUP_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE],
    },
    ApiKey.INIT_PRODUCER_ID: {
        Effect.MOVED: MOVED,
        Effect.FENCED: FENCED,
        Effect.ABORT: [
            E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            E.CLUSTER_AUTHORIZATION_FAILED,
            E.TRANSACTION_ABORTABLE,
        ],
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        Effect.MOVED: MOVED,
        Effect.FENCED: FENCED,
        Effect.BUMP: [E.UNKNOWN_PRODUCER_ID],
        Effect.FATAL: [
            E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            E.INVALID_TXN_STATE,
            E.INVALID_PRODUCER_ID_MAPPING,
        ],
    },
    ApiKey.ADD_OFFSETS_TO_TXN: {
        Effect.MOVED: MOVED,
        Effect.FENCED: FENCED,
        Effect.BUMP: [E.UNKNOWN_PRODUCER_ID],
        Effect.ABORT: [E.GROUP_AUTHORIZATION_FAILED, E.TRANSACTION_ABORTABLE],
    },
    ApiKey.TXN_OFFSET_COMMIT: {
        Effect.MOVED: [*MOVED, E.REQUEST_TIMED_OUT],
        Effect.FENCED: FENCED,
        Effect.ABORT: [
            E.GROUP_AUTHORIZATION_FAILED,
            E.FENCED_INSTANCE_ID,
            E.TRANSACTION_ABORTABLE,
            *OUTDATED,
        ],
    },
    ApiKey.END_TXN: {
        Effect.MOVED: MOVED,
        Effect.FENCED: FENCED,
        Effect.BUMP: [E.UNKNOWN_PRODUCER_ID],
        Effect.ABORT: [E.TRANSACTION_ABORTABLE],
    },
}
REST = {ApiKey.ADD_PARTITIONS_TO_TXN: Effect.ABORT}


@pytest.mark.parametrize("api", JAVA, ids=lambda api: api.name)
def test_every_code_does_what_it_does_in_java(api):
    assert set(JAVA) == set(EFFECTS)
    wanted = {code: effect for effect, codes in JAVA[api].items() for code in codes}
    for code in E:
        if code is E.NONE:
            continue
        retried = Effect.RETRY if errors.for_code(code).retriable else REST.get(api, Effect.FATAL)
        assert effect_of(api, code) is wanted.get(code, retried), code.name


def test_what_no_abort_mends():
    fatal = {code for code in E if code and issubclass(errors.for_code(code), FATAL_TO_BATCHES)}
    assert fatal == {
        E.CLUSTER_AUTHORIZATION_FAILED,
        E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        E.PRODUCER_FENCED,
        E.UNSUPPORTED_VERSION,
        E.INVALID_PRODUCER_ID_MAPPING,
    }
