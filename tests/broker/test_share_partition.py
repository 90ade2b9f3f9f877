"""One share-partition: what becomes of records, cell by cell, and in histories made at random."""

import random

import pytest
from longer import quickly

from kcore.broker.batches import RefusedError
from kcore.broker.share.batches import Run
from kcore.broker.share.keeping import Kept
from kcore.broker.share.partition import Acknowledgement, Acquired, Demand, SharePartition
from kcore.broker.share.states import TABLE, TERMINAL, TYPES, RecordInput, RecordState
from kcore.coordinator.share.options import ShareOptions
from kcore.errors import IllegalStateError
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode as E

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
LOCK = 30_000

# Written down a second time: what may follow what.
LEGAL = {
    (AVAILABLE, ACQUIRED),
    (AVAILABLE, ARCHIVED),
    (ACQUIRED, ACQUIRED),
    (ACQUIRED, AVAILABLE),
    (ACQUIRED, ACKED),
    (ACQUIRED, ARCHIVED),
    (ACQUIRED, RecordState.ARCHIVING),
    (RecordState.ARCHIVING, ARCHIVED),
}


def made(start=0, kept=None, **options):
    return SharePartition(start, kept or Kept(), 0, ShareOptions(**options))


def log(*sizes, first=0):
    """First and last offset of record batches of so many records."""
    spans = []
    for size in sizes:
        spans.append((first, first + size - 1))
        first += size
    return spans


def take(share, spans, *, member="m", most=500, batch_size=500, exact=False, now=0):
    """Acquire what there is from the next offset on, as (first, last, count)."""
    offset = share.next_offset
    found = [span for span in spans if span[1] >= offset]
    return [
        tuple(one) for one in share.acquire(Demand(member, most, batch_size, exact), found, now)
    ]


def say(share, first, last, *types, member="m", now=0):
    """Acknowledge; the error."""
    try:
        share.acknowledge(member, [Acknowledgement(first, last, types)], now)
    except RefusedError as refused:
        return refused.code
    return E.NONE


def shown(share):
    return [(run.first, run.last, run.state, run.count) for run in share.runs()]


# The table ---------------------------------------------------------------------------------------


def test_the_table_has_the_legal_moves_and_no_other():
    assert set(TABLE) == set(RecordState)
    found = {(before, after) for before, row in TABLE.items() for after in row.values()}
    assert found == LEGAL
    assert all(not TABLE[state] for state in TERMINAL)
    assert set(TYPES.values()) <= set(TABLE[ACQUIRED])


@pytest.mark.parametrize("what", RecordInput)
@pytest.mark.parametrize("state", RecordState)
def test_every_cell_moves_or_is_refused(state, what):
    run = Run(0, 4, state, 1, "m" if state is ACQUIRED else "", 9 if state is ACQUIRED else 0)
    if what in TABLE[state]:
        run.move(what)
        assert run.state is TABLE[state][what]
        assert bool(run.member) is (run.state is ACQUIRED and state is ACQUIRED)
    else:
        with pytest.raises(IllegalStateError, match=what.name):
            run.move(what)
        assert run.state is state


# Acquiring ---------------------------------------------------------------------------------------


def test_everything_is_acquired_once():
    share, spans = made(), log(5, 5)
    assert take(share, spans) == [(0, 9, 1)]
    assert (share.start_offset, share.end_offset, share.in_flight) == (0, 10, 10)
    assert take(share, spans, member="n") == []
    assert share.deadline == LOCK


def test_whole_record_batches_are_acquired_beyond_the_count():
    share, spans = made(), log(5, 5, 5)
    assert take(share, spans, most=6) == [(0, 9, 1)]
    assert take(share, spans, most=1, member="n") == [(10, 14, 1)]


def test_exactly_so_many_are_acquired_in_the_other_mode():
    share, spans = made(), log(5, 5, 5)
    assert take(share, spans, most=6, exact=True) == [(0, 5, 1)]
    assert take(share, spans, most=6, exact=True, member="n") == [(6, 9, 1), (10, 11, 1)]
    share.release("m")
    assert take(share, spans, most=2, exact=True, member="n") == [(0, 1, 2)]
    assert take(share, spans, most=9, exact=True, member="n") == [(2, 5, 2), (12, 14, 1)]


def test_what_is_acquired_is_cut_at_record_batches():
    share, spans = made(), log(4, 4, 4, 4, 3)
    assert take(share, spans, batch_size=6) == [(0, 7, 1), (8, 15, 1), (16, 18, 1)]


def test_what_is_smaller_than_the_batch_size_is_not_cut():
    share, spans = made(), log(4, 4)
    assert take(share, spans, batch_size=8) == [(0, 7, 1)]


def test_nothing_is_wanted():
    share = made()
    assert take(share, log(5), most=0) == []
    assert take(share, []) == []
    assert share.end_offset == 0


def test_what_was_released_comes_first_and_counts():
    share, spans = made(), log(5, 5)
    take(share, spans)
    assert say(share, 3, 6, RELEASE) == E.NONE
    assert share.next_offset == 3
    spans += [(10, 14)]
    assert take(share, spans, member="n") == [(3, 6, 2), (10, 14, 1)]


def test_locks_bound_what_is_in_flight():
    share, spans = made(partition_max_record_locks=8), log(5, 5, 5)
    assert take(share, spans) == [(0, 9, 1)]  # whole batches
    assert not share.can_acquire
    assert take(share, spans, member="n") == []
    say(share, 0, 4, ACCEPT)
    assert share.can_acquire
    assert take(share, spans, member="n") == [(10, 14, 1)]
    assert not share.can_acquire
    say(share, 5, 7, RELEASE)
    assert share.can_acquire  # what was given back can be had again
    assert take(share, spans, member="n") == [(5, 7, 2)]


def test_what_is_done_behind_one_that_is_not_counts_still():
    """Otherwise there would be no end to what is remembered behind a record that takes long."""
    share, spans = made(partition_max_record_locks=8), log(4, 4, 4)
    take(share, spans[:2])
    assert say(share, 1, 7, ACCEPT) == E.NONE
    assert not share.can_acquire
    assert take(share, spans) == []
    assert say(share, 0, 0, RENEW) == E.NONE
    assert not share.can_acquire
    assert say(share, 0, 0, ACCEPT) == E.NONE
    assert take(share, spans) == [(8, 11, 1)]


def test_the_rest_of_a_record_batch_can_be_had_whatever_is_in_flight():
    share, spans = made(partition_max_record_locks=8), log(4, 8, 4)
    assert take(share, spans, most=6, exact=True) == [(0, 5, 1)]
    assert shown(share)[-1] == (6, 11, AVAILABLE, 0)
    assert share.can_acquire
    assert take(share, spans) == [(6, 11, 1)]
    assert not share.can_acquire
    assert take(share, spans) == []


def test_offsets_that_the_log_does_not_have():
    share = made()
    assert take(share, [(4, 6), (9, 10)]) == [(4, 10, 1)]
    assert share.start_offset == 4  # what was not there is over
    assert say(share, 4, 10, ACCEPT, ACCEPT, ACCEPT, GAP, GAP, ACCEPT, ACCEPT) == E.NONE
    assert share.start_offset == share.end_offset == 11


def test_records_that_were_compacted_while_they_were_available():
    share, spans = made(), log(10)
    take(share, spans)
    say(share, 2, 5, RELEASE)
    assert take(share, [(4, 9)], member="n") == [(4, 5, 2)]
    assert shown(share)[1] == (2, 3, ARCHIVED, 1)
    share, _ = made(), None
    take(share, log(3))
    assert take(share, [(7, 9)], member="n") == [(7, 9, 1)]
    assert (3, 6, ARCHIVED, 0) in shown(share)


# Acknowledging -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "state"),
    [(GAP, None), (ACCEPT, None), (RELEASE, AVAILABLE), (REJECT, None), (RENEW, ACQUIRED)],
)
def test_all_at_once(kind, state):
    share = made()
    take(share, log(5))
    assert say(share, 0, 4, kind, now=1_000) == E.NONE
    assert shown(share) == ([(0, 4, state, 1)] if state is not None else [])
    assert share.start_offset == (0 if state is not None else 5)
    assert share.deadline == (1_000 + LOCK if kind == RENEW else NEVER)


def test_one_by_one():
    share = made()
    take(share, log(6))
    assert say(share, 0, 5, ACCEPT, ACCEPT, RELEASE, REJECT, GAP, RENEW) == E.NONE
    assert share.start_offset == 2
    assert shown(share) == [
        (2, 2, AVAILABLE, 1), (3, 4, ARCHIVED, 1), (5, 5, ACQUIRED, 1),
    ]  # fmt: skip


def test_over_several_batches():
    share, spans = made(), log(3, 3, 3)
    for end in (1, 2, 3):
        take(share, spans[:end])
    assert say(share, 1, 7, ACCEPT) == E.NONE
    assert shown(share)[0] == (0, 0, ACQUIRED, 1)
    assert say(share, 0, 0, ACCEPT) == E.NONE
    assert share.start_offset == 8


def test_what_makes_no_sense_changes_nothing():
    share = made()
    assert say(share, 0, 1, ACCEPT) == E.INVALID_RECORD_STATE  # nothing is in flight
    take(share, log(5, 5))
    before = shown(share)
    assert say(share, 0, 4, ACCEPT, member="n") == E.INVALID_RECORD_STATE
    assert say(share, 8, 10, ACCEPT) == E.INVALID_REQUEST
    assert say(share, 10, 12, ACCEPT) == E.INVALID_REQUEST
    two = [Acknowledgement(0, 1, (ACCEPT,)), Acknowledgement(5, 12, (ACCEPT,))]
    for member, code in (("m", E.INVALID_REQUEST), ("n", E.INVALID_RECORD_STATE)):
        with pytest.raises(RefusedError) as refused:  # of what is wrong, the first
            share.acknowledge(member, two, 0)
        assert refused.value.code == code
    assert shown(share) == before
    say(share, 2, 3, ACCEPT)
    assert say(share, 1, 2, ACCEPT) == E.INVALID_RECORD_STATE  # the second is done already
    assert shown(share)[0] == (0, 1, ACQUIRED, 1)
    assert say(share, 0, 1, ACCEPT) == E.NONE
    assert say(share, 0, 3, RELEASE) == E.NONE  # long since over: nobody minds
    assert share.start_offset == 4


def test_many_things_are_said_at_once():
    share, spans = made(), log(3, 3, 3)
    for end in (1, 2, 3):
        take(share, spans[:end])
    said = [
        Acknowledgement(1, 1, (ACCEPT,)),
        Acknowledgement(2, 4, (RELEASE, ACCEPT, RENEW)),
        Acknowledgement(6, 8, (REJECT,)),
    ]
    share.acknowledge("m", said, 1_000)
    assert shown(share) == [
        (0, 0, ACQUIRED, 1), (1, 1, ACKED, 1), (2, 2, AVAILABLE, 1), (3, 3, ACKED, 1),
        (4, 4, ACQUIRED, 1), (5, 5, ACQUIRED, 1), (6, 8, ARCHIVED, 1),
    ]  # fmt: skip
    assert [run.until_ms for run in share.runs() if run.state is ACQUIRED] == [
        LOCK, 1_000 + LOCK, LOCK,
    ]  # fmt: skip


def test_nothing_is_said_twice():
    share = made()
    take(share, log(5))
    twice = [Acknowledgement(0, 2, (ACCEPT,)), Acknowledgement(2, 4, (ACCEPT,))]
    with pytest.raises(RefusedError) as refused:
        share.acknowledge("m", twice, 0)
    assert refused.value.code == E.INVALID_RECORD_STATE
    assert shown(share) == [(0, 4, ACQUIRED, 1)]


def test_renewal_can_be_forbidden():
    share = made(renew_acknowledge_enable=False)
    take(share, log(2))
    assert say(share, 0, 1, RENEW) == E.INVALID_RECORD_STATE
    assert say(share, 0, 1, ACCEPT) == E.NONE


# Locks and members -------------------------------------------------------------------------------


def test_locks_end():
    share, spans = made(), log(5, 5)
    take(share, spans[:1], now=0)
    take(share, spans, now=10_000, member="n")
    assert not share.expire(LOCK - 1)
    assert share.expire(LOCK)
    assert shown(share) == [(0, 4, AVAILABLE, 1), (5, 9, ACQUIRED, 1)]
    assert share.deadline == 10_000 + LOCK
    assert say(share, 0, 4, ACCEPT) == E.INVALID_RECORD_STATE


def test_a_member_goes():
    share, spans = made(), log(5, 5)
    take(share, spans[:1])
    take(share, spans, member="n")
    assert share.release("m")
    assert not share.release("m")
    assert shown(share) == [(0, 4, AVAILABLE, 1), (5, 9, ACQUIRED, 1)]


@pytest.mark.parametrize("limit", [2, 3, 5, 10])
def test_a_record_is_delivered_so_often_and_no_more(limit):
    share, spans = made(delivery_count_limit=limit), log(1)
    for count in range(1, limit + 1):
        assert take(share, spans) == [(0, 0, count)]
        say(share, 0, 0, RELEASE)
    assert share.start_offset == 1
    assert take(share, spans) == []


def test_records_that_keep_coming_back_are_given_out_in_portions():
    share, spans = made(), log(16)
    for _ in range(3):
        assert take(share, spans)[0][:2] == (0, 15)
        share.release("m")
    assert take(share, spans) == [(0, 7, 4)]  # half of them
    assert take(share, spans) == [(8, 15, 4)]
    share.release("m")
    assert take(share, spans) == [(0, 0, 5)]  # for the last time: alone
    assert take(share, spans) == [(1, 1, 5)]


def test_with_two_deliveries_nothing_is_alone():
    share, spans = made(delivery_count_limit=2), log(8)
    take(share, spans)
    share.release("m")
    assert take(share, spans) == [(0, 7, 2)]
    share.release("m")
    assert share.start_offset == 8


# The log -----------------------------------------------------------------------------------------


def test_the_log_loses_its_beginning():
    share, spans = made(), log(5, 5)
    take(share, spans)
    assert share.advance_start(7)
    assert not share.advance_start(7)
    assert share.start_offset == 7
    assert say(share, 0, 9, ACCEPT) == E.NONE
    assert share.start_offset == 10
    assert share.advance_start(20)
    assert (share.start_offset, share.end_offset, share.runs()) == (20, 20, [])
    assert take(share, [(15, 24)]) == [(20, 24, 1)]


def test_aborted_records_are_over():
    share = made()
    acquired = share.acquire(Demand("m", 500, 500, exact=False), log(3, 3, 3), 0)
    left = share.drop_aborted(acquired, [(3, 5)])
    assert left == [Acquired(0, 2, 1), Acquired(6, 8, 1)]
    assert shown(share)[1] == (3, 5, ARCHIVED, 1)
    share = made()
    acquired = share.acquire(Demand("m", 500, 500, exact=False), log(3), 0)
    assert share.drop_aborted(acquired, [(0, 2)]) == []
    assert share.start_offset == 3


# Keeping -----------------------------------------------------------------------------------------


def test_another_leader_goes_on():
    share, spans = made(), log(5, 5, 5)
    take(share, spans)
    say(share, 0, 9, *[ACCEPT] * 2, *[RELEASE] * 2, *[REJECT] * 2, *[RENEW] * 2, *[ACCEPT] * 2)
    kept = share.kept()
    assert [(run.first, run.last, run.state, run.count) for run in kept.batches] == [
        (2, 3, AVAILABLE, 1), (4, 5, ARCHIVED, 1), (8, 9, ACKED, 1),
    ]  # fmt: skip
    assert (kept.start_offset, kept.complete_count) == (2, 4)
    other = made(2, kept)
    assert other.end_offset == 10
    assert take(other, spans, member="n") == [(2, 3, 2), (6, 7, 1), (10, 14, 1)]


def test_what_is_acquired_again_is_kept_as_often_as_it_was_released():
    share, spans = made(), log(2)
    for _ in range(2):
        take(share, spans)
        share.release("m")
    take(share, spans)
    (run,) = share.kept().batches
    assert (run.state, run.count) == (AVAILABLE, 2)


# Histories ---------------------------------------------------------------------------------------


class Model:
    """What must hold whatever happens: who has what, how often it was delivered, what is done."""

    def __init__(self, limit):
        self.limit = limit
        self.holder = {}
        self.until = {}
        self.count = {}
        self.done = set()

    def acquired(self, member, first, last, count, now):
        for offset in range(first, last + 1):
            assert offset not in self.holder, f"{offset} has {self.holder[offset]}"
            assert offset not in self.done, f"{offset} is done"
            self.count[offset] = self.count.get(offset, 0) + 1
            assert self.count[offset] == count <= self.limit
            self.holder[offset], self.until[offset] = member, now + LOCK

    def back(self, offset):
        del self.holder[offset], self.until[offset]
        if self.count[offset] >= self.limit:
            self.done.add(offset)

    def said(self, offset, kind, now):
        if kind == RELEASE:
            self.back(offset)
        elif kind == RENEW:
            self.until[offset] = now + LOCK
        else:
            del self.holder[offset], self.until[offset]
            self.done.add(offset)


def agree(share, model, end):
    assert share.end_offset <= end
    known = {}
    last = share.start_offset - 1
    for run in share.runs():
        assert run.first == last + 1
        last = run.last
        for offset in range(run.first, run.last + 1):
            known[offset] = run
    assert last + 1 == share.end_offset
    for offset in range(share.end_offset):
        run = known.get(offset)
        if offset in model.done:
            assert run is None or run.over
        elif offset in model.holder:
            assert (run.state, run.member) == (ACQUIRED, model.holder[offset])
            assert run.until_ms == model.until[offset]
        else:
            assert run.state is AVAILABLE
            assert run.count == model.count.get(offset, 0)
    assert all(offset in model.done for offset in range(share.start_offset))


class History:
    """One share-partition, the model beside it, and a log that grows."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.limit = rng.choice([2, 3, 5])
        self.exact = rng.random() < 0.5
        self.share = made(
            delivery_count_limit=self.limit, partition_max_record_locks=rng.choice([20, 60])
        )
        self.model = Model(self.limit)
        self.spans = []
        self.now = 0

    @property
    def end(self):
        return self.spans[-1][1] + 1 if self.spans else 0

    def step(self):
        self.now += self.rng.choice([0, 10, 4_000])
        self.share.expire(self.now)
        for offset in [o for o, until in self.model.until.items() if until <= self.now]:
            self.model.back(offset)
        steps = [self.write, self.take, self.say, self.leave, self.move, self.intrude]
        (step,) = self.rng.choices(steps, [20, 35, 30, 7, 4, 4])
        step()
        agree(self.share, self.model, self.end)

    def write(self):
        if self.end < 300:
            self.spans += log(self.rng.randrange(1, 12), first=self.end)

    def take(self):
        member, most = self.rng.choice("abc"), self.rng.randrange(1, 30)
        got = take(
            self.share, self.spans, member=member, most=most,
            batch_size=self.rng.randrange(1, 20), exact=self.exact, now=self.now,
        )  # fmt: skip
        assert not self.exact or sum(b - a + 1 for a, b, _ in got) <= most
        for first, last, count in got:
            self.model.acquired(member, first, last, count, self.now)

    def say(self):
        holder = self.model.holder
        if not holder:
            return
        first = last = self.rng.choice(list(holder))
        while holder.get(last + 1) == holder[first] and self.rng.random() < 0.8:
            last += 1
        kinds = [self.rng.randrange(5) for _ in range(first, last + 1)]
        said = kinds
        if self.rng.random() < 0.5:
            said, kinds = kinds[:1], kinds[:1] * len(kinds)
        assert say(self.share, first, last, *said, member=holder[first], now=self.now) == E.NONE
        for offset, kind in zip(range(first, last + 1), kinds, strict=True):
            self.model.said(offset, kind, self.now)

    def leave(self):
        member = self.rng.choice("abc")
        self.share.release(member)
        for offset in [o for o, who in self.model.holder.items() if who == member]:
            self.model.back(offset)

    def move(self):
        """To another leader, for whom nothing is acquired: so those were not delivered."""
        kept = self.share.kept()
        self.share = made(kept.start_offset, kept, delivery_count_limit=self.limit)
        for offset in self.model.holder:
            self.model.count[offset] -= 1
        self.model.holder.clear()
        self.model.until.clear()

    def intrude(self):
        first, last = sorted(self.rng.choices(range(self.end + 3), k=2))
        error = say(self.share, first, last, ACCEPT, member="stranger", now=self.now)
        assert error or last < self.share.start_offset

    def finish(self):
        """In peace, everything is done with in the end."""
        for _ in range(400):
            self.now += LOCK
            self.share.expire(self.now)
            for first, last, _ in take(self.share, self.spans, member="a", now=self.now):
                assert say(self.share, first, last, ACCEPT, member="a", now=self.now) == E.NONE
        assert self.share.start_offset == self.end
        assert self.share.in_flight == 0


@pytest.mark.parametrize("seed", quickly(12, of=40))
def test_histories(seed):
    history = History(seed)
    for _ in range(250):
        history.step()
    history.finish()
