"""Nodes that stand still, links that are slow or let nothing pass: as a client sees them."""

import threading
import time

import pytest

import kcore
from kcore import TopicPartition
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaTimeoutError, NoBrokersAvailable

DEADLINE_S = 30


@pytest.fixture(params=[False, True], ids=["ports", "memory"])
def cluster(request):
    with EmbeddedBroker(nodes=3, in_memory=request.param) as broker:
        broker.create_topic("t", 3, replication_factor=3)
        yield broker
        assert not broker.faults


def consumer(broker, client_id="me", **options):
    options = {"bootstrap_servers": broker.bootstrap, "client_id": client_id} | options
    if broker.addresses[0].startswith("memory.invalid"):
        options["transport"] = broker.transport()
    return kcore.Consumer(**options)


def reader(broker, **options):
    made = consumer(broker, auto_offset_reset="earliest", retry_backoff_ms=10, **options)
    made.assign([TopicPartition("t", number) for number in range(3)])
    return made


def read(consumer, enough, limit_s=DEADLINE_S):
    values = set()
    end = time.monotonic() + limit_s
    while len(values) < enough and time.monotonic() < end:
        for records in consumer.poll(timeout_ms=20).values():
            values |= {record.value for record in records}
    return values


def produce(broker, count):
    broker.produce("t", [(None, b"v%d" % number) for number in range(count)])


def test_a_paused_node_answers_nobody_until_it_is_resumed(cluster):
    parts = [TopicPartition("t", number) for number in range(3)]
    with reader(cluster) as made, consumer(cluster) as asking:
        produce(cluster, 30)
        assert len(read(made, 30)) == 30
        assert sum(asking.end_offsets(parts).values()) == 30
        cluster.pause(2)
        with pytest.raises(KafkaTimeoutError):
            asking.end_offsets(parts, timeout_ms=200)
        cluster.resume(2)
        assert sum(asking.end_offsets(parts).values()) == 30
        produce(cluster, 30)
        assert len(read(made, 30)) == 30


def test_nobody_gets_an_answer_while_all_nodes_are_paused(cluster):
    for node in (1, 2, 3):
        cluster.pause(node)
    with pytest.raises(NoBrokersAvailable):
        consumer(cluster, bootstrap_timeout_ms=100)
    for node in (1, 2, 3):
        cluster.resume(node)
    consumer(cluster).close()


def test_a_dropped_link_is_between_two(cluster):
    with reader(cluster, client_id="left") as left, reader(cluster, client_id="right") as right:
        assert read(left, 1, 0.2) == read(right, 1, 0.2) == set()
        cluster.drop_link(client="left")
        produce(cluster, 30)
        assert len(read(right, 30)) == 30
        assert read(left, 1, 0.3) == set()
        cluster.restore_links()
        assert len(read(left, 30)) == 30


def test_a_dropped_link_to_one_node_leaves_the_others(cluster):
    with reader(cluster) as made:
        read(made, 1, 0.2)
        cluster.drop_link(node=2)
        for partition in range(3):
            cluster.produce("t", [(None, b"p%d" % partition)], partition)
        assert len(read(made, 2)) == 2
        assert read(made, 1, 0.3) == set()
        cluster.no_mishaps()
        assert len(read(made, 1)) == 1


def test_a_slow_link_is_slow(cluster):
    with consumer(cluster) as asking:
        parts = [TopicPartition("t", 0)]
        asking.end_offsets(parts)
        cluster.delay_link(150, client="me")
        began = time.monotonic()
        asking.end_offsets(parts)
        assert time.monotonic() - began >= 0.14  # clocks of whole ms
        cluster.restore_links()


def test_a_session_ends_while_its_member_is_cut_off(cluster):
    options = {"group_id": "g", "session_timeout_ms": 45_000, "heartbeat_interval_ms": 50}
    with (
        consumer(cluster, "left", **options) as left,
        consumer(cluster, "right", **options) as right,
    ):
        for each in (left, right):
            each.subscribe(["t"])
        end = time.monotonic() + DEADLINE_S
        while not (left.assignment() and right.assignment()) and time.monotonic() < end:
            left.poll(timeout_ms=20)
            right.poll(timeout_ms=20)
        assert len(left.assignment()) + len(right.assignment()) == 3
        cluster.drop_link(client="left")
        cluster.let_time_pass(44_000)
        right.poll(timeout_ms=300)
        cluster.let_time_pass(2_000)
        while len(right.assignment()) < 3 and time.monotonic() < end:
            right.poll(timeout_ms=20)
        assert len(right.assignment()) == 3
        cluster.restore_links()


def test_what_is_asked_of_a_node_that_is_not_there_is_refused(cluster):
    cluster.kill(3)
    for wrong in (cluster.pause, cluster.resume):
        with pytest.raises(LookupError):
            wrong(3)
    with pytest.raises(LookupError):
        cluster.drop_link(node=9)
    cluster.revive(3)


def test_a_producer_waits_for_replicas_that_are_late(cluster):
    cluster.delay_replication(2, 150)
    began = time.monotonic()
    cluster.produce("t", [(None, b"v")], 0)
    assert time.monotonic() - began >= 0.14  # clocks of whole ms
    cluster.restore_links()
    with reader(cluster) as made:
        assert read(made, 1) == {b"v"}


def test_replicas_that_are_cut_off_fall_out_of_sync_and_come_back(cluster):
    def isr():
        return sorted(cluster._cluster.topics.get("t").partitions[0].isr)

    leader = cluster._cluster.topics.get("t").partitions[0].leader
    others = [node for node in (1, 2, 3) if node != leader]
    cluster.drop_replication(leader, others[0])
    writer = threading.Thread(target=cluster.produce, args=("t", [(None, b"v")], 0))
    writer.start()
    end = time.monotonic() + DEADLINE_S
    while len(isr()) == 3 and time.monotonic() < end:
        cluster.let_time_pass(10_000)
    writer.join(DEADLINE_S)
    assert isr() == sorted([leader, others[1]])
    cluster.restore_links()
    assert isr() == [1, 2, 3]
    cluster.kill(leader)
    with reader(cluster) as made:
        assert read(made, 1) == {b"v"}


def test_a_paused_node_gets_nothing_from_others_until_it_is_resumed(cluster):
    partition = cluster._cluster.topics.get("t").partitions[0]
    other = next(node for node in (1, 2, 3) if node != partition.leader)
    cluster.pause(other)
    writer = threading.Thread(target=cluster.produce, args=("t", [(None, b"v")], 0))
    writer.start()
    writer.join(0.2)
    assert writer.is_alive()
    cluster.resume(other)
    writer.join(DEADLINE_S)
    assert partition.logs[other].end_offset == 1


@pytest.fixture
def frozen(cluster):
    """A client that knows all nodes, and the number of one that stands still and leads."""
    part = TopicPartition("t", 0)
    node = cluster._cluster.topics.get("t").partitions[0].leader
    # Of whom nothing comes for a tenth of the time the others are asked: and not after a minute.
    options = {"request_timeout_ms": 6_000, "fetch_max_wait_ms": 100}
    with consumer(cluster, auto_offset_reset="earliest", **options) as made:
        made.assign([part])
        cluster.produce("t", [(None, b"before")], 0)
        assert read(made, 1) == {b"before"}
        cluster.pause(node)
        yield node, made


def test_a_fenced_node_is_gone_for_the_others_and_says_nothing(cluster, frozen):
    node, made = frozen
    cluster.fence(node)
    live = sorted({1, 2, 3} - {node})
    assert cluster._cluster.live == live
    assert cluster._cluster.topics.get("t").partitions[0].leader in live
    assert sorted(cluster._cluster.topics.get("t").partitions[0].isr) == live
    cluster.produce("t", [(None, b"after")], 0)
    assert read(made, 1, 5) == {b"after"}  # before the time is over of what is asked there


def test_a_fenced_node_comes_back(cluster, frozen):
    node, made = frozen
    cluster.fence(node)
    cluster.produce("t", [(None, b"after")], 0)
    cluster.resume(node)
    partition = cluster._cluster.topics.get("t").partitions[0]
    assert cluster._cluster.live == [1, 2, 3]
    assert sorted(partition.isr) == [1, 2, 3]
    assert partition.logs[node].end_offset == 2
    assert read(made, 1) == {b"after"}
    cluster.pause(node)
    cluster.resume(node)
    cluster.kill(node)
    cluster.revive(node)
    assert read(made, 1, 0.1) == set()


def test_only_what_stands_still_is_fenced_and_it_is_not_down(cluster):
    with pytest.raises(LookupError, match="node 2 does not stand still: pause it"):
        cluster.fence(2)
    with pytest.raises(LookupError, match="node 9 does not stand still"):
        cluster.fence(9)
    cluster.pause(2)
    cluster.fence(2)
    with pytest.raises(LookupError, match="node 2 does not stand still"):
        cluster.fence(2)
    for call in (cluster.kill, cluster.pause):
        with pytest.raises(LookupError, match="node 2 is not up"):
            call(2)
    with pytest.raises(LookupError, match="node 2 is not down"):
        cluster.revive(2)
    cluster.resume(2)
    cluster.kill(2)
    with pytest.raises(LookupError, match="node 2 is not up"):
        cluster.resume(2)


@pytest.fixture
def impatient():
    """Nodes that wait for one of which nothing comes for 50 ms, and not for 30 s."""
    config = BrokerConfig(replica_lag_time_max_ms=50)
    with EmbeddedBroker(nodes=3, config=config, in_memory=True) as broker:
        broker.create_topic("t", 3, replication_factor=3)
        yield broker


def follower(broker):
    """Who follows in t-0, and how to ask how much a node has of it."""
    partition = broker._cluster.topics.get("t").partitions[0]
    first, second = sorted({1, 2, 3} - {partition.leader})
    return first, second, lambda node: partition.logs[node].end_offset


def test_a_node_that_stood_still_and_was_killed_follows_again_when_it_is_back(impatient):
    node, _, has = follower(impatient)
    impatient.pause(node)
    impatient.kill(node)
    impatient.revive(node)
    impatient.produce("t", [(None, b"v")], 0)
    assert has(node) == 1


def test_of_two_that_stand_still_one_goes_on_alone(impatient):
    node, other, has = follower(impatient)
    leader = 6 - node - other
    impatient.pause(node)
    impatient.pause(leader)
    impatient.resume(leader)
    impatient.produce("t", [(None, b"v")], 0)
    assert (has(node), has(other)) == (0, 1)
    impatient.resume(node)
    assert has(node) == 1


def test_what_does_not_pass_between_nodes_does_not_when_one_has_stood_still(impatient):
    node, _, has = follower(impatient)
    impatient.drop_replication(node, impatient._cluster.topics.get("t").partitions[0].leader)
    impatient.pause(node)
    impatient.resume(node)
    impatient.produce("t", [(None, b"v")], 0)
    assert has(node) == 0
    impatient.restore_links()
    assert has(node) == 1


def test_what_passes_again_between_nodes_does_not_to_one_that_stands_still(impatient):
    node, _, has = follower(impatient)
    impatient.drop_replication(node, impatient._cluster.topics.get("t").partitions[0].leader)
    impatient.pause(node)
    impatient.restore_links()
    impatient.produce("t", [(None, b"v")], 0)
    assert has(node) == 0
    impatient.resume(node)
    assert has(node) == 1
