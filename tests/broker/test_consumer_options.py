"""Options of one consumer group; words are those of a Kafka 4.4.0."""

import pytest
from broker_world import World
from test_settings import SET, alter, shown

from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.errors import KafkaConfigurationError
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

GROUP = 32
SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"


@pytest.fixture
def world():
    config = CoordinatorConfig(
        group_consumer_min_session_timeout_ms=1_000, group_consumer_min_heartbeat_interval_ms=100
    )
    made = World(config=BrokerConfig(coordinator=config))
    made.topic("t")
    yield made
    assert not made.faults


def set_options(client, **options):
    named = [(f"consumer.{name.replace('_', '.')}", SET, text) for name, text in options.items()]
    return alter(client, GROUP, "g", *named)


def beat(client, member, epoch, group="g", topics=None, **more):
    request = m.ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics, **more
    )
    return client.ask(request, 1)


def enter(client, member, group="g"):
    return beat(client, member, 0, group, ["t"], rebalance_timeout_ms=30_000, topic_partitions=[])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"session_timeout_ms": "0"},
         f"Invalid value 0 for configuration {SESSION}: Value must be at least 1"),
        ({"session_timeout_ms": "999"},
         f"{SESSION} must be in the range 1000 to 60000 inclusive."),
        ({"heartbeat_interval_ms": "15001"},
         f"{HEARTBEAT} must be in the range 100 to 15000 inclusive."),
        ({"session_timeout_ms": "5000"}, f"{SESSION} must be greater than {HEARTBEAT}"),
        ({"nope": "1"}, "Unknown group config name: consumer.nope"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(world, options, why):
    client = world.client()
    assert set_options(client, **options) == (E.INVALID_CONFIG, why)
    layers = [("group.consumer.session.timeout.ms", "45000", 5)]
    assert shown(client, GROUP, "g", SESSION) == ("45000", 5, layers)


def test_they_hold_for_the_one_group(world):
    client = world.client()
    assert set_options(client, session_timeout_ms="2000", heartbeat_interval_ms="500")[0] == 0
    assert enter(client, "m").heartbeat_interval_ms == 500
    assert enter(client, "m", "other").heartbeat_interval_ms == 5_000
    world.run(2_000)
    assert beat(client, "m", 2).error_code == E.UNKNOWN_MEMBER_ID
    assert beat(client, "m", 2, "other").error_code == E.NONE


def test_a_target_keeps_its_distance(world):
    client = world.client()
    set_options(client, assignment_interval_ms="15000")
    assert enter(client, "m").member_epoch == 2
    assert enter(client, "n").member_epoch == 2
    world.run(15_000)
    assert beat(client, "n", 2).member_epoch == 3


def test_what_nodes_say_is_always_within_the_bounds():
    config = CoordinatorConfig(
        group_consumer_session_timeout_ms=2_000, group_consumer_heartbeat_interval_ms=500
    )
    client = World(config=BrokerConfig(coordinator=config)).client()
    assert shown(client, GROUP, "g", SESSION)[:2] == ("2000", 4)
    assert set_options(client, session_timeout_ms="2000")[0] == E.NONE
    assert set_options(client, session_timeout_ms="1999")[0] == E.INVALID_CONFIG
    with pytest.raises(KafkaConfigurationError, match="group_consumer_min_session_timeout_ms=0"):
        CoordinatorConfig(group_consumer_min_session_timeout_ms=0)
