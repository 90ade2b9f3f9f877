"""Topologies of any kind and members that do what they like: as a real Kafka answers them."""

import random

import pytest
from streams_sides import RELEASES, Beat, internal, of_kafkas, of_ours, owning, part, tasks

SIZES = {"a": 1, "b": 2, "c": 2, "d": 3}  # sources that are there
INTERNAL = {"r0": 2, "r1": 3, "s0": 2}  # internal topics that are
CASES = 60


def drawn(rng):
    """Subtopologies: sources, some of which are missing; topics between them; stores; groups that
    need the same number of partitions.
    """
    count = rng.randint(1, 4)
    links = [f"r{number}" for number in range(rng.randint(0, 4))]
    parts = []
    for number in range(count):
        known = [*SIZES, *["gone"] * (rng.random() < 0.1)]
        sources = rng.sample(known, rng.choice((0, 1, 1, 2)))
        reads = rng.sample(links, min(len(links), rng.choice((0, 0, 1, 2))))
        # Who could make them is not there: none is ever made.
        topics = [internal(name, rng.choice((0, 0, 0, 2, 3)), factor=9) for name in reads]
        stores = [internal(f"s{number}", factor=9)] * (rng.random() < 0.4)
        groups = []
        if len(sources) + len(topics) > 1 and rng.random() < 0.6:
            groups.append((range(len(sources)), range(len(topics))))
        parts.append(
            part(
                number, sources, sinks=rng.sample(links, min(len(links), rng.choice((0, 1, 1)))),
                repartitions=topics, changelogs=stores, copartitions=groups,
            )
        )  # fmt: skip
    return parts


def topologies(seed):
    """What is wrong with one."""

    def scenario(seen):
        rng = random.Random(seed)
        for name, size in (SIZES | INTERNAL).items():
            seen.side.topic(name, size)
        for number in range(CASES):
            seen.has(*drawn(rng))
            request = Beat(
                group_id=f"{seen.side.group}-{number}", member_id="m", process_id="p",
                topology=seen.topology, rebalance_timeout_ms=1_000, **owning(),
            )  # fmt: skip
            answer = seen.side.client.ask(request, seen.version)
            told = [
                (one.status_code, seen.side.cut(one.status_detail).partition("; ")[0])
                for one in answer.status
            ]
            seen.note((number, answer.error_code, seen.side.cut(answer.error_message), told))

    scenario.__name__ = f"topologies_{seed}"
    return scenario


class Member:
    """What a member was told last, and whether it has done it."""

    def __init__(self, seen, name, process):
        self._seen, self.name, self._process = seen, name, process
        self.epoch, self.before = 0, 0
        self._told = ({}, {})

    def beat(self, rng):
        """Some of what a member does, some of what it should not."""
        what = rng.random()
        if not self.epoch or what < 0.05:
            self._take(self._seen.enter(self.name, self._process))
        elif what < 0.55:
            self._take(self._seen.beat(self.name, self.epoch, **owning(*self._told)))
        elif what < 0.85:
            self._take(self._seen.beat(self.name, self.epoch))
        elif what < 0.92:
            self._take(self._seen.beat(self.name, self.before, **owning(*self._told)))
        else:
            self._seen.beat(self.name, -1)
            self.epoch = 0

    def _take(self, answer):
        if answer.error_code:
            self.epoch = 0
            return
        if answer.member_epoch != self.epoch:
            self.before = self.epoch
        self.epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self._told = tasks(answer.active_tasks), tasks(answer.standby_tasks)


def members(seed):
    """What they are told."""

    def scenario(seen):
        rng = random.Random(seed)
        seen.side.configure(num_standby_replicas=str(rng.choice((0, 1, 2))))
        seen.side.topic("in", 5)
        seen.side.topic("store", 5)
        seen.side.topic("words", 3)
        seen.has(
            part(0, ["in"], sinks=["words"], changelogs=[internal("store")]),
            part(1, repartitions=[internal("words", 3)]),
        )
        members = [Member(seen, f"m{number}", f"p{number % 3}") for number in range(5)]
        for step in range(150):
            rng.choice(members[: 2 + step // 30]).beat(rng)
            if step % 10 == 9:
                seen.describe()

    scenario.__name__ = f"members_{seed}"
    return scenario


SCENARIOS = [of(seed) for of in (topologies, members) for seed in range(4)]


@pytest.mark.parametrize("release", RELEASES, ids="{0[0]}.{0[1]}".format)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_we_say_what_a_kafka_said(scenario, release):
    of_ours(scenario, release)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_kafka_says_the_same(scenario, kafka):
    of_kafkas(scenario, kafka)
