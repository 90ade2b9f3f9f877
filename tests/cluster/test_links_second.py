"""A node's second connection, by which what is asked waits for nothing."""

import pytest
from links_world import World, nodes

from kcore.cluster.nodes import SECOND_AWAY_MS, SECOND_SETUP_MS
from kcore.connection.calls import Reach, keys_of
from kcore.connection.measures import LinkMeasures
from kcore.errors import DisconnectedError
from kcore.events import LinkClosed, LinkOpened
from kcore.structs import Node


def test_a_second_connection_is_the_nodes_and_counts_as_its_first():
    world = World()
    world.links.measures = measures = LinkMeasures(0, ())
    world.links.set_nodes(nodes(0, 1), 0)
    for node_id in (0, 1):
        key = world.links.second(node_id)
        assert world.links.second(node_id) == key == keys_of(node_id)[2]
        assert world.links.reach(key, 0) is Reach.IDLE
        world.open(key)
        world.ask(key)
        assert world.links.in_flight(key) == 1
        assert world.links.least_loaded(0) in {0, 1}  # never that
        world.open(node_id)
        world.ask(node_id)
    assert [event.node_id for event in world.kinds(LinkOpened)] == [0, 0, 1, 1]
    told = measures.tell_nodes("nodes", 0)
    assert [tags for _, tags, _ in told] == [(("node-id", "node-0"),), (("node-id", "node-1"),)]
    assert all(values["request-total"] >= 2 for _, _, values in told)


def test_what_waits_at_a_node_is_passed_by_another_connection_to_it():
    world = World()
    links = world.links
    assert links.beside(-1, 0, opens=True) == -1
    world.ask(-1)
    assert links.beside(-1, 0, opens=True) == -1  # an address of the bootstrap has no other
    links.set_nodes(nodes(1), 0)
    world.actions()
    world.open(1)
    coordinator = links.add_coordinator(1, "h1", 9092)
    assert links.beside(1, 0, opens=True) == 1  # nothing waits there
    world.ask(1)
    assert links.beside(1, 0) == 1  # that one is not connected
    second = links.beside(1, 0, opens=True)
    assert second == links.second(1)
    world.actions()
    world.open(coordinator)
    assert links.beside(1, 0) == coordinator
    world.ask(coordinator)
    assert links.beside(1, 0) == 1
    world.actions()
    world.open(second)
    assert links.beside(1, 0) == second
    world.ask(second)
    assert links.beside(1, 0, opens=True) == second  # it waits there for less
    links.drop(second, 0, away_ms=100)
    assert links.beside(1, 99, opens=True) == 1
    assert links.beside(1, 100, opens=True) == second


@pytest.mark.parametrize("how", ["refused", "hangs", "not let in"])
def test_where_it_cannot_be_made_the_first_does(how):
    world = World()
    links = world.links
    links.set_nodes(nodes(1), 0)
    second = links.second(1)
    link = world.open(1)
    kept = world.ask(1)
    other = world.ask(7)  # which is not known
    answers = [world.ask(second), world.ask(second, timeout=60_000)]
    world.events.clear()
    (connect,) = world.connects()
    if how == "hangs":
        links.handle_deadline(SECOND_SETUP_MS - 1)
        assert links.in_flight(second) == 2
        links.handle_deadline(SECOND_SETUP_MS)
    else:
        untrusted = how == "not let in"
        links.handle_closed(connect.link, "no", 0, more_addresses=False, untrusted=untrusted)
    world.settle()
    assert (kept, answers) == ([], [[], []])  # it will be answered, behind what is kept there
    assert isinstance(other[0].error, DisconnectedError)
    assert (links.in_flight(1), links.in_flight(second)) == (3, 0)
    assert world.events == []  # nobody misses it
    assert links.alarms == 0
    since = SECOND_SETUP_MS if how == "hangs" else 0
    again = links.retry_at(second)
    assert 0.8 * SECOND_AWAY_MS <= again - since <= 1.2 * SECOND_AWAY_MS
    assert links.reach(second, again - 1) is Reach.BACKOFF
    assert links.beside(1, again - 1, opens=True) == 1
    world.ask(second, again)
    (connect,) = world.connects()
    links.handle_closed(connect.link, "no", again, more_addresses=False)
    assert links.retry_at(second) - again >= 1.6 * SECOND_AWAY_MS
    since = again
    links.handle_closed(link, "lost", since, more_addresses=False)
    world.settle()
    assert [len(one) for one in answers] == [1, 1]


def test_where_the_first_is_gone_too_it_fails_like_any_other():
    world = World()
    world.links.set_nodes(nodes(1), 0)
    answers = world.ask(world.links.second(1))
    (connect,) = world.connects()
    world.links.handle_closed(connect.link, "refused", 0, more_addresses=False)
    world.settle()
    assert isinstance(answers[0].error, DisconnectedError)
    assert world.links.alarms == 1
    assert [event.node_id for event in world.kinds(LinkClosed)] == [1]
    assert world.links.retry_at(world.links.second(1)) <= 60


def test_errors_name_the_node_and_not_its_connection():
    world = World()
    links = world.links
    links.set_nodes(nodes(1), 0)
    key = links.second(1)
    answers = [world.ask(key)]
    links.drop(key, 0)
    answers.append(world.ask(key))
    links.set_nodes([Node(1, "elsewhere", 9092)], 0)
    links.set_nodes(nodes(2), 0)
    answers.append(world.ask(key))
    world.settle()
    assert [str(answer.error) for (answer,) in answers] == [
        "node 1 was given up",
        "node 1 moved to elsewhere:9092",
        "node 1 is not known (any more)",
    ]


def test_it_goes_where_the_node_goes():
    world = World()
    world.links.set_nodes(nodes(1, 2), 0)
    keys = [world.links.second(node_id) for node_id in (1, 2)]
    for key in keys:
        world.open(key)
    pending = world.ask(keys[0])
    world.links.set_nodes([Node(1, "elsewhere", 9092)], 0)
    world.settle()
    assert isinstance(pending[0].error, DisconnectedError)
    assert world.links.reach(keys[0], 0) is Reach.IDLE
    assert world.links.reach(keys[1], 0) is Reach.UNKNOWN
    world.actions()
    world.ask(keys[0])
    assert world.connects()[0].host == "elsewhere"
