"""Control records as events, for who asked: each once, in order, whatever way records are taken."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from fetch_world import World, batch, data, tp

from kcore.errors import CorruptRecordError
from kcore.events import ControlRecordsPassed
from kcore.fetch.config import IsolationLevel
from kcore.records import encode_batch
from kcore.records.columns import Columns
from kcore.structs import ABORT, COMMIT

T0, T1 = tp(0), tp(1)
PRODUCER = 1000
READ_COMMITTED = IsolationLevel.READ_COMMITTED


def marker(base: int, kind: int, value: bytes | None = b"\0\0\0\0\0\x09") -> bytes:
    row = (70, struct.pack(">hh", 0, kind), value)
    return encode_batch(
        [row],
        base_offset=base,
        control=True,
        transactional=True,
        producer_id=PRODUCER,
        producer_epoch=4,
        leader_epoch=3,
    )


def world_of(*parts: Any, **options: Any) -> World:
    world = World(T0, T1, **({"include_control_records": True} | options))
    world.tick()
    world.fetched(*parts)
    return world


def take_records(world: World, count: int = 100) -> int:
    taken = world.fetcher.take_records(count, world.now_ms)
    world.tick()
    return sum(map(len, taken.values()))


def take_singly(world: World, count: int = 100) -> int:
    """As a core does for `max_poll_records=1`."""
    found = 0
    while found < count:
        try:
            one = world.fetcher.take_next() or world.fetcher.take_records(1, world.now_ms)
        except CorruptRecordError:
            if not found:
                raise
            break  # raised again by the next call
        finally:
            world.tick()
        if not one:
            break
        found += sum(map(len, one.values()))
    return found


def take_columns(world: World, count: int = 100) -> int:
    columns = Columns(count)
    world.fetcher.take_columns(columns, world.now_ms)
    world.tick()
    return len(columns)


def told(world: World) -> list[tuple[int, int, int]]:
    """(partition, offset, kind) of what was said since the last time."""
    found = [
        (event.partition.partition, record.offset, record.kind)
        for event in world.events
        if isinstance(event, ControlRecordsPassed)
        for record in event.records
    ]
    world.events.clear()
    return found


BOTH = pytest.mark.parametrize("take", [take_records, take_singly, take_columns])
LOG = (batch(0, 2), marker(2, COMMIT), batch(3, 1), marker(4, ABORT), marker(5, 77), batch(6, 1))


@BOTH
@pytest.mark.parametrize("level", IsolationLevel)
def test_all_kinds_in_order_once(take: Any, level: IsolationLevel) -> None:
    world = world_of(data(T0, *LOG), data(T1, marker(0, COMMIT)), isolation_level=level)
    assert told(world) == []
    assert take(world, 2) == 2
    assert take(world) == 2
    assert sorted(told(world)) == [(0, 2, COMMIT), (0, 4, ABORT), (0, 5, 77), (1, 0, COMMIT)]
    assert (world.at(T0), world.at(T1)) == (7, 1)
    assert told(world) == []


@BOTH
def test_nothing_is_said_unless_asked(take: Any) -> None:
    world = world_of(data(T0, *LOG), include_control_records=False)
    assert take(world) == 4
    assert told(world) == []


@BOTH
def test_what_the_marker_says(take: Any) -> None:
    world = world_of(data(T0, marker(0, COMMIT)))
    assert take(world) == 0
    (event,) = [one for one in world.events if isinstance(one, ControlRecordsPassed)]
    (record,) = event.records
    assert (event.partition, record.producer_id, record.producer_epoch) == (T0, PRODUCER, 4)
    assert (record.timestamp, record.leader_epoch, record.coordinator_epoch) == (70, 3, 9)


@BOTH
def test_markers_before_what_cannot_be_read(take: Any) -> None:
    bad = bytearray(batch(2, 2))
    bad[-1] ^= 1
    world = world_of(data(T0, batch(0, 1), marker(1, ABORT), bytes(bad)))
    assert take(world) == 1
    for _ in range(3):
        with pytest.raises(CorruptRecordError):
            take(world)
    assert told(world) == [(0, 1, ABORT)]
    assert world.at(T0) == 2, "the marker is behind us, the batch is not"


@BOTH
def test_a_seek_back_says_it_again(take: Any) -> None:
    world = world_of(data(T0, *LOG))
    take(world)
    assert len(told(world)) == 3
    world.positions.seek(T0, 4)
    world.fetched(after_ms=500)  # what was under way
    world.fetched(data(T0, *LOG))
    take(world)
    assert told(world) == [(0, 4, ABORT), (0, 5, 77)]
