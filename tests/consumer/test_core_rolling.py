"""A group whose members are restarted one after the other, while records keep coming: what does not
move is read without a pause, and a change costs two rebalances at most (PAINS 11).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kcore import ConsumerConfig, ConsumerCore, TopicPartition
from kcore.embedded.loop import CoreLoop
from kcore.events import Closed

PARTITIONS = 6
MEMBERS = 3
STEP_MS = 100
SETTLED_MAX_MS = 20_000
BEHIND_MS = 1_000
# A record is written every step; one that is a few steps late was held up by nobody.
LATE_STEPS = 3


class Group:
    """Members under their numbers, each polled every step; who read what, step by step."""

    def __init__(self, **options: object) -> None:
        self.loop = CoreLoop(1)
        self.loop.call(lambda _now_ms: self.loop.cluster.topics.create("t", PARTITIONS))
        self.options = options
        self.members: dict[int, ConsumerCore] = {}
        self.read: list[dict[int, set[TopicPartition]]] = []
        self.seen: dict[TopicPartition, list[int]] = {}

    def start(self, number: int, instance: str | None = None) -> None:
        options = {
            "bootstrap_servers": self.loop.bootstrap,
            "group_id": "g",
            "auto_offset_reset": "earliest",
            "fetch_max_wait_ms": 10,
            "heartbeat_interval_ms": 300,
            "group_instance_id": instance,
            **self.options,
        }
        if options.get("group_protocol") == "consumer":
            del options["heartbeat_interval_ms"]
        config = ConsumerConfig.from_options(options)
        core = self.members[number] = ConsumerCore(config, random.Random(number), self.loop.now_ms)
        self.loop.add(core)
        core.subscribe(["t"], self.loop.now_ms)

    def stop(self, number: int) -> None:
        core = self.members.pop(number)
        core.close(self.loop.now_ms, 5_000, autocommit=True)
        self.loop.run()
        while not any(type(event) is Closed for event in iter(core.next_event, None)):
            self.step()
        self.loop.remove(core)

    def step(self) -> None:
        for number in range(PARTITIONS):
            self.loop.produce("t", [(None, b"v")], partition=number)
        self.loop.pass_time(STEP_MS)
        found: dict[int, set[TopicPartition]] = {}
        for number, core in self.members.items():
            core.poll(self.loop.now_ms)
            self.loop.run()
            found[number] = set()
            for tp, records in core.take_records(500, self.loop.now_ms).items():
                found[number].add(tp)
                self.seen.setdefault(tp, []).extend(record.offset for record in records)
            self.loop.run()
        self.read.append(found)

    def settle(self) -> None:
        """Until each has its share, and then some."""
        for _ in range(SETTLED_MAX_MS // STEP_MS):
            self.step()
            shares = self.shares().values()
            sizes = [len(share) for share in shares]
            if (
                len(set().union(*shares)) == sum(sizes) == PARTITIONS
                and max(sizes) <= min(sizes) + 1
            ):
                break
        else:
            raise AssertionError(f"not shared: {self.shares()}")
        for _ in range(BEHIND_MS // STEP_MS):
            self.step()

    def shares(self) -> dict[int, set[TopicPartition]]:
        return {number: set(core.assignment()) for number, core in self.members.items()}

    def generation(self) -> int:
        (found,) = {core.group_metadata().generation_id for core in self.members.values()}
        return found

    @contextmanager
    def change(self) -> Iterator[None]:
        """Around a change: what is checked of it."""
        before, generation, began = self.shares(), self.generation(), len(self.read)
        yield
        self.settle()
        after = self.shares()
        assert self.generation() - generation <= 2
        for number, kept in ((n, before[n] & after[n]) for n in before.keys() & after.keys()):
            for tp in kept:
                pause = 0
                for step in self.read[began:]:
                    pause = 0 if tp in step.get(number, ()) else pause + 1
                    assert pause <= LATE_STEPS, (tp, number)


@pytest.mark.parametrize(
    "options",
    [
        {"partition_assignment_strategy": ["cooperative-sticky"]},
        {"group_protocol": "consumer"},
    ],
    ids=["cooperative", "consumer"],
)
@pytest.mark.parametrize("static", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_rolling_restart(options: dict[str, object], static: bool) -> None:
    group = Group(**options)
    for number in range(MEMBERS):
        group.start(number, f"i{number}" if static else None)
    group.settle()
    for number in range(MEMBERS):
        if static:
            had, generation = group.shares()[number], group.generation()
            group.stop(number)
            group.start(number + MEMBERS, f"i{number}")
            group.settle()
            assert group.shares()[number + MEMBERS] == had
            assert group.generation() == generation
            continue
        with group.change():
            group.stop(number)
        with group.change():
            group.start(number + MEMBERS)
    for offsets in group.seen.values():
        assert offsets == sorted(set(offsets)) == list(range(len(offsets)))
