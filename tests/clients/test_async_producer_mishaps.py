"""AsyncProducer where brokers refuse, cut, and go; and tables on their way."""

import random

import anyloop
import pytest
from anyloop import EACH_LOOP
from async_consumers import run, ticking
from async_producers import producer as make
from async_producers import read, topic_of
from leftovers import COLLECTED

from kcore import TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    KafkaError,
    KafkaTimeoutError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
)

pytestmark = [COLLECTED, EACH_LOOP]


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        yield embedded
        assert embedded.faults == []


@pytest.fixture
def topic(broker, request):
    return topic_of(broker, request)


# Mishaps ------------------------------------------------------------------------------------------


def test_a_refusal_is_told_by_the_future(broker, topic, each_loop):
    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait(topic, b"first")
            with anyloop.unseen_failures() as said:
                broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED")
                futures = [await producer.send(topic, b"v") for _ in range(10)]
                if each_loop != "trio":  # under trio nobody cancels futures
                    futures[3].cancel()
                for future in (*futures[:3], *futures[4:]):
                    with pytest.raises(TopicAuthorizationFailedError):
                        await future
                del futures, future
            assert said == []
            assert (await producer.send_and_wait(topic, b"v")).offset == 1

    run(main())


def test_failures_that_nobody_looks_at_are_said_once_a_batch(broker, topic):
    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait(topic, b"first")
            with anyloop.unseen_failures() as said:
                for _ in range(2):
                    broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED")
                    for _ in range(10):
                        await producer.send(topic, b"v")
                    await producer.flush()
            assert [type(one) for one in said] == 2 * [TopicAuthorizationFailedError]

    run(main())


def test_a_batch_that_is_too_large_is_split():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1, settings={"max.message.bytes": "5000"})

        async def main():
            async with make(broker, batch_size=100_000) as producer:
                futures = [await producer.send("t", b"%03d" % n + bytes(200)) for n in range(100)]
                offsets = [(await future).offset for future in futures]
                assert offsets == [*range(100)]
                with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
                    await producer.send_and_wait("t", bytes(8_000))

        run(main())


def test_delivery_has_its_time(broker, topic):
    async def main():
        options = {"request_timeout_ms": 200, "delivery_timeout_ms": 300}
        async with make(broker, **options) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 2_000, times=5)
            future = await producer.send(topic, b"v")
            with pytest.raises(KafkaTimeoutError, match="delivery_timeout_ms=300"):
                await future
            broker.no_mishaps()

    run(main())


def test_links_that_drop_lose_nothing_and_double_nothing():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", 3)

        async def main():
            options = {"retry_backoff_ms": 10, "reconnect_backoff_ms": 10, "batch_size": 400}
            async with make(broker, **options) as producer:

                async def one(name):
                    for number in range(200):
                        await producer.send("t", b"%d %d" % (name, number), partition=name)
                        await anyloop.sleep(0)

                sending = [anyloop.create_task(one(name)) for name in range(3)]
                while not all(task.done() for task in sending):
                    broker.cut("Produce", random.randrange(1, 4))
                    await anyloop.sleep(0.01)
                await anyloop.gather(*sending)
                broker.no_mishaps()
                await producer.flush()
                assert broker.faults == []
            for name, records in (await read(broker, "t")).items():
                assert [one.value for one in records] == [b"%d %d" % (name, n) for n in range(200)]

        run(main())


def test_brokers_go_and_come_back():
    with EmbeddedBroker(nodes=2) as broker:
        broker.create_topic("t", 2)

        async def main():
            async with make(broker, retry_backoff_ms=20) as producer:
                await producer.send_and_wait("t", b"first", partition=0)
                for node in (1, 2):
                    await anyloop.to_thread(broker.kill, node)
                futures = [await producer.send("t", b"%d" % n, partition=0) for n in range(10)]
                await anyloop.sleep(0.1)
                assert not any(future.done() for future in futures)
                for node in (1, 2):
                    await anyloop.to_thread(broker.revive, node)
                assert [(await future).offset for future in futures] == [*range(1, 11)]

        run(main())


# Tables -------------------------------------------------------------------------------------------


def table(rows, size=10):
    pa = pytest.importorskip("pyarrow")
    values = [b"%d" % number + bytes(size) for number in range(rows)]
    return pa.table({"value": pa.array(values, pa.binary())})


def test_a_table(broker, topic):
    async def main():
        async with make(broker) as producer:
            found = await (await producer.send_arrow(table(1_000), topic))
            assert {tp: tuple(vars_of(one)) for tp, one in found.items()} == {
                TopicPartition(topic, 0): (1_000, 0, 999)
            }
            assert await (await producer.send_arrow(table(0), topic)) == {}
            with pytest.raises(TypeError, match="value"):
                await producer.send_arrow(table(1).rename_columns(["other"]), topic)
            with pytest.raises(RecordTooLargeError, match="row 0"):
                await producer.send_arrow(table(1, 2_000_000), topic)
            broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED")
            future = await producer.send_arrow(table(10), topic)
            with pytest.raises(TopicAuthorizationFailedError):
                await future

    run(main())


def vars_of(delivery):
    return delivery.count, delivery.first_offset, delivery.last_offset


def test_a_table_that_is_larger_than_the_memory_waits_for_room(broker, topic):
    async def main():
        async with make(broker, buffer_memory=100_000) as producer, ticking() as turns:
            await producer.partitions_for(topic)
            before = turns[0]
            future = await producer.send_arrow(table(20_000, 100), topic)
            assert turns[0] - before > 20
            await future
            assert broker.end_offsets(topic) == [20_000]

    run(main())


def test_a_table_for_a_topic_that_is_made_meanwhile(broker):
    async def main():
        async with make(broker, allow_auto_create_topics=False) as producer:
            sending = anyloop.create_task(producer.send_arrow(table(10), "made-for-a-table"))
            await anyloop.sleep(0.3)
            await anyloop.to_thread(broker.create_topic, "made-for-a-table", 1)
            async with anyloop.timeout(10):
                await (await sending)

    run(main())


def test_a_large_table_leaves_others_their_turn(broker, topic):
    async def main():
        async with make(broker) as producer, ticking() as turns:
            await producer.partitions_for(topic)
            before = turns[0]
            future = await producer.send_arrow(table(100_000, 1), topic)
            assert turns[0] - before >= 10
            await future

    run(main())


def test_a_table_that_finds_no_room_times_out_and_may_be_cancelled(broker, topic):
    async def main():
        async with make(broker, buffer_memory=50_000, max_block_ms=300) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 1_000, times=1)
            with pytest.raises(KafkaTimeoutError, match="buffer_memory=50000"):
                await producer.send_arrow(table(5_000, 100), topic)
            await producer.flush()
            taken = broker.end_offsets(topic)[0]
            assert 100 < taken < 5_000
            broker.delay("Produce", 200, times=1)
            task = anyloop.create_task(producer.send_arrow(table(5_000, 100), topic))
            await anyloop.sleep(0.05)
            task.cancel()
            await anyloop.wait([task])
            assert task.cancelled()
            await producer.flush()
            assert broker.end_offsets(topic)[0] > taken
            assert (await producer.send_and_wait(topic, b"last")).offset >= taken

    run(main())
