"""What a picture shows, from events written down by hand."""

import pytest
from sim_pages import assigned, event, gone, outcome, started

from kcore.sim import Fault, Plan, Rule, ViolationError
from kcore.sim.ownership import ROWS_MAX
from kcore.sim.story import BINS, LANES_MAX, LINES_MAX, MARKS_MAX, data_of, story_of
from kcore.sim.trace import What
from kcore.sim.words import FAULTS, Verdict, fault_in_words, plan_in_words, seconds, verdicts

OUTSIDE, REBALANCING, STABLE = range(3)


def test_a_member_goes_through_its_states():
    story = story_of(
        outcome(
            started(0, "m1"),
            event(100, What.REBALANCING, "m1", process=1, why="it is new"),
            event(200, What.GENERATION, "g", generation=1),
            event(210, What.JOINED, "m1", process=1, group="g", generation=1, leads=True),
            assigned(300, "m1", 1, 1, 0, 1),
            gone(700, What.REVOKED, "m1", 1, 0, 1),
            event(800, What.MEMBER_ENDED, "m1", process=1, how="crashed"),
        )
    )
    (lane,) = story.lanes
    assert lane.spans == [
        [0, 100, OUTSIDE, -1, 0, -1],
        [100, 210, REBALANCING, -1, 0, 0],
        [210, 300, REBALANCING, 1, 0, 0],
        [300, 700, STABLE, 1, 2, -1],
        [700, 800, REBALANCING, 1, 0, -1],
    ]
    assert story.reasons == ["it is new"]
    assert [mark[:2] for mark in lane.marks] == [[210, "leads"], [800, "crashed"]]
    (generation,) = story.groups["g"]
    assert (generation.leader, generation.joined, generation.assigned_ms) == ("m1", {"m1"}, 300)
    assert data_of(story)["partitions"][0] == ["g", "t1", 0, [[300, 700, 0, 1, 1]], []]


def test_two_processes_of_one_name_have_a_lane_each():
    story = story_of(
        outcome(
            started(0, "m1", 1),
            event(100, What.MEMBER_PAUSED, "m1", process=1),
            started(200, "m1", 2),
            event(500, What.MEMBER_RESUMED, "m1", process=1),
            event(600, What.MEMBER_ENDED, "m1", process=1, how="fenced"),
            started(700, "m1", 3),
        )
    )
    assert [lane.name for lane in story.lanes] == ["m1", "m1 (2)"]
    first, second = story.lanes
    assert first.zombie == [[100, 500]]
    assert [span[:2] for span in first.spans] == [[0, 600], [700, 10_000]]
    assert [span[:2] for span in second.spans] == [[200, 10_000]]


def test_whoever_stands_still_believes_its_partitions_are_its_own():
    story = story_of(
        outcome(
            started(0, "m1", 1),
            started(0, "m2", 2),
            assigned(100, "m1", 1, 1, 0),
            event(200, What.MEMBER_PAUSED, "m1", process=1),
            assigned(400, "m2", 2, 2, 0),
            event(600, What.MEMBER_RESUMED, "m1", process=1),
            gone(650, What.LOST, "m1", 1, 0),
        )
    )
    (row,) = data_of(story)["partitions"]
    assert row == ["g", "t1", 0, [[100, 650, 0, 1, 1], [400, 10_000, 1, 2, 2]], [[400, 650]]]
    assert (400, "m1") not in {(line[0], line[2]) for line in story.lines}
    assert (650, "lost", "m1", "1 partition") in story.lines


def test_a_cooperative_member_keeps_what_it_has():
    story = story_of(
        outcome(
            started(0, "m1", 1),
            assigned(100, "m1", 1, 1, 0, 1),
            gone(500, What.REVOKED, "m1", 1, 1),
            assigned(600, "m1", 1, 2, 0),
        )
    )
    spans = {row[2]: row[3] for row in data_of(story)["partitions"]}
    assert spans == {0: [[100, 10_000, 0, 1, 2]], 1: [[100, 500, 0, 1, 1]]}


def test_partitions_that_nobody_has_had_have_a_row_if_they_were_there_from_the_beginning():
    read = event(10, What.SUBSCRIBED, "m1", process=1, topics=["t1", "t2"])
    story = story_of(outcome(started(0, "m1"), read, topics=1, partitions=2))
    assert [row[:4] for row in data_of(story)["partitions"]] == [
        ["g", "t1", 0, []],
        ["g", "t1", 1, []],
    ]


def test_faults_end_when_the_world_heals():
    story = story_of(
        outcome(
            started(0, "m1"),
            event(1_000, What.FAULT, "m1", kind="slow", until_ms=9_000),
            event(2_000, What.FAULT, "node1", kind="node-pause", until_ms=8_000),
            event(3_000, What.NODE_DOWN, "node1"),
            event(6_000, What.NODE_UP, "node1"),
            event(6_000, What.HEALED, "world"),
            event(7_000, What.SETTLED, "world"),
        )
    )
    assert story.lanes[0].slow == [[1_000, 6_000]]
    assert story.nodes["node1"] == {"down": [[3_000, 6_000]], "paused": [[2_000, 3_000]]}
    assert (story.healed_ms, story.settled_ms) == (6_000, 7_000)
    kinds = [kind for kind, *_ in data_of(story)["faults"]]
    assert kinds == ["node-pause", "slow"]


def test_records_are_counted_once_where_they_are_committed_twice():
    story = story_of(
        outcome(
            started(0, "m1"),
            event(0, What.DELIVERED, "m1", spans={"t1-0": (0, 4), "t1-1": (7, 7)}),
            event(9_999, What.COMMITTED, "m1", offsets={"t1-0": 5}),
            event(10_000, What.COMMITTED, "m1", offsets={"t1-0": 5, "t1-1": 8}),
        )
    )
    assert story.delivered[0] == sum(story.delivered) == 6
    assert story.committed[BINS - 1] == sum(story.committed) == 13


def test_the_curves_count_everybody_once():
    story = story_of(
        outcome(
            started(0, "m1", 1),
            started(0, "m2", 2),
            assigned(1_000, "m1", 1, 1, 0),
            event(2_000, What.MEMBER_PAUSED, "m1", process=1),
            assigned(2_500, "m2", 2, 1, 1),
            event(3_000, What.MEMBER_ENDED, "m1", process=1, how="crashed"),
        )
    )
    assert story.census[:5] == [
        [0, 2, 0, 0, 0],
        [1_000, 1, 0, 1, 0],
        [2_000, 1, 0, 0, 1],
        [2_500, 0, 0, 1, 1],
        [3_000, 0, 0, 1, 0],
    ]


def test_what_has_no_room_is_folded_and_said():
    members = LANES_MAX + 100
    events = [started(0, f"m{n}", n) for n in range(members)]
    events.append(event(5, What.ERROR, f"m{members - 1}", process=members - 1, error="late"))
    events += [
        event(10 + n, What.FAULT, "m1", kind="cut", node="node1") for n in range(MARKS_MAX + 7)
    ]
    topics = [f"t{n}" for n in range(1, 4)]
    events.append(event(20, What.SUBSCRIBED, "m1", process=1, topics=topics))
    story = story_of(outcome(*events, topics=3, partitions=ROWS_MAX))
    assert len(story.lanes) == LANES_MAX
    assert {"m1", f"m{members - 1}"} <= {lane.name for lane in story.lanes}
    assert len(story.faults["cut"]) == MARKS_MAX
    assert len(story.lines) == LINES_MAX
    assert len(data_of(story)["partitions"]) == ROWS_MAX
    said = " ".join(story.folded)
    assert "7 more in the lane of cut" in said
    assert "100 more members" in said
    assert f"{2 * ROWS_MAX:,} more partitions" in said
    assert "more in the list of what happened" in said
    assert max(point[1] for point in story.census) == members


def test_every_fault_has_its_words():
    assert FAULTS.keys() == set(Fault)
    detail = {"kind": "crash", "told": False}
    assert fault_in_words("m1", detail) == "m1, nobody is told"
    split = {"kind": "split", "node": "node2", "until_ms": 1_500}
    assert fault_in_words("m1", split) == "m1, node2, until 1.5 s"


def test_a_plan_in_words():
    text = " ".join(plan_in_words(Plan(seed=1, members=1, brokers=3, faults={Fault.CUT: 1})))
    assert "1 member read 1 topic of 3 partitions to begin with, from 3 brokers" in text
    assert "Faults go on for 20 s, then all of them heal" in text
    assert "Nothing goes wrong" in " ".join(plan_in_words(Plan(seed=1)))
    assert [seconds(ms) for ms in (0, 999, 1_000, 1_250, 61_000)] == [
        *("0 ms", "999 ms", "1 s", "1.25 s", "61 s")
    ]


@pytest.mark.parametrize("rule", [Rule.OWNED_ONCE, Rule.SETTLES])
def test_verdicts(rule):
    said = dict(verdicts(outcome(violation=ViolationError(rule, "so it is"))))
    assert said[rule] is Verdict.BROKEN
    assert said[Rule.DELIVERED] is Verdict.NOT_REACHED
    assert said[Rule.BOUNDED] is Verdict.HELD
    assert set(dict(verdicts(outcome())).values()) == {Verdict.HELD}
