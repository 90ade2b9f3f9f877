"""Memory is bounded whatever is assigned, however slow the reader (PAINS 2 to 5)."""

from __future__ import annotations

import random

import pytest
from fetch_broker import Brokers, Log
from fetch_world import World, asked, batch, data, tp

from kcore.connection.calls import Answer
from kcore.errors import RequestTimedOutError
from kcore.fetch.pace import Pace
from kcore.structs import Node
from kcore.wire.apis import ApiKey

KIB = 1024
MIB = 1024 * KIB
T0, T1 = tp(0), tp(1)


RAW = batch(0, 10, size=10 * KIB)


def many(offset: int, count: int) -> bytes:
    """`count` batches of 100 KiB; a batch's base offset is outside of its checksum."""
    return b"".join((offset + 10 * index).to_bytes(8, "big") + RAW[8:] for index in range(count))


def backlog(world: World) -> int:
    """Answer every fetch under way as a broker with endless data does: as much as asked for.

    Gives how large the largest answer was.
    """
    largest = 0
    for sent in world.pending(ApiKey.FETCH):
        asks = world.fetcher._planner.nodes[sent.node].session.asks
        room = sent.body.max_bytes
        parts = []
        for where, ask in asks.items():
            fit = max(min(room, ask.max_bytes) // len(RAW), 0 if parts else 1)
            parts.append(data(where, many(ask.offset, fit)))
            room -= fit * len(RAW)
        largest = max(largest, sum(len(one[1].records) for one in parts))
        full = sent.body.session_epoch <= 0
        parts = parts if full else [one for one in parts if one[1].records]
        world.fetched(*parts, node=sent.node, session_id=7)
    return largest


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("count", [1, 500])
def test_a_slow_reader_of_many_partitions(nodes: int, count: int) -> None:
    partitions = [tp(number) for number in range(count)]
    budget = 8 * MIB
    world = World(
        *partitions,
        leader=lambda where: 1 + where.partition % nodes,
        max_buffered_bytes=budget,
    )
    world.tick()
    most = taken = 0
    for _ in range(60):
        largest = backlog(world)
        most = max(most, world.fetcher.buffered_bytes)
        assert world.fetcher.buffered_bytes <= budget + largest + count * KIB
        taken += sum(map(len, world.take(10).values()))
    assert taken == 600
    assert most > budget / 8  # there was something to bound


def test_large_records_are_handed_over_a_few_at_a_time() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, many(0, 8)), data(T1, many(0, 8)), session_id=7)
    first, second = world.take(500), world.take(500)
    assert {where: len(found) for where, found in first.items()} == {T0: 80, T1: 23}
    assert {where: len(found) for where, found in second.items()} == {T1: 57}
    assert world.at(T1) == 80


def test_what_is_under_way_counts_as_held() -> None:
    world = World(T0, T1, leader=lambda where: where.partition + 1, max_buffered_bytes=4 * MIB)
    world.tick()
    assert [sent.body.max_bytes for sent in world.pending(ApiKey.FETCH)] == [MIB, MIB]


def test_a_node_of_which_nothing_is_wanted_leaves_its_share_to_the_others() -> None:
    partitions = [T0, T1, tp(2)]
    leader = lambda where: where.partition + 1  # noqa: E731
    world = World(*partitions, leader=leader, max_buffered_bytes=12 * MIB)
    world.tick()
    assert world.only(node=1).body.max_bytes == 2 * MIB
    world.positions.pause([tp(2)])
    world.fetched(node=1, after_ms=500)
    assert world.only(node=1).body.max_bytes == 3 * MIB


def test_a_node_of_which_something_is_still_wanted_keeps_its_share() -> None:
    leader = lambda where: 1 + where.partition % 2  # noqa: E731
    world = World(T0, T1, tp(2), leader=leader, max_buffered_bytes=12 * MIB)
    world.tick()
    world.positions.pause([T0])  # and tp(2) goes on
    world.fetched(node=2, after_ms=500)
    assert world.only(node=2).body.max_bytes == 3 * MIB


def test_nodes_that_come_one_by_one_stay_within_the_budget_and_all_have_their_turn() -> None:
    count = 8
    world = World(max_buffered_bytes=MIB, max_partition_fetch_bytes=4 * MIB)
    for number in range(count):
        world.cluster.lead(tp(number), number)
        world.cluster.nodes[number] = Node(number, "host", 9092)
        world.positions.assign([*world.positions.assigned(), tp(number)])
        world.positions.seek(tp(number), 0)
        world.tick()
        assert sum(sent.body.max_bytes for sent in world.pending(ApiKey.FETCH)) <= MIB
    seen = {sent.node for sent in world.pending(ApiKey.FETCH)}
    assert len(seen) < count  # or nobody had to wait
    for _ in range(count):
        # No records come: what is free again is what was kept for them.
        world.fetched(node=world.pending(ApiKey.FETCH)[0].node, after_ms=500)
        assert sum(sent.body.max_bytes for sent in world.pending(ApiKey.FETCH)) <= MIB
        seen |= {sent.node for sent in world.pending(ApiKey.FETCH)}
    assert len(seen) == count


def test_one_node_may_use_half_of_the_budget_for_one_answer() -> None:
    world = World(T0, max_buffered_bytes=4 * MIB)
    world.tick()
    assert world.only().body.max_bytes == 2 * MIB
    world = World(T0, max_buffered_bytes=400 * MIB, fetch_max_bytes=3 * MIB)
    world.tick()
    assert world.only().body.max_bytes == 3 * MIB


@pytest.mark.parametrize(("partition_max", "asked_for"), [(MIB, 4), (20 * MIB, 20)])
def test_no_answer_is_asked_to_be_huge(partition_max: int, asked_for: int) -> None:
    world = World(
        T0,
        max_buffered_bytes=400 * MIB,
        fetch_max_bytes=50 * MIB,
        max_partition_fetch_bytes=partition_max,
    )
    world.tick()
    assert world.only().body.max_bytes == asked_for * MIB


def late(world: World) -> None:
    """The answer of the fetch under way does not arrive in time, and the backoff passes."""
    sent = world.only()
    world.network.sent.remove(sent)
    world.now_ms += 30_000
    late = RequestTimedOutError("did not answer FETCH in time")
    sent.done(Answer(None, late, sent.version, sent.node), world.now_ms)
    world.tick()
    while not world.pending(ApiKey.FETCH):
        assert world.until_due()


def backlogged(**options: int) -> World:
    """500 partitions with enough to fill every answer."""
    world = World(*(tp(number) for number in range(500)), **options)
    world.tick()
    return world


def test_after_an_answer_that_came_too_late_less_is_asked_for() -> None:
    world = backlogged()
    most = world.only().body.max_bytes
    assert most == 4 * MIB
    limits = []
    for _ in range(6):
        late(world)
        limits.append(world.only().body.max_bytes)
    least = 64 * KIB
    assert limits == [max(most // 4**times, least) for times in range(1, 7)]
    assert limits[1] > least
    assert limits[-1] == least


def test_what_arrives_quickly_is_asked_for_twice_over_up_to_the_former_size() -> None:
    world = backlogged()
    most = world.only().body.max_bytes
    for _ in range(2):
        late(world)
    asked_for = [world.only().body.max_bytes]
    for _ in range(10):
        world.now_ms += 100
        backlog(world)
        while not world.pending(ApiKey.FETCH):
            world.take(5_000)
        asked_for.append(world.only().body.max_bytes)
    assert asked_for[:5] == [most // 16, most // 16 * 2, most // 16 * 4, most // 16 * 8, most]
    assert set(asked_for[5:]) == {most}


@pytest.mark.parametrize("bytes_per_s", [5_000, 30_000, 100_000, 3_000_000])
def test_over_a_slow_link_answers_arrive_in_time(bytes_per_s: int) -> None:
    """Late in the first turns at most, and never again."""
    world = backlogged()
    times_late = 0
    for turn in range(40):
        took_ms = world.only().body.max_bytes * 1_000 // bytes_per_s
        if took_ms >= 30_000:
            assert turn < 4
            times_late += 1
            late(world)
            continue
        world.now_ms += took_ms
        backlog(world)
        while not world.pending(ApiKey.FETCH):
            world.take(5_000)
    assert bool(times_late) is (bytes_per_s < 1_000_000)


def test_answers_that_take_their_time_for_another_reason_are_asked_to_bring_more() -> None:
    pace = Pace(1_000)
    pace.timed_out(MIB)
    for _ in range(40):
        pace.arrived(min(pace.limit, 30 * MIB), 300)
    assert pace.limit > 30 * MIB


def test_an_answer_that_took_no_time_is_asked_to_bring_as_much_as_any() -> None:
    pace = Pace(1_000)
    pace.timed_out(MIB)
    pace.arrived(MIB, 0)
    assert pace.limit == MIB // 2


def test_as_much_is_tried_as_would_take_half_of_the_time() -> None:
    pace = Pace(30_000)
    pace.timed_out(16 * MIB)
    assert pace.limit == 4 * MIB
    pace.arrived(4 * MIB, 10_000)
    assert pace.limit == 6 * MIB
    pace.arrived(3 * MIB - 1, 1)  # says little of how long as much as was asked for takes
    assert pace.limit == 6 * MIB
    pace.arrived(3 * MIB, 1)
    assert pace.limit == 12 * MIB


def test_what_was_never_asked_was_not_too_much() -> None:
    """A link that could not be set up in time says nothing of what it carries."""
    world = backlogged()
    most = world.only().body.max_bytes
    world.fail(world.only(), RequestTimedOutError("did not connect within the set-up timeout"))
    world.until_due()
    assert world.only().body.max_bytes == most


def test_pains_3_draining_below_the_mark_fetches_in_the_same_turn() -> None:
    world = World(T0, fetch_ahead_bytes=4 * KIB)
    world.tick()
    raw = [batch(first, 10, size=200) for first in range(0, 100, 10)]
    world.fetched(data(T0, *raw))
    taken = 0
    while not world.pending(ApiKey.FETCH):
        before = world.now_ms
        taken += len(world.take(10)[T0])
        assert world.now_ms == before
    held = world.fetcher._planner.nodes[1].waiting
    assert 2 * KIB < held <= 4 * KIB
    assert asked(world.only()) == {T0: 100}


def test_a_budget_smaller_than_a_batch_still_moves() -> None:
    world = World(T0, T1, max_buffered_bytes=1000)
    world.tick()
    for first in range(0, 50, 10):
        world.fetched(
            data(T0, batch(first, 10, size=500)), data(T1, batch(first, 10, size=500)), session_id=7
        )
        got = world.take(100)
        assert len(got[T0]) == len(got[T1]) == 10


def test_tiny_answers_are_counted_with_what_they_cost() -> None:
    world = World(T0, max_buffered_bytes=64 * KIB)
    world.tick()
    answers = 0
    while world.pending(ApiKey.FETCH):
        world.fetched(data(T0, batch(answers)), session_id=7)
        answers += 1
        assert answers < 100
    assert world.fetcher.health(T0) == "buffer full"
    assert world.take(1000) == {T0: list(range(answers))}
    world.only()


def test_paused_data_gives_way_only_when_nothing_else_can_move() -> None:
    """A partition that is paused with the whole budget in hand must not stop the others."""
    world = World(T0, T1, max_buffered_bytes=100 * KIB, max_partition_fetch_bytes=50 * KIB)
    world.tick()
    world.fetched(data(T0, batch(0, 90, size=KIB)), session_id=7)
    world.positions.pause([T0])
    world.tick()
    for first in range(0, 50, 10):
        assert asked(world.only()).get(T1, first) == first
        world.fetched(data(T1, batch(first, 10, size=KIB)), session_id=7)
        assert world.fetcher.buffered_bytes <= 100 * KIB + 12 * KIB
        assert world.take() == {T1: list(range(first, first + 10))}
    world.positions.resume([T0])
    world.tick()
    while T0 not in asked(world.only()):
        world.fetched(session_id=7, after_ms=500)
    assert asked(world.only())[T0] == 0  # given up, so fetched again; nothing is lost
    world.fetched(data(T0, batch(0, 5)), session_id=7)
    assert world.take() == {T0: [0, 1, 2, 3, 4]}


def test_a_paused_rest_does_not_keep_a_large_answer_alive() -> None:
    """PAINS 5: kept over the pause, without a second fetch and without its neighbours' memory."""
    world = World(T0, T1, max_buffered_bytes=400 * KIB, max_partition_fetch_bytes=100 * KIB)
    world.tick()
    world.positions.pause([T0])
    world.fetched(data(T0, batch(0, 5)), data(T1, batch(0, 150, size=KIB)), session_id=7)
    at = 150
    world.take(1000)
    for _ in range(20):
        world.fetched(data(T1, batch(at, 150, size=KIB)), session_id=7)
        at += 150
        world.take(1000)
    assert world.fetcher.buffered_bytes < 10 * KIB
    world.positions.resume([T0])
    assert world.take() == {T0: [0, 1, 2, 3, 4]}


def test_nor_does_one_that_is_paused_when_the_others_were_handed_over() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, batch(0, 5)), data(T1, batch(0, 150, size=KIB)), session_id=7)
    only = world.fetcher.take_records(1000, world.now_ms, {T1})
    assert len(only[T1]) == 150
    world.positions.pause([T0])
    assert world.fetcher.buffered_bytes < 10 * KIB
    world.positions.resume([T0])
    assert world.take() == {T0: [0, 1, 2, 3, 4]}


def test_everything_given_back_after_unassign() -> None:
    rng = random.Random(5)
    partitions = [tp(number) for number in range(20)]
    logs = {where: Log(rng, 30) for where in partitions}
    brokers = Brokers(logs, rng)
    brokers.leaders = dict.fromkeys(partitions, 1)
    world = World(*partitions)
    world.tick()
    for _ in range(5):
        world.answer(world.only(), brokers.answer_for(world.only()))
    world.positions.pause(partitions[:10])
    world.take(7)
    assert world.fetcher.buffered_bytes
    world.positions.assign([])
    world.tick()
    assert world.fetcher.buffered_bytes == 0
    assert not world.fetcher.has_records
    assert world.fetcher._planner.nodes[1].waiting == 0
