"""Share sessions at the nodes: how they begin, go on and end, and how much of them there may be."""

import pytest
from share_world import ACCEPT, Member, ShareWorld, values

from kcore.broker import BrokerConfig
from kcore.broker.share import sessions
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

T = ("t", 0)
LOCK = 30_000


@pytest.fixture
def world():
    made = ShareWorld()
    yield made
    assert not made.faults


def test_a_session_remembers_what_is_read(world):
    world.put("a", "b")
    member = Member(world)
    answer = member.fetch(T)
    assert member.taken(answer) == {T: [(0, 1, 1)]}
    assert answer.acquisition_lock_timeout_ms == LOCK
    assert values(answer) == [b"a", b"b"]
    world.put("c")
    assert member.take() == {T: [(2, 2, 1)]}
    assert member.take(forget=[T]) == {}
    world.put("d")
    assert member.take() == {}
    assert member.take(T) == {T: [(3, 3, 1)]}


def test_sessions_have_epochs(world):
    member = Member(world)
    assert member.fetch(T, epoch=1).error_code == E.SHARE_SESSION_NOT_FOUND
    assert member.fetch(epoch=-1).error_code == E.SHARE_SESSION_NOT_FOUND
    member.take(T)
    assert member.fetch(epoch=2).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert member.take() == {}
    assert member.acknowledge({}, epoch=0).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge({}, epoch=9).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge({}).error_code == E.NONE  # counts, as a fetch does
    assert member.take() == {}
    assert member.acknowledge({}, epoch=-1).error_code == E.NONE
    assert member.acknowledge({}, epoch=-1).error_code == E.SHARE_SESSION_NOT_FOUND


def test_a_new_session_takes_the_place_of_the_old_one(world):
    world.put("a")
    member = Member(world)
    member.take(T)
    member.epoch = 0
    assert member.take(T) == {}  # what it has acquired is still its own
    assert member.say(0, 0, ACCEPT) == E.NONE


def test_the_end_of_a_session_frees_what_it_had(world):
    world.put("a", "b", "c")
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    assert second.take(T) == {}
    answer = first.fetch(said={T: [(0, 0, ACCEPT)]}, epoch=-1)
    assert answer.responses[0].partitions[0].acknowledge_error_code == E.NONE
    assert second.take() == {T: [(1, 2, 2)]}
    assert second.acknowledge({T: [(1, 1, ACCEPT)]}, epoch=-1).error_code == E.NONE
    assert first.take(T, epoch=0) == {T: [(2, 2, 3)]}


def test_so_does_the_end_of_its_connection(world):
    world.put("a")
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    second.take(T)
    second.send(max_wait_ms=5_000)
    assert second.client.answer() is None
    first.client.close()
    assert second.taken(second.client.answer()) == {T: [(0, 0, 2)]}


def test_there_is_room_for_so_many_sessions():
    world = ShareWorld(config=BrokerConfig(share_sessions_max=1))
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    second.send(T, max_wait_ms=400)
    assert second.client.answer() is None  # who finds no room is not to spin
    world.run(400)
    assert second.client.answer().error_code == E.SHARE_SESSION_LIMIT_REACHED
    assert second.fetch(T, epoch=0).error_code == E.SHARE_SESSION_LIMIT_REACHED
    first.client.close()
    assert second.take(T, epoch=0) == {}


def test_sessions_remember_so_many_partitions(world, monkeypatch):
    monkeypatch.setattr(sessions, "PARTS_MAX", 5)
    first, second = Member(world, "m1"), Member(world, "m2")
    first.fetch(*[("t", number) for number in range(3)])
    second.fetch(*[("t", number) for number in range(2)])
    answer = first.fetch(("t", 7))
    assert answer.error_code == E.SHARE_SESSION_LIMIT_REACHED
    assert first.fetch().error_code == E.SHARE_SESSION_NOT_FOUND
    assert first.fetch(*[("t", number) for number in range(3)], epoch=0).error_code == E.NONE


def test_a_group_without_sessions_is_forgotten_here(world):
    world.put("a", "b")
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    second.take(T)
    assert first.say(0, 0, ACCEPT) == E.NONE
    second.client.close()
    assert world.share() is not None
    first.client.close()
    assert world.share() is None
    assert Member(world, "m3").take(T) == {T: [(1, 1, 2)]}


def test_so_is_one_whose_last_session_found_no_room_when_its_locks_end(world, monkeypatch):
    world.put("a")
    member = Member(world)
    member.take(T)
    monkeypatch.setattr(sessions, "PARTS_MAX", 1)
    assert member.fetch(("t", 7)).error_code == E.SHARE_SESSION_LIMIT_REACHED
    assert world.share() is not None  # it may acknowledge yet, by another session
    world.run(LOCK)
    assert world.share() is None


@pytest.mark.parametrize(
    "fields",
    [
        {"group_id": None},
        {"member_id": None},
        {"member_id": ""},
        {"member_id": "x" * 37},
    ],
)
def test_requests_that_make_no_sense(world, fields):
    member = Member(world)
    request = member.fetch_request(T)
    for name, value in fields.items():
        setattr(request, name, value)
    assert member.client.ask(request, 2).error_code == E.INVALID_REQUEST
    request = m.ShareAcknowledgeRequest(group_id="g", member_id="m1", share_session_epoch=1)
    for name, value in fields.items():
        setattr(request, name, value)
    assert member.client.ask(request, 2).error_code == E.INVALID_REQUEST


def test_a_new_session_has_nothing_to_acknowledge(world):
    member = Member(world)
    assert member.fetch(T, said={T: [(0, 0, ACCEPT)]}).error_code == E.INVALID_REQUEST
