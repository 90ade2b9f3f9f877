"""Planted bugs: random clients, deaths and times that do not find them prove nothing."""

import dataclasses

import pytest
import test_transaction_journal as journal

from kcore.coordinator.transactions import ending, producers, shard
from kcore.coordinator.transactions.shard import Shard
from kcore.coordinator.transactions.states import DECIDED, TransactionState
from kcore.coordinator.transactions.transaction import Transaction
from kcore.wire.codes import ErrorCode as E


def _forget_what_was_decided(patch):
    """A coordinator that loads does not write the markers that are missing."""

    def mark(self, transactional_id, now_ms, original=Shard._mark):
        if not self.transactions[transactional_id].updated_ms < self.wall_ms(now_ms) - 1:
            original(self, transactional_id, now_ms)

    patch.setattr(Shard, "_mark", mark)


def _forget_a_partition(patch):
    original = shard.Markers

    def markers(*, partitions, **rest):
        return original(partitions=partitions[:1], **rest)

    patch.setattr(shard, "Markers", markers)


def _complete_with_the_first_marker(patch):
    original = Shard._complete

    def mark(self, transactional_id, now_ms, before=Shard._mark):
        before(self, transactional_id, now_ms)
        original(self, transactional_id, now_ms)
        while self._markers:
            self._markers.pop()

    patch.setattr(Shard, "_mark", mark)


def _commit_what_is_aborted(patch):
    patch.setattr(Transaction, "committing", property(lambda self: len(self.partitions) < 2))


def _never_time_out(patch):
    patch.setattr(Shard, "_time_out", lambda *_args: None)


def _keep_the_epoch(patch):
    original = producers._begun

    def begun(shard, known, *rest):
        after = original(shard, known, *rest)
        return after and dataclasses.replace(after, epoch=max(known.epoch, 0))

    patch.setattr(producers, "_begun", begun)


def _give_an_epoch_back(patch):
    original = Transaction.fenced

    def fenced(self, *rest):
        return dataclasses.replace(original(self, *rest), epoch=max(self.epoch - 1, 0))

    patch.setattr(Transaction, "fenced", fenced)


def _take_anybody(patch):
    """The end of a transaction may come from whoever had the id before."""
    patch.setattr(ending, "_identity_error", lambda *_args: E.NONE)


def _decide_again(patch):
    """What was decided can be decided otherwise."""
    original = Shard.busy
    patch.setattr(
        Shard, "busy", lambda self, name: original(self, name) and name not in self.marking
    )
    patch.setattr(ending, "REFUSED", {state: {} for state in TransactionState})
    table = dict.fromkeys([(state, kind) for state in DECIDED for kind in ending.End], (None, None))
    patch.setattr(ending, "ENDED", ending.ENDED | table)


PLANTS = [
    _forget_what_was_decided, _forget_a_partition, _complete_with_the_first_marker,
    _commit_what_is_aborted, _never_time_out, _keep_the_epoch, _give_an_epoch_back, _take_anybody,
    _decide_again,
]  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.strip("_"))
def test_a_planted_bug_is_found(plant, monkeypatch):
    plant(monkeypatch)
    with pytest.raises((AssertionError, RuntimeError)):  # noqa: PT012 - any of them, by any seed
        for seed in range(30):
            for version in (0, 2):
                check = journal.test_every_decision_is_carried_out_once_and_epochs_never_go_back
                check(seed, version)
