"""Where more partitions are behind than an answer has room for, they are asked for in turns.

A broker looks through all it is asked for, for every answer: 500 partitions cost it about as much
as the records. Nothing may be lost by that: nobody starves, and what is at its end is always asked
for.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from fetch_broker import Brokers, Log
from fetch_world import World, asked, batch, data, forgotten, marker, tp

from kcore.fetch.config import IsolationLevel
from kcore.fetch.planner import NodePlan, Planner
from kcore.fetch.window import Window
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey

KIB = 1024
MIB = 1024 * KIB
COUNT = 40
ALL = [tp(number) for number in range(COUNT)]


def in_session(world: World, node: int = 1) -> set[TopicPartition]:
    """What the broker believes is wanted."""
    return set(world.fetcher._planner.nodes[node].session.asks)


class Catching:
    """A world that is far behind on all partitions, and its broker: four fill an answer."""

    def __init__(self, *, idle: int = 0, batches: int = 40, **options: Any) -> None:
        rng = random.Random(3)
        self.logs = {where: Log(rng, batches) for where in ALL}
        for where in ALL[:idle]:
            self.logs[where] = Log(rng, 0)
        self.brokers = Brokers(self.logs, rng)
        self.brokers.leaders = dict.fromkeys(ALL, 1)
        self.world = World(
            *ALL, fetch_max_bytes=800, max_partition_fetch_bytes=200, fetch_min_bytes=500, **options
        )
        self.world.tick()
        self.last: set[TopicPartition] = set()  # who brought records in the last answer

    @property
    def window(self) -> Window:
        return self.world.fetcher._planner.nodes[1].window

    def turn(self, *, throttle_time_ms: int = 0) -> set[TopicPartition]:
        """One answer, all of it taken; what the request asked for."""
        asked_for = in_session(self.world)
        sent = self.world.only()
        body = self.brokers.answer_for(sent)
        body.throttle_time_ms = throttle_time_ms
        self.last = {
            tp(part.partition_index)
            for topic in body.responses
            for part in topic.partitions
            if part.records
        }
        self.world.answer(sent, body)
        while self.world.fetcher.has_records:
            self.world.take(50)
        return asked_for


def test_the_first_request_asks_for_all_and_the_next_ones_for_what_fills_an_answer() -> None:
    play = Catching()
    assert play.turn() == set(ALL)
    served = 0
    for _ in range(30):
        assert len(play.turn()) <= 12
        served += len(play.last)
    assert served >= 90


@pytest.mark.parametrize("quota_ms", [0, 100])
def test_nobody_is_served_twice_before_all_others_were_once(quota_ms: int) -> None:
    play = Catching(batches=200)
    served = Counter[TopicPartition]()
    for _ in range(60):
        play.turn(throttle_time_ms=quota_ms)
        served.update(play.last)
        assert max(served.values()) - min(served[where] for where in ALL) <= 2
    assert min(served.values()) >= 4


def test_who_is_at_its_end_is_asked_for_in_every_request() -> None:
    play = Catching(idle=10)
    for _ in range(20):
        assert set(ALL[:10]) <= play.turn()
        assert play.window.narrow


def test_new_records_of_who_was_at_its_end_come_with_the_next_answer() -> None:
    play = Catching(idle=1)
    for _ in range(5):
        play.turn()
    fresh = Log(random.Random(5), 1)
    play.logs[ALL[0]] = play.brokers.logs[ALL[0]] = fresh
    play.turn()
    assert ALL[0] in play.last
    assert play.world.at(ALL[0]) == fresh.end


def test_all_is_read_and_then_all_is_asked_for_again() -> None:
    play = Catching()
    turns = 0
    while any(play.world.at(where) != play.logs[where].end for where in ALL):
        play.turn()
        turns += 1
        assert turns < 2_000
    play.turn()
    assert in_session(play.world) == set(ALL)
    assert not play.window.narrow


def test_a_request_that_leaves_some_out_waits_for_nothing() -> None:
    """What it asks for may be less than `fetch_min_bytes`; there is more, of the others."""
    play = Catching()
    play.turn()
    assert play.world.only().body.min_bytes == 0
    while any(play.world.at(where) != play.logs[where].end for where in ALL):
        play.turn()
    assert play.world.only().body.min_bytes == 500


def test_few_records_of_many_partitions_are_asked_for_at_once() -> None:
    """An answer that was not full says that there is room for all."""
    world = World(*ALL)
    world.tick()
    for first in range(0, 50, 10):
        parts = [data(where, batch(first, 10)) for where in ALL]
        world.fetched(*parts, session_id=7)  # of 1000 records each
        while world.fetcher.has_records:
            world.take()
        assert in_session(world) == set(ALL)


def test_what_is_behind_and_brings_nothing_is_asked_for_as_if_it_were_not() -> None:
    """A log whose end was compacted away, or a high watermark that was wrong."""
    play = Catching()
    play.turn()
    stuck = in_session(play.world)
    for where in stuck:
        end = play.logs[where].end
        play.logs[where].batches = []
        assert play.world.at(where) != end
    play.turn()
    assert not play.last
    for _ in range(20):
        asked_for = play.turn()
        assert play.last
        assert stuck <= asked_for
        assert play.window.narrow


def test_the_window_is_what_would_have_filled_the_answer_and_one_more() -> None:
    names = [tp(number) for number in range(200)]
    window = Window()
    for where in names:
        window.put(where, 0, 10)
    asked_for = names
    for served, each, full, then in [(20, 50, True, 17), (16, 50, True, 17), (17, 10, False, 81)]:
        window.answered(dict.fromkeys(asked_for[:served], each), 800, full=full)
        window.turn(0)
        asked_for = [where for where in names if where in window]
        assert len(asked_for) == then


def test_new_records_of_who_was_at_its_end_say_nothing_of_how_many_fill_an_answer() -> None:
    names = [tp(number) for number in range(200)]
    window = Window()
    for where in names[:150]:
        window.put(where, 0, 10)
    window.answered(dict.fromkeys(names[:16], 50), 800, full=True)
    window.turn(0)
    few = dict.fromkeys(names[150:], 1)
    window.answered(dict.fromkeys(names[16:32], 50) | few, 850, full=True)
    window.turn(0)
    assert len([where for where in names[:150] if where in window]) == 18


def test_who_is_given_up_while_it_is_asked_for_is_not_missed_in_the_answer() -> None:
    play = Catching()
    play.turn()
    gone, moved = sorted(in_session(play.world))[:2]
    play.world.positions.pause([gone])
    play.world.positions.seek(moved, play.logs[moved].end)
    play.world.tick()
    play.world.fetched(session_id=play.world.only().body.session_id)
    play.world.positions.resume([gone])
    for _ in range(30):
        play.turn()
    assert play.world.at(gone)


def test_who_was_left_out_and_is_given_up_is_asked_for_no_more() -> None:
    play = Catching()
    play.turn()
    out = set(ALL) - in_session(play.world)
    gone = next(iter(out))
    play.world.positions.assign([where for where in ALL if where != gone])
    for _ in range(30):
        assert gone not in play.turn()


def test_who_is_given_up_takes_no_turns_of_others() -> None:
    play = Catching(batches=200)
    for _ in range(3):
        play.turn()
    play.world.positions.assign(ALL[-6:])
    play.world.tick()
    play.turn()  # was asked for before
    for _ in range(20):
        play.turn()
        assert play.last


def test_paused_ones_take_no_turn_and_have_one_again_when_resumed() -> None:
    play = Catching(batches=200)
    for _ in range(3):
        play.turn()
    play.world.positions.pause(ALL[10:])
    served = set[TopicPartition]()
    for _ in range(20):
        play.turn()
        served |= play.last
    assert set(ALL[:10]) <= served  # beside what was under way
    play.world.positions.resume(ALL[10:])
    served.clear()
    for _ in range(30):
        play.turn()
        served |= play.last
    assert served == set(ALL)


def test_a_seek_back_has_its_turn() -> None:
    play = Catching()
    for _ in range(15):
        play.turn()
    where = next(one for one in ALL if play.world.at(one))
    play.world.positions.seek(where, 0)
    for _ in range(30):
        play.turn()
        if play.world.at(where):
            return
    raise AssertionError(f"{where} was never asked for")


def test_all_are_asked_for_every_five_seconds_for_their_ends() -> None:
    play = Catching(batches=200)
    for _ in range(12):
        play.turn()
    left_out = next(where for where in ALL if where not in in_session(play.world))
    assert play.world.fetcher.health(left_out) == "behind, and so are others: its turn comes"
    play.world.now_ms += 4_999
    assert play.turn() != set(ALL)
    play.world.now_ms += 1
    play.turn()
    now_ms = play.world.now_ms
    assert play.turn() == set(ALL)
    assert {play.world.positions.told_at(where) for where in ALL} == {now_ms}
    for _ in range(10):  # over a slow link that would be asked for too often
        play.world.now_ms += 5_000
        assert play.turn() != set(ALL)
    play.world.now_ms += 5_000
    assert play.turn() == set(ALL)


def test_a_lost_session_goes_on_with_whose_turn_it_is() -> None:
    play = Catching()
    for _ in range(5):
        play.turn()
    turn = in_session(play.world)
    play.brokers.lose_sessions()
    sent = play.world.only()
    play.world.answer(sent, play.brokers.answer_for(sent))
    again = play.world.only()
    assert again.body.session_epoch == 0
    assert set(asked(again)) == turn


@pytest.mark.parametrize("committed", [False, True])
def test_what_is_not_committed_is_not_behind(committed: bool) -> None:
    """Under read_committed a broker parks a request for it."""
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    world = World(*ALL, fetch_max_bytes=800, max_partition_fetch_bytes=400, isolation_level=level)
    world.tick()
    first = [data(ALL[0], batch(0, 1, size=600), last_stable_offset=1)]
    world.fetched(
        *first, *(data(where, last_stable_offset=0) for where in ALL[1:]), session_id=7, pad=False
    )
    while world.fetcher.has_records:
        world.take()
    assert (in_session(world) == set(ALL)) is committed


def test_a_window_of_a_slow_reader_stays_within_memory() -> None:
    """500 partitions with endless data: what is asked for at once is what a turn brings."""
    world = World(*(tp(number) for number in range(500)), max_buffered_bytes=64 * MIB)
    world.tick()
    raw = batch(0, 100, size=10 * KIB)  # 1 MiB
    parts = [data(tp(number), raw) for number in range(4)]
    world.fetched(*parts, session_id=7)
    most = 0
    for turn in range(200):
        sent = world.only()
        assert sent.body.max_bytes == 4 * MIB
        session = in_session(world)
        assert len(session) == 5
        assert len(forgotten(sent)) == (495 if turn == 0 else 4)
        asks = world.fetcher._planner.nodes[1].session.asks
        served = [
            data(where, asks[where].offset.to_bytes(8, "big") + raw[8:], high_watermark=10_000)
            for where in list(asks)[:4]
        ]
        world.fetched(*served, session_id=7)
        while not world.pending(ApiKey.FETCH):
            world.take(5_000)
        most = max(most, world.fetcher.buffered_bytes)
    assert most < 9 * MIB


class Told:
    """`Window` beside a plain description of it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.window = Window()
        self.now_ms = 1_000_000
        self.names = ALL[:12]
        self.session = set[TopicPartition](self.names)
        self.changed = set[TopicPartition]()

    def step(self) -> None:
        rng, window = self.rng, self.window
        kind = rng.random()
        where = rng.choice(self.names)
        if kind < 0.4:
            window.put(where, rng.randint(0, 3), rng.choice([1, 9]))
            self.changed.add(where)
        elif kind < 0.5:
            window.drop(where)
            self.changed.add(where)
        else:
            self.now_ms += rng.randint(0, 500)
            self.changed.update(window.turn(self.now_ms))
            for one in self.changed:
                (self.session.add if one in window else self.session.discard)(one)
            self.changed.clear()
            assert self.session == {one for one in self.names if one in window}
            assert (len(self.session) < len(self.names)) is window.narrow
            served = rng.sample(sorted(self.session), rng.randint(0, len(self.session)))
            window.answered(
                {one: rng.randint(1, 300) for one in served}, 600, full=rng.random() < 0.7
            )


@pytest.mark.parametrize("seed", range(20))
def test_the_session_hears_of_every_change(seed: int) -> None:
    told = Told(seed)
    narrow = 0
    for _ in range(400):
        told.step()
        narrow += told.window.narrow
    assert narrow > 20


def test_markers_alone_are_a_turn_as_well() -> None:
    """An answer of control batches brings no record, and the partition goes to the end."""
    play = Catching()
    play.turn()
    where = next(iter(in_session(play.world)))
    log, at = play.logs[where], play.world.at(where)
    log.batches = [(one, one, marker(one, 1, commit=True)) for one in range(at, at + 40)]
    log.visible = [one for one in log.visible if one < at]
    log.end = at + 40
    for _ in range(400):
        play.turn()
        if play.world.at(where) == log.end:
            return
    raise AssertionError(f"{where} is at {play.world.at(where)}")


def test_a_follower_that_fails_is_left_by_those_who_wait_for_their_turn_too() -> None:
    """Or each turn would have to fail first, each after `request_timeout_ms`."""
    world = World(*ALL, fetch_max_bytes=800, max_partition_fetch_bytes=200)
    world.tick()
    world.fetched(*(data(where, preferred_read_replica=2) for where in ALL), session_id=7)
    served = [data(where, batch(0, 1, size=130)) for where in ALL[:4]]
    world.fetched(*served, *(data(where) for where in ALL[4:]), node=2, session_id=8)
    while world.fetcher.has_records:
        world.take()
    assert world.fetcher._planner.nodes[2].window.narrow
    world.fail(world.only(node=2))
    assert not [one for one in world.positions if one.preferred == 2]


@pytest.mark.parametrize("sessions", [True, False])
def test_gaps_at_the_ends_of_logs_hold_nobody_up(sessions: bool) -> None:
    """What was compacted away up to the end is behind for ever, and nothing comes of it."""
    play = Catching(enable_incremental_fetch_sessions=sessions)
    gaps = ALL[:25]
    for where in gaps:
        play.logs[where].batches = []
    rest = [where for where in ALL if where not in gaps]
    empty = 0
    for _ in range(2_000):
        play.turn()
        if all(play.world.at(where) == play.logs[where].end for where in rest):
            break
        empty += not play.last
    assert all(play.world.at(where) == play.logs[where].end for where in rest)
    assert empty <= 7  # once for each of those that were asked for by themselves


def test_gaps_do_not_keep_others_out_of_full_answers() -> None:
    """New records of those at their ends fill half of an answer: it never says that it has room."""
    play = Catching(idle=6)
    play.turn()
    gaps = sorted(play.window._behind)[:8]
    for where in gaps:
        play.logs[where].batches = []
        play.window._behind.move_to_end(where, last=False)
    served = Counter[TopicPartition]()
    for turn in range(30):
        for where in ALL[:6]:
            log = play.logs[where]
            log.batches.append((log.end, log.end, batch(log.end, 1, size=30)))
            log.visible.append(log.end)
            log.end += 1
        play.turn()
        if turn > 8:
            served.update(play.last - set(ALL[:6]))
    assert sum(served.values()) > 20
    assert not set(gaps) & set(play.window._behind)


def test_who_is_told_to_be_at_its_end_is_not_behind() -> None:
    """A log that was cut back in an unclean election, in an answer that is full of others."""
    world = World(*ALL, fetch_max_bytes=800, max_partition_fetch_bytes=200)
    world.tick()
    first = [data(where, batch(0, 1, size=130)) for where in ALL[:4]]
    world.fetched(*first, session_id=7)
    window = world.fetcher._planner.nodes[1].window
    while world.fetcher.has_records:
        world.take()
    inside = [where for where in ALL if where in window]
    cut, *others = inside
    asks = world.fetcher._planner.nodes[1].session.asks
    full = [
        data(where, asks[where].offset.to_bytes(8, "big") + batch(0, 1, size=200)[8:])
        for where in others
    ]
    world.fetched(data(cut, high_watermark=asks[cut].offset), *full, session_id=7)
    assert cut in window
    assert cut not in window._behind


def test_who_is_told_so_when_all_are_asked_is_not_behind_either() -> None:
    """Nobody is served in that answer, so nothing else would tell."""
    play = Catching(batches=200)
    for _ in range(12):
        play.turn()
    play.world.now_ms += 5_000
    play.turn()
    assert not play.window.narrow
    cut, *_ = play.window._behind
    offset = play.world.fetcher._planner.nodes[1].session.asks[cut].offset
    session_id = play.world.only().body.session_id
    play.world.fetched(data(cut, high_watermark=offset), session_id=session_id)
    assert cut not in play.window._behind


def test_a_turn_is_taken_for_every_request_and_for_no_other_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A try that ends for want of memory must not use up the one that asks for all."""
    turns = []
    turn = Window.turn

    def counted(window: Window, now_ms: int) -> Any:
        turns.append(now_ms)
        return turn(window, now_ms)

    without_memory = []
    allowance = Planner._allowance

    def watched(planner: Planner, plan: NodePlan) -> int:
        found = allowance(planner, plan)
        if not found:
            without_memory.append(plan)
        return found

    monkeypatch.setattr(Window, "turn", counted)
    monkeypatch.setattr(Planner, "_allowance", watched)
    play = Catching(max_buffered_bytes=2_000, fetch_ahead_bytes=100_000)
    world, requests = play.world, 1
    for _ in range(200):
        for sent in world.pending(ApiKey.FETCH):
            world.answer(sent, play.brokers.answer_for(sent))
            requests += len(world.pending(ApiKey.FETCH))
        before = len(world.pending(ApiKey.FETCH))
        world.take(3)
        requests += len(world.pending(ApiKey.FETCH)) - before
    assert len(turns) == requests
    assert without_memory


def test_an_answer_that_a_quota_has_emptied_says_nothing_of_room() -> None:
    play = Catching()
    for _ in range(5):
        play.turn()
    before = in_session(play.world)
    play.world.fetched(session_id=play.world.only().body.session_id, throttle_time_ms=100)
    play.world.until_due()
    assert in_session(play.world) == before


def test_empty_answers_of_a_quota_do_not_make_us_spin() -> None:
    play = Catching()
    for _ in range(5):
        play.turn()
    session_id = play.world.only().body.session_id
    for _ in range(4):
        play.world.fetched(session_id=session_id, throttle_time_ms=1)
    assert not play.world.pending(ApiKey.FETCH)
    assert play.world.until_due() >= 50


def test_empty_answers_are_followed_at_once_by_requests_for_twice_as_many() -> None:
    """Hundreds of logs with gaps at their ends are not found out five by five, or with pauses."""
    names = [tp(number) for number in range(400)]
    world = World(*names, fetch_max_bytes=800, max_partition_fetch_bytes=200)
    world.tick()
    world.fetched(*(data(where, batch(0, 1, size=130)) for where in names[:4]), session_id=7)
    while world.fetcher.has_records:
        world.take()
    sizes = []
    while len(in_session(world)) < 400:
        sizes.append(len(in_session(world)))
        world.fetched(session_id=7)
        assert len(sizes) < 10
    assert len(sizes) >= 5
