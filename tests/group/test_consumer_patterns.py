"""A pattern that the brokers match (KIP-848: SubscribedTopicRegex)."""

from __future__ import annotations

from typing import Any

from consumer_world import BEAT, IDS, INTERVAL_MS, ConsumerWorld
from group_world import tps

from kcore.errors import InvalidRegularExpressionError, UnsupportedVersionError
from kcore.events import ErrorRaised
from kcore.group.consumer_states import ConsumerState as S
from kcore.wire.codes import ErrorCode as E

JOIN = {"timeout": 60_000, "topics": [], "owned": []}


def joining(pattern: str = "t.*") -> ConsumerWorld:
    """On the way in, and no topic is known by its id yet."""
    world = ConsumerWorld()
    world.cluster.ids.clear()
    wish(world, pattern)
    world.find()
    world.poll()
    return world


def wish(world: ConsumerWorld, pattern: str) -> None:
    world.host.brokers_pattern = pattern
    world.member.subscription_changed(world.now)
    world.settle()


def told(world: ConsumerWorld) -> str | None:
    """The pattern in the open heartbeat."""
    return world.request(BEAT).body.subscribed_topic_regex


def named(world: ConsumerWorld, *topics: str) -> None:
    """Metadata says what ids stand for."""
    world.cluster.ids.update({topic: IDS[topic] for topic in topics})
    world.cluster.version += 1


def test_it_joins_with_the_pattern_and_without_topics() -> None:
    world = joining()
    assert world.said(world.request(BEAT)) == JOIN
    assert told(world) == "t.*"


def test_names_are_asked_for_and_then_taken() -> None:
    world = joining()
    world.beat("t1-0 t1-1")
    world.poll()
    assert world.host.owned == []
    assert world.cluster.names_asked == [frozenset({IDS["t1"]})]
    assert world.said(world.request(BEAT)) == {"owned": []}  # nothing of it, so far
    world.beat()
    named(world, "t1")
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1")
    assert world.host.group_topics == {"t1"}  # so that its metadata is kept up to date
    assert told(world) is None
    world.beat()
    assert world.member.stable


def test_names_are_asked_for_again_until_they_are_known() -> None:
    world = joining()
    world.beat("t1-0")
    world.poll()
    world.run(1_000, poll_every=100)
    assert 3 <= len(world.cluster.names_asked) <= 9
    assert set(world.cluster.names_asked) == {frozenset({IDS["t1"]})}
    assert not world.cluster.updates_asked


def test_a_name_that_came_between_two_polls_is_kept_until_the_next() -> None:
    """Metadata that nobody asked about it does not have it."""
    world = joining()
    world.beat("t1-0")
    world.poll()
    world.beat()
    named(world, "t1")
    world.settle()
    assert world.host.group_topics == {"t1"}  # from now on all metadata has it
    world.cluster.ids.clear()
    world.cluster.version += 1
    world.run(1_000)
    assert len(world.cluster.names_asked) == 1
    world.poll()
    assert world.host.owned == tps("t1-0")


def test_a_topic_more_later() -> None:
    world = joining()
    named(world, "t1")
    world.take("t1-0")
    assert world.member.stable
    world.next_beat()
    world.beat("t1-0 t2-0", epoch=2)
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert world.cluster.names_asked == [frozenset({IDS["t2"]})]
    named(world, "t2")
    world.poll()
    assert world.host.owned == tps("t1-0 t2-0")
    assert world.host.group_topics == {"t1", "t2"}


def test_another_pattern_is_told_at_once() -> None:
    world = joining()
    named(world, "t1", "t2")
    world.take("t1-0")
    wish(world, "t2")
    assert told(world) == "t2"
    assert world.said(world.request(BEAT)) == {}
    world.beat("t2-0", epoch=2)
    world.poll()
    world.poll()
    assert world.host.owned == tps("t2-0")


def test_what_failed_is_told_again() -> None:
    world = joining()
    world.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(200)
    assert told(world) == "t.*"


def test_who_was_fenced_joins_with_it() -> None:
    world = joining()
    named(world, "t1")
    world.take("t1-0")
    world.run(INTERVAL_MS, poll_every=1_000)
    world.refuse(E.FENCED_MEMBER_EPOCH)
    world.poll()
    world.poll()
    assert told(world) == "t.*"
    assert world.request(BEAT).body.member_epoch == 0


def test_a_pattern_that_brokers_refuse_is_said_in_every_poll() -> None:
    world = joining("(")
    world.refuse(E.INVALID_REGULAR_EXPRESSION, message="it is none")
    assert world.member.state is S.FATAL
    for _ in range(2):
        world.poll()
        (event,) = world.new_events(ErrorRaised)
        assert type(event.error) is InvalidRegularExpressionError
        assert "it is none" in str(event.error)


def test_brokers_without_a_place_for_it() -> None:
    world = ConsumerWorld()
    world.network.versions[BEAT] = 0
    wish(world, "t.*")
    world.find()
    world.poll()
    world.poll()
    error = world.new_events(ErrorRaised)[-1].error
    assert type(error) is UnsupportedVersionError
    assert "SubscriptionPattern" in str(error)


def looks(world: ConsumerWorld, within_ms: int, **fields: Any) -> list[int]:
    """When heartbeats go out, each of which is answered at once, and tells of nothing."""
    until, sent = world.now + within_ms, []
    while world.now < until:
        if world.open(BEAT):
            sent.append(world.now)
            world.beat(**fields)
        world.run(10, poll_every=10)
    return sent


def test_what_a_new_pattern_matches_is_asked_for_before_the_interval() -> None:
    """A Kafka looks for it behind its answer, and says what it is when it is asked next."""
    world = joining()
    began = world.now
    world.beat("")
    sent = looks(world, 3 * INTERVAL_MS)
    soon = [at for at in sent if at < began + INTERVAL_MS]
    assert len(soon) == 5
    assert soon[1] - began <= 300
    later = [at for at in sent if at >= began + INTERVAL_MS]
    assert all(b - a >= INTERVAL_MS for a, b in zip(sent[4:], later, strict=False))
    assert 1 <= len(later) <= 2  # it matches nothing: the interval is all there is


def test_nor_are_there_more_heartbeats_once_it_has_matched() -> None:
    world = joining()
    named(world, "t1")
    world.take("t1-0")
    assert looks(world, INTERVAL_MS - 500) == []
    wish(world, "t2")
    named(world, "t2")
    world.beat()  # of the new one nothing is known yet
    world.run(300, poll_every=100)
    world.beat("t2-0", epoch=2)
    world.poll()
    world.poll()
    world.beat(epoch=2)
    assert looks(world, INTERVAL_MS - 500, epoch=2) == []


def test_a_pattern_that_is_told_again_is_not_looked_for_anew() -> None:
    world = joining()
    world.beat("")
    looks(world, 2 * INTERVAL_MS)
    world.next_beat()
    world.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(300, poll_every=100)
    assert told(world) == "t.*"
    world.beat()
    assert looks(world, INTERVAL_MS - 500) == []
