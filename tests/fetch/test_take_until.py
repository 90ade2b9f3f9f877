"""Records below given ends alone: positions come to the ends, and what follows is as it was."""

from __future__ import annotations

import random

import pytest
from fetch_broker import Brokers, Log
from fetch_world import World, batch, data, failed, marker, offsets, tp

from kcore.errors import (
    CorruptRecordError,
    DeserializationError,
    KafkaError,
    NoOffsetForPartitionError,
    TopicAuthorizationFailedError,
)
from kcore.events import ControlRecordsPassed
from kcore.fetch.config import TAKE_BYTES
from kcore.structs import OffsetAndMetadata
from kcore.wire.codes import ErrorCode

A, B = tp(0), tp(1)


def stocked(*batches: bytes, **options) -> World:
    world = World(A, B, **options)
    world.tick()
    world.fetched(data(A, *batches))
    return world


def below(world: World, end: int, count: int = 500) -> list[int]:
    """What there is of A, taken at once."""
    taken = world.fetcher.take_until(count, world.now_ms, {A: end})
    return offsets(taken.get(A, []))


@pytest.mark.parametrize("count", [1, 3, 500])
@pytest.mark.parametrize("seed", range(20))
def test_any_ends_in_any_logs(seed: int, count: int) -> None:
    rng = random.Random(seed)
    logs = {tp(number): Log(rng, 30) for number in range(4)}
    brokers = Brokers(logs, rng)
    brokers.leaders = dict.fromkeys(logs, 1)
    world = World(*logs, seed=seed, max_partition_fetch_bytes=400, fetch_ahead_bytes=1_000)
    ends = dict.fromkeys(logs, 0)
    seen: dict = {where: [] for where in logs}
    for _ in range(4):
        ends = {where: rng.randint(end, logs[where].end) for where, end in ends.items()}
        for _ in range(2_000):
            world.tick()
            places = world.positions.offsets(ends)
            behind = {where: end for where, end in ends.items() if places[where] < end}
            if not behind:
                break
            world.positions.want(frozenset(behind))
            taken = world.fetcher.take_until(count, world.now_ms, behind)
            for where, records in taken.items():
                seen[where] += offsets(records)
            if not taken:
                world.until_due()
                for sent in list(world.network.sent):
                    world.answer(sent, brokers.answer_for(sent))
        assert not behind
        for where, end in ends.items():
            assert seen[where] == [offset for offset in logs[where].visible if offset < end]


def test_what_follows_stays_buffered() -> None:
    world = stocked(batch(0, 5), batch(5, 5))
    assert below(world, 3) == [0, 1, 2]
    assert world.at(A) == 3
    assert below(world, 3) == []
    assert world.take() == {A: [3, 4, 5, 6, 7, 8, 9]}


def test_an_end_in_a_gap_is_where_the_position_comes_to() -> None:
    world = stocked(batch(0, epoch=4), batch(1, epoch=5), batch(8, 2, epoch=6))
    held = world.fetcher.buffered_bytes
    assert below(world, 4) == [0, 1]
    assert below(world, 4) == []
    assert world.at(A) == 4
    assert world.positions.consumed()[A] == OffsetAndMetadata(4, "", 5)
    assert world.fetcher.buffered_bytes == held
    assert world.take() == {A: [8, 9]}


def test_the_last_batch_of_a_log_may_end_in_a_gap() -> None:
    world = stocked(batch(0, 2, last=6))
    assert below(world, 7) == [0, 1]
    assert below(world, 7) == []
    assert world.at(A) == 7


def test_others_and_what_is_wrong_with_them_wait() -> None:
    world = World(A, B)
    world.tick()
    world.fetched(failed(B, 29), data(A, batch(0, 2)))
    assert below(world, 2) == [0, 1]
    assert below(world, 3) == []
    with pytest.raises(TopicAuthorizationFailedError):
        world.take()


def test_what_is_wrong_with_its_own_is_raised() -> None:
    world = stocked(batch(0, 2), bytes(1) + batch(2)[1:-1] + b"x")
    assert below(world, 3) == [0, 1]
    with pytest.raises(CorruptRecordError):
        below(world, 3)


def test_what_is_wrong_with_no_partition_is_raised() -> None:
    world = stocked(batch(0, 3))
    world.fetcher.raise_later(KafkaError("all is lost"))
    with pytest.raises(KafkaError, match="all is lost"):
        below(world, 3)
    assert below(world, 3) == [0, 1, 2]


def test_who_has_no_position_is_told_so() -> None:
    world = World(A, B, policy="none", start=None)
    world.positions.seek(B, 0)
    world.positions.reset_initializing([A])
    assert world.fetcher.take_until(9, world.now_ms, {B: 3}) == {}
    with pytest.raises(NoOffsetForPartitionError):
        world.fetcher.take_until(9, world.now_ms, {A: 3, B: 3})


@pytest.mark.parametrize("end", [4, 6])
def test_what_is_wrong_beyond_the_end_waits_for_who_asks_for_it(end: int) -> None:
    spoilt = batch(6, 2)
    world = stocked(batch(0, 2), spoilt[:-1] + bytes([spoilt[-1] ^ 1]))
    assert below(world, end) == [0, 1]
    assert below(world, end) == []
    assert world.at(A) == end
    with pytest.raises(CorruptRecordError):
        world.take()


def test_who_is_there_already_gives_nothing_when_another_has_begun_anew() -> None:
    world = World(A, B, policy="earliest")
    world.tick()
    world.fetched(data(A, batch(0, 2)), session_id=7)
    world.fetched(failed(A, ErrorCode.OFFSET_OUT_OF_RANGE), session_id=7)
    assert below(world, 2) == [0, 1]
    world.fetched(data(B, batch(0, 2)), session_id=7)
    behind = {A: 5, B: 0}
    assert world.fetcher.take_until(9, world.now_ms, behind) == {}
    assert behind == {A: 5}
    assert world.at(A) is None
    assert world.at(B) == 0
    assert world.take() == {B: [0, 1]}


def test_what_is_known_to_be_wrong_beyond_the_end_keeps_nobody_from_coming_there() -> None:
    spoilt = batch(6, 2)
    world = stocked(batch(0, 2), spoilt[:-1] + bytes([spoilt[-1] ^ 1]))
    assert world.take() == {A: [0, 1]}
    for end in (4, 6):
        with pytest.raises(CorruptRecordError):
            world.take()
        assert below(world, end) == []
        assert world.at(A) == end
    assert below(world, 4) == []
    assert world.at(A) == 6
    with pytest.raises(CorruptRecordError):
        below(world, 7)


def test_a_deserializer_beyond_the_end_likewise() -> None:
    def refuse(topic: str, headers: list, value: bytes) -> bytes:
        if value.startswith(b"6"):
            raise ValueError
        return value

    world = stocked(batch(0, 2), batch(6, 2), value_deserializer=refuse)
    assert below(world, 4) == [0, 1]
    assert below(world, 4) == []
    assert world.at(A) == 4
    with pytest.raises(DeserializationError):
        world.take()


def test_markers_are_told_once_and_when_they_were_passed() -> None:
    def told() -> list[int]:
        return [
            one.offset
            for event in world.events
            if isinstance(event, ControlRecordsPassed)
            for one in event.records
        ]

    world = stocked(
        batch(0, 2, producer=7, transactional=True),
        marker(2, 7, commit=True),
        marker(6, 7, commit=True),
        batch(8),
        include_control_records=True,
    )
    assert below(world, 5) == [0, 1]
    assert below(world, 5) == []
    assert (world.at(A), told()) == (5, [2])
    assert world.take() == {A: [8]}
    assert told() == [2, 6]


def test_taken_back_like_all_else() -> None:
    world = stocked(batch(0, 2), batch(8, 2))
    world.fetcher.hand_over()
    assert below(world, 1) == [0]
    assert below(world, 4) == [1]
    assert below(world, 4) == []
    world.fetcher.take_back()
    assert world.at(A) == 0
    world.positions.seek(A, 9)
    world.fetcher.take_back()  # once
    assert world.at(A) == 9


def test_the_count_of_what_was_taken_is_of_what_came_out() -> None:
    world = stocked(batch(0, 2), batch(8, 2))
    before = world.fetcher.single.taken
    assert below(world, 2) == [0, 1]
    assert world.fetcher.single.taken == before + 1
    for end in (4, 4):
        assert below(world, end) == []
        assert world.fetcher.single.taken == before + 1


def test_as_many_bytes_are_taken_at_once_as_without_ends() -> None:
    third = batch(0, 3, size=TAKE_BYTES // 9)
    partitions = [tp(number) for number in range(6)]
    world = World(*partitions)
    world.tick()
    world.fetched(*(data(where, third) for where in partitions))
    taken = world.fetcher.take_until(500, world.now_ms, dict.fromkeys(partitions, 3))
    assert sum(map(len, taken.values())) in range(9, 11)


def test_one_by_one_goes_no_further_than_the_end() -> None:
    world = stocked(batch(0, 9))
    assert below(world, 9, count=1) == [0]
    assert offsets(world.fetcher.take_inside()[A]) == [1]
    assert below(world, 4, count=1) == [2]
    assert world.fetcher.take_inside() is None


def test_a_partition_that_is_through_is_taken_out() -> None:
    world = stocked(batch(0, 9))
    behind = {A: 2, B: 1}
    world.fetcher.take_until(500, world.now_ms, behind)
    assert behind == {B: 1}


def test_who_reads_on_one_by_one_goes_on_at_the_end_that_was_read_up_to() -> None:
    """Over a gap more was read than was handed over."""
    world = stocked(batch(0, 4), batch(10, 8))
    assert [world.take(1), world.take(1)] == [{A: [0]}, {A: [1]}]
    behind = {A: 6}
    taken = world.fetcher.take_until(9, world.now_ms, behind)
    assert (offsets(taken[A]), world.at(A)) == ([2, 3], 6)
    assert [world.take(1), world.take(1)] == [{A: [10]}, {A: [11]}]
