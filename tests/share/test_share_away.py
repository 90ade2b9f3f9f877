"""The program was away for longer than anything may take; what brokers said meanwhile is there."""

import pytest
from scripted import SILENT
from scripted_share import ShareClient

from kcore.errors import RequestTimedOutError
from kcore.events import Closed, GroupLeft
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey

T0 = TopicPartition("t", 0)
AWAY_MS = [40_000, 70_000, 43_200_000]


def handed_over(world):
    """To a client whose broker is told of them next."""
    client = ShareClient(world, {}).subscribe("t")
    assert len(client.polled()) == 10
    client.core.accept()
    return client


@pytest.mark.parametrize("away_ms", AWAY_MS)
def test_a_close_that_was_struck_has_told_of_all(cluster, world, away_ms):
    client = handed_over(world)
    client.core.close(world.now, 5_000)
    client.drain()
    world.come_back(client, away_ms)
    world.run(900)
    assert client.of(Closed)
    assert client.of(GroupLeft)
    assert cluster.done() == list(range(10))


def test_a_close_that_nobody_answers_has_a_moment_left_once(cluster, world):
    client = handed_over(world)
    for api in (ApiKey.SHARE_ACKNOWLEDGE, ApiKey.SHARE_GROUP_HEARTBEAT):
        cluster.script[api] = lambda *_: SILENT
    client.core.close(world.now, 5_000)
    client.drain()
    for _ in range(2):
        assert not client.of(Closed)
        world.come_back(client, 40_000)
    assert client.of(Closed)


@pytest.mark.parametrize("away_ms", AWAY_MS)
def test_a_commit_that_was_answered_meanwhile_has_succeeded(world, away_ms):
    client = handed_over(world)
    operation = client.core.commit(world.now, 5_000)
    client.drain()
    world.come_back(client, away_ms)
    assert client.result(operation) == {T0: None}


def test_a_commit_that_nobody_answers_fails_all_the_same(cluster, world):
    client = handed_over(world)
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: SILENT
    operation = client.core.commit(world.now, 5_000)
    client.drain()
    for _ in range(2):
        world.come_back(client, 40_000)
    (error,) = client.result(operation).values()
    assert isinstance(error, RequestTimedOutError)


@pytest.mark.parametrize("away_ms", AWAY_MS)
def test_a_verb_that_comes_first_ends_nothing(world, away_ms):
    client = handed_over(world)
    operation = client.core.commit(world.now, 5_000)
    client.drain()
    assert client.core.deadline() > world.now
    world.come_back(client, away_ms, client.core.poll)
    assert client.result(operation) == {T0: None}
