"""Scenario vectors B32-B54: assignments, sessions, leaving, loading, describing, deleting."""

import pytest
from coordinator_world import P0, World, of_journal

from kcore.coordinator import Marker
from kcore.coordinator.states import GroupInput
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E


def test_b32_who_is_not_in_the_assignment_gets_an_empty_one():
    w = World()
    leader, follower = w.form(2, sync=False)
    f = w.sync(follower)
    assert w.parked(f)
    w.appending = False
    first = w.sync(leader, assignments={leader: b"x", "stranger": b"y"})
    assert w.parked(first, f)
    assert w.state == "C"
    w.settle()
    assert (w.replies[first].assignment, w.replies[f].assignment) == (b"x", b"")
    assert (w.error(first), w.error(f), w.state) == (E.NONE, E.NONE, "S")
    _, value = of_journal(w.journal)[-1]
    assert {x.member_id: x.assignment for x in value.members} == {leader: b"x", follower: b""}


@pytest.mark.parametrize("late", [False, True])
def test_b33_a_follower_before_and_after_the_leader(late):
    w = World()
    leader, follower = w.form(2, sync=False)
    if late:
        w.sync(leader, assignments={follower: b"f"})
        f = w.sync(follower)
    else:
        f = w.sync(follower, assignments={follower: b"ignored"})
        assert w.parked(f)
        w.sync(leader, assignments={follower: b"f"})
    answer = w.replies[f]
    assert (answer.error_code, answer.assignment) == (E.NONE, b"f")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


def test_b34_an_assignment_that_cannot_be_written_makes_a_round():
    w = World()
    leader, follower = w.form(2, sync=False)
    w.appending = False
    tokens = [w.sync(follower), w.sync(leader, assignments={leader: b"x"})]
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert [w.error(x) for x in tokens] == [E.COORDINATOR_NOT_AVAILABLE] * 2
    assert w.state == "P"
    assert not any(x.assignment for x in w.group.members.values())


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (E.UNKNOWN_TOPIC_OR_PARTITION, E.COORDINATOR_NOT_AVAILABLE),
        (E.REQUEST_TIMED_OUT, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.KAFKA_STORAGE_ERROR, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        (E.NETWORK_EXCEPTION, E.COORDINATOR_LOAD_IN_PROGRESS),
        (E.INVALID_TXN_STATE, E.INVALID_TXN_STATE),
    ],
)
def test_s81_what_a_failed_append_is_called(log, told):
    w = World()
    (leader,) = w.form(1, sync=False)
    w.appending = False
    token = w.sync(leader)
    w.settle(log)
    assert w.error(token) == told


def test_s5_an_append_that_comes_too_late_changes_nothing():
    w = World()
    leader, follower = w.form(2, sync=False)
    w.appending = False
    sync = w.sync(leader, assignments={leader: b"old", follower: b"old"})
    w.join(follower, protocols=[("range", b"changed")])
    assert w.error(sync) == E.REBALANCE_IN_PROGRESS
    w.join(leader)
    assert (w.state, w.group.generation) == ("C", 2)
    w.settle()
    assert w.state == "C"
    assert not any(x.assignment for x in w.group.members.values())


def test_b35_what_a_sync_says_of_the_protocol_must_fit():
    w = World()
    leader, follower = w.form(2, sync=False)
    assert w.error(w.sync(follower, 2)) == E.ILLEGAL_GENERATION
    assert w.error(w.sync(follower, protocol_type="x")) == E.INCONSISTENT_GROUP_PROTOCOL
    assert w.error(w.sync(follower, protocol_name="x")) == E.INCONSISTENT_GROUP_PROTOCOL
    assert w.parked(w.sync(follower, protocol_type=None, protocol_name=None))
    assert w.error(w.sync(leader, version=3, protocol_type=None)) == E.NONE


def unsynced(w):
    ids = w.form(3, st=6_000, rt=6_000, sync=False)
    w.after(3_000)
    assert {w.heartbeat(x) for x in ids} == {E.NONE}
    return ids


def test_b36_nobody_syncs():
    w = World()
    ids = unsynced(w)
    w.after(3_000)
    assert (w.state, w.group.members) == ("E", {})
    assert {w.heartbeat(x) for x in ids} == {E.UNKNOWN_MEMBER_ID}
    _, value = of_journal(w.journal)[-1]
    assert (value.generation, value.members) == (2, [])


def test_b37_only_the_leader_syncs():
    w = World()
    ids = unsynced(w)
    w.sync(ids[0])
    assert w.state == "S"
    w.after(3_000)
    assert (list(w.group.members), w.state) == (ids[:1], "P")
    assert w.heartbeat(ids[0]) == E.REBALANCE_IN_PROGRESS


def test_b38_only_the_followers_sync():
    w = World()
    ids = unsynced(w)
    tokens = [w.sync(x) for x in ids[1:]]
    w.after(3_000)
    assert [w.error(x) for x in tokens] == [E.REBALANCE_IN_PROGRESS] * 2
    assert (list(w.group.members), w.state) == (ids[1:], "P")


def test_b39_everybody_syncs():
    w = World()
    ids = unsynced(w)
    for x in reversed(ids):
        w.sync(x)
    for _ in range(3):
        w.after(2_000)
        assert {w.heartbeat(x) for x in ids} == {E.NONE}
    assert w.state == "S"


def test_b40_heartbeats_of_strangers():
    w = World()
    assert w.heartbeat("x") == E.UNKNOWN_MEMBER_ID
    (a,) = w.form(1)
    assert w.heartbeat(a, 2) == E.ILLEGAL_GENERATION
    assert w.heartbeat("x") == E.UNKNOWN_MEMBER_ID


def test_b40_heartbeats_to_a_dead_group():
    w = World()
    (a,) = w.form(1)
    group = w.group
    for key in w.coordinator._purgatory:
        w.coordinator._purgatory.cancel(key)
    group.members = {}
    group.leader_id = None
    group.move(GroupInput.RETIRED, 0)
    assert w.heartbeat(a) == E.COORDINATOR_NOT_AVAILABLE


def test_b41_a_heartbeat_before_the_assignment_counts():
    w = World()
    (a,) = w.form(1, rt=60_000, sync=False)
    w.after(9_000)
    assert w.heartbeat(a) == E.NONE
    w.after(9_000)
    assert list(w.group.members) == [a]


def test_b42_who_is_silent_during_a_round_expires():
    w = World(group_min_session_timeout_ms=1)
    (a,) = w.form(1, st=5_000, rt=10_000)
    b = w.join(st=5_000, rt=10_000)
    w.after(2_500)
    assert w.heartbeat(a) == E.REBALANCE_IN_PROGRESS
    w.after(4_999)
    assert w.parked(b)
    w.after(1)
    assert w.heartbeat(a) == E.UNKNOWN_MEMBER_ID
    assert (w.replies[b].generation_id, w.state) == (2, "C")


def test_b43_a_commit_is_a_sign_of_life():
    w = World(group_min_session_timeout_ms=1)
    (a,) = w.form(1, st=1_000)
    w.after(500)
    assert w.committed({("t", 0): 1}, a, 1) == E.NONE
    w.after(600)
    assert w.heartbeat(a) == E.NONE


def test_b44_an_id_handed_out_does_not_touch_a_stable_group():
    w = World(group_min_session_timeout_ms=1)
    (a,) = w.form(1, instances="A", st=5_000)
    w.join(version=4, st=5_000)
    assert len(w.group.pending_join) == 1
    for _ in range(2):
        w.after(2_500)
        assert w.heartbeat(a, 1, "A") == E.NONE
    assert (w.group.pending_join, w.state, w.group.generation) == (set(), "S", 1)


@pytest.mark.parametrize(("end", "members"), [("joins", 3), ("expires", 2), ("leaves", 2)])
def test_b45_an_id_handed_out_holds_up_the_round(end, members):
    w = World()
    (a,) = w.form(1, st=60_000, rt=60_000)
    b = w.replies[w.join(version=4, st=10_000)].member_id
    tokens = [w.join(st=60_000, rt=60_000), w.join(a, st=60_000, rt=60_000)]
    assert w.parked(*tokens)
    if end == "joins":
        tokens.append(w.join(b, version=4))
    elif end == "expires":
        w.after(10_000)
    else:
        assert w.leave((b, None)).members[0].error_code == E.NONE
    assert {w.error(x) for x in tokens} == {E.NONE}
    assert len(w.group.members) == members


def test_b46_leaving_a_group_that_is_not():
    w = World()
    answer = w.leave(("m1", None), ("", "i1"))
    assert answer.error_code == E.NONE
    assert [x.error_code for x in answer.members] == [E.UNKNOWN_MEMBER_ID] * 2
    assert w.leave(("m1", None), version=2).error_code == E.UNKNOWN_MEMBER_ID


def test_b46_strangers_that_leave_disturb_nobody():
    w = World()
    a, b = w.form(2)
    answer = w.leave(("nobody", None), ("", "unknown"))
    assert [x.error_code for x in answer.members] == [E.UNKNOWN_MEMBER_ID] * 2
    assert w.state == "S"
    assert w.heartbeat(a) == w.heartbeat(b) == E.NONE


def test_b47_leaving_by_instance_id():
    w = World()
    w.form(2, instances="LF")
    answer = w.leave(("", "L"), ("bogus", "F"), ("", "unknown"))
    assert [x.error_code for x in answer.members] == [
        E.NONE,
        E.FENCED_INSTANCE_ID,
        E.UNKNOWN_MEMBER_ID,
    ]
    first = answer.members[0]
    assert (first.member_id, first.group_instance_id) == ("", "L")
    assert list(w.group.static_members) == ["F"]


def test_r17_who_is_taken_out_while_it_waits_for_its_assignment_is_told():
    w = World()
    ids = unsynced(w)
    waiting = w.sync(ids[1])
    assert w.leave((ids[1], None)).members[0].error_code == E.NONE
    assert w.error(waiting) == E.UNKNOWN_MEMBER_ID


def test_b48_an_id_handed_out_can_leave():
    w = World()
    pending = w.replies[w.join(version=4)].member_id
    answer = w.leave(("", "unknown"), (pending, None))
    assert [x.error_code for x in answer.members] == [E.UNKNOWN_MEMBER_ID, E.NONE]
    assert (w.group.pending_join, w.state) == (set(), "E")


@pytest.mark.parametrize("version", [1, 5])
def test_b49_the_last_member_leaves(version):
    w = World()
    (a,) = w.form(1)
    assert w.leave((a, None), version=version).error_code == E.NONE
    assert (w.state, w.group.generation) == ("E", 2)


def test_b50_whoever_waits_is_told_that_the_partition_is_gone():
    w = World()
    a, _ = w.form(2)
    join = w.join(a)
    w.coordinator.handle_resigned(P0, w.now)
    w.drain()
    assert w.error(join) == E.NOT_COORDINATOR
    assert w.heartbeat(a) == E.NOT_COORDINATOR

    w = World()
    _, follower = w.form(2, sync=False)
    sync = w.sync(follower)
    w.coordinator.handle_resigned(P0, w.now)
    w.drain()
    assert w.error(sync) == E.NOT_COORDINATOR
    assert w.coordinator.deadline() == (1 << 63) - 1


def test_b51_a_loaded_group_that_is_too_large_makes_a_round():
    before = World()
    ids = before.form(3)
    w = World(loaded=before.journal, group_max_size=1)
    assert (w.state, list(w.group.members)) == ("P", ids)
    w.after(10_000)
    assert (w.state, w.group.generation, w.group.members) == ("E", 2, {})


def test_b52_answers_while_loading():
    w = World()
    ids = w.form(1)
    w.coordinator.handle_resigned(P0, w.now)
    w.coordinator.handle_elected(P0)
    load = E.COORDINATOR_LOAD_IN_PROGRESS
    assert w.error(w.join(version=5)) == load
    assert w.error(w.sync(ids[0])) == E.REBALANCE_IN_PROGRESS
    assert w.committed({("t", 0): 1}) == load
    assert w.heartbeat(ids[0]) == E.NONE
    assert w.describe().error_code == load
    (deleted,) = w.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert deleted.error_code == load
    assert w.ask(m.ListGroupsRequest(), 5).error_code == load
    assert w.leave((ids[0], None)).error_code == load
    assert w.coordinator.end_transaction(P0, Marker(1, 0, True), w.now) == load
    (one,) = w.ask(
        m.OffsetFetchRequest(groups=[m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g")]),
        8,
    ).groups
    assert one.error_code == load
    w.coordinator.handle_entries(P0, w.journal, w.now)
    w.coordinator.handle_loaded(P0, w.now)
    assert (w.heartbeat(ids[0]), w.state) == (E.NONE, "S")


def test_b53_describing():
    w = World()
    ids = w.form(2, sync=False)
    found = w.describe()
    assert (found.error_code, found.group_state) == (E.NONE, "CompletingRebalance")
    assert (found.protocol_type, found.protocol_data) == ("consumer", "")
    assert [x.member_id for x in found.members] == ids
    assert {(x.member_metadata, x.member_assignment) for x in found.members} == {(b"", b"")}
    assert {(x.client_id, x.client_host) for x in found.members} == {("c", "/c-host")}
    w.sync_all(ids, 1)
    found = w.describe()
    assert (found.group_state, found.protocol_data) == ("Stable", "range")
    assert [x.member_assignment for x in found.members] == [x.encode() for x in ids]
    missing = w.describe("nobody")
    assert (missing.error_code, missing.group_state, missing.members) == (E.NONE, "Dead", [])
    assert w.describe("nobody", 6).error_code == E.GROUP_ID_NOT_FOUND


def test_b54_deleting():
    w = World()
    w.form(1)
    w.commit({("t", 0): 5, ("t", 1): 6}, group="e")
    w.txn_commit({("u", 0): 7}, 9, group="e")
    asked = m.DeleteGroupsRequest(groups_names=["g", "e", "none", "e"])
    results = w.ask(asked, 2).results
    assert {x.group_id: x.error_code for x in results} == {
        "g": E.NON_EMPTY_GROUP,
        "e": E.NONE,
        "none": E.GROUP_ID_NOT_FOUND,
    }
    assert w.fetch(("t", 0), group="e") == {("t", 0): (-1, E.NONE)}
    assert w.fetch(group="e") == {}
    assert w.coordinator.group("e") is None
    w.mark(9, committed=True)
    assert w.fetch(group="e") == {}
    tombstones = [x for x in of_journal(w.journal[:-1]) if x[1] is None]
    assert len(tombstones) == 4
    again = World(loaded=w.journal)
    assert again.coordinator.group("e") is None
    assert again.fetch(group="e") == {}


def test_deleting_waits_for_what_is_on_its_way():
    w = World()
    w.commit({("t", 0): 5})
    w.appending = False
    commit = w.commit({("t", 1): 6})
    delete = w.send(m.DeleteGroupsRequest(groups_names=["g"]), 2)
    assert w.parked(commit, delete)
    w.settle()
    assert not w.parked(commit)
    assert w.parked(delete)
    late = w.commit({("t", 2): 7})  # comes to a group that is about to be gone
    assert len(w.waiting) == 1
    w.settle()
    assert w.replies[delete].results[0].error_code == E.NONE
    assert w.coordinator.group("g") is None
    w.settle()
    assert w.replies[late].topics[0].partitions[0].error_code == E.NONE
    assert w.fetch() == {("t", 2): (7, 0)}


def test_a_delete_that_cannot_be_written_leaves_the_group():
    w = World()
    w.commit({("t", 0): 5})
    w.appending = False
    delete = w.send(m.DeleteGroupsRequest(groups_names=["g"]), 2)
    w.settle(E.REQUEST_TIMED_OUT)
    assert w.replies[delete].results[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.fetch() == {("t", 0): (5, 0)}
    w.appending = True
    assert w.committed({("t", 0): 6}) == E.NONE


def test_d9_a_new_group_that_cannot_be_written_never_was():
    w = World()
    w.appending = False
    join = w.join()
    w.settle(E.NOT_LEADER_OR_FOLLOWER)
    assert w.error(join) == E.NOT_COORDINATOR
    assert w.coordinator.group("g") is None
    assert w.coordinator.deadline() == w.config.offsets_retention_check_interval_ms


def test_d2_an_expired_id_ends_the_initial_delay_when_all_others_are_here():
    w = World(group_min_session_timeout_ms=1)
    w.join(version=4, st=1_000)
    a = w.join()
    w.until(1_000)
    assert w.replies[a].generation_id == 1  # Kafka 4: before the initial delay is over


def test_l4_an_id_handed_out_that_leaves_a_stable_group_makes_a_round():
    w = World()
    w.form(1)
    pending = w.replies[w.join(version=4)].member_id
    w.leave((pending, None))
    assert w.state == "P"  # as Kafka 4 does


def test_r10_members_without_any_time_do_not_make_it_spin():
    w = World()
    w.join(instance="A", version=5, st=60_000, rt=0)
    w.join(instance="B", version=5, st=60_000, rt=6_000)
    w.until(3_000)
    one, two = w.group.members
    w.leave((two, "B"))
    assert w.state == "P"
    fired = w.now
    w.after(2_500)
    assert (w.state, w.now - fired) == ("P", 2_500)
    assert w.heartbeat(one, 1, "A") == E.REBALANCE_IN_PROGRESS


def test_a1_listing():
    w = World()
    w.form(1)
    w.commit({("t", 0): 1}, group="simple")
    everything = w.ask(m.ListGroupsRequest(), 5)
    assert {
        (x.group_id, x.protocol_type, x.group_state, x.group_type) for x in everything.groups
    } == {
        ("g", "consumer", "Stable", "classic"),
        ("simple", "", "Empty", "classic"),
    }
    for states, types, found in (
        ([" sTable "], [], ["g"]),
        (["Empty"], ["CLASSIC"], ["simple"]),
        (["Empty", "Stable"], [], ["g", "simple"]),
        (["Assigning"], [], []),
        (["bogus"], [], []),
        ([], ["consumer"], []),
        ([], ["bogus", "classic"], ["g", "simple"]),
    ):
        request = m.ListGroupsRequest(states_filter=states, types_filter=types)
        assert sorted(x.group_id for x in w.ask(request, 5).groups) == found


def test_a_closed_connection_is_not_answered_but_its_member_has_joined():
    w = World()
    a, b = w.join(link="one"), w.join(link="two")
    w.coordinator.handle_closed("one")
    w.after(2 * 3_000)
    assert w.parked(a)
    assert w.replies[b].generation_id == 1
    assert len(w.group.members) == 2
    assert w.coordinator.parked == 0


def test_a_stopped_coordinator():
    w = World()
    a, _ = w.form(2)
    join = w.join(a)
    w.coordinator.shutdown(w.now)
    w.drain()
    assert w.error(join) == E.NOT_COORDINATOR
    assert w.heartbeat(a) == E.COORDINATOR_NOT_AVAILABLE
    assert w.error(w.join()) == E.COORDINATOR_NOT_AVAILABLE
    assert w.ask(m.ListGroupsRequest(), 5).error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.describe().error_code == E.COORDINATOR_NOT_AVAILABLE


def test_groups_without_a_name():
    w = World()
    assert w.error(w.join(group="")) == E.INVALID_GROUP_ID
    assert w.error(w.sync("x", group="")) == E.INVALID_GROUP_ID
    assert w.heartbeat("x", group="") == E.INVALID_GROUP_ID
    assert w.leave(("x", None), group="").error_code == E.INVALID_GROUP_ID
    assert w.ask(m.OffsetDeleteRequest(), 0).error_code == E.INVALID_GROUP_ID
    token = w.txn_commit({("t", 0): 1}, 1, group="")
    assert w.replies[token].topics[0].partitions[0].error_code == E.INVALID_GROUP_ID
    assert w.committed({("t", 0): 1}, group="") == E.NONE
    assert w.fetch(group="") == {("t", 0): (1, 0)}


def test_a_return_that_fails_after_a_round_has_begun_stands():
    w = World()
    lead, follow = w.form(2, instances="LF", st=60_000)
    w.appending = False
    back = w.join(instance="F", version=9, st=60_000)
    joined = w.join(lead, instance="L", version=9, st=60_000)  # the leader makes a round
    answer = w.replies[back]
    assert (answer.error_code, answer.generation_id, w.error(joined)) == (E.NONE, 2, E.NONE)
    w.settle(E.MESSAGE_TOO_LARGE)
    assert set(w.group.members) == {lead, answer.member_id}
    shares = {answer.member_id: b"f"}
    sync = w.sync(answer.member_id, 2, instance="F")
    w.sync(lead, 2, shares, instance="L")
    w.settle()
    assert w.replies[sync].assignment == b"f"
    assert w.heartbeat(follow, 2, "F") == E.FENCED_INSTANCE_ID


def test_a_return_that_takes_long_to_write_has_a_session_after_it():
    w = World()
    w.form(1, instances="A", st=6_000)
    w.appending = False
    back = w.join(instance="A", version=9, st=6_000)
    w.after(20_000)
    assert w.parked(back)
    w.settle()
    member_id = w.replies[back].member_id
    w.after(5_999)
    assert list(w.group.members) == [member_id]
    w.after(1)
    assert w.group.members == {}


def test_what_waits_for_a_delete_that_fails_finds_the_group():
    w = World()
    w.commit({("t", 0): 5})
    w.appending = False
    deletes = [w.send(m.DeleteGroupsRequest(groups_names=["g"]), 2) for _ in range(2)]
    late = w.commit({("t", 1): 6})
    w.settle(E.REQUEST_TIMED_OUT)
    assert w.replies[deletes[0]].results[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    w.appending = True
    w.settle()
    assert not w.parked(deletes[1], late)
    stored = World(loaded=w.journal)
    assert stored.fetch() == w.fetch()
    deleted = w.replies[deletes[1]].results[0].error_code
    assert deleted == E.NONE
    assert w.fetch() in ({}, {("t", 1): (6, 0)})


def test_a_commit_on_its_way_is_not_left_behind_by_a_delete():
    w = World()
    w.commit({("t", 0): 5})
    w.appending = False
    w.commit({("t", 1): 6})
    delete = w.send(m.DeleteGroupsRequest(groups_names=["g"]), 2)
    w.commit({("t", 2): 7})
    while w.waiting:
        w.settle(count=1)
    assert w.replies[delete].results[0].error_code == E.NONE
    assert set(w.fetch()) <= {("t", 2)}
    w.appending = True
    if w.coordinator.group("g") is None:
        w.commit({("t", 3): 8})
    assert not {("t", 0), ("t", 1)} & set(w.fetch())
