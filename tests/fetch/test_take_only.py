"""Records of some partitions alone, for whoever waits for those."""

from __future__ import annotations

import pytest
from fetch_world import World, asked, batch, data, failed, tp

from kcore.errors import NoOffsetForPartitionError, TopicAuthorizationFailedError
from kcore.fetch.positions import Positions

A, B = tp(0), tp(1)


def stocked() -> World:
    world = World(A, B)
    world.tick()
    world.fetched(data(A, batch(0, 3)), data(B, batch(0, 3)))
    return world


def test_only_these() -> None:
    world = stocked()
    taken = world.fetcher.take_records(2, world.now_ms, {B})
    assert {where: [r.offset for r in rows] for where, rows in taken.items()} == {B: [0, 1]}
    assert (world.at(A), world.at(B)) == (0, 2)
    assert world.fetcher.take_records(9, world.now_ms, {tp(7)}) == {}
    assert world.take() == {A: [0, 1, 2], B: [2]}


def test_what_is_wrong_with_others_waits_for_who_asks_for_them() -> None:
    world = World(A, B)
    world.tick()
    world.fetched(failed(A, 29), data(B, batch(0, 2)))
    taken = world.fetcher.take_records(9, world.now_ms, {B})
    assert [record.offset for record in taken[B]] == [0, 1]
    assert world.fetcher.take_records(9, world.now_ms, {B}) == {}
    with pytest.raises(TopicAuthorizationFailedError):
        world.fetcher.take_records(9, world.now_ms, {A})


def test_the_same_where_nothing_is_committed() -> None:
    world = World(A, B, policy="none", start=None)
    world.positions.seek(B, 0)
    world.positions.reset_initializing([A])
    assert world.fetcher.take_records(9, world.now_ms, {B}) == {}
    with pytest.raises(NoOffsetForPartitionError) as caught:
        world.fetcher.take_records(9, world.now_ms, {A})
    assert caught.value.partitions == {A}


def test_what_nobody_wants_is_kept_and_not_fetched() -> None:
    world = World(A, B)
    world.tick()
    world.positions.want({B})
    world.fetched(data(A, batch(0, 3)), data(B, batch(0, 3)))
    assert asked(world.only()).keys() == {B}
    assert world.take() == {B: [0, 1, 2]}
    assert "aside" in world.fetcher.health(A)
    world.positions.want(None)
    assert world.take() == {A: [0, 1, 2]}


def test_what_is_assigned_meanwhile_is_left_aside_too() -> None:
    world = World(B)
    world.positions.want({B})
    world.positions.assign([A, B])
    for where in (A, B):
        world.positions.seek(where, 0)
    world.tick()
    assert asked(world.only()).keys() == {B}
    assert "aside" in world.fetcher.health(A)
    world.positions.want(None)
    assert "aside" not in world.fetcher.health(A)


def test_wanting_is_apart_from_pausing() -> None:
    positions = Positions("earliest")
    positions.assign([A, B])
    positions.pause([A])
    positions.want({A})
    positions.want(None)
    assert positions.paused() == {A}
