"""Which links say whom they mean (KIP-1242), and what comes of one that met somebody else."""

from dataclasses import replace

import pytest
from links_world import CONFIG, World, nodes

from kcore.actions import Disconnect, Send
from kcore.connection.options import LinkOptions
from kcore.errors import DisconnectedError
from kcore.events import LinkClosed
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import ApiVersionsResponse

CAPPED = LinkOptions(client_id="me", highest={ApiKey.API_VERSIONS: 4})


class NewWorld(World):
    """Brokers say that they serve ApiVersions up to `highest`."""

    highest = 5

    def greeting(self, link, now=0):
        self.links.handle_connected(link, now)
        (send,) = [x for x in self.actions() if isinstance(x, Send)]
        return frames.decode_request(memoryview(send.data)[4:])

    def greet(self, link, now=0):
        request = self.greeting(link, now)
        keys = [
            ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12),
            ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=self.highest),
        ]
        self.answer(link, request, ApiVersionsResponse(api_keys=keys), now)
        self.told = request.api_version, request.message.cluster_id, request.message.node_id


def known(config=CONFIG, **given):
    world = NewWorld(config=config)
    for name, value in given.items():
        setattr(world, name, value)
    world.open(-1)
    assert world.told == (3, None, -1)
    world.links.cluster_id = "ours"
    world.links.set_nodes(nodes(1, 2), 0)
    return world


def test_every_link_to_a_broker_whose_id_is_known_says_whom_it_means():
    world = known()
    world.open(2)
    assert world.told == (5, "ours", 2)
    world.open(world.links.add_coordinator(1, "h1", 9092))
    assert world.told == (5, "ours", 1)
    world.open(world.links.second(2))
    assert world.told == (5, "ours", 2)


def test_not_before_the_cluster_is_known():
    world = known()
    world.links.cluster_id = None
    world.open(2)
    assert world.told == (3, None, -1)


@pytest.mark.parametrize(
    ("config", "highest"),
    [
        (CONFIG, 4),
        (replace(CONFIG, check=False), 5),
        (replace(CONFIG, link=CAPPED), 5),
    ],
    ids=["brokers before 4.4", "metadata_cluster_check_enable=False", "api_version=(4, 3)"],
)
def test_not_where_nobody_looks_or_nobody_is_to_look(config, highest):
    world = known(config, highest=highest)
    world.open(2)
    assert world.told == (3, None, -1)


def test_who_met_somebody_else_is_told_and_asks_the_others_again():
    world = known()
    alarms = world.links.alarms
    answers = world.ask(2)
    (connect,) = world.connects()
    request = world.greeting(connect.link)
    world.answer(connect.link, request, ApiVersionsResponse(error_code=129))
    world.settle()
    assert isinstance(answers[0].error, DisconnectedError)
    assert "h2:9092 is not node 2 of the cluster 'ours'" in str(answers[0].error)
    assert world.links.alarms == alarms + 1  # a reason to ask for metadata
    assert Disconnect(connect.link) in world.actions()
    assert world.links.retry_at(2) > 0
    event = world.kinds(LinkClosed)[-1]
    assert (event.node_id, event.opened) == (2, False)


def test_where_all_are_somebody_else_the_bootstrap_is_asked():
    world = known()
    world.links.release_bootstrap(0)
    now = 0
    for node in (1, 2):
        world.ask(node, now)
        (connect,) = world.connects()
        request = world.greeting(connect.link, now)
        world.answer(connect.link, request, ApiVersionsResponse(error_code=129), now)
        world.settle(now)
        now += 1
    assert world.links.least_loaded(now) == -1


def test_who_greeted_at_the_bootstrap_is_asked_before_those_that_were_somebody_else():
    world = known()
    world.links.drop(-1, 0)
    for node in (1, 2):
        world.ask(node)
        (connect,) = world.connects()
        request = world.greeting(connect.link)
        world.answer(connect.link, request, ApiVersionsResponse(error_code=129))
        world.settle()
    later = 60_000  # their backoffs are over, and they were tried before the bootstrap
    world.open(-1, later)
    assert world.links.least_loaded(later) == -1


def test_who_greeted_at_the_bootstrap_and_is_silent_is_not_preferred_to_those_that_failed():
    world = known()
    for node in (1, 2):
        world.fail(node)
    later = 60_000
    world.ask(-1, later)  # never answered
    while not world.links.silent(-1, later):
        later += 1_000
    assert world.links.least_loaded(later) in {1, 2}
