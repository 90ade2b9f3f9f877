"""Bugs that show where nothing goes wrong: members that are put out, or do not go, records that
come twice, commits that are told as what they are not, partitions that move for nothing.
"""

import pytest
from longer import quickly
from sim_runs import HEALTHY, call_without, healthy

from kcore.assignors.claims import Claims
from kcore.coordinator.consumer import fencing
from kcore.coordinator.consumer.fencing import Fencing
from kcore.coordinator.membership import Membership
from kcore.coordinator.rebalance import Rebalance as Rebalances
from kcore.errors import RetriableCommitFailedError
from kcore.group.closing import Closing
from kcore.group.commits import CommitOperation, Committer
from kcore.group.consumer_heartbeat import ConsumerHeartbeats
from kcore.group.context import Timer
from kcore.group.heartbeat import Heartbeats
from kcore.group.leaving import Leaving
from kcore.group.rebalance import Preparation, Rebalance
from kcore.group.reconciliation import Reconciliation
from kcore.sim import Fault, Rule

SEEDS = 12
COOPERATIVE = {"assignors": (("cooperative-sticky",),)}
STICKY = {"assignors": (("sticky",),)}
BY_EPOCHS = {"consumer_share": 1.0}
BOTH = {"consumer_share": 0.5}
RESTLESS = BY_EPOCHS | {"topics": 3, "members": 5, "faults": {Fault.RESUBSCRIBE: 500}}
BRIEF = {"faults": {Fault.JOIN: 300, Fault.LEAVE: 300}, "session_timeout_ms": 20_000}
IDLE = {
    "append_every_ms": 60_000,
    "auto_commit_share": 0.0,
}  # a commit says that its sender is alive, too
FAILING = (Fault.REFUSAL, Fault.COORDINATOR_MOVE, Fault.ZOMBIE)


def heartbeats_are_not_noted(patch):
    """A session lasts as long as it does from the join on."""
    call_without(patch, Membership, "heartbeat", Rebalances, "renew_session")


def consumer_heartbeats_are_not_noted(patch):
    original = Fencing._await

    def note(self, key, at_ms, epoch=None):
        if key[0] != fencing.SESSION or key not in self._purgatory:
            original(self, key, at_ms, epoch)

    patch.setattr(Fencing, "_await", note)


def say_once_what_is_to_be_said_again(patch):
    """An assignment that comes back to what was acknowledged before is not acknowledged."""
    original = ConsumerHeartbeats._take

    def take(self, *arguments):
        told = self._told
        original(self, *arguments)
        self._told = told

    patch.setattr(ConsumerHeartbeats, "_take", take)


def lose_heart(patch):
    """Every so often a member thinks that its application does not poll."""
    original = Heartbeats._send
    count = [0]

    def send(self, now_ms):
        count[0] += 1
        if count[0] % 20:
            original(self, now_ms)
        else:
            self._on_stalled(now_ms)

    patch.setattr(Heartbeats, "_send", send)


def go_without_a_word(patch):
    patch.setattr(Closing, "_send_leave", lambda self, now_ms, operation: False)


def go_before_the_id_comes(patch):
    """A coordinator has handed out an id, and nobody is there to give it back."""
    patch.setattr(Leaving, "join_written", lambda self, sent: False)


def stay_without_polling(patch):
    original = Heartbeats.handle_tick

    def tick(self, now_ms):
        self._ctx.timers.cancel(Timer.POLL)
        original(self, now_ms)

    patch.setattr(Heartbeats, "handle_tick", tick)


def stay_in_a_consumer_group_without_polling(patch):
    def poll(self, now_ms):
        self._membership.last_poll_ms = now_ms

    original = ConsumerHeartbeats._follow

    def follow(self, now_ms):
        original(self, now_ms)
        self._ctx.timers.cancel(Timer.POLL)

    patch.setattr(ConsumerHeartbeats, "handle_poll", poll)
    patch.setattr(ConsumerHeartbeats, "_follow", follow)


def rebalance_without_a_commit(patch):
    def commit_first(self):
        self._preparation = Preparation.NOT_NEEDED
        self._prepare_retry_at = None

    patch.setattr(Rebalance, "_commit_first", commit_first)


class NoCommit:
    """In the place of an AutoCommit."""

    possible = False

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)


def without_commit(patch, owner, name):
    original = getattr(owner, name)

    def instead(self, *arguments, **more):
        real, self._autocommit = self._autocommit, NoCommit(self._autocommit)
        try:
            original(self, *arguments, **more)
        finally:
            self._autocommit = real

    patch.setattr(owner, name, instead)


def give_up_without_a_commit(patch):
    """What was read in a cooperative round is not committed before it goes."""
    without_commit(patch, Rebalance, "_revoke")


def give_up_in_a_consumer_group_without_a_commit(patch):
    without_commit(patch, Reconciliation, "_begin")


def close_without_a_commit(patch):
    without_commit(patch, Closing, "close")


def take_a_refusal_for_done(patch):
    original = Committer._refused

    def refused(self, *arguments):
        original(self, *arguments)

    patch.setattr(Committer, "_refused", refused)


def take_it_for_refused(patch):
    """Every tenth commit that was done fails."""
    original = CommitOperation.succeed
    count = [0]

    def succeed(self, committed):
        count[0] += 1
        if count[0] % 10:
            original(self, committed)
        else:
            self.fail(RetriableCommitFailedError("the answer was misread"))

    patch.setattr(CommitOperation, "succeed", succeed)


def forget_who_had_what(patch):
    patch.setattr(Claims, "by_member", lambda self, members: {one: [] for one in members})


BUGS = [
    (heartbeats_are_not_noted, Rule.STAYS, (), IDLE),
    (consumer_heartbeats_are_not_noted, Rule.STAYS, (), BY_EPOCHS),
    (say_once_what_is_to_be_said_again, Rule.STAYS, (), RESTLESS),
    (consumer_heartbeats_are_not_noted, Rule.STAYS, (), BOTH),
    (lose_heart, Rule.STAYS, (), {}),
    (lose_heart, Rule.STAYS, (), BOTH),
    (go_without_a_word, Rule.LEAVES, (Fault.LEAVE,), {}),
    (go_without_a_word, Rule.LEAVES, (Fault.LEAVE,), BY_EPOCHS),
    (go_without_a_word, Rule.LEAVES, (Fault.LEAVE,), BOTH),
    (go_before_the_id_comes, Rule.LEAVES, (), BRIEF),
    (stay_without_polling, Rule.LEAVES, (Fault.SLOW,), {}),
    (stay_in_a_consumer_group_without_polling, Rule.LEAVES, (Fault.SLOW,), BY_EPOCHS),
    (stay_in_a_consumer_group_without_polling, Rule.LEAVES, (Fault.SLOW,), BOTH),
    (rebalance_without_a_commit, Rule.HANDED_ON, (Fault.REJOIN,), {}),
    (give_up_without_a_commit, Rule.HANDED_ON, (Fault.JOIN, Fault.LEAVE), COOPERATIVE),
    (give_up_in_a_consumer_group_without_a_commit, Rule.HANDED_ON, HEALTHY, BY_EPOCHS),
    (close_without_a_commit, Rule.HANDED_ON, (Fault.LEAVE,), {}),
    (close_without_a_commit, Rule.HANDED_ON, (Fault.LEAVE,), BY_EPOCHS),
    (take_a_refusal_for_done, Rule.TOLD, FAILING, {}),
    (take_a_refusal_for_done, Rule.TOLD, FAILING, BY_EPOCHS),
    (take_it_for_refused, Rule.TOLD, (), {}),
    (take_it_for_refused, Rule.TOLD, (), BY_EPOCHS),
    (forget_who_had_what, Rule.STICKY, (Fault.JOIN, Fault.LEAVE), COOPERATIVE),
    (forget_who_had_what, Rule.STICKY, (Fault.JOIN, Fault.LEAVE), STICKY),
]


@pytest.mark.parametrize(
    "more",
    [{}, COOPERATIVE, STICKY, BY_EPOCHS, BOTH],
    ids=["range", "cooperative-sticky", "sticky", "consumer", "both"],
)
@pytest.mark.parametrize("seed", quickly(1, of=5, begin=1))
def test_without_one_all_is_well(more, seed):
    assert healthy(seed, *HEALTHY, Fault.SLOW, **more).violation is None


@pytest.mark.parametrize(
    ("bug", "rule", "kinds", "more"),
    BUGS,
    ids=[
        f"{bug.__name__}-{'both' if more is BOTH else '-'.join(more) or 'classic'}"
        for bug, _, _, more in BUGS
    ],
)
def test_a_planted_bug_is_found_by_its_rule(bug, rule, kinds, more, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = healthy(seed, *kinds, **more).violation
        if violation is not None:
            assert violation.rule is rule, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
