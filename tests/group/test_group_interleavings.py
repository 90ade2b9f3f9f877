"""Random interleavings of everything that can happen to a member, then peace: it must be in
the group again.

Invariants after every input: nothing spins (the world fails on it), no state is left by an
exception, a commit is never sent for partitions that are not owned, the assignment changes only
inside poll, leave and close. PAINS 6 and 7.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from group_world import KEY, CooperativeRange, Request, World, subscription_blob, tp
from longer import quickly

from kcore.assignors import RangeAssignor, blobs
from kcore.errors import DisconnectedError, KafkaError, RequestTimedOutError, Unexpected
from kcore.group.states import MemberState, Step
from kcore.structs import GroupMembershipOperation, OffsetAndMetadata, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

CODES: list[int | KafkaError] = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.STREAMS_TOPOLOGY_FENCED,
    DisconnectedError("gone"),
    RequestTimedOutError("late"),
    Unexpected("garbage"),
]
GARBAGE = [b"", b"\0", b"\0\3\0", blobs.encode_assignment([tp("never-0")]), b"\0\1\xff\xff\xff\xff"]


class Chaos:
    """One run: a seeded sequence of stimuli against one member."""

    make_world = World
    codes = CODES

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        # A swarm: each run draws how much of everything it gets.
        self.error_rate = rng.choice([0.0, 0.05, 0.2, 0.5])
        self.garbage_rate = rng.choice([0.0, 0.0, 0.1, 0.4])
        self.static = rng.random() < 0.25
        cooperative = rng.random() < 0.4
        world = self.world = self.make_world(
            config={
                "await_acknowledgement": rng.random() < 0.5,
                "enable_auto_commit": rng.random() < 0.7,
                "group_instance_id": "i" if self.static else None,
                "auto_commit_interval_ms": 500,
                "assignors": (CooperativeRange(),) if cooperative else (RangeAssignor(),),
            },
            seed=seed,
        )
        world.network.versions = {
            ApiKey.FIND_COORDINATOR: rng.choice([0, 3, 4, 99]),
            ApiKey.JOIN_GROUP: rng.choice([5, 6, 9] if self.static else [0, 3, 5, 7, 9]),
            ApiKey.SYNC_GROUP: rng.choice([0, 2, 3, 5]),
            ApiKey.HEARTBEAT: rng.choice([0, 3, 4]),
            ApiKey.LEAVE_GROUP: rng.choice([0, 2, 3, 5]),
            ApiKey.OFFSET_COMMIT: rng.choice([2, 6, 8, 9, 10]),
            ApiKey.OFFSET_FETCH: rng.choice([1, 5, 7, 8, 10]),
        }
        world.cluster.ids = {"t1": b"1" * 16, "t2": b"2" * 16}
        self.owed = 0
        self.closing = False
        self.guard_assignment()
        self.subscribe()
        if rng.random() < 0.7:
            world.auto = True
            for _ in range(4):
                self.poll()
                self.ack()
            assert world.member.stable
            world.auto = False

    def guard_assignment(self) -> None:
        """The assignment may only change while one of these verbs runs."""
        host, take = self.world.host, self.world.host.take_assignment
        self.allowed = False

        def checked(partitions: list[TopicPartition]) -> None:
            assert self.allowed or not (host.owned or partitions) or self.closing
            take(partitions)

        host.take_assignment = checked  # type: ignore[method-assign]

    # -- stimuli ---------------------------------------------------------------------------------

    def poll(self) -> None:
        self.allowed = True
        self.world.member.handle_poll(self.world.now)
        self.allowed = False
        self.world.settle()
        for at in self.world.host.owned:
            self.world.host.consumed[at] = OffsetAndMetadata(self.rng.randrange(1000))

    def ack(self) -> None:
        self.allowed = True
        self.world.member.acknowledge_rebalance(self.world.now)
        self.allowed = False
        self.world.settle()

    def subscribe(self) -> None:
        self.world.subscribe(*self.rng.choice([["t1"], ["t2"], ["t1", "t2"]]))

    def unsubscribe(self) -> None:
        self.allowed = True
        self.world.member.leave(self.world.now, "unsubscribed")
        self.allowed = False
        self.world.settle()

    def commit(self) -> None:
        offsets = {
            tp(name): OffsetAndMetadata(5)
            for name in self.rng.sample(["t1-0", "t1-1", "t2-0", "t9-9"], self.rng.randrange(4))
        }
        self.owed += 1
        deadline = self.rng.choice([None, self.world.now + self.rng.randrange(5_000)])
        self.world.member.commit(offsets, self.world.now, self.done, deadline_ms=deadline)
        self.world.settle()

    def fetch(self) -> None:
        self.owed += 1
        self.world.member.fetch_committed(
            [tp("t1-0"), tp("t2-1")],
            self.world.now,
            self.done,
            deadline_ms=self.world.now + self.rng.randrange(5_000),
        )
        self.world.settle()

    def done(self, result: object, error: KafkaError | None) -> None:
        self.owed -= 1
        assert self.owed >= 0

    def answer(self) -> None:
        if self.world.network.open:
            request = self.rng.choice(self.world.network.open)
            codes = [*self.codes, ErrorCode.FENCED_INSTANCE_ID] if self.static else self.codes
            bad = self.rng.random() < self.error_rate
            error: int | KafkaError = self.rng.choice(codes) if bad else ErrorCode.NONE
            garbage = self.rng.random() < self.garbage_rate
            fields = self.fields(request, garbage=garbage)
            if request.api is ApiKey.JOIN_GROUP and not isinstance(error, KafkaError) and garbage:
                fields = self.rng.choice(
                    [
                        {},
                        {"leader": "me"},
                        {"leader": "me", "members": [("x", b"\0")]},
                        {"leader": "me", "members": [("x", subscription_blob("t2"))]},
                        {"generation_id": -5},
                        {"protocol_name": "other"},
                        {"member_id": "new"},
                    ]
                )
            if request.api is ApiKey.SYNC_GROUP and garbage:
                fields = {"blob": self.rng.choice(GARBAGE)}
            elif request.api is ApiKey.SYNC_GROUP:
                topic = self.rng.choice(self.world.host.topics)
                fields = {"assigned": self.rng.choice([f"{topic}-0", f"{topic}-0 {topic}-1", ""])}
            self.world._reply(request, error, **fields)
        self.world.settle()

    def fields(self, request: Request, *, garbage: bool) -> dict[str, Any]:
        """What else the answer says, of APIs that only other protocols have."""
        del request, garbage
        return {}

    def link_breaks(self) -> None:
        self.world.network.break_link(self.rng.choice([1, KEY]), DisconnectedError("cable pulled"))
        if self.rng.random() < 0.5:
            self.world.network.backoff_until[KEY] = self.world.now + 200
        self.world.settle()

    def outage(self) -> None:
        self.world.network.brokers = self.rng.random() < 0.5
        self.world.settle()

    def metadata(self) -> None:
        self.world.cluster.set("t1", self.rng.choice([1, 2, 3, None]))
        self.world.host.fresh = self.rng.random() < 0.7
        self.world.settle()

    def rejoin(self) -> None:
        self.world.member.request_rejoin("because", self.world.now)
        self.world.settle()

    def time_passes(self) -> None:
        self.world.run(self.rng.choice([1, 50, 400, 3_000, 12_000, 61_000]))

    def steps(self) -> list[Callable[[], None]]:
        return [
            *[self.poll] * 6,
            *[self.answer] * 10,
            *[self.ack] * 3,
            *[self.time_passes] * 3,
            self.subscribe,
            self.commit,
            self.commit,
            self.fetch,
            self.link_breaks,
            self.outage,
            self.metadata,
            self.rejoin,
        ]

    # -- the checks ------------------------------------------------------------------------------

    def heal(self) -> None:
        """Peace: everything is answered, the application polls and acknowledges."""
        world = self.world
        if world.member._membership.fenced is not None:  # the one end that needs the application
            self.unsubscribe()
            self.ack()
            self.subscribe()
        world.network.brokers = True
        world.network.backoff_until.clear()
        world.host.fresh = True
        world.cluster.set("t1", 2)
        world.auto = True
        for rounds in (20, 120):
            self.rejoin()  # the last assignment may have been nothing, or the one under way is
            for _ in range(rounds):
                self.poll()
                self.ack()
                world.run(500)

    def check_sent(self) -> None:
        for request in self.world.network.log:
            if (
                request.api is ApiKey.OFFSET_COMMIT
                and request.body.generation_id_or_member_epoch >= 0
            ):
                for topic in request.body.topics:
                    assert topic.name != "t9"


# What is tried of either protocol's chaos --------------------------------------------------------


def healed(make: type[Chaos], block: int) -> Iterator[tuple[int, World]]:
    """(seed, world) after anything in any order, and then peace."""
    for seed in range(block * 25, block * 25 + 25):
        chaos = make(seed)
        for _ in range(60):
            chaos.rng.choice(chaos.steps())()
        chaos.heal()
        world = chaos.world
        assert world.member.stable, (seed, world.member.state, world.member.step)
        assert {at.topic for at in world.host.owned} == set(world.host.topics), seed
        assert chaos.owed == 0, seed
        chaos.check_sent()
        yield seed, world


def close_from_anywhere(make: type[Chaos], block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        chaos = make(seed + 10_000)
        for _ in range(chaos.rng.randrange(50)):
            chaos.rng.choice([*chaos.steps(), chaos.unsubscribe])()
        world = chaos.world
        chaos.closing = True
        deadline = world.now + chaos.rng.choice([0, 700, 5_000])
        operation = chaos.rng.choice(list(GroupMembershipOperation))
        world.member.close(world.now, deadline, autocommit=True, operation=operation)
        world.settle()
        world.run(deadline - world.now + 1)
        assert world.member.closed, seed
        assert chaos.owed == 0, seed
        assert world.host.owned == [] or not world.member._membership.subscribed
        world.poll()
        world.ack()
        assert world.member.deadline() > world.now + 10**9


def ticks_of(world: World, time_ms: int) -> int:
    """How often the member is woken in so much time, in which nobody polls."""
    ticks = 0
    inner = world.member.handle_tick

    def counted(now_ms: int) -> None:
        nonlocal ticks
        ticks += 1
        inner(now_ms)

    world.member.handle_tick = counted  # type: ignore[method-assign]
    world.run(time_ms)
    return ticks


@pytest.mark.parametrize("block", quickly(2, of=12))
def test_any_interleaving_heals(block: int) -> None:
    assert len(list(healed(Chaos, block))) == 25


@pytest.mark.parametrize("block", range(6))
def test_leave_and_close_end_from_anywhere(block: int) -> None:
    close_from_anywhere(Chaos, block)


def test_long_silence_costs_few_wakeups() -> None:
    """An application that never comes back: the member leaves once, then only its coordinator
    is watched.
    """
    world = World(config={"enable_auto_commit": True, "auto_commit_interval_ms": 100})
    world.auto = True
    world.subscribe("t1")
    for _ in range(3):
        world.poll()
    assert world.member.stable
    ticks = ticks_of(world, 600_000)
    assert world.member.state is MemberState.UNJOINED
    assert world.member.step is Step.IDLE
    assert world.count(ApiKey.LEAVE_GROUP) == 1
    assert ticks < 200, ticks  # twenty heartbeats and their answers before the poll interval ends
