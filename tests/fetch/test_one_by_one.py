"""Records taken one by one, by the short way and by the general one: nobody can tell which."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from fetch_broker import Brokers, Log
from fetch_world import World, batch, data, offsets, tp

from kcore.errors import KafkaError
from kcore.fetch import fetcher
from kcore.fetch.partition import Partition
from kcore.fetch.single import OneByOne

PARTITIONS = [tp(number) for number in range(4)]
STEPS = 400
Take = Callable[[World], Any]
INSIDE: list[int] = []  # one for each record that went the short way


def short(world: World) -> Any:
    """As ConsumerCore does it."""
    one = world.fetcher.take_inside()
    if one is not None:
        INSIDE.append(1)
        return one
    one = world.fetcher.take_next()
    return world.fetcher.take_records(1, world.now_ms) if one is None else one


def burst(world: World) -> Any:
    """As AsyncConsumer does it, where records are taken in bursts of two."""
    single = world.fetcher.single
    single.belong_here()
    partition = single.partition
    record = single.take_record()
    if record is not None:
        INSIDE.append(1)
        return {partition.tp: [record]}
    single.burst = 2
    one = world.fetcher.take_next()
    return world.fetcher.take_records(1, world.now_ms) if one is None else one


def general(world: World) -> Any:
    return world.fetcher.take_records(1, world.now_ms)


class Life:
    """A fetcher whose application takes single records and meddles in between, from a seed."""

    def __init__(self, seed: int, take: Take) -> None:
        self.rng = random.Random(seed)
        self.take_one = take
        self.logs = {where: Log(self.rng, 30) for where in PARTITIONS}
        for log in self.logs.values():  # some batch in the middle cannot be read
            at = self.rng.randrange(5, 30)
            first, last, raw = log.batches[at]
            if self.rng.random() < 0.5:
                log.batches[at] = (first, last, raw[:-1] + bytes([raw[-1] ^ 1]))
        self.brokers = Brokers(self.logs, self.rng)
        self.world = World(
            *PARTITIONS,
            policy=self.rng.choice(["earliest", "none"]),
            seed=seed,
            leader=lambda where: 1 + where.partition % 2,
            max_buffered_bytes=self.rng.choice([4_000, 60_000]),
            fetch_ahead_bytes=self.rng.choice([1, 500, 4_000]),
            max_partition_fetch_bytes=self.rng.choice([300, 3_000]),
            include_control_records=self.rng.random() < 0.5,
        )
        for where in PARTITIONS:
            self.brokers.leaders[where] = 1 + where.partition % 2

    def step(self) -> Any:
        """One thing that happens, and what can be seen of it."""
        kind = self.rng.random()
        if kind < 0.75:
            seen = self.take()
        elif kind < 0.9:
            seen = self.answer()
        else:
            seen = self.meddle()
        if self.rng.random() < 0.3:
            self.world.tick(self.rng.choice([0, 0, 50]))
        return seen, self.look()

    def take(self) -> Any:
        try:
            taken = self.take_one(self.world)
        except KafkaError as error:
            return repr(error)
        return {where: [tuple(record) for record in records] for where, records in taken.items()}

    def answer(self) -> Any:
        sent = self.world.network.sent
        if not sent:
            return self.world.until_due()
        one = self.rng.choice(sent)
        if self.rng.random() < 0.1:
            self.world.fail(one)
        else:
            self.world.answer(one, self.brokers.answer_for(one))
        return repr(one)

    def meddle(self) -> Any:
        rng, positions, world = self.rng, self.world.positions, self.world
        where = rng.choice(PARTITIONS)
        anywhere: list[Callable[[], object]] = [
            lambda: positions.assign([one for one in PARTITIONS if rng.random() < 0.8]),
            lambda: positions.assign(PARTITIONS),
            lambda: positions.resume(positions.paused()),
            lambda: positions.suspend([where]),
            lambda: world.cluster.lead(where, rng.randint(1, 2), rng.randint(1, 9)),
            lambda: world.fetcher.raise_later(KafkaError("of another kind")),
        ]
        here: list[Callable[[], object]] = [
            lambda: positions.seek(where, rng.randint(0, self.logs[where].end + 2)),
            lambda: positions.reset(where, "earliest"),
            lambda: positions.pause([where]),
        ]
        kinds = anywhere + here if positions.is_assigned(where) else anywhere
        kind = rng.randrange(len(kinds))
        kinds[kind]()
        for partition in list(positions.initializing()):
            if rng.random() < 0.9:
                positions.reset_initializing([partition])
        return kind

    def look(self) -> Any:
        world, shelf = self.world, self.world.fetcher._shelf
        planner = world.fetcher._planner
        events, world.events[:] = repr(world.events), []
        return (
            {where: world.at(where) for where in world.positions.assigned()},
            world.positions.consumed(),
            [(p.tp, p.next_offset, p.offset_epoch, len(p.entries)) for p in shelf.ring],
            shelf.held_bytes,
            [(node, plan.waiting, plan.in_flight) for node, plan in planner.nodes.items()],
            world.fetcher.restless,
            [repr(sent) + repr(sent.body) for sent in world.network.sent],
            events,
        )


@pytest.mark.parametrize("way", [short, burst])
@pytest.mark.parametrize("seed", range(12))
def test_both_ways_are_the_same_whatever_happens(seed: int, way: Take) -> None:
    one, other = Life(seed, way), Life(seed, general)
    one.world.tick()
    other.world.tick()
    INSIDE.clear()
    for number in range(STEPS):
        seen, expected = one.step(), other.step()
        assert seen == expected, f"number {number}"
    assert len(INSIDE) > 10  # or nothing was compared


class Stubborn:
    """One that goes on with whom it followed last, whatever happens."""

    def __init__(self, errors: Any, undecided: Any) -> None:
        self.single = OneByOne(errors, undecided)
        self.take, self.follow = self.single.take, self.single.follow
        self.taken = 0

    @property
    def partition(self) -> Any:
        return self.single.partition

    def forget(self) -> None:
        """Not at all."""


def test_one_that_forgets_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "OneByOne", Stubborn)
    with pytest.raises(AssertionError, match="number"):
        some_lives()


def some_lives() -> None:
    for seed in range(12):
        test_both_ways_are_the_same_whatever_happens(seed, short)


def stocked(**options: Any) -> World:
    """A world with ten records of one batch, of which the first was taken."""
    world = World(tp(0), **options)
    world.tick()
    world.fetched(data(tp(0), batch(0, 10)))
    assert short(world).keys() == {tp(0)}
    return world


def test_a_seek_by_a_finalizer_in_the_midst_of_a_call_holds() -> None:
    world = stocked()

    class Seeks:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            world.positions.seek(tp(0), 70)

    seeks = [Seeks()]
    threshold = gc.get_threshold()
    gc.collect()
    seeks.clear()
    gc.set_threshold(1)
    try:
        one = world.fetcher.take_inside()
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert world.at(tp(0)) == 70
    assert one is None or offsets(one[tp(0)]) == [1]


def test_what_comes_next_is_read_once_and_in_order() -> None:
    world = stocked()
    got = [offsets(world.fetcher.take_inside()[tp(0)]) for _ in range(8)]
    assert got == [[offset] for offset in range(1, 9)]
    assert world.at(tp(0)) == 9
    assert world.fetcher.take_inside() is None  # the last of a batch has more to it
    assert world.at(tp(0)) == 9
    assert short(world)[tp(0)][0].offset == 9


@pytest.mark.parametrize("what", ["seek", "pause", "suspend", "assign", "close", "error"])
def test_nothing_is_handed_over_after_a_change(what: str) -> None:
    world = stocked()
    positions = world.positions
    if what == "seek":
        positions.seek(tp(0), 5)
    elif what == "pause":
        positions.pause([tp(0)])
    elif what == "suspend":
        positions.suspend([tp(0)])
    elif what == "assign":
        positions.assign([])
    elif what == "close":
        world.fetcher.close(world.now_ms)
    else:
        world.fetcher.raise_later(KafkaError("not yet"))
    assert world.fetcher.take_inside() is None


def test_a_burst_is_for_as_many_records_and_for_one_thread() -> None:
    single = stocked().fetcher.single
    assert single.take_record() is None  # nobody's
    single.belong_here()
    assert single.take_record() is None  # none are granted
    single.burst = 3
    seen: list[Any] = []
    elsewhere = Thread(target=lambda: seen.append(single.take_record()))
    elsewhere.start()
    elsewhere.join()
    assert seen == [None]
    taken = [single.take_record() for _ in range(4)]
    assert [record and record.offset for record in taken] == [1, 2, 3, None]


@pytest.mark.parametrize("of", ["key", "value"])
def test_deserializers_go_the_general_way(of: str) -> None:
    world = stocked(**{f"{of}_deserializer": lambda _topic, _headers, _data: 7})
    assert world.fetcher.take_inside() is None
    assert getattr(short(world)[tp(0)][0], of) == 7


def test_a_signal_handler_that_raises_before_a_record_is_taken_is_heard_as_it_is(monkeypatch):
    world = World(PARTITIONS[0])
    world.tick()
    world.fetched(data(PARTITIONS[0], batch(0, 5)))
    whole = Partition.reader

    def struck(_partition):
        monkeypatch.setattr(Partition, "reader", whole)
        raise ArithmeticError("struck")

    monkeypatch.setattr(Partition, "reader", property(struck))
    with pytest.raises(ArithmeticError):
        world.take()
    assert world.take() == {PARTITIONS[0]: [0, 1, 2, 3, 4]}
