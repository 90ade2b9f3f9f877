"""Every state of a transactional id, with every request, in both versions of the protocol."""

import pytest
from transaction_world import T0, T1, World

from kcore.coordinator.transactions.states import (
    AT_REST,
    DECIDED,
    ENDED,
    NUMBERS,
    REFUSED,
    TABLE,
    End,
    TransactionInput,
    TransactionState,
)
from kcore.coordinator.transactions.transaction import Transaction
from kcore.errors import IllegalStateError
from kcore.wire.codes import ErrorCode as E

S = TransactionState
OBSERVABLE = [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, *AT_REST[1:]]
OLD, NEW = 0, 2


def world_in(state, version):
    """A world whose transactional id `x` is in a state, and its producer as the client knows it."""
    world = World(version)
    _, *producer = world.init()
    if state is S.EMPTY:
        return world, tuple(producer)
    world.marks = state not in DECIDED
    protocol = 5 if version == NEW else 3
    assert world.add(producer, T0, version=protocol) == E.NONE
    if state is S.ONGOING:
        return world, tuple(producer)
    committed = state in {S.PREPARE_COMMIT, S.COMPLETE_COMMIT}
    error, *after = world.end(producer, committed, version=5 if version == NEW else 4)
    assert error == E.NONE
    return world, tuple(after if version == NEW else producer)


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("state", OBSERVABLE)
def test_states_are_reached(state, version):
    world, _ = world_in(state, version)
    assert world.state() == state.value
    assert bool(world.markers) == (state in DECIDED)


WAIT = E.CONCURRENT_TRANSACTIONS
DONE = E.NONE
BAD = E.INVALID_TXN_STATE

# request -> what each of OBSERVABLE answers, and the state after it.
AFTER_INIT = [(DONE, S.EMPTY), (WAIT, S.COMPLETE_ABORT), (WAIT, None), (WAIT, None)]
AFTER_INIT += [(DONE, S.EMPTY), (DONE, S.EMPTY)]
AFTER_ADD = [(DONE, S.ONGOING), (DONE, S.ONGOING), (WAIT, None), (WAIT, None)]
AFTER_ADD += [(DONE, S.ONGOING), (DONE, S.ONGOING)]
ABORTABLE = E.TRANSACTION_ABORTABLE
CELLS = {
    (OLD, "init"): AFTER_INIT,
    (NEW, "init"): AFTER_INIT,
    (OLD, "init again"): AFTER_INIT,
    (NEW, "init again"): AFTER_INIT,
    (OLD, "add"): AFTER_ADD,
    (NEW, "add"): AFTER_ADD,
    (OLD, "offsets"): AFTER_ADD,
    (NEW, "offsets"): AFTER_ADD,
    (OLD, "verify"): [
        (ABORTABLE, S.EMPTY), (DONE, S.ONGOING), (WAIT, None), (WAIT, None),
        (ABORTABLE, S.COMPLETE_COMMIT), (ABORTABLE, S.COMPLETE_ABORT),
    ],
    (OLD, "commit"): [
        (BAD, S.EMPTY), (DONE, S.COMPLETE_COMMIT), (WAIT, None), (WAIT, None),
        (DONE, S.COMPLETE_COMMIT), (BAD, S.COMPLETE_ABORT),
    ],
    (OLD, "abort"): [
        (BAD, S.EMPTY), (DONE, S.COMPLETE_ABORT), (WAIT, None), (WAIT, None),
        (BAD, S.COMPLETE_COMMIT), (DONE, S.COMPLETE_ABORT),
    ],
    (NEW, "commit"): [
        (BAD, S.EMPTY), (DONE, S.COMPLETE_COMMIT), (WAIT, None), (WAIT, None),
        (BAD, S.COMPLETE_COMMIT), (BAD, S.COMPLETE_ABORT),
    ],
    (NEW, "abort"): [
        (DONE, S.COMPLETE_ABORT), (DONE, S.COMPLETE_ABORT), (WAIT, None), (WAIT, None),
        (DONE, S.COMPLETE_ABORT), (DONE, S.COMPLETE_ABORT),
    ],
    (NEW, "commit again"): [
        (E.PRODUCER_FENCED, S.EMPTY), (E.PRODUCER_FENCED, S.ONGOING), (WAIT, None), (WAIT, None),
        (DONE, S.COMPLETE_COMMIT), (BAD, S.COMPLETE_ABORT),
    ],
    (NEW, "abort again"): [
        (E.PRODUCER_FENCED, S.EMPTY), (E.PRODUCER_FENCED, S.ONGOING), (WAIT, None), (WAIT, None),
        (BAD, S.COMPLETE_COMMIT), (DONE, S.COMPLETE_ABORT),
    ],
}  # fmt: skip
CELLS[NEW, "verify"] = CELLS[OLD, "verify"]


def request(world, what, producer, version):
    new = version == NEW
    before = (producer[0], producer[1] - 1)
    return {
        "init": lambda: world.init()[0],
        "init again": lambda: world.init(producer=producer)[0],
        "add": lambda: world.add(producer, T0, version=5 if new else 3),
        "offsets": lambda: world.add_offsets(producer),
        "verify": lambda: world.add(producer, T0, verify=True),
        "commit": lambda: world.end(producer, True, version=5 if new else 4)[0],
        "abort": lambda: world.end(producer, False, version=5 if new else 4)[0],
        "commit again": lambda: world.end(before, True)[0],
        "abort again": lambda: world.end(before, False)[0],
    }[what]()


@pytest.mark.parametrize("index", range(len(OBSERVABLE)), ids=lambda i: OBSERVABLE[i].value)
@pytest.mark.parametrize(("version", "what"), CELLS, ids=str)
def test_every_cell(version, what, index):
    state = OBSERVABLE[index]
    world, producer = world_in(state, version)
    code, after = CELLS[version, what][index]
    assert request(world, what, producer, version) == code
    if after is None:
        assert world.state() == state.value
        world.mark()
        assert world.state() == TABLE[state][TransactionInput.MARKED].value
    else:
        assert world.state() == after.value


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("state", OBSERVABLE)
def test_who_is_not_the_producer_changes_nothing(state, version):
    """A wrong producer id, and epochs of others, with every request."""
    for wrong, code in (
        (lambda pid, epoch: (pid + 7, epoch), E.INVALID_PRODUCER_ID_MAPPING),
        (lambda pid, epoch: (pid, epoch + 1), E.PRODUCER_FENCED),
        (lambda pid, epoch: (pid, epoch - 2), E.PRODUCER_FENCED),
    ):
        world, producer = world_in(state, version)
        stranger = wrong(*producer)
        busy = state in DECIDED
        assert world.add(stranger, T1) == (WAIT if busy else code)
        assert world.add(stranger, T0, verify=True) == code
        assert world.add_offsets(stranger) == (WAIT if busy else code)
        assert world.end(stranger, True, version=5) == (WAIT if busy else code, -1, -1)
        assert world.end(stranger, False, version=4) == (code, -1, -1)
        assert world.state() == state.value
        old = E.INVALID_PRODUCER_EPOCH if code == E.PRODUCER_FENCED else code
        assert world.end(stranger, True, version=1)[0] == old  # KIP-588


def test_nobody_knows_an_id_that_was_never_initialized():
    world = World()
    assert world.add((1, 0), T0) == E.INVALID_PRODUCER_ID_MAPPING
    assert world.add((1, 0), T0, verify=True) == E.INVALID_PRODUCER_ID_MAPPING
    assert world.add_offsets((1, 0)) == E.INVALID_PRODUCER_ID_MAPPING
    assert world.end((1, 0))[0] == E.INVALID_PRODUCER_ID_MAPPING
    assert world.state() == E.TRANSACTIONAL_ID_NOT_FOUND
    assert world.add((1, 0), T0, name="") == E.INVALID_REQUEST
    assert world.end((1, 0), name="")[0] == E.INVALID_REQUEST
    assert world.state("") == E.INVALID_REQUEST


@pytest.mark.parametrize("state", TransactionState)
@pytest.mark.parametrize("what", TransactionInput)
def test_the_table_is_the_only_way(state, what):
    transaction = Transaction("x", 1, 1_000, 0, epoch=3, state=state)
    moves = {
        TransactionInput.INITIALIZED: lambda: transaction.initialized(1, 4, -1, 0),
        TransactionInput.ADDED: lambda: transaction.with_partitions([T0], 0, 0),
        TransactionInput.COMMITTED: lambda: ending(transaction, committed=True),
        TransactionInput.ABORTED: lambda: ending(transaction, committed=False),
        TransactionInput.MARKED: lambda: transaction.completed(0),
        TransactionInput.FENCED: lambda: transaction.fenced(0, -1, 0),
        TransactionInput.EXPIRED: None,
    }
    move = moves[what]
    if move is None:
        return
    after = TABLE[state].get(what)
    if after is None:
        with pytest.raises(IllegalStateError):
            move()
    elif what is TransactionInput.FENCED:
        assert move().state is S.PREPARE_ABORT
    else:
        assert move().state is after


def ending(transaction, *, committed):
    return transaction.ending(committed=committed, client_version=0, next_producer_id=-1, wall_ms=0)


def test_the_tables_are_whole():
    assert set(TABLE) == set(REFUSED) == set(NUMBERS) == set(TransactionState)
    assert sorted(NUMBERS.values()) == list(range(8))
    for state in AT_REST:
        assert {(state, End.OLD), (state, End.NEW)} <= set(ENDED)
    assert not {state for state, _ in ENDED} & set(DECIDED)
