"""Transactions of `Producer` on embedded brokers, with both versions of the protocol."""

import gc
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager

import pytest
from transactional import (
    RELEASES,
    T0,
    committed,
    everything,
    make,
    one_broker,
    positions_behind,
    read,
    refused,
    state,
    times_out,
    verbs,
)

from kcore import Consumer, OffsetAndMetadata, TopicPartition, errors
from kcore.produce.transaction_states import TxnState
from kcore.structs import ConsumerGroupMetadata


@pytest.fixture(params=RELEASES, ids=lambda release: "{}.{}".format(*release))
def broker(request):
    with one_broker(request.param) as running:
        yield running


@pytest.fixture
def newest():
    with one_broker() as running:
        yield running


# The plain road -----------------------------------------------------------------------------------


def test_what_is_committed_is_read_and_what_is_aborted_is_not(broker):
    with make(broker) as producer:
        for number in range(6):
            producer.begin_transaction()
            futures = [producer.send("t", b"%d-%d" % (number, n), partition=n) for n in (0, 1)]
            if number % 2:
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
            assert all(future.is_done for future in futures)
    kept = [b"%d-%d" % (number, n) for number in (0, 2, 4) for n in (0, 1)]
    assert everything(broker.bootstrap, "t") == kept
    assert len(everything(broker.bootstrap, "t", level="read_uncommitted")) == 12


def test_which_version_of_the_protocol_is_spoken(newest):
    with make(newest) as producer:
        producer.begin_transaction()
        assert not producer._core._transaction.explicit
    with make(newest, api_version=(3, 9)) as producer:  # it is to speak as older ones do
        producer.begin_transaction()
        assert producer._core._transaction.explicit
        producer.send("t", b"v")
        producer.commit_transaction()
    assert everything(newest.bootstrap, "t") == [b"v"]


def test_transactions_of_nothing(broker):
    with make(broker) as producer:
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            end()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({}, "g")
        producer.commit_transaction()
    assert broker.end_offsets("t") == [0, 0]


@pytest.mark.parametrize("group", ["\udc80", "g" * 40_000])
def test_a_group_that_cannot_be_written_is_told_at_once(broker, group):
    with make(broker) as producer:
        producer.begin_transaction()
        for named in (group, ConsumerGroupMetadata(group)):
            with pytest.raises(errors.IllegalArgumentError, match="a group's id"):
                producer.send_offsets_to_transaction({T0: 1}, named)
        producer.send_offsets_to_transaction({T0: 1}, "g")
        producer.commit_transaction()
    assert broker.committed_offsets("g", "t")[0] == 1


def test_an_abort_drops_what_was_not_sent(broker):
    with make(broker, linger_ms=60_000, delivery_timeout_ms=120_000) as producer:
        producer.begin_transaction()
        future = producer.send("t", b"v")
        producer.abort_transaction()
        assert isinstance(future.exception, errors.TransactionAbortedError)
        assert everything(broker.bootstrap, "t", level="read_uncommitted") == []
        producer.begin_transaction()
        producer.send("t", b"kept")
        producer.commit_transaction()
    assert everything(broker.bootstrap, "t") == [b"kept"]


def test_tables_and_more_than_one_batch(broker):
    pa = pytest.importorskip("pyarrow")
    with make(broker, batch_size=500, compression_type="gzip") as producer:
        values = [b"%05d" % number for number in range(2_000)]
        for aborted in (True, False):
            producer.begin_transaction()
            producer.send_arrow(pa.table({"value": values}), "t")
            for value in values[:100]:
                producer.send("t", b"x" + value)
            if aborted:
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    found = everything(broker.bootstrap, "t")
    assert found == sorted(values + [b"x" + value for value in values[:100]])


def test_many_small_transactions(broker):
    with make(broker) as producer:
        for number in range(50):
            with producer.transaction():
                producer.send("t", b"%03d" % number, partition=number % 2)
    assert everything(broker.bootstrap, "t") == [b"%03d" % number for number in range(50)]


# The context manager ------------------------------------------------------------------------------


def test_the_block_commits_and_aborts(broker):
    with make(broker) as producer:
        with producer.transaction() as same:
            assert same is producer
            producer.send("t", b"kept")
        with pytest.raises(ZeroDivisionError), producer.transaction():  # noqa: PT012
            producer.send("t", b"dropped").get(10)
            raise ZeroDivisionError
        with producer.transaction():
            producer.send("t", b"too").get(10)
            producer.abort_transaction()
        with producer.transaction():
            producer.send("t", b"more")
            producer.commit_transaction()
        assert state(producer) is TxnState.READY
    assert everything(broker.bootstrap, "t") == [b"kept", b"more"]


def test_a_block_that_cannot_be_committed_is_aborted(broker):
    with make(broker) as producer:
        block = producer.transaction()
        with pytest.raises(errors.TransactionAbortableError) as caught, block:  # noqa: PT012
            producer.send("t", b"first", partition=0).get(10)
            broker.refuse("Produce", "RECORD_LIST_TOO_LARGE")
            failed = producer.send("t", b"refused", partition=1)
        assert isinstance(caught.value.__cause__, errors.RecordListTooLargeError)
        assert isinstance(failed.exception, errors.RecordListTooLargeError)
        with producer.transaction():
            producer.send("t", b"after", partition=1)
            producer.send("t", b"after", partition=0)
    assert everything(broker.bootstrap, "t") == [b"after", b"after"]


# What is refused ----------------------------------------------------------------------------------


def test_verbs_out_of_their_turn(newest):
    with make(newest, init=False) as producer:
        refused(producer, *list(verbs(producer))[1:])
        producer.init_transactions()
        refused(producer, "init_transactions", *list(verbs(producer))[2:])
        producer.begin_transaction()
        refused(producer, "init_transactions", "begin_transaction")
        producer.send("t", b"v")
        producer.commit_transaction()
        refused(producer, "init_transactions", *list(verbs(producer))[2:])
        pa = pytest.importorskip("pyarrow")
        with pytest.raises(errors.IllegalStateError, match="begin_transaction first"):
            producer.send_arrow(pa.table({"value": [b"v"]}), "t")
    for verb in (producer.begin_transaction, producer.commit_transaction):
        with pytest.raises(errors.ProducerClosed):
            verb()
    assert everything(newest.bootstrap, "t") == [b"v"]


def test_the_quick_way_in_is_shut_behind_a_transaction(newest):
    """Records for a partition whose batch is open come in without the core."""
    with make(newest, linger_ms=50) as producer:
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            producer.send("t", b"v", partition=0).get(10)
            producer.send("t", b"v", partition=0)
            producer.send("t", b"v", partition=0)
            end()
            with pytest.raises(errors.IllegalStateError, match="begin_transaction first"):
                producer.send("t", b"outside", partition=0)
    assert everything(newest.bootstrap, "t") == [b"v"] * 3


def test_arguments(newest):
    with make(newest) as producer, producer.transaction():
        for offsets, group, kind in (
            ([1], "g", TypeError),
            ({T0: "1"}, "g", TypeError),
            ({T0: -1}, "g", ValueError),
            ({T0: True}, "g", TypeError),
            ({T0: 1}, None, TypeError),
            ({T0: 1}, "", ValueError),
        ):
            with pytest.raises(kind):
                producer.send_offsets_to_transaction(offsets, group)
        with pytest.raises(TypeError, match="timeout"):
            producer.commit_transaction(timeout="soon")


# Offsets ------------------------------------------------------------------------------------------


def test_offsets_are_committed_with_the_transaction(broker):
    with make(broker) as producer:
        with producer.transaction():
            producer.send_offsets_to_transaction({T0: 3}, "g")
            producer.send_offsets_to_transaction({T0: OffsetAndMetadata(5, "five")}, "g")
            producer.send_offsets_to_transaction({TopicPartition("t", 1): 7}, "other")
            producer.send("t", b"v")
        with pytest.raises(ZeroDivisionError), producer.transaction():  # noqa: PT012
            producer.send_offsets_to_transaction({T0: 9}, "g")
            raise ZeroDivisionError
    assert committed(broker.bootstrap, "g", "t", 2) == [5, None]
    assert committed(broker.bootstrap, "other", "t", 2) == [None, 7]


@contextmanager
def reading(broker, protocol, **more):
    """A consumer of ten records, and the first batches that it has got of them."""
    broker.produce("t", [(None, b"%d" % n) for n in range(10)])
    options = {
        "bootstrap_servers": broker.bootstrap,
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "group_protocol": protocol,
    }
    if protocol == "classic":
        options["heartbeat_interval_ms"] = 100
    with Consumer("t", **options | more) as consumer:
        batches, until = {}, time.monotonic() + 20
        while not batches:
            assert time.monotonic() < until
            batches = consumer.poll(100)
        yield consumer, batches


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_of_an_old_generation_is_fenced(newest, protocol):
    newest.create_topic("out", 1)
    with reading(newest, protocol) as (consumer, batches), make(newest) as producer:
        with producer.transaction():
            offsets = positions_behind(batches)
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            producer.send("out", b"one")
        old = consumer.group_metadata()
        consumer.unsubscribe()
        with pytest.raises(errors.CommitFailedError), producer.transaction():  # noqa: PT012
            producer.send("out", b"two").get(10)
            producer.send_offsets_to_transaction(offsets, old)
        with producer.transaction():  # it can go on
            producer.send("out", b"three")
    assert everything(newest.bootstrap, "out") == [b"one", b"three"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_was_put_out_is_fenced_before_it_is_told(newest, protocol):
    with (
        reading(newest, protocol, max_poll_interval_ms=500) as (consumer, batches),
        make(newest) as producer,
    ):
        until = time.monotonic() + 20
        while consumer.group_metadata().state != "<unjoined>":
            assert time.monotonic() < until
            time.sleep(0.05)
        with pytest.raises(errors.CommitFailedError), producer.transaction():
            producer.send_offsets_to_transaction(
                positions_behind(batches), consumer.group_metadata()
            )
    assert committed(newest.bootstrap, "g", "t", 2) == [None, None]


# Fencing ------------------------------------------------------------------------------------------


def test_a_second_producer_fences_the_first(broker):
    with make(broker) as first:
        first.begin_transaction()
        first.send("t", b"lost", partition=0).get(10)
        with make(broker) as second:
            late = first.send("t", b"late", partition=1)
            with pytest.raises((errors.ProducerFencedError, errors.TransactionAbortableError)):
                first.commit_transaction(20)
            if state(first) is TxnState.ABORTABLE_ERROR:
                with pytest.raises(errors.ProducerFencedError):
                    first.abort_transaction(20)
            assert state(first) is TxnState.FATAL_ERROR
            assert late.exception is not None
            for verb in verbs(first).values():
                with pytest.raises(errors.ProducerFencedError):
                    verb()
            with second.transaction():
                second.send("t", b"kept", partition=0)
    assert everything(broker.bootstrap, "t") == [b"kept"]


def test_a_fenced_producer_raises_what_left_the_block(broker):
    with make(broker) as first:
        with pytest.raises(ZeroDivisionError), first.transaction():  # noqa: PT012
            first.send("t", b"lost", partition=0).get(10)
            make(broker).close()
            raise ZeroDivisionError
        with pytest.raises(errors.ProducerFencedError):
            first.begin_transaction()
    assert everything(broker.bootstrap, "t") == []


def test_what_a_fenced_producer_meets_in_the_block_gives_way_to_that(broker):
    with make(broker) as first:
        with (  # noqa: PT012 - of the block
            pytest.raises(errors.ProducerFencedError) as caught,
            first.transaction(),
        ):
            make(broker).close()
            first.send("t", b"late", partition=0).get(10)
        assert isinstance(caught.value.__cause__, errors.KafkaError)
        with pytest.raises(errors.ProducerFencedError):
            first.begin_transaction()
    assert everything(broker.bootstrap, "t") == []


def test_a_transaction_that_takes_too_long_is_aborted_by_the_coordinator(broker):
    with make(broker, transaction_timeout_ms=1_000) as producer:
        producer.begin_transaction()
        producer.send("t", b"late").get(10)
        broker.let_time_pass(60_000)
        time.sleep(0.3)
        # A coordinator says the same of a producer that another one has fenced.
        with pytest.raises(errors.KafkaError, match="longer than transaction_timeout_ms=1000"):
            producer.commit_transaction(20)
    assert everything(broker.bootstrap, "t") == []


def test_what_is_sent_in_a_transaction_that_took_too_long_says_so(newest):
    with make(newest, transaction_timeout_ms=1_000) as producer:
        producer.begin_transaction()
        producer.send("t", b"early", partition=0).get(10)
        newest.let_time_pass(60_000)
        time.sleep(0.3)
        with pytest.raises(errors.KafkaError, match="longer than transaction_timeout_ms=1000"):
            producer.send("t", b"late", partition=0).get(10)
        producer.abort_transaction(20)
        with producer.transaction():
            producer.send("t", b"kept", partition=0)
    assert everything(newest.bootstrap, "t") == [b"kept"]


# Threads, and the end -----------------------------------------------------------------------------


def test_threads_send_in_one_transaction(newest):
    with make(newest, batch_size=1_000) as producer:
        for aborted in (False, True):
            producer.begin_transaction()

            def send(mine, aborted=aborted):
                for number in range(200):
                    producer.send("t", b"%d-%d-%04d" % (aborted, mine, number), partition=mine % 2)

            threads = [threading.Thread(target=send, args=(mine,)) for mine in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if aborted:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    found = read(newest.bootstrap, "t")
    wanted = sorted(b"0-%d-%04d" % (mine, number) for mine in range(4) for number in range(200))
    assert sorted(found[0] + found[1]) == wanted


def test_two_threads_end_the_same_transaction(newest):
    with make(newest) as producer:
        producer.begin_transaction()
        producer.send("t", b"v")
        newest.delay("EndTxn", 200)
        ended = []

        def commit():
            producer.commit_transaction(10)
            ended.append(1)

        threads = [threading.Thread(target=commit) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ended) == 2
    assert everything(newest.bootstrap, "t") == [b"v"]


def test_close_aborts_what_is_open(broker):
    producer = make(broker)
    producer.begin_transaction()
    producer.send("t", b"v", partition=0).get(10)
    producer.close(10)
    # Nothing is left open: what is behind it can be read at once.
    assert read(broker.bootstrap, "t") == {0: [], 1: []}
    with make(broker, "other") as other, other.transaction():
        other.send("t", b"w", partition=0)
    assert read(broker.bootstrap, "t") == {0: [b"w"], 1: []}
    with pytest.raises(errors.ProducerClosed):
        producer.abort_transaction()


def test_who_leaves_the_block_behind_a_close_is_told(broker):
    """What another thread has aborted by closing the producer is not taken for committed."""
    producer = make(broker)

    def block():
        with producer.transaction():
            producer.send("t", b"v", partition=0)
            producer.close(10)

    with pytest.raises(errors.ProducerClosed):
        block()
    assert read(broker.bootstrap, "t") == {0: [], 1: []}


def test_what_the_block_has_ended_before_it_closed_is_no_error(broker):
    producer = make(broker)
    with producer.transaction():
        producer.send("t", b"v", partition=0)
        producer.commit_transaction()
        producer.close(10)
    assert read(broker.bootstrap, "t") == {0: [b"v"], 1: []}


def test_a_close_without_time_leaves_it_to_the_next_one(newest):
    producer = make(newest)
    producer.begin_transaction()
    producer.send("t", b"v", partition=0).get(10)
    producer.close(0)
    with make(newest) as other, other.transaction():
        other.send("t", b"w", partition=0)
    assert read(newest.bootstrap, "t") == {0: [b"w"], 1: []}


def test_close_lets_a_commit_end(newest):
    producer = make(newest)
    producer.begin_transaction()
    producer.send("t", b"v", partition=0)
    newest.delay("EndTxn", 400)
    times_out(producer.commit_transaction)
    producer.close(10)
    assert read(newest.bootstrap, "t") == {0: [b"v"], 1: []}


def test_who_waits_when_it_is_closed_is_told(newest):
    producer = make(newest)
    producer.begin_transaction()
    producer.send("t", b"v", partition=0)
    newest.delay("EndTxn", 1_500)
    found = []

    def commit():
        with pytest.raises(errors.ProducerClosed):
            producer.commit_transaction(10)
        found.append(1)

    thread = threading.Thread(target=commit)
    thread.start()
    time.sleep(0.2)
    producer.close(0)
    thread.join(5)
    assert found == [1]


def test_a_producer_that_is_dropped_aborts(newest):
    producer = make(newest)
    producer.begin_transaction()
    producer.send("t", b"v", partition=0).get(10)
    courier = producer._courier
    with pytest.warns(ResourceWarning, match="dropped without close"):  # noqa: PT031
        del producer
        gc.collect()
    until = time.monotonic() + 10
    while not courier.over:
        assert time.monotonic() < until
        time.sleep(0.01)
    with make(newest, "other") as other, other.transaction():
        other.send("t", b"w", partition=0)
    assert everything(newest.bootstrap, "t") == [b"w"]


def test_a_callback_may_end_it(newest):
    ended = []
    with make(newest) as producer:
        producer.begin_transaction()

        def end(_):
            producer.commit_transaction(10)
            ended.append(state(producer))

        producer.send("t", b"v").add_callback(end)
        producer.flush(10)
        until = time.monotonic() + 10
        while not ended:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert ended == [TxnState.READY]
    assert everything(newest.bootstrap, "t") == [b"v"]


def test_greenlets(newest):
    pytest.importorskip("gevent")
    code = """
        import sys, gevent
        from kcore import Producer
        options = {"bootstrap_servers": sys.argv[1], "transport": "gevent"}
        with Producer(transactional_id="x", **options) as producer:
            producer.init_transactions(20)
            for number in range(4):
                producer.begin_transaction()
                def send(n):
                    for i in range(50):
                        producer.send("t", b"%d-%d-%02d" % (number, n, i))
                gevent.joinall([gevent.spawn(send, n) for n in range(3)], raise_error=True)
                (producer.abort_transaction if number % 2 else producer.commit_transaction)(20)
        print("sent")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), newest.bootstrap],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.stdout, ran.returncode) == ("sent\n", 0), ran.stderr
    wanted = [b"%d-%d-%02d" % (m, n, i) for m in (0, 2) for n in range(3) for i in range(50)]
    assert everything(newest.bootstrap, "t") == wanted


def test_the_time_that_verbs_take_is_measured(broker):
    """Of those that came to a good end."""

    def took(producer):
        found = producer.metrics()["producer-metrics"]
        names = ["init", "begin", "send-offsets", "commit", "abort"]
        return [found[f"txn-{name}-time-ns-total"] for name in names]

    with make(broker, init=False) as producer:
        assert took(producer) == [0] * 5
        began = time.perf_counter_ns()
        producer.init_transactions(20)
        for number, end in enumerate([producer.commit_transaction, producer.abort_transaction]):
            producer.begin_transaction()
            producer.send("t", b"v")
            producer.send_offsets_to_transaction({T0: number}, "g")
            end()
        found = took(producer)
        assert all(found)
        assert sum(found) <= time.perf_counter_ns() - began
        with pytest.raises(errors.TransactionStateError):
            producer.commit_transaction()
        assert took(producer) == found
