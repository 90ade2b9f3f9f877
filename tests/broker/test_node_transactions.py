"""Nodes and transactions: where markers go, what nodes that die leave behind."""

import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce
from transactions_side import Producer, moved, offset_of, served, stable, undecided

from kcore.broker import BrokerConfig
from kcore.coordinator import partition_for
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

# Markers -----------------------------------------------------------------------------------------


def test_markers_wait_for_a_leader(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    alone = keeper % 3 + 1
    trio.topic("u", 1, assignments=[[alone]])
    maker.write(topic="u")
    maker.write(0)
    trio.cluster.stop_node(alone, trio.now_ms)
    trio.drain()
    assert maker.end() == 0
    trio.run(1_000)
    assert maker.state() == "PrepareCommit"
    request = m.DescribeTransactionsRequest(transactional_ids=["x"])
    (found,) = maker.coordinator.ask(request, 0).transaction_states
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("u", [0])]
    assert maker.write(0).error_code == E.CONCURRENT_TRANSACTIONS
    trio.cluster.start_node(alone, trio.now_ms)
    trio.run(100)
    assert maker.state() == "CompleteCommit"
    log = trio.cluster.topics.get("u").partitions[0].log
    assert (log.last_stable_offset, log.end_offset) == (2, 2)


def test_markers_wait_for_the_link_to_their_leader(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    partitions = trio.cluster.topics.get("t").partitions
    number = next(n for n, partition in enumerate(partitions) if partition.leader != keeper)
    maker.write(number)
    assert maker.commit() == 0
    for node in set(trio.nodes) - {keeper}:
        trio.cluster.replication.cut(keeper, node, trio.now_ms)
    assert maker.end() == 0
    trio.run(1_000)
    assert maker.state() == "PrepareCommit"
    for node in set(trio.nodes) - {keeper}:
        trio.cluster.replication.heal(keeper, node, trio.now_ms)
    trio.run(1_000)
    assert maker.state() == "CompleteCommit"
    assert stable(trio, number) == (2, 2)
    assert offset_of(trio) == 5


def test_a_node_that_stands_still_is_waited_for(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    partitions = trio.cluster.topics.get("t").partitions
    number = next(n for n, partition in enumerate(partitions) if partition.leader != keeper)
    maker.write(number)
    trio.nodes[partitions[number].leader].pause()
    assert maker.end() == 0
    trio.run(200)
    assert maker.state() == "PrepareCommit"
    trio.nodes[partitions[number].leader].resume(trio.now_ms)
    trio.run(200)
    assert maker.state() == "CompleteCommit"
    trio.nodes[keeper].pause()
    assert maker.write(number, acks=1).error_code == E.NOT_ENOUGH_REPLICAS
    trio.nodes[keeper].resume(trio.now_ms)
    assert maker.write(number).error_code == 0


def test_markers_of_topics_that_are_gone_are_not_waited_for(trio):
    maker = Producer(trio)
    maker.init()
    trio.topic("u", 1)
    maker.write(topic="u")
    maker.write(0)
    trio.cluster.delete(trio.cluster.topics.get("u"), trio.now_ms)
    assert maker.end() == 0
    assert maker.state() == "CompleteCommit"


def test_a_marker_counts_when_it_is_replicated(trio):
    maker = Producer(trio)
    maker.init()
    maker.write(0)
    partition = trio.cluster.topics.get("t").partitions[0]
    for node in set(trio.nodes) - {partition.leader}:
        trio.cluster.replication.set_lag(node, 500, trio.now_ms)
    assert maker.end() == 0
    assert maker.state() == "PrepareCommit"
    assert stable(trio) == (0, 2)
    trio.run(1_000)
    assert maker.state() == "CompleteCommit"
    assert stable(trio) == (2, 2)


def test_a_marker_that_is_lost_with_its_leader_is_written_again(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    partitions = trio.cluster.topics.get("t").partitions
    number = next(n for n, partition in enumerate(partitions) if partition.leader != keeper)
    partition = partitions[number]
    maker.write(number)
    others = set(trio.nodes) - {partition.leader}
    for node in others:
        trio.cluster.replication.set_lag(node, 10_000, trio.now_ms)
    maker.end(False)
    assert maker.state() == "PrepareAbort"
    trio.cluster.stop_node(partition.leader, trio.now_ms)
    for node in others:
        trio.cluster.replication.set_lag(node, 0, trio.now_ms)
    trio.run(1_000)
    assert maker.state() == "CompleteAbort"
    assert stable(trio, number) == (2, 2)
    assert [one[1] for one in partition.log.transactions.aborted(0, 2)] == [0]


def test_who_waits_for_committed_records_gets_them_with_the_marker(trio):
    maker = Producer(trio)
    maker.init()
    maker.write(0)
    leader = trio.cluster.topics.get("t").partitions[0].leader
    reader = trio.client(leader)
    reader.send(fetch(isolation_level=1, max_wait_ms=5_000), 12)
    assert reader.answer() is None
    maker.end()
    part = only(reader.answer())
    assert (part.last_stable_offset, part.aborted_transactions) == (2, [])
    assert len(part.records) > 0


def test_who_gives_a_transaction_up_writes_no_markers_for_it_any_more(trio):
    maker, _, other, down = undecided(trio)
    trio.cluster.replication.cut(other, down, trio.now_ms)
    moved(trio, other)
    trio.cluster.start_node(down, trio.now_ms)
    trio.run(1_000)
    assert maker.state() == "PrepareCommit"
    log = trio.cluster.topics.get("u").partitions[0].log
    assert (log.last_stable_offset, log.end_offset) == (0, 1)
    trio.cluster.replication.heal(other, down, trio.now_ms)
    trio.run(1_000)
    assert maker.state() == "CompleteCommit"
    assert (log.last_stable_offset, log.end_offset) == (2, 2)


def test_what_is_carried_out_is_known_to_the_next_coordinator(trio):
    maker = Producer(trio)
    maker.init()
    maker.write(0)
    assert maker.end() == 0
    moved(trio, maker.coordinator.node.node_id % 3 + 1)
    assert maker.state() == "CompleteCommit"
    assert stable(trio) == (2, 2)


def test_what_is_given_up_leaves_the_rest_of_a_coordinators_work_alone(trio):
    maker, keeper, other, down = undecided(trio)
    number = partition_for("x", 50)
    names = (name for name in map(str, range(200)) if partition_for(name, 50) != number)
    theirs = next(n for n in names if trio.cluster.transaction_coordinator_of(n) == keeper)
    moved(trio, other, theirs)
    trio.cluster.start_node(down, trio.now_ms)
    trio.run(100)
    assert maker.state() == "CompleteCommit"


def test_markers_are_tried_again_though_clients_keep_asking(trio):
    maker, _, _, down = undecided(trio)
    trio.cluster.start_node(down, trio.now_ms)
    for _ in range(20):
        trio.run(5)
        if maker.state() == "CompleteCommit":
            return
    raise AssertionError(maker.state())


def test_a_coordinator_with_nothing_left_to_write_rests(trio):
    maker, keeper, _, down = undecided(trio)
    trio.cluster.start_node(down, trio.now_ms)
    trio.run(1_000)
    assert maker.state() == "CompleteCommit"
    assert trio.nodes[keeper].deadline() > trio.now_ms + 1_000


def test_a_log_that_was_made_anew_is_not_waited_for(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    replicas = [keeper, keeper % 3 + 1]
    trio.topic("u", 2, assignments=[replicas] * 2)
    maker.write(0, topic="u")
    maker.write(1, topic="u")
    trio.cluster.replication.set_lag(replicas[1], 60_000, trio.now_ms)
    assert maker.end() == 0
    assert maker.state() == "PrepareCommit"  # its markers are in no follower yet
    trio.cluster.delete(trio.cluster.topics.get("u"), trio.now_ms)
    trio.topic("u", 1, assignments=[[keeper]])
    trio.run(1_000)
    assert maker.state() == "CompleteCommit"


# Nodes that die ----------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True])
def test_a_coordinator_dies_and_another_goes_on(trio, old):
    maker = Producer(trio, old=old)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    if old:
        maker.add(0)
    maker.write(0)
    trio.cluster.stop_node(keeper, trio.now_ms)
    trio.drain()
    heir = trio.cluster.transaction_coordinator_of("x")
    assert heir != keeper
    assert maker.state() == "Ongoing"
    assert maker.end() == 0
    assert maker.state() == "CompleteCommit"
    assert stable(trio) == (2, 2)
    trio.cluster.start_node(keeper, trio.now_ms)
    trio.cluster.elect_preferred(trio.now_ms)
    assert trio.cluster.transaction_coordinator_of("x") == keeper
    maker.clients[keeper] = trio.client(keeper)
    assert maker.state() == "CompleteCommit"
    maker.sequence = 1 if old else 0
    if old:
        maker.add(0)
    assert maker.write(0).error_code == 0
    assert maker.end(False) == 0
    assert stable(trio) == (4, 4)


def test_what_was_decided_is_carried_out_by_the_next_coordinator(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    heir = keeper % 3 + 1
    third = heir % 3 + 1
    trio.topic("u", 1, assignments=[[third]])
    maker.write(topic="u")
    trio.cluster.stop_node(third, trio.now_ms)
    maker.end()
    assert maker.state() == "PrepareCommit"
    trio.cluster.stop_node(keeper, trio.now_ms)
    trio.run(100)
    trio.cluster.start_node(third, trio.now_ms)
    trio.run(100)
    assert maker.state() == "CompleteCommit"
    log = trio.cluster.topics.get("u").partitions[0].log
    assert (log.last_stable_offset, log.end_offset) == (2, 2)


def test_the_next_coordinator_carries_out_what_it_can_at_once(trio):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    other = keeper % 3 + 1
    trio.topic("u", 1, assignments=[[other]])
    maker.write(topic="u")
    trio.cluster.replication.cut(keeper, other, trio.now_ms)
    maker.end()
    assert maker.state() == "PrepareCommit"
    moved(trio, other)
    log = trio.cluster.topics.get("u").partitions[0].log
    assert (log.last_stable_offset, log.end_offset) == (2, 2)


def test_a_transaction_times_out_wherever_its_coordinator_is(trio):
    maker = Producer(trio)
    maker.init()
    maker.write(0)
    trio.run(6_000)
    trio.cluster.stop_node(trio.cluster.transaction_coordinator_of("x"), trio.now_ms)
    trio.run(4_000)
    assert maker.state() == "Ongoing"
    trio.run(1)
    assert maker.state() == "CompleteAbort"
    assert maker.write(0).error_code == E.INVALID_PRODUCER_EPOCH
    assert stable(trio) == (2, 2)


# Offsets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("committed", [False, True])
def test_offsets_wait_for_their_transaction(trio, old, committed):
    maker = Producer(trio, old=old)
    maker.init()
    if old:
        assert maker.commit() == E.INVALID_TXN_STATE
        request = m.AddOffsetsToTxnRequest(
            transactional_id="x", producer_id=maker.id, producer_epoch=maker.epoch, group_id="g"
        )
        assert maker.coordinator.ask(request, 3).error_code == 0
    assert maker.commit() == 0
    assert offset_of(trio) == E.UNSTABLE_OFFSET_COMMIT
    assert offset_of(trio, stable=False) == -1
    assert maker.end(committed) == 0
    assert maker.state() == ("CompleteCommit" if committed else "CompleteAbort")
    assert offset_of(trio) == (5 if committed else -1)


def test_pending_offsets_move_with_their_group(trio):
    maker = Producer(trio)
    maker.init()
    assert maker.commit() == 0
    trio.cluster.stop_node(trio.cluster.coordinator_of("g"), trio.now_ms)
    trio.drain()
    assert offset_of(trio) == E.UNSTABLE_OFFSET_COMMIT
    assert maker.end() == 0
    assert maker.state() == "CompleteCommit"
    assert offset_of(trio) == 5


def test_who_was_fenced_commits_nothing_at_the_next_coordinator_of_the_group_either():
    """Before Kafka 3.6 nobody asks the transaction coordinator: the log of the group's offsets has
    the producer's newest epoch. What was taken would be pending for ever.
    """
    duo = World(2, BrokerConfig(release=(3, 3)))
    duo.topic()
    late, maker = Producer(duo, old=True), Producer(duo, old=True)
    late.init()
    request = m.AddOffsetsToTxnRequest(
        transactional_id="x", producer_id=late.id, producer_epoch=late.epoch, group_id="g"
    )
    assert late.coordinator.ask(request, 3).error_code == 0
    duo.run(10_001)
    assert late.state() == "CompleteAbort"
    assert late.commit() == E.INVALID_PRODUCER_EPOCH
    duo.cluster.stop_node(duo.cluster.coordinator_of("g"), duo.now_ms)
    duo.drain()
    assert late.commit() == E.INVALID_PRODUCER_EPOCH
    assert offset_of(duo, version=8) == -1
    assert maker.init() == 0
    request.producer_epoch = maker.epoch
    assert maker.coordinator.ask(request, 3).error_code == 0
    assert maker.commit() == 0
    assert offset_of(duo, version=8) == E.UNSTABLE_OFFSET_COMMIT


def test_groups_that_are_kept_elsewhere(trio):
    maker = Producer(trio)
    maker.init()
    number = partition_for("g", 50)
    assert trio.nodes[trio.cluster.coordinator_of("g")].groups.keeps(number)
    Commit = m.TxnOffsetCommitRequest
    part = Commit.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    request = Commit(
        transactional_id="x", group_id="g", producer_id=maker.id, producer_epoch=maker.epoch,
        topics=[Commit.TxnOffsetCommitRequestTopic(name="t", partitions=[part])],
    )  # fmt: skip
    for node, client in maker.clients.items():
        if node != trio.cluster.coordinator_of("g"):
            assert only(client.ask(request, 5)).error_code == E.NOT_COORDINATOR
    request.group_id = ""
    assert only(client.ask(request, 5)).error_code == E.INVALID_GROUP_ID
    assert maker.state() == "Empty"


# By hand -----------------------------------------------------------------------------------------


def test_a_transaction_that_hangs_is_ended_by_hand():
    world = served((3, 5))
    maker = Producer(world, old=True)
    client = world.client()
    maker.init()
    maker.write(version=9)  # in no transaction: nobody would end it
    assert stable(world) == (0, 1)
    Topic = m.DescribeProducersRequest.TopicRequest
    asked = m.DescribeProducersRequest(topics=[Topic(name="t", partition_indexes=[0])])
    (found,) = only(client.ask(asked, 0)).active_producers
    assert (found.producer_id, found.current_txn_start_offset) == (maker.id, 0)
    assert found.last_timestamp == WALL_MS
    Markers = m.WriteTxnMarkersRequest
    marker = Markers.WritableTxnMarker(
        producer_id=maker.id,
        producer_epoch=maker.epoch,
        topics=[Markers.WritableTxnMarkerTopic(name="t", partition_indexes=[0, 9])],
    )
    answer = client.ask(Markers(markers=[marker]), 1)
    codes = [one.error_code for one in answer.markers[0].topics[0].partitions]
    assert codes == [0, E.UNKNOWN_TOPIC_OR_PARTITION]
    assert stable(world) == (2, 2)


@pytest.mark.parametrize("raised", [0, 5])
def test_what_is_decided_stays_so_where_somebody_has_ended_a_part_of_it_by_hand(raised):
    """The log knows a newer epoch: neither its coordinator nor the next one can carry it out."""
    world = served((4, 0))
    maker = Producer(world)
    client = world.client()
    maker.init()
    maker.write()
    Markers = m.WriteTxnMarkersRequest
    marker = Markers.WritableTxnMarker(
        producer_id=maker.id,
        producer_epoch=maker.epoch + raised,
        coordinator_epoch=1_000,
        topics=[Markers.WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
    )
    answer = client.ask(Markers(markers=[marker]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == 0
    assert maker.end() == 0
    for _ in range(2):
        world.run(1_000)
        assert maker.state() == "PrepareCommit"
        assert maker.end() == E.CONCURRENT_TRANSACTIONS
        world.cluster.stop_node(1, world.now_ms)
        world.cluster.start_node(1, world.now_ms)
        maker.clients = {1: world.client()}
    assert stable(world) == (2, 2)  # the one by hand: the coordinator's own was refused


def test_offsets_that_somebody_has_decided_by_hand_are_not_decided_again():
    world = served((4, 0))
    maker = Producer(world)
    client = world.client()
    maker.init()
    assert maker.commit() == 0
    Markers = m.WriteTxnMarkersRequest
    where = Markers.WritableTxnMarkerTopic(
        name="__consumer_offsets", partition_indexes=[partition_for("g", 50)]
    )
    marker = Markers.WritableTxnMarker(
        producer_id=maker.id,
        producer_epoch=maker.epoch + 5,
        coordinator_epoch=1_000,
        transaction_result=False,
        topics=[where],
    )
    answer = client.ask(Markers(markers=[marker]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == 0
    assert maker.end() == 0
    world.run(1_000)
    assert maker.state() == "PrepareCommit"
    assert offset_of(world) == -1


def test_offsets_of_a_transaction_that_was_not_told_of_them_are_kept_by_old_releases():
    """Before 3.6 nobody asks its coordinator."""
    world = served((3, 5))
    maker = Producer(world, old=True)
    maker.init()
    assert maker.commit() == 0
    assert offset_of(world, version=8) == E.UNSTABLE_OFFSET_COMMIT
    assert maker.state() == "Empty"


def written_once(world):
    """The log to which a producer has written, and does not any more."""
    world.topic()
    options = {"producer_id": 77, "producer_epoch": 0, "base_sequence": 0}
    world.client().ask(produce(batch(b"v", time=WALL_MS + world.now_ms, **options)), 9)
    return world.cluster.topics.get("t").partitions[0].log


def test_silent_producers_are_forgotten():
    world = World(config=BrokerConfig(producer_id_expiration_ms=600_000))
    log = written_once(world)
    world.run(300_000)
    assert len(list(log.sequences)) == 1
    world.run(700_000)
    assert not list(log.sequences)


def test_silent_producers_are_forgotten_as_soon_as_their_node_is_told_now():
    world = World()
    log = written_once(world)
    world.run(1_000_000)
    assert len(list(log.sequences)) == 1
    client = world.client()
    Alter = m.IncrementalAlterConfigsRequest
    for node, text in (("", "900000000"), ("1", "600000")):
        named = Alter.AlterableConfig(name="producer.id.expiration.ms", value=text)
        entry = Alter.AlterConfigsResource(resource_type=4, resource_name=node, configs=[named])
        assert not client.ask(Alter(resources=[entry])).responses[0].error_code
    world.run(300_000)
    assert not list(log.sequences)


def test_a_marker_is_written_once_enough_replicas_are_in_sync():
    world = World(3)
    world.topic(assignments=[[1, 2, 3]], settings={"min.insync.replicas": "2"})
    maker = Producer(world)
    maker.init()
    moved(world, 1)
    assert maker.write().error_code == 0
    for node_id in (2, 3):
        world.cluster.stop_node(node_id, world.now_ms)
    assert maker.end() == 0
    world.run(1_000)
    assert (maker.state(), stable(world)) == ("PrepareCommit", (0, 1))
    world.cluster.start_node(2, world.now_ms)
    world.run(1_000)
    assert (maker.state(), stable(world)) == ("CompleteCommit", (2, 2))
