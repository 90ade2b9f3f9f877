"""Whole runs of share groups: what a clean world comes to, and what faults do."""

import random
from dataclasses import replace

import pytest
from longer import each_other, quickly
from sim_runs import all_but_later, drawn, drawn_share, run, sharing, well

from kcore.sim import Fault, Plan, Rule, plan_of
from kcore.sim.plan import NOT_OF_SHARES, faults_of, shared
from kcore.sim.trace import What
from kcore.sim.words import plan_in_words, verdicts


def test_where_nothing_goes_wrong_each_record_comes_once():
    outcome = well(sharing(1, explicit_share=0.0, lock_ms=10_000))
    counts = outcome.counts
    assert counts["members"] == 4
    assert counts["delivered"] == counts["acquired"] == counts["done with"] == counts["records"]
    assert counts["records"] > 50
    assert outcome.settled_ms <= 5_000


def test_what_is_given_back_comes_again():
    counts = well(sharing(1, explicit_share=1.0)).counts
    assert counts["done with"] <= counts["records"] < counts["delivered"]


@pytest.mark.parametrize("seed", quickly(3, of=8, begin=100))
def test_seeds_go_well(seed):
    well(drawn_share(seed))


@pytest.mark.parametrize(
    "seed",
    [
        250,  # a record was handed over whose lock was not renewed as the others' were
        207,  # a node that stood still gave records away
        679,
        5505,  # a word behind a commit that was still waiting for others (a false alarm)
        3189,  # an assignment was told to a connection that was gone
        812_340_972,  # a share state is to go, and nobody leads its journal
    ],
)
def test_seeds_that_found_something_go_well(seed):
    well(drawn_share(seed))


@pytest.mark.parametrize(
    ("seed", "last"),
    [
        (3_002_334, Fault.AUDIT),  # a join with fewer topics came behind the next one
    ],
)
def test_seeds_that_found_something_with_all_faults_go_well(seed, last):
    plan = shared(plan_of(random.Random, seed), random.Random)
    well(run(all_but_later(plan, last)))


@pytest.mark.parametrize(
    "kind",
    each_other(kind for kind in Fault if kind not in NOT_OF_SHARES),
    ids=lambda kind: kind.value,
)
def test_every_kind_of_fault_happens_and_is_got_over(kind):
    outcome = well(sharing(5, kind, brokers=3, topics=2, latency_ms=(1, 10), split_share=0.1))
    happened = [event for event in outcome.events if event.what is What.FAULT]
    assert {event.detail["kind"] for event in happened} == {kind.value}
    assert What.SETTLED in {event.what for event in outcome.events}


def test_a_seed_is_a_run_and_another_one_than_that_of_consumers():
    digests = [drawn_share(3).digest, drawn_share(3).digest, drawn(3).digest]
    assert digests[0] == digests[1] != digests[2]


def test_what_share_groups_do_not_know_is_not_drawn():
    for seed in range(50):
        plan = shared(plan_of(random.Random, seed), random.Random)
        assert not plan.faults.keys() & NOT_OF_SHARES
        assert faults_of(["all"], plan, random.Random, seed).keys() == set(Fault) - NOT_OF_SHARES


def test_several_groups_share_the_same_records():
    outcome = well(sharing(4, groups=2, explicit_share=0.0, lock_ms=10_000))
    assert outcome.counts["delivered"] == 2 * outcome.counts["records"]


def test_a_plan_in_words_and_the_rules_it_is_judged_by():
    plan = Plan(seed=1, share=True, lock_ms=2_000, explicit_share=0.5, one_by_one_share=1.0)
    words = " ".join(plan_in_words(plan))
    assert "each of which is locked for 2 s and delivered 5 times at most" in words
    assert "50 % of members acknowledge record by record, and renew locks" in words
    assert "100 % are given no more than they ask for" in words
    assert "Members accept records" in " ".join(plan_in_words(replace(plan, explicit_share=0.0)))
    judged = dict(verdicts(well(run(replace(plan, duration_ms=2_000)))))
    assert Rule.HELD_ONCE in judged
    assert Rule.OWNED_ONCE not in judged
