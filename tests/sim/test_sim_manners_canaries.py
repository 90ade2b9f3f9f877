"""Planted bugs in what is agreed beside records: quotas, ways to close, reading from followers."""

import random

import pytest
from sim_runs import healthy, run, well

from kcore.connection.link import Link
from kcore.group.closing import Closing
from kcore.sim import Fault, Rule, plan_of
from kcore.sim.plan import upgrading
from kcore.sim.trace import What
from kcore.structs import GroupMembershipOperation

SEEDS = 10
HELD = {"duration_ms": 10_000, "append_every_ms": 100}
CLOSING = {"close_share": 1.0, "session_timeout_ms": 10_000, "max_poll_interval_ms": 20_000}
NEAR = {"racks": ("a", "b"), "brokers": 2, "duration_ms": 10_000, "append_every_ms": 100}


def speak_though_told_to_wait(patch):
    patch.setattr(Link, "_hold_back", lambda *_: None)


def leave_whatever_was_said(patch):
    """Who is to remain says goodbye."""
    original = Closing.close

    def close(self, *about, operation, **more):
        del operation
        original(self, *about, operation=GroupMembershipOperation.LEAVE_GROUP, **more)

    patch.setattr(Closing, "close", close)


BUGS = [
    (speak_though_told_to_wait, {Rule.THROTTLED}, (Fault.THROTTLE,), HELD),
    (leave_whatever_was_said, {Rule.REMAINS}, (Fault.LEAVE, Fault.JOIN), CLOSING),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "options"),
    [((Fault.THROTTLE,), HELD), ((Fault.LEAVE, Fault.JOIN), CLOSING), ((Fault.LAG,), NEAR)],
    ids=["throttle", "close", "racks"],
)
@pytest.mark.parametrize("consumer_share", [0.0, 1.0], ids=["classic", "consumer"])
def test_without_one_all_is_well(kinds, options, consumer_share):
    for seed in range(1, 4):
        well(healthy(seed, *kinds, consumer_share=consumer_share, **options))


@pytest.mark.parametrize(
    ("bug", "rules", "kinds", "options"), BUGS, ids=[bug.__name__ for bug, *_ in BUGS]
)
def test_a_planted_bug_is_found_by_its_rule(bug, rules, kinds, options, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = healthy(seed, *kinds, **options).violation
        if violation is not None:
            assert violation.rule in rules, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")


@pytest.mark.slow
def test_a_rolling_upgrade_goes_well_up_to_the_last_member():
    """Members end with cooperative-sticky alone, and none was refused."""
    for seed in range(1, 6):
        plan = upgrading(plan_of(random.Random, seed), 1_000)
        outcome = well(run(plan))
        lists = [event.detail.get("assignors") for event in outcome.events]
        assert "cooperative-sticky, range" in lists
        errors = [event.detail["error"] for event in outcome.events if event.what is What.ERROR]
        assert not any("Inconsistent" in error for error in errors)
