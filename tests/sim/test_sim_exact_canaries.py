"""Planted bugs around producers and transactions, on either side and in applications: each is
found, by the rule that it breaks.
"""

from dataclasses import replace

import pytest
from sim_planting import every, planted
from sim_runs import exactly

from kcore.broker import endings, transactions
from kcore.broker.aborted import TransactionIndex
from kcore.broker.groups import Groups
from kcore.broker.log import Appended, PartitionLog
from kcore.broker.sequences import Sequences
from kcore.coordinator.offsets import Offsets
from kcore.coordinator.transactions import producers
from kcore.coordinator.transactions.shard import Shard
from kcore.produce.batch import BatchState
from kcore.produce.lane import Lane
from kcore.produce.sender import Sender
from kcore.produce.transaction import TransactionVerbs
from kcore.produce.transaction_states import TxnInput
from kcore.records.aborted import AbortedTransactions
from kcore.sim import Fault, Rule
from kcore.sim.exact.movers import Mover
from kcore.structs import ConsumerGroupMetadata

SEEDS = 12
LOSSES = (Fault.CUT, Fault.LOST_ANSWER, Fault.HALF_OPEN)
TWINS = (Fault.RESTART, Fault.ZOMBIE)
PLAIN = {"transactional_share": 0.0}
# Records fail that cannot be written for a while.
BRIEF = PLAIN | {"request_timeout_ms": 1_000, "delivery_slack_ms": 200, "brokers": 1}
# Whose transactions nobody asks about before a batch is kept.
OLD = {"release": (3, 3), "transaction_version": 0}
# Members lose what they have soon, and their transactions last.
HURRIED = {"max_poll_interval_ms": 2_000, "transaction_timeout_ms": 20_000, "brokers": 1}
# So do those that stand still with a transaction open.
STANDING = {
    "members": 7,
    "duration_ms": 20_000,
    "consumer_share": 1.0,
    "session_timeout_ms": 2_000,
    "heartbeat_interval_ms": 300,
    "transaction_timeout_ms": 20_000,
}


# Brokers -----------------------------------------------------------------------------------------


def know_no_sequences(patch):
    """What comes again is kept again."""
    patch.setattr(Sequences, "check", lambda *_: None)


def let_the_replaced_write(patch):
    """Whoever has been fenced goes on."""
    patch.setattr(Sequences, "check", lambda *_: None)
    patch.setattr(Sequences, "check_marker", lambda *_, **__: None)


def promise_in_vain(patch):
    """Now and then a batch is said to be kept, and is not."""
    every(9, patch, PartitionLog, "append", lambda *_: Appended(0, 0, None, None, -1))


def forget_a_marker(patch):
    """One log of a transaction hears nothing of its end."""
    original = Shard._mark

    def mark(self, transactional_id, now_ms):
        known = self.transactions[transactional_id]
        if len(known.partitions) > 1:
            some = frozenset(sorted(known.partitions)[1:])
            self.transactions[transactional_id] = replace(known, partitions=some)
        original(self, transactional_id, now_ms)

    patch.setattr(Shard, "_mark", mark)


def commit_what_is_aborted(patch):
    """Markers say something else than what was decided."""
    original = endings.append_marker
    calls = [0]

    def append_marker(partition, markers, now_ms):
        calls[0] += 1
        if calls[0] % 4 == 0:
            markers = replace(markers, committed=not markers.committed)
        return original(partition, markers, now_ms)

    patch.setattr(transactions, "append_marker", append_marker)


def show_what_is_open(patch):
    """There is no last stable offset."""
    patch.setattr(TransactionIndex, "last_stable_offset", lambda _self, watermark: watermark)


def name_nobody_aborted(patch):
    """Readers are told of no aborted transaction."""
    patch.setattr(TransactionIndex, "aborted", lambda *_: [])


def commit_offsets_of_aborted(patch):
    original = Groups.end_transaction

    def end_transaction(self, partition, marker, now_ms, **more):
        return original(self, partition, replace(marker, committed=True), now_ms, **more)

    patch.setattr(Groups, "end_transaction", end_transaction)


def drop_offsets_of_committed(patch):
    original = Groups.end_transaction
    calls = [0]

    def end_transaction(self, partition, marker, now_ms, **more):
        calls[0] += 1
        kept = replace(marker, committed=marker.committed and calls[0] % 5 > 0)
        return original(self, partition, kept, now_ms, **more)

    patch.setattr(Groups, "end_transaction", end_transaction)


def give_out_what_is_pending(patch):
    """Whoever takes a partition over is not told that its offset is about to change."""
    patch.setattr(Offsets, "is_pending", lambda *_: False)


def give_the_same_epoch(patch):
    """Who begins to use an id gets the epoch that its predecessor has."""
    original = producers._begun

    def begun(shard, known, asked, timeout_ms, wall_ms):
        after = original(shard, known, asked, timeout_ms, wall_ms)
        if after is None or known.epoch < 0 or asked != producers.NOBODY:
            return after
        return known.initialized(timeout_ms, known.epoch, -1, wall_ms)

    patch.setattr(producers, "_begun", begun)


def fence_for_nothing(patch):
    calls = [0]

    def may_go_on(*_):
        calls[0] += 1
        return calls[0] % 6 > 0

    patch.setattr(producers, "_may_go_on", may_go_on)


def wait_for_ever(patch):
    """What nobody ends stays open."""
    patch.setattr(Shard, "_time_out", lambda *_: None)


# Clients -----------------------------------------------------------------------------------------


def number_anew(patch):
    """What is sent again has a sequence of its own."""
    original = Lane.take

    def take(self, *, sequenced):
        batch = self.queue[0]
        if batch.has_sequence and sequenced:
            batch.base_sequence = -1
            self.tracked.remove(batch)
        return original(self, sequenced=sequenced)

    patch.setattr(Lane, "take", take)


def send_the_next_first(patch):
    """Of two batches that wait the later one goes out first."""
    original = Lane.take

    def take(self, *, sequenced):
        sealed = {batch.state for batch in self.queue} == {BatchState.SEALED}
        if len(self.queue) > 1 and sealed and not any(one.has_sequence for one in self.queue):
            self.queue.rotate(-1)
        return original(self, sequenced=sequenced)

    patch.setattr(Lane, "take", take)


def end_before_all_is_written(patch):
    """A transaction ends while batches of it are under way."""
    original = TransactionVerbs.__init__

    def init(self, *about, idle, **more):
        del idle
        original(self, *about, idle=lambda: True, **more)

    patch.setattr(TransactionVerbs, "__init__", init)


def tell_too_early(patch):
    """A commit is told before anybody was asked, and never is."""
    original = TransactionVerbs.commit

    def commit(self, operation):
        original(self, operation)
        self._waiting.pop(operation, None)
        self._finish(operation, None, None)
        self._drop()
        self._move(TxnInput.FAILED)

    patch.setattr(TransactionVerbs, "commit", commit)


def say_that_all_is_well(patch):
    """A batch that has failed is told as delivered."""
    original = Sender._fail

    def fail(self, batch, error, now_ms):
        original(self, batch, error, now_ms)
        batch.error = None

    patch.setattr(Sender, "_fail", fail)


def read_what_is_aborted(patch):
    patch.setattr(AbortedTransactions, "__contains__", lambda *_: False)


def pass_over_what_is_committed(patch):
    """An aborted transaction is not over with its marker."""
    patch.setattr(AbortedTransactions, "end", lambda *_: None)


# Applications ------------------------------------------------------------------------------------


def stay_where_it_is(patch):
    """What an aborted transaction read is not read again."""
    patch.setattr(Mover, "_go_back", lambda *_: None)


def say_nothing_of_the_group(patch):
    """Offsets are committed by whoever, as before KIP-447."""
    original = Mover._go_on

    def go_on(self):
        self._group = ConsumerGroupMetadata(self.group_id)
        original(self)

    patch.setattr(Mover, "_go_on", go_on)


BUGS = [
    (know_no_sequences, {Rule.WRITTEN_ONCE, Rule.IN_ORDER}, LOSSES, PLAIN),
    (let_the_replaced_write, {Rule.FENCED, Rule.ALL_OR_NOTHING}, TWINS, OLD),
    (promise_in_vain, {Rule.WRITTEN_ONCE}, (), PLAIN),
    (commit_what_is_aborted, {Rule.ALL_OR_NOTHING, Rule.TOLD}, (), {}),
    (forget_a_marker, {Rule.SETTLES, Rule.ALL_OR_NOTHING}, (), {}),
    (show_what_is_open, {Rule.READ_COMMITTED}, (), {}),
    (name_nobody_aborted, {Rule.READ_COMMITTED}, (), {}),
    (commit_offsets_of_aborted, {Rule.SETTLES}, (), {}),
    (drop_offsets_of_committed, {Rule.MOVED_ONCE}, (Fault.REJOIN, Fault.CRASH, Fault.JOIN), {}),
    (give_out_what_is_pending, {Rule.MOVED_ONCE}, (Fault.ZOMBIE, Fault.SLOW), STANDING),
    (give_the_same_epoch, {Rule.FENCED, Rule.ALL_OR_NOTHING}, TWINS, {}),
    (fence_for_nothing, {Rule.FENCED}, (), {}),
    (wait_for_ever, {Rule.SETTLES}, (Fault.CRASH,), {}),
    (number_anew, {Rule.WRITTEN_ONCE}, LOSSES, PLAIN),
    (send_the_next_first, {Rule.IN_ORDER}, LOSSES, PLAIN),
    (end_before_all_is_written, {Rule.ALL_OR_NOTHING, Rule.TOLD, Rule.FENCED}, (), {}),
    (tell_too_early, {Rule.TOLD, Rule.SETTLES}, (), {}),
    (say_that_all_is_well, {Rule.WRITTEN_ONCE, Rule.SETTLES}, (Fault.NODE_CRASH,), BRIEF),
    (read_what_is_aborted, {Rule.READ_COMMITTED}, (), {}),
    (pass_over_what_is_committed, {Rule.NEVER_SKIPS, Rule.SETTLES}, (), {}),
    (stay_where_it_is, {Rule.SETTLES}, (), {}),
    (say_nothing_of_the_group, {Rule.MOVED_ONCE}, (Fault.SLOW,), HURRIED),
]

QUICK = {know_no_sequences, show_what_is_open, number_anew, tell_too_early, read_what_is_aborted}


@pytest.mark.slow
def test_without_one_all_is_well():
    for seed in range(1, 3):
        outcome = exactly(seed, *LOSSES, *TWINS)
        assert outcome.violation is None, str(outcome.violation)


@pytest.mark.parametrize(("bug", "rules", "kinds", "options"), planted(BUGS, QUICK))
def test_a_planted_bug_is_found_by_its_rule(bug, rules, kinds, options, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = exactly(seed, *kinds, **options).violation
        if violation is not None:
            assert violation.rule in rules, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
