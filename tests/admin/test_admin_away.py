"""The program was away for longer than an operation may take; what brokers said meanwhile is
there.
"""

import pytest
from scripted import SILENT, World
from scripted_admin import AdminClient, AdminCluster

from kcore.admin import NewTopic
from kcore.admin.topics import create_topics
from kcore.errors import KafkaError, KafkaTimeoutError
from kcore.wire.apis import ApiKey

OPTIONS = {"validate_only": False, "raise_errors": True, "wait": False}
AWAY_MS = [61_000, 43_200_000]


def begun(cluster):
    world = World(cluster)
    client = AdminClient(world, {})
    world.run(1_000)
    return world, client, client.begin(create_topics([NewTopic("new", 1, 1)], **OPTIONS))


@pytest.mark.parametrize("away_ms", AWAY_MS)
@pytest.mark.parametrize("steps", range(6))
def test_what_is_answered_meanwhile_counts_and_the_rest_has_a_moment(away_ms, steps):
    """Whichever of its questions was under way."""
    cluster = AdminCluster({"t": 1})
    world, client, operation = begun(cluster)
    world.run(steps)
    world.come_back(client, away_ms)
    world.run(900)
    assert client.result(operation)["topics"][0]["error_code"] == 0


def test_what_nobody_answers_fails_all_the_same():
    cluster = AdminCluster({"t": 1})
    cluster.script[ApiKey.CREATE_TOPICS] = lambda *_: SILENT
    world, client, operation = begun(cluster)
    for _ in range(4):
        world.come_back(client, 70_000)
    world.run(2_000)
    assert isinstance(failure(client, operation), KafkaTimeoutError)


@pytest.mark.parametrize("away_ms", AWAY_MS)
def test_a_verb_that_comes_first_ends_nothing(away_ms):
    cluster = AdminCluster({"t": 1})
    world, client, operation = begun(cluster)
    world.run(1)
    assert client.core.deadline() > world.now
    world.come_back(client, away_ms, lambda now: client.core.find_anybody(now, 1_000))
    world.run(900)
    assert client.result(operation)["topics"][0]["error_code"] == 0


def failure(client, operation):
    try:
        client.result(operation)
    except KafkaError as error:
        return error
    return None
