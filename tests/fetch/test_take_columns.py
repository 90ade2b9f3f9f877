"""`take_columns` keeps the rules that `take_records` keeps: their tests, run through columns."""

from __future__ import annotations

from typing import Any

import pytest
import test_fetch_budget
import test_fetch_random
import test_fetch_requests
import test_fetch_rules
from fetch_world import World, batch, data, tp

from kcore.errors import CorruptRecordError, KafkaError, NoOffsetForPartitionError
from kcore.records.batch import batches_of
from kcore.records.columns import Columns
from kcore.structs import OffsetAndMetadata, TopicPartition

T0, T1 = tp(0), tp(1)

# Deserializers are not asked for columns, which have bounds of their own.
NOT_OURS = {
    "test_f10_a_failing_deserializer_is_retried_in_place",
    "test_large_records_are_handed_over_a_few_at_a_time",
}
for module in (test_fetch_rules, test_fetch_requests, test_fetch_budget, test_fetch_random):
    for name, test in vars(module).items():
        if name.startswith("test_") and name not in NOT_OURS:
            globals()[name] = test


def take(world: World, count: int = 500) -> dict[TopicPartition, list[int]]:
    """`World.take` through columns."""
    if count == 0:
        return {}
    columns = Columns(count, views=True, with_headers=True)
    world.fetcher.take_columns(columns, world.now_ms)
    world.tick()
    taken: dict[TopicPartition, list[int]] = {}
    for part in batches_of(columns):
        taken.setdefault(TopicPartition(part.topic, part.partition), []).extend(part.offsets)
    return taken


def take_error(world: World, kind: type[Exception] = KafkaError, count: int = 500) -> Any:
    columns = Columns(count)
    try:
        world.fetcher.take_columns(columns, world.now_ms)
    except kind as error:
        world.tick()
        assert len(columns) == 0
        return error
    raise AssertionError(f"nothing was raised, but taken: {columns}")


@pytest.fixture(autouse=True)
def _through_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "take", take)
    monkeypatch.setattr(World, "take_error", take_error)


def test_positions_move_past_what_was_handed_over() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, batch(0, 3)), data(T1, batch(0, 3)))
    columns = Columns(4)
    world.fetcher.take_columns(columns, world.now_ms)
    assert columns.spans() == [("t", 0, 0, 3), ("t", 1, 3, 4)]
    assert world.positions.consumed() == {
        T0: OffsetAndMetadata(3, "", -1),
        T1: OffsetAndMetadata(1, "", -1),
    }


def test_bytes_bound_a_call() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 9, size=100)))
    seen = 0
    while seen < 9:
        columns = Columns(max_bytes=350)
        world.fetcher.take_columns(columns, world.now_ms)
        assert len(columns) == 3
        seen += len(columns)
        assert world.at(T0) == seen


def test_records_and_columns_may_be_taken_in_turn() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 4), batch(4, 4)))
    assert take(world, 3) == {T0: [0, 1, 2]}
    records = world.fetcher.take_records(3, world.now_ms)
    assert [record.offset for record in records[T0]] == [3, 4, 5]
    assert take(world) == {T0: [6, 7]}


def test_an_error_waits_for_the_rows_in_hand() -> None:
    world = World(T0, T1)
    world.tick()
    bad = bytearray(batch(0, 2))
    bad[-1] ^= 1
    world.fetched(data(T0, batch(0, 2)), data(T1, bytes(bad)))
    assert take(world) == {T0: [0, 1]}
    assert take_error(world, CorruptRecordError).partition == T1
    assert take_error(world, CorruptRecordError).partition == T1
    assert world.at(T1) == 0


def test_who_has_no_position_is_told_so() -> None:
    world = World(T0, policy="none", start=None)
    world.positions.reset_initializing([T0])
    assert take_error(world, NoOffsetForPartitionError).partitions == {T0}


def test_views_outlive_the_shelf() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 2)))
    columns = Columns(views=True, with_headers=True)
    world.fetcher.take_columns(columns, world.now_ms)
    assert world.fetcher.buffered_bytes == 0
    world.fetcher.close(world.now_ms)
    (part,) = batches_of(columns)
    assert part.values.tolist() == [b"0 ..........", b"1 .........."]
