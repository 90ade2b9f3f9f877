"""Nodes and transactions: which versions there are, who coordinates, whose batches are kept."""

import pytest
from broker_world import World, batch, only, produce
from transactions_side import Producer, raw, served, stable, undecided, written_by

from kcore.broker import BrokerConfig
from kcore.coordinator.transactions import TransactionConfig
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

VERSIONS = m.ApiVersionsRequest(client_software_name="test", client_software_version="1")


# Versions and features ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "finalized"), [((2, 1), None), ((3, 9), None), ((4, 0), 2), ((4, 4), 2)]
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
        } | ({"share.version": (0, 2), "streams.version": (0, 1)} if release >= (4, 4) else {})


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


@pytest.mark.parametrize("release", [(2, 1), (3, 5), (3, 7), (3, 9), (4, 4)])
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
    ("release", "code"), [((2, 4), E.UNKNOWN_PRODUCER_ID), ((2, 5), E.NONE), ((4, 4), E.NONE)]
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
