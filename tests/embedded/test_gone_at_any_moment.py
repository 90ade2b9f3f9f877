"""A member that goes at any moment of its coming, or of a later rebalance, leaves nothing behind in
its group: whoever stays has all in a second or two, however long sessions are.

Every input of every core is such a moment: bytes on either side, polls, time that passes.
"""

import random

import pytest
from longer import each_other

from kcore import ConsumerConfig, ConsumerCore
from kcore.broker import BrokerConfig
from kcore.cluster.links import Links
from kcore.coordinator import CoordinatorConfig
from kcore.embedded.loop import CoreLoop
from kcore.wire.apis import ApiKey

PARTITIONS = 4
SESSION_MS = 300_000
# A heartbeat tells who stays, and what follows takes no time here.
SOON_MS = 1_000
CALM = 4  # looks, behind which nothing is going to change
MOMENTS_MAX = 1_000
STRIDE = 8
COORDINATOR = CoordinatorConfig(
    group_initial_rebalance_delay_ms=0,
    group_max_session_timeout_ms=SESSION_MS,
    group_consumer_session_timeout_ms=SESSION_MS,
    group_consumer_heartbeat_interval_ms=100,
    group_consumer_assignment_interval_ms=0,
)
NEW, OLD = (4, 4), (2, 1)  # the latter tells members their ids when their round is over (KIP-394)
CLASSIC = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 100}
HOW = {
    "range": (NEW, CLASSIC),
    "old": (OLD, CLASSIC),
    "cooperative": (NEW, CLASSIC | {"partition_assignment_strategy": ["cooperative-sticky"]}),
    "consumer": (NEW, {"group_protocol": "consumer"}),
}


class World:
    """One that stays and has everything, and one that comes."""

    def __init__(self, how):
        release, self.options = HOW[how]
        self.loop = CoreLoop(config=BrokerConfig(release=release, coordinator=COORDINATOR))
        self.loop.call(lambda _now_ms: self.loop.cluster.topics.create("t", PARTITIONS))
        self.stays = self.member(1)
        while len(self.stays.assignment()) < PARTITIONS:
            self.time_passes(self.stays)
        self.comes = self.member(2)

    def member(self, seed):
        options = {"bootstrap_servers": self.loop.bootstrap, "group_id": "g", **self.options}
        config = ConsumerConfig.from_options(options)
        core = ConsumerCore(config, random.Random(seed), self.loop.now_ms)
        self.loop.add(core)
        core.subscribe(["t"], self.loop.now_ms)
        return core

    def time_passes(self, *cores):
        self.loop.pass_time(100)
        for core in cores:
            core.poll(self.loop.now_ms)
        self.loop.run()

    def share(self):
        """How many partitions each has."""
        return [len(core.assignment()) for core in (self.stays, self.comes)]

    def moments(self):
        """Comes back after each input, until both have their share for the second time."""
        for rejoins in (False, True):
            if rejoins:
                self.comes.request_rejoin("test", self.loop.now_ms)
            calm = 0
            while calm < CALM:
                for core in (self.comes, self.stays):
                    core.poll(self.loop.now_ms)
                    yield
                    while self.loop.step():
                        yield
                calm = calm + 1 if self.share() == [PARTITIONS // 2] * 2 else 0
                self.loop.pass_time(50)
                yield

    def books(self):
        """The ids that the coordinator knows."""
        coordinator = self.loop.cluster.nodes[1].groups.coordinator
        classic = coordinator.group("g")
        if classic is not None:
            return {*classic.members, *classic.pending_join}
        return {*coordinator.consumer_group("g").members}

    def alone(self):
        """Whether the one that stays has all, and nobody else is known of."""
        mine = self.stays.group_metadata().member_id
        return self.books() == {mine} and self.share() == [PARTITIONS, 0]

    def judge(self):
        calm = 0
        for _ in range(SOON_MS // 100):
            self.time_passes(self.stays)
            calm = calm + 1 if self.alone() else 0
            if calm == CALM:
                return
        raise AssertionError((self.share(), self.books()))


def close(world):
    world.comes.close(world.loop.now_ms, 1_000)


def unsubscribe(world):
    world.comes.unsubscribe(world.loop.now_ms)


def unsubscribe_and_close(world):
    unsubscribe(world)
    close(world)


def unsubscribe_and_come_again(world):
    unsubscribe(world)
    world.comes.subscribe(["t"], world.loop.now_ms)
    world.comes.poll(world.loop.now_ms)
    close(world)


GOES = [close, unsubscribe, unsubscribe_and_close, unsubscribe_and_come_again]


def at_moments(how, first):
    """(moment, a world that has come to it) for every fourth."""
    last = sum(1 for _ in World(how).moments())
    assert 20 < last < MOMENTS_MAX
    for moment in range(first, last, STRIDE):
        world = World(how)
        for number, _ in enumerate(world.moments()):
            if number == moment:
                break
        yield moment, world


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, STRIDE))]
)
@pytest.mark.parametrize("go", each_other(GOES))
@pytest.mark.parametrize("how", HOW)
def test_nothing_is_left_of_who_goes(how, go, first):
    for moment, world in at_moments(how, first):
        go(world)
        try:
            world.judge()
        except AssertionError as error:
            raise AssertionError(f"moment {moment}: {error}") from error


LEAVES = {ApiKey.LEAVE_GROUP, ApiKey.CONSUMER_GROUP_HEARTBEAT}


@pytest.mark.parametrize("how", HOW)
def test_who_closes_asks_for_no_more_records(how, monkeypatch):
    """What it has to say may have to wait behind such a question, half a second."""
    send, asked = Links.send, []

    def spy(links, key, api, *given, **more):
        if links is closing:
            asked.append(api)
        send(links, key, api, *given, **more)

    closing = None
    monkeypatch.setattr(Links, "send", spy)
    left = 0
    for moment, world in at_moments(how, 0):
        world.loop.cut(world.comes)
        closing = world.comes._links
        asked.clear()
        close(world)
        for _ in range(SOON_MS // 100):
            world.time_passes(world.stays)
        assert world.comes.closed, moment
        if LEAVES.isdisjoint(asked):
            continue
        left += 1
        last = max(number for number, api in enumerate(asked) if api in LEAVES)
        assert ApiKey.FETCH not in asked[:last], (moment, asked)
    assert left > 5


@pytest.mark.parametrize("go", [close, unsubscribe])
@pytest.mark.parametrize("how", HOW)
def test_nothing_is_left_of_who_goes_when_its_links_are_lost(how, go):
    """Who has heard its id: else there is none to leave under, and the session has to end."""
    gone = 0
    for moment, world in at_moments(how, 0):
        if not world.comes.group_metadata().member_id:
            continue
        gone += 1
        world.loop.cut(world.comes)
        world.loop.run()
        go(world)
        try:
            world.judge()
        except AssertionError as error:
            raise AssertionError(f"moment {moment}: {error}") from error
    assert gone > 5
