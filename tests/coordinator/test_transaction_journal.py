"""The journal of transactions: Kafka's own classes read it, and killed anywhere it goes on."""

import random

import pytest
from kafka_reading import as_kafka_reads
from transaction_world import T0, T1, World, end

from kcore.coordinator import Entry, Marker
from kcore.coordinator.transactions.journal import read_transaction, transaction_entry
from kcore.coordinator.transactions.states import AT_REST, DECIDED, TransactionState
from kcore.coordinator.transactions.transaction import Transaction
from kcore.errors import CorruptRecordError
from kcore.wire.codes import ErrorCode as E


class Client:
    """A producer that does whatever it likes, and tries again what it may."""

    def __init__(self, world, rng, name):
        self.world = world
        self.rng = rng
        self.name = name
        self.producer = None
        self.open = False
        self.outcome = None  # what it has asked for and has no answer to

    def step(self):
        world, name, new = self.world, self.name, self.world.config.transaction_version == 2
        if self.producer is None or self.rng.random() < 0.1:
            error, *producer = world.init(name, self.rng.choice([5_000, 60_000]))
            if not error:
                self.producer, self.open, self.outcome = producer, False, None
            return
        if self.outcome is None and (not self.open or self.rng.random() < 0.5):
            tp = self.rng.choice([T0, T1])
            error = world.add(self.producer, tp, name=name, version=5 if new else 3)
            self.open |= not error
        else:
            if self.outcome is None:
                self.outcome = self.rng.random() < 0.6
            version = 5 if new else 4
            error, *after = world.end(self.producer, self.outcome, name, version)
            if not error:
                self.open, self.outcome = False, None
                self.producer = after if new else self.producer
        if error and error is not E.CONCURRENT_TRANSACTIONS:
            # The coordinator aborted it by time, which from version 2 on looks like an answer lost.
            late = E.INVALID_TXN_STATE if new else E.PRODUCER_FENCED
            assert error in {E.PRODUCER_FENCED, E.INVALID_PRODUCER_ID_MAPPING, late}
            self.producer = None


def chaos(seed, version, *, kill=0.0, steps=120):
    """A world in which clients did things, time passed, and the coordinator died now and then."""
    rng = random.Random(seed)
    world = World(version)
    clients = [Client(world, rng, name) for name in ("a", "b", "ü", "a")]
    for _ in range(steps):
        world.marks = rng.random() < 0.7
        rng.choice(clients).step()
        if rng.random() < 0.1:
            world.run(rng.choice([10, 3_000, 10_000]))
        if rng.random() < kill:
            world.load()
    return world


def of_journal(world):
    """Transactional id -> its transactions in the order of the journal."""
    found = {}
    for items in world.journals.values():
        for item in items:
            name, transaction = read_transaction(item)
            found.setdefault(name, []).append(transaction)
    return found


def follows(before, after):
    """Whether one entry may come after another of the same id."""
    if before is None:
        return after.state is TransactionState.EMPTY
    if before.state in DECIDED:
        done = "COMMIT" if before.committing else "ABORT"
        return after.state.name == f"COMPLETE_{done}"
    return after.state is not TransactionState.DEAD and (
        after.state not in AT_REST or after.state is TransactionState.EMPTY
    )


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("seed", range(30))
def test_every_decision_is_carried_out_once_and_epochs_never_go_back(seed, version):
    world = chaos(seed, version, kill=0.1)
    world.marks = True
    world.load()
    world.run(100_000)
    decided = set()
    for name, transactions in of_journal(world).items():
        before = None
        for after in transactions:
            assert follows(before, after), name
            if before is not None:
                assert (after.producer_id, after.epoch) >= (before.producer_id, before.epoch)
            if after.state in DECIDED:
                key = (after.producer_id, after.epoch, after.committing)
                assert key not in decided or version == 0
                decided |= {(*key, tp) for tp in after.partitions}
                decided.add(key)
            before = after
        assert before.state not in DECIDED, "everything that was decided is over"
        assert before.state is not TransactionState.ONGOING, "and what was open timed out"
    # Markers may be written more than once, but never another outcome, and none is missing.
    assert set(world.written) == {one for one in decided if len(one) == 4}


@pytest.mark.parametrize("version", [0, 2])
def test_killed_at_any_entry_it_goes_on(version):
    """Cut the journal behind each entry: what was decided up to there is carried out, nothing
    else.
    """
    whole = chaos(7, version)
    items = [(part, item) for part, found in whole.journals.items() for item in found]
    for cut in range(len(items)):
        world = World(version)
        world.written.clear()
        for partition in world.journals:
            world.coordinator.handle_resigned(partition, world.now_ms)
            world.journals[partition] = [item for part, item in items[:cut] if part == partition]
        latest = {name: found[-1] for name, found in of_journal(world).items()}
        world.now_ms = whole.now_ms
        world.load()
        for name, before in latest.items():
            after = world.coordinator.transaction(name)
            if before.state in DECIDED:
                done = "COMMIT" if before.committing else "ABORT"
                assert after.state.name == f"COMPLETE_{done}"
                for tp in before.partitions:
                    mark = (before.producer_id, before.epoch, before.committing, tp)
                    assert mark in world.written
            elif after.state is not before.state:
                # It was open, and its time was over.
                assert before.state is TransactionState.ONGOING
                assert after.state is TransactionState.COMPLETE_ABORT
            else:
                assert after == before
        world.run(100_000)
        assert world.init("a")[0] in {E.NONE, E.CONCURRENT_TRANSACTIONS}
        assert world.init("a")[0] == E.NONE


def test_an_append_that_is_lost_is_as_if_it_had_not_been():
    world = World(held=True)
    world.held = False
    _, *producer = world.init()
    world.add(producer, T0)
    world.held = True
    world.send(end(producer))
    world.load()  # the entry was on its way
    assert world.state() == "Ongoing"
    assert not world.written
    world.held = False
    assert world.end(producer)[0] == E.NONE


def test_an_open_transaction_times_out_after_a_restart():
    world = World()
    _, *producer = world.init(timeout_ms=10_000)
    world.add(producer, T0)
    world.run(9_000)
    world.load()
    world.run(1_000)
    assert world.state() == "Ongoing"
    world.run(1)
    assert world.state() == "CompleteAbort"


@pytest.mark.parametrize("cut", [0, 1, 3, -1])
@pytest.mark.parametrize("part", ["key", "value"])
def test_what_cannot_be_read_is_said(part, cut):
    entry = transaction_entry(Transaction("x", 1, 2, 3, epoch=4, partitions=frozenset({T0})), 1)
    parts = {"key": entry.key, "value": entry.value}
    parts[part] = parts[part][:cut]
    with pytest.raises(CorruptRecordError):
        read_transaction(Entry(**parts))


def test_states_and_types_that_are_not_known():
    entry = transaction_entry(Transaction("x", 1, 2, 3, epoch=4), 0)
    value = bytearray(entry.value)
    value[2 + 8 + 2 + 4] = 99
    with pytest.raises(CorruptRecordError):
        read_transaction(Entry(entry.key, bytes(value)))
    assert read_transaction(Entry(b"\0\1" + entry.key[2:], entry.value)) is None
    world = World()
    partition = world.coordinator.partition_for("x")
    world.coordinator.handle_resigned(partition, 0)
    world.coordinator.handle_elected(partition, 5)
    world.coordinator.handle_entries(partition, [Entry(b"\0\1", b""), Marker(1, 1, True)], 0)
    world.coordinator.handle_loaded(partition, 0)
    assert world.init()[0] == 0


@pytest.mark.kafka
def test_kafka_reads_what_we_write():
    worlds = [chaos(seed, version) for seed in range(4) for version in (0, 2)]
    entries = [item for world in worlds for found in world.journals.values() for item in found]
    entries.append(Entry(entries[0].key, None))
    assert len(entries) > 100
    versions = set()
    for entry, found in zip(entries, as_kafka_reads("__transaction_state", entries), strict=True):
        name, transaction = read_transaction(entry)
        assert found["key"]["data"] == {"transactionalId": name}
        if transaction is not None:
            data = found["value"]["data"]
            versions.add(found["value"]["version"])
            assert data["producerId"] == transaction.producer_id
            assert data["producerEpoch"] == transaction.epoch
            assert data["transactionStartTimestampMs"] == transaction.started_ms
            parts = {
                (one["topic"], number)
                for one in data["transactionPartitions"] or ()
                for number in one["partitionIds"]
            }
            assert parts == transaction.partitions
    assert versions == {0, 1}
