"""Whole runs: what a clean world comes to, what faults do, and that many members are no matter."""

import random
from dataclasses import replace

import pytest
from longer import each_other, quickly
from sim_runs import all_but_later, drawn, drawn_of, run, well

from kcore.sim import Fault, Plan, faults_of, plan_of
from kcore.sim.plan import CONSUMER_SINCE, NodeTime, exact, shared, upgrading
from kcore.sim.trace import What

# Members have no more time for a rebalance than a heartbeat and some polls take.
PRESSED = {
    "session_timeout_ms": 10_000,
    "max_poll_interval_ms": 5_000,
    "heartbeat_interval_ms": 3_333,
}


# Setting up a connection takes the time of half a request or more, and a request that a broker
# keeps more than the time of one.
FAR = {
    "request_timeout_ms": 500,
    "fetch_max_wait_ms": 400,
    "latency_ms": (80, 160),
    "split_share": 0.0,  # a quarter of a message would take as long
}


def kinds(outcome):
    return {event.what for event in outcome.events}


def test_a_group_of_three_on_one_node_settles_and_delivers_everything():
    outcome = well(run(Plan(seed=1, members=3, partitions=6)))
    counts = outcome.counts
    assert counts["members"] == 3
    assert counts["generations"] >= 1
    assert counts["delivered"] == counts["records"] > 20
    assert counts["commits"] > 10
    assert outcome.settled_ms <= 5_000


@pytest.mark.parametrize("seed", quickly(4, of=10, begin=100))
def test_seeds_go_well(seed):
    well(drawn(seed))


@pytest.mark.parametrize("share", [0.5, 1.0], ids=["both", "consumer"])
@pytest.mark.parametrize("seed", quickly(1, of=3, begin=200))
def test_seeds_of_the_consumer_protocol_go_well(seed, share):
    well(drawn_of(seed, share))


@pytest.mark.parametrize(
    ("seed", "share"),
    [
        (1222, 1.0),  # an older commit behind a newer one
        (4248, 1.0),  # partitions taken that the coordinator was giving away
        (6879, 0.5),  # the same
        (9476, 0.5),  # an older join behind a newer one
        (812_340_659, 1.0),  # a coordinator moved to a node that lacks what was committed
        (9145, 0.0),  # a plan without the time that a rebalance takes (a false alarm)
    ],
)
def test_seeds_that_found_something_go_well(seed, share):
    well(drawn_of(seed, share))


def test_what_a_lingering_heartbeat_does_not_name_is_not_taken_behind_it():
    """It said that nothing is owned, was tried again, and came when something else was to be."""
    plan = plan_of(random.Random, 1_200_045)
    kinds = (Fault.RESTART, Fault.REJOIN, Fault.LATE_ANSWER, Fault.REFUSE)
    faults = plan.faults | dict.fromkeys(kinds, 1_500)
    release = max(plan.release, CONSUMER_SINCE)
    well(run(replace(plan, faults=faults, release=release, consumer_share=1.0)))


@pytest.mark.parametrize(
    ("seed", "faults", "more"),
    [
        # Two of the topics of a commit that comes before a revocation are deleted, one by one.
        (50_070, {Fault.REMAKE: 1_500}, {}),
        # A coordinator is gone as its group has just become a classic one.
        (950_225, {}, PRESSED),
    ],
)
def test_what_both_kinds_of_members_meet_in_one_group_goes_well(seed, faults, more):
    plan = plan_of(random.Random, seed)
    faults = plan.faults | faults
    more = {"session_timeout_ms": 10_000} | more
    well(run(replace(plan, faults=faults, consumer_share=0.5, **more)))


@pytest.mark.parametrize(
    ("seed", "share", "often_ms", "more"),
    [
        (902_472, 1.0, 1_500, {}),  # a commit lingers until its topic is made anew once more
        (906_850, 0.0, 10_000, {}),  # a position is beyond the end of the new log
        # Nobody knows which of the topics records are of that do not go on where others ended.
        (1_200_371, 0.0, 4_000, {}),
        # The time of a commit is over while it is asked for again, and then it is taken.
        (1_200_250, 0.0, 4_000, {}),
        # Of a record nobody knows whether it is of the topic as it was, or of the new one.
        (952_868, 0.5, 10_000, PRESSED),
    ],
)
def test_topics_that_are_made_anew_raise_no_false_alarm(seed, share, often_ms, more):
    plan = plan_of(random.Random, seed)
    if share:
        plan = replace(plan, release=max(plan.release, CONSUMER_SINCE))
    faults = plan.faults | {Fault.REMAKE: often_ms}
    well(run(replace(plan, faults=faults, consumer_share=share, **more)))


@pytest.mark.parametrize(
    "share",
    [pytest.param(0.0, id="classic"), pytest.param(1.0, id="consumer", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("kind", each_other(Fault, begin=1), ids=lambda kind: kind.value)
def test_every_kind_of_fault_happens_and_is_got_over(kind, share):
    plan = Plan(
        seed=5,
        members=4,
        brokers=3,
        topics=2,
        partitions=4,
        faults={kind: 1_000},
        static_share=0.5,
        consumer_share=share,
        duration_ms=12_000,
        latency_ms=(1, 10),
        split_share=0.1,
    )
    if kind is Fault.UPGRADE:  # of classic members, from the first assignors on
        plan = upgrading(plan, 1_000)
    outcome = well(run(plan))
    happened = [event for event in outcome.events if event.what is What.FAULT]
    assert happened
    assert {event.detail["kind"] for event in happened} == {kind.value}
    assert What.SETTLED in kinds(outcome)


@pytest.mark.parametrize(
    ("share", "refused"), [(1.0, True), (0.0, False)], ids=["consumer", "classic"]
)
def test_who_speaks_the_consumer_protocol_is_told_that_it_is_not_there(share, refused):
    faults = {Fault.DOWNGRADE: 3_000}
    outcome = well(run(Plan(seed=5, members=4, partitions=4, faults=faults, consumer_share=share)))
    told = [event.detail["error"] for event in outcome.events if event.what is What.ERROR]
    assert bool(told) is refused
    assert all(text.startswith("UnsupportedVersionError") for text in told)


def test_in_groups_of_both_protocols_members_go_over_from_one_to_the_other():
    faults = {Fault.MIGRATE: 1_500}
    outcome = well(run(Plan(seed=5, members=4, partitions=4, faults=faults, consumer_share=0.5)))
    happened = [event.detail for event in outcome.events if event.what is What.FAULT]
    assert {detail["protocol"] for detail in happened} == {"classic", "consumer"}


def test_who_goes_over_under_its_name_takes_what_half_a_rebalance_has_left():
    """As at a Kafka 4.3.1; and somebody more comes, so that all is somebody's."""
    plan = plan_of(random.Random, 3_600_004)
    kinds = ["migrate", "node-crash", "zombie", "join"]
    faults = faults_of(kinds, plan, random.Random, plan.seed)
    release = max(plan.release, CONSUMER_SINCE)
    well(run(replace(plan, faults=faults, release=release, consumer_share=0.5)))


def test_who_was_handed_an_id_by_a_group_that_is_empty_then_is_told_that_it_has_none():
    """As at a Kafka 4.3.1: a consumer group does not keep it for the classic one that follows."""
    plan = all_but_later(plan_of(random.Random, 3_005_144), Fault.EVICT)
    well(run(replace(plan, release=max(plan.release, CONSUMER_SINCE), consumer_share=0.5)))


def test_what_a_member_of_a_deleted_group_believes_is_nothing_to_the_next_one():
    """A false alarm: both had a generation of that number."""
    plan = plan_of(random.Random, 8_520_258)
    faults = faults_of(["all"], plan, random.Random, plan.seed)
    well(run(replace(plan, faults=faults, consumer_share=0.0)))


def test_joins_that_a_node_answers_as_it_goes_are_nobodys():
    """A false alarm: the next coordinator begins the generation again, with another leader."""
    plan = plan_of(random.Random, 8_200_390)
    faults = faults_of(["all"], plan, random.Random, plan.seed)
    well(run(replace(plan, faults=faults, consumer_share=0.0)))


def test_an_offset_that_was_set_may_be_one_of_the_topic_that_was_there_before():
    """Whoever sets it waits for a coordinator, and names no topic by its id."""
    plan = all_but_later(plan_of(random.Random, 3_006_103), Fault.MIGRATE)
    well(run(replace(plan, consumer_share=0.0)))


def test_the_list_tells_the_story_of_the_members():
    plan = Plan(seed=2, members=2, faults={Fault.CRASH: 3_000, Fault.JOIN: 3_000})
    outcome = well(run(plan))
    assert {What.MEMBER_STARTED, What.MEMBER_ENDED, What.JOINED, What.ASSIGNED} <= kinds(outcome)
    assert {What.GENERATION, What.DELIVERED, What.COMMITTED, What.HEALED} <= kinds(outcome)
    times = [event.at_ms for event in outcome.events]
    assert times == sorted(times)


def test_members_with_clocks_that_drift_and_differ_settle():
    well(run(Plan(seed=3, members=4, partitions=5, drift_ppm=50_000, latency_ms=(1, 80))))


def test_coordinators_with_clocks_that_drift_and_differ_settle():
    times = (NodeTime(0, 0, 0), NodeTime(4_000_000_000, 50_000, -1_000), NodeTime(7, -50_000, 900))
    faults = {Fault.NODE_CRASH: 4_000, Fault.COORDINATOR_MOVE: 2_000, Fault.CRASH: 5_000}
    plan = Plan(seed=3, members=4, brokers=3, partitions=5, node_times=times, faults=faults)
    well(run(plan))


def test_several_groups_read_the_same_records():
    outcome = well(run(Plan(seed=4, members=6, groups=3, partitions=4, brokers=2)))
    assert outcome.counts["delivered"] >= 3 * outcome.counts["records"]


@pytest.mark.parametrize("kind", ["groups", "share", "exact"])
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_clients_get_on_where_brokers_are_far_for_the_time_that_requests_have(seed, kind):
    """Requests that had waited for their link ended it as soon as it was there, time and again."""
    plan = plan_of(random.Random, seed)
    if kind != "groups":
        plan = (shared if kind == "share" else exact)(plan, random.Random)
    well(run(replace(plan, faults={}, **FAR)))


def test_a_coordinator_whose_connection_is_not_ready_in_time_is_not_given_up_with_it():
    """It is greeted twice, being older: that takes longer than requests have."""
    well(run(replace(plan_of(random.Random, 9_604_028), **FAR)))


@pytest.mark.slow
@pytest.mark.timeout(600)  # seconds of CPU, and machines are shared
def test_a_thousand_members_over_ten_thousand_partitions_rebalance():
    plan = Plan(
        seed=1,
        members=1_000,
        brokers=3,
        topics=1_000,
        topics_each=10,
        partitions=10,
        duration_ms=5_000,
        session_timeout_ms=30_000,
        max_poll_interval_ms=60_000,
        request_timeout_ms=20_000,
        metadata_max_age_ms=300_000,
        fetch_max_wait_ms=5_000,
        poll_every_ms=(500, 1_500),
        auto_commit_share=1.0,
    )
    outcome = well(run(plan))
    assert outcome.counts["members"] == 1_000
    last = {event.who: event.detail for event in outcome.events if event.what is What.ASSIGNED}
    owned = [tp for detail in last.values() for tp in detail["partitions"]]
    assert len(owned) == len(set(owned)) == 10_000
