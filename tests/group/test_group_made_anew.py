"""Offsets of a topic that was deleted and made anew under its name: those of the one before are
neither committed nor found in the other (KIP-516).
"""

from __future__ import annotations

from group_asks import AT5, T10, T11, auto, commit, fetch, manual, stable
from group_world import World, tp

from kcore.errors import CommitFailedError
from kcore.events import OffsetsCommitted
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

T20 = tp("t2-0")
BEFORE, ANEW, OTHER = b"1" * 16, b"2" * 16, b"3" * 16


def named(world: World) -> World:
    world.cluster.ids = {"t1": BEFORE, "t2": OTHER}
    return world


def remake(world: World) -> None:
    world.host.consumed = {}  # as it is by then
    world.cluster.ids["t1"] = ANEW
    world.cluster.version += 1


def close(world: World) -> None:
    """What is committed then is tried again."""
    world.member.close(world.now, world.now + 30_000, autocommit=True)
    world.settle()


def test_a_commit_that_was_asked_for_before_is_not_made_in_the_new_one() -> None:
    world = named(stable())
    outcome = commit(world, deadline_ms=20_000)
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_TOPIC_ID)
    remake(world)
    world.run(2_000, poll_every=500)
    assert not world.open(ApiKey.OFFSET_COMMIT)
    error = outcome.error
    assert isinstance(error, CommitFailedError)
    assert error.partitions == {T10}
    assert "made anew" in str(error)


def test_the_rest_of_it_is() -> None:
    world = named(manual())
    at = OffsetAndMetadata(7)
    outcome = commit(world, {**AT5, T20: at}, deadline_ms=20_000)
    world.find()
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_TOPIC_ID)
    remake(world)
    world.run(200)
    [topic] = world.request(ApiKey.OFFSET_COMMIT).body.topics
    assert topic.topic_id == OTHER
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == {T20: at}


def test_so_it_is_with_automatic_ones() -> None:
    world = named(auto())
    close(world)
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_TOPIC_ID)
    remake(world)
    world.run(500)
    assert not world.open(ApiKey.OFFSET_COMMIT)
    [event] = world.new_events(OffsetsCommitted)
    assert event == OffsetsCommitted(None, {}, None, (T10,))


def test_an_automatic_one_of_a_topic_that_was_gone_then_is_not_made_in_the_new_one() -> None:
    world = auto()
    world.cluster.ids = {}
    close(world)
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_TOPIC_OR_PARTITION)
    remake(world)
    world.run(500)
    assert not world.open(ApiKey.OFFSET_COMMIT)


def test_of_a_topic_that_is_gone_the_id_is_said_of_the_one_that_was_read() -> None:
    """By its name offsets would be those of whatever has it when they arrive."""
    world = named(stable())
    world.host.log_ids = lambda: {"t1": BEFORE}
    del world.cluster.ids["t1"]
    outcome = commit(world, deadline_ms=20_000)
    sent = world.request(ApiKey.OFFSET_COMMIT)
    assert (sent.version, sent.body.topics[0].topic_id) == (10, BEFORE)
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_TOPIC_ID)
    remake(world)
    world.run(2_000, poll_every=500)
    assert "made anew" in str(outcome.error)


def test_so_it_is_with_one_that_goes_while_the_same_is_committed_once_more() -> None:
    world = named(auto())
    world.host.log_ids = lambda: {"t1": BEFORE}
    world.run(1_000)
    for _ in range(2):
        world.poll()
        sent = world.request(ApiKey.OFFSET_COMMIT)
        assert (sent.version, sent.body.topics[0].topic_id) == (10, BEFORE)
        world.answer(ApiKey.OFFSET_COMMIT)
        world.cluster.ids.pop("t1", None)
        world.run(1_000)


def test_what_was_found_in_the_one_before_is_asked_for_again() -> None:
    world = named(manual())
    outcome = fetch(world)
    world.find()
    world.committed = {T10: OffsetAndMetadata(5)}
    assert world.request(ApiKey.OFFSET_FETCH).body.groups[0].topics[0].topic_id == BEFORE
    names = world.cluster.topic_name
    world.cluster.topic_name = lambda one: "t1" if one == BEFORE else names(one)
    remake(world)
    world.answer(ApiKey.OFFSET_FETCH)
    assert not outcome.calls
    world.committed = {}
    world.run(1_000)
    assert world.request(ApiKey.OFFSET_FETCH).body.groups[0].topics[0].topic_id == ANEW
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result == {T10: None, T11: None}
