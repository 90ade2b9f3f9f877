"""Bugs that only show where somebody operates the cluster: see test_sim_canaries."""

from __future__ import annotations

import pytest
from sim_planting import every, planted
from sim_runs import healthy, sharing

from kcore.admin.core import _Operation
from kcore.coordinator.cleaning import Cleaning
from kcore.coordinator.fetches import Fetches
from kcore.group.consumer_heartbeat import ConsumerHeartbeats
from kcore.group.reconciliation import Reconciliation
from kcore.sim import Fault, Rule

SEEDS = 10


def reading(seed, *kinds):
    return healthy(seed, *kinds, brokers=2)


def by_epochs(seed, *kinds):
    return healthy(seed, *kinds, brokers=2, consumer_share=1.0)


def a_refusal_of_the_protocol_is_no_matter(patch):
    """Who is refused tells nobody, and is in its group in its own eyes."""
    patch.setattr(ConsumerHeartbeats, "_fatal", lambda *_: None)


def some_operations_are_forgotten(patch):
    every(7, patch, _Operation, "handle_tick", lambda _original, self, _now_ms: forget(self))


def forget(operation):
    operation._askings.clear()
    operation._places.abandoned = operation._begun = True
    operation._go_on = lambda _outcomes: None


def not_all_is_told_of(patch):
    """Of what a group has committed."""
    every(3, patch, Fetches, "_everything", lambda original, *about: original(*about)[1:])


def who_is_removed_goes_on(patch):
    """And nobody tells its application that it has lost what it had."""
    patch.setattr(Reconciliation, "_lose", lambda self, _now_ms: self._join("never mind"))


def offsets_outlive_who_deletes_them(patch):
    patch.setattr(Cleaning, "_tombstones", lambda *_: [])


# What nobody is to find any more; or somebody begins there.
LEFT = {Rule.OPERATED, Rule.NEVER_SKIPS}

BUGS = [
    (a_refusal_of_the_protocol_is_no_matter, by_epochs, Fault.DOWNGRADE, {Rule.SETTLES}),
    (who_is_removed_goes_on, by_epochs, Fault.EVICT, {Rule.OWNED_ONCE, Rule.HANDLED}),
    (offsets_outlive_who_deletes_them, by_epochs, Fault.RESET, LEFT),
    (offsets_outlive_who_deletes_them, reading, Fault.RESET, LEFT),
    (some_operations_are_forgotten, reading, Fault.AUDIT, {Rule.OPERATED}),
    (some_operations_are_forgotten, sharing, Fault.AUDIT, {Rule.OPERATED}),
    (not_all_is_told_of, reading, Fault.AUDIT, {Rule.OPERATED}),
    (not_all_is_told_of, by_epochs, Fault.AUDIT, {Rule.OPERATED}),
]
QUICK = {
    not_all_is_told_of,
    offsets_outlive_who_deletes_them,
}


@pytest.mark.parametrize(("bug", "play", "kind", "rules"), planted(BUGS, QUICK))
def test_a_planted_bug_is_found(bug, play, kind, rules, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = play(seed, kind).violation
        if violation is not None:
            assert violation.rule in rules, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
