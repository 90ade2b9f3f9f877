"""A log and its producers: sequences, open and aborted transactions, the last stable offset."""

import random

import pytest
from broker_world import WALL_MS, batch

from kcore.broker import LogConfig, PartitionLog
from kcore.broker.aborted import TransactionIndex
from kcore.broker.batches import RefusedError, read_header
from kcore.broker.markers import Marker, marker_batch, read_marker
from kcore.broker.sequences import Origin
from kcore.records import encode_batch
from kcore.wire.codes import ErrorCode as E


class Log:
    """A log, `replicated` as far as it goes unless told otherwise."""

    def __init__(self):
        self.log = PartitionLog("t", 0, LogConfig())

    def put(self, producer=1, sequence=0, epoch=0, count=1, origin=None, *, transactional=True):
        """The base offset, or the code of the refusal."""
        data = batch(
            *[b"v"] * count,
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
        try:
            appended = self.log.append(memoryview(data), 0, WALL_MS, origin or Origin())
        except RefusedError as refused:
            return refused.code
        self.log.high_watermark = self.log.end_offset
        return appended.base_offset

    def begin(self, producer=1, sequence=0, epoch=0, count=1, *, bumps=True):
        """The first batch of a transaction is about to be verified, whatever becomes of that."""
        data = batch(
            *[b"v"] * count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence
        )
        self.log.sequences.begin(read_header(data), bumps=bumps)

    def mark(self, producer=1, epoch=0, committed=True, coordinator=0, *, replicated=True):
        data = marker_batch(producer, epoch, Marker(committed, coordinator), WALL_MS)
        self.log.add(data, read_header(data), 0, WALL_MS)
        if replicated:
            self.log.high_watermark = self.log.end_offset

    def may_mark(self, producer=1, epoch=0, coordinator=0, version=0):
        try:
            self.log.sequences.check_marker(
                producer, epoch, coordinator, version, opened=producer in self.log.transactions
            )
        except RefusedError as refused:
            return refused.code
        return None

    @property
    def stable(self):
        return self.log.last_stable_offset

    def aborted(self, offset=0, end=None):
        end = self.log.end_offset if end is None else end
        return [
            (one.producer_id, one.first_offset)
            for one in self.log.transactions.aborted(offset, end)
        ]


@pytest.fixture
def log():
    return Log()


def test_a_marker_is_read_as_it_was_written():
    for marker in (Marker(True, 7), Marker(False, 0)):
        data = marker_batch(5, 3, marker, WALL_MS)
        assert read_marker(data) == marker
        header = read_header(data)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 3, -1)
        assert header.record_count == 1
    other = encode_batch([(0, b"\0\0\0\5", b"")], control=True)
    assert read_marker(other) is None


def test_the_last_stable_offset_is_where_the_first_open_transaction_begins(log):
    log.put(9, transactional=False)
    assert log.stable == 1
    log.put(1)
    log.put(2)
    log.put(9, 1, transactional=False)
    assert log.stable == 1
    log.mark(2)
    assert log.stable == 1
    log.mark(1)
    assert log.stable == log.log.end_offset == 6
    log.put(1, 1)
    assert log.stable == 6


def test_what_is_not_replicated_is_not_stable(log):
    log.put(1)
    log.mark(1, replicated=False)
    assert (log.log.high_watermark, log.stable) == (1, 0)
    log.log.high_watermark = 2
    assert log.stable == 2


def test_which_aborted_transactions_a_reader_is_told(log):
    log.put(1)  # 0
    log.put(2)  # 1
    log.mark(1, committed=False)  # 2
    log.put(3)  # 3
    log.mark(2, committed=True)  # 4
    log.put(1, 1)  # 5
    log.mark(3, committed=False)  # 6
    log.mark(1, committed=False)  # 7
    assert log.aborted() == [(1, 0), (3, 3), (1, 5)]
    assert log.aborted(0, 1) == [(1, 0)]
    assert log.aborted(3) == [(3, 3), (1, 5)]
    assert log.aborted(3, 5) == [(3, 3)]
    assert log.aborted(7) == [(1, 5)]
    assert log.aborted(8) == []
    log.log.advance_start(7)
    assert log.aborted() == [(1, 5)]


def test_what_is_deleted_is_not_waited_for(log):
    log.put(1, count=2)
    log.put(9, transactional=False)
    log.log.advance_start(1)
    assert log.stable == 1
    log.log.advance_start(3)
    assert log.stable == 3
    log.put(9, 1, transactional=False)
    assert log.stable == 3
    log.mark(1, committed=False)
    assert log.stable == log.log.end_offset


def test_a_marker_of_nothing_aborts_nothing(log):
    log.mark(1, committed=False)
    assert log.aborted() == []
    assert log.stable == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_index_says_what_a_walk_over_the_log_says(seed):
    """Against the plainest thing that could be right."""
    rng = random.Random(seed)
    log, sequences, opened, ended = Log(), {}, {}, []
    for _ in range(120):
        producer = rng.randrange(4)
        if producer in opened and rng.random() < 0.4:
            committed = rng.random() < 0.5
            ended.append((producer, opened.pop(producer), log.log.end_offset, committed))
            log.mark(producer, committed=committed)
        else:
            sequence = sequences.get(producer, 0)
            offset = log.put(producer, sequence)
            opened.setdefault(producer, offset)
            sequences[producer] = sequence + 1
        assert log.stable == min(opened.values(), default=log.log.end_offset)
        end = rng.randrange(log.stable + 1)
        start = rng.randrange(end + 1)
        assert log.aborted(start, end) == [
            (one, first)
            for one, first, last, committed in ended
            if not committed and last >= start and first < end
        ]
    cut = rng.randrange(1, log.log.end_offset)
    fresh = Log()
    fresh.log.load(list(log.log.batches()), 0, WALL_MS)
    assert fresh.stable == log.stable
    assert fresh.aborted() == log.aborted()
    log.log.truncate(cut)
    fresh.log.load(list(log.log.batches()), 0, WALL_MS)
    assert (fresh.stable, fresh.aborted()) == (log.stable, log.aborted())


# Sequences ---------------------------------------------------------------------------------------


def test_the_next_transaction_of_the_same_epoch_goes_on_with_its_sequences(log):
    assert log.put(1, 0, count=2) == 0
    log.mark(1)
    assert log.put(1, 0, count=2) == 0  # again
    assert log.put(1, 1) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.begin(1, 2)
    assert log.put(1, 2) == 3


def test_the_next_transaction_of_a_new_epoch_begins_with_nothing(log):
    log.begin(1, 0, count=2)
    assert log.put(1, 0, count=2) == 0
    log.mark(1, epoch=1)
    assert log.put(1, 2, 0) == E.INVALID_PRODUCER_EPOCH
    log.begin(1, 2, 1)
    assert log.put(1, 2, 1) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.begin(1, 0, 1)
    assert log.put(1, 0, 1) == 3


def test_who_is_not_known_may_begin_anywhere_unless_it_cannot_have_been_here(log):
    assert log.put(1, 5) == 0
    log.begin(2, 1)
    assert log.put(2, 1) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.begin(2, 0)
    assert log.put(2, 0) == 1
    assert log.put(3, 5, transactional=False, origin=Origin(strict=True)) == E.UNKNOWN_PRODUCER_ID
    assert log.put(3, 0, transactional=False, origin=Origin(strict=True)) == 2
    assert log.put(4, 5, transactional=False) == 3  # its epoch goes on
    log.begin(5, 3, bumps=False)
    assert log.put(5, 4, transactional=False) == E.OUT_OF_ORDER_SEQUENCE_NUMBER  # the first waits
    assert log.put(5, 3, transactional=False) == 4


def test_who_has_no_epoch_has_no_order(log):
    assert log.put(1, 3, epoch=-1, transactional=False) == 0
    assert log.put(1, 9, epoch=-1, transactional=False) == 1
    assert log.put(1, 7, epoch=0, transactional=False) == 2
    assert log.put(1, 7, epoch=0, transactional=False) == 2  # again
    assert log.put(1, 9, epoch=0, transactional=False) == E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_in_a_transaction_everything_is(log):
    log.put(1, 0)
    assert log.put(1, 1, transactional=False) == E.INVALID_TXN_STATE
    log.mark(1)
    assert log.put(1, 1, transactional=False) == 2


@pytest.fixture
def begin(log):
    def begin(sequence, epoch=0, producer=1):
        log.begin(producer, sequence, epoch, bumps=False)

    return begin


def test_what_comes_behind_a_batch_that_is_being_verified_waits_for_it(log, begin):
    begin(4)
    begin(6)
    begin(5)
    assert log.put(1, 6) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.put(1, 5) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    begin(2)
    assert log.put(1, 4) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.put(1, 2) == 0
    log.mark(1)
    begin(7)  # it is the first again
    begin(0, epoch=1)
    assert log.put(1, 0, 1) == 2
    with pytest.raises(RefusedError) as caught:
        begin(3, epoch=0)
    assert caught.value.code == E.INVALID_PRODUCER_EPOCH


def test_what_is_verified_of_another_epoch_is_not_waited_for(log, begin):
    begin(7, epoch=1)
    begin(3, epoch=0)  # too late
    assert log.put(1, 8, epoch=1) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.put(1, 7, epoch=1) == 0
    begin(9, producer=2)
    begin(5, epoch=1, producer=2)
    begin(8, epoch=2, producer=2)
    assert log.put(2, 9, epoch=2) == E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_was_verified_and_never_came_ends_with_its_transaction(log, begin):
    begin(2)
    log.mark(1, committed=False)
    assert log.put(1, 7, epoch=-1) == E.INVALID_PRODUCER_EPOCH
    begin(0)
    assert log.put(1, 0) == 1
    assert log.put(1, 1) == 2
    log.mark(1)
    begin(2)
    assert log.put(1, 2) == 4


def test_zombies_of_producers_and_of_coordinators_are_fenced(log):
    assert log.may_mark(1) is None  # nothing is known
    log.put(1, 0, epoch=3)
    assert log.may_mark(1, 2) == E.INVALID_PRODUCER_EPOCH
    assert log.may_mark(1, 3) is None
    assert log.may_mark(1, 3, version=2) == E.INVALID_PRODUCER_EPOCH
    assert log.may_mark(1, 4, version=2) is None
    log.mark(1, 4, coordinator=9)
    assert log.may_mark(1, 4, 8) == E.TRANSACTION_COORDINATOR_FENCED
    assert log.may_mark(1, 4, 9, version=2) is None  # written before, its answer was lost
    assert log.may_mark(1, 3, 9) == E.INVALID_PRODUCER_EPOCH
    log.put(2, 0, epoch=0x7FFF)
    assert log.may_mark(2, 0x7FFF, version=2) is None  # there is none above it


def test_silent_producers_are_forgotten_but_for_those_in_transactions(log):
    log.put(1, 4)
    log.put(2, 4, transactional=False)
    log.log.sequences.expire(WALL_MS - 1, log.log.transactions)
    assert {producer for producer, _ in log.log.sequences} == {1, 2}
    log.log.sequences.expire(WALL_MS, log.log.transactions)
    assert {producer for producer, _ in log.log.sequences} == {1}
    assert log.put(2, 9, transactional=False) == 2


def test_producers_are_bounded(log, monkeypatch):
    monkeypatch.setattr("kcore.broker.sequences.PRODUCERS_MAX", 3)
    for producer in range(6):
        log.put(producer, 3, transactional=False)
        header = read_header(batch(b"v", producer_id=producer, producer_epoch=0, base_sequence=4))
        log.log.sequences.begin(header, bumps=False)
    assert [producer for producer, _ in log.log.sequences] == [3, 4, 5]
    log.put(3, 4, transactional=False)
    log.put(6, 3, transactional=False)
    assert [producer for producer, _ in log.log.sequences] == [5, 3, 6]  # the most silent went


def test_what_is_being_verified_is_bounded(log, begin, monkeypatch):
    monkeypatch.setattr("kcore.broker.sequences.PRODUCERS_MAX", 2)
    for producer in range(3):
        begin(0, producer=producer)
    assert log.put(1, 1) == log.put(2, 1) == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.put(0, 1) == 0  # forgotten: nothing is known of it


def test_an_empty_index():
    index = TransactionIndex()
    assert index.last_stable_offset(7) == 7
    assert index.aborted(0, 9) == []
    index.deleted(3)
    assert 1 not in index
