"""Whole runs of producers: what a clean world comes to, and what faults do."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from sim_pages import data_in, page
from sim_runs import drawn, drawn_exact, exactly, run, well

from kcore.sim import Fault, Plan, Rule, ViolationError, plan_of
from kcore.sim.exact.copies import Copies, Copy
from kcore.sim.exact.judge import ExactJudge
from kcore.sim.ledger import Ledger
from kcore.sim.plan import NOT_OF_EXACT, exact, faults_of
from kcore.sim.trace import Trace, What
from kcore.sim.words import plan_in_words, verdicts
from kcore.structs import TopicPartition


def test_where_nothing_goes_wrong_all_that_is_committed_is_moved_once():
    outcome = well(exactly(1, duration_ms=4_000, abort_share=0.3))
    counts = outcome.counts
    fates = [event.detail["fate"] for event in outcome.events if event.what is What.ENDED]
    assert counts["transactions"] == fates.count("committed") > 3
    assert counts["aborted"] == fates.count("aborted") > 0
    assert 0 < counts["moved"] < counts["records"], "what was aborted is not moved"
    assert outcome.settled_ms <= 10_000


def test_idempotent_producers_have_no_transactions():
    outcome = well(exactly(2, members=1, transactional_share=0.0, duration_ms=3_000))
    movers = {event.who for event in outcome.events if event.what is What.BEGUN}
    assert "m1" not in movers
    assert outcome.counts["records"] > 5


@pytest.mark.parametrize("seed", [5, pytest.param(6, marks=pytest.mark.slow)])
def test_seeds_go_well(seed):
    well(drawn_exact(seed))


def test_what_lingers_behind_a_record_that_ran_out_of_time_may_come_twice():
    """One that is in no transaction: its next epoch begins where the old one may still arrive."""
    plan = exact(plan_of(random.Random, 647), random.Random)
    faults = plan.faults | {Fault.REMAKE: 4_000}
    well(run(replace(plan, transaction_version=1, faults=faults)))


@pytest.mark.parametrize("early", ["as told", "in the same epoch", "behind none that failed"])
def test_what_comes_twice_for_no_such_reason_is_found(early):
    tp = TopicPartition("t", 0)
    copies = Copies(lambda _: None, list)
    first, second = (copies.add(tp, 1, "m1", None, None) for _ in range(2))
    first.failed = early != "behind none that failed"
    second.promised = 0 if early == "as told" else None
    second.offset, second.epoch = 0, 1
    assert not copies._lingered(second, 1, 1 if early == "in the same epoch" else 2)
    first.failed, second.promised = True, None
    assert copies._lingered(second, 1, 2)


@pytest.mark.parametrize(
    "seed",
    [
        903_624,  # nobody is left in a group that waits for an id, and then somebody comes
        905_599,  # a record is read where it was, and where its producer has written it again
        812_342_913,  # a follower that is as long as its leader, and ends in another's batch
        812_344_311,  # what begins a transaction comes behind its end, and times out in the next
        640_100_974,  # a request that ends one is served after its client has lost the connection
        36_405,  # a request for an id is served late, when another one of its client has been
        36_244,  # who had an id once asks for its next epoch, and what is open under it is aborted
        640_101_603,  # a batch comes behind the end of its transaction, where nobody verifies it
    ],
)
def test_seeds_that_were_false_alarms_go_well(seed):
    well(drawn_exact(seed))


@pytest.mark.parametrize("seed", [7, 10])
def test_where_links_are_slow_records_have_the_time_that_they_take(seed):
    """A look-up, a connection and a batch took longer than a record had: each one failed, and so
    did each transaction.
    """
    plan = exact(plan_of(random.Random, seed), random.Random)
    far = {"latency_ms": (150, 300), "request_timeout_ms": 900, "fetch_max_wait_ms": 800}
    plan = replace(plan, **far, faults={}, delivery_slack_ms=200, split_share=0.0)
    assert plan.delivery_timeout_ms == 4 * 2 * 300
    well(run(plan))


def test_where_links_are_not_slow_records_have_a_request_and_the_slack_of_the_plan():
    plan = Plan(seed=1, exact=True, request_timeout_ms=3_000, delivery_slack_ms=200)
    assert plan.delivery_timeout_ms == 3_200


def test_a_producer_that_cannot_connect_to_its_coordinator_asks_nobody_again_and_again():
    well(drawn_exact(812_351_136))


MOVING = {Fault.LEADER_MOVE: 4_000, Fault.NODE_CRASH: 4_000}


@pytest.mark.parametrize(
    ("seed", "faults"),
    [
        # What ends a transaction lingers until the next one is open, which has the same epoch.
        (1_200_308, {Fault.ONE_WAY: 1_500}),
        # A producer asks again for its next epoch, and its coordinator is another one by then.
        (1_200_321, MOVING | {Fault.LOST_ANSWER: 1_500, Fault.LEAVE: 4_000}),
    ],
)
def test_what_kafka_does_not_promise_to_producers_raises_no_false_alarm(seed, faults):
    plan = exact(plan_of(random.Random, seed), random.Random)
    well(run(replace(plan, faults=plan.faults | faults)))


def test_what_is_sent_anew_behind_a_record_that_is_lost_is_twice_in_its_order():
    plan = exact(plan_of(random.Random, 6_140), random.Random)
    faults = {kind: ms for kind, ms in plan.faults.items() if kind is not Fault.REMAKE}
    well(run(replace(plan, faults=faults, release=(4, 4), transaction_version=0)))


@pytest.mark.parametrize(
    "seed",
    [
        # The answer to who asks for an epoch for the new rules is lost, and he aborts meanwhile.
        *(9_096, 9_369, 9_479),
        9_203,  # a record is promised where it was sent anew, before it is seen where it was
    ],
)
def test_the_cluster_begins_to_use_another_version_of_transactions(seed):
    plan = exact(plan_of(random.Random, seed), random.Random)
    words = ["feature", "cut", "lost-answer", "node-pause", "coordinator-move", "refusal"]
    outcome = well(run(replace(plan, faults=faults_of(words, plan, random.Random, seed))))
    happened = [event for event in outcome.events if event.what is What.FAULT]
    assert "feature" in {event.detail["kind"] for event in happened}


def test_a_topic_that_is_made_anew_while_nobody_keeps_a_group_is_read_from_its_beginning():
    plan = exact(plan_of(random.Random, 60_333), random.Random)
    well(run(replace(plan, faults=faults_of(["all"], plan, random.Random, 60_333))))


def test_who_was_put_out_commits_no_offsets_with_a_transaction():
    """Its consumer names the generation that it was in, not none, which is anybody's."""
    plan = exact(plan_of(random.Random, 1_200_407), random.Random)
    well(run(replace(plan, faults=plan.faults | {Fault.ONE_WAY: 700})))


class Named:
    name = "m1"


def test_a_record_may_be_read_in_two_lives_of_its_topic_and_in_none_twice():
    """Its producer has written it again where the topic was made anew, at the offset it was at."""
    tp = TopicPartition("t", 0)
    plan, trace = Plan(seed=1), Trace()
    no_group, no_partition = (lambda _: None), (lambda _: None)
    judge = ExactJudge(plan, Ledger(plan, trace), trace, no_group, int, no_partition, list)
    reader = Named()

    def read(offset, item):
        taken = {tp: [SimpleNamespace(offset=offset, value=item.value)]}
        judge.delivered(reader, taken, committed=False)

    first, second = (judge.copies.add(tp, 1, "m2", None, None) for _ in range(2))
    judge.copies.copies[tp] = Copy(end=2, items={0: first, 1: second})
    read(0, first)
    judge.topic_gone("t")
    judge.copies.copies[tp] = Copy(end=2, items={0: first, 1: second})
    assert judge.left(reader, tp, committed=False) == 2
    read(0, first)
    read(1, second)
    assert judge.left(reader, tp, committed=False) == 0
    with pytest.raises(ViolationError, match="m1 got 0 of t-0, and nothing is next") as found:
        read(0, first)
    assert found.value.rule is Rule.NEVER_SKIPS


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("release", [(3, 3), (4, 4)])
def test_brokers_of_any_version_of_transactions(version, release):
    for seed in range(3):
        kinds = (Fault.CUT, Fault.RESTART, Fault.NODE_CRASH)
        well(exactly(seed, *kinds, release=release, transaction_version=version))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in Fault if kind not in NOT_OF_EXACT], ids=lambda kind: kind.value
)
def test_every_kind_of_fault_happens_and_is_got_over(kind):
    outcome = well(exactly(5, kind, brokers=3, topics=2, static_share=0.5, latency_ms=(1, 10)))
    happened = [event for event in outcome.events if event.what is What.FAULT]
    assert {event.detail["kind"] for event in happened} == {kind.value}


def test_a_seed_is_a_run_and_another_one_than_that_of_consumers():
    digests = [drawn_exact(3).digest, drawn_exact(3).digest, drawn(3).digest]
    assert digests[0] == digests[1] != digests[2]


def test_what_would_spoil_the_count_is_not_drawn():
    for seed in range(50):
        plan = exact(plan_of(random.Random, seed), random.Random)
        assert not plan.faults.keys() & NOT_OF_EXACT
        assert faults_of(["all"], plan, random.Random, seed).keys() == set(Fault) - NOT_OF_EXACT


def test_a_plan_in_words_and_the_rules_it_is_judged_by():
    plan = Plan(seed=1, exact=True, transactional_share=0.5, abort_share=0.2)
    words = " ".join(plan_in_words(plan))
    assert "50 % of writers have transactions, of which 20 % are aborted" in words
    assert "transaction.version is 2" in words
    judged = dict(verdicts(well(run(replace(plan, duration_ms=1_000, append_until_ms=0)))))
    assert Rule.MOVED_ONCE in judged
    assert Rule.HELD_ONCE not in judged
    assert Rule.COMMIT_OWN not in judged


def test_a_page_has_transactions_on_the_lanes_of_members():
    outcome = well(exactly(3, Fault.CRASH, duration_ms=4_000))
    members = data_in(page(outcome))["members"]
    fates = {fate for *_, deals in members for _, _, fate in deals}
    assert {"committed", "aborted"} <= fates <= {"committed", "aborted", "open"}
    assert all(since <= until for *_, deals in members for since, until, _ in deals)
