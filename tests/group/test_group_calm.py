"""Polls of a member to whom nothing happens: they cost little, and miss nothing that is due."""

from __future__ import annotations

import pytest
from group_asks import T10, T11, auto, commit, stable
from group_world import World

from kcore.errors import InvalidCommitOffsetSizeError, KafkaError, RetriableCommitFailedError
from kcore.group.context import Timer
from kcore.group.states import MemberState
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import OffsetCommitResponse


def calm(world: World) -> None:
    """The poll after which polls have nothing to do."""
    assert not world.member.handle_poll(world.now)


def poll_at(world: World, now: int) -> bool:
    """A poll, and no tick unless it asks for one; whether it did."""
    world.now = now
    busy = world.member.handle_poll(now)
    if busy:
        world.settle()
    return busy


def test_every_poll_moves_the_poll_timer() -> None:
    world = stable()
    calm(world)
    for _ in range(3):
        assert not poll_at(world, world.now + 700)
        assert world.member._ctx.timers.at(Timer.POLL) == world.now + 60_000
        assert world.member._membership.last_poll_ms == world.now


def test_a_commit_is_made_by_the_first_poll_after_its_interval() -> None:
    world = auto()
    calm(world)
    due = world.member._ctx.timers.at(Timer.AUTO_COMMIT)
    assert not poll_at(world, due - 1)
    assert poll_at(world, due)
    assert world.open(ApiKey.OFFSET_COMMIT)


def test_an_interval_that_begins_in_a_poll_is_told() -> None:
    """Its timer may be the first of all; nobody else would wake the driver for it."""
    world = auto()
    world.run(1_000)
    world.member._autocommit._in_flight = False
    world.member._autocommit._next_ms = None
    assert poll_at(world, world.now)
    assert world.member.deadline() <= world.now + 1_000


@pytest.mark.parametrize("what", ["verb", "heartbeat", "topics"])
def test_a_rebalance_begins_in_the_poll_after_its_reason(what: str) -> None:
    world = stable()
    calm(world)
    if what == "verb":
        world.member.request_rejoin("asked for", world.now)
    elif what == "topics":
        world.host.topics = ["t1", "t2"]
        world.member.subscription_changed(world.now)
    else:
        world.run(3_000)
        world.answer(ApiKey.HEARTBEAT, E.REBALANCE_IN_PROGRESS)
    world.settle()
    assert poll_at(world, world.now + 1)
    world.poll()
    assert world.member.state is MemberState.PREPARING


def test_a_commit_that_is_repeated_says_what_is_so_now() -> None:
    world = auto()
    said = []
    for offset, ids in [(100, {}), (100, {}), (101, {}), (101, {"t1": b"1" * 16})]:
        world.host.consumed = {T10: OffsetAndMetadata(offset)}
        world.cluster.ids = ids
        world.run(1_000)
        world.poll()
        request = world.request(ApiKey.OFFSET_COMMIT)
        (topic,) = request.body.topics
        said.append((request.version, [one.committed_offset for one in topic.partitions]))
        assert (topic.name, topic.topic_id) == ("" if ids else "t1", ids.get("t1", bytes(16)))
        world.answer(ApiKey.OFFSET_COMMIT)
    assert said == [(9, [100]), (9, [100]), (9, [101]), (10, [101])]


def _answer(*topics: tuple[str, list[tuple[int, int]]]) -> OffsetCommitResponse:
    cls = OffsetCommitResponse
    made = [
        cls.OffsetCommitResponseTopic(
            name=name,
            partitions=[
                cls.OffsetCommitResponsePartition(partition_index=number, error_code=code)
                for number, code in parts
            ],
        )
        for name, parts in topics
    ]
    return cls(topics=made)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (_answer(("t1", [(0, 0), (1, 0)])), None),
        (_answer(("t1", [(1, 0), (0, 0)])), None),
        (_answer(("t1", [(0, 0)]), ("t1", [(1, 0)])), None),
        (_answer(("t1", [(0, 0), (1, 0), (2, 0)]), ("t9", [])), None),
        (_answer(("t1", [(0, 0), (1, 28)])), InvalidCommitOffsetSizeError),
        (_answer(("t1", [(0, 0), (1, 0), (1, 28)])), InvalidCommitOffsetSizeError),
        (_answer(("t1", [(0, 0)])), RetriableCommitFailedError),
        (_answer(("t2", [(0, 0), (1, 0)])), RetriableCommitFailedError),
        (_answer(), RetriableCommitFailedError),
    ],
)
def test_an_answer_to_a_commit_counts_by_what_it_says(
    answer: OffsetCommitResponse, error: type[KafkaError] | None
) -> None:
    world = stable()
    outcome = commit(world, {T10: OffsetAndMetadata(5), T11: OffsetAndMetadata(6)})
    world.respond(world.request(ApiKey.OFFSET_COMMIT), answer)
    world.settle()
    if error is None:
        assert outcome.result == {T10: OffsetAndMetadata(5), T11: OffsetAndMetadata(6)}
    else:
        assert isinstance(outcome.error, error)
