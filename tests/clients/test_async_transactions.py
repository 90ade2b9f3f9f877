"""Transactions of `AsyncProducer`, with aiokafka's names."""

import gc
import inspect

import aiokafka
import anyloop
import pyarrow
import pytest
from anyloop import EACH_LOOP
from leftovers import ALSO_AIOKAFKA
from transactional import T0, committed, everything, one_broker

from kcore import AsyncConsumer, AsyncProducer, errors
from kcore.embedded import EmbeddedBroker
from kcore.produce.transaction_states import TxnState

pytestmark = [*ALSO_AIOKAFKA, EACH_LOOP]


@pytest.fixture(params=[(4, 4), (3, 5)], ids=lambda release: "{}.{}".format(*release))
def broker(request):
    with one_broker(request.param) as running:
        yield running


def make(broker, name="x", **options):
    return AsyncProducer(
        **{
            "bootstrap_servers": broker.bootstrap,
            "transactional_id": name,
            "retry_backoff_ms": 20,
            **options,
        }
    )


def run(main):
    anyloop.run(anyloop.wait_for(main, 30))


def test_commit_and_abort(broker):
    async def main():
        async with make(broker) as producer:
            for number in range(4):
                await producer.begin_transaction()
                for n in (0, 1):
                    await producer.send("t", b"%d-%d" % (number, n), partition=n)
                await producer.send_offsets_to_transaction({T0: number}, "g")
                if number % 2:
                    await producer.abort_transaction()
                else:
                    await producer.commit_transaction()

    run(main())
    assert everything(broker.bootstrap, "t") == [b"0-0", b"0-1", b"2-0", b"2-1"]
    assert committed(broker.bootstrap, "g", "t", 1) == [2]


def test_who_is_not_let_in_by_the_coordinator_hears_it_at_once():
    """As the blocking one: it was not told before max_block_ms was over, and then of the time."""
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "writer",
        "sasl_plain_password": "secret",
    }

    async def main(broker):
        producer = make(broker, max_block_ms=60_000, **login)
        initialize = producer._initialize

        async def refused():
            broker.refuse("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED", times=1_000)
            await initialize()

        producer._initialize = refused
        with pytest.raises(errors.SaslAuthenticationFailedError):
            await producer.start()
        producer._initialize = initialize
        broker.no_mishaps()
        await producer.start()
        async with producer.transaction():
            await producer.send("t", b"v")
        await producer.stop()

    users = {"security_protocol": "SASL_PLAINTEXT", "sasl_users": {"writer": "secret"}}
    with EmbeddedBroker(**users) as broker:
        broker.create_topic("t", 1)
        run(main(broker))
        assert broker.end_offsets("t") == [2]  # with its marker


def test_the_block(broker):
    async def main():
        async with make(broker) as producer:
            async with producer.transaction() as same:
                assert same is producer
                await producer.send_and_wait("t", b"kept")
            with pytest.raises(ZeroDivisionError):  # noqa: PT012
                async with producer.transaction():
                    await producer.send_and_wait("t", b"dropped")
                    raise ZeroDivisionError
            with pytest.raises(errors.TransactionAbortableError):  # noqa: PT012
                async with producer.transaction():
                    broker.refuse("Produce", "RECORD_LIST_TOO_LARGE")
                    failed = await producer.send("t", b"refused")
            assert isinstance(failed.exception(), errors.RecordListTooLargeError)
            async with producer.transaction():
                await producer.send("t", b"ended")
                await producer.abort_transaction()
            async with producer.transaction():
                await producer.send("t", b"more")

    run(main())
    assert everything(broker.bootstrap, "t") == [b"kept", b"more"]


def test_a_block_that_is_cancelled_is_aborted(broker):
    async def main():
        async with make(broker) as producer:

            async def work():
                async with producer.transaction():
                    await producer.send_and_wait("t", b"dropped")
                    await anyloop.sleep(60)

            task = anyloop.create_task(work())
            await anyloop.sleep(0.2)
            task.cancel()
            with pytest.raises(anyloop.CancelledError):
                await task
            assert producer._core.transaction_state is TxnState.READY

    run(main())
    assert everything(broker.bootstrap, "t") == []


def test_what_is_cancelled_or_late_is_called_again(broker):
    async def main():
        async with make(broker) as producer:
            await producer.begin_transaction()
            await producer.send("t", b"v")
            broker.delay("EndTxn", 500)
            with pytest.raises(errors.KafkaTimeoutError, match="called again"):
                await producer.commit_transaction(0.1)
            with pytest.raises(TimeoutError):
                await anyloop.wait_for(producer.commit_transaction(), 0.1)
            with pytest.raises(errors.IllegalStateError, match="commit_transaction again"):
                await producer.abort_transaction()
            await producer.commit_transaction()
            with pytest.raises(errors.IllegalStateError, match="begin_transaction first"):
                await producer.commit_transaction()

    run(main())
    assert everything(broker.bootstrap, "t") == [b"v"]


def test_start_fences_and_can_be_tried_again(broker):
    async def main():
        async with make(broker) as first:
            await first.begin_transaction()
            await first.send_and_wait("t", b"lost", partition=0)
            second = make(broker, max_block_ms=200)
            broker.delay("InitProducerId", 600)
            with pytest.raises(errors.KafkaTimeoutError):
                await second.start()
            with pytest.raises(errors.IllegalStateError, match="not started"):
                await second.begin_transaction()
            while True:
                try:
                    await second.start()
                    break
                except errors.KafkaTimeoutError:
                    pass
            with pytest.raises((errors.ProducerFencedError, errors.TransactionAbortableError)):
                await first.commit_transaction()
            if first._core.transaction_state is TxnState.ABORTABLE_ERROR:
                with pytest.raises(errors.ProducerFencedError):
                    await first.abort_transaction()
            with pytest.raises(errors.ProducerFencedError):
                await first.send("t", b"v")
            async with second.transaction(10):
                await second.send("t", b"kept")
            await second.stop()

    run(main())
    assert everything(broker.bootstrap, "t") == [b"kept"]


def test_what_a_fenced_producer_meets_in_the_block_gives_way_to_that(broker):
    async def main():
        async with make(broker) as first:
            with pytest.raises(errors.ProducerFencedError) as caught:  # noqa: PT012 - of the block
                async with first.transaction():
                    async with make(broker):
                        pass
                    await first.send_and_wait("t", b"late", partition=0)
            assert isinstance(caught.value.__cause__, errors.KafkaError)
            with pytest.raises(errors.ProducerFencedError):
                await first.begin_transaction()

    run(main())
    assert everything(broker.bootstrap, "t") == []


def test_stop_aborts_what_is_open(broker):
    async def main():
        producer = make(broker)
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait("t", b"v", partition=0)
        await producer.stop()
        with pytest.raises(errors.ProducerClosed):
            await producer.begin_transaction()
        async with make(broker, "other") as other, other.transaction():
            await other.send("t", b"w", partition=0)

    run(main())
    assert everything(broker.bootstrap, "t") == [b"w"]


def test_consume_transform_produce(broker):
    broker.create_topic("out", 2)
    values = [b"%04d" % number for number in range(200)]
    broker.produce("t", [(None, value) for value in values])

    async def main():
        consumer = AsyncConsumer(
            "t",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        copied = 0
        async with consumer, make(broker) as producer:
            while copied < len(values):
                batches = await consumer.getmany(timeout_ms=200, max_records=50)
                async with producer.transaction():
                    for records in batches.values():
                        for record in records:
                            await producer.send("out", record.value)
                            copied += 1
                    ends = {tp: records[-1].offset + 1 for tp, records in batches.items()}
                    await producer.send_offsets_to_transaction(ends, consumer.group_metadata())

    run(main())
    assert everything(broker.bootstrap, "out") == values
    assert sum(committed(broker.bootstrap, "g", "t", 2)) == len(values)


def test_names_are_aiokafkas():
    names = ["begin_transaction", "commit_transaction", "abort_transaction", "transaction"]
    names += ["send_offsets_to_transaction"]
    for name in names:
        theirs = inspect.signature(getattr(aiokafka.AIOKafkaProducer, name)).parameters
        ours = inspect.signature(getattr(AsyncProducer, name)).parameters
        assert [*ours] == [*theirs, "timeout"] if name != "begin_transaction" else [*theirs]


def test_without_an_id():
    async def main():
        with EmbeddedBroker() as broker:
            async with AsyncProducer(bootstrap_servers=broker.bootstrap) as producer:
                for verb in (producer.begin_transaction, producer.commit_transaction):
                    with pytest.raises(errors.IllegalStateError, match="no transactional_id"):
                        await verb()

    run(main())


@pytest.mark.parametrize("what", ["record", "table"])
def test_nobody_has_to_look_at_what_was_aborted(broker, what):
    async def main():
        with anyloop.unseen_failures() as found:
            async with make(broker, linger_ms=60_000) as producer:
                await producer.begin_transaction()
                for partition in (0, 1):
                    if what == "record":
                        await producer.send("t", b"never", partition=partition)
                    else:
                        await producer.send_arrow(pyarrow.table({"value": [b"never"]}), topic="t")
                await producer.abort_transaction()
                gc.collect()
                await anyloop.sleep(0)
        assert found == []

    run(main())
    assert everything(broker.bootstrap, "t") == []


def test_what_fails_is_told_where_nobody_looks(broker):
    async def main():
        with anyloop.unseen_failures() as found:
            async with make(broker, linger_ms=0) as producer:
                await producer.begin_transaction()
                broker.refuse("Produce", "INVALID_RECORD", 1)
                future = await producer.send("t", b"bad")
                while not future.done():
                    await anyloop.sleep(0.01)
                del future
                await producer.abort_transaction()
                gc.collect()
                await anyloop.sleep(0)
        assert [type(error) for error in found] == [errors.InvalidRecordError]

    run(main())


def test_the_time_that_verbs_take_is_measured(broker):
    async def main():
        async with make(broker) as producer:
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({T0: 1}, "g")
            await producer.commit_transaction()
            await producer.begin_transaction()
            await producer.abort_transaction()
            found = producer.metrics()["producer-metrics"]
            assert all(value > 0 for name, value in found.items() if name.startswith("txn-"))
            assert sum(name.startswith("txn-") for name in found) == 5

    run(main())
