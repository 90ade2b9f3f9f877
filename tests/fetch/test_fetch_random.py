"""Whatever happens in whatever order: no record is skipped, none comes twice, and all do come."""

from __future__ import annotations

import random
from bisect import bisect_left

import pytest
from fetch_broker import Brokers, Log
from fetch_world import World, tp
from longer import quickly

from kcore.errors import KafkaError
from kcore.events import OffsetReset
from kcore.fetch.states import PartitionState
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

PARTITIONS = [tp(number) for number in range(6)]
STEPS = 250
BUDGETS = [2_000, 8_000, 40_000]


class Play:
    """One run: the fetcher against three brokers, with everything going wrong now and then."""

    def __init__(self, seed: int, partitions: list[TopicPartition] = PARTITIONS) -> None:
        self.rng = random.Random(seed)
        self.partitions = partitions
        self.narrow = 0  # how often some were left out for others
        self.logs = {where: Log(self.rng, 40) for where in partitions}
        self.brokers = Brokers(self.logs, self.rng)
        self.budget = self.rng.choice(BUDGETS)
        self.world = World(
            *partitions,
            policy="earliest",
            seed=seed,
            leader=lambda where: 1 + where.partition % 3,
            max_buffered_bytes=self.budget,
            fetch_ahead_bytes=self.rng.choice([1, 200, 2_000]),
            fetch_max_bytes=self.rng.choice([300, 2_000, 50_000]),
            max_partition_fetch_bytes=200,
        )
        for where in partitions:
            self.brokers.leaders[where] = 1 + where.partition % 3
        self.expected: dict[TopicPartition, int] = dict.fromkeys(partitions, 0)
        self.epoch = 0
        self.delivered = 0

    def take(self, count: int) -> None:
        world = self.world
        before = {where: world.at(where) for where in world.positions.assigned()}
        try:
            taken = world.take(count)
        except KafkaError:
            world.tick()
            taken = {}
        self.learn_resets()
        for where, start in before.items():
            offsets = taken.get(where, [])
            self.delivered += len(offsets)
            now = world.at(where)
            if start is None or now is None:
                assert not offsets
                continue
            assert start == self.expected[where]
            assert not offsets or where not in world.positions.paused()
            visible = self.logs[where].visible
            first = bisect_left(visible, start)
            assert offsets == visible[first : first + len(offsets)], (where, start)
            if where in taken or now != start:
                # What was passed over without being handed over holds nothing to hand over.
                assert bisect_left(visible, now) == first + len(offsets), (where, start, now)
            self.expected[where] = now

    def learn_resets(self) -> None:
        for event in self.world.events:
            if isinstance(event, OffsetReset):
                self.expected[event.partition] = event.offset
        self.world.events.clear()

    def answer(self, *, faults: bool = True) -> None:
        world, rng = self.world, self.rng
        if world.cluster.updates and (not faults or rng.random() < 0.5):
            self.refresh()
        if not world.network.sent:
            world.until_due()
            return
        sent = rng.choice(world.network.sent)
        kind = rng.random() if faults else 1.0
        if kind < 0.05:
            world.fail(sent)
        elif kind < 0.08 and sent.api is ApiKey.FETCH:
            self.brokers.lose_sessions()
            world.answer(sent, self.brokers.answer_for(sent))
        elif kind < 0.12 and sent.api is ApiKey.FETCH:
            body = self.brokers.answer_for(sent)
            if body.responses:  # one partition fails, or the answer is nonsense
                part = body.responses[0].partitions[0]
                part.records = b""
                part.error_code = rng.choice([3, 6, 9, -1, 76, 1, 29])
                if rng.random() < 0.3:
                    body.responses.append(body.responses[0])
            world.answer(sent, body)
        else:
            world.answer(sent, self.brokers.answer_for(sent), after_ms=rng.randint(0, 600))
        self.learn_resets()

    def refresh(self) -> None:
        """Metadata comes: every leader under the newest epoch anybody has heard of."""
        cluster = self.world.cluster
        cluster.updates = 0
        for where, leader in self.brokers.leaders.items():
            cluster.lead(where, leader, cluster.epochs[where])
        self.world.tick()

    def meddle(self) -> None:
        world, rng = self.world, self.rng
        assigned = world.positions.assigned()
        where = rng.choice(self.partitions)
        kind = rng.randint(0, 7)
        if kind == 0:
            keep = [one for one in self.partitions if rng.random() < 0.7]
            world.positions.assign(keep)
            for one in keep:
                if one not in assigned:
                    self.seek(one)
        elif kind == 1 and where in assigned:
            self.seek(where)
        elif kind == 2 and where in assigned:
            world.positions.reset(where, rng.choice(["earliest", "latest"]))
        elif kind == 3 and where in assigned:
            world.positions.pause([where])
        elif kind in {4, 5}:
            world.positions.resume(world.positions.paused())
        elif kind == 6:
            self.epoch += 1
            leader = rng.randint(1, 3)
            self.brokers.leaders[where] = leader
            world.cluster.lead(where, leader, self.epoch)
        else:
            world.positions.suspend([where])
        world.tick()

    def seek(self, where: TopicPartition) -> None:
        offset = self.rng.randint(0, self.logs[where].end + 2)
        epoch = self.rng.choice([-1, -1, self.epoch])
        self.world.positions.seek(where, offset, epoch)
        self.expected[where] = offset

    def check(self) -> None:
        shelf = self.world.fetcher._shelf
        planner = self.world.fetcher._planner
        # Each node's answer may be larger than asked for, by its first batch and what entries cost.
        assert shelf.held_bytes <= self.budget + 3 * self.brokers.largest_answer
        parts = list(self.world.positions)
        frames = {id(e.frame): e.frame for p in parts for e in p.entries}
        assert shelf.held_bytes == sum(frame.size for frame in frames.values())
        for plan in planner.nodes.values():
            entries = [e for p in parts for e in p.entries if e.node is plan and not e.parked]
            assert plan.waiting == sum(entry.size for entry in entries)
            assert all(p.node == plan.key for p in plan.wanted.values())
            self.narrow += plan.window.narrow
        assert planner.reserved_bytes == sum(plan.reserved for plan in planner.nodes.values())
        wanted = {id(p) for plan in planner.nodes.values() for p in plan.wanted.values()}
        assert wanted == {id(p) for p in parts if p.node is not None}

    def heal(self) -> None:
        """Nothing goes wrong any more: everything there is must come."""
        world = self.world
        world.positions.assign(self.partitions)
        world.positions.resume(self.partitions)
        for partition in world.positions:
            if partition.state is PartitionState.INITIALIZING:
                world.positions.reset(partition.tp, "earliest")
        world.tick()
        for _ in range(2_000):
            self.answer(faults=False)
            self.take(100)
            self.check()
            if all(world.at(where) == self.logs[where].end for where in self.partitions):
                break
        else:
            raise AssertionError([(p, world.fetcher.health(p.tp)) for p in world.positions])
        assert world.fetcher.buffered_bytes == 0
        assert not world.fetcher.has_records


@pytest.mark.parametrize("seed", quickly(8, of=25))
def test_random_interleavings(seed: int) -> None:
    play_through(Play(seed))


@pytest.mark.parametrize("seed", quickly(4, of=8))
def test_random_interleavings_of_more_than_an_answer_has_room_for(seed: int) -> None:
    play = Play(seed, [tp(number) for number in range(36)])
    play_through(play)
    assert play.narrow > 20


def play_through(play: Play) -> None:
    """Everything in any order, and then everything must come."""
    play.world.tick()
    for _ in range(STEPS):
        kind = play.rng.random()
        if kind < 0.5:
            play.answer()
        elif kind < 0.85:
            play.take(play.rng.choice([1, 3, 50]))
        else:
            play.meddle()
        play.check()
    play.heal()
    assert play.delivered > 50


def test_the_check_can_fail() -> None:
    """A canary: an answer that silently skips a batch must be noticed."""
    play = Play(1)
    play.world.tick()
    log = play.logs[tp(0)]
    log.batches = [one for one in log.batches if one[0] > log.visible[10]]
    with pytest.raises(AssertionError):
        play.heal()


def test_errors_on_every_partition_starve_nobody() -> None:
    play = Play(3)
    world = play.world
    world.tick()
    for _ in range(200):
        for sent in list(world.pending(ApiKey.FETCH)):
            if play.rng.random() < 0.5:
                where = next(iter(world.positions.assigned()))
                body = play.brokers.answer_for(sent)
                for topic in body.responses:
                    for part in topic.partitions:
                        if part.partition_index == where.partition:
                            part.records = b""
                            part.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                world.answer(sent, body)
            else:
                play.answer(faults=False)
            break
        else:
            world.until_due()
        play.take(50)
    done = [where for where in PARTITIONS[1:] if world.at(where) == play.logs[where].end]
    assert done == PARTITIONS[1:]
