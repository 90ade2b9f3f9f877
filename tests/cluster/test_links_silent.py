"""A broker that stands still keeps its connections: others are asked whether it is still there."""

import pytest
from links_world import CONFIG, World, nodes

from kcore.actions import Send
from kcore.cluster.config import LinksConfig
from kcore.connection.options import LinkOptions
from kcore.consumer.config import ConsumerConfig
from kcore.errors import DisconnectedError
from kcore.producer.config import ProducerConfig
from kcore.share.config import ShareConsumerConfig
from kcore.wire import frames
from kcore.wire.messages import MetadataResponse as R


def two_nodes(config=CONFIG):
    world = World(config=config)
    world.links.set_nodes(nodes(1, 2), 0)
    return world


def alarms(links, until_ms):
    """When links raise one, as a driver has them look."""
    found = []
    while (now := links.deadline()) < until_ms:
        before = links.alarms
        links.handle_deadline(now)
        assert links.deadline() > now
        found += [now] * (links.alarms - before)
    return found


@pytest.mark.parametrize(
    ("timeout_ms", "kept_ms", "first_ms", "distance_ms"),
    [(30_000, 0, 3_000, 1_001), (30_000, 500, 3_500, 1_001), (300_000, 0, 30_000, 10_001)],
)
def test_others_are_asked_when_a_tenth_of_the_time_is_over_and_again(
    timeout_ms, kept_ms, first_ms, distance_ms
):
    world = two_nodes(LinksConfig(link=LinkOptions(client_id="me", kept_ms=kept_ms)))
    world.open(1)
    world.ask(1, timeout=timeout_ms)
    assert world.links.least_loaded(first_ms - 1) == 1  # nothing is odd yet
    found = alarms(world.links, first_ms + 3 * distance_ms)
    assert found == [first_ms, first_ms + distance_ms, first_ms + 2 * distance_ms]
    assert world.links.silent(1, first_ms)
    assert world.links.least_loaded(first_ms) == 2


def test_an_answer_ends_it():
    world = two_nodes()
    link = world.open(1)
    first, second = world.ask(1, 0), world.ask(1, 2_900)
    requests = [
        frames.decode_request(memoryview(one.data)[4:])
        for one in world.actions()
        if isinstance(one, Send)
    ]
    assert world.links.deadline() == 3_000
    world.answer(link, requests[0], R(), 2_950)
    world.settle()
    assert (len(first), second) == (1, [])
    assert not world.links.silent(1, 3_000)
    assert world.links.deadline() == 5_900
    world.answer(link, requests[1], R(), 4_000)
    assert alarms(world.links, 100_000) == []


def test_who_could_be_asked_is_silent_too():
    world = two_nodes()
    world.open(1)
    world.open(2)
    world.ask(1)
    world.ask(2, 100)
    assert alarms(world.links, 20_000) == [3_000]  # when node 2 was not yet


def test_a_cluster_of_one_has_nobody_else():
    world = World()
    world.links.set_nodes(nodes(1), 0)
    world.open(1)
    world.ask(1)
    assert alarms(world.links, 20_000) == []
    assert world.links.least_loaded(20_000) == 1


def test_a_set_up_of_which_nothing_comes():
    world = two_nodes()
    world.ask(1)
    (connect,) = world.connects()
    assert alarms(world.links, 5_100) == [3_000, 4_000, 5_000]
    assert world.links.least_loaded(3_000) == 2
    world.greet(connect.link, 5_100)
    assert world.links.silent(1, 5_100) is False


def test_of_several_bootstrap_servers_the_next_is_asked():
    world = World((("a", 1), ("b", 1)))
    asked = world.links.least_loaded(0)
    world.ask(asked)
    assert alarms(world.links, 3_500) == [3_000]
    assert world.links.least_loaded(3_000) == {-1: -2, -2: -1}[asked]


def test_what_waits_at_a_silent_bootstrap_server_goes_elsewhere_when_nodes_are_known():
    world = World((("a", 1), ("b", 1)))
    waits, others = world.ask(-1), world.ask(-2, 2_000)
    world.links.set_nodes(nodes(1), 3_000)
    world.links.release_bootstrap(2_999)
    assert world.links.in_flight(-1) == 1
    world.links.release_bootstrap(3_000)
    world.settle(3_000)
    assert isinstance(waits[0].error, DisconnectedError)
    assert (others, world.links.in_flight(-2)) == ([], 1)


def test_a_time_of_a_few_milliseconds_does_not_turn_in_a_circle():
    world = two_nodes()
    world.open(1)
    world.ask(1, timeout=5)
    assert alarms(world.links, 5) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("config", "kept_ms"),
    [
        (ConsumerConfig.from_options({"fetch_max_wait_ms": 2_000}), 2_000),
        (ShareConsumerConfig.from_options({"group_id": "g", "fetch_max_wait_ms": 700}), 700),
        (ProducerConfig.from_options({}), 0),
    ],
)
def test_what_brokers_may_keep_is_no_reason(config, kept_ms):
    assert config.links().link.kept_ms == kept_ms


def test_who_is_throttled_is_not_in_doubt():
    """A broker reads nothing of a connection that it has muted (KIP-219), and says how long."""
    world = two_nodes()
    link = world.open(1)
    world.ask(1, 0)
    world.ask(1, 0)
    requests = [
        frames.decode_request(memoryview(one.data)[4:])
        for one in world.actions()
        if isinstance(one, Send)
    ]
    world.answer(link, requests[0], R(throttle_time_ms=10_000), 100)
    assert alarms(world.links, 14_000) == [13_100]
