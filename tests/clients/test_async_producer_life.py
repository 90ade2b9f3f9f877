"""AsyncProducer's life: beginning and end, other loops and processes, garbage, threads."""

import gc
import os
import pickle
import socket
import sys
import threading
import warnings
import weakref

import anyloop
import pytest
from anyloop import ASYNCIO, EACH_LOOP
from async_consumers import run
from async_producers import producer as make
from descriptors import descriptors, wait_for_descriptors

from kcore import AsyncConsumer, AsyncProducer
from kcore.clients.turns import RECORDS_PER_TURN
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    ConcurrentUseError,
    ForkedError,
    IllegalStateError,
    KafkaError,
    MessageSizeTooLargeError,
    NoBrokersAvailable,
    ProducerClosed,
)

pytestmark = EACH_LOOP


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        embedded.create_topic("t", 1)
        yield embedded
        assert embedded.faults == []


CALLS = [
    lambda producer: producer.send("t", b"v"),
    lambda producer: producer.send_and_wait("t", b"v"),
    lambda producer: producer.send_arrow(None, "t"),
    lambda producer: producer.flush(),
    lambda producer: producer.partitions_for("t"),
]


# Beginning ----------------------------------------------------------------------------------------


def test_a_block_leaves_alone_what_somebody_else_has_started(broker):
    async def main():
        async with make(broker) as producer:
            with pytest.raises(IllegalStateError, match="already"):
                async with producer:
                    pass
            assert (await producer.send_and_wait("t", b"v")).offset >= 0

    run(main())


def test_before_the_start(broker):
    async def main():
        producer = make(broker)
        for call in CALLS:
            with pytest.raises(IllegalStateError, match="not started"):
                await call(producer)
        await producer.start()
        with pytest.raises(IllegalStateError, match="already"):
            await producer.start()
        assert producer.config["api_version"] >= (4, 0)
        assert (await producer.send_and_wait("t", b"v")).offset >= 0
        await producer.stop()

    run(main())


def test_nothing_is_done_before_the_start(monkeypatch):
    def connect(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect)
    before = descriptors()
    producer = AsyncProducer(bootstrap_servers="127.0.0.1:1")
    anyloop.run(producer.stop())
    wait_for_descriptors(before)
    producer = AsyncProducer(bootstrap_servers="127.0.0.1:1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del producer
        gc.collect()
    wait_for_descriptors(before)


def test_nobody_there_and_then_somebody():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)

        async def main():
            broker.kill(1)
            producer = make(broker, bootstrap_timeout_ms=300, reconnect_backoff_max_ms=100)
            with pytest.raises(NoBrokersAvailable, match="no broker answered within 300 ms"):
                await producer.start()
            with pytest.raises(IllegalStateError, match="not started"):
                await producer.send("t", b"v")
            broker.revive(1)
            while True:
                try:
                    await producer.start()
                    break
                except NoBrokersAvailable:
                    pass
            assert (await producer.send_and_wait("t", b"v")).offset == 0
            await producer.stop()

        run(main())


def test_a_start_that_fails_in_a_with_leaves_nothing():
    before = descriptors()

    async def main():
        with pytest.raises(NoBrokersAvailable):
            async with AsyncProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100):
                pass

    run(main())
    wait_for_descriptors(before)


def test_a_start_that_is_cancelled_anywhere(broker):
    before = descriptors()

    async def main():
        started = 0
        for turns in range(40):
            producer = make(broker)
            task = anyloop.create_task(producer.start())
            await anyloop.sleep(turns % 10 / 3_000)
            for _ in range(turns % 4):
                await anyloop.sleep(0)
            task.cancel()
            await anyloop.wait([task])
            if task.cancelled():
                await producer.start()
            else:
                started += 1
            assert (await producer.send_and_wait("t", b"v")).offset >= 0
            courier = producer._courier
            await producer.stop()
            assert courier._results == {}
        assert started < 40

    run(main())
    wait_for_descriptors(before)


def test_of_two_starts_at_once_the_second_is_refused(broker):
    async def main():
        producer = make(broker)
        found = await anyloop.gather(producer.start(), producer.start(), return_exceptions=True)
        found.sort(key=bool)  # trio begins tasks in any order
        assert found[0] is None
        assert isinstance(found[1], IllegalStateError)
        await producer.stop()

    run(main())


def test_a_start_is_told_of_a_stop(broker):
    async def main():
        broker.delay("Metadata", 60_000)
        producer = make(broker)
        starting = anyloop.create_task(producer.start())
        while broker.mishaps_to_come:
            await anyloop.sleep(0.005)
        await producer.stop()
        with pytest.raises(ProducerClosed):
            await starting
        broker.no_mishaps()

    run(main())


# The end ------------------------------------------------------------------------------------------


def test_stop_delivers(broker):
    before, (at,) = descriptors(), broker.end_offsets("t")

    async def main():
        producer = make(broker, linger_ms=60_000, delivery_timeout_ms=120_000)
        await producer.start()
        futures = [await producer.send("t", b"v") for _ in range(10)]
        await producer.stop()
        assert [future.result().offset for future in futures] == [*range(at, at + 10)]
        await producer.stop()
        for call in [*CALLS, lambda producer: producer.start()]:
            with pytest.raises(ProducerClosed):
                await call(producer)

    run(main())
    wait_for_descriptors(before)


def test_stop_without_time_fails_what_is_left(broker):
    async def main():
        producer = make(broker)
        await producer.start()
        await producer.send_and_wait("t", b"v")
        broker.delay("Produce", 1_000)
        future = await producer.send("t", b"v")
        await producer.stop(0)
        with pytest.raises(ProducerClosed):
            await future
        broker.no_mishaps()

    run(main())


def test_a_stop_that_is_cancelled_closes_at_once(broker):
    before = descriptors()

    async def main():
        producer = make(broker)
        await producer.start()
        await producer.send_and_wait("t", b"v")
        broker.delay("Produce", 60_000)
        future = await producer.send("t", b"v")
        stopping = anyloop.create_task(producer.stop())
        another = anyloop.create_task(producer.stop())
        await anyloop.sleep(0.05)
        assert not stopping.done()
        stopping.cancel()
        with pytest.raises(anyloop.CancelledError):
            await stopping
        await another
        with pytest.raises(ProducerClosed):
            await future
        broker.no_mishaps()

    run(main())
    wait_for_descriptors(before)


def test_a_send_that_lets_others_have_their_turn_is_told_of_the_end(broker):
    """Closed at once, in that very turn, and not by the core: nobody would deliver the record."""

    async def main():
        producer = make(broker)
        await producer.start()
        await producer.send_and_wait("t", b"v")
        courier = producer._courier

        async def send_after_many():
            await producer.send("t", b"v")
            courier.passed(RECORDS_PER_TURN)
            await producer.send("t", b"v")

        sending = anyloop.create_task(send_after_many())
        await anyloop.sleep(0)
        courier.close()
        with pytest.raises(ProducerClosed):
            await sending

    run(main())


def test_stop_ends_whoever_waits(broker):
    async def main():
        producer = make(broker, buffer_memory=2_000, allow_auto_create_topics=False)
        await producer.start()
        await producer.send_and_wait("t", b"v")
        broker.delay("Produce", 500)
        last = await producer.send("t", bytes(1_800))
        waits = [
            anyloop.create_task(call)
            for call in (
                producer.send("t", bytes(1_800)),
                producer.send_and_wait("t", bytes(1_800)),
                producer.send("nowhere", b"v"),
                producer.partitions_for("nowhere"),
            )
        ]
        flushing = anyloop.create_task(producer.flush())
        await anyloop.sleep(0.05)
        await producer.stop()
        assert (await last).offset > 0
        assert await flushing is None
        for error in await anyloop.gather(*waits, return_exceptions=True):
            assert isinstance(error, ProducerClosed)

    run(main())


def test_an_exception_in_the_with_delivers_all_the_same(broker):
    (at,) = broker.end_offsets("t")

    async def main():
        async with make(broker, linger_ms=60_000, delivery_timeout_ms=120_000) as producer:
            await producer.send("t", b"v")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(main())
    assert broker.end_offsets("t") == [at + 1]


def test_a_turn_that_fails_is_told_to_everybody(broker):
    before = descriptors()

    async def main():
        producer = make(broker, linger_ms=60_000, delivery_timeout_ms=120_000)
        await producer.start()
        await producer.partitions_for("t")
        future = await producer.send("t", b"v")
        flushing = anyloop.create_task(producer.flush())
        producer._courier._pump.step = lambda *_: 1 / 0
        for waiting in (future, flushing):
            with pytest.raises(KafkaError, match="a turn of the event loop failed"):
                await waiting
        with pytest.raises(KafkaError, match="a turn of the event loop failed"):
            await producer.send("t", b"v")
        with pytest.raises(KafkaError, match="1 records were not delivered"):
            await producer.stop()
        await producer.stop()

    run(main())
    wait_for_descriptors(before)


# Other places -------------------------------------------------------------------------------------


@ASYNCIO
def test_another_loop_or_thread_is_refused(broker):
    producer = make(broker)
    loop = anyloop.new_event_loop()
    loop.run_until_complete(producer.start())
    for call in [*CALLS, lambda producer: producer.stop()]:
        with pytest.raises(ConcurrentUseError, match="the producer belongs to the event loop"):
            anyloop.run(call(producer))
    assert producer.metrics()  # between two runs of its loop, in the same thread
    refused = []

    def elsewhere():
        assert producer.metrics()  # whoever serves them has a thread of its own
        try:
            anyloop.run(producer.send("t", b"v"))
        except ConcurrentUseError as error:
            refused.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(refused) == 1
    assert loop.run_until_complete(producer.send_and_wait("t", b"v")).offset >= 0
    loop.run_until_complete(producer.stop())
    loop.close()


@ASYNCIO
def test_its_loop_is_closed(broker):
    before = descriptors()
    producer = make(broker, linger_ms=60_000, delivery_timeout_ms=120_000)
    loop = anyloop.new_event_loop()
    loop.run_until_complete(producer.start())
    future = loop.run_until_complete(producer.send("t", b"v"))
    future.add_done_callback(lambda _: None)
    loop.close()
    with pytest.raises(ConcurrentUseError, match="closed"):
        anyloop.run(producer.send("t", b"v"))
    anyloop.run(producer.stop())
    wait_for_descriptors(before)


@ASYNCIO
def test_another_loop_than_the_one_given(broker):
    other = anyloop.new_event_loop()

    async def main():
        producer = make(broker, loop=other)
        with pytest.raises(ConcurrentUseError):
            await producer.start()
        await producer.stop()

    run(main())
    other.close()


def test_no_thread_is_made(broker):
    async def main():
        before = {thread.ident for thread in threading.enumerate()}
        async with make(broker, compression_type="gzip") as producer:
            for _ in range(10):
                await producer.send_and_wait("t", b"v")
            assert {thread.ident for thread in threading.enumerate()} <= before

    run(main())


def test_in_the_child_of_a_fork(broker):
    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait("t", b"v")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of threads: those of the broker
                child = os.fork()
            if not child:
                status = 1
                try:
                    producer.metrics()
                except ForkedError:
                    try:
                        producer.send("t", b"v").send(None)
                    except ForkedError:
                        status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
            assert (await producer.send_and_wait("t", b"v")).offset > 0

    run(main())


def test_a_producer_cannot_be_pickled(broker):
    producer = make(broker)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(producer)


# Garbage ------------------------------------------------------------------------------------------


def test_dropped_without_stop_it_warns_and_frees_its_sockets(broker):
    before = descriptors()

    async def main():
        producer = make(broker, linger_ms=60_000, delivery_timeout_ms=120_000)
        await producer.start()
        future = await producer.send("t", b"v")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            del producer
            gc.collect()
        assert [str(one.message)[-17:] for one in said] == ["was never stopped"]
        with pytest.raises(ProducerClosed):
            await future
        await anyloop.sleep(0)
        assert anyloop.watched() == 0

    run(main())
    wait_for_descriptors(before)


@pytest.mark.parametrize("kind", [AsyncProducer, AsyncConsumer])
def test_dropped_where_warnings_are_errors_it_frees_its_sockets(broker, monkeypatch, kind):
    """As under pytest's `filterwarnings = error`: the warning is raised where it is given."""
    before = descriptors()
    said = []
    monkeypatch.setattr(sys, "unraisablehook", lambda it: said.append(str(it.exc_value)[-17:]))

    async def main():
        client = kind(bootstrap_servers=broker.bootstrap)
        await client.start()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del client
            gc.collect()
        await anyloop.sleep(0)
        assert anyloop.watched() == 0

    run(main())
    assert said == ["was never stopped"]
    wait_for_descriptors(before)


def test_dropped_in_another_thread(broker):
    async def main():
        producers = [make(broker)]
        await producers[0].start()
        future = await producers[0].send("t", b"v")
        fds = len(descriptors())
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            await anyloop.to_thread(producers.clear)
            gc.collect()
        assert [one.category for one in said] == [ResourceWarning]
        await anyloop.wait([future])
        await anyloop.sleep(0.05)
        assert len(descriptors()) < fds
        future.exception()

    run(main())


class Load:
    """What a task holds."""


def test_who_was_told_of_a_failure_is_not_kept(broker):
    async def fails(producer):
        load = Load()
        with pytest.raises(MessageSizeTooLargeError):
            await producer.send_and_wait("narrow", bytes(3_000))
        return weakref.ref(load)

    async def main():
        async with make(broker) as producer:
            seen = await fails(producer)
            await anyloop.sleep(0)  # what runs now was woken with the future in hand
            gc.collect()
            assert seen() is None

    broker.create_topic("narrow", 1, settings={"max.message.bytes": "2000"})
    run(main())


def test_delivered_batches_leave_nothing_to_the_collector(broker):
    """What waits for a batch holds it, and the other way round, until it is over."""

    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait("t", b"v")
            gc.collect()
            gc.disable()
            try:
                for _ in range(100):
                    futures = [await producer.send("t", b"v") for _ in range(10)]
                    await anyloop.gather(*futures)
                kinds = [type(one).__name__ for one in gc.get_objects()]
                assert kinds.count("Followers") < 50
                assert kinds.count("Batch") < 50
            finally:
                gc.enable()

    run(main())


# Beside a consumer --------------------------------------------------------------------------------


def test_with_a_consumer_on_one_loop(broker):
    broker.create_topic("round", 2)

    async def main():
        async with (
            AsyncConsumer(
                "round", bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
            ) as reader,
            make(broker) as producer,
        ):
            for number in range(50):
                await producer.send_and_wait("round", b"%d" % number)
                assert (await reader.getone()).value == b"%d" % number

    run(main())


# Transactions -------------------------------------------------------------------------------------


def test_who_leaves_the_block_behind_a_stop_is_told(broker):
    """What another task has aborted by stopping the producer is not taken for committed."""

    async def main():
        producer = make(broker, transactional_id="stopped-in-the-block")
        await producer.start()
        async with producer.transaction():
            await producer.send("t", b"v")
            await producer.stop()

    with pytest.raises(ProducerClosed):
        run(main())


def test_what_the_block_has_ended_before_it_stopped_is_no_error(broker):
    async def main():
        producer = make(broker, transactional_id="ended-in-the-block")
        await producer.start()
        async with producer.transaction():
            future = await producer.send("t", b"v")
            await producer.commit_transaction()
            await producer.stop()
        assert (await future).offset >= 0

    run(main())
