"""Bugs of what is given up and waited for: partitions that stay where they are to go from, that go
before their owner is done with them, commits of what is gone, rounds that end late or early.
"""

import pytest
from longer import quickly
from sim_planting import planted
from sim_runs import HEALTHY, call_without, drawn, healthy

from kcore.assignors import RebalanceProtocol, blobs
from kcore.coordinator import purgatory
from kcore.coordinator.commits import Commits
from kcore.coordinator.consumer.fencing import Fencing
from kcore.coordinator.group import Group
from kcore.coordinator.membership import Membership
from kcore.coordinator.rebalance import Rebalance as Rounds
from kcore.group.closing import Closing
from kcore.group.commits import Committer
from kcore.group.joining import Joining
from kcore.group.rebalance import Rebalance
from kcore.group.reconciliation import Reconciliation
from kcore.group.states import Step, StepInput
from kcore.sim import Fault, Rule
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

SEEDS = 20
COOPERATIVE = {"assignors": (("cooperative-sticky",),)}
BY_EPOCHS = {"consumer_share": 1.0}
AWAITED = {"await_share": 1.0}

# What a member that is gone was waited for is waited for longer than the rebalance timeout.
LONG_SESSIONS = {"session_timeout_ms": 20_000}

# Requests linger on connections that were given up, while groups rebalance on others.
LINGERING = {
    "faults": {Fault.STALL: 100, Fault.REJOIN: 150, Fault.RESUBSCRIBE: 200},
    "duration_ms": 40_000,
    "request_timeout_ms": 700,
    "fetch_max_wait_ms": 100,
    "heartbeat_interval_ms": 100,
    "session_timeout_ms": 10_000,
    "max_poll_interval_ms": 20_000,
    "latency_ms": (80, 120),
    "poll_every_ms": (50, 100),
}
# Partitions come and go while commits are tried again.
RESTLESS = {
    "faults": {Fault.JOIN: 500, Fault.LEAVE: 700, Fault.REFUSAL: 1_000, Fault.RESUBSCRIBE: 500},
    "auto_commit_share": 0.0,
    "heartbeat_interval_ms": 100,
}


def keep_what_is_taken(patch):
    """What a plan takes away is read on, and claimed in the next round."""
    original = Rebalance._deliver

    def deliver(self, now_ms):
        assigned, _ = blobs.decode_assignment(self._assignment)
        host = self._ctx.host
        if self._ctx.config.protocol is RebalanceProtocol.COOPERATIVE:
            kept = {tp for tp in host.owned_partitions() if host.covers(tp.topic)}
            self._assignment = blobs.encode_assignment(sorted(kept.union(assigned)))
        original(self, now_ms)

    patch.setattr(Rebalance, "_deliver", deliver)


def look_at_no_target_that_takes(patch):
    original = Reconciliation._look

    def look(self, now_ms):
        owned, target = self._membership.owned, self._membership.target
        if not owned or target is None or owned <= target:
            original(self, now_ms)

    patch.setattr(Reconciliation, "_look", look)


def take_less_than_is_given(patch):
    original = Rebalance._deliver

    def deliver(self, now_ms):
        assigned, _ = blobs.decode_assignment(self._assignment)
        self._assignment = blobs.encode_assignment(assigned[:2])
        original(self, now_ms)

    patch.setattr(Rebalance, "_deliver", deliver)


def join_while_listeners_run(patch):
    original = Rebalance._tell

    def tell(self, now_ms):
        original(self, now_ms)
        if self.step is Step.REVOKING:
            self.acknowledge(now_ms)

    patch.setattr(Rebalance, "_tell", tell)


def say_it_is_gone_while_listeners_run(patch):
    original = Reconciliation._go_on

    def go_on(self, now_ms):
        original(self, now_ms)
        if self.step is Step.SHEDDING:
            self.acknowledge(now_ms)
            self._settle()

    patch.setattr(Reconciliation, "_go_on", go_on)


def close_while_listeners_run(patch):
    def part(self, now_ms):
        if self._membership.subscribed and self._rebalance.tell_all_gone():
            self._rebalance.move(StepInput.TOLD)
        self._depart(now_ms)

    patch.setattr(Closing, "_part", part)


def refuse_two_commits_of_three(patch):
    """No bug: it is what has commits tried again."""
    original, count = Commits._check, [0]

    def check(self, *arguments, **more):
        count[0] += 1
        if count[0] % 3:
            return E.COORDINATOR_LOAD_IN_PROGRESS
        return original(self, *arguments, **more)

    patch.setattr(Commits, "_check", check)


def commit_what_is_gone(patch):
    """When a commit is tried again nobody looks whose the partitions are by now."""
    refuse_two_commits_of_three(patch)
    patch.setattr(Committer, "_owned", lambda self, operation: operation.offsets)


def joins_are_waited_for_for_ever(patch):
    patch.setattr(purgatory.DelayedJoin, "expire", lambda self, now_ms: None)


def syncs_are_waited_for_for_ever(patch):
    patch.setattr(Rounds, "expire_syncs", lambda *_: None)


def sometimes_ask_for_no_assignment(patch):
    """A member joins, goes on with heartbeats, and does not say what it is waiting for."""
    syncs_are_waited_for_for_ever(patch)
    original, count = Joining._sync, [0]

    def sync(self, plan, now_ms):
        count[0] += 1
        if count[0] % 8:
            original(self, plan, now_ms)

    patch.setattr(Joining, "_sync", sync)


def revocations_are_waited_for_for_ever(patch):
    """A member has given something up, and does not say so; it may go on like that."""
    patch.setattr(Fencing, "watch_revocation", lambda *_: None)
    original = Reconciliation._settle

    def settle(self):
        if self._revoked:
            self.move(StepInput.SETTLED)
        else:
            original(self)

    patch.setattr(Reconciliation, "_settle", settle)


def go_on_without_who_leaves(patch):
    """Nobody gets what a member had that has left."""
    call_without(patch, Membership, "leave", Rounds, "prepare")


def go_on_without_who_was_told_its_id(patch):
    def all_joined(self):
        return len(self.members) == self.awaiting_join

    patch.setattr(Group, "all_joined", all_joined)


def take_syncs_of_any_generation(patch):
    original = Membership._check_sync

    def check(self, group, request):
        error = original(self, group, request)
        return group.refusal(ApiKey.SYNC_GROUP) if error == E.ILLEGAL_GENERATION else error

    patch.setattr(Membership, "_check_sync", check)


CROWD = {"faults": {Fault.JOIN: 300, Fault.LEAVE: 300, Fault.REJOIN: 300}, "latency_ms": (1, 60)}

BUGS = [
    (keep_what_is_taken, Rule.GIVES_UP, HEALTHY, COOPERATIVE),
    (look_at_no_target_that_takes, Rule.GIVES_UP, HEALTHY, BY_EPOCHS),
    (take_less_than_is_given, Rule.GIVES_UP, HEALTHY, {}),
    (join_while_listeners_run, Rule.HANDLED, HEALTHY, AWAITED),
    (join_while_listeners_run, Rule.HANDLED, HEALTHY, AWAITED | COOPERATIVE),
    (say_it_is_gone_while_listeners_run, Rule.HANDLED, HEALTHY, AWAITED | BY_EPOCHS),
    (close_while_listeners_run, Rule.HANDLED, (Fault.LEAVE,), AWAITED),
    (close_while_listeners_run, Rule.HANDLED, (Fault.LEAVE,), AWAITED | BY_EPOCHS),
    (commit_what_is_gone, Rule.COMMIT_OWN, (), RESTLESS | AWAITED | BY_EPOCHS),
    (joins_are_waited_for_for_ever, Rule.ROUNDS, (*HEALTHY, Fault.CRASH), LONG_SESSIONS),
    (syncs_are_waited_for_for_ever, Rule.ROUNDS, (*HEALTHY, Fault.CRASH), LONG_SESSIONS),
    (revocations_are_waited_for_for_ever, Rule.ROUNDS, HEALTHY, BY_EPOCHS),
    (go_on_without_who_leaves, Rule.ROUNDS, (Fault.JOIN, Fault.LEAVE), COOPERATIVE),
    (go_on_without_who_was_told_its_id, Rule.ROUNDS, (), CROWD),
    (take_syncs_of_any_generation, Rule.COHERENT, (), LINGERING),
]
LONG = {  # runs; the others are found within a fifth of a second
    commit_what_is_gone,
    go_on_without_who_was_told_its_id,
    revocations_are_waited_for_for_ever,
    syncs_are_waited_for_for_ever,
}


@pytest.mark.parametrize(
    "more",
    [AWAITED, AWAITED | COOPERATIVE, AWAITED | BY_EPOCHS, LONG_SESSIONS, LINGERING, CROWD],
    ids=["awaited", "cooperative", "consumer", "long-sessions", "lingering", "crowd"],
)
@pytest.mark.parametrize("seed", quickly(1, of=4, begin=1))
def test_without_one_all_is_well(more, seed):
    assert healthy(seed, *HEALTHY, Fault.CRASH, **more).violation is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_with_commits_tried_again_all_is_well(monkeypatch, seed):
    """Seed 1 found one that took back what a later one had committed."""
    refuse_two_commits_of_three(monkeypatch)
    assert healthy(seed, **RESTLESS | AWAITED | BY_EPOCHS).violation is None


@pytest.mark.parametrize(
    ("bug", "rule", "kinds", "more"), planted(BUGS, {bug for bug, *_ in BUGS} - LONG)
)
def test_a_planted_bug_is_found_by_its_rule(bug, rule, kinds, more, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = healthy(seed, *kinds, **more).violation
        if violation is not None:
            assert violation.rule is rule, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")


@pytest.mark.slow
def test_who_asks_for_no_assignment_is_found_by_the_clock(monkeypatch):
    sometimes_ask_for_no_assignment(monkeypatch)
    rules = {violation.rule for seed in range(1, 8) if (violation := drawn(seed).violation)}
    assert Rule.ROUNDS in rules
