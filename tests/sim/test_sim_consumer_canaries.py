"""Bugs planted into the consumer protocol (KIP-848), on either side; see test_sim_canaries."""

from collections import Counter

import pytest
import test_sim_canaries
from longer import quickly
from sim_runs import busy, drawn_of
from test_sim_canaries import deliver_twice, lose_journal_entries

from kcore.coordinator import commits
from kcore.coordinator.consumer.beat import Beat
from kcore.coordinator.consumer.fencing import Fencing
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.heartbeats import Heartbeats
from kcore.coordinator.desk import Desk
from kcore.group.consumer_heartbeat import ConsumerHeartbeats
from kcore.group.consumer_states import ConsumerInput, ConsumerState
from kcore.group.reconciliation import Reconciliation
from kcore.group.states import Step
from kcore.sim import Rule
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import ConsumerGroupHeartbeatResponse

SEEDS = 31


def every(count):
    """Says True every so many calls."""
    calls = [0]

    def it_is_time():
        calls[0] += 1
        return calls[0] % count == 0

    return it_is_time


def any_epoch_may_commit(patch):
    patch.setattr(commits, "check_commit", lambda *_: E.NONE)


def give_what_others_still_have(patch):
    patch.setattr(ConsumerGroup, "is_held", lambda self, partition: False)


def silence_is_no_matter(patch):
    """Members that are gone stay members."""
    patch.setattr(Fencing, "_expire", lambda self, key, epoch, now_ms: None)


def the_first_target_is_the_last(patch):
    """Who comes and who goes changes nothing for the others."""
    patch.setattr(Beat, "_may_assign", lambda self: not self._group.target_wall_ms)


def never_answer(patch):
    test_sim_canaries.never_answer(patch, ConsumerGroupHeartbeatResponse)


def epochs_go_back(patch):
    original, due = Desk.answer, every(20)

    def answer(self, ticket, message):
        if isinstance(message, ConsumerGroupHeartbeatResponse) and message.member_epoch > 1:
            message.member_epoch -= due()
        original(self, ticket, message)

    patch.setattr(Desk, "answer", answer)


def assignments_are_left_out(patch):
    """A heartbeat that asks for nothing is told of nothing new."""
    original, due = Heartbeats._response, every(4)

    def response(self, request, beat):
        found = original(self, request, beat)
        if request.member_epoch > 0 and due():
            found.assignment = None
        return found

    patch.setattr(Heartbeats, "_response", response)


def take_what_was_not_given_up(patch):
    """A member says that it has given something up before its application has."""
    original = Reconciliation._begin

    def begin(self, now_ms):
        self._heartbeats.holds_still = lambda: True
        original(self, now_ms)
        membership = self._membership
        if self.step is not Step.IDLE and membership.state is ConsumerState.RECONCILING:
            membership.owned = self._taking
            membership.move(ConsumerInput.RECONCILED)

    patch.setattr(Reconciliation, "_begin", begin)


def stop_heartbeats(patch):
    """After the first ones."""
    original = ConsumerHeartbeats._send
    sent = Counter()

    def send(self, now_ms):
        sent[self] += 1
        if sent[self] < 4:
            original(self, now_ms)

    patch.setattr(ConsumerHeartbeats, "_send", send)


def go_on_after_being_fenced(patch):
    """Nobody tells the application that it has lost what it had."""

    def lose(self, now_ms):
        self._join("fenced, and never mind")

    patch.setattr(Reconciliation, "_lose", lose)


def never_take_what_is_new(patch):
    """Only the first assignment is looked at."""
    original = Reconciliation._look

    def look(self, now_ms):
        if self._membership.owned is None:
            original(self, now_ms)

    patch.setattr(Reconciliation, "_look", look)


BUGS = [
    any_epoch_may_commit,
    give_what_others_still_have,
    silence_is_no_matter,
    the_first_target_is_the_last,
    never_answer,
    epochs_go_back,
    assignments_are_left_out,
    lose_journal_entries,
    take_what_was_not_given_up,
    stop_heartbeats,
    go_on_after_being_fenced,
    never_take_what_is_new,
    deliver_twice,
]


@pytest.mark.parametrize("share", [0.5, 1.0], ids=["both", "consumer"])
@pytest.mark.parametrize("seed", quickly(2, of=5, begin=1))
def test_without_one_all_is_well(share, seed):
    assert busy(seed, consumer_share=share).violation is None


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found(bug, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        outcome = busy(seed, consumer_share=1.0) if seed % 2 else drawn_of(seed, 1.0)
        violation = outcome.violation
        if violation is not None:
            assert violation.rule is not Rule.NO_FAULT, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
