"""Streams groups: who is in one, what its topics have to be, and who gets which task."""

import pytest
from coordinator_world import of_journal
from kafka_reading import as_kafka_reads
from streams_groups_world import (
    RT,
    STATEFUL,
    WORDS,
    StreamsWorld,
    held,
    internal,
    owning,
    part,
    topology,
)

from kcore.coordinator import Entry
from kcore.coordinator.ordering import hash_ordered
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import NOTHING, Assigned, StreamsMember, Tasks
from kcore.coordinator.streams.reconciling import Goal, reconcile
from kcore.coordinator.streams.states import (
    FOREIGN,
    REFUSED,
    MemberState,
    Status,
    StreamsGroupState,
)
from kcore.coordinator.streams.topology import Topology
from kcore.timers import NEVER
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

ALL = ["0_0", "0_1", "0_2", "0_3"]
SESSION = 45_000


def test_a_partition_of_the_journal_that_goes_takes_its_sessions_along():
    w = StreamsWorld()
    w.enter("m1")
    w.coordinator.handle_resigned(0, w.now)
    w.drain()
    assert w.coordinator.deadline() == NEVER


def test_a_member_gets_everything_with_its_first_heartbeat():
    w = StreamsWorld()
    assert w.enter("m1") == (2, ALL, [])
    assert w.beat("m1", 2) == (2, None, None)
    assert w.beat("m1", 2, **owning(ALL)) == (2, None, None)
    assert w.enter("m1") == (2, ALL, [])  # who begins again is told again
    assert w.streams.state is StreamsGroupState.STABLE


def test_what_is_given_up_comes_before_what_is_got():
    w = StreamsWorld()
    w.enter("m1")
    assert w.enter("m2") == (3, [], [])
    assert w.streams.state is StreamsGroupState.RECONCILING
    assert w.beat("m1", 2) == (2, ["0_0", "0_1"], [])
    assert w.state_of("m1") == (
        "UNREVOKED_TASKS", 2, (["0_0", "0_1"], []), (["0_2", "0_3"], []),
    )  # fmt: skip
    assert w.beat("m2", 3) == (3, None, None)
    assert w.beat("m1", 2, **owning(ALL)) == (2, None, None)
    assert w.beat("m1", 2, **owning(ALL[:2])) == (3, None, None)
    assert w.beat("m2", 3) == (3, ["0_2", "0_3"], [])
    assert w.streams.state is StreamsGroupState.STABLE


# Topics ------------------------------------------------------------------------------------------


def test_internal_topics_are_made():
    w = StreamsWorld()
    token = w.put_enter("m1", WORDS)
    assert w.answer(token) == (2, [], [])
    assert w.statuses(token) == [
        (Status.MISSING_INTERNAL_TOPICS, "Internal topics are missing: counts, words")
    ]
    assert w.streams.state is StreamsGroupState.NOT_READY
    assert {one.name: (one.partitions, one.replication_factor, one.configs) for one in w.created} \
        == {"words": (4, 0, ()), "counts": (4, 2, (("a", "b"),))}  # fmt: skip
    epoch, active, standby = w.beat("m1", 2)
    assert (epoch, standby) == (3, [])
    assert active == ALL + [f"1_{number}" for number in range(4)]
    assert w.streams.state is StreamsGroupState.STABLE


def test_why_internal_topics_cannot_be_made():
    w = StreamsWorld()
    w.creating = "no room"
    token = w.put_enter("m1", WORDS)
    ((status, why),) = w.statuses(token)
    assert status == Status.MISSING_INTERNAL_TOPICS
    assert why.endswith("; Creation failed: counts (no room), words (no room).")
    w.creating = None
    w.beat("m1", 2)
    assert w.beat("m1", 2)[0] == 3


def test_a_topic_of_the_application_that_goes():
    w = StreamsWorld()
    w.enter("m1", WORDS)
    w.beat("m1", 2)
    everything = [*ALL, *(f"1_{number}" for number in range(4))]
    w.sizes.delete("in")
    token = w.put_beat("m1", 3)
    assert w.answer(token) == (3, [], [])
    assert w.statuses(token) == [(Status.MISSING_SOURCE_TOPICS, "Source topics in are missing.")]
    assert w.state_of("m1")[0] == "UNREVOKED_TASKS"
    assert w.beat("m1", 3, **owning()) == (4, None, None)
    w.sizes.resize(**{"in": 4})
    assert w.beat("m1", 4) == (5, everything, [])


def test_topics_of_others_are_no_news():
    w = StreamsWorld()
    w.enter("m1")
    written = len(w.journal)
    w.sizes.resize(other=3)
    assert w.beat("m1", 2) == (2, None, None)
    assert len(w.journal) == written
    w.sizes.resize(**{"in": 5})
    assert w.beat("m1", 2) == (3, [*ALL, "0_4"], [])


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([part("0", ["in"], copartitions=[([1], [])])], E.UNKNOWN_SERVER_ERROR),
        ([part("0", ["in"], copartitions=[([-1], [])])], E.UNKNOWN_SERVER_ERROR),
        ([part("0", ["in"]), part("0", ["in"])], E.UNKNOWN_SERVER_ERROR),
        ([part("0", ["in"], repartitions=[internal("r", -5)])], E.UNKNOWN_SERVER_ERROR),
        ([part("0", ["in"], changelogs=[internal("c", 1)])], E.STREAMS_INVALID_TOPOLOGY),
        ([part("0")], E.STREAMS_INVALID_TOPOLOGY),
        ([part(str(number), ["in"]) for number in range(1_001)], E.STREAMS_INVALID_TOPOLOGY),
        ([part(str(number), ["wide"]) for number in range(51)], E.STREAMS_INVALID_TOPOLOGY),
    ],
)
def test_a_topology_that_could_work_nowhere(parts, error):
    w = StreamsWorld({"in": 4, "wide": 2_000})
    assert w.enter("m1", topology(*parts)) == error
    assert w.coordinator.streams_group("g") is None
    assert not w.journal
    assert w.enter("m1") == (2, ALL, [])


@pytest.mark.parametrize(
    ("fields", "error", "why"),
    [
        # What is missing is said before what is wrong with the topology.
        ({"rebalance_timeout_ms": -1}, E.INVALID_REQUEST, "RebalanceTimeoutMs must be provided"),
        ({}, E.STREAMS_INVALID_TOPOLOGY, "must have an undefined partition count"),
    ],
)
def test_what_is_wrong_is_said_in_kafkas_order(fields, error, why):
    w = StreamsWorld()
    sized = topology(part("0", ["in"], changelogs=[internal("c", 1)]))
    answer = w.replies[w.put_enter("m1", sized, **fields)]
    assert answer.error_code == error
    assert why in answer.error_message


def test_one_regular_expression_is_one_too_many():
    w = StreamsWorld()
    said = topology(part("0", ["in"]), part("1", ["in"]))
    said.subtopologies[1].source_topic_regex = [".*"]
    assert w.enter("m1", said) == E.INVALID_REQUEST


def test_parts_go_by_their_ids():
    w = StreamsWorld()
    w.enter("m1", topology(part("1", ["in"]), part("0", ["in"])))
    parts = w.described().topology.subtopologies
    assert [one.subtopology_id for one in parts] == ["0", "1"]


def test_names_are_ordered_as_java_hashes_them():
    """Java: "\u0100".hashCode() is 256; in 512 buckets "\u0200" is in the first one."""
    names = ["\u0001", "\u0100", "\u0200"]
    assert hash_ordered(names, 512) == ["\u0200", "\u0001", "\u0100"]
    assert hash_ordered(names, 1_024) == names


# Standbys ----------------------------------------------------------------------------------------


def test_another_number_of_standbys_makes_another_target():
    w = StreamsWorld({"in": 1, "store": 1})
    w.enter("m1", STATEFUL)
    w.enter("m2", STATEFUL)
    assert w.beat("m1", 2) == (3, None, None)
    w.set_for["g"] = {"num_standby_replicas": 1}
    assert w.beat("m1", 3) == (4, None, None)
    assert w.beat("m2", 3) == (4, [], ["0_0"])


# Time --------------------------------------------------------------------------------------------


def test_a_new_group_waits_for_its_members():
    w = StreamsWorld(group_streams_initial_rebalance_delay_ms=3_000)
    token = w.put_enter("m1")
    assert w.answer(token) == (1, [], [])
    assert [status for status, _ in w.statuses(token)] == [Status.ASSIGNMENT_DELAYED]
    w.until(1_000)
    assert w.enter("m2") == (1, [], [])
    w.until(2_999)
    assert w.streams.target_epoch == 1
    w.until(3_000)
    assert w.streams.target_epoch == w.streams.epoch == 3
    assert w.beat("m1", 1) == (3, ["0_0", "0_2"], [])
    assert w.beat("m2", 1) == (3, ["0_1", "0_3"], [])


@pytest.mark.parametrize(("release", "epoch"), [((4, 3), 1), ((4, 4), 3)])
def test_a_new_group_whose_members_are_gone_again(release, epoch):
    """That nobody is to get anything a Kafka 4.4 knows when they go."""
    w = StreamsWorld(group_streams_initial_rebalance_delay_ms=3_000, release=release)
    w.enter("m1")
    w.beat("m1", -1)
    assert w.streams.target_epoch == epoch
    w.until(3_000)
    assert w.streams.target_epoch == epoch


def test_targets_keep_their_distance():
    w = StreamsWorld(group_streams_assignment_interval_ms=1_000)
    w.enter("m1")
    token = w.put_enter("m2")
    assert w.answer(token) == (2, [], [])
    assert w.statuses(token) == [
        (
            Status.ASSIGNMENT_DELAYED,
            "Assignment delayed due to the configured assignment interval.",
        )
    ]
    w.until(1_000)
    assert w.beat("m2", 2) == (3, None, None)


def test_who_is_silent_is_taken_out():
    w = StreamsWorld()
    w.enter("m1")
    w.until(SESSION - 1)
    w.beat("m1", 2)
    w.until(2 * SESSION - 2)
    assert w.streams.members
    w.until(2 * SESSION - 1)
    assert w.streams.state is StreamsGroupState.EMPTY
    assert w.beat("m1", 2) == E.UNKNOWN_MEMBER_ID


def test_who_does_not_give_up_in_time_is_taken_out():
    w = StreamsWorld()
    w.enter("m1")
    w.enter("m2")
    w.beat("m1", 2)
    w.until(RT - 1)
    w.beat("m1", 2, **owning(ALL))
    assert w.streams.members.keys() == {"m1", "m2"}
    w.until(RT)
    assert w.streams.members.keys() == {"m2"}
    assert w.beat("m2", 3) == (4, ALL, [])


# Others ------------------------------------------------------------------------------------------


def test_the_end_of_all_is_forgotten_with_the_last_member():
    w = StreamsWorld()
    w.enter("m1")
    assert [what for what, _ in w.statuses(w.put_beat("m1", 2, shutdown_application=True))] == [
        Status.SHUTDOWN_APPLICATION
    ]
    token = w.put_enter("m2")
    assert [what for what, _ in w.statuses(token)] == [Status.SHUTDOWN_APPLICATION]
    w.beat("m1", -1)
    w.beat("m2", -1)
    assert not w.statuses(w.put_enter("m3"))


@pytest.mark.parametrize("char", "aÄ😀")
def test_long_names_fit_into_answers(char):
    """The world encodes every answer."""
    name = char * (32_000 // len(char.encode()))
    w = StreamsWorld()
    token = w.put_enter(name, shutdown_application=True)
    assert [what for what, _ in w.statuses(token)] == [Status.SHUTDOWN_APPLICATION]
    many = topology(part("0", [f"{char * 200}{number}" for number in range(300)]))
    assert w.enter("m1", many, group_id="other")[0] == 2
    assert w.beat(name, 99) == E.FENCED_MEMBER_EPOCH
    assert w.beat(name, -1)[0] == -1
    assert w.beat(name, -1) == E.UNKNOWN_MEMBER_ID


def test_a_group_has_so_many_members():
    w = StreamsWorld(group_streams_max_size=1)
    w.enter("m1")
    assert w.enter("m2") == E.GROUP_MAX_SIZE_REACHED
    assert w.beat("m1", 2)[0] == 2


def _join():
    P = m.JoinGroupRequest.JoinGroupRequestProtocol
    return m.JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        protocol_type="consumer", protocols=[P(name="range", metadata=b"")],
    )  # fmt: skip


OTHERS = {
    ApiKey.JOIN_GROUP: (_join(), 3),
    ApiKey.SYNC_GROUP: (m.SyncGroupRequest(group_id="g", member_id="m1"), 4),
    ApiKey.HEARTBEAT: (m.HeartbeatRequest(group_id="g", member_id="m1"), 4),
    ApiKey.LEAVE_GROUP: (m.LeaveGroupRequest(group_id="g", member_id="m1"), 2),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        m.ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="m1", rebalance_timeout_ms=1, topic_partitions=[],
            subscribed_topic_names=["in"],
        ),
        1,
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: (
        m.ShareGroupHeartbeatRequest(
            group_id="g", member_id="m1", member_epoch=0, subscribed_topic_names=["in"]
        ),
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("api", FOREIGN, ids=lambda api: api.stem)
def test_other_protocols(api):
    w = StreamsWorld()
    w.enter("m1")
    assert w.ask(*OTHERS[api]).error_code == FOREIGN[api]
    assert w.beat("m1", 2) == (2, None, None)


def test_without_members_it_gives_way_to_a_classic_group():
    w = StreamsWorld()
    w.enter("m1")
    w.beat("m1", -1)
    w.send(_join(), 3)
    assert w.coordinator.streams_group("g") is None
    assert w.coordinator.group("g") is not None
    assert w.enter("m1") == E.GROUP_ID_NOT_FOUND


def delete(w):
    (result,) = w.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2).results
    return result.error_code


# States ------------------------------------------------------------------------------------------


def test_the_tables_are_whole():
    assert set(REFUSED) == set(StreamsGroupState)
    assert OTHERS.keys() == FOREIGN.keys()


def _group(members, *, topology=True, validated=0, epoch=3, target=3):
    group = StreamsGroup("g")
    group.topology = Topology(0, {}) if topology else None
    group.validated_epoch, group.epoch, group.target_epoch = validated, epoch, target
    for number, (state, at) in enumerate(members):
        group.put(StreamsMember(f"m{number}", epoch=at, state=state))
    return group


THERE = (MemberState.STABLE, 3)


@pytest.mark.parametrize(
    ("group", "state"),
    [
        (_group([]), "EMPTY"),
        (_group([], topology=False), "EMPTY"),
        (_group([THERE], topology=False), "NOT_READY"),
        (_group([THERE], validated=-1), "NOT_READY"),
        (_group([THERE], validated=-1, epoch=4), "NOT_READY"),
        (_group([THERE], epoch=4), "ASSIGNING"),
        (_group([THERE, (MemberState.STABLE, 2)]), "RECONCILING"),
        (_group([THERE, (MemberState.UNREVOKED_TASKS, 3)]), "RECONCILING"),
        (_group([THERE, (MemberState.UNRELEASED_TASKS, 3)]), "RECONCILING"),
        (_group([THERE, (MemberState.UNKNOWN, 3)]), "RECONCILING"),
        (_group([THERE, THERE]), "STABLE"),
    ],
)
def test_the_state_follows_from_the_group(group, state):
    assert group.state is StreamsGroupState[state]
    assert group.refusal(ApiKey.DELETE_GROUPS) == (
        E.NONE if state == "EMPTY" else E.NON_EMPTY_GROUP
    )


# Member states x inputs --------------------------------------------------------------------------

A, B, C = ("0", 0), ("0", 1), ("0", 2)
HAS_A = Assigned({A: 2})
EMPTY = Tasks()


def _member(state, epoch, assigned=HAS_A, pending=NOTHING):
    return StreamsMember(
        "m", epoch=epoch, previous_epoch=epoch - 1, state=state, process_id="p",
        assigned=assigned, pending=pending,
    )  # fmt: skip


def _tasks(*active):
    return Tasks(frozenset(active))


def _step(member, target, owned=None, *, elsewhere=(), standby=()):
    """(state, epoch, active, pending) after a heartbeat towards epoch 5; None: fenced."""
    group = StreamsGroup("g")
    group.put(member)
    group.active_in.update(dict.fromkeys(elsewhere, "other"))
    group.standby_in.update({task: {"p"} for task in standby})
    after = reconcile(member, Goal(5, target, group, owned))
    if after is None:
        return None
    return after.state.name, after.epoch, sorted(after.assigned.active), sorted(
        after.pending.active
    )  # fmt: skip


STABLE = _member(MemberState.STABLE, 4)
UNREVOKED = _member(MemberState.UNREVOKED_TASKS, 3, pending=Assigned({B: 2}))
UNRELEASED = _member(MemberState.UNRELEASED_TASKS, 5)
STRANGE = _member(MemberState.UNKNOWN, 4)

STEPS = [
    # At the target's epoch: stays, whatever the target is.
    (_member(MemberState.STABLE, 5), _tasks(B), None, ("STABLE", 5, [A], [])),
    (STABLE, _tasks(A), None, ("STABLE", 5, [A], [])),
    (STABLE, _tasks(A, B), None, ("STABLE", 5, [A, B], [])),
    (STABLE, _tasks(B), None, ("UNREVOKED_TASKS", 4, [], [A])),
    (STABLE, _tasks(B), _tasks(A), ("UNREVOKED_TASKS", 4, [], [A])),
    (STABLE, _tasks(B), EMPTY, ("STABLE", 5, [B], [])),
    (STABLE, EMPTY, _tasks(C), ("STABLE", 5, [], [])),
    (UNREVOKED, _tasks(A, C), None, ("UNREVOKED_TASKS", 3, [A], [B])),
    (UNREVOKED, _tasks(A, C), _tasks(A, B), ("UNREVOKED_TASKS", 3, [A], [B])),
    (UNREVOKED, _tasks(A, C), _tasks(A), ("STABLE", 5, [A, C], [])),
    # What it may have had still is free in the next step only.
    (UNREVOKED, _tasks(A, B), _tasks(A), ("UNRELEASED_TASKS", 5, [A], [])),
    # One more to give up: an epoch on, though not at the target.
    (UNREVOKED, _tasks(C), _tasks(A), ("UNREVOKED_TASKS", 4, [], [A])),
    (UNRELEASED, _tasks(A), None, ("STABLE", 5, [A], [])),
    (UNRELEASED, _tasks(A, B), None, ("STABLE", 5, [A, B], [])),
    (UNRELEASED, _tasks(B), None, ("UNREVOKED_TASKS", 5, [], [A])),
    (UNRELEASED, _tasks(B), EMPTY, ("STABLE", 5, [B], [])),
    (STRANGE, _tasks(A), None, None),
    (STRANGE, _tasks(A), _tasks(A), None),
    (STRANGE, _tasks(A, B), EMPTY, ("STABLE", 5, [A, B], [])),
]


@pytest.mark.parametrize(("member", "target", "owned", "after"), STEPS)
def test_a_member_takes_a_step(member, target, owned, after):
    assert _step(member, target, owned) == after


def test_every_state_is_in_the_table():
    assert {row[0].state for row in STEPS} == set(MemberState)


@pytest.mark.parametrize("member", [STABLE, UNRELEASED])
def test_what_is_not_free_is_awaited(member):
    wanted = _tasks(A, B, C)
    assert _step(member, wanted, elsewhere=[B]) == ("UNRELEASED_TASKS", 5, [A, C], [])
    assert _step(member, wanted, elsewhere=[B, C]) == ("UNRELEASED_TASKS", 5, [A], [])
    # A standby in the same process has to go before the task can be active there.
    assert _step(member, wanted, standby=[C]) == ("UNRELEASED_TASKS", 5, [A, B], [])


# The journal -------------------------------------------------------------------------------------


def lives():
    w = StreamsWorld({"in": 2, "words": 2, "counts": 2})
    w.set_for["g"] = {"num_standby_replicas": 1}
    Beat = m.StreamsGroupHeartbeatRequest
    w.enter(
        "m1", WORDS, rack_id="Ä", user_endpoint=Beat.Endpoint(host="here", port=65_535),
        client_tags=[Beat.KeyValue(key="zone", value="a")],
    )  # fmt: skip
    w.enter("m2", WORDS)
    w.beat("m1", 2)
    return w


def test_a_group_goes_on_elsewhere():
    w = lives()
    before = w.streams
    other = StreamsWorld({"in": 2, "words": 2, "counts": 2}, loaded=w.journal)
    other.set_for["g"] = w.set_for["g"]
    after = other.streams
    for name in (
        "members", "epoch", "target_epoch", "target_wall_ms", "target", "topology", "configs",
        "validated_epoch", "metadata_hash", "active_in", "standby_in", "state",
    ):  # fmt: skip
        assert getattr(after, name) == getattr(before, name), name
    assert other.member("m1").state is MemberState.UNREVOKED_TASKS
    has = held(other.member("m1").assigned)
    assert other.beat("m1", 2, **owning(*has))[0] == 3
    assert other.streams.epoch == 3
    other.until(SESSION)
    assert not other.streams.members


def test_who_does_not_give_up_in_time_elsewhere():
    other = StreamsWorld({"in": 2, "words": 2, "counts": 2}, loaded=lives().journal)
    other.until(RT)
    assert other.streams.members.keys() == {"m2"}


def test_nothing_holds_before_it_is_written():
    w = StreamsWorld(appending=False, group_streams_initial_rebalance_delay_ms=3_000)
    token = w.put_enter("m1")
    assert w.parked(token)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.coordinator.streams_group("g") is None
    assert not [key for key in w.coordinator._purgatory if key[0].startswith("streams-")]
    token = w.put_enter("m1")
    w.settle()
    assert w.replies[token].member_epoch == 1


def test_heartbeats_wait_for_each_other():
    w = StreamsWorld(appending=False)
    one, two = w.put_enter("m1"), w.put_enter("m2")
    w.settle(count=1)
    assert w.answer(one)[0] == 2
    assert w.parked(two)
    w.settle()
    assert w.answer(two) == (3, [], [])


def test_a_group_that_was_deleted_is_not_loaded():
    w = lives()
    assert delete(w) == E.NON_EMPTY_GROUP
    w.beat("m1", -1)
    w.beat("m2", -1)
    assert delete(w) == E.NONE
    assert StreamsWorld(loaded=w.journal).coordinator.streams_group("g") is None


def test_a_group_under_the_name_of_one_that_only_committed():
    committed = StreamsWorld()
    R = m.OffsetCommitRequest
    one = R.OffsetCommitRequestPartition(committed_offset=1)
    committed.ask(
        R(
            group_id="g", generation_id_or_member_epoch=-1,
            topics=[R.OffsetCommitRequestTopic(name="in", partitions=[one])],
        ),
        8,
    )  # fmt: skip
    (commit,) = committed.journal
    w = StreamsWorld(loaded=[commit, Entry(commit.key, None), *lives().journal])
    assert w.described().group_state == "Reconciling"
    assert not w.groups()


@pytest.mark.slow
@pytest.mark.kafka
def test_kafka_reads_what_we_write():
    w = lives()
    w.beat("m1", -1)
    w.beat("m2", -1)
    delete(w)
    read = of_journal(w.journal)
    assert len({type(key) for key, _ in read}) == 6
    assert {type(key) for key, value in read if value is None} == {
        type(key) for key, value in read if value is not None
    }
    as_kafka_reads("__consumer_offsets", w.journal)
