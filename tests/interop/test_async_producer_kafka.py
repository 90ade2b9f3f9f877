"""AsyncProducer on a real Kafka: read back by AsyncConsumer, and beside aiokafka's own."""

import anyloop
import pytest
from aiokafka import AIOKafkaProducer
from anyloop import ASYNCIO, EACH_LOOP
from async_consumers import options, run
from leftovers import ALSO_AIOKAFKA

from kcore import AsyncConsumer, AsyncProducer

pytestmark = [pytest.mark.kafka, *ALSO_AIOKAFKA, EACH_LOOP]
PARTITIONS, TASKS, EACH = 3, 5, 200


@pytest.fixture
def topic(kafka, names):
    # Kafka goes by the records' own times: by default those of 2023 are gone at its next look.
    kafka.create_topic(names.topic, PARTITIONS, configs={"retention.ms": "-1"})
    return names.topic


async def received(kafka, topic, count):
    """So many records of a topic, by partition and offset."""
    found = {}
    async with AsyncConsumer(topic, **options(kafka)) as reader:
        while len(found) < count:
            for records in (await reader.getmany(timeout_ms=100)).values():
                found |= {(record.partition, record.offset): record for record in records}
    return found


@pytest.mark.parametrize(
    "more", [{}, {"acks": 1}, {"compression_type": "zstd"}, {"max_batch_size": 300}], ids=str
)
def test_what_tasks_send_is_read_while_they_send(kafka, topic, more):
    async def main():
        wanted = TASKS * EACH
        reading = anyloop.create_task(received(kafka, topic, wanted))
        told = {}

        async def one(producer, name):
            for number in range(EACH):
                text = b"%d-%d" % (name, number)
                future = await producer.send(
                    topic,
                    text,
                    key=b"%d" % (number % 7),
                    headers=[("h", b"1")] if number % 3 == 0 else None,
                    timestamp_ms=1_700_000_000_000 + number,
                )
                told[text] = future
                if number % 50 == 0:
                    await future

        async with AsyncProducer(
            bootstrap_servers=kafka.bootstrap, linger_ms=0, **more
        ) as producer:
            await anyloop.gather(*(one(producer, name) for name in range(TASKS)))
            await producer.flush()
            found = await reading
        for text, future in told.items():
            at = future.result()
            record = found[at.partition, at.offset]
            number = int(text.split(b"-")[1])
            assert (record.value, record.key) == (text, b"%d" % (number % 7))
            assert record.timestamp == at.timestamp == 1_700_000_000_000 + number
            assert [*record.headers] == ([("h", b"1")] if number % 3 == 0 else [])
            assert (at.topic, at.timestamp_type, at.log_start_offset) == (topic, 0, 0)
        assert len(told) == len(found) == wanted
        for number in range(PARTITIONS):  # each task's records are in the order of their sends
            values = [found[at].value for at in sorted(found) if at[0] == number]
            for name in range(TASKS):
                mine = [int(v.split(b"-")[1]) for v in values if v.startswith(b"%d-" % name)]
                assert mine == sorted(mine)

    run(main())


@ASYNCIO
@pytest.mark.parametrize("make", [AIOKafkaProducer, AsyncProducer], ids=["aiokafka", "kcore"])
def test_a_program_written_for_aiokafka(kafka, topic, make):
    """The same source for both clients: only the class differs."""

    async def main():
        producer = make(
            bootstrap_servers=kafka.bootstrap,
            acks="all",
            enable_idempotence=True,
            linger_ms=5,
            max_batch_size=1_000,
            compression_type="gzip",
            key_serializer=str.encode,
            value_serializer=str.encode,
        )
        await producer.start()
        try:
            assert await producer.partitions_for(topic) == {*range(PARTITIONS)}
            futures = [await producer.send(topic, f"v{n}", f"k{n}") for n in range(100)]
            await producer.flush()
            assert all(future.done() for future in futures)
            sent = await producer.send_and_wait(topic, "last", "k", 1, 1_700_000_000_000)
            assert (sent.topic, sent.partition, sent.timestamp) == (topic, 1, 1_700_000_000_000)
            assert sent.topic_partition == (topic, 1)
            assert sent.timestamp_type == 0
            futures.append(await producer.send(topic, value="more", key="k", headers=[("h", b"1")]))
        finally:
            await producer.stop()
        found = await received(kafka, topic, 102)
        for number, future in enumerate(futures[:100]):
            at = future.result()
            record = found[at.partition, at.offset]
            assert (record.key, record.value) == (b"k%d" % number, b"v%d" % number)
        assert found[1, sent.offset].value == b"last"
        at = futures[-1].result()
        assert [*found[at.partition, at.offset].headers] == [("h", b"1")]

    run(main())


@ASYNCIO
@pytest.mark.parametrize("make", [AIOKafkaProducer, AsyncProducer], ids=["aiokafka", "kcore"])
def test_batches_of_a_program_written_for_aiokafka(kafka, topic, make):
    async def main():
        producer = make(
            bootstrap_servers=kafka.bootstrap,
            max_batch_size=400,
            compression_type="gzip",
            value_serializer=str.encode,
        )
        await producer.start()
        batch, taken = producer.create_batch(), []
        time_ms = 1_700_000_000_000
        while (
            told := batch.append(timestamp=time_ms, key=b"k", value="v" * 20, headers=[("h", b"1")])
        ) is not None:
            taken.append((told.offset, told.crc, told.timestamp))
        assert taken == [(number, None, time_ms) for number in range(len(taken))]
        assert len(taken) > 5
        assert batch.record_count() == len(taken)
        assert batch.closed()
        assert batch.size() <= 400
        assert batch.append(timestamp=None, key=None, value="late") is None
        future = await producer.send_batch(batch, topic, partition=1)
        found = await future
        assert (found.topic, found.partition, found.offset) == (topic, 1, 0)
        another = producer.create_batch()
        another.append(timestamp=None, key=None, value="w")
        assert (await (await producer.send_batch(another, topic, partition=1))).offset == len(taken)
        await producer.stop()
        records = await received(kafka, topic, len(taken) + 1)
        assert [records[1, n].value for n in range(len(taken))] == [b"v" * 20] * len(taken)
        assert records[1, 0].timestamp == time_ms

    run(main())


@pytest.mark.slow
def test_the_only_broker_goes_and_comes_back(kafka, topic, request):
    request.addfinalizer(lambda: kafka.restart(0))  # whatever became of it

    async def main():
        async with AsyncProducer(bootstrap_servers=kafka.bootstrap) as producer:
            futures = [await producer.send(topic, b"%d" % n, partition=0) for n in range(100)]
            await producer.flush()
            await anyloop.to_thread(kafka.kill, 0)
            futures += [await producer.send(topic, b"%d" % n, partition=0) for n in range(100, 200)]
            await anyloop.sleep(0.5)
            assert not any(future.done() for future in futures[100:])
            await anyloop.to_thread(kafka.restart, 0)
            assert [(await future).offset for future in futures] == [*range(200)]
        found = await received(kafka, topic, 200)
        assert [found[at].value for at in sorted(found)] == [b"%d" % n for n in range(200)]

    run(main())
