"""Brokers of another cluster, to which an address has passed (what KIP-1242 has brokers find)."""

from scripted_producer import produce_world

from kcore.cluster.kinship import IN_ALL
from kcore.events import OtherClusterMet
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


def world_of_two(**options):
    world, cluster, client = produce_world(
        nodes=2, topics={"t": 1}, metadata_max_age_ms=500, **options
    )
    client.send_soon(b"first")
    client.flush()
    world.run(2_000)
    return world, cluster, client


def known(client):
    return {node.node_id for node in client.core._view.nodes()}


def test_what_a_broker_of_another_cluster_says_is_not_believed():
    """Not even where its address is among the bootstrap servers."""
    world, cluster, client = world_of_two()
    cluster.script[ApiKey.METADATA] = lambda node, _: anothers() if node == 2 else None
    world.kill_node(1)
    world.run(2_000)
    assert known(client) == {1, 2}
    world.revive_node(1)
    world.run(20_000)
    assert known(client) == {1, 2}
    assert client.core._view.cluster_id == "scripted"
    client.send_soon(b"second")
    client.flush()
    assert cluster.log().values == [b"first", b"second"]
    (event, *_) = client.of(OtherClusterMet)
    assert event.address == "node2:9002"
    assert (event.cluster_id, event.expected) == ("another", "scripted")


def test_a_cluster_that_was_made_anew_is_found_by_way_of_the_bootstrap():
    world, cluster, client = world_of_two()
    cluster.script[ApiKey.METADATA] = lambda *_: anothers()
    world.run(20_000)
    assert known(client) == {7}
    assert client.core._view.cluster_id == "another"
    met = len(client.of(OtherClusterMet))
    assert met >= 2
    world.run(20_000)
    assert len(client.of(OtherClusterMet)) == met


def test_where_the_bootstrap_is_not_asked_again_nothing_is_checked():
    world, cluster, client = world_of_two(metadata_recovery_strategy="none")
    cluster.script[ApiKey.METADATA] = lambda *_: anothers()
    world.run(1_000)
    assert known(client) == {7}
    assert client.of(OtherClusterMet) == []


def test_brokers_that_say_of_no_cluster_are_believed():
    world, cluster, client = world_of_two()
    cluster.script[ApiKey.METADATA] = lambda *_: anothers(None)
    world.run(1_000)
    assert known(client) == {7}


def test_nodes_that_never_agree_are_believed_in_the_end():
    world, cluster, client = world_of_two(retry_backoff_max_ms=100)
    plain = cluster._metadata

    def each_its_own(node, request, reply):
        def named(answer):
            answer.cluster_id = f"of {node}"
            reply(answer)

        plain(node, request, named)

    cluster._metadata = each_its_own
    world.run(200_000)
    met = len(client.of(OtherClusterMet))
    assert 10 <= met <= IN_ALL
    world.run(50_000)
    assert len(client.of(OtherClusterMet)) == met
    client.send_soon(b"second")
    client.flush()
    assert cluster.log().values == [b"first", b"second"]
