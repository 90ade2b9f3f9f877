"""Brokers of another cluster, to which an address has passed (what KIP-1242 has brokers find)."""

import random

import pytest
from scripted_producer import produce_world

from kcore.cluster.config import LinksConfig
from kcore.cluster.kinship import AWAY_MS, IN_A_ROW, Kinship
from kcore.cluster.links import Links
from kcore.connection.calls import Answer, Reach, keys_of
from kcore.connection.options import LinkOptions
from kcore.events import OtherClusterMet
from kcore.structs import Node
from kcore.wire.apis import ApiKey
from kcore.wire.messages import MetadataResponse as R


def anothers(name="another"):
    part = R.MetadataResponsePartition(partition_index=0, leader_id=7, leader_epoch=9)
    return R(
        cluster_id=name,
        controller_id=7,
        brokers=[R.MetadataResponseBroker(node_id=7, host="elsewhere", port=9)],
        topics=[R.MetadataResponseTopic(name="t", partitions=[part])],
    )


def world_of(nodes, **options):
    world, cluster, client = produce_world(
        nodes=nodes, topics={"t": 1}, metadata_max_age_ms=500, **options
    )
    client.send_soon(b"first")
    client.flush()
    world.run(2_000)
    return world, cluster, client


def renamed(cluster, name_of):
    """Node n's cluster is name_of(n) from now on; all else is as it was."""
    plain = cluster._metadata

    def named(node, request, reply):
        def change(answer):
            answer.cluster_id = name_of(node)
            reply(answer)

        plain(node, request, change)

    cluster._metadata = named


def known(client):
    return {node.node_id for node in client.core._view.nodes()}


def test_what_a_broker_of_another_cluster_says_is_not_believed():
    """Not even where its address is among the bootstrap servers."""
    world, cluster, client = world_of(2)
    cluster.script[ApiKey.METADATA] = lambda node, _: anothers() if node == 2 else None
    world.kill_node(1)
    world.run(200)
    assert known(client) == {1, 2}
    world.revive_node(1)
    world.run(60_000)
    assert known(client) == {1, 2}
    assert client.core._view.cluster_id == "scripted"
    client.send_soon(b"second")
    client.flush()
    assert cluster.log().values == [b"first", b"second"]
    (event, *_) = client.of(OtherClusterMet)
    assert event.address == "node2:9002"
    assert (event.cluster_id, event.expected) == ("another", "scripted")


def test_who_is_of_another_cluster_is_left_alone_for_a_while():
    world, cluster, client = world_of(2)
    cluster.script[ApiKey.METADATA] = lambda node, _: anothers() if node == 2 else None
    world.run(60_000)
    assert len(client.of(OtherClusterMet)) <= 60_000 / AWAY_MS


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_a_cluster_that_was_made_anew_is_found_by_way_of_the_bootstrap(nodes):
    """Soon, though its brokers have the addresses and ids that others had, and who writes to them
    has links there again and again.
    """
    world, cluster, client = world_of(nodes)
    renamed(cluster, lambda _: "another")
    for node in range(1, nodes + 1):
        world.kill_node(node)
        world.revive_node(node)
    for _ in range(30):
        client.send_soon(b"second")
        world.run(100)
    assert client.core._view.cluster_id == "another"
    assert len(client.of(OtherClusterMet)) == IN_A_ROW - (nodes < IN_A_ROW)
    client.flush()
    assert cluster.log().values == [b"first", *[b"second"] * 30]


def test_where_the_bootstrap_is_not_asked_again_nothing_is_checked():
    world, cluster, client = world_of(2, metadata_recovery_strategy="none")
    cluster.script[ApiKey.METADATA] = lambda *_: anothers()
    world.run(1_000)
    assert known(client) == {7}
    assert client.of(OtherClusterMet) == []


def test_brokers_that_say_of_no_cluster_are_believed():
    world, cluster, client = world_of(2)
    cluster.script[ApiKey.METADATA] = lambda *_: anothers(None)
    world.run(1_000)
    assert known(client) == {7}


def test_nodes_of_which_each_names_its_own_are_put_up_with():
    world, cluster, client = world_of(3)
    renamed(cluster, lambda node: f"of {node}")
    for _ in range(100):
        client.send_soon(b"second")
        world.run(500)
    client.flush()
    assert client.errors() == []
    assert cluster.log().values == [b"first", *[b"second"] * 100]


def test_who_says_so_by_another_connection_is_left_alone_as_a_whole():
    config = LinksConfig(link=LinkOptions(client_id="me"))
    events, refused = [], []
    links = Links(config, [("boot", 1)], random.Random(1), events.append)
    links.set_nodes([Node(1, "h1", 9092)], 0)
    keys = keys_of(1)
    links.add_coordinator(1, "h1", 9092)
    links.second(1)
    links.cluster_id = "ours"
    kinship = Kinship(links, events.append, lambda: refused.append(1))
    answer = kinship.judge(Answer(anothers(), None, 12, keys[1]), 0)
    assert (answer.node, answer.body) == (1, None)
    assert [event.node_id for event in events] == [1]
    assert [links.reach(key, AWAY_MS - 1) for key in keys] == [Reach.BACKOFF] * 3
    assert refused == [1]
