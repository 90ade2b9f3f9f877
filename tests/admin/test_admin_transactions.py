"""Transactions, as a scripted cluster tells of them: who is asked, what is read, what hangs."""

import pytest
from scripted_admin import T0, T1, T2, admin_world

from kcore import errors
from kcore.admin import (
    AbortTransactionSpec,
    FencedProducer,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from kcore.admin.hanging import find_hanging_transactions
from kcore.admin.transactions import (
    TransactionFilter,
    abort_transaction,
    describe_transactions,
    fence_producers,
    list_transactions,
)
from kcore.broker.refusals import refusal
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

NOW_MS, LIMIT_MS = 10_000_000, 900_000
OLD_MS = NOW_MS - LIMIT_MS - 1


def asked(cluster, api):
    return [one for _, known, one in cluster.asked if known is api]


class Transactions:
    """What the cluster knows: `opened` {partition: {producer id: state}}; `ids` {producer id:
    (transactional id, node)}; `described` {transactional id: partitions}, None: not found.
    """

    def __init__(self, cluster):
        self.cluster = cluster
        self.opened = {}
        self.ids = {}
        self.described = {}
        self.producer_ids = {}
        cluster.script[ApiKey.DESCRIBE_PRODUCERS] = self.producers
        cluster.script[ApiKey.LIST_TRANSACTIONS] = self.listing
        cluster.script[ApiKey.DESCRIBE_TRANSACTIONS] = self.describing

    def open(self, tp, producer_id, start=5, at_ms=OLD_MS, coordinator_epoch=3):
        state = m.DescribeProducersResponse.ProducerState(
            producer_id=producer_id,
            producer_epoch=2,
            last_timestamp=at_ms,
            coordinator_epoch=coordinator_epoch,
            current_txn_start_offset=start,
        )
        self.opened.setdefault(tp, {})[producer_id] = state

    def known(self, name, producer_id, *partitions, node=1):
        self.ids[producer_id] = name, node
        self.cluster.coordinators[name] = node
        self.described[name] = partitions
        self.producer_ids[name] = producer_id

    def producers(self, _node, request):
        R = m.DescribeProducersResponse
        return R(
            topics=[
                R.TopicResponse(
                    name=topic.name,
                    partitions=[
                        R.PartitionResponse(
                            partition_index=number,
                            active_producers=list(
                                self.opened.get(TopicPartition(topic.name, number), {}).values()
                            ),
                        )
                        for number in topic.partition_indexes
                    ],
                )
                for topic in request.message.topics
            ]
        )

    def listing(self, node, request):
        R = m.ListTransactionsResponse
        return R(
            transaction_states=[
                R.TransactionState(
                    transactional_id=name, producer_id=number, transaction_state="Ongoing"
                )
                for number, (name, at) in self.ids.items()
                if at == node and number in request.message.producer_id_filters
            ]
        )

    def describing(self, _node, request):
        R = m.DescribeTransactionsResponse
        rows = []
        for name in request.message.transactional_ids:
            partitions = self.described[name]
            if partitions is None:
                code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
                rows.append(R.TransactionState(transactional_id=name, error_code=code))
                continue
            topics = [R.TopicData(topic=tp.topic, partitions=[tp.partition]) for tp in partitions]
            rows.append(
                R.TransactionState(
                    transactional_id=name,
                    transaction_state="Ongoing",
                    producer_id=self.producer_ids[name],
                    topics=topics,
                )
            )
        return R(transaction_states=rows)


@pytest.fixture
def world():
    _, cluster, client = admin_world()
    cluster.known = Transactions(cluster)
    return cluster, client


def find(client, topics=None, brokers=None):
    return client.run(find_hanging_transactions(topics, brokers, LIMIT_MS, NOW_MS))


# Listing and describing ---------------------------------------------------------------------------


def test_every_broker_is_asked_for_its_transactions():
    _, cluster, client = admin_world()
    R = m.ListTransactionsResponse

    def answer(node, _request):
        word = "Ongoing" if node < 3 else "Pondering"
        row = R.TransactionState(transactional_id=f"x{node}", producer_id=node)
        row.transaction_state = word
        return R(transaction_states=[row])

    cluster.script[ApiKey.LIST_TRANSACTIONS] = answer
    wanted = TransactionFilter(["Ongoing"], [7], 60_000, "x.*")
    found = client.run(list_transactions(None, wanted))
    assert found == {
        1: [TransactionListing("x1", 1, TransactionState.ONGOING)],
        2: [TransactionListing("x2", 2, TransactionState.ONGOING)],
        3: [TransactionListing("x3", 3, TransactionState.UNKNOWN)],
    }
    for sent in asked(cluster, ApiKey.LIST_TRANSACTIONS):
        told = (sent.state_filters, sent.producer_id_filters, sent.duration_filter)
        assert told == (["Ongoing"], [7], 60_000)
        assert sent.transactional_id_pattern == "x.*"
    assert list(client.run(list_transactions([2], TransactionFilter()))) == [2]
    assert asked(cluster, ApiKey.LIST_TRANSACTIONS)[-1].duration_filter == -1


def test_what_is_known_beside_a_broker_that_refuses():
    _, cluster, client = admin_world()

    def answer(node, request):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if node == 2 else ErrorCode.NONE
        return refusal(request.message, request.api_version, code)

    cluster.script[ApiKey.LIST_TRANSACTIONS] = answer
    with pytest.raises(errors.ClusterAuthorizationFailedError, match="of broker 2") as caught:
        client.run(list_transactions(None, TransactionFilter()))
    assert caught.value.done == {1: [], 3: []}


@pytest.mark.parametrize(
    ("highest", "wanted", "words"),
    [
        (0, TransactionFilter(duration_ms=1), "duration.*before 3.8"),
        (1, TransactionFilter(pattern="x"), "pattern.*before 4.1"),
    ],
)
def test_filters_that_a_broker_does_not_have_are_refused(highest, wanted, words):
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.LIST_TRANSACTIONS] = (0, highest)
    with pytest.raises(errors.UnsupportedVersionError, match=words):
        client.run(list_transactions(None, wanted))
    assert cluster.count(ApiKey.LIST_TRANSACTIONS) == 0


def test_a_transaction_is_told_by_its_coordinator_who_is_followed():
    _, cluster, client = admin_world()
    cluster.coordinators = {"x": 2, "y": 3}
    R = m.DescribeTransactionsResponse
    moved = []

    def answer(node, request):
        if node == 2 and not moved:
            moved.append(node)
            cluster.coordinators["x"] = 3
            return refusal(request.message, request.api_version, ErrorCode.NOT_COORDINATOR)
        return R(
            transaction_states=[
                R.TransactionState(
                    transactional_id=name,
                    transaction_state="PrepareAbort",
                    transaction_timeout_ms=60_000,
                    transaction_start_time_ms=5,
                    producer_id=9,
                    producer_epoch=1,
                    topics=[R.TopicData(topic="t", partitions=[0, 1])],
                )
                for name in request.message.transactional_ids
            ]
        )

    cluster.script[ApiKey.DESCRIBE_TRANSACTIONS] = answer
    found = client.run(describe_transactions(["x", "y"]))
    state = TransactionState.PREPARE_ABORT
    wanted = TransactionDescription(3, state, 9, 1, 60_000, 5, {T0, T1})
    assert found == {"x": wanted, "y": wanted}
    finders = asked(cluster, ApiKey.FIND_COORDINATOR)
    assert {one.key_type for one in finders} == {1}


def test_an_id_that_nobody_knows_is_said():
    _, cluster, client = admin_world()
    cluster.always(ApiKey.DESCRIBE_TRANSACTIONS, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    words = "describing transactional id x: .*transactional.id.expiration.ms"
    with pytest.raises(errors.TransactionalIdNotFoundError, match=words):
        client.run(describe_transactions(["x"]))


# Ending -------------------------------------------------------------------------------------------


def test_a_marker_goes_to_the_leader():
    _, cluster, client = admin_world()
    client.run(abort_transaction(AbortTransactionSpec(T1, 9, 2, 4)))
    (sent,) = asked(cluster, ApiKey.WRITE_TXN_MARKERS)
    (marker,) = sent.markers
    told = (marker.producer_id, marker.producer_epoch, marker.transaction_result)
    assert told == (9, 2, False)
    assert (marker.coordinator_epoch, marker.transaction_version) == (4, 0)
    assert [(one.name, one.partition_indexes) for one in marker.topics] == [("t", [1])]
    assert cluster.who_was_asked(ApiKey.WRITE_TXN_MARKERS) == [2]
    assert cluster.count(ApiKey.DESCRIBE_PRODUCERS) == 0
    cluster.first(ApiKey.WRITE_TXN_MARKERS, ErrorCode.INVALID_PRODUCER_EPOCH)
    words = "aborting the transaction in t-1: .*describe_producers"
    with pytest.raises(errors.InvalidProducerEpochError, match=words):
        client.run(abort_transaction(AbortTransactionSpec(T1, 9, 2, 4)))


@pytest.mark.parametrize(("known", "sent"), [(3, 3), (-1, 0)])
def test_the_leader_is_asked_for_the_epoch_of_the_coordinator(world, known, sent):
    cluster, client = world
    cluster.known.open(T0, 8, coordinator_epoch=7)
    cluster.known.open(T0, 9, coordinator_epoch=known)
    client.run(abort_transaction(AbortTransactionSpec(T0, 9, 2)))
    (request,) = asked(cluster, ApiKey.WRITE_TXN_MARKERS)
    assert request.markers[0].coordinator_epoch == sent


@pytest.mark.parametrize("start", [None, -1])
def test_what_is_not_open_is_not_aborted(world, start):
    cluster, client = world
    cluster.known.open(T0, 8)
    if start is not None:
        cluster.known.open(T0, 9, start)
    with pytest.raises(errors.InvalidTxnStateError, match="t-0: producer 9 has none"):
        client.run(abort_transaction(AbortTransactionSpec(T0, 9, 2)))
    assert cluster.count(ApiKey.WRITE_TXN_MARKERS) == 0


def test_an_answer_about_another_producer_is_none():
    _, cluster, client = admin_world()
    R = m.WriteTxnMarkersResponse
    part = R.WritableTxnMarkerPartitionResult(partition_index=0)
    topic = R.WritableTxnMarkerTopicResult(name="t", partitions=[part])
    cluster.first(
        ApiKey.WRITE_TXN_MARKERS,
        R(markers=[R.WritableTxnMarkerResult(producer_id=8, topics=[topic])]),
    )
    client.run(abort_transaction(AbortTransactionSpec(T0, 9, 2, 0)))
    assert cluster.count(ApiKey.WRITE_TXN_MARKERS) == 2


def test_producers_are_fenced_by_their_coordinators():
    _, cluster, client = admin_world()
    cluster.coordinators = {"x": 2, "y": 3, "z": 2}
    R = m.InitProducerIdResponse

    def answer(node, _request):
        return R(producer_id=node, producer_epoch=4)

    cluster.script[ApiKey.INIT_PRODUCER_ID] = answer
    found = client.run(fence_producers(["x", "y", "z"]))
    assert found == {
        "x": FencedProducer(2, 4),
        "y": FencedProducer(3, 4),
        "z": FencedProducer(2, 4),
    }
    sent = asked(cluster, ApiKey.INIT_PRODUCER_ID)
    assert sorted(one.transactional_id for one in sent) == ["x", "y", "z"]
    assert {(one.producer_id, one.producer_epoch) for one in sent} == {(-1, -1)}
    # A coordinator waits so long for its journal: as long as it is waited for.
    assert all(20_000 < one.transaction_timeout_ms < 30_000 for one in sent)


def test_a_transaction_that_is_aborted_first_is_waited_for():
    _, cluster, client = admin_world()
    busy = ErrorCode.CONCURRENT_TRANSACTIONS
    cluster.first(ApiKey.INIT_PRODUCER_ID, busy, busy)
    assert list(client.run(fence_producers(["x"]))) == ["x"]
    assert cluster.count(ApiKey.INIT_PRODUCER_ID) == 3


# What hangs ---------------------------------------------------------------------------------------


def test_what_no_coordinator_will_end_hangs(world):
    cluster, client = world
    known = cluster.known
    known.open(T0, 1)  # nobody has this producer
    known.open(T0, 2)  # its coordinator does not know this partition
    known.known("two", 2, T1, node=2)
    known.open(T1, 2)
    known.open(T1, 3)  # the id was forgotten meanwhile
    known.known("three", 3, node=3)
    known.described["three"] = None
    known.open(T2, 4)  # the id has another producer now
    known.known("four", 4, T2)
    known.producer_ids["four"] = 44
    found = find(client)
    rows = [
        (row["topic_partitions"], row["producer_id"], row["transactional_id"], row["state"])
        for row in found
    ]
    assert rows == [
        ([T0], 1, None, None),
        ([T0], 2, "two", "Ongoing"),
        ([T1], 3, "three", None),
        ([T2], 4, "four", "Ongoing"),
    ]
    assert [row["coordinator_id"] for row in found] == [None, 2, None, 1]
    row = found[0]
    assert (row["producer_epoch"], row["coordinator_epoch"], row["start_offset"]) == (2, 3, 5)
    assert (row["last_timestamp"], row["age_ms"]) == (OLD_MS, LIMIT_MS + 1)
    assert row["spec"] == AbortTransactionSpec(T0, 1, 2)
    sent = asked(cluster, ApiKey.LIST_TRANSACTIONS)
    assert [one.producer_id_filters for one in sent] == [[1, 2, 3, 4]] * 3


def test_what_may_still_go_on_does_not_hang(world):
    cluster, client = world
    cluster.known.open(T0, 1, at_ms=OLD_MS + 1)
    cluster.known.open(T1, 2, start=-1)
    assert find(client) == []
    assert cluster.count(ApiKey.LIST_TRANSACTIONS) == 0
    cluster.known.open(T2, 3)
    cluster.known.known("three", 3, T2)
    assert find(client) == []


@pytest.mark.parametrize("again", [False, True])
def test_what_ends_while_it_is_looked_for_does_not_hang(world, again):
    """Nor what its producer has begun behind that."""
    cluster, client = world
    known = cluster.known
    known.open(T0, 1)

    def ends(node, request):
        if again:
            known.open(T0, 1, start=9)
        else:
            known.opened.clear()
        return known.listing(node, request)

    cluster.script[ApiKey.LIST_TRANSACTIONS] = ends
    assert find(client) == []
    cluster.script[ApiKey.LIST_TRANSACTIONS] = known.listing
    assert len(find(client)) == again


def test_nothing_hangs_by_the_word_of_some_brokers(world):
    cluster, client = world
    cluster.known.open(T0, 1)
    failed = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    cluster.script[ApiKey.LIST_TRANSACTIONS] = lambda node, request: (
        refusal(request.message, request.api_version, failed)
        if node == 3
        else cluster.known.listing(node, request)
    )
    with pytest.raises(errors.ClusterAuthorizationFailedError):
        find(client)


def test_topics_partitions_and_replicas_that_are_looked_through(world):
    cluster, client = world
    for number, tp in enumerate((T0, T1, T2)):
        cluster.known.open(tp, number)

    def partitions(**wanted):
        cluster.asked.clear()
        return [row["topic_partitions"][0] for row in find(client, **wanted)]

    assert partitions() == [T0, T1, T2]
    assert partitions(topics=["t"]) == [T0, T1, T2]
    assert partitions(topics={"t": [1, 2]}) == [T1, T2]
    assert partitions(topics=[]) == []
    assert cluster.asked == []
    assert partitions(brokers=[2]) == [T0, T1, T2]
    asked_first, *again = cluster.who_was_asked(ApiKey.DESCRIBE_PRODUCERS)
    assert (asked_first, sorted(again)) == (2, [1, 2, 3])
    assert partitions(topics={"t": [0, 2]}, brokers=[1, 2]) == [T0, T2]


def test_where_nothing_can_be_found_is_said(world):
    _, client = world
    with pytest.raises(errors.UnknownTopicOrPartitionError, match="in nope"):
        find(client, topics=["nope"])
    with pytest.raises(errors.UnknownTopicOrPartitionError, match=r"t-9: .*0 to 2"):
        find(client, topics={"t": [0, 9]}, brokers=[1])
    with pytest.raises(errors.BrokerNotAvailableError, match=r"broker 9: .* 1, 2, 3"):
        find(client, brokers=[1, 9])


def test_a_partition_without_a_leader_is_passed_over(world):
    cluster, client = world
    for tp in (T0, T1):
        cluster.known.open(tp, 1)
    cluster.leader_of = lambda partition: -1 if partition == 0 else 2
    assert [row["topic_partitions"] for row in find(client)] == [[T1]]


def test_partitions_are_asked_for_some_at_a_time():
    _, cluster, client = admin_world(nodes=1, topics={"t": 1_100})
    cluster.known = Transactions(cluster)
    cluster.known.open(TopicPartition("t", 1_099), 1)
    assert len(find(client)) == 1
    sizes = [
        sum(len(topic.partition_indexes) for topic in one.topics)
        for one in asked(cluster, ApiKey.DESCRIBE_PRODUCERS)
    ]
    assert sizes == [500, 500, 100, 1]
