"""Streams groups: what seldom happens, and has to go as Kafka's rules say nevertheless."""

from dataclasses import replace

import pytest
from coordinator_world import WALL, of_journal
from streams_groups_world import STATELESS, WORDS, StreamsWorld, internal, owning, part, topology
from test_streams_coordinator import ALL, OTHERS, lives

from kcore.coordinator.journal import entry_of
from kcore.coordinator.streams.describing import describe
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import NOTHING, Assigned, StreamsMember, Tasks
from kcore.coordinator.streams.states import MemberState, Status, StreamsGroupState
from kcore.timers import NEVER
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

A, B, C = ("0", 0), ("0", 1), ("0", 2)
NEW = {"group_streams_initial_rebalance_delay_ms": 3_000}


def test_a_group_that_is_being_written_is_there_for_others():
    w = StreamsWorld(appending=False)
    token, other = w.put_enter("m1"), w.send(*OTHERS[ApiKey.JOIN_GROUP])
    w.settle()
    assert w.answer(token) == (2, ALL, [])
    assert w.replies[other].error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert w.coordinator.group("g") is None


def test_a_target_of_a_clock_that_was_ahead_keeps_nobody_waiting():
    w = StreamsWorld(group_streams_assignment_interval_ms=1_000)
    w.enter("m1")
    w.coordinator.set_wall_offset(WALL - 3_600_000)
    w.put_enter("m2")
    assert (w.streams.epoch, w.streams.target_epoch) == (3, 3)


def test_a_group_without_members_outlives_a_write_that_fails():
    w = StreamsWorld(appending=False)
    w.put_enter("m1")
    w.settle()
    w.put_beat("m1", -1)
    w.settle()
    token = w.put_enter("m1")
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.streams.state is StreamsGroupState.EMPTY
    token = w.put_enter("m1")
    w.settle()
    assert w.answer(token)[1] == ALL


def test_who_cannot_be_taken_out_stays():
    w = StreamsWorld(appending=False)
    w.put_enter("m1")
    w.settle()
    token = w.put_beat("m1", -1)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.answer(w.put_beat("m1", 2)) == (2, None, None)
    w.until(44_999)
    assert w.streams.members


def test_who_goes_may_ask_the_others_to_go():
    w = StreamsWorld()
    for name in ("m1", "m2", "m3"):
        w.enter(name)
    w.beat("m1", -1, shutdown_application=True)
    assert w.beat("gone", -1, shutdown_application=True) == E.UNKNOWN_MEMBER_ID
    w.beat("m2", -1)
    ((status, why),) = w.statuses(w.put_beat("m3", 4))
    assert status == Status.SHUTDOWN_APPLICATION
    assert why.startswith("Streams group member m1 encountered a fatal error")


def test_a_new_group_waits_once():
    """From its first member on, whoever comes and goes."""
    w = StreamsWorld(**NEW)
    w.enter("m1")
    w.until(1_000)
    w.beat("m1", -1)
    w.until(2_000)
    w.enter("m2")
    w.until(2_999)
    assert w.streams.target_epoch < w.streams.epoch
    w.until(3_000)
    assert w.streams.target_epoch == w.streams.epoch


def test_nothing_is_shared_out_among_nobody():
    w = StreamsWorld(**NEW)
    w.enter("m1")
    w.beat("m1", 1)  # topics have been looked at
    w.beat("m1", -1)
    written = len(w.journal)
    w.until(3_000)
    assert len(w.journal) == written


def test_nobody_waits_for_a_group_that_is_kept_elsewhere():
    w = StreamsWorld(**NEW)
    w.enter("m1")
    w.coordinator.handle_resigned(0, w.now)
    w.drain()
    assert w.coordinator.deadline() == NEVER


def test_not_all_that_cannot_be_made_is_listed():
    names = ["c1", "c2", "c3", "c4", "c5"]
    for count, told in ((3, "(no)."), (5, "(no) and 2 more.")):
        w = StreamsWorld()
        w.creating = "no"
        said = topology(part("0", ["in"], changelogs=[internal(one) for one in names[:count]]))
        ((_, why),) = w.statuses(w.put_enter("m1", said))
        assert why.endswith(told)
        assert why.count("(no)") == 3


def test_offsets_that_are_in_use_cannot_be_deleted():
    w = StreamsWorld({"in": 4, "other": 1})
    w.enter("m1")
    R = m.OffsetDeleteRequest

    def deleted(topic):
        parts = [R.OffsetDeleteRequestPartition()]
        entry = R.OffsetDeleteRequestTopic(name=topic, partitions=parts)
        (found,) = w.ask(R(group_id="g", topics=[entry]), 0).topics
        return found.partitions[0].error_code

    assert deleted("in") == E.GROUP_SUBSCRIBED_TO_TOPIC
    assert deleted("other") == E.NONE
    w.beat("m1", -1)
    assert deleted("in") == E.NONE


def test_the_answer_with_a_new_epoch_was_lost():
    w = StreamsWorld()
    w.enter("m1")
    w.enter("m2")
    w.beat("m1", 2)
    w.beat("m1", 2, **owning(ALL[:2]))  # in epoch 3 now, and does not know it
    assert w.beat("m1", 2, **owning(ALL[:1])) == (3, None, None)
    assert w.beat("m1", 2) == E.FENCED_MEMBER_EPOCH  # it does not say what it has
    assert w.beat("m1", 2, **owning(ALL)) == E.FENCED_MEMBER_EPOCH
    assert w.beat("m1", 2, **owning(ALL[:2], ["0_3"])) == E.FENCED_MEMBER_EPOCH
    assert w.beat("m1", 1, **owning(ALL[:2])) == E.FENCED_MEMBER_EPOCH
    assert w.beat("m1", 4, **owning(ALL[:2])) == E.FENCED_MEMBER_EPOCH


def test_a_member_in_a_state_that_is_not_known_begins_again():
    """As another release may have written it."""
    w = StreamsWorld()
    w.enter("m1")
    w.streams.put(replace(w.member("m1"), state=MemberState.UNKNOWN))
    token = w.put_beat("m1", 2)
    assert w.answer(token) == E.FENCED_MEMBER_EPOCH
    assert "unknown state" in w.replies[token].error_message
    assert w.beat("m1", 2, **owning()) == (2, None, None)


def test_only_what_changes_is_written():
    w = StreamsWorld()
    w.enter("m1")
    w.enter("m2")
    written = len(w.journal)
    assert w.enter("m2", rack_id="r")[0] == 4
    kinds = {type(key).__name__ for key, _ in of_journal(w.journal[written:])}
    assert "StreamsGroupMemberMetadataKey" in kinds
    assert "StreamsGroupTargetAssignmentMemberKey" not in kinds


def test_the_first_task_that_cannot_be_is_named():
    """In the order in which the member says them."""
    w = StreamsWorld()
    w.enter("m1")
    for tasks in (
        {"active": ["0_0", "0_7", "0_4"]},
        {"standby": ["0_7", "0_9", "0_8"]},
        {"active": ["0_7"], "standby": ["0_4"]},
    ):
        answer = w.replies[w.put_beat("m1", 2, **owning(**tasks))]
        assert answer.error_code == E.INVALID_REQUEST
        assert answer.error_message.startswith("Task 7 for subtopology 0 is invalid.")


def test_who_does_not_describe_the_topology_is_asked_again():
    """After half a minute, then after a minute, and so on."""
    w = StreamsWorld(release=(4, 4), group_streams_topology_description_plugin_class="InMemory")
    asked = []
    for at in range(0, 240_000, 10_000):
        w.until(at)
        epoch = 2 if at else 0
        more = {} if at else {"topology": STATELESS, "rebalance_timeout_ms": 1, **owning()}
        request = m.StreamsGroupHeartbeatRequest(
            group_id="g", member_id="m1", member_epoch=epoch, **more
        )
        answer = w.replies[w.send(request, 1)]
        assert not answer.error_code
        if answer.topology_description_required:
            asked.append(at)
    assert asked == [0, 30_000, 90_000, 210_000]


def test_what_is_described_is_no_streams_group():
    w = StreamsWorld()
    assert w.described().error_message == "Group g not found."
    w.commit({("in", 0): 1})
    assert w.described().error_message == "Group g is not a streams group."


# Topologies --------------------------------------------------------------------------------------


def test_as_many_parts_as_there_may_be():
    w = StreamsWorld({"in": 1})
    said = topology(*(part(str(number), ["in"]) for number in range(1_000)))
    assert len(w.enter("m1", said)[1]) == 1_000


def test_one_partition_is_a_number_that_is_said():
    w = StreamsWorld()
    said = topology(
        part("0", ["in"], sinks=["r"]),
        part("1", ["in"], repartitions=[internal("r", 1)], copartitions=[([0], [0])]),
    )
    ((status, why),) = w.statuses(w.put_enter("m1", said))
    assert status == Status.INCORRECTLY_PARTITIONED_TOPICS
    assert why == (
        "Number of partitions [1] of repartition topic [r] doesn't match number of partitions [4]"
        " of the source topic."
    )


def test_a_part_waits_for_all_that_it_reads():
    """Of its two sinks one is of a known size from the start."""
    w = StreamsWorld()
    said = topology(
        part("0", repartitions=[internal("r")], sinks=["a", "b"]),
        part("1", ["in"], sinks=["r"]),
        part("2", repartitions=[internal("a", 3), internal("b")]),
    )
    assert w.enter("m1", said) == (2, [], [])
    assert {one.name: one.partitions for one in w.created} == {"a": 3, "b": 4, "r": 4}


def test_names_are_told_in_their_order():
    w = StreamsWorld(dict.fromkeys("abc", 1))
    said = topology(
        part("0", ["c", "a", "b"], sinks=["z", "y"], changelogs=[internal("t"), internal("s")]),
        part("1", repartitions=[internal("z"), internal("y")]),
    )
    w.enter("m1", said)
    one, other = w.described().topology.subtopologies
    assert (one.source_topics, one.repartition_sink_topics) == (["a", "b", "c"], ["y", "z"])
    assert [topic.name for topic in one.state_changelog_topics] == ["s", "t"]
    assert [topic.name for topic in other.repartition_source_topics] == ["y", "z"]


def test_a_journal_may_say_less():
    """As Kafka's may, of another release."""
    w = lives()
    said = m.StreamsGroupMetadataValue(epoch=9, last_assignment_configs=None)
    journal = [
        *w.journal,
        entry_of(m.StreamsGroupMetadataKey(group_id="g"), said),
        entry_of(m.StreamsGroupTopologyKey(group_id="g"), None),
    ]
    group = StreamsWorld(loaded=journal).streams
    assert (group.epoch, group.configs, group.topology) == (9, {}, None)
    assert group.state is StreamsGroupState.NOT_READY
    assert group.members.keys() == {"m1", "m2"}


# Values ------------------------------------------------------------------------------------------

HAS = Assigned({A: 2}, frozenset({B}), frozenset({C}))
ROLES = ("active", "standby", "warmup")


@pytest.mark.parametrize("role", ROLES)
def test_tasks_are_compared_in_their_roles(role):
    own = dict(zip(ROLES, (A, B, C), strict=True))[role]
    for task in (A, B, C):
        tasks = Tasks(**{role: frozenset({task})})
        assert tasks.within(HAS) == tasks.meet(HAS) == (task == own)
    both = Tasks(**{role: frozenset({A, B, C})})
    assert both.meet(HAS)
    assert not both.within(HAS)
    assert Tasks(frozenset({A}), frozenset({B}), frozenset({C})).within(HAS)
    assert not Tasks().meet(HAS)
    assert bool(Assigned(**{role: {own: 1} if role == "active" else frozenset({own})}))
    assert not NOTHING


def test_what_a_member_had_is_free_when_it_is_gone():
    group = StreamsGroup("g")
    group.put(StreamsMember("m1", process_id="p", assigned=HAS))
    group.put(StreamsMember("m2", process_id="q", pending=Assigned({}, frozenset({B}))))
    assert (group.active_in, group.warmup_in) == ({A: "p"}, {C: {"p"}})
    assert group.standby_in == {B: {"p", "q"}}
    group.remove("nobody")
    group.put(StreamsMember("m1", process_id="q", assigned=Assigned({B: 3})))
    assert (group.active_in, group.standby_in, group.warmup_in) == ({B: "q"}, {B: {"q"}}, {})
    group.shutdown_member_id = "m2"
    group.remove("m1")
    assert (group.active_in, group.shutdown_member_id) == ({}, "m2")
    group.remove("m2")
    assert (group.standby_in, group.shutdown_member_id) == ({}, None)


def test_a_group_of_which_nothing_is_known_reads_nothing():
    group = StreamsGroup("g")
    group.put(StreamsMember("m1"))
    assert group.reader_of("in") is None
    assert not group.is_subscribed("in")
    assert describe("g", group, "sticky", with_description=False).topology is None


def test_which_part_reads_a_topic():
    w = StreamsWorld()
    w.enter("m1", WORDS)
    assert [w.streams.reader_of(name) for name in ("in", "words", "counts")] == ["0", "1", None]
