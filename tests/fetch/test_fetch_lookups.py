"""Offsets that the application looks up by time: rule P8."""

from __future__ import annotations

import pytest
from fetch_world import Outcome, World, listed, look_up, tp

from kcore.errors import (
    DisconnectedError,
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kcore.fetch.config import IsolationLevel
from kcore.structs import OffsetAndTimestamp
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1 = tp(0), tp(1)
OTHER = tp(0, "other")


def test_p8_a_look_up_over_two_leaders() -> None:
    world = World(T0, T1, start=None, leader=lambda where: where.partition + 1)
    outcome = look_up(world, {T0: 1_000, T1: 1_000})
    first, second = world.pending(ApiKey.LIST_OFFSETS)
    world.answer(first, listed((T0, 5), timestamp=1_001, leader_epoch=2))
    assert outcome.ended == []
    world.answer(second, listed((T1, -1)))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, 1_001, 2), T1: None}, None)]
    assert world.fetcher.deadline() == NEVER


def test_p8_a_node_is_believed_about_what_it_was_asked() -> None:
    world = World(T0, T1, start=None, leader=lambda where: where.partition + 1)
    outcome = look_up(world, {T0: -1, T1: -1})
    first, second = world.pending(ApiKey.LIST_OFFSETS)
    world.answer(first, listed((T0, 5), (T0, 9), (T1, 6)))  # one twice, and another's
    assert outcome.ended == []
    world.answer(second, listed((T1, 7)))
    result, error = outcome.ended[0]
    assert error is None
    assert {where: found.offset for where, found in result.items()} == {T0: 5, T1: 7}


def test_p8_retried_until_the_deadline() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1}, timeout_ms=1_000)
    began = world.now_ms
    rounds = 0
    while not outcome.ended:
        for sent in world.pending(ApiKey.LIST_OFFSETS):
            world.answer(sent, listed((T0, -1), error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
            rounds += 1
        world.until_due()
    assert world.now_ms - began == 1_000
    assert 2 <= rounds <= 6
    result, error = outcome.ended[0]
    assert result is None
    assert isinstance(error, KafkaTimeoutError)
    assert "for t-0: node 1 at host1:9092 answered NOT_LEADER_OR_FOLLOWER for t-0" in str(error)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("silent", "node 1 at host1:9092 has not answered"),
        ("fails", "could not connect to host1:9092: refused"),
        ("unreachable", "node 1 at host1:9092 is not reached"),
        ("no leader", "no leader of t-0 is known"),
        ("no topic", "topic t is not known"),
        ("no partition", "topic t has no partition 0: it has 1"),
    ],
)
def test_p8_what_came_in_the_way_is_said(
    how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(T0, start=None)
    known = {"no topic": None, "no partition": [1]}.get(how, [0])
    monkeypatch.setattr(world.cluster, "partitions", lambda _topic: known)
    if how.startswith("no "):
        world.cluster.leaders.clear()
    elif how == "unreachable":
        world.network.unreachable[1] = world.now_ms + 60_000
    outcome = look_up(world, {T0: -1}, timeout_ms=1_000)
    while not outcome.ended:
        for sent in world.pending(ApiKey.LIST_OFFSETS) if how == "fails" else ():
            world.network.unreachable[1] = world.now_ms + 60_000
            world.fail(sent, DisconnectedError(said))
        world.until_due()
    error = outcome.ended[0][1]
    assert isinstance(error, KafkaTimeoutError)
    assert f"no offset was found in time for t-0: {said}" in str(error)


def test_p8_what_was_found_is_told_beside_what_was_not() -> None:
    world = World(T0, T1, OTHER, start=None, leader=lambda where: where.partition + 1)
    world.cluster.leaders.pop(OTHER)
    outcome = look_up(world, {T0: -1, T1: -1, OTHER: -1}, timeout_ms=1_000)
    first, _silent = world.pending(ApiKey.LIST_OFFSETS)
    world.answer(first, listed((T0, 5)))
    while not outcome.ended:
        world.until_due()
    error = outcome.ended[0][1]
    assert isinstance(error, KafkaTimeoutError)
    assert {where: found.offset for where, found in error.done.items()} == {T0: 5}
    assert {where: str(one) for where, one in error.failed.items()} == {
        OTHER: "no offset was found in time for other-0: topic other has no partition 0: it has 0",
        T1: "no offset was found in time for t-1: node 2 at host2:9092 has not answered",
    }
    assert "for other-0, t-1: node 2 at host2:9092 has not answered" in str(error)


def test_p8_without_time_it_is_empty_at_once() -> None:
    outcome = look_up(World(T0, start=None), {T0: -1}, timeout_ms=0)
    assert outcome.ended == [({}, None)]


def test_p8_a_silent_broker_does_not_hold_it_past_the_deadline() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1}, timeout_ms=700)
    assert world.only(ApiKey.LIST_OFFSETS).timeout_ms == 700
    world.tick(700)
    assert isinstance(outcome.ended[0][1], KafkaTimeoutError)
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))  # too late
    assert len(outcome.ended) == 1


def test_p8_new_metadata_does_not_make_a_look_up_under_way_spin() -> None:
    world = World(T0, start=None)
    began = world.now_ms
    look_up(world, {T0: -1}, timeout_ms=700)
    world.cluster.lead(T0, 2)
    world.tick()
    assert world.fetcher.deadline() == began + 700


def test_p8_authorization_ends_it() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1})
    denied = listed((T0, -1), error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.answer(world.only(ApiKey.LIST_OFFSETS), denied)
    assert isinstance(outcome.ended[0][1], TopicAuthorizationFailedError)


def test_p8_an_old_broker_knows_no_newest_timestamp() -> None:
    world = World(T0, start=None)
    world.network.versions[1] = {ApiKey.LIST_OFFSETS: 6}
    outcome = look_up(world, {T0: -3})
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))
    assert isinstance(outcome.ended[0][1], UnsupportedVersionError)
    outcome = look_up(world, {T0: 1_000})  # but all others
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5), timestamp=1_001))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, 1_001, -1)}, None)]


def test_p8_the_first_broker_that_knows_it_is_believed() -> None:
    world = World(T0, start=None)
    world.network.versions[1] = {ApiKey.LIST_OFFSETS: 7}
    outcome = look_up(world, {T0: -3})
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5), timestamp=1_001))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, 1_001, -1)}, None)]


def test_p8_a_broker_that_cannot_be_asked_ends_it() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1})
    error = UnsupportedVersionError("no")
    world.fail(world.only(ApiKey.LIST_OFFSETS), error)
    assert outcome.ended == [(None, error)]


def test_p8_who_has_not_answered_yet_is_not_asked_again_with_the_others() -> None:
    world = World(T0, T1, start=None, leader=lambda where: where.partition + 1)
    look_up(world, {T0: -1, T1: -1}, timeout_ms=60_000)
    for wait_ms in (100, 200, 400, 800, 1_000):
        busy = listed((T0, -1), error_code=ErrorCode.OFFSET_NOT_AVAILABLE)
        world.answer(world.only(ApiKey.LIST_OFFSETS, node=1), busy)
        assert 0.8 * wait_ms <= world.until_due() <= 1.2 * wait_ms
        world.only(ApiKey.LIST_OFFSETS, node=2)
        [topic] = world.only(ApiKey.LIST_OFFSETS, node=1).body.topics
        assert [one.partition_index for one in topic.partitions] == [0]


@pytest.mark.parametrize("timestamp", [-1, -2, -3, 1_000])
def test_p8_a_lost_link_ends_none(timestamp: int) -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: timestamp})
    world.fail(world.only(ApiKey.LIST_OFFSETS))
    assert world.until_due()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5), timestamp=1_001))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, 1_001, -1)}, None)]


@pytest.mark.parametrize("level", IsolationLevel)
def test_i5_a_time_says_nothing_of_how_far_behind_a_partition_is(level: IsolationLevel) -> None:
    world = World(T0, isolation_level=level)
    look_up(world, {T0: 1_000})
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 9), timestamp=1_001))
    positions = world.positions
    assert positions.highwater(T0) is positions.last_stable_offset(T0) is None
    assert positions.log_start(T0) is None


def test_p8_each_ends_at_its_own_time() -> None:
    world = World(T0, start=None)
    long, short = look_up(world, {T0: -1}, 5_000), look_up(world, {T0: -1}, 1_000)
    assert world.until_due() == 1_000
    assert (len(short.ended), long.ended) == (1, [])
    assert world.until_due() == 4_000
    assert len(long.ended) == 1


def test_p8_one_of_nothing_ends_though_it_begins_as_another_ends() -> None:
    world = World(T0, start=None)
    second = Outcome()

    def done(_result: object, _error: KafkaError | None) -> None:
        world.fetcher.list_offsets({}, world.now_ms, second, deadline_ms=world.now_ms + 5_000)

    world.fetcher.list_offsets({}, world.now_ms, done, deadline_ms=world.now_ms + 5_000)
    world.tick()
    assert world.until_due() == 0
    assert second.ended == [({}, None)]


def test_p8_records_of_an_old_format_have_no_times() -> None:
    world = World(T0, T1, start=None)
    outcome = look_up(world, {T0: 1_000})
    old = listed((T0, -1), error_code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    world.answer(world.only(ApiKey.LIST_OFFSETS), old)
    assert outcome.ended == [({T0: None}, None)]


def test_p8_partitions_that_are_not_assigned_can_be_looked_up_too() -> None:
    world = World(T0, start=None)
    world.cluster.lead(OTHER, 1, 3)
    world.tick()
    outcome = look_up(world, {OTHER: -1}, timeout_ms=60_000)
    sent = world.only(ApiKey.LIST_OFFSETS)
    assert sent.timeout_ms == 30_000  # of one request; the look-up has time for another
    assert world.cluster.updates == 0
    world.answer(sent, listed((OTHER, 5), leader_epoch=4))
    assert outcome.ended == [({OTHER: OffsetAndTimestamp(5, -1, 4)}, None)]
    assert world.cluster.epochs[OTHER] == 4


def test_p8_a_topic_that_is_refused_ends_the_look_ups_of_it_and_no_others() -> None:
    world = World(T0, OTHER, start=None)
    refused, other = look_up(world, {T0: -1, OTHER: -1}), look_up(world, {OTHER: -1})
    error = TopicAuthorizationFailedError("no")
    world.fetcher.refuse_lookups({"t"}, error)
    assert (refused.ended, other.ended) == ([(None, error)], [])
    another = look_up(world, {T0: -1})
    world.fetcher.refuse_partition(OTHER, error)
    assert (other.ended, another.ended) == ([(None, error)], [])


def test_p8_an_unknown_leader_is_waited_for() -> None:
    world = World(T0, start=None)
    leader = world.cluster.leaders.pop(T0)
    outcome = look_up(world, {T0: -2})
    assert (world.network.sent, world.cluster.updates) == ([], 1)
    world.cluster.leaders[T0] = leader
    world.cluster.version += 1
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, -1, -1)}, None)]


def test_p8_close_ends_look_ups() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1})
    world.fetcher.close(world.now_ms)
    assert outcome.ended[0][0] is None
    assert outcome.ended[0][1] is not None


@pytest.mark.parametrize(
    ("level", "high", "stable"),
    [(IsolationLevel.READ_UNCOMMITTED, 9, None), (IsolationLevel.READ_COMMITTED, None, 9)],
)
def test_i5_look_ups_tell_how_far_there_is_to_go(
    level: IsolationLevel, high: int | None, stable: int | None
) -> None:
    world = World(T0, isolation_level=level)
    look_up(world, {T0: -1})
    assert world.only(ApiKey.LIST_OFFSETS).body.isolation_level == level.value
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 9)))
    assert world.positions.highwater(T0) == high
    assert world.positions.last_stable_offset(T0) == stable
    look_up(world, {T0: -2})
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 4)))
    assert world.positions.log_start(T0) == 4
