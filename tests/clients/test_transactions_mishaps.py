"""Transactions while links fall, requests are refused, coordinators move and time runs out."""

import random
import time
from collections import Counter

import pytest
from transactional import (
    RELEASES,
    T0,
    committed,
    everything,
    make,
    one_broker,
    refused,
    state,
    times_out,
    verbs,
)

from kcore import TopicPartition, errors
from kcore.connection.calls import Answer, node_id_of
from kcore.embedded import EmbeddedBroker
from kcore.errors import DisconnectedError
from kcore.produce.transaction_states import TxnState


@pytest.fixture(params=RELEASES, ids=lambda release: "{}.{}".format(*release))
def broker(request):
    with one_broker(request.param) as running:
        yield running


@pytest.fixture
def newest():
    with one_broker() as running:
        yield running


# Mishaps ------------------------------------------------------------------------------------------

APIS = ["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"]


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("api", [*APIS, "FindCoordinator", "Produce"])
def test_a_link_falls_in_the_middle(broker, api, times):
    broker.cut(api, times)
    with make(broker) as producer:
        for number in range(4):
            producer.begin_transaction()
            for n in (0, 1):
                producer.send("t", b"%d-%d" % (number, n), partition=n)
            producer.send_offsets_to_transaction({T0: number}, "g")
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
            broker.cut(api, times)
        broker.no_mishaps()
    kept = [b"%d-%d" % (number, n) for number in (0, 2) for n in (0, 1)]
    assert everything(broker.bootstrap, "t") == kept
    assert committed(broker.bootstrap, "g", "t", 1) == [2]


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "TxnOffsetCommit", "EndTxn", "Produce"])
def test_an_answer_that_comes_when_nobody_waits_for_it(broker, api):
    """Whoever asked has given up that link by then, and asks again."""
    with make(broker, request_timeout_ms=150) as producer:
        for number in range(4):
            broker.delay(api, 300)
            producer.begin_transaction()
            producer.send("t", b"%d" % number, partition=0)
            producer.send_offsets_to_transaction({T0: number}, "g")
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
            broker.no_mishaps()
    assert everything(broker.bootstrap, "t") == [b"0", b"2"]
    assert committed(broker.bootstrap, "g", "t", 1) == [2]


def lose_answers(producer, rng, share):
    """A share of what is served is never heard of, as if its link had fallen just then."""
    lost = Counter()

    def losing(what, answered):
        def take(*given):
            *asked, answer, now_ms = given
            if answer.body is not None and rng.random() < share:
                lost[what(asked)] += 1
                answer = Answer(None, DisconnectedError("lost"), -1, answer.node)
            answered(*asked, answer, now_ms)

        return take

    transaction, sender = producer._core._transaction, producer._core._sender
    transaction._answered = losing(lambda asked: asked[0].name, transaction._answered)
    sender._answered = losing(lambda _: "PRODUCE", sender._answered)
    return lost


MORE = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 9)]


@pytest.mark.parametrize("seed", [1, *MORE])
def test_answers_that_are_lost(broker, seed):
    rng, kept, position = random.Random(seed), [], None
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 10, "linger_ms": 0}
    with make(broker, **options) as producer:
        lost = lose_answers(producer, rng, 0.3)
        for number in range(60):
            value = b"%03d" % number
            producer.begin_transaction()
            sent = rng.randrange(3)
            for n in range(sent):
                producer.send("t", value, partition=n)
            if rng.random() < 0.3:
                producer.send_offsets_to_transaction({T0: number}, "g")
                offset = number
            else:
                offset = position
            how = rng.randrange(4)
            if how == 0 and not old(broker):
                broker.refuse("Produce", "RECORD_LIST_TOO_LARGE")
            try:
                if how == 1:
                    producer.abort_transaction()
                    continue
                producer.send("t", value, partition=1)
                producer.commit_transaction()
                kept += [value] * (sent + 1)
                position = offset
            except errors.TransactionAbortableError:
                producer.abort_transaction()
            broker.no_mishaps()
    assert everything(broker.bootstrap, "t") == kept
    assert committed(broker.bootstrap, "g", "t", 1) == [position]
    assert lost["END"] > 3
    assert lost["PRODUCE"] > 3


RETRIED = ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS"]


@pytest.mark.parametrize("error", RETRIED)
@pytest.mark.parametrize("api", APIS)
def test_what_passes_is_tried_again(broker, api, error):
    broker.refuse(api, error, 2)
    with make(broker) as producer, producer.transaction():
        producer.send("t", b"v")
        producer.send_offsets_to_transaction({T0: 4}, "g")
    assert everything(broker.bootstrap, "t") == [b"v"]
    assert committed(broker.bootstrap, "g", "t", 1) == [4]


ABORTABLE = [
    ("Produce", "TRANSACTION_ABORTABLE"),
    ("Produce", "INVALID_TXN_STATE"),
    ("Produce", "INVALID_PRODUCER_EPOCH"),
    ("Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ("Produce", "UNKNOWN_PRODUCER_ID"),
    ("Produce", "TOPIC_AUTHORIZATION_FAILED"),
    ("AddPartitionsToTxn", "TOPIC_AUTHORIZATION_FAILED"),
    ("AddPartitionsToTxn", "UNKNOWN_PRODUCER_ID"),
    ("AddOffsetsToTxn", "GROUP_AUTHORIZATION_FAILED"),
    ("AddOffsetsToTxn", "TRANSACTION_ABORTABLE"),
    ("TxnOffsetCommit", "ILLEGAL_GENERATION"),
    ("TxnOffsetCommit", "FENCED_INSTANCE_ID"),
    ("EndTxn", "TRANSACTION_ABORTABLE"),
    ("EndTxn", "UNKNOWN_PRODUCER_ID"),
]
# Behind these the producer needs another epoch, which brokers before KIP-360 do not give.
NEEDS_EPOCH = ["INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"]


def old(broker):
    return broker._cluster.config.release < (2, 5)


@pytest.mark.parametrize(("api", "error"), ABORTABLE)
def test_what_an_abort_mends(broker, api, error):
    with make(broker) as producer:
        with producer.transaction():
            producer.send("t", b"before", partition=0)
        broker.refuse(api, error)
        producer.begin_transaction()
        raised = []
        try:
            producer.send("t", b"lost", partition=0)
            producer.send_offsets_to_transaction({T0: 4}, "g")
            producer.commit_transaction()
        except errors.KafkaError as found:
            raised.append(found)
        if broker.mishaps_to_come:  # nobody asks that with this version
            assert api.startswith("Add")
            assert not raised
            broker.no_mishaps()
            return
        (found,) = raised
        if old(broker) and error in NEEDS_EPOCH:
            with pytest.raises((errors.UnsupportedVersionError, errors.UnknownProducerIdError)):
                producer.abort_transaction()
            return
        assert isinstance(found, (errors.BrokerResponseError, errors.CommitFailedError))
        assert state(producer) is TxnState.ABORTABLE_ERROR
        for verb in (producer.commit_transaction, lambda: producer.send("t", b"no")):
            with pytest.raises(errors.TransactionAbortableError):
                verb()
        producer.abort_transaction()
        with producer.transaction():
            producer.send("t", b"after", partition=0)
    assert everything(broker.bootstrap, "t") == [b"after", b"before"]
    assert committed(broker.bootstrap, "g", "t", 1) == [None]


FATAL = [
    ("InitProducerId", "INVALID_TRANSACTION_TIMEOUT", errors.InvalidTransactionTimeoutError),
    ("InitProducerId", "PRODUCER_FENCED", errors.ProducerFencedError),
    ("FindCoordinator", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", errors.AuthorizationError),
    ("Produce", "PRODUCER_FENCED", errors.ProducerFencedError),
    ("TxnOffsetCommit", "INVALID_PRODUCER_EPOCH", errors.ProducerFencedError),
    ("EndTxn", "INVALID_PRODUCER_EPOCH", errors.ProducerFencedError),
    ("EndTxn", "INVALID_TXN_STATE", errors.InvalidTxnStateError),
    ("EndTxn", "INVALID_PRODUCER_ID_MAPPING", errors.InvalidProducerIdMappingError),
]


@pytest.mark.parametrize(("api", "error", "kind"), FATAL, ids=lambda value: str(value)[:40])
def test_what_nothing_mends(newest, api, error, kind):
    newest.refuse(api, error)
    with make(newest, init=False) as producer:
        with pytest.raises(kind):  # noqa: PT012 - which of them does is not the question
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("t", b"v")
            producer.send_offsets_to_transaction({T0: 4}, "g")
            producer.commit_transaction()
        assert state(producer) is TxnState.FATAL_ERROR
        for verb in verbs(producer).values():
            with pytest.raises(kind):
                verb()
    assert everything(newest.bootstrap, "t") == []


def test_who_may_not_use_the_id_can_be_allowed_to(newest):
    newest.refuse("InitProducerId", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
    with make(newest, init=False) as producer:
        with pytest.raises(errors.TransactionalIdAuthorizationFailedError):
            producer.init_transactions()
        producer.init_transactions()
        with producer.transaction():
            producer.send("t", b"v")
    assert everything(newest.bootstrap, "t") == [b"v"]


def test_a_batch_that_expires_makes_the_transaction_fail(broker):
    options = {"linger_ms": 0, "request_timeout_ms": 400, "delivery_timeout_ms": 800}
    options["retry_backoff_max_ms"] = 50
    with make(broker, **options) as producer:
        producer.begin_transaction()
        producer.send("t", b"first", partition=0).get(10)
        broker.refuse("Produce", "NOT_ENOUGH_REPLICAS", 1_000)
        producer.send("t", b"late", partition=0)
        with pytest.raises(errors.TransactionAbortableError, match="delivery_timeout_ms"):
            producer.commit_transaction()
        broker.no_mishaps()
        if old(broker):
            with pytest.raises(errors.UnsupportedVersionError, match=r"before 2\.5"):
                producer.abort_transaction()
            return
        producer.abort_transaction()
        with producer.transaction():
            producer.send("t", b"after", partition=0)
    assert everything(broker.bootstrap, "t") == [b"after"]


def test_a_batch_that_waits_to_be_sent_again_is_seen_to_before_an_abort(broker):
    """Its place in the sequence is taken, and it may be in the log."""
    with make(broker, linger_ms=0, retry_backoff_ms=300) as producer:
        broker.refuse("Produce", "NOT_ENOUGH_REPLICAS", 2)
        producer.begin_transaction()
        sent = producer.send("t", b"again", partition=0)
        until = time.monotonic() + 10
        while broker.mishaps_to_come == 2:
            assert time.monotonic() < until
            time.sleep(0.01)
        producer.abort_transaction()
        assert sent.value.offset == 0
        with producer.transaction(10):
            producer.send("t", b"after", partition=0)
    assert everything(broker.bootstrap, "t") == [b"after"]


def test_the_coordinator_moves():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", 2, replication_factor=3)
        with make(broker) as producer:
            for number in range(6):
                producer.begin_transaction()
                producer.send("t", b"%d" % number, partition=number % 2).get(20)
                whom = producer._core._transaction._coordinators
                (node,) = {node_id_of(key) for (kind, _), key in whom.items() if kind == 1}
                broker.kill(node)
                producer.send_offsets_to_transaction({T0: number + 1}, "g", 20)
                producer.commit_transaction(20)
                broker.revive(node)
        assert everything(broker.bootstrap, "t") == [b"%d" % number for number in range(6)]
        assert committed(broker.bootstrap, "g", "t", 1) == [6]
        assert broker.faults == []


# Time ---------------------------------------------------------------------------------------------


def test_every_verb_ends_in_time_and_can_be_called_again(newest):
    with make(newest, init=False) as producer:
        newest.delay("InitProducerId", 600)
        times_out(producer.init_transactions)
        refused(producer, "begin_transaction")
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"v")
        newest.delay("TxnOffsetCommit", 600)
        times_out(producer.send_offsets_to_transaction, {T0: 3}, "g")
        producer.send_offsets_to_transaction({T0: 4}, "g")
        newest.delay("EndTxn", 600)
        times_out(producer.commit_transaction)
        refused(producer, "begin_transaction", "abort_transaction", "send")
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send("t", b"dropped").get(10)
        newest.delay("EndTxn", 600)
        times_out(producer.abort_transaction)
        refused(producer, "begin_transaction", "commit_transaction")
        producer.abort_transaction()
    assert everything(newest.bootstrap, "t") == [b"v"]
    assert committed(newest.bootstrap, "g", "t", 1) == [4]


def test_who_waits_in_vain_is_told_for_what(newest):
    with make(newest) as producer:
        producer.begin_transaction()
        nowhere = {TopicPartition("nowhere", 0): 1}
        for verb, args in [
            ("send_offsets_to_transaction", (nowhere, "g")),
            ("commit_transaction", ()),
        ]:
            with pytest.raises(errors.KafkaTimeoutError, match="UNKNOWN_TOPIC") as caught:
                getattr(producer, verb)(*args, timeout=0.3)
            assert isinstance(caught.value.__cause__, errors.UnknownTopicOrPartitionError)
        producer.abort_transaction()
        producer.begin_transaction()
        newest.delay("EndTxn", 600)
        producer.send("t", b"v")
        with pytest.raises(errors.KafkaTimeoutError) as caught:
            producer.commit_transaction(0.2)
        assert caught.value.__cause__ is None
        producer.commit_transaction()


def test_an_end_that_came_too_late_to_be_heard_is_told(newest):
    with make(newest) as producer:
        producer.begin_transaction()
        producer.send("t", b"v")
        newest.delay("EndTxn", 400)
        times_out(producer.commit_transaction)
        while state(producer) is not TxnState.READY:
            time.sleep(0.01)
        refused(producer, "begin_transaction")
        producer.commit_transaction()
        with producer.transaction():
            producer.send("t", b"w")
    assert everything(newest.bootstrap, "t") == [b"v", b"w"]


def test_a_commit_that_waits_for_batches_can_still_be_aborted(newest):
    with make(newest) as producer:
        producer.begin_transaction()
        newest.delay("Produce", 600)
        producer.send("t", b"v")
        times_out(producer.commit_transaction)
        producer.abort_transaction()
        with producer.transaction():
            producer.send("t", b"w")
    assert everything(newest.bootstrap, "t") == [b"w"]


def test_nobody_there(newest):
    with make(newest, request_timeout_ms=1_000, delivery_timeout_ms=2_000) as producer:
        producer.begin_transaction()
        producer.send("t", b"v").get(10)
        newest.drop_link()
        times_out(producer.commit_transaction)
        newest.restore_links()
        producer.commit_transaction()
    assert everything(newest.bootstrap, "t") == [b"v"]


# Batches ------------------------------------------------------------------------------------------


def test_what_a_partition_waited_for_ends_with_its_transaction(newest):
    """As a rule for a leader; a batch of the next transaction may find one."""
    with make(newest, linger_ms=60_000) as producer:
        producer.begin_transaction()
        waits = producer.send("t", b"waits", partition=0)
        courier = producer._courier
        with courier.lock:
            lane = producer._core._accumulator.lanes[T0]
            lane.retry_at, lane.failures = courier.now_ms() + 60_000, 9
        producer.abort_transaction(10)
        with pytest.raises(errors.TransactionAbortedError):
            waits.get(1)
        with producer.transaction(10):
            producer.send("t", b"goes", partition=0)
    assert everything(newest.bootstrap, "t") == [b"goes"]


def test_an_epoch_that_is_refused_behind_another_batch_is_so_for_good(newest):
    """The oldest batch comes again, and is delivered; the one behind it is not sent again."""
    with make(newest, linger_ms=0, batch_size=300) as producer:
        producer.begin_transaction()
        producer.send("t", b"first", partition=0)
        producer.flush(10)
        newest.delay("Produce", 200)  # until all are under way
        newest.refuse("Produce", "NOT_ENOUGH_REPLICAS", 1)
        newest.refuse("Produce", "INVALID_PRODUCER_EPOCH", 1)
        _, again, behind = [
            producer.send("t", each * 250, partition=0) for each in (b"x", b"a", b"b")
        ]
        with pytest.raises(errors.InvalidProducerEpochError):
            behind.get(10)
        assert again.get(10).offset == 2
        assert state(producer) is TxnState.ABORTABLE_ERROR
        producer.abort_transaction(10)
        with producer.transaction(10):
            producer.send("t", b"after", partition=0)
    assert everything(newest.bootstrap, "t") == [b"after"]
