"""Replicas: what followers have, who is in sync, what is lost when leaders go."""

import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce

from kcore.broker import BrokerConfig, partitions
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

LAG_MAX_MS = 30_000


@pytest.fixture
def world():
    made = World(nodes=3)
    yield made
    assert not made.faults


@pytest.fixture
def topic(world):
    return world.topic("t", assignments=[[1, 2, 3]], settings={"min.insync.replicas": "2"})


@pytest.fixture
def partition(topic):
    return topic.partitions[0]


def put(world, partition, value=b"a", acks=-1, timeout_ms=1_000):
    """The answer of the leader, None if it does not come at once."""
    request = produce(batch(value), acks=acks)
    request.timeout_ms = timeout_ms
    answer = world.client(partition.leader).ask(request, 9)
    return None if answer is None else only(answer).error_code


def ends(partition):
    return {node_id: log.end_offset for node_id, log in partition.logs.items()}


def contents(partition):
    return {node_id: list(log.batches()) for node_id, log in partition.logs.items()}


def test_every_replica_has_the_same_bytes_at_once(world, partition):
    assert put(world, partition) == 0
    assert ends(partition) == {1: 1, 2: 1, 3: 1}
    logs = contents(partition)
    assert logs[1][0] is logs[2][0] is logs[3][0]
    assert {log.high_watermark for log in partition.logs.values()} == {1}


def test_all_acknowledges_when_those_in_sync_have_it(world, partition):
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    writer, reader = world.client(1), world.client(1)
    reader.send(fetch(max_wait_ms=5_000), 12)
    writer.send(produce(batch(b"a")), 9)
    assert ends(partition) == {1: 1, 2: 0, 3: 1}
    assert partition.log.high_watermark == 0
    world.run(99)
    assert (writer.answer(), reader.answer()) == (None, None)
    world.run(1)
    assert only(writer.answer()).error_code == 0
    assert only(reader.answer()).high_watermark == 1


def test_one_acknowledges_before_anybody_can_read_it(world, partition):
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    assert put(world, partition, acks=1) == 0
    answer = only(world.client(1).ask(fetch(), 12))
    assert (answer.high_watermark, answer.records) == (0, b"")


def test_all_gives_up_after_its_timeout_and_the_record_stays(world, partition):
    world.cluster.replication.cut(1, 2, world.now_ms)
    client = world.client(1)
    client.send(produce(batch(b"a")), 9)
    world.run(999)
    assert client.answer() is None
    world.run(1)
    assert only(client.answer()).error_code == ErrorCode.REQUEST_TIMED_OUT
    world.run(LAG_MAX_MS)
    assert partition.log.high_watermark == 1


def test_who_is_behind_too_long_falls_out_of_the_isr_and_comes_back(world, partition):
    world.cluster.replication.cut(1, 2, world.now_ms)
    put(world, partition, acks=1)
    world.run(LAG_MAX_MS - 1)
    assert partition.isr == [1, 2, 3]
    world.run(1)
    assert partition.isr == [1, 3]
    assert partition.log.high_watermark == 1
    world.cluster.replication.heal(1, 2, world.now_ms)
    assert partition.isr == [1, 3, 2]
    assert ends(partition) == {1: 1, 2: 1, 3: 1}


def test_who_lags_a_little_stays_in_the_isr(world, partition):
    world.cluster.replication.set_lag(2, 500, world.now_ms)
    for _ in range(200):
        put(world, partition, acks=1)
        world.run(400)
    assert partition.isr == [1, 2, 3]
    assert partition.log.end_offset - partition.logs[2].end_offset <= 2


def test_a_follower_hears_of_the_high_watermark_a_lag_later(world, partition):
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    put(world, partition, acks=1)
    follower = partition.logs[2]
    for ms, end, mark in ((99, 0, 0), (1, 1, 0), (99, 1, 0), (1, 1, 1)):
        world.run(ms)
        assert (follower.end_offset, follower.high_watermark) == (end, mark)
    assert world.nodes[1].deadline() > world.now_ms + 1_000  # and that is all there was


def test_a_follower_hears_of_a_new_start_a_lag_later(world, partition):
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    for _ in range(3):
        put(world, partition, acks=1)
    world.run(200)
    partition.delete_before(1, world.now_ms)
    world.run(60)
    partition.delete_before(2, world.now_ms)  # who is on the way already takes both along
    starts = {node_id: log.start_offset for node_id, log in partition.logs.items()}
    assert (starts, partition.low_watermark) == ({1: 2, 2: 0, 3: 2}, 0)
    world.run(39)
    assert partition.logs[2].start_offset == 0
    world.run(1)
    assert (partition.logs[2].start_offset, partition.low_watermark) == (2, 2)
    world.cluster.replication.cut(1, 2, world.now_ms)
    partition.delete_before(3, world.now_ms)
    world.run(1_000)
    assert partition.low_watermark == 2
    world.cluster.stop_node(2, world.now_ms)
    assert partition.low_watermark == 3  # of those that are up


def test_a_long_log_is_taken_over_step_by_step(world, partition, monkeypatch):
    monkeypatch.setattr(partitions, "_STEP_BYTES", 1)
    world.cluster.replication.cut(1, 2, world.now_ms)
    for _ in range(3):
        put(world, partition, acks=1)
    world.cluster.replication.set_lag(2, 50, world.now_ms)
    world.cluster.replication.heal(1, 2, world.now_ms)
    found = []
    for _ in range(4):
        world.run(49)
        before = partition.logs[2].end_offset
        world.run(1)
        found.append((before, partition.logs[2].end_offset))
    assert found == [(0, 1), (1, 2), (2, 3), (3, 3)]


def test_too_few_in_sync_refuse_all_but_not_one(world, partition):
    world.cluster.stop_node(2, world.now_ms)
    assert put(world, partition) == 0
    world.cluster.stop_node(3, world.now_ms)
    assert put(world, partition) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert put(world, partition, acks=1) == 0
    # KIP-966: what one replica alone has may be lost, so nobody sees it.
    assert (partition.log.high_watermark, partition.log.end_offset) == (1, 2)
    world.cluster.start_node(3, world.now_ms)
    assert partition.log.high_watermark == 2


def test_the_isr_shrinks_below_the_minimum_while_a_write_waits(world, partition):
    for node_id in (2, 3):
        world.cluster.replication.cut(1, node_id, world.now_ms)
    client = world.client(1)
    request = produce(batch(b"a"))
    request.timeout_ms = 60_000
    client.send(request, 9)
    world.run(LAG_MAX_MS)
    assert partition.isr == [1]
    assert client.answer() is None
    world.run(60_000)
    assert only(client.answer()).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_waiting_write_hears_of_a_new_leader(world, partition):
    world.cluster.replication.cut(1, 2, world.now_ms)
    client = world.client(1)
    client.send(produce(batch(b"a")), 9)
    world.cluster.move_leader(world.cluster.topics.get("t"), 0, 3, world.now_ms)
    world.drain()
    assert only(client.answer()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_that_comes_back_cuts_off_what_only_it_had(world, partition):
    put(world, partition, b"all")
    for node_id in (2, 3):
        world.cluster.replication.cut(1, node_id, world.now_ms)
    put(world, partition, b"lost", acks=1)
    put(world, partition, b"lost too", acks=1)
    world.cluster.stop_node(1, world.now_ms)
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 1, [2, 3])
    assert put(world, partition, b"kept") == 0
    for node_id in (2, 3):
        world.cluster.replication.heal(1, node_id, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    logs = contents(partition)
    assert logs[1] == logs[2] == logs[3]
    assert ends(partition) == {1: 2, 2: 2, 3: 2}
    assert partition.isr == [2, 3, 1]
    assert [partition.logs[1].end_of_epoch(epoch) for epoch in (0, 1)] == [(0, 1), (1, 2)]


def test_clients_see_the_truncation_of_an_unclean_election(world, partition):
    partition.log.config.unclean_leader_election_enable = True
    put(world, partition, b"all")
    world.cluster.stop_node(2, world.now_ms)
    world.cluster.stop_node(3, world.now_ms)
    partition.log.config.min_insync_replicas = 1
    assert [put(world, partition, value) for value in (b"b", b"c")] == [0, 0]
    world.cluster.stop_node(1, world.now_ms)
    assert partition.leader == -1
    world.cluster.start_node(2, world.now_ms)
    assert (partition.leader, partition.isr, partition.log.end_offset) == (2, [2], 1)
    assert put(world, partition, b"other") == 0
    world.cluster.start_node(1, world.now_ms)
    assert contents(partition)[1] == contents(partition)[2]
    # A consumer that has read offsets 0 to 2 in epoch 0 is told where that ended.
    answer = only(world.client(2).ask(fetch(3, last_epoch=0), 12))
    assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == (0, 1)
    wanted = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=partition.leader_epoch, leader_epoch=0
    )
    entry = m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="t", partitions=[wanted])
    ended = only(world.client(2).ask(m.OffsetForLeaderEpochRequest(topics=[entry]), 4))
    assert (ended.leader_epoch, ended.end_offset) == (0, 1)


def test_without_unclean_elections_the_last_one_in_sync_is_waited_for(world, partition):
    for node_id in (2, 3, 1):
        put(world, partition, acks=1)
        world.cluster.stop_node(node_id, world.now_ms)
    world.cluster.start_node(2, world.now_ms)
    assert (partition.leader, partition.isr) == (-1, [1])
    world.cluster.start_node(1, world.now_ms)
    assert (partition.leader, sorted(partition.isr)) == (1, [1, 2])
    assert ends(partition)[2] == 3


def test_the_preferred_leader_leads_again_after_a_while(world, partition):
    world.cluster.stop_node(1, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    assert partition.leader == 2
    world.run(300_000)
    assert (partition.leader, partition.leader_epoch) == (1, 2)


def test_how_long_that_takes_is_an_option():
    config = BrokerConfig(leader_imbalance_check_interval_seconds=3)
    world = World(nodes=2, config=config)
    (partition,) = world.topic("t", assignments=[[1, 2]]).partitions
    for _ in range(2):
        world.cluster.stop_node(1, world.now_ms)
        world.cluster.start_node(1, world.now_ms)
        world.run(2_999)
        assert partition.leader == 2
        world.run(1)
        assert partition.leader == 1


def test_leaders_stay_where_they_are_if_so_told():
    world = World(nodes=2, config=BrokerConfig(auto_leader_rebalance_enable=False))
    (partition,) = world.topic("t", assignments=[[1, 2]]).partitions
    world.cluster.stop_node(1, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    world.run(300_000)
    assert partition.leader == 2


def test_a_new_leader_does_not_say_latest_before_it_knows(world, partition):
    for node_id in (1, 2, 3):
        world.cluster.replication.set_lag(node_id, 100, world.now_ms)
    put(world, partition, acks=1)
    world.run(150)
    put(world, partition, acks=1)
    world.run(100)
    # Node 2 has both, and has heard of the high watermark before the second one only.
    partition.logs[2].high_watermark = 1
    world.cluster.move_leader(world.cluster.topics.get("t"), 0, 2, world.now_ms)

    def ask(version=7, timestamp=-1, replica=-1):
        wanted = m.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        entry = m.ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[wanted])
        request = m.ListOffsetsRequest(replica_id=replica, topics=[entry])
        found = only(world.client(2).ask(request, version))
        return found.error_code or found.offset

    assert ask() == ask(5) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert ask(4) == ErrorCode.LEADER_NOT_AVAILABLE
    # What it may not tell yet, and what it does not know: somebody may have read such records.
    assert ask(timestamp=WALL_MS + 100_000) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert ask(timestamp=-3) == 0
    assert ask(replica=-2) == ask(replica=3) == 2  # no consumers
    world.run(100)
    assert ask() == 2
    assert ask(timestamp=WALL_MS + 100_000) == -1


def test_a_follower_far_behind_begins_where_the_leader_does(world, partition):
    world.cluster.stop_node(3, world.now_ms)
    for _ in range(5):
        put(world, partition)
    partition.delete_before(4, world.now_ms)
    world.cluster.start_node(3, world.now_ms)
    follower = partition.logs[3]
    assert (follower.start_offset, follower.end_offset, follower.high_watermark) == (4, 5, 5)
    assert 3 in partition.isr


def test_delete_records_says_the_least_start_of_the_live(world, partition):
    for _ in range(3):
        put(world, partition)
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    wanted = m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=2)
    entry = m.DeleteRecordsRequest.DeleteRecordsTopic(name="t", partitions=[wanted])
    client = world.client(1)
    client.send(m.DeleteRecordsRequest(topics=[entry], timeout_ms=1_000))
    assert client.answer() is None
    world.run(100)
    assert only(client.answer()).low_watermark == 2
    assert [log.start_offset for log in partition.logs.values()] == [2, 2, 2]


def test_producers_are_known_to_the_next_leader(world, partition):
    def numbered(sequence):
        return batch(b"a", producer_id=9, producer_epoch=0, base_sequence=sequence)

    for sequence in range(3):
        assert only(world.client(1).ask(produce(numbered(sequence)), 9)).error_code == 0
    world.cluster.stop_node(1, world.now_ms)
    client = world.client(2)
    again = only(client.ask(produce(numbered(2)), 9))
    assert (again.error_code, again.base_offset) == (0, 2)
    gap = only(client.ask(produce(numbered(4)), 9))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producers_forget_what_was_cut_off(world, partition):
    def numbered(sequence):
        return batch(b"a", producer_id=9, producer_epoch=0, base_sequence=sequence)

    world.client(1).ask(produce(numbered(0)), 9)
    for node_id in (2, 3):
        world.cluster.replication.cut(1, node_id, world.now_ms)
    world.client(1).ask(produce(numbered(1), acks=1), 9)
    world.cluster.stop_node(1, world.now_ms)
    for node_id in (2, 3):
        world.cluster.replication.heal(1, node_id, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    world.cluster.move_leader(world.cluster.topics.get("t"), 0, 1, world.now_ms)
    answer = only(world.client(1).ask(produce(numbered(1)), 9))
    assert (answer.error_code, answer.base_offset) == (0, 1)


def test_a_long_log_is_taken_over_in_steps(world, partition, monkeypatch):
    world.cluster.stop_node(3, world.now_ms)
    for _ in range(10):
        put(world, partition)
    monkeypatch.setattr("kcore.broker.partitions._STEP_BYTES", 3 * len(batch(b"a")))
    world.cluster.start_node(3, world.now_ms)
    assert (partition.logs[3].end_offset, 3 in partition.isr) == (3, False)
    world.run(0)
    assert (partition.logs[3].end_offset, 3 in partition.isr) == (10, True)


def test_a_topic_that_is_gone_is_replicated_no_more(world, partition):
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    put(world, partition, acks=1)
    world.cluster.delete(world.cluster.topics.get("t"), world.now_ms)
    world.run(LAG_MAX_MS)
    assert partition.logs[2].end_offset == 0


def test_an_epoch_in_which_nothing_was_written_is_cut_off_too(world, partition):
    put(world, partition)
    topic = world.cluster.topics.get("t")
    for node_id in (2, 3):
        world.cluster.replication.cut(1, node_id, world.now_ms)
    world.cluster.move_leader(topic, 0, 1, world.now_ms)  # epoch 1: nothing is written in it
    world.cluster.move_leader(topic, 0, 2, world.now_ms)
    put(world, partition, acks=1)
    for node_id in (2, 3):
        world.cluster.replication.heal(1, node_id, world.now_ms)
    epochs = {partition.logs[one].end_of_epoch(1) for one in (1, 2, 3)}
    assert epochs == {(0, 1)}
