"""Where a partition begins and where it goes on when its records are gone: two policies."""

from __future__ import annotations

import pytest
from fetch_world import World, batch, data, failed, listed, tp

from kcore.errors import NoOffsetForPartitionError, OffsetOutOfRangeError
from kcore.events import OffsetReset
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1 = tp(0), tp(1)


@pytest.mark.parametrize("buffered", [False, True])
def test_where_to_begin_is_not_where_to_go_when_records_are_gone(buffered: bool) -> None:
    """PAINS 12: who begins at an end need not jump there from the middle."""
    world = World(T0, policy="latest", out_of_range="none", start=None)
    world.positions.reset_initializing([T0])
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 50)))
    assert (world.at(T0), world.events) == (50, [OffsetReset(T0, 50, "latest")])
    if buffered:
        world.fetched(data(T0, batch(50, 3)))
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    if buffered:
        assert world.take() == {T0: [50, 51, 52]}
    error = world.take_error(OffsetOutOfRangeError)
    assert error.offset == world.at(T0) == (53 if buffered else 50)
    assert "out_of_range_reset" in str(error)
    assert len(world.events) == 1 + buffered
    assert not world.pending(ApiKey.LIST_OFFSETS)


def test_without_a_place_to_begin_there_may_be_one_to_go_to() -> None:
    world = World(T0, policy="none", out_of_range="earliest", start=50)
    world.tick()
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 70)))
    assert world.at(T0) == 70
    world.positions.assign([T1])
    world.positions.reset_initializing([T1])
    world.tick()
    assert world.take_error(NoOffsetForPartitionError).partitions == {T1}


def test_a_leader_that_has_not_what_it_listed_is_asked_again_after_the_backoff() -> None:
    """It was asked some hundred times a second, without a pause."""
    world = World(T0, policy="earliest", start=50)
    world.tick()
    began_ms = world.now_ms
    for time in range(5):
        world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
        assert bool(world.pending(ApiKey.LIST_OFFSETS)) is (time == 0)
        if time:
            assert world.until_due() >= 80 * 2 ** (time - 1)
        world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 70)))
    assert world.now_ms - began_ms >= 15 * 80
    assert world.cluster.updates == 4
    world.fetched(data(T0, batch(70, 3)))
    assert world.take() == {T0: [70, 71, 72]}
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))  # what is trimmed behind that
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 90)))
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    assert 80 <= world.until_due() <= 120
