"""Batches that the application fills: aiokafka's create_batch and send_batch."""

import anyloop
import pytest
from anyloop import EACH_LOOP
from async_consumers import run
from async_producers import producer as make
from async_producers import read, topic_of
from leftovers import COLLECTED

from kcore import TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    IllegalArgumentError,
    IllegalStateError,
    InvalidTopicError,
    MessageSizeTooLargeError,
    RecordTooLargeError,
)
from kcore.records.batches import describe_batches

pytestmark = [COLLECTED, EACH_LOOP]


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        yield embedded
        assert embedded.faults == []


@pytest.fixture
def topic(broker, request):
    return topic_of(broker, request)


def filled(producer, *values, **more):
    batch = producer.create_batch()
    for number, value in enumerate(values):
        assert batch.append(timestamp=1_000 + number, key=None, value=value, **more)
    return batch


def batches_of(broker, topic):
    """(first offset, records) of each batch in the log."""
    log = broker._cluster.topics.get(topic).partitions[0].log
    heads = [head for data in log.batches() for head in describe_batches(data)]
    return [(head.base_offset, head.record_count) for head in heads]


def test_a_batch_is_filled_and_goes_out_whole(broker, topic):
    async def main():
        async with make(broker, linger_ms=60_000) as producer:
            single = await producer.send(topic, b"before")
            batch = producer.create_batch()
            assert (batch.record_count(), batch.closed()) == (0, False)
            first = batch.append(timestamp=1234, key=b"k", value=b"v", headers=[("h", b"1")])
            assert (first.offset, first.crc, first.timestamp) == (0, None, 1234)
            assert first.size >= batch.size() - 61
            second = batch.append(timestamp=None, key=None, value=b"w")
            assert second.offset == 1
            assert second.timestamp > 1_700_000_000_000
            future = await producer.send_batch(batch, topic, partition=0)
            assert batch.closed()
            assert batch.append(timestamp=None, key=None, value=b"late") is None
            behind = await producer.send(topic, b"behind")
            found = await future
            assert found == (topic, 0, TopicPartition(topic, 0), 1, 1234, 0, 0)
            assert (await single).offset == 0  # what was open went before it
            await producer.flush()
            assert (await behind).offset == 3
        records = (await read(broker, topic))[0]
        assert [one.value for one in records] == [b"before", b"v", b"w", b"behind"]
        assert (records[1].key, [*records[1].headers]) == (b"k", [("h", b"1")])

    run(main())


def test_it_is_one_record_batch_of_its_own(broker, topic):
    async def main():
        async with make(broker, compression_type="gzip") as producer:
            sent = [
                await producer.send_batch(filled(producer, *values), topic, partition=0)
                for values in ([b"a"] * 3, [b"b"], [b"c"] * 2)
            ]
            assert [(await one).offset for one in sent] == [0, 3, 4]
        assert batches_of(broker, topic) == [(0, 3), (3, 1), (4, 2)]

    run(main())


def test_a_full_batch_takes_no_more(broker, topic):
    async def main():
        async with make(broker, max_batch_size=300) as producer:
            batch = producer.create_batch()
            count = 0
            while batch.append(timestamp=1, key=None, value=b"x" * 20) is not None:
                count += 1
            assert batch.closed()
            assert batch.record_count() == count > 3
            assert batch.size() <= 300
            assert batch.append(timestamp=1, key=None, value=b"") is None
            await (await producer.send_batch(batch, topic, partition=0))
            large = producer.create_batch()
            assert large.append(timestamp=1, key=None, value=b"x" * 5_000)  # the first, always
            assert large.append(timestamp=1, key=None, value=b"x") is None
            assert (await (await producer.send_batch(large, topic, partition=0))).offset == count

    run(main())


def test_serializers_make_what_goes_in(broker, topic):
    class Named:
        def serialize(self, name, headers, data):
            return f"{name}:{data}:{len(headers)}".encode()

    async def main():
        async with make(broker, key_serializer=str.encode, value_serializer=Named()) as producer:
            batch = producer.create_batch(topic)
            batch.append(timestamp=1, key="k", value=7, headers=[("h", None)])
            nameless = producer.create_batch()
            nameless.append(timestamp=1, key="k", value=8)
            for one in (batch, nameless):
                await (await producer.send_batch(one, topic, partition=None))
        records = (await read(broker, topic))[0]
        assert [(one.key, one.value) for one in records] == [
            (b"k", f"{topic}:7:1".encode()),
            (b"k", b"unknown:8:0"),
        ]

    run(main())


def test_without_a_partition_they_are_spread(broker):
    broker.create_topic("spread", 3)

    async def main():
        async with make(broker) as producer:
            hit = set()
            for _ in range(60):
                future = await producer.send_batch(filled(producer, b"v"), "spread", partition=None)
                hit.add((await future).partition)
        assert hit == {0, 1, 2}

    run(main())


def test_what_cannot_be_sent_is_said(broker, topic):
    async def main():
        async with make(broker, max_request_size=2_000) as producer:
            send = producer.send_batch
            with pytest.raises(IllegalArgumentError, match="no records"):
                await send(producer.create_batch(), topic, partition=0)
            with pytest.raises(TypeError, match="what create_batch has made, not list"):
                await send([], topic, partition=0)
            batch = producer.create_batch()
            with pytest.raises(RecordTooLargeError, match="max_request_size"):
                batch.append(timestamp=1, key=None, value=b"x" * 2_000)
            with pytest.raises(TypeError):
                batch.append(timestamp=1, key=None, value="text")
            with pytest.raises(TypeError, match="headers"):
                batch.append(timestamp=1, key=None, value=b"", headers=[(1, b"")])
            assert (batch.record_count(), batch.closed()) == (0, False)
            batch.append(timestamp=1, key=None, value=b"v")
            with pytest.raises(IllegalArgumentError, match="no partition 5"):
                await send(batch, topic, partition=5)
            with pytest.raises(InvalidTopicError):
                await send(batch, "a b", partition=0)
            assert (await (await send(batch, topic, partition=0))).offset == 0  # nothing was sent
            with pytest.raises(IllegalStateError, match="sent already"):
                await send(batch, topic, partition=0)
            assert repr(batch) == f"<ProducerBatch: 1 records, {batch.size()} bytes, sent>"

    run(main())


def test_who_is_cancelled_while_there_is_no_room_has_sent_nothing(broker, topic):
    async def main():
        async with make(
            broker, buffer_memory=4_000, max_request_size=4_000, batch_size=3_000, acks="all"
        ) as producer:
            await producer.partitions_for(topic)
            broker.refuse("Produce", "NOT_ENOUGH_REPLICAS", times=3)
            first = await producer.send_batch(filled(producer, b"x" * 2_500), topic, partition=0)
            second = filled(producer, b"y" * 2_500)
            task = anyloop.create_task(producer.send_batch(second, topic, partition=0))
            await anyloop.sleep(0.02)
            with pytest.raises(IllegalStateError, match="sent already"):  # by that task
                await producer.send_batch(second, topic, partition=0)
            task.cancel()
            await anyloop.gather(task, return_exceptions=True)
            third = await producer.send_batch(second, topic, partition=0)  # waits for the first
            assert first.done()
            assert [(await one).offset for one in (first, third)] == [0, 1]

    run(main())


def test_one_that_is_refused_fails_as_a_whole(broker, topic):
    small = f"{topic}-small"
    broker.create_topic(small, 1, settings={"max.message.bytes": "100"})

    async def main():
        async with make(broker) as producer:
            future = await producer.send_batch(filled(producer, b"x" * 500), small, partition=0)
            with pytest.raises(MessageSizeTooLargeError):
                await future
            several = filled(producer, *[b"x" * 20] * 9)  # split, and told when all is there
            assert (await (await producer.send_batch(several, small, partition=0))).offset == 0
        assert len((await read(broker, small))[0]) == 9

    run(main())


def test_that_of_another_producer_is_refused(broker, topic):
    """It would be outside of the transaction that it is sent in."""

    async def main():
        async with make(broker) as plain, make(broker, transactional_id=topic) as producer:
            batch = filled(plain, b"v")
            async with producer.transaction():
                with pytest.raises(IllegalArgumentError, match="another producer's"):
                    await producer.send_batch(batch, topic, partition=0)
                await producer.send(topic, b"in it")
            await (await plain.send_batch(batch, topic, partition=0))

    run(main())
    assert batches_of(broker, topic) == [(0, 1), (1, 1), (2, 1)]  # with the transaction's marker


def test_in_a_transaction(broker, topic):
    async def main():
        async with make(broker, transactional_id=topic) as producer:
            batch = filled(producer, b"a", b"b")
            with pytest.raises(IllegalStateError):
                await producer.send_batch(batch, topic, partition=0)
            async with producer.transaction():
                future = await producer.send_batch(batch, topic, partition=0)
            assert (await future).offset == 0
        assert batches_of(broker, topic)[0] == (0, 2)  # and a marker

    run(main())
