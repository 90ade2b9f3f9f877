"""Nodes and transactions: who is asked, where markers go, what nodes that die leave behind."""

import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce

from kcore.broker import BrokerConfig
from kcore.coordinator import partition_for
from kcore.coordinator.transactions import TransactionConfig
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

VERSIONS = m.ApiVersionsRequest(client_software_name="test", client_software_version="1")


class Producer:
    """Speaks to whichever node it is told, as a client of release 4.3 or of an old one."""

    def __init__(self, world, name="x", *, old=False):
        self.world = world
        self.name = name
        self.old = old
        self.clients = {node: world.client(node) for node in world.nodes}
        self.id = self.epoch = -1
        self.sequence = 0

    @property
    def coordinator(self):
        return self.clients[self.world.cluster.transaction_coordinator_of(self.name)]

    def init(self, node=None):
        client = self.coordinator if node is None else self.clients[node]
        request = m.InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=10_000)
        answer = client.ask(request, 4 if self.old else 5)
        self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0
        return answer.error_code

    def add(self, *partitions, topic="t", node=None):
        request = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
                    name=topic, partitions=list(partitions)
                )
            ],
        )
        client = self.coordinator if node is None else self.clients[node]
        (found,) = client.ask(request, 3).results_by_topic_v3_and_below
        return found.results_by_partition[0].partition_error_code

    def write(self, partition=0, topic="t", version=None, acks=-1):
        data = batch(
            b"v",
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=True,
        )
        leader = self.world.cluster.topics.get(topic).partitions[partition].leader
        request = produce(data, topic, partition, acks, transactional_id=self.name)
        return only(self.clients[leader].ask(request, version or (11 if self.old else 12)))

    def end(self, committed=True):
        request = m.EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        answer = self.coordinator.ask(request, 4 if self.old else 5)
        if not self.old and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return answer.error_code

    def state(self):
        request = m.DescribeTransactionsRequest(transactional_ids=[self.name])
        (found,) = self.coordinator.ask(request, 0).transaction_states
        return found.transaction_state

    def commit(self, offset=5, group="g", version=None):
        Commit = m.TxnOffsetCommitRequest
        part = Commit.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = Commit(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[Commit.TxnOffsetCommitRequestTopic(name="t", partitions=[part])],
        )
        keeper = self.world.cluster.coordinator_of(group)
        return only(self.clients[keeper].ask(request, version or (3 if self.old else 5))).error_code


def offset_of(world, group="g", stable=True, version=9):
    Fetch = m.OffsetFetchRequest
    wanted = Fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    asked = Fetch.OffsetFetchRequestGroup(group_id=group, topics=[wanted])
    keeper = world.client(world.cluster.coordinator_of(group))
    answer = keeper.ask(Fetch(groups=[asked], require_stable=stable), version)
    (found,) = answer.groups[0].topics[0].partitions
    return found.error_code or found.committed_offset


def stable(world, partition=0):
    found = world.cluster.topics.get("t").partitions[partition]
    return found.log.last_stable_offset, found.log.end_offset


@pytest.fixture
def trio():
    """Three nodes, topic t with three partitions on all of them."""
    made = World(3)
    made.topic("t", 3, replication_factor=3)
    yield made
    assert not made.faults


def served(release):
    world = World(config=BrokerConfig(release=release))
    world.topic()
    return world


# Versions and features ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "finalized"), [((2, 1), None), ((3, 9), None), ((4, 0), 2), ((4, 3), 2)]
)
def test_the_feature_is_there_from_4_0_on(release, finalized):
    client = served(release).client()
    answer = client.ask(VERSIONS, 3 if release >= (2, 4) else 2)
    levels = {one.name: one.max_version_level for one in answer.finalized_features}
    assert levels.get("transaction.version") == finalized
    assert answer.supported_features == []  # a lowest level of 0 cannot be said before version 4
    if release >= (4, 0):
        features = client.ask(VERSIONS, 4).supported_features
        assert {one.name: (one.min_version, one.max_version) for one in features} == {
            "group.version": (0, 1),
            "transaction.version": (0, 2),
        } | ({"share.version": (0, 1), "streams.version": (0, 1)} if release >= (4, 2) else {})


def test_a_cluster_can_have_a_lower_level():
    config = BrokerConfig(transactions=TransactionConfig(transaction_version=0))
    world = World(config=config)
    answer = world.client().ask(VERSIONS, 4)
    assert {one.name for one in answer.supported_features} == {
        "group.version", "share.version", "streams.version", "transaction.version",
    }  # fmt: skip
    assert [one.name for one in answer.finalized_features] == [
        "group.version", "share.version", "streams.version",
    ]  # fmt: skip


@pytest.mark.parametrize("release", [(2, 1), (3, 5), (3, 7), (3, 9), (4, 3)])
def test_which_releases_verify(release):
    """Before 3.6 a batch that is in no transaction begins one that nobody ends."""
    world = served(release)
    maker = Producer(world, old=True)
    client = world.client()
    request = m.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=9_000)
    maker.id = client.ask(request, 1).producer_id
    maker.epoch = 0
    version = min(world.nodes[1].versions[ApiKey.PRODUCE][1], 11)
    code = maker.write(version=version).error_code
    if release < (3, 6):
        assert code == 0
        assert stable(world) == (0, 1)
    else:
        assert code == (E.TRANSACTION_ABORTABLE if version == 11 else E.INVALID_TXN_STATE)
        assert stable(world) == (0, 0)


# Who is asked ------------------------------------------------------------------------------------


def test_every_node_says_who_coordinates_and_the_others_refuse(trio):
    maker = Producer(trio)
    keeper = trio.cluster.transaction_coordinator_of("x")
    for client in maker.clients.values():
        found = client.ask(m.FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]), 6)
        assert found.coordinators[0].node_id == keeper
        old = client.ask(m.FindCoordinatorRequest(key="x", key_type=1), 1)
        assert old.node_id == keeper
    for node in trio.nodes:
        assert maker.init(node) == (0 if node == keeper else E.NOT_COORDINATOR)
    assert maker.init() == 0
    assert maker.add(0, node=keeper % 3 + 1) == E.NOT_COORDINATOR


def test_a_partition_is_added_by_writing_to_it(trio):
    maker = Producer(trio)
    maker.init()
    for number in range(3):
        assert maker.write(number).error_code == 0
    request = m.DescribeTransactionsRequest(transactional_ids=["x"])
    (found,) = maker.coordinator.ask(request, 0).transaction_states
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", [0, 1, 2])]
    assert [stable(trio, number) for number in range(3)] == [(0, 1)] * 3
    assert maker.end() == 0
    assert [stable(trio, number) for number in range(3)] == [(2, 2)] * 3


@pytest.mark.parametrize(("version", "code"), [
    (9, E.NOT_ENOUGH_REPLICAS), (11, E.NOT_ENOUGH_REPLICAS), (12, E.NOT_ENOUGH_REPLICAS),
])  # fmt: skip
def test_a_coordinator_that_is_out_of_reach_is_told_in_old_words(trio, version, code):
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    partitions = trio.cluster.topics.get("t").partitions
    number = next(n for n, partition in enumerate(partitions) if partition.leader != keeper)
    trio.cluster.replication.cut(partitions[number].leader, keeper, trio.now_ms)
    answer = maker.write(number, version=version, acks=1)
    assert (answer.error_code, answer.base_offset) == (code, -1)
    assert answer.error_message is None or "NETWORK_EXCEPTION" in answer.error_message
    trio.cluster.replication.heal(partitions[number].leader, keeper, trio.now_ms)
    if version == 12:
        assert maker.write(number).error_code == 0


def test_a_transactional_batch_needs_its_id_and_one_producer(trio):
    maker = Producer(trio)
    maker.init()
    leader = trio.cluster.topics.get("t").partitions[0].leader
    options = {"producer_epoch": 0, "base_sequence": 0, "transactional": True}
    first, second = (batch(b"v", producer_id=maker.id + n, **options) for n in (0, 1))
    answer = maker.clients[leader].ask(produce(first), 12)
    assert only(answer).error_code == E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    trio.topic("u", 1, assignments=[[leader]])
    request = produce(first, transactional_id="x")
    request.topic_data += produce(second, "u").topic_data
    answer = maker.clients[leader].ask(request, 12)
    for topic in answer.responses:
        assert topic.partition_responses[0].error_code == E.INVALID_PRODUCER_ID_MAPPING


def raw(maker, data, version=12, topic="t"):
    """The answer to these bytes, in a transaction."""
    found = maker.world.cluster.topics.get(topic)
    request = produce(data, topic, transactional_id=maker.name)
    request.topic_data[0].topic_id = found.topic_id
    return only(maker.clients[found.partitions[0].leader].ask(request, version))


def written_by(maker, sequence=0, values=(b"v",)):
    return batch(
        *values,
        producer_id=maker.id,
        producer_epoch=maker.epoch,
        base_sequence=sequence,
        transactional=True,
    )


def test_an_id_stands_for_a_topic_in_a_transaction_too(trio):
    maker = Producer(trio)
    maker.init()
    assert raw(maker, written_by(maker), 13).error_code == 0
    assert maker.state() == "Ongoing"  # it was asked
    assert maker.end() == 0
    assert stable(trio) == (2, 2)


def test_who_gets_new_epochs_begins_each_with_its_first_record(trio):
    maker = Producer(trio)
    maker.init()
    assert raw(maker, written_by(maker, 3)).error_code == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    old = Producer(trio, "y", old=True)
    old.init()
    old.add(0)
    assert raw(old, written_by(old, 3), 11).error_code == 0  # the log may have forgotten it


@pytest.mark.parametrize(
    ("release", "code"), [((2, 4), E.UNKNOWN_PRODUCER_ID), ((2, 5), E.NONE), ((4, 3), E.NONE)]
)
def test_who_is_not_known_begins_anywhere_since_2_5(release, code):
    client = served(release).client()
    data = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=3)
    assert only(client.ask(produce(data), 7)).error_code == code


def test_nobodys_transaction_is_none(trio):
    maker = Producer(trio)
    maker.init()
    assert raw(maker, batch(b"v", transactional=True)).error_code == 0
    assert maker.state() == "Empty"
    assert stable(trio) == (1, 1)


@pytest.mark.parametrize(
    ("release", "code"), [((3, 5), E.NONE), ((3, 6), E.OUT_OF_ORDER_SEQUENCE_NUMBER)]
)
def test_what_is_refused_is_waited_for_where_it_was_verified(release, code):
    world = served(release)
    maker = Producer(world, old=True)
    maker.init()
    assert maker.add(0) == 0
    broken = bytearray(written_by(maker))
    broken[-1] ^= 1
    assert raw(maker, bytes(broken), 9).error_code == E.CORRUPT_MESSAGE
    assert raw(maker, written_by(maker, 1), 9).error_code == code


@pytest.mark.parametrize("size", [0, 10, 20, 60, 61, -1])
def test_what_is_cut_off_is_in_no_transaction(trio, size):
    maker = Producer(trio)
    maker.init()
    assert raw(maker, written_by(maker)[:size]).error_code == E.INVALID_RECORD
    assert raw(maker, None).error_code == E.INVALID_RECORD
    assert maker.state() == "Empty"


def test_who_does_not_lead_asks_nobody(trio):
    maker = Producer(trio)
    maker.init()
    leader = trio.cluster.topics.get("t").partitions[0].leader
    request = produce(written_by(maker), transactional_id="x")
    answer = only(maker.clients[leader % 3 + 1].ask(request, 12))
    assert answer.error_code == E.NOT_LEADER_OR_FOLLOWER
    assert maker.state() == "Empty"


def test_what_goes_on_asks_nobody_and_what_begins_anew_does(trio):
    """A new epoch does not join a transaction of the one before, which is still to be ended."""
    maker = Producer(trio)
    maker.init()
    keeper = trio.cluster.transaction_coordinator_of("x")
    leader = keeper % 3 + 1
    trio.topic("u", assignments=[[leader]])
    assert maker.write(topic="u").error_code == 0
    trio.cluster.replication.cut(leader, keeper, trio.now_ms)
    assert raw(maker, written_by(maker, 1), topic="u").error_code == 0
    maker.epoch += 1
    assert maker.write(topic="u").error_code == E.NOT_ENOUGH_REPLICAS
    assert trio.cluster.topics.get("u").partitions[0].log.end_offset == 2


def test_old_clients_are_told_in_their_words_to_wait_for_an_end(trio):
    maker, _, _, _ = undecided(trio)
    old = Producer(trio, old=True)
    old.id, old.epoch = maker.id, maker.epoch
    answer = raw(old, written_by(old), 11)
    assert answer.error_code == E.NOT_ENOUGH_REPLICAS
    assert "CONCURRENT_TRANSACTIONS" in answer.error_message
    assert maker.write(0).error_code == E.CONCURRENT_TRANSACTIONS


def test_it_is_said_that_nothing_was_added():
    world = served((3, 9))
    maker = Producer(world, old=True)
    maker.init()
    answer = raw(maker, written_by(maker), 9)
    assert answer.error_code == E.INVALID_TXN_STATE
    assert answer.error_message == "Partition was not added to the transaction"


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


def moved(world, node, name="x"):
    """Have another node keep the transactional id; both are up."""
    partitions = world.cluster.config.transactions.transaction_state_log_num_partitions
    number = partition_for(name, partitions)
    world.cluster.move_coordinator(number, node, world.now_ms)
    world.drain()


def undecided(world, topic="u"):
    """A transaction with an end that cannot be carried out: its only log is on a node that is down.
    Returns its producer, its coordinator, the node that does not coordinate it, the one that is
    down.
    """
    maker = Producer(world)
    maker.init()
    keeper = world.cluster.transaction_coordinator_of("x")
    other, down = keeper % 3 + 1, (keeper + 1) % 3 + 1
    world.topic(topic, 1, assignments=[[down]])
    maker.write(topic=topic)
    world.cluster.stop_node(down, world.now_ms)
    world.drain()
    assert maker.end() == 0
    assert maker.state() == "PrepareCommit"
    return maker, keeper, other, down


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
def test_an_end_goes_on_though_somebody_has_ended_a_part_of_it_by_hand(raised):
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
    world.run(1_000)
    assert maker.state() == "CompleteCommit"
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
    assert maker.state() == "CompleteCommit"
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
