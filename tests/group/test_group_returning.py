"""A static member that comes back is answered with what it had before (KIP-345), whatever it
subscribes to now: it looks once who has what, and asks for a rebalance where somebody is missing.
"""

from __future__ import annotations

from typing import Any

import pytest
from group_world import (
    World,
    lead,
    start,
    tps,
)

from kcore.assignors import RangeAssignor, blobs
from kcore.errors import DisconnectedError, FrameError, KafkaError, RequestTimedOutError
from kcore.events import ErrorRaised
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E


def returned(*topics: str, assigned: str = "t1-0 t1-1", **config: Any) -> World:
    """A member that just has what it had before."""
    world = start(*topics, **({"group_instance_id": "i"} | config))
    world.join(assigned)
    world.poll()
    assert world.member.stable
    return world


def blob(assigned: str) -> bytes:
    return blobs.encode_assignment(tps(assigned))


def rejoin(world: World) -> None:
    world.poll()  # gives up what it has
    world.poll()
    assert world.open(ApiKey.JOIN_GROUP)


def asks(world: World) -> bool:
    return bool(world.open(ApiKey.DESCRIBE_GROUPS))


def test_what_nobody_has_is_asked_for_by_a_rebalance() -> None:
    world = returned("t1", "t2")
    assert world.host.owned == tps("t1-0 t1-1")
    request = world.answer(ApiKey.DESCRIBE_GROUPS, others=[blob("t2-1")])
    assert request.body.groups == ["g"]
    assert world.member.rejoin_needed
    rejoin(world)
    assert world.request(ApiKey.JOIN_GROUP).body.reason == "nobody has t2-0"
    world.join("t2-0")
    world.poll()
    assert world.member.stable
    assert not asks(world)  # the whole group has rebalanced: there is nothing of before


@pytest.mark.parametrize(
    "others", [[blob("t2-0 t2-1")], [blob("t2-0"), blob("t2-1")]], ids=["one", "two"]
)
def test_what_others_have_is_left_to_them(others: list[bytes]) -> None:
    world = returned("t1", "t2")
    world.answer(ApiKey.DESCRIBE_GROUPS, others=others)
    world.run(30_000, poll_every=1_000)
    assert not world.member.rejoin_needed
    assert world.count(ApiKey.DESCRIBE_GROUPS) == 1


def test_who_cannot_have_missed_anything_does_not_ask() -> None:
    for world in (
        returned("t1"),
        returned("t1", "t2", assigned="t1-0 t2-1"),
        returned("t1", "t2", group_instance_id=None),
        returned("t1", "nowhere", group_instance_id=None),
    ):
        world.run(1_000)
        assert world.count(ApiKey.DESCRIBE_GROUPS) == 0


def test_a_topic_that_there_is_not_is_missed_by_nobody() -> None:
    world = returned("t1", "nowhere")
    world.answer(ApiKey.DESCRIBE_GROUPS)
    assert not world.member.rejoin_needed


@pytest.mark.parametrize("skip", [True, False])
def test_a_leader_that_assigned_nothing_looks_for_partitions_that_were_added(skip: bool) -> None:
    world = start("t1", group_instance_id="i")
    lead(world, skip_assignment=skip)
    world.answer(ApiKey.SYNC_GROUP, assigned="t1-0")
    world.poll()
    assert asks(world) is skip
    if skip:
        world.answer(ApiKey.DESCRIBE_GROUPS)
        assert world.member.rejoin_needed


@pytest.mark.parametrize(
    "failure",
    [
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.NOT_COORDINATOR,
        DisconnectedError("gone"),
    ],
)
def test_it_asks_again_where_the_answer_fails(failure: Any) -> None:
    world = returned("t1", "t2")
    world.answer(ApiKey.DESCRIBE_GROUPS, failure)
    assert not asks(world)  # not at once
    for _ in range(100):
        world.run(50)
        if world.open(ApiKey.FIND_COORDINATOR):
            world.find()
        if asks(world):
            break
    world.answer(ApiKey.DESCRIBE_GROUPS)
    assert world.member.rejoin_needed


def test_it_asks_when_there_is_a_coordinator_again() -> None:
    world = returned("t1", "t2")
    world.run(2_990)
    world.answer(ApiKey.DESCRIBE_GROUPS, E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(10)
    world.answer(ApiKey.HEARTBEAT, E.NOT_COORDINATOR)
    world.run(5_000)
    assert world.count(ApiKey.DESCRIBE_GROUPS) == 1
    world.find()
    world.run(2_000)
    world.answer(ApiKey.DESCRIBE_GROUPS)
    assert world.member.rejoin_needed


def test_without_the_right_to_look_it_has_what_it_has() -> None:
    world = returned("t1", "t2")
    world.answer(ApiKey.DESCRIBE_GROUPS, E.GROUP_AUTHORIZATION_FAILED)
    world.run(30_000, poll_every=1_000)
    assert world.count(ApiKey.DESCRIBE_GROUPS) == 1
    assert world.member.stable
    assert not world.member.rejoin_needed
    assert not world.new_events(ErrorRaised)


@pytest.mark.parametrize(
    "answer",
    [{"state": "PreparingRebalance"}, {"others": [b"\x00"]}, {"others": [blob("t2-0 t2-1")]}],
    ids=["it rebalances", "unreadable", "others have it"],
)
def test_what_says_nothing_changes_nothing(answer: dict[str, Any]) -> None:
    world = returned("t1", "t2")
    world.answer(ApiKey.DESCRIBE_GROUPS, **answer)
    world.run(1_000)
    assert not world.member.rejoin_needed


def test_an_answer_of_before_a_rebalance_says_nothing() -> None:
    world = returned("t1", "t2")
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.REBALANCE_IN_PROGRESS)
    rejoin(world)
    world.join("t1-0 t2-0")
    world.poll()
    assert world.member.stable
    world.answer(ApiKey.DESCRIBE_GROUPS)
    assert not world.member.rejoin_needed


def test_a_rebalance_ends_the_wait_for_another_attempt() -> None:
    world = returned("t1", "t2")
    world.answer(ApiKey.DESCRIBE_GROUPS, E.COORDINATOR_LOAD_IN_PROGRESS)
    world.member.request_rejoin("why not", world.now)
    rejoin(world)
    world.join("t1-0")
    world.poll()
    assert world.member.stable
    world.run(10_000, poll_every=1_000)
    assert world.count(ApiKey.DESCRIBE_GROUPS) == 1


class Picky(RangeAssignor):
    """Leaves things out on purpose, as nobody else can know."""

    name = "picky"


@pytest.mark.parametrize("skip", [None, True], ids=["follows", "leads"])
def test_an_assignor_of_the_applications_own_may_leave_things_out(skip: bool | None) -> None:
    """Else each restart of each member would have the whole group rebalance."""
    world = start("t1", "t2", group_instance_id="i", assignors=(Picky(),))
    if skip:
        lead(world, skip_assignment=True)
        world.answer(ApiKey.SYNC_GROUP, assigned="t1-0")
    else:
        world.join("t1-0")
    world.poll()
    assert world.member.stable
    world.run(5_000, poll_every=1_000)
    assert world.count(ApiKey.DESCRIBE_GROUPS) == 0
    assert world.member.stable


@pytest.mark.parametrize("failure", [RequestTimedOutError("slow"), FrameError("large")])
def test_it_does_not_cost_the_coordinator_without_end(failure: KafkaError) -> None:
    """An answer that is too large, or always late, costs the link that heartbeats need."""
    world = returned("t1", "t2")
    for _ in range(600):
        world.run(100, poll_every=100)
        if world.open(ApiKey.FIND_COORDINATOR):
            world.find()
        if world.open(ApiKey.HEARTBEAT):
            world.answer(ApiKey.HEARTBEAT)
        if asks(world):
            world.answer(ApiKey.DESCRIBE_GROUPS, failure)
    assert world.count(ApiKey.DESCRIBE_GROUPS) <= 4
    assert world.member.stable


def test_a_topic_that_is_made_later_is_looked_for_then() -> None:
    """Its leader may never have heard that this one subscribes to it."""
    world = returned("t1", "later")
    world.answer(ApiKey.DESCRIBE_GROUPS)
    world.run(5_000, poll_every=1_000)
    assert world.count(ApiKey.DESCRIBE_GROUPS) == 1
    assert world.member.stable
    world.cluster.set("later", 2)
    world.run(100)
    world.answer(ApiKey.DESCRIBE_GROUPS)
    assert world.member.rejoin_needed
    rejoin(world)
    assert world.request(ApiKey.JOIN_GROUP).body.reason == "nobody has later-0, later-1"
