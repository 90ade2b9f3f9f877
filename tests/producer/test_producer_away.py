"""The program was away for longer than anything may take; what leaders said meanwhile is there."""

import pytest
from scripted_producer import produce_world

from kcore.errors import KafkaTimeoutError
from kcore.events import OperationCompleted

DELIVERY_MS = 120_000


@pytest.fixture
def setting():
    world, cluster, client = produce_world(topics={"t": 2}, nodes=2, linger_ms=0)
    assert cluster.leader_of(0) != cluster.leader_of(1)
    for partition in (0, 1):
        client.send_soon(b"before", partition=partition)
    client.flush()
    return world, cluster, client


def send_to_both(client):
    for partition in (0, 1):
        assert client.send(b"value", partition=partition)


@pytest.mark.parametrize("away_ms", [31_000, DELIVERY_MS + 1, 43_200_000])
def test_what_leaders_have_answered_is_delivered(setting, away_ms):
    """One connection's answer is read first: the time that is over is not the other one's end."""
    world, _, client = setting
    send_to_both(client)
    world.come_back(client, away_ms)
    assert client.errors() == []
    assert len(client.delivered()) == 4
    client.check_offsets()


def test_a_verb_that_comes_first_ends_nothing(setting):
    world, _, client = setting
    send_to_both(client)
    assert client.core.deadline() > world.now
    world.come_back(client, DELIVERY_MS + 1, client.core.flush)
    assert client.errors() == []
    assert len(client.delivered()) == 4


def test_what_is_never_answered_fails_all_the_same(setting):
    world, _, client = setting
    send_to_both(client)
    world._queue.clear()
    world.come_back(client, DELIVERY_MS + 1)
    assert len(client.errors()) == 2


def test_a_look_up_that_was_answered_meanwhile_has_succeeded(setting):
    world, _, client = setting
    operation = client.core.fetch_metadata(("t",), world.now, 30_000)
    client.drain()
    assert client.core.deadline() > world.now
    world.come_back(client, 60_000, client.core.flush)
    (ended,) = ended_of(client, operation)
    assert ended.error is None
    assert ended.result == {"t": [0, 1]}


def test_a_look_up_has_a_moment_left_once(setting):
    """Else who is away while it starts finds no broker, though nothing is wrong with any."""
    world, _, client = setting
    operation = client.core.fetch_metadata(("t",), world.now, 30_000)
    client.drain()
    world._queue.clear()
    world.come_back(client, 60_000)
    assert ended_of(client, operation) == []
    world._queue.clear()
    world.come_back(client, 60_000)
    (ended,) = ended_of(client, operation)
    assert isinstance(ended.error, KafkaTimeoutError)


@pytest.mark.parametrize("away_ms", [11_000, 40_000, 43_200_000])
def test_a_close_that_was_struck_delivers_what_leaders_took(setting, away_ms):
    world, _, client = setting
    send_to_both(client)
    client.core.close(world.now, 10_000)
    client.drain()
    world.come_back(client, away_ms)
    assert client.errors() == []
    assert len(client.delivered()) == 4
    client.check_offsets()


def test_a_close_that_nobody_answers_has_a_moment_left_once(setting):
    world, _, client = setting
    send_to_both(client)
    client.core.close(world.now, 10_000)
    client.drain()
    for _ in range(2):
        assert client.errors() == []
        world._queue.clear()
        world.come_back(client, 40_000)
    assert len(client.errors()) == 2
    assert client.core.closed


def ended_of(client, operation):
    client.drain()
    kinds = [one for one in client.events if isinstance(one, OperationCompleted)]
    return [one for one in kinds if one.operation == operation]
