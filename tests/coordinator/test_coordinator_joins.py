"""Scenario vectors B01-B31: joining, the join phase, static members."""

import pytest
from coordinator_world import RANGE, D, N, World, of_journal

from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import GroupMetadataKey, OffsetCommitKey

OTHER = [("range", b"other")]


def round_of(w, *tokens):
    """The answers of one generation: generation, leader, and each member's id."""
    answers = [w.replies[token] for token in tokens]
    assert {a.error_code for a in answers} == {E.NONE}
    (generation,) = {a.generation_id for a in answers}
    (leader,) = {a.leader for a in answers}
    return generation, leader, [a.member_id for a in answers]


def test_b01_the_first_member_waits_for_the_initial_delay():
    w = World()
    a = w.join()
    w.until(D // 2)
    assert w.parked(a)
    w.until(D + 1)
    generation, leader, ids = round_of(w, a)
    assert (generation, [leader]) == (1, ids)
    assert [x.member_id for x in w.replies[a].members] == ids


def test_b02_a_second_member_extends_the_delay_once():
    w = World()
    a = w.join(rt=3 * D)
    w.until(D - 1)
    b = w.join(rt=3 * D)
    w.until(D + 1)
    assert w.parked(a, b)
    w.until(D * 3 // 2 + 2)
    assert w.parked(a, b)
    w.until(2 * D + 2)
    assert round_of(w, a, b)[0] == 1


def test_b03_the_delay_never_exceeds_the_rebalance_timeout():
    w = World()
    a, b = w.join(rt=2 * D), w.join(rt=2 * D)
    w.now = D + 1  # the owner is late: delays go on from when it came
    w.coordinator.handle_deadline(w.now)
    w.drain()
    c = w.join(rt=2 * D)
    w.until(2 * D)
    assert w.parked(a, b, c)
    w.until(2 * D + 1)
    assert round_of(w, a, b, c)[0] == 1


def test_b03_a_clock_stepped_exactly_answers_at_two_delays():
    w = World()
    a, b = w.join(rt=2 * D), w.join(rt=2 * D)
    w.until(2 * D - 1)
    assert w.parked(a, b)
    w.until(2 * D)
    assert not w.parked(a, b)


def test_b04_an_id_that_was_handed_out_lives_as_long_as_a_session():
    w = World(group_min_session_timeout_ms=1_000)
    a = w.replies[w.join(version=4, st=1_000)]
    assert a.error_code == E.MEMBER_ID_REQUIRED
    assert a.member_id.startswith("c-")
    assert (w.group.members, w.group.pending_join, w.state) == ({}, {a.member_id}, "E")
    w.until(999)
    assert w.group.pending_join
    w.until(1_000)
    assert not w.group.pending_join


def test_j13_an_id_that_was_handed_out_is_of_no_static_member():
    w = World()
    a = w.replies[w.join(version=4)].member_id
    assert w.error(w.join(a, version=5, instance="i")) == E.UNKNOWN_SERVER_ERROR
    assert (w.group.members, w.group.pending_join) == ({}, {a})


def eleven(w):
    """11 ids handed out by a group that takes 10."""
    answers = [w.replies[w.join(version=4)] for _ in range(11)]
    assert {a.error_code for a in answers} == {E.MEMBER_ID_REQUIRED}
    return [a.member_id for a in answers]


def test_b05_a_full_group_refuses_the_eleventh():
    w = World(group_max_size=10)
    ids = eleven(w)
    second = [w.join(i, version=4) for i in ids]
    assert w.parked(*second[:10])
    assert w.replies[second[10]].error_code == E.GROUP_MAX_SIZE_REACHED
    assert w.replies[second[10]].member_id == ""
    w.after(2 * D)
    assert round_of(w, *second[:10])[0] == 1
    assert (w.state, w.group.pending_join) == ("C", set())
    third = [w.join(i, version=4) for i in ids]
    assert [w.error(x) for x in third] == [E.NONE] * 10 + [E.GROUP_MAX_SIZE_REACHED]


def test_b06_parked_members_may_join_again_and_the_older_request_is_told():
    w = World(group_max_size=10)
    ids = eleven(w)
    first = [w.join(i, version=4) for i in ids]
    again = [w.join(i, version=4) for i in ids]
    assert {w.error(x) for x in first[:10]} == {E.REBALANCE_IN_PROGRESS}
    assert w.error(again[10]) == E.GROUP_MAX_SIZE_REACHED
    w.after(2 * D)
    assert round_of(w, *again[:10])[0] == 1


def test_b07_the_last_to_rejoin_are_thrown_out_of_a_group_that_is_too_large():
    before = World()
    ids = before.form(12)
    w = World(loaded=before.journal, group_max_size=10)
    assert w.state == "P"
    tokens = [w.join(i) for i in ids]
    assert [w.error(x) for x in tokens[10:]] == [E.GROUP_MAX_SIZE_REACHED] * 2
    assert w.parked(*tokens[:10])  # Kafka 4 looks again when time is up, not now
    w.after(10_000)
    assert round_of(w, *tokens[:10])[0] == 2
    assert list(w.group.members) == ids[:10]


@pytest.mark.parametrize("options", [{"protocol_type": ""}, {"protocols": []}])
@pytest.mark.parametrize("version", [3, 4])
def test_b08_a_member_that_says_nothing_does_not_fit(options, version):
    w = World()
    answer = w.replies[w.join(version=version, **options)]
    assert (answer.error_code, answer.member_id) == (E.INCONSISTENT_GROUP_PROTOCOL, "")
    assert w.state == "E"


@pytest.mark.parametrize(
    "options", [{"protocol_type": "connect"}, {"protocols": [("roundrobin", b"")]}]
)
def test_b09_a_member_of_another_kind_does_not_fit(options):
    w = World()
    w.form(1)
    answer = w.replies[w.join(version=9, **options)]
    assert answer.error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert (answer.protocol_type, answer.protocol_name) == (None, None)
    assert w.replies[w.join(version=3, **options)].protocol_name == ""  # cannot be null there


@pytest.mark.parametrize("st", [5_999, 1_800_001, -1])
def test_b10_session_timeouts_out_of_bounds(st):
    w = World()
    assert w.error(w.join(st=st)) == E.INVALID_SESSION_TIMEOUT
    assert w.coordinator.group("g") is None


@pytest.mark.parametrize("st", [6_000, 1_800_000])
def test_b10_session_timeouts_at_the_bounds(st):
    w = World()
    assert w.parked(w.join(st=st))


def test_b11_made_up_ids():
    w = World()
    answer = w.replies[w.join("made-up", version=5)]
    assert (answer.error_code, answer.member_id) == (E.UNKNOWN_MEMBER_ID, "made-up")
    assert w.coordinator.group("g") is None
    w.join(version=4)  # now the group exists, empty
    assert w.error(w.join("made-up", version=5)) == E.UNKNOWN_MEMBER_ID


def test_b12_a_new_member_waits_no_longer_than_five_minutes():
    w = World()
    (a,) = w.form(1, st=N + 5_000, rt=2 * N)
    b = w.join(st=N + 5_000, rt=2 * N)
    w.after(N - 1)
    assert w.parked(b)
    w.after(1)
    assert (w.error(b), w.replies[b].member_id) == (E.UNKNOWN_MEMBER_ID, "")
    assert list(w.group.members) == [a]


def test_b13_after_the_join_the_sessions_own_time_counts():
    w = World()
    (a,) = w.form(1, st=N + 5_000)
    w.after(N)
    assert list(w.group.members) == [a]
    w.after(5_000)
    assert (w.state, w.group.generation, w.group.members) == ("E", 2, {})
    key, value = of_journal(w.journal)[-1]
    assert isinstance(key, GroupMetadataKey)
    assert (value.generation, value.members, value.leader, value.protocol) == (2, [], None, None)


def test_b13_a_member_may_change_its_session_timeout():
    w = World()
    (a,) = w.form(1, st=6_000)
    token = w.join(a, st=30_000, rt=30_000)
    w.sync(a, w.replies[token].generation_id, {a: b"x"})
    w.after(29_000)
    assert list(w.group.members) == [a]
    w.after(1_000)
    assert not w.group.members


def test_b14_a_follower_that_changed_nothing_is_answered_at_once():
    w = World()
    _, follower = w.form(2)
    answer = w.replies[w.join(follower)]
    assert (answer.error_code, answer.generation_id, answer.members) == (E.NONE, 1, [])
    assert (w.state, answer.skip_assignment) == ("S", False)


def test_b15_a_leader_that_rejoins_makes_a_round():
    w = World()
    leader, follower = w.form(2)
    a = w.join(leader)
    assert (w.state, w.parked(a)) == ("P", True)
    b = w.join(follower)
    assert round_of(w, a, b)[0] == 2


def test_b16_a_follower_that_changed_makes_a_round():
    w = World()
    _, follower = w.form(2)
    assert w.parked(w.join(follower, protocols=OTHER))
    assert w.state == "P"


def test_b17_a_member_that_asks_again_before_the_assignment():
    w = World()
    leader, follower = w.form(2, sync=False)
    answer = w.replies[w.join(leader)]
    assert (answer.generation_id, len(answer.members)) == (1, 2)
    answer = w.replies[w.join(follower)]
    assert (answer.generation_id, answer.members, w.state) == (1, [], "C")
    assert w.parked(w.join(follower, protocols=OTHER))
    assert w.state == "P"


def test_b18_a_round_cancels_the_syncs_that_wait():
    w = World()
    leader, follower = w.form(2, sync=False)
    sync = w.sync(follower)
    assert w.parked(sync)
    w.join(leader, protocols=OTHER)
    answer = w.replies[sync]
    assert (answer.error_code, answer.assignment) == (E.REBALANCE_IN_PROGRESS, b"")
    assert answer.protocol_name is None
    assert w.state == "P"


def test_b19_who_does_not_rejoin_is_out():
    w = World()
    a, _ = w.form(2, st=60_000)
    c = w.join(st=60_000)
    again = w.join(a, st=60_000)
    w.after(9_999)
    assert w.parked(c, again)
    w.after(1)
    generation, leader, ids = round_of(w, again, c)
    assert (generation, leader, ids[0]) == (2, a, a)
    assert list(w.group.members) == ids


STATIC = {"st": 15_000, "rt": 10_000}


def test_b20_a_static_leader_that_is_silent_loses_the_lead_but_not_its_place():
    w = World()
    lead, follow = w.form(2, instances="LF", **STATIC)
    w.after(-w.now % 1000)
    new = w.join(instance="N", version=5, **STATIC)
    f = w.join(follow, instance="F", version=5, **STATIC)
    assert w.heartbeat(lead, 1, "L") == E.REBALANCE_IN_PROGRESS
    w.after(10_000)
    generation, leader, ids = round_of(w, f, new)
    assert (generation, w.state) == (2, "C")
    assert leader in ids
    answers = {w.replies[x].member_id: w.replies[x] for x in (f, new)}
    assert {x.group_instance_id for x in answers[leader].members} == {"L", "F", "N"}
    assert lead in w.group.members


def test_b21_a_static_leader_that_rejoins_leads_on():
    w = World()
    lead, _ = w.form(2, instances="LF", **STATIC)
    new = w.join(instance="N", version=5, **STATIC)
    again = w.join(lead, instance="L", version=5, **STATIC)
    w.after(10_000)
    generation, leader, _ = round_of(w, again, new)
    assert (generation, leader) == (2, lead)
    assert {x.group_instance_id for x in w.replies[again].members} == {"L", "F", "N"}
    assert w.replies[new].members == []


def test_b22_static_members_only_are_waited_for_again_and_again():
    w = World()
    one, two = w.form(2, instances="AB", st=60_000)
    x = w.join(instance="X", version=5, st=60_000)
    x_id = next(k for k in w.group.members if k not in (one, two))
    w.leave((x_id, "X"))
    assert w.error(x) == E.UNKNOWN_MEMBER_ID
    for _ in range(2):
        w.after(10_000)
        assert (w.state, w.group.generation) == ("P", 1)
    tokens = [w.join(one, instance="A", version=5), w.join(two, instance="B", version=5)]
    assert (round_of(w, *tokens)[0], w.state) == (2, "C")


def test_b23_a_static_member_alone_holds_the_round_until_its_session_ends():
    w = World()
    lead, follow = w.form(2, instances="LF", rt=5_000, st=10_000)
    x = w.join(rt=5_000, st=10_000)
    w.heartbeat(lead, 1, "L")
    w.heartbeat(follow, 1, "F")
    w.after(5_000)
    generation, leader, (x_id,) = round_of(w, x)
    assert (generation, leader, w.state) == (2, x_id, "C")
    w.leave((follow, "F"))
    assert w.state == "P"
    w.after(5_000)
    assert (list(w.group.members), w.state, w.group.generation) == ([lead], "P", 2)
    w.after(10_000)
    assert (w.group.members, w.state, w.group.generation) == ({}, "E", 3)


def test_b24_a_second_process_under_an_instance_id_fences_the_first():
    w = World()
    _, follow = w.form(2, instances="LF")
    w.join(instance="X", version=5)
    parked = w.join(follow, instance="F", version=5)
    second = w.join(instance="F", version=5)
    answer = w.replies[parked]
    assert (answer.error_code, answer.generation_id, answer.leader) == (
        E.FENCED_INSTANCE_ID,
        -1,
        "",
    )
    assert answer.members == []
    assert w.parked(second)
    assert follow not in w.group.members
    assert w.group.static_members["F"] in w.group.members


def old_ones_are_fenced(w, old, instance):
    assert w.error(w.join(old, instance=instance, version=9)) == E.FENCED_INSTANCE_ID
    assert w.error(w.sync(old, instance=instance)) == E.FENCED_INSTANCE_ID
    assert w.error(w.sync(old)) == E.UNKNOWN_MEMBER_ID
    assert w.heartbeat(old, 1, instance) == E.FENCED_INSTANCE_ID
    assert w.committed({("t", 0): 1}, old, 1, instance=instance) == E.FENCED_INSTANCE_ID


def test_b25_a_static_leader_returns_without_a_rebalance():
    w = World()
    lead, _ = w.form(2, instances="LF")
    answer = w.replies[w.join(instance="L", version=9)]
    assert (answer.error_code, answer.generation_id, w.state) == (E.NONE, 1, "S")
    assert answer.member_id != lead
    assert answer.leader == answer.member_id
    assert answer.skip_assignment
    assert {x.group_instance_id for x in answer.members} == {"L", "F"}
    old_ones_are_fenced(w, lead, "L")
    key, value = of_journal(w.journal)[-1]
    assert isinstance(key, GroupMetadataKey)
    assert value.members[0].member_id == answer.member_id
    assert w.replies[w.sync(answer.member_id, instance="L")].assignment == lead.encode()


def test_b26_an_older_client_is_told_that_its_former_self_leads():
    w = World()
    lead, _ = w.form(2, instances="LF")
    answer = w.replies[w.join(instance="L", version=8)]
    assert (answer.error_code, answer.leader, answer.members) == (E.NONE, lead, [])
    assert not answer.skip_assignment


def test_b27_a_static_follower_gets_its_assignment_back():
    w = World()
    lead, follow = w.form(2, instances="LF")
    answer = w.replies[w.join(instance="F", version=9)]
    assert (answer.leader, answer.members, answer.skip_assignment) == (lead, [], False)
    sync = w.replies[w.sync(answer.member_id, instance="F")]
    assert (sync.error_code, sync.assignment) == (E.NONE, follow.encode())


def test_b28_a_return_that_cannot_be_written_never_was():
    w = World()
    lead, follow = w.form(2, instances="LF")
    w.appending = False
    back = w.join(instance="F", version=9, st=20_000, rt=20_000, protocols=OTHER)
    assert w.parked(back)
    assert w.heartbeat(follow, 1, "F") == E.FENCED_INSTANCE_ID
    w.settle(E.NOT_ENOUGH_REPLICAS)
    answer = w.replies[back]
    assert (answer.error_code, answer.member_id) == (E.COORDINATOR_NOT_AVAILABLE, "")
    member = w.group.members[follow]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 10_000)
    assert member.protocols == tuple(RANGE)
    assert w.heartbeat(follow, 1, "F") == E.NONE
    assert list(w.group.members) == [lead, follow]


def test_b29_a_return_with_another_protocol_makes_a_round():
    w = World()
    both = [("range", b"r"), ("roundrobin", b"rr")]
    w.form(2, instances="LF", protocols=both, st=60_000)
    back = w.join(instance="F", version=9, protocols=[("roundrobin", b"rr")], st=60_000)
    assert (w.state, w.parked(back)) == ("P", True)
    w.after(10_000)
    answer = w.replies[back]
    assert (answer.generation_id, answer.leader) == (2, answer.member_id)
    assert answer.protocol_name == "roundrobin"
    assert {x.group_instance_id for x in answer.members} == {"L", "F"}


def test_b30_a_return_before_the_assignment_makes_a_round():
    w = World()
    _, follow = w.form(2, instances="LF", sync=False)
    waiting = w.sync(follow, instance="F")
    assert w.parked(waiting)
    assert w.parked(w.join(instance="F", version=9))
    assert w.error(waiting) == E.FENCED_INSTANCE_ID
    assert w.state == "P"


def test_b31_an_id_and_an_instance_must_belong_together():
    w = World()
    lead, follow = w.form(2, instances="LF")
    for member, instance, error in (
        (follow, "L", E.FENCED_INSTANCE_ID),
        (lead, "unknown", E.UNKNOWN_MEMBER_ID),
    ):
        assert w.error(w.join(member, instance=instance, version=5)) == error
        assert w.heartbeat(member, 1, instance) == error
        assert w.error(w.sync(member, instance=instance)) == error
        assert w.committed({("t", 0): 1}, member, 1, instance=instance) == error
        assert w.committed({("t", 0): 1}, member, 1, instance=instance, version=8) == error
    assert w.state == "S"
    assert not [x for x in of_journal(w.journal) if isinstance(x[0], OffsetCommitKey)]
