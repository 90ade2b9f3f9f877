"""Every state x request cell, and the tables as a whole."""

import pytest
from coordinator_world import World

from kcore.coordinator.group import Group
from kcore.coordinator.states import REFUSED, TABLE, GroupInput, GroupState
from kcore.errors import IllegalStateError
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

PARKED = "parked"
T0 = ("t", 0)
CHANGED = [("range", b"changed")]

# Written down a second time: legal predecessors, as Kafka's ClassicGroupState has them.
LEGAL = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: {
        GroupState.STABLE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.EMPTY,
    },
    GroupState.COMPLETING_REBALANCE: {GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.COMPLETING_REBALANCE},
    GroupState.DEAD: set(GroupState),
}


def test_the_table_has_the_legal_moves_and_no_other():
    found = {state: set() for state in GroupState}
    for before, row in TABLE.items():
        for after in row.values():
            found[after].add(before)
    assert found == LEGAL
    assert set(TABLE) == set(REFUSED) == set(GroupState)


@pytest.mark.parametrize("what", GroupInput)
@pytest.mark.parametrize("state", GroupState)
def test_every_cell_moves_or_is_refused(state, what):
    group = Group("g")
    group.state = state
    if what in TABLE[state]:
        group.move(what, 7)
        assert group.state is TABLE[state][what]
        assert (group.previous_state, group.state_since_ms) == (state, 7)
    else:
        with pytest.raises(IllegalStateError, match=what.name):
            group.move(what, 7)
        assert group.state is state


def commit_code(answer):
    (code,) = {p.error_code for t in answer.topics for p in t.partitions}
    return code


# Requests by name: what is sent, by a world whose members are (leader, follower).
def _offset_delete(w):
    R = m.OffsetDeleteRequest
    P = R.OffsetDeleteRequestPartition
    topics = [R.OffsetDeleteRequestTopic(name="t", partitions=[P()])]
    return w.send(R(group_id="g", topics=topics), 0)


def _join_handed_out(w, a, b):
    pending = "never"
    if w.state != "D":
        pending = w.replies[w.join(version=4)].member_id
    return w.join(pending, version=4)


REQUESTS = {
    "join": lambda w, a, b: w.join(version=3),
    "join v4": lambda w, a, b: w.join(version=4),
    "join handed out": _join_handed_out,
    "join leader": lambda w, a, b: w.join(a),
    "join follower": lambda w, a, b: w.join(b),
    "join changed": lambda w, a, b: w.join(b, protocols=CHANGED),
    "join stranger": lambda w, a, b: w.join("stranger"),
    "sync leader": lambda w, a, b: w.sync(a, w.group.generation),
    "sync follower": lambda w, a, b: w.sync(b, w.group.generation),
    "heartbeat": lambda w, a, b: w.send(
        m.HeartbeatRequest(group_id="g", member_id=b, generation_id=w.group.generation), 4
    ),
    "leave": lambda w, a, b: w.send(m.LeaveGroupRequest(group_id="g", member_id=b), 2),
    "commit": lambda w, a, b: w.commit({T0: 1}, b, w.group.generation),
    "commit simple": lambda w, a, b: w.commit({T0: 1}),
    "txn commit": lambda w, a, b: w.txn_commit(
        {T0: 1}, 1, member_id=b, generation=w.group.generation
    ),
    "txn simple": lambda w, a, b: w.txn_commit({T0: 1}, 1),
    "delete": lambda w, a, b: w.send(m.DeleteGroupsRequest(groups_names=["g"]), 2),
    "offset delete": lambda w, a, b: _offset_delete(w),
}

# request -> what the states E, P, C, S, D answer, and the state after.
NA = E.COORDINATOR_NOT_AVAILABLE
UNKNOWN, REBALANCE = E.UNKNOWN_MEMBER_ID, E.REBALANCE_IN_PROGRESS
CELLS = {
    "join": [(PARKED, "P"), (PARKED, "P"), (PARKED, "P"), (PARKED, "P"), (NA, "D")],
    "join v4": [(E.MEMBER_ID_REQUIRED, x) for x in "EPCS"] + [(NA, "D")],
    "join handed out": [(PARKED, "P"), (PARKED, "P"), (PARKED, "P"), (PARKED, "P"), (NA, "D")],
    "join leader": [(UNKNOWN, "E"), (PARKED, "P"), (0, "C"), (PARKED, "P"), (NA, "D")],
    "join follower": [(UNKNOWN, "E"), (0, "C"), (0, "C"), (0, "S"), (NA, "D")],
    "join changed": [(UNKNOWN, "E"), (0, "C"), (PARKED, "P"), (PARKED, "P"), (NA, "D")],
    "join stranger": [(UNKNOWN, x) for x in "EPCS"] + [(NA, "D")],
    "sync leader": [(UNKNOWN, "E"), (REBALANCE, "P"), (0, "S"), (0, "S"), (NA, "D")],
    "sync follower": [(UNKNOWN, "E"), (REBALANCE, "P"), (PARKED, "C"), (0, "S"), (NA, "D")],
    "heartbeat": [(UNKNOWN, "E"), (REBALANCE, "P"), (0, "C"), (0, "S"), (NA, "D")],
    "leave": [(UNKNOWN, "E"), (0, "C"), (0, "P"), (0, "P"), (NA, "D")],
    "commit": [(UNKNOWN, "E"), (0, "P"), (REBALANCE, "C"), (0, "S"), (NA, "D")],
    "commit simple": [(0, "E"), (UNKNOWN, "P"), (UNKNOWN, "C"), (UNKNOWN, "S"), (NA, "D")],
    "txn commit": [(UNKNOWN, "E"), (0, "P"), (0, "C"), (0, "S"), (NA, "D")],
    "txn simple": [(0, x) for x in "EPCS"] + [(NA, "D")],
    "delete": [(0, "gone")]
    + [(E.NON_EMPTY_GROUP, x) for x in "PCS"]
    + [(E.GROUP_ID_NOT_FOUND, "D")],
    "offset delete": [(0, x) for x in "EPCS"] + [(E.GROUP_ID_NOT_FOUND, "D")],
}


def in_state(letter):
    """A world whose group is in that state, and the ids of leader and follower."""
    w = World()
    members = w.form(2, sync=letter != "C")
    if letter == "P":
        w.join(members[0])
    elif letter in "ED":
        w.leave(*((member_id, None) for member_id in members))
        if letter == "D":
            w.group.move(GroupInput.RETIRED, 0)
    assert w.state == letter
    return w, members


@pytest.mark.parametrize("letter", "EPCSD")
@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_in_every_state(name, letter):
    w, (leader, follower) = in_state(letter)
    token = REQUESTS[name](w, leader, follower)
    expected, after = CELLS[name]["EPCSD".index(letter)]
    if expected is PARKED:
        assert w.parked(token)
    else:
        answer = w.replies[token]
        if isinstance(answer, m.DeleteGroupsResponse):
            code = answer.results[0].error_code
        elif hasattr(answer, "error_code"):
            code = answer.error_code
        else:
            code = commit_code(answer)
        assert code == expected
    found = w.coordinator.group("g")
    assert (found.state.name[0] if found is not None else "gone") == after


@pytest.mark.parametrize("state", GroupState)
def test_reading_is_served_in_every_state(state):
    w, members = in_state(state.name[0])
    assert w.group.state is state
    assert w.fetch(T0) == {T0: (-1, E.NONE)}
    found = w.describe()
    assert (found.error_code, found.group_state) == (E.NONE, state.value)
    (listed,) = w.ask(m.ListGroupsRequest(states_filter=[state.value]), 5).groups
    assert listed.group_state == state.value
    assert w.group.state is state
