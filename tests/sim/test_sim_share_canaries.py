"""Planted bugs in share groups, on either side: each is found, by the rule that it breaks."""

import pytest
from sim_planting import every
from sim_runs import sharing

from kcore.broker.share import partition
from kcore.broker.share.batches import Run
from kcore.broker.share.keeping import ShareStates
from kcore.broker.share.partition import SharePartition, _Taking
from kcore.broker.share.shares import Shares
from kcore.broker.share.states import RecordInput, RecordState
from kcore.coordinator.share.heartbeats import ShareHeartbeats
from kcore.group.context import Timer
from kcore.share.acknowledgements import Commit
from kcore.share.core import ShareConsumerCore
from kcore.share.exchange import Exchange
from kcore.share.marks import ACCEPT, GAP, REJECT, RELEASE, RENEWING, WAITING, Marks
from kcore.share.membership import ShareMembership
from kcore.share.parcel import Parcel
from kcore.share.stock import Stock
from kcore.sim import Fault, Rule
from kcore.timers import NEVER

SEEDS = 12
EXPLICIT = {"explicit_share": 1.0}
IMPLICIT = {"explicit_share": 0.0, "duration_ms": 6_000}
LEADERS = (Fault.LEADER_MOVE, Fault.NODE_CRASH)


# Brokers -----------------------------------------------------------------------------------------


def give_to_a_second_member(patch):
    """What one has is given to the next who asks."""

    def acquire(original, self, key, demand, max_bytes, **how):
        self.find(key).share._release(lambda run: run.member != demand.member)
        return original(self, key, demand, max_bytes, **how)

    every(3, patch, Shares, "acquire", acquire)


def anybody_may_speak(patch):
    """Whose a record is is not looked at; what is over is over."""

    def conclude(self, run, what, now_ms, **more):
        if run.state is RecordState.ACQUIRED:
            original(self, run, what, now_ms, **more)

    original = SharePartition._conclude
    patch.setattr(partition, "_check_batch", lambda *_: None)
    patch.setattr(partition, "_check_record", lambda *_: None)
    patch.setattr(SharePartition, "_conclude", conclude)


def forget_what_was_accepted(patch):
    every(5, patch, SharePartition, "acknowledge", lambda *_: None)


def keep_nothing_of_it(patch):
    """The next leader knows of no acknowledgement."""
    every(2, patch, ShareStates, "put", lambda *_: None)


def count_twice(patch):
    original = _Taking.take
    calls = [0]

    def take(self, runs):
        runs = list(runs)
        calls[0] += 1
        for run in runs:
            run.count += calls[0] % 7 == 0
        original(self, runs)

    patch.setattr(_Taking, "take", take)


def count_nothing(patch):
    original = Run.move

    def move(self, what):
        original(self, what)
        if what is RecordInput.RELEASE:
            self.count -= 1

    patch.setattr(Run, "move", move)


def know_no_limit(patch):
    original = SharePartition._conclude

    def conclude(self, run, what, now_ms, **more):
        count, run.count = run.count, 0
        original(self, run, what, now_ms, **more)
        run.count = count

    patch.setattr(SharePartition, "_conclude", conclude)


def skip_records(patch):
    def acquire(original, self, demand, found, now_ms):
        acquired = original(self, demand, found, now_ms)
        if self._batches:
            self._add(Run(self.end_offset, self.end_offset, RecordState.ARCHIVED))
        return acquired

    every(3, patch, SharePartition, "acquire", acquire)


def locks_never_end(patch):
    patch.setattr(Shares, "_watch", lambda self, found: None)


def locks_end_early(patch):
    original = _Taking.__init__

    def init(self, demand, left, first, last, until_ms):
        original(self, demand, left, first, last, until_ms - 900)

    patch.setattr(_Taking, "__init__", init)


def sessions_of_who_is_gone_stay(patch):
    patch.setattr(Shares, "handle_closed", lambda self, link: None)


def members_that_are_gone_stay(patch):
    patch.setattr(ShareHeartbeats, "_expire", lambda self, key, epoch, now_ms: None)


def put_members_out(patch):
    """Sessions end early."""
    original = ShareHeartbeats.watch

    def watch(self, group_id, member_id, now_ms):
        original(self, group_id, member_id, now_ms - 5_000)

    patch.setattr(ShareHeartbeats, "watch", watch)


# Clients -----------------------------------------------------------------------------------------


def accept_what_was_not_handed_over(patch):
    def accept(original, self, *given):
        for parcel in self._waiting:
            parcel.marks.change(WAITING, ACCEPT)
        original(self, *given)

    every(2, patch, Stock, "accept_held", accept)


def say_something_else(patch):
    """Rejected is told as accepted."""
    original = Marks.take

    def take(self):
        return [(first, marks.replace(bytes([REJECT]), bytes([ACCEPT])))
                for first, marks in original(self)]  # fmt: skip

    patch.setattr(Marks, "take", take)


def hold_what_is_over(patch):
    """Locks are not looked at."""
    patch.setattr(Stock, "expire", lambda self, now_ms: None)


def tell_that_all_is_well(patch):
    original = Exchange._end_sheet
    patch.setattr(Exchange, "_end_sheet", lambda self, sheet, _error: original(self, sheet, None))


def tell_of_failures_with_success(patch):
    """Only the result of a commit is wrong."""
    original = Commit.told
    patch.setattr(Commit, "told", lambda self, sheet, _error: original(self, sheet, None))


def tell_nothing(patch):
    patch.setattr(ShareConsumerCore, "_told", lambda *_: None)


def lose_a_record(patch):
    """The last one of what is taken is dropped, and counts as handed over."""
    every(5, patch, Parcel, "take", lambda original, self, *given: drop_one(original(self, *given)))


def drop_one(taken):
    records, size = taken
    return records[:-1] if len(records) > 1 else records, size


def lose_an_answer(patch):
    """What an answer brought stays where nobody looks."""
    every(5, patch, Stock, "add", lambda *_: None)


def say_that_there_is_no_record(patch):
    """Of what is released."""
    original = Marks.take

    def take(self):
        return [(first, marks.replace(bytes([RELEASE]), bytes([GAP])))
                for first, marks in original(self)]  # fmt: skip

    patch.setattr(Marks, "take", take)


def hand_over_twice(patch):
    def take(original, self, *given):
        records, size = original(self, *given)
        for record in records:
            self.marks.put(record.offset, WAITING)
        self.again += records
        return records, size

    every(5, patch, Parcel, "take", take)


def renew_what_was_refused(patch):
    """A renewal that failed counts: the record is handed over once more."""
    original = Parcel.renewed

    def renewed(self, first, last, *, kept):
        assert self.marks.at(first) == RENEWING
        original(self, first, last, kept=True)

    patch.setattr(Parcel, "renewed", renewed)


def forget_heartbeats(patch):
    every(2, patch, ShareMembership, "_take", lose_the_timer)


def lose_the_timer(original, self, *given):
    original(self, *given)
    self._ctx.timers.set(Timer.HEARTBEAT, NEVER)


def leave_without_a_word(patch):
    original = ShareMembership._say_leave

    def say_leave(self, reason, now_ms):
        self._named = False
        original(self, reason, now_ms)

    patch.setattr(ShareMembership, "_say_leave", say_leave)


BUGS = [
    (give_to_a_second_member, {Rule.HELD_ONCE}, (), EXPLICIT),
    (anybody_may_speak, {Rule.HELD_ONCE, Rule.DONE_ONCE}, (Fault.ZOMBIE,), EXPLICIT),
    (forget_what_was_accepted, {Rule.DONE_ONCE}, (), IMPLICIT),
    (keep_nothing_of_it, {Rule.DONE_ONCE, Rule.COUNTED}, LEADERS, IMPLICIT),
    (count_twice, {Rule.COUNTED}, (), IMPLICIT),
    (count_nothing, {Rule.COUNTED}, (), EXPLICIT),
    (know_no_limit, {Rule.COUNTED}, (), EXPLICIT | {"delivery_limit": 2}),
    (skip_records, {Rule.PROGRESS, Rule.SETTLES}, (), IMPLICIT),
    (locks_never_end, {Rule.PROGRESS, Rule.SETTLES}, (Fault.ZOMBIE, Fault.HALF_OPEN), IMPLICIT),
    (locks_end_early, {Rule.HELD_ONCE}, (Fault.ZOMBIE, Fault.HALF_OPEN), IMPLICIT),
    (
        sessions_of_who_is_gone_stay,
        {Rule.BOUNDED, Rule.SETTLES},  # counted, or in the way of others
        (Fault.CUT, Fault.CRASH),
        IMPLICIT,
    ),
    (members_that_are_gone_stay, {Rule.SETTLES}, (Fault.CRASH,), IMPLICIT),
    (put_members_out, {Rule.STAYS}, (), IMPLICIT),
    (accept_what_was_not_handed_over, {Rule.SAID}, (), IMPLICIT),
    (say_something_else, {Rule.SAID}, (), EXPLICIT),
    (hold_what_is_over, {Rule.HANDED}, (Fault.SLOW, Fault.ZOMBIE), EXPLICIT),
    (tell_that_all_is_well, {Rule.TOLD}, (Fault.CUT, Fault.ZOMBIE), EXPLICIT),
    (tell_of_failures_with_success, {Rule.TOLD}, (Fault.CUT, Fault.ZOMBIE), EXPLICIT),
    (tell_nothing, {Rule.TOLD}, (), IMPLICIT),
    (lose_a_record, {Rule.SAID}, (), IMPLICIT),
    (lose_an_answer, {Rule.HANDED}, (), IMPLICIT),
    (say_that_there_is_no_record, {Rule.SAID}, (), EXPLICIT),
    (hand_over_twice, {Rule.HANDED}, (), EXPLICIT),
    (renew_what_was_refused, {Rule.HANDED}, (Fault.REFUSAL, Fault.CUT), EXPLICIT),
    (forget_heartbeats, {Rule.STAYS, Rule.SETTLES}, (), IMPLICIT),
    (leave_without_a_word, {Rule.LEAVES}, (Fault.LEAVE, Fault.JOIN), {"settle_ms": 60_000}),
]


@pytest.mark.parametrize("options", [EXPLICIT, IMPLICIT], ids=["explicit", "implicit"])
def test_without_one_all_is_well(options):
    for seed in range(1, 4):
        outcome = sharing(seed, Fault.ZOMBIE, *LEADERS, **options)
        assert outcome.violation is None, str(outcome.violation)


@pytest.mark.parametrize(
    ("bug", "rules", "kinds", "options"), BUGS, ids=[bug.__name__ for bug, *_ in BUGS]
)
def test_a_planted_bug_is_found_by_its_rule(bug, rules, kinds, options, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = sharing(seed, *kinds, **options).violation
        if violation is not None:
            assert violation.rule in rules, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
