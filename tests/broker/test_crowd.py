"""What all connections of a node together may cost it."""

import struct

import pytest
from broker_world import World, batch, fetch, only, produce

from kcore.broker import BrokerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.errors import KafkaConfigurationError
from kcore.wire import frames
from kcore.wire import messages as m


def crowded(**limits):
    world = World(config=BrokerConfig(crowd=CrowdLimits(**limits)))
    world.topic()
    return world


def from_host(world, host):
    client = world.client()
    world.nodes[1].handle_closed(client.number, "", 0)
    world.drain()
    client.closed = False
    world.nodes[1].handle_connected(client.number, host, world.now_ms)
    world.drain()
    return client


def test_no_more_than_so_many_connections():
    world = crowded(max_connections=3)
    clients = [world.client() for _ in range(4)]
    world.drain()
    assert [client.closed for client in clients] == [False, False, False, True]
    clients[0].close()
    assert not from_host(world, "b").closed
    assert world.nodes[1].link_count == 3


def test_no_more_than_so_many_from_one_host():
    world = crowded(max_connections_per_ip=2)
    here = [from_host(world, "a") for _ in range(3)]
    assert [client.closed for client in here] == [False, False, True]
    assert not from_host(world, "b").closed
    here[0].close()
    assert not from_host(world, "a").closed


def test_some_addresses_may_have_more_or_none():
    world = crowded(max_connections_per_ip=1, max_connections_per_ip_overrides={"::1": 2, "a::": 0})
    hosts = ["::1", "::1", "::1", "a::", "::2", "::2"]
    assert [from_host(world, host).closed for host in hosts] == [
        False, False, True, True, False, True,
    ]  # fmt: skip


def tell(world, node, client=None, **options):
    cls = m.IncrementalAlterConfigsRequest
    configs = [
        cls.AlterableConfig(name=name.replace("_", "."), config_operation=0, value=text)
        for name, text in options.items()
    ]
    entry = cls.AlterConfigsResource(resource_type=4, resource_name=node, configs=configs)
    client = client or next(iter(world._clients.values()), None) or world.client()
    (answer,) = client.ask(cls(resources=[entry])).responses
    return answer.error_message


def test_none_but_those_that_are_named():
    world = crowded(max_connections_per_ip=0, max_connections_per_ip_overrides={"::1": 1})
    assert [from_host(world, host).closed for host in ("a", "::1", "::1")] == [True, False, True]


@pytest.mark.parametrize("node", ["", "1"])
def test_who_is_named_is_not_forgotten_where_nobody_else_may_come(node):
    world = crowded(max_connections_per_ip=0, max_connections_per_ip_overrides={"::1": 2})
    client = from_host(world, "::1")
    why = tell(world, node, client, max_connections_per_ip_overrides="")
    assert why == (
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides is set."
    )
    assert not from_host(world, "::1").closed
    assert not tell(
        world, node, client, max_connections_per_ip="5", max_connections_per_ip_overrides=""
    )
    assert not from_host(world, "::2").closed


def test_how_many_they_are_can_be_changed_while_a_node_is_up():
    world = crowded()
    assert not tell(world, "", max_connections_per_ip="1")
    assert [from_host(world, "a").closed for _ in range(2)] == [False, True]
    assert not tell(world, "1", max_connections_per_ip_overrides="localhost:2, ::1:0")
    hosts = ["127.0.0.1", "127.0.0.1", "127.0.0.1", "::1", "b"]
    assert [from_host(world, host).closed for host in hosts] == [False, False, True, True, False]
    assert not tell(world, "1", max_connections=str(world.nodes[1].link_count + 1))
    assert [from_host(world, host).closed for host in "cd"] == [False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_connections": 0},
        {"max_connections_per_ip": 0},
        {"max_connections_per_ip": 1 << 31},
        {"connections_max_idle_ms": 0},
        {"queued_max_bytes": 0},
        {"max_connections_per_ip_overrides": {"host": 1}},
        {"max_connections_per_ip_overrides": {"::1": -1}},
        {"max_connections_per_ip_overrides": {"0::1": 1}},  # as connections do not have it
    ],
)
def test_limits_that_can_never_work_are_named(wrong):
    with pytest.raises(KafkaConfigurationError, match=next(iter(wrong))):
        CrowdLimits(**wrong)


def test_who_is_silent_for_too_long_goes():
    world = crowded(connections_max_idle_ms=60_000)
    silent, busy, trickling = world.client(), world.client(), world.client()
    trickling.raw(struct.pack(">i", 1_000))
    for _ in range(11):
        world.run(5_000)
        assert not silent.closed
        busy.ask(m.MetadataRequest(topics=[]))
        trickling.raw(b"x")  # that is no request
    world.run(5_000)
    assert (silent.closed, busy.closed, trickling.closed) == (True, False, True)
    world.run(60_000)
    assert busy.closed
    assert world.nodes[1].link_count == 0


def test_who_waits_for_an_answer_is_not_silent():
    world = crowded(connections_max_idle_ms=1_000)
    client = world.client()
    client.send(fetch(max_wait_ms=10_000), 12)
    world.run(9_999)
    assert not client.closed
    world.run(1)
    assert client.answer() is not None


def test_time_that_jumps_ends_the_wait_and_not_the_connection():
    world = crowded(connections_max_idle_ms=1_000)
    client = world.client()
    client.send(fetch(max_wait_ms=10_000), 12)
    world.now_ms += 1_000_000
    world.nodes[1].handle_deadline(world.now_ms)
    world.drain()
    assert client.answer() is not None
    assert not client.closed


def test_who_does_not_take_an_answer_is():
    world = crowded(connections_max_idle_ms=1_000)
    client = world.client()
    client.reads = False
    client.send(m.MetadataRequest(topics=None))
    world.run(1_001)
    assert client.closed


def test_who_makes_the_node_keep_most_goes_when_it_is_too_much():
    world = crowded(queued_max_bytes=1_000_000)
    node = world.nodes[1]
    other = world.client()
    small = [world.client() for _ in range(4)]
    large = world.client()
    for client in small:
        client.raw(struct.pack(">i", 1_000_000) + bytes(200_000))
    assert not any(client.closed for client in small)
    large.raw(struct.pack(">i", 1_000_000) + bytes(199_000))
    large.raw(bytes(2_000))
    assert large.closed
    assert not any(client.closed for client in small)
    assert other.ask(m.MetadataRequest(topics=[])).brokers
    for client in small:
        client.close()
    assert node._links.held_bytes == 0


def test_answers_that_nobody_takes_count_but_not_records():
    world = crowded(queued_max_bytes=150_000)
    for number in range(200):
        world.topic(f"topic-{number}", 10)
    lazy = [world.client() for _ in range(4)]
    for client in lazy:
        client.reads = False
        client.send(m.MetadataRequest(topics=None))
    assert 0 < sum(client.closed for client in lazy) < 4
    assert 0 < world.nodes[1]._links.held_bytes <= 150_000
    for client in lazy:
        client.close()
    reader = world.client()
    reader.reads = False
    writer = world.client()
    for _ in range(4):
        assert not only(writer.ask(produce(batch(b"x" * 100_000)), 9)).error_code
    reader.send(fetch(max_bytes=1 << 30), 12)
    assert not reader.closed
    assert reader.frames


@pytest.mark.parametrize(
    ("size", "cost"), [(1_000_000, 1), (1_500_000, 1_500_000), (10**8, 1 << 21)]
)
def test_a_frame_costs_what_has_come_of_it_in_whole_pages(size, cost):
    world = crowded(queued_max_bytes=50 * cost)
    clients = [world.client() for _ in range(51)]
    for client in clients:
        client.raw(struct.pack(">i", size) + b"x")
    assert world.nodes[1]._links.held_bytes == 50 * cost
    assert sum(client.closed for client in clients) == 1
    clients[-1].close()
    clients[-2].close()
    clients[-3].close()
    assert world.nodes[1]._links.held_bytes < 50 * cost


@pytest.mark.parametrize("acks", [0, 1])
def test_nothing_is_kept_of_what_is_done(acks):
    world = crowded()
    client = world.client()
    for _ in range(3):
        client.send(produce(batch(b"x" * 1_000), acks=acks), 9)
    assert world.nodes[1]._links.held_bytes == 0 or acks == 0
    client.ask(m.MetadataRequest(topics=[]))
    data = frames.encode_request(m.MetadataRequest(topics=[]), 9, 1, "c")
    client.raw(data[:-1])
    assert world.nodes[1]._links.held_bytes < 200
    client.close()
    assert world.nodes[1]._links.held_bytes == 0
