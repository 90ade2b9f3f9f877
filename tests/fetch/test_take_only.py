"""Records of some partitions alone, for whoever waits for those."""

from __future__ import annotations

import random

import pytest
from fetch_broker import Brokers, Log
from fetch_world import World, asked, batch, data, failed, listed, tp

from kcore.errors import KafkaError, NoOffsetForPartitionError, TopicAuthorizationFailedError
from kcore.fetch.positions import Positions
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

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


def test_a_reset_that_is_refused_is_raised_for_who_asks_for_its_partition() -> None:
    world = World(A, B, start=None)
    world.positions.seek(B, 0)
    world.positions.reset(A, "earliest")
    world.tick()
    sent = world.only(ApiKey.LIST_OFFSETS)
    world.answer(sent, listed((A, -1), error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert world.fetcher.take_records(9, world.now_ms, {B}) == {}
    with pytest.raises(TopicAuthorizationFailedError):
        world.fetcher.take_records(9, world.now_ms, {A})


def test_what_is_wrong_with_no_partition_is_for_anybody() -> None:
    world = stocked()
    world.fetcher.raise_later(KafkaError("all is lost"))
    with pytest.raises(KafkaError, match="all is lost"):
        world.fetcher.take_records(9, world.now_ms, {B})


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


def test_who_is_wanted_is_fetched_though_it_is_assigned_later() -> None:
    world = World(A)
    world.cluster.lead(B, 1)
    world.positions.want({B})
    world.positions.assign([A, B])
    world.positions.seek(B, 0)
    world.tick()
    assert asked(world.only()).keys() == {B}


def test_wanting_is_apart_from_pausing() -> None:
    positions = Positions("earliest")
    positions.assign([A, B])
    positions.pause([A])
    positions.want({A})
    positions.want(None)
    assert positions.paused() == {A}


def test_groups_that_are_asked_for_by_turns_are_read_evenly() -> None:
    """Who is left aside and comes back keeps its place; else the first ones would be read again and
    again, and the others never.
    """
    rng = random.Random(3)
    groups = [[tp(number) for number in range(20)], [tp(number) for number in range(20, 40)]]
    every = groups[0] + groups[1]
    logs = {where: Log(rng, 400) for where in every}
    brokers = Brokers(logs, rng)
    brokers.leaders = dict.fromkeys(every, 1)
    world = World(*every, fetch_max_bytes=800, max_partition_fetch_bytes=200, fetch_ahead_bytes=800)
    world.tick()
    for turn in range(800):
        group = groups[turn % 2]
        world.positions.want(set(group))
        world.tick()
        taken: object = None
        while not taken:
            for sent in world.pending(ApiKey.FETCH):
                world.answer(sent, brokers.answer_for(sent))
            taken = world.fetcher.take_records(5, world.now_ms, set(group))
            world.tick()
    for group in groups:
        read = sorted(world.at(where) or 0 for where in group)
        assert read[0] > read[-1] / 3
