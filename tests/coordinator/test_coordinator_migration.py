"""Groups that change their protocol with members in them, and members of both in one group (M1-M6).

The whole of it side by side with a real Kafka: tests/embedded/scenarios_consumer_groups.py. Here is
what takes time, what policies say, and what goes wrong.
"""

import pytest
from consumer_groups_world import RT, ConsumerWorld, parts
from coordinator_world import subscription

from kcore.assignors import MemberSubscription
from kcore.assignors.blobs import encode_subscription
from kcore.coordinator.consumer.blobs import read_assignment, write_assignment
from kcore.coordinator.consumer.states import ConsumerGroupState
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

NAMED = [("range", subscription("foo"))]
SIX = {"foo": [0, 1, 2, 3, 4, 5]}
JOIN = {"protocols": NAMED, "rt": RT, "st": 10_000}


def world(**options):
    return ConsumerWorld({"foo": 6}, group_initial_rebalance_delay_ms=0, **options)


def classic(w, *, sync=True, data=None):
    """A classic group of one member that has everything; its id."""
    answer = w.replies[w.join(**JOIN)]
    data = write_assignment(parts(**SIX), w.sizes, 1) if data is None else data
    if sync:
        w.sync(answer.member_id, answer.generation_id, {answer.member_id: data})
    return answer.member_id


def read(data):
    return {part.topic: part.partitions for part in read_assignment(data).assigned_partitions}


def test_m1_what_members_have_stays_theirs():
    w = world()
    old = classic(w)
    assert w.enter("m1", ["foo"]) == (2, {})
    assert w.coordinator.group("g") is None
    assert w.state_of(old) == ("STABLE", 1, {*parts(**SIX)}, set())
    assert w.consumers.state is ConsumerGroupState.RECONCILING
    again = ConsumerWorld({"foo": 6}, loaded=w.journal)
    assert again.consumers.members == w.consumers.members
    assert again.coordinator.group("g") is None
    # Its session is what it said itself.
    assert w.heartbeat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    w.after(9_999)
    assert old in w.consumers.members
    w.after(1)
    assert set(w.consumers.members) == {"m1"}
    assert w.beat("m1", 2) == (3, SIX)


def test_m1_partitions_that_a_topic_does_not_have_any_more_are_nobodys():
    """It was made anew with fewer: whoever kept one had it in place of one that is there."""
    w = world()
    data = write_assignment(parts(**SIX), w.sizes, 1)
    w.sizes.sizes["foo"] = 2
    old = classic(w, data=data)
    w.enter("m1", ["foo"])
    assert w.state_of(old)[2] == {*parts(foo=[0, 1])}
    targets = [w.consumers.target[member] for member in (old, "m1")]
    assert sorted(map(len, targets)) == [1, 1]


def test_m1_who_waits_for_the_classic_group_is_to_come_again():
    w = world()
    old = classic(w)
    parked = w.join("", **JOIN)
    assert w.parked(parked)
    assert w.enter("m1", ["foo"])[0] == 2
    assert w.error(parked) == ErrorCode.REBALANCE_IN_PROGRESS
    assert old in w.consumers.members
    w = world()
    old = classic(w, sync=False)
    assert w.enter("m1", ["foo"])[0] == 2
    assert w.member(old).assigned == {}


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_m1_not_if_it_is_not_wanted(policy):
    w = world(group_consumer_migration_policy=policy)
    old = classic(w)
    assert w.enter("m1", ["foo"]) == ErrorCode.GROUP_ID_NOT_FOUND
    assert w.heartbeat(old, 1) == 0


def test_m1_not_if_it_cannot_be():
    odd = b"\0\1\0\0\0\0\0\0\0\1x"  # an assignor's own data
    for data in (odd, b"odd"):
        w = world()
        classic(w, data=data)
        assert w.enter("m1", ["foo"]) == ErrorCode.GROUP_ID_NOT_FOUND
    w = world(group_consumer_max_size=1)
    for _ in range(2):
        w.join(**JOIN)
    assert w.enter("m1", ["foo"]) == ErrorCode.GROUP_ID_NOT_FOUND


def test_m1_what_could_not_be_written_never_was():
    w = world()
    old = classic(w)
    w.appending = False
    token = w.put_beat("m1", 0, ["foo"], {}, rebalance_timeout_ms=RT)
    w.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert w.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert w.coordinator.consumer_group("g") is None
    assert w.heartbeat(old, 1) == 0


def upgraded(**options):
    """A classic member that knows of the upgrade, and a native one."""
    w = world(**options)
    old = classic(w)
    w.enter("m1", ["foo"])
    assert w.heartbeat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    return w, old


def test_m2_to_m4_a_classic_member_gives_up_and_goes_on():
    w, old = upgraded()

    def having(count):
        owned = tuple(TopicPartition("foo", number) for number in range(count))
        said = encode_subscription(MemberSubscription(topics=("foo",), owned=owned))
        return w.replies[w.join(old, **JOIN | {"protocols": [("range", said)]})].generation_id

    assert having(6) == 1
    answer = w.replies[w.sync(old, 1)]
    assert read(answer.assignment) == {"foo": [0, 1, 2]}
    assert w.heartbeat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    # What it says it has when it joins again is less.
    assert having(3) == 2
    assert read(w.replies[w.sync(old, 2)].assignment) == {"foo": [0, 1, 2]}
    assert w.heartbeat(old, 2) == 0
    assert w.beat("m1", 2) == (2, {"foo": [3, 4, 5]})
    assert w.consumers.state is ConsumerGroupState.STABLE


def test_m4_who_does_not_join_again_in_time_is_out():
    w, old = upgraded()
    for _ in range(RT // 3_000 - 1):
        w.after(3_000)
        assert w.heartbeat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    w.after(3_000)
    assert set(w.consumers.members) == {"m1"}


def test_m2_who_does_not_ask_for_its_assignment_in_time_is_out():
    w, old = upgraded()
    generation = w.replies[w.join(old, **JOIN)].generation_id
    for _ in range(RT // 3_000 - 1):
        w.after(3_000)
        assert w.heartbeat(old, generation) == 0  # it is alive
    assert set(w.consumers.members) == {"m1", old}
    w.after(3_000)
    assert set(w.consumers.members) == {"m1"}


def test_m3_what_a_sync_says_of_the_protocol_must_fit():
    w, old = upgraded()
    generation = w.replies[w.join(old, **JOIN)].generation_id
    for said in ({"protocol_name": "other"}, {"protocol_type": "other"}):
        wrong = w.sync(old, generation, **said)
        assert w.error(wrong) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    for said in ({}, {"protocol_name": None, "protocol_type": None}):
        assert w.error(w.sync(old, generation, **said)) == 0


def test_m4_an_instance_alone_is_no_member():
    w, _ = upgraded()
    answer = w.replies[w.join(instance="i", version=5, **JOIN)]
    given = answer.generation_id, "i"
    w.sync(answer.member_id, answer.generation_id, instance="i")
    assert w.heartbeat(answer.member_id, *given) in {0, ErrorCode.REBALANCE_IN_PROGRESS}
    for member in ("", "another"):
        assert w.heartbeat(member, *given) == ErrorCode.FENCED_INSTANCE_ID
    assert w.heartbeat(answer.member_id, answer.generation_id, "j") == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("lost", [False, True])
def test_who_waits_for_a_heartbeat_that_is_on_its_way_is_answered(lost):
    w, old = upgraded()
    w.appending = False
    w.put_beat("m2", 0, ["foo"], {}, rebalance_timeout_ms=RT)
    R = m.LeaveGroupRequest
    gone = R(group_id="g", members=[R.MemberIdentity(member_id=old)])
    joining, leaving = w.join(**JOIN), w.send(gone, 5)
    assert w.parked(joining, leaving)
    if lost:
        w.coordinator.handle_resigned(0, w.now)
        w.drain()
    else:
        w.appending = True
        w.settle()
    answer = w.replies[leaving]
    assert w.error(joining) == (ErrorCode.NOT_COORDINATOR if lost else 0)
    assert answer.error_code == (ErrorCode.NOT_COORDINATOR if lost else 0)
    assert [one.error_code for one in answer.members] == ([] if lost else [0])


def test_m2_joins_that_are_refused():
    w, _ = upgraded()
    assert w.error(w.join(protocol_type="other", **JOIN)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    nothing = JOIN | {"protocols": [("other", subscription("foo"))]}
    assert w.error(w.join(**nothing)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    odd = JOIN | {"protocols": [("range", b"\0")]}
    assert w.error(w.join(**odd)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert w.error(w.join("x", instance="i", version=5, **JOIN)) == ErrorCode.UNKNOWN_MEMBER_ID
    w, _ = upgraded(group_consumer_max_size=2)
    assert w.error(w.join(**JOIN)) == ErrorCode.GROUP_MAX_SIZE_REACHED
    w = world(group_consumer_migration_policy="disabled")
    w.enter("m1", ["foo"])
    assert w.error(w.join(**JOIN)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_m2_who_is_in_a_full_group_may_join_again():
    w, old = upgraded(group_consumer_max_size=2)
    assert w.error(w.join(old, **JOIN)) == ErrorCode.NONE
    assert w.error(w.join(**JOIN)) == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_m2_what_could_not_be_written_never_was():
    w, old = upgraded()
    w.appending = False
    token = w.join(old, **JOIN)
    w.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert w.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert w.state_of(old)[1] == 1


@pytest.mark.parametrize("policy", ["downgrade", "bidirectional"])
def test_m5_if_it_is_wanted(policy):
    w = world(group_consumer_migration_policy=policy)
    w.enter("m1", ["foo"])
    w.enter("m2", ["foo"])
    answer = w.replies[w.join(**JOIN)]
    assert answer.error_code == 0
    for native in ("m1", "m2"):
        assert w.coordinator.group("g") is None
        w.beat(native, -1)
    assert [*w.group.members] == [answer.member_id]


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional"])
def test_m1_if_it_is_wanted(policy):
    w = world(group_consumer_migration_policy=policy, group_consumer_max_size=2)
    old = classic(w)
    assert w.enter("m1", ["foo"]) == (2, {})
    assert set(w.consumers.members) == {old, "m1"}


def test_m1_not_for_somebody_for_whom_there_is_no_room():
    w = world(group_consumer_max_size=1)
    old = classic(w)
    assert w.enter("m1", ["foo"]) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert w.heartbeat(old, 1) == 0


@pytest.mark.parametrize("how", ["leaves", "is silent"])
def test_m5_when_the_last_native_member_goes(how):
    w, old = upgraded()
    if how == "leaves":
        w.beat("m1", -1)
    else:
        for _ in range(45_000 // 5_000):
            w.join(old, **JOIN)
            w.sync(old, 2)
            w.after(5_000)
    assert w.coordinator.consumer_group("g") is None
    assert (w.state, list(w.group.members)) == ("P", [old])
    answer = w.replies[w.join(old, **JOIN)]
    assert (answer.leader, answer.generation_id) == (old, w.group.generation)
    again = ConsumerWorld({"foo": 6}, loaded=w.journal)
    assert again.coordinator.consumer_group("g") is None
    assert list(again.group.members) == [old]


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional"])
def test_m5_not_if_it_is_not_wanted(policy):
    size = {} if policy == "upgrade" else {"group_max_size": 1}
    w, old = upgraded(group_consumer_migration_policy=policy, **size)
    if size:
        w.join(**JOIN)
    w.beat("m1", -1)
    assert w.coordinator.group("g") is None
    assert old in w.consumers.members


def test_m5_a_classic_member_in_the_place_of_the_last_native_one():
    w = world()
    w.enter("m1", ["foo"], instance_id="i")
    answer = w.replies[w.join(instance="i", version=5, **JOIN)]
    assert (answer.error_code, answer.generation_id) == (0, 2)
    assert w.state == "S"
    found = w.replies[w.sync(answer.member_id, 2, instance="i")]
    assert read(found.assignment) == SIX


def test_m5_what_could_not_be_written_never_was():
    w, old = upgraded()
    w.appending = False
    token = w.put_beat("m1", -1)
    w.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert w.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert set(w.consumers.members) == {old, "m1"}
    w.appending = True
    assert w.beat("m1", 2) == (2, None)
