"""Answers that lead nowhere: the application is told where it stands, and how to go on."""

from __future__ import annotations

import contextlib
import traceback
import tracemalloc

import pytest
from fetch_world import World, asked, batch, data, failed, tp, validated

from kcore.errors import CorruptRecordError, DeserializationError
from kcore.fetch.config import STALE_ANSWERS_MAX
from kcore.records.columns import Columns
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1 = tp(0), tp(1)
EPOCHS = ApiKey.OFFSET_FOR_LEADER_EPOCH
KIB = 1024


def stale(world: World, answers: int) -> None:
    """Answers that end before the offset asked for; the other partition has nothing new."""
    while answers:
        if T0 in asked(world.only()):
            world.fetched(data(T0, batch(0, 3)), data(T1))
            answers -= 1
        else:
            world.fetched(after_ms=500)


def test_batches_that_end_before_the_offset_asked_for_are_no_silent_stall() -> None:
    world = World(T0, T1, start=5)
    world.tick()
    stale(world, STALE_ANSWERS_MAX)
    assert world.take() == {}
    stale(world, 1)
    for _ in range(3):
        error = world.take_error(CorruptRecordError)
        assert (error.partition, error.first_offset, error.last_offset) == (T0, 5, 5)
        assert "batches that end before it" in str(error)
        assert "seek to 6 to skip it" in str(error)
        world.fetched(after_ms=500)
        assert asked(world.only()) == {T1: 5}, "the others go on"
    assert world.at(T0) == 5
    world.positions.seek(T0, 5)  # try again
    world.fetched(after_ms=500)
    stale(world, 1)
    assert world.take() == {}
    while T0 not in asked(world.only()):
        world.fetched(after_ms=500)
    world.fetched(data(T0, batch(5, 1)), data(T1))
    assert world.take() == {T0: [5]}


def test_one_good_answer_among_them_is_enough() -> None:
    world = World(T0, T1, start=5)
    world.tick()
    for start in (5, 6):
        stale(world, STALE_ANSWERS_MAX)
        assert world.take() == {}
        while T0 not in asked(world.only()):
            world.fetched(after_ms=500)
        world.fetched(data(T0, batch(start, 1)), data(T1))
        assert world.take() == {T0: [start]}


def test_errors_of_another_kind_do_not_count_among_them() -> None:
    world = World(T0, start=5)
    world.tick()
    for _ in range(STALE_ANSWERS_MAX):
        world.fetched(failed(T0, ErrorCode.UNKNOWN_SERVER_ERROR))
        world.until_due()
    world.fetched(data(T0, batch(0, 3)))
    assert world.take() == {}


@pytest.mark.parametrize("cut", [1, 11, 12, 26, 27, 60, 61])
def test_a_batch_that_is_cut_off_is_named_as_far_as_it_is_known(cut: int) -> None:
    whole = batch(3, 9)  # offsets 3 to 11
    world = World(T0, start=5)
    world.tick()
    world.fetched(data(T0, whole[:cut]))
    for _ in range(2):
        error = world.take_error(CorruptRecordError)
        last = 11 if cut >= 27 else 5
        assert (error.partition, error.first_offset, error.last_offset) == (T0, 5, last)
        assert f"the broker sent {cut} bytes" in str(error)
        assert f"seek to {last + 1} to skip it" in str(error)
        assert "max_partition_fetch_bytes" in str(error)


def test_the_first_batch_of_a_log_says_how_far_it_goes_as_well() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 9)[:70]))
    assert world.take_error(CorruptRecordError).last_offset == 8


def test_behind_the_last_offset_there_is_none_to_seek_to() -> None:
    whole = bytearray(batch(3, 9))
    whole[0:8] = (2**63 - 5).to_bytes(8, "big")  # and 8 more would be too many
    world = World(T0, start=2**63 - 4)
    world.tick()
    world.fetched(data(T0, bytes(whole[:70])))
    assert world.take_error(CorruptRecordError).last_offset == 2**63 - 2


@pytest.mark.parametrize(
    ("at", "field"),
    [
        (0, b"\xff" * 8),  # base offset -1
        (0, b"\0" * 7 + b"\x06"),  # behind the offset asked for
        (0, b"\x7f" + b"\xff" * 7),
        (16, b"\x03"),  # magic
        (16, b"\x01"),  # which has no such fields
        (23, b"\xff" * 4),  # last offset delta -1
        (23, b"\0" * 4),  # all of it before the offset asked for
    ],
)
def test_what_a_cut_off_header_says_is_not_believed(at: int, field: bytes) -> None:
    whole = bytearray(batch(3, 9))
    whole[at : at + len(field)] = field
    world = World(T0, start=5)
    world.tick()
    world.fetched(data(T0, bytes(whole[:70])))
    assert world.take_error(CorruptRecordError).last_offset == 5


def refuse(topic: str, headers: object, raw: bytes) -> bytes:
    if raw.startswith(b"2 "):
        raise ValueError
    return raw


def stuck(world: World, *, spoil: bool) -> None:
    """The application is at 2, where nothing can be read, or `refuse` has it so."""
    whole = bytearray(batch(2, 2, epoch=1))
    whole[-1] ^= spoil
    world.fetched(data(T0, batch(0, 2, epoch=1), bytes(whole)), session_id=7)
    assert world.take() == {T0: [0, 1]}
    world.take_error(CorruptRecordError if spoil else DeserializationError)
    assert world.fetcher.health(T0) == "stuck at offset 2: an error waits to be raised"


@pytest.mark.parametrize("spoil", [False, True])
def test_what_another_leader_has_of_it_is_fetched(spoil: bool) -> None:
    """One replica's disk is bad: that it leads no more is the cure."""
    world = World(T0, value_deserializer=refuse)
    world.cluster.lead(T0, 1, 1)
    world.tick()
    stuck(world, spoil=spoil)
    world.cluster.lead(T0, 2, 2)
    world.tick()
    world.answer(world.only(EPOCHS), validated((T0, 1, 100)))
    assert asked(world.only(node=2)) == {T0: 2}
    world.fetched(data(T0, batch(3, 2, epoch=1)), node=2)
    assert world.take() == {T0: [3, 4]}


@pytest.mark.parametrize("spoil", [False, True])
def test_what_gave_way_while_it_was_paused_is_fetched_again(spoil: bool) -> None:
    """Nobody would hear of it any more."""
    sizes = {"max_buffered_bytes": 1_000, "max_partition_fetch_bytes": 1_000}
    world = World(T0, T1, value_deserializer=refuse, **sizes)
    world.tick()
    stuck(world, spoil=spoil)
    world.positions.pause([T0])
    world.tick()
    assert not world.fetcher.buffered_bytes
    world.positions.resume([T0])
    world.fetched(session_id=7, after_ms=500)
    assert asked(world.only())[T0] == 2


def test_an_error_that_stays_does_not_grow() -> None:
    """Whoever goes on polling gets the same one each time, and a raise adds frames to it."""
    world = World(T0, start=5)
    world.tick()
    world.fetched(data(T0, batch(3, 9)[:70]))
    frames = {
        len(traceback.extract_tb(world.take_error(CorruptRecordError).__traceback__))
        for _ in range(5)
    }
    assert len(frames) == 1


def test_what_a_deserializer_takes_at_last_counts_again() -> None:
    """No more is fetched before it is nearly handed over."""
    refused = [b"0 "]

    def value(topic: str, headers: object, raw: bytes) -> bytes:
        if raw[:2] in refused:
            raise ValueError("no")
        return raw

    world = World(T0, fetch_ahead_bytes=100 * KIB, value_deserializer=value)
    world.tick()
    for begin in (0, 90):
        batches = [batch(first, 10, size=KIB) for first in range(begin, begin + 90, 10)]
        world.fetched(data(T0, *batches), session_id=7)
    for _ in range(2):
        world.take_error(DeserializationError)
    assert not world.pending(ApiKey.FETCH)
    refused.clear()
    assert world.take(70) == {T0: list(range(70))}
    assert not world.pending(ApiKey.FETCH)
    world.take(20)
    assert asked(world.only()) == {T0: 180}


def test_what_a_deserializer_refuses_does_not_hold_up_the_others() -> None:
    """It is kept for the next try, and no more of its partition is fetched until that succeeds."""
    poison = True

    def value(topic: str, headers: object, raw: bytes) -> bytes:
        if poison and topic == "other":
            raise ValueError("no")
        return raw

    poisoned = [tp(number, "other") for number in range(10)]
    world = World(
        T0,
        *poisoned,
        max_partition_fetch_bytes=100 * KIB,
        fetch_ahead_bytes=400 * KIB,
        value_deserializer=value,
    )
    world.tick()
    for first in range(0, 200, 10):
        asks = world.fetcher._planner.nodes[1].session.asks
        more = [
            data(where, batch(asks[where].offset, 90, size=KIB))
            for where in [one for one in asks if one != T0][:3]
        ]
        world.fetched(data(T0, batch(first, 10)), *more, session_id=7)
        for _ in range(len(poisoned) + 3):
            with contextlib.suppress(DeserializationError):
                assert set(world.take()) <= {T0}
        world.tick()
        assert world.at(T0) == first + 10
    where = poisoned[0]
    assert T0 in asked(world.only())
    assert world.fetcher.health(where) == "stuck at offset 0: an error waits to be raised"
    assert world.fetcher.buffered_bytes < 2 * len(poisoned) * 100 * KIB
    poison = False
    taken = dict.fromkeys(poisoned, 0)
    while any(count < 90 for count in taken.values()):
        for one, offsets in world.take().items():
            assert offsets[0] == taken[one]
            taken[one] += len(offsets)
    world.fetched(data(T0), session_id=7, after_ms=500)
    assert asked(world.only())[where] == taken[where]


@pytest.mark.parametrize("spoil", [-1, 16])
def test_an_error_that_stays_holds_no_answer(spoil: int) -> None:
    """Nor does what it has of where it was raised."""
    unreadable = [tp(number) for number in range(20)]
    world = World(*unreadable, fetch_ahead_bytes=10_000 * KIB)
    world.tick()
    tracemalloc.start()
    for where in unreadable:
        whole = bytearray(batch(0, 90, size=KIB))
        whole[spoil] ^= 8
        world.fetched(data(where, bytes(whole)), session_id=7)
    for _ in unreadable:
        world.take_error(CorruptRecordError)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 500 * KIB


@pytest.mark.parametrize("how", ["records", "one", "until", "columns"])
def test_what_cannot_be_read_is_not_kept_and_the_others_go_on(how: str) -> None:
    """A topic in a codec that is not there, beside one that is read: however many partitions the
    first one has, and whatever they hold, it uses up no memory and nobody's turn.
    """
    unreadable = [tp(number, "other") for number in range(20)]
    world = World(T0, *unreadable, max_partition_fetch_bytes=100 * KIB, fetch_ahead_bytes=400 * KIB)
    world.tick()
    whole = bytearray(batch(0, 90, size=KIB))
    whole[-1] ^= 1
    told = set[TopicPartition]()
    for first in range(0, 100, 10):
        there = [where for where in unreadable if where not in told][:3]
        parts = [data(where, bytes(whole)) for where in there]
        world.fetched(data(T0, batch(first, 10)), *parts, session_id=7)
        while world.at(T0) != first + 10 or not told.issuperset(there):
            try:
                if how == "columns":
                    world.fetcher.take_columns(Columns(100), world.now_ms)
                elif how == "until":
                    ends = dict.fromkeys([T0, *unreadable], 1_000)
                    world.fetcher.take_until(100, world.now_ms, ends)
                else:
                    world.take(1 if how == "one" else 100)
            except CorruptRecordError as error:
                told.add(error.partition)
        world.tick()
    assert told == set(unreadable)
    assert world.fetcher.buffered_bytes < 40 * KIB
    world.positions.seek(unreadable[0], 90)
    world.fetched(data(T0), session_id=7, after_ms=500)
    assert asked(world.only())[unreadable[0]] == 90
