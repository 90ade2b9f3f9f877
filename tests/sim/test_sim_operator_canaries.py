"""Bugs that only show where a cluster is operated: see test_sim_canaries."""

from __future__ import annotations

import pytest
from sim_planting import planted
from sim_runs import healthy

from kcore.group.consumer_heartbeat import ConsumerHeartbeats
from kcore.sim import Fault, Rule

SEEDS = 10


def consuming(seed, *kinds):
    return healthy(seed, *kinds, brokers=2, consumer_share=1.0)


def a_refusal_of_the_protocol_is_no_matter(patch):
    """Who is refused tells nobody, and is in its group in its own eyes."""
    patch.setattr(ConsumerHeartbeats, "_fatal", lambda *_: None)


BUGS = [
    (a_refusal_of_the_protocol_is_no_matter, consuming, Fault.DOWNGRADE, Rule.SETTLES),
]
QUICK = {a_refusal_of_the_protocol_is_no_matter}


@pytest.mark.parametrize(("bug", "play", "kind", "rule"), planted(BUGS, QUICK))
def test_a_planted_bug_is_found(bug, play, kind, rule, monkeypatch):
    bug(monkeypatch)
    for seed in range(1, SEEDS):
        violation = play(seed, kind).violation
        if violation is not None:
            assert violation.rule is rule, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
