"""`ProducerCore` with nobody to send to: it waits, asks now and then, and says why in the end."""

import pytest
from scripted_producer import produce_world, send_all, values

from kcore.errors import KafkaTimeoutError
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

NO_LEADER = -1


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_partition_without_a_leader_is_waited_for(idempotent):
    world, cluster, client = produce_world(nodes=2, topics={"t": 2}, enable_idempotence=idempotent)
    for number in (0, 1):
        client.send_soon(b"first", partition=number)
    client.flush()
    cluster.move(1, NO_LEADER)
    asked = cluster.count(ApiKey.METADATA)
    for number in (0, 1):
        client.send_soon(b"second", partition=number)
    world.run(5_000)
    assert cluster.log(0).values == [b"first", b"second"]  # which has one
    assert cluster.log(1).values == [b"first"]
    assert 3 <= cluster.count(ApiKey.METADATA) - asked <= 20  # more and more seldom
    cluster.move(1, 1)
    world.run(2_000)
    assert cluster.log(1).values == [b"first", b"second"]
    assert client.errors() == []


def test_without_a_leader_the_timeout_says_so():
    world, cluster, client = produce_world(topics={"t": 1}, delivery_timeout_ms=31_000)
    client.send_soon(b"first")
    client.flush()
    cluster.move(0, NO_LEADER)
    client.send_soon(b"second")
    world.run(100)
    client.send_soon(b"third")
    client.flush()
    assert {type(error) for error in client.errors()} == {KafkaTimeoutError}
    refused, unsent = map(str, client.errors())
    assert "were refused" in refused
    assert "never sent: no leader is known" in unsent
    assert client.core.held_bytes == 0


def test_a_leader_that_is_down_is_tried_once_in_a_while():
    world, cluster, client = produce_world(nodes=2, topics={"t": 2}, delivery_timeout_ms=31_000)
    client.send_soon(b"first", partition=0)
    client.flush()
    cluster.down.add(2)
    before = world.inputs
    client.send_soon(b"x", partition=1)
    client.flush()
    (error,) = map(str, client.errors())
    assert "never sent: could not connect" in error
    assert "connection refused" in error
    assert 60 < world.inputs - before < 300


def test_who_waits_for_a_leader_that_is_left_alone_is_told_which():
    backoff = {"reconnect_backoff_ms": 40_000, "reconnect_backoff_max_ms": 40_000}
    options = {"delivery_timeout_ms": 31_000, **backoff}
    world, cluster, client = produce_world(nodes=2, topics={"t": 2}, **options)
    client.send_soon(b"first", partition=0)
    client.flush()
    cluster.down.add(2)
    client.send_soon(b"x", partition=1)
    world.run(100)
    client.send_soon(b"y", partition=1)
    client.flush()
    tried, waited = map(str, client.errors())
    assert "connection refused" in tried
    assert "never sent: node 2, the leader, could not be reached" in waited


def test_a_producer_id_that_no_broker_gives_is_why_the_timeout_says_so():
    _, cluster, client = produce_world(delivery_timeout_ms=31_000)
    given = m.InitProducerIdResponse(error_code=int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    cluster.script[ApiKey.INIT_PRODUCER_ID] = lambda *_: given
    send_all(client, values(1))
    client.flush()
    (error,) = client.errors()
    assert isinstance(error, KafkaTimeoutError)
    assert "waited for a producer id, which no broker gave" in str(error)


def test_a_leader_that_cannot_be_reached_is_why_the_timeout_says_so():
    world, cluster, client = produce_world(nodes=2, topics={"t": 2}, delivery_timeout_ms=31_000)
    client.send_soon(b"first", partition=1)
    client.flush()
    world.kill_node(2)
    client.send_soon(b"x", partition=1)
    client.flush()
    assert isinstance(client.errors()[0], KafkaTimeoutError)
    assert "connection refused" in str(client.errors()[0])
    assert client.core.held_bytes == 0


def test_records_without_a_key_go_where_there_is_a_leader():
    """Not where the last one went, once that partition has none any more."""
    world, cluster, client = produce_world(nodes=2, topics={"t": 2}, linger_ms=0)
    client.send_soon(b"first")
    client.flush()
    (dead,) = (number for number in (0, 1) if cluster.log(number).values)
    cluster.move(dead, NO_LEADER)
    client.send_soon(b"told of it", partition=dead)
    world.run(1_000)
    for value in values(10):
        client.send_soon(value)
        world.run(100)
    assert cluster.log(1 - dead).values == values(10)
    cluster.move(dead, 1)
    client.flush()
    assert cluster.log(dead).values == [b"first", b"told of it"]
    assert client.errors() == []


def test_where_no_partition_has_a_leader_records_without_a_key_stay_together():
    world, cluster, client = produce_world(topics={"t": 8}, linger_ms=0)
    client.send_soon(b"first", partition=0)
    client.flush()
    for number in range(8):
        cluster.move(number, NO_LEADER)
    client.send_soon(b"told of it", partition=0)
    world.run(1_000)
    for value in values(10):
        client.send_soon(value)
        world.run(100)
    for number in range(8):
        cluster.move(number, 1)
    client.flush()
    assert sum(bool(cluster.log(number).values) for number in range(1, 8)) <= 1
