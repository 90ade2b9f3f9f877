"""Whole runs: what a clean world comes to, and that a seed is a run."""

from sim_runs import run, well

from kcore.sim import Plan


def test_a_group_of_three_on_one_node_settles_and_delivers_everything():
    outcome = well(run(Plan(seed=1, members=3, partitions=6)))
    counts = outcome.counts
    assert counts["members"] == 3
    assert counts["generations"] >= 1
    assert counts["delivered"] == counts["records"] > 20
    assert counts["commits"] > 10
    assert outcome.settled_ms <= 5_000
