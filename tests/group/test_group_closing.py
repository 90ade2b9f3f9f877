"""Closing: rule X4, scenario C32."""

from __future__ import annotations

import pytest
from group_asks import T10, auto, commit, fetch, stable
from group_world import World

from kcore.errors import (
    Cancelled,
    ConsumerStoppedError,
    DisconnectedError,
    KafkaTimeoutError,
)
from kcore.events import (
    GroupLeft,
    OffsetsCommitted,
    PartitionsRevoked,
)
from kcore.group.states import MemberState
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey


def test_c32_commit_then_revoked_then_leave() -> None:
    world = auto()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert world.open(ApiKey.OFFSET_COMMIT)
    assert not world.new_events(PartitionsRevoked)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert [type(event) for event in world.new_events()] == [
        OffsetsCommitted,
        PartitionsRevoked,
        GroupLeft,
    ]
    assert not world.member.closed
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    assert world.host.owned == []
    assert world.committed == {T10: OffsetAndMetadata(100)}


def test_c32_revoked_is_acknowledged_before_the_leave() -> None:
    world = stable(await_acknowledgement=True)
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert world.new_events(PartitionsRevoked)
    assert not world.open(ApiKey.LEAVE_GROUP)
    outcome = commit(world)  # what the listener may do
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result
    world.ack()
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


@pytest.mark.parametrize("await_acknowledgement", [False, True])
def test_c32_silence_is_bounded(await_acknowledgement: bool) -> None:
    world = auto(await_acknowledgement=await_acknowledgement)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    world.run(1_999)
    assert not world.member.closed
    world.run(1)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 1
    assert world.new_events(PartitionsRevoked)


def test_x4_timeout_zero_tries_once() -> None:
    world = auto()
    world.member.close(world.now, world.now, autocommit=True)
    world.settle()
    assert world.member.closed
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    assert world.count(ApiKey.LEAVE_GROUP) == 1


def test_close_without_autocommit_and_without_leave() -> None:
    world = auto(leave_on_close=False)
    world.member.close(world.now, world.now + 5_000, autocommit=False)
    world.settle()
    assert world.member.closed
    assert world.count(ApiKey.OFFSET_COMMIT) == world.count(ApiKey.LEAVE_GROUP) == 0


def test_close_waits_for_commits_under_way_and_ends_the_rest() -> None:
    world = stable()
    pending = commit(world)
    asking = fetch(world)
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert isinstance(asking.error, Cancelled)
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert pending.result
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    with pytest.raises(ConsumerStoppedError):
        commit(world)


def test_close_in_an_outage() -> None:
    world = auto()
    world.network.brokers = False
    world.network.break_link(2147483646, DisconnectedError("gone"))
    world.settle()
    late = commit(world, deadline_ms=60_000)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    world.run(2_000)
    assert world.member.closed
    assert isinstance(late.error, (ConsumerStoppedError, KafkaTimeoutError))
    assert world.member.deadline() == NEVER


def test_close_twice_can_only_hurry() -> None:
    world = stable()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.member.close(world.now, world.now + 60_000, autocommit=True)
    world.settle()
    world.member.close(world.now, world.now + 100, autocommit=True)
    world.run(100)
    assert world.member.closed
    world.member.close(world.now, world.now, autocommit=True)


def test_close_of_a_member_that_never_was() -> None:
    world = World()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert world.member.closed
    assert not world.network.log


def test_close_while_joining_leaves_at_once() -> None:
    world = stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    assert world.member.state is MemberState.PREPARING
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
