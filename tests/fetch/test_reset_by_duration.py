"""Resets by duration (KIP-1106): the first record that is young enough, or the end."""

from __future__ import annotations

import pytest
from fetch_world import World, data, failed, listed, tp

from kcore.errors import IllegalArgumentError
from kcore.events import OffsetReset
from kcore.fetch.config import ResetStrategy
from kcore.fetch.positions import Positions
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1 = tp(0), tp(1)
HOUR = "by_duration:PT1H"
HOUR_MS = 3_600_000
WALL_MS = 1_800_000_000_000  # what is added to the world's clock


def world_of(*partitions, **options) -> World:
    options = {"policy": HOUR, "start": None, "wall_offset_ms": WALL_MS} | options
    world = World(*partitions, **options)
    world.positions.reset_initializing(partitions)
    world.tick()
    return world


def asked_for(world: World, node: int | None = None) -> list[int]:
    """The timestamps of the one request under way."""
    (topic,) = world.only(ApiKey.LIST_OFFSETS, node).body.topics
    return [one.timestamp for one in topic.partitions]


def answer(world: World, *found, **fields) -> None:
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed(*found, **fields))


def hour_ago(world: World) -> int:
    return WALL_MS + world.now_ms - HOUR_MS


def test_it_is_the_first_record_that_is_young_enough() -> None:
    world = world_of(T0, T1)
    assert asked_for(world) == [-1, -1]
    answer(world, (T0, 50), (T1, 60))
    assert asked_for(world) == [hour_ago(world)] * 2
    assert world.at(T0) is None
    assert f"looking up the {HOUR} offset" in world.fetcher.health(T0)
    answer(world, (T0, 20), (T1, 60))
    assert (world.at(T0), world.at(T1)) == (20, 60)
    assert world.events == [OffsetReset(T0, 20, HOUR), OffsetReset(T1, 60, HOUR)]


def test_if_none_is_it_is_the_end_that_was_there_before() -> None:
    """A record that was written since would be passed over by an end that is asked for then."""
    world = world_of(T0)
    answer(world, (T0, 50))
    answer(world, (T0, -1), leader_epoch=-1)
    assert world.at(T0) == 50
    assert world.events == [OffsetReset(T0, 50, HOUR)]
    assert not world.pending(ApiKey.LIST_OFFSETS)


def test_who_told_the_end_is_asked_for_the_time_though_nobody_leads_any_more() -> None:
    world = world_of(T0)
    world.cluster.leaders.clear()
    answer(world, (T0, 50))
    (topic,) = world.only(ApiKey.LIST_OFFSETS).body.topics
    assert topic.partitions[0].current_leader_epoch == -1
    answer(world, (T0, 20))
    assert world.at(T0) == 20


def test_an_empty_partition_begins_at_its_beginning() -> None:
    world = world_of(T0)
    answer(world, (T0, 0))
    answer(world, (T0, -1))
    assert world.at(T0) == 0


def test_before_1970_there_is_nothing() -> None:
    """ListOffsets has other meanings for times below 0."""
    world = world_of(T0, policy="by_duration:P99999D")
    answer(world, (T0, 50))
    assert asked_for(world) == [0]


@pytest.mark.parametrize("which", ["the end", "the time"])
@pytest.mark.parametrize("how", ["disconnect", "error", "left out"])
def test_what_fails_begins_anew_with_the_time_it_is_then(which: str, how: str) -> None:
    world = world_of(T0)
    if which == "the time":
        answer(world, (T0, 50))
    if how == "disconnect":
        world.fail(world.only(ApiKey.LIST_OFFSETS))
    elif how == "error":
        answer(world, (T0, 40), error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    else:
        answer(world, (T1, 40))
    assert (world.at(T0), world.network.sent) == (None, [])
    assert 80 <= world.until_due() <= 120
    assert asked_for(world) == [-1]
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 55)), after_ms=5_000)
    assert asked_for(world) == [hour_ago(world)]
    answer(world, (T0, -1))
    assert world.at(T0) == 55


def test_an_end_is_never_below_zero() -> None:
    world = world_of(T0)
    answer(world, (T0, -1))
    assert (world.at(T0), world.network.sent) == (None, [])
    world.until_due()
    assert asked_for(world) == [-1]


def test_the_second_question_is_not_sent_twice() -> None:
    world = world_of(T0)
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 50)), after_ms=20_000)
    world.tick(15_000)  # the first would have been given up by now
    assert asked_for(world) == [hour_ago(world) - 15_000]
    world.tick(15_000)
    assert (
        len(world.pending(ApiKey.LIST_OFFSETS)) == 2
    )  # an answer that never comes is not waited for


@pytest.mark.parametrize("how", ["sought", "elsewhere", "given up"])
def test_p6_who_does_not_want_it_any_more_is_not_asked_for_again(how: str) -> None:
    world = world_of(T0)
    first = world.only(ApiKey.LIST_OFFSETS)
    if how == "sought":
        world.positions.seek(T0, 7)
    elif how == "elsewhere":
        world.positions.reset(T0, "earliest")
    else:
        world.positions.assign([T1])
    world.answer(first, listed((T0, 50)))
    asked = [
        one.body.topics[0].partitions[0].timestamp for one in world.pending(ApiKey.LIST_OFFSETS)
    ]
    assert asked == ([-2] if how == "elsewhere" else [])
    assert not world.events


def test_others_of_the_same_leader_take_one_question() -> None:
    world = world_of(T0, out_of_range="earliest")
    world.positions.assign([T0, T1])
    world.positions.reset(T0, HOUR)
    world.positions.reset(T1, "earliest")
    world.cluster.lead(T1, 1)
    world.network.sent.clear()
    world.tick()
    assert asked_for(world) == [-1, -2]
    answer(world, (T0, 50), (T1, 3))
    assert (world.at(T0), world.at(T1)) == (None, 3)
    assert asked_for(world) == [hour_ago(world)]
    answer(world, (T0, 20))
    assert world.at(T0) == 20


def test_records_that_are_gone_have_their_own_and_now_moves_on() -> None:
    world = World(T0, policy="none", out_of_range=HOUR, start=5, wall_offset_ms=WALL_MS)
    for later_ms, end, found, at in ((0, 90, 80, 80), (7_000, 99, -1, 99)):
        world.tick(later_ms)
        world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
        answer(world, (T0, end))
        assert asked_for(world) == [hour_ago(world)]
        answer(world, (T0, found))
        assert world.at(T0) == at
        world.fetched(data(T0))  # the leader agrees


@pytest.mark.parametrize("policies", [(HOUR, None), (HOUR, "none"), ("none", HOUR)])
def test_without_the_time_of_day_it_is_refused(policies: tuple[str, str | None]) -> None:
    with pytest.raises(IllegalArgumentError, match="'by_duration:PT1H' needs the time of day"):
        Positions(*policies)
    positions = Positions()
    positions.assign([T0])
    with pytest.raises(IllegalArgumentError, match="wall_ms"):
        positions.reset(T0, HOUR)


def test_a_strategy_is_what_was_said() -> None:
    assert ResetStrategy.of("latest") is ResetStrategy.LATEST
    assert ResetStrategy.of(ResetStrategy.NONE) is ResetStrategy.NONE
    found = ResetStrategy.of("BY_DURATION:pt1h")
    assert (found.value, found.duration_ms) == (HOUR, HOUR_MS)
    assert found == ResetStrategy.of(HOUR) != ResetStrategy.of("by_duration:PT60M")
    for wrong in (
        "newest",
        "by_duration",
        "by_duration:",
        "by_duration:PT1\u017f",
        "by_duration:-PT1S",
    ):
        with pytest.raises(ValueError, match=r"no reset strategy|duration"):
            ResetStrategy.of(wrong)
