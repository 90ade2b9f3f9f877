"""What a close says to the coordinator (KIP-1092): whichever the protocol, the kind of member, what
was asked for, and how far the member is.
"""

from __future__ import annotations

import pytest
from consumer_world import BEAT, ConsumerWorld
from group_asks import T10
from group_world import MEMBER, World, start

from kcore.events import GroupLeft, PartitionsRevoked
from kcore.group.states import MemberState
from kcore.structs import GroupMembershipOperation, OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

O = GroupMembershipOperation  # noqa: E741
STATIC = {"group_instance_id": "i"}

# Who leaves is gone for the others at once.
LEAVES = {
    (False, O.DEFAULT): True,
    (False, O.LEAVE_GROUP): True,
    (False, O.REMAIN_IN_GROUP): False,
    (True, O.DEFAULT): False,
    (True, O.LEAVE_GROUP): True,
    (True, O.REMAIN_IN_GROUP): False,
}
# By the consumer protocol a static member always says something, and what it says differs.
EPOCHS = {
    (False, O.DEFAULT): -1,
    (False, O.LEAVE_GROUP): -1,
    (False, O.REMAIN_IN_GROUP): None,
    (True, O.DEFAULT): -2,
    (True, O.LEAVE_GROUP): -1,
    (True, O.REMAIN_IN_GROUP): -2,
}
each_way = pytest.mark.parametrize(
    ("static", "operation"), LEAVES, ids=lambda it: it.name if isinstance(it, O) else str(it)
)


def config_of(static: bool) -> dict[str, object]:
    return {"enable_auto_commit": True} | (STATIC if static else {})


def close(world: World, operation: O, within_ms: int = 5_000) -> None:
    until = world.now + within_ms
    world.member.close(world.now, until, autocommit=True, operation=operation)
    world.settle()


# -- classic -------------------------------------------------------------------------------------


@each_way
def test_a_member_says_what_it_was_told_to(static: bool, operation: O) -> None:
    world = World(config=config_of(static))
    world.become_stable()
    world.host.consumed = {T10: OffsetAndMetadata(7)}
    close(world, operation)
    world.answer(ApiKey.OFFSET_COMMIT)  # whatever else it does not do
    assert world.new_events(PartitionsRevoked)
    if LEAVES[static, operation]:
        (member,) = world.request(ApiKey.LEAVE_GROUP).body.members
        assert (member.member_id, member.group_instance_id) == (MEMBER, "i" if static else None)
        assert not world.member.closed
        world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == LEAVES[static, operation]


@each_way
def test_a_member_between_two_rounds_is_none_the_less_one(static: bool, operation: O) -> None:
    world = World(config=config_of(static))
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    for _ in range(3):
        world.poll()
    assert world.member.state is MemberState.PREPARING
    close(world, operation)
    assert bool(world.open(ApiKey.LEAVE_GROUP)) is LEAVES[static, operation]
    # Not behind the JoinGroup, which the broker holds.
    assert bool(world.network.drops) is LEAVES[static, operation]


@each_way
def test_the_first_join_is_still_on_its_way(static: bool, operation: O) -> None:
    world = start(**config_of(static))
    close(world, operation)
    if not LEAVES[static, operation]:
        assert world.member.closed
        assert world.count(ApiKey.LEAVE_GROUP) == 0
        return
    assert not world.member.closed
    if static:  # the instance id is known, the member id is not
        (member,) = world.request(ApiKey.LEAVE_GROUP).body.members
        assert (member.member_id, member.group_instance_id) == ("", "i")
    else:
        world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id="m7")
        (member,) = world.request(ApiKey.LEAVE_GROUP).body.members
        assert (member.member_id, member.group_instance_id) == ("m7", None)
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


@each_way
def test_who_never_joined_says_nothing(static: bool, operation: O) -> None:
    world = World(config=config_of(static))
    world.subscribe("t1")
    world.find()
    close(world, operation)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 0


@pytest.mark.parametrize("operation", O, ids=lambda it: it.name)
def test_whose_instance_id_was_taken_over_does_not_throw_the_other_out(operation: O) -> None:
    world = World(config=config_of(static=True))
    world.become_stable()
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.FENCED_INSTANCE_ID)
    world.poll()
    close(world, operation)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 0


def test_a_static_member_leaves_brokers_that_know_no_instance_ids_there() -> None:
    world = World(config=config_of(static=True))
    world.network.versions = {ApiKey.LEAVE_GROUP: 2}
    world.become_stable()
    close(world, O.LEAVE_GROUP)
    assert world.request(ApiKey.LEAVE_GROUP).body.member_id == MEMBER


def test_a_static_member_that_leaves_looks_for_its_coordinator() -> None:
    world = World(config=config_of(static=True))
    world.become_stable()
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.NOT_COORDINATOR)
    close(world, O.LEAVE_GROUP)
    world.find()
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


def test_what_is_only_unsubscribed_is_told_as_ever() -> None:
    for static in (False, True):
        world = World(config=config_of(static))
        world.become_stable()
        world.member.leave(world.now, "unsubscribed")
        world.settle()
        close(world, O.LEAVE_GROUP)
        assert world.count(ApiKey.LEAVE_GROUP) == (not static)


# -- the coordinator assigns -----------------------------------------------------------------------


@each_way
def test_the_last_heartbeat_says_what_it_was_told_to(static: bool, operation: O) -> None:
    world = ConsumerWorld(config=config_of(static))
    world.become_stable()
    world.host.consumed = {T10: OffsetAndMetadata(7)}
    beats = world.count(BEAT)
    close(world, operation)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.new_events(PartitionsRevoked, GroupLeft)
    epoch = EPOCHS[static, operation]
    if epoch is None:
        assert world.member.closed
        assert world.count(BEAT) == beats
        return
    body = world.request(BEAT).body
    assert (body.member_epoch, body.instance_id) == (epoch, "i" if static else None)
    world.beat()
    assert world.member.closed


@each_way
def test_the_first_heartbeat_is_still_on_its_way(static: bool, operation: O) -> None:
    world = ConsumerWorld(config=config_of(static))
    world.start()
    close(world, operation)
    said = [request.body.member_epoch for request in world.open(BEAT)]
    epoch = EPOCHS[static, operation]
    assert said == ([0] if epoch is None else [0, epoch])
    assert world.member.closed is (epoch is None)


@pytest.mark.parametrize("operation", O, ids=lambda it: it.name)
def test_who_was_fenced_says_nothing(operation: O) -> None:
    world = ConsumerWorld(config=config_of(static=True))
    world.become_stable()
    world.next_beat()
    world.refuse(E.FENCED_MEMBER_EPOCH)
    beats = world.count(BEAT)
    close(world, operation)
    assert world.member.closed
    assert world.count(BEAT) == beats


@pytest.mark.parametrize("operation", O, ids=lambda it: it.name)
@pytest.mark.parametrize("make", [World, ConsumerWorld])
def test_silence_is_bounded(make: type[World], operation: O) -> None:
    world = make(config=config_of(static=True))
    world.become_stable()
    close(world, operation, 2_000)
    world.run(2_000)
    assert world.member.closed
