"""AsyncProducer on embedded brokers: what users call, batches, room, cancellation, mishaps."""

import asyncio
import random
from enum import Enum

import anyloop
import pytest
from aiokafka.partitioner import DefaultPartitioner
from anyloop import ASYNCIO, EACH_LOOP
from async_consumers import run, ticking
from async_producers import producer as make
from async_producers import read, topic_of
from leftovers import COLLECTED

from kcore import AsyncProducer, TopicPartition
from kcore.clients import turns
from kcore.clients.turns import RECORDS_PER_TURN
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    IllegalArgumentError,
    InvalidTopicError,
    KafkaConfigurationError,
    KafkaTimeoutError,
    RecordTooLargeError,
)
from kcore.produce.accumulator import BATCH_OVERHEAD
from kcore.producer import config
from kcore.transports.trio_loop import TrioFuture

pytestmark = [COLLECTED, EACH_LOOP]


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        embedded.create_topic("t", 1)
        embedded.create_topic("many", 3)
        yield embedded
        assert embedded.faults == []


@pytest.fixture
def topic(broker, request):
    return topic_of(broker, request)


def requests(producer):
    return producer.metrics()["producer-metrics"]["request-total"]


async def settled(done):
    while not done():
        await anyloop.sleep(0.005)


# Calls --------------------------------------------------------------------------------------------


class Topics(str, Enum):  # noqa: UP042 - as many write it
    KINDS = "kinds"


def test_a_topic_of_some_kind_of_text_is_told_as_text(broker):
    async def main():
        async with make(broker) as producer:
            for topic in (Topics.KINDS, Topics.KINDS, "kinds"):
                found = await producer.send_and_wait(topic, b"v")
                assert (type(found.topic), found.topic) == (str, "kinds")

    broker.create_topic("kinds", 1)
    run(main())


def test_a_record_is_sent_and_read(broker, topic, each_loop):
    async def main():
        async with make(broker) as producer:
            future = await producer.send(
                topic, b"v", key=b"k", headers=[("h", b"1")], timestamp_ms=1234
            )
            assert isinstance(future, asyncio.Future if each_loop != "trio" else TrioFuture)
            found = await future
            tp = TopicPartition(topic, 0)
            assert found == (topic, 0, tp, 0, 1234, 0, 0)
            assert found.topic_partition == tp
            assert (found.timestamp_type, found.log_start_offset) == (0, 0)
            # aiokafka's order of arguments
            found = await producer.send_and_wait(topic, b"w", b"k", 0, 5678, [("h", b"2")])
            assert (found.offset, found.timestamp) == (1, 5678)
            assert await producer.partitions_for("many") == {0, 1, 2}
            assert producer.bootstrap_connected()
        records = (await read(broker, topic))[0]
        assert [(one.key, one.value, one.timestamp) for one in records] == [
            (b"k", b"v", 1234),
            (b"k", b"w", 5678),
        ]
        assert [[*one.headers] for one in records] == [[("h", b"1")], [("h", b"2")]]

    run(main())


def test_what_is_waited_for_does_not_linger(broker, topic, monkeypatch):
    monkeypatch.setattr(config, "LINGER_MS", 60_000)  # who waited for that would fail

    async def main():
        async with make(broker, linger_ms=None, delivery_timeout_ms=120_000) as producer:
            other = await producer.send("many", b"v", partition=1)
            for offset in (1, 3):
                first = await producer.send(topic, b"v")
                await producer.send("many", b"v", partition=1)  # batches of both are there already
                sent = await anyloop.wait_for(producer.send_and_wait(topic, b"w"), 20)
                assert sent.offset == offset
                assert first.done()
            assert not other.done()
            await producer.flush()

    run(main())


def test_a_send_that_others_have_wrapped_may_take_its_time(broker, topic):
    """Who traces it may await something behind it; by then the record may be delivered."""

    class Traced(AsyncProducer):
        async def send(self, *args, **kwargs):
            future = await super().send(*args, **kwargs)
            await self.flush()
            return future

    async def main():
        async with Traced(bootstrap_servers=broker.bootstrap) as producer:
            assert (await producer.send_and_wait(topic, b"v")).offset == 0

    run(main())


def test_metadata_says_what_the_broker_does_not():
    async def main(broker):
        async with make(broker, acks=0) as producer:
            found = await producer.send_and_wait("t", b"v")
            assert (found.offset, found.log_start_offset) == (-1, -1)

    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        run(main(broker))


def test_the_time_of_the_append(broker):
    broker.create_topic("appended", settings={"message.timestamp.type": "LogAppendTime"})

    async def main():
        async with make(broker) as producer:
            found = await producer.send_and_wait("appended", b"v", timestamp_ms=1234)
            assert found.timestamp_type == 1
            assert found.timestamp > 1_600_000_000_000

    run(main())


@pytest.mark.parametrize(
    ("given", "kind", "why"),
    [
        ({"topic": None, "value": b""}, TypeError, "topic"),
        ({"topic": "a/b", "value": b""}, InvalidTopicError, "a/b"),
        ({"topic": "t", "value": "text"}, TypeError, "value_serializer"),
        ({"topic": "t", "key": 5}, TypeError, "key_serializer"),
        ({"topic": "t", "headers": [("a", "text")]}, TypeError, "bytes"),
        ({"topic": "t", "timestamp_ms": -1}, IllegalArgumentError, "negative"),
        ({"topic": "t", "partition": "1"}, TypeError, "partition"),
        ({"topic": "many", "partition": 3}, IllegalArgumentError, "it has 3"),
        ({"topic": "t", "value": bytes(2_000)}, RecordTooLargeError, "max_request_size=1000"),
        ({"topic": "nowhere"}, KafkaTimeoutError, "nowhere is not known within max_block_ms=1000"),
    ],
    ids=lambda value: "" if isinstance(value, type | str) else "-".join(map(str, value))[:40],
)
def test_what_cannot_be_sent_is_refused_and_leaves_nothing(broker, given, kind, why):
    async def main():
        options = {"max_request_size": 1_000, "max_block_ms": 1_000}
        before = broker.end_offsets("t"), broker.end_offsets("many")
        async with make(broker, allow_auto_create_topics=False, **options) as producer:
            with pytest.raises(kind, match=why):
                await producer.send(**given)
            await producer.flush()
            assert (broker.end_offsets("t"), broker.end_offsets("many")) == before
            await producer.send_and_wait("t", b"v")  # and nothing is spoilt

    run(main())


def test_a_topic_that_is_made_meanwhile(broker):
    async def main():
        async with make(broker, allow_auto_create_topics=False) as producer:
            sending = anyloop.create_task(producer.send_and_wait("made-later", b"v"))
            asking = anyloop.create_task(producer.partitions_for("made-later"))
            await anyloop.sleep(0.3)
            assert not sending.done()
            await anyloop.to_thread(broker.create_topic, "made-later", 2)
            assert (await sending).offset == 0
            assert await asking == {0, 1}

    run(main())


def test_serializers_and_partitioners(broker, topic):
    class Shout:
        closed = 0

        def serialize(self, topic, headers, data):
            return f"{topic}:{data}".upper().encode()

        def close(self):
            self.closed += 1

    shout = Shout()
    asked = []

    def last(key, partitions, available):
        asked.append((key, partitions, sorted(available)))
        return partitions[-1]

    async def main():
        async with make(broker, key_serializer=str.encode, value_serializer=shout) as producer:
            await producer.send_and_wait(topic, "v", "k")
            await producer.stop()
        record = (await read(broker, topic))[0][0]
        assert (record.key, record.value) == (b"k", f"{topic}:v".upper().encode())
        assert shout.closed == 1
        async with make(broker, partitioner=last) as producer:
            assert (await producer.send_and_wait("many", b"v", b"k")).partition == 2
            assert (await producer.send_and_wait("many", b"v", b"k", partition=1)).partition == 1
        assert asked == [(b"k", [0, 1, 2], [0, 1, 2])]
        async with make(broker, partitioner=DefaultPartitioner()) as theirs, make(broker) as ours:
            for number in range(20):
                key = b"%d" % number
                pair = [await one.send_and_wait("many", b"v", key) for one in (theirs, ours)]
                assert pair[0].partition == pair[1].partition
        async with make(broker, partitioner=lambda *_: 9) as producer:
            with pytest.raises(ValueError, match="the partitioner chose 9"):
                await producer.send("many", b"v")

    run(main())


def test_options(broker):
    for wrong in (
        {"transport": "selectors"},
        {"batch_size": 1, "max_batch_size": 1},
        {"max_batch_sise": 1},
        {"transactional_id": "x", "acks": 1},
    ):
        with pytest.raises(KafkaConfigurationError):
            make(broker, **wrong)
    producer = make(broker, max_batch_size=1_000, api_version="auto")
    assert producer.config["batch_size"] == 1_000


# Batches ------------------------------------------------------------------------------------------


def test_what_is_sent_in_one_turn_of_the_loop_goes_together(broker, topic, each_loop, monkeypatch):
    monkeypatch.setattr(turns, "TURN_MS", 60_000)  # a busy machine makes more turns of them

    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait(topic, b"first")
            before = requests(producer)
            futures = [await producer.send(topic, b"%d" % number) for number in range(100)]
            assert [(await future).offset for future in futures] == [*range(1, 101)]
            assert requests(producer) == before + 1
            found = await anyloop.gather(
                *(producer.send_and_wait(topic, b"%d" % number) for number in range(100))
            )
            assert sorted(one.offset for one in found) == [*range(101, 201)]
            # Trio shuffles the tasks of a turn, and the one that sends is among them.
            assert requests(producer) <= before + (2 if each_loop != "trio" else 20)

    run(main())


def test_a_batch_lingers(broker, topic):
    async def main():
        async with make(broker, linger_ms=200) as producer:
            await producer.send_and_wait(topic, b"first")
            before = requests(producer)
            futures = []
            for _ in range(10):
                futures.append(await producer.send(topic, b"v"))
                await anyloop.sleep(0.001)
            await anyloop.gather(*futures)
            assert requests(producer) == before + 1
        async with make(broker, linger_ms=60_000, delivery_timeout_ms=120_000) as producer:
            future = await producer.send(topic, b"v")
            await producer.flush()
            assert future.done()
            future = await producer.send(topic, b"v")
        assert future.result().offset == 12  # stop sends it, too

    run(main())


@ASYNCIO  # trio begins tasks in any order
def test_the_order_of_tasks_is_kept_while_they_wait_for_the_topic(broker, topic):
    async def main():
        async with make(broker) as producer:
            await anyloop.gather(*(producer.send(topic, b"%d" % number) for number in range(50)))
        records = (await read(broker, topic))[0]
        assert [record.value for record in records] == [b"%d" % number for number in range(50)]

    run(main())


def test_a_task_that_only_sends_lets_others_have_their_turn(broker, topic):
    count = 20 * RECORDS_PER_TURN

    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait(topic, b"first")
            async with ticking() as turns:
                await anyloop.sleep(0)
                before = turns[0]
                futures = [await producer.send(topic, b"v") for _ in range(count)]
                assert turns[0] - before >= 19
            await anyloop.gather(*futures)
            assert futures[-1].result().offset == count

    run(main())


# Room ---------------------------------------------------------------------------------------------


def test_memory_is_bounded_by_waiting(broker, topic):
    """Fifty tasks with more to send than there is room for: all of it arrives, in each one's order,
    and never is more held than `buffer_memory`.
    """
    limit, held = 20_000, []

    async def main():
        async with make(broker, buffer_memory=limit, batch_size=2_000) as producer:

            async def one(name):
                for number in range(40):
                    await producer.send(topic, b"%d %d" % (name, number) + bytes(200))
                    held.append(producer._core.held_bytes)

            await anyloop.gather(*(one(name) for name in range(50)))
        assert max(held) <= limit + BATCH_OVERHEAD  # of the batch that was opened last
        assert max(held) > limit // 2
        found = {name: [] for name in range(50)}
        for record in (await read(broker, topic))[0]:
            name, number = record.value.rstrip(b"\0").split()
            found[int(name)].append(int(number))
        assert found == {name: [*range(40)] for name in range(50)}

    run(main())


def test_who_waits_for_room_is_served_in_turn(broker, topic):
    """A large record is not overtaken for ever by small ones that come later."""

    async def main():
        async with make(broker, buffer_memory=4_000, batch_size=500) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 300, times=1)
            await producer.send(topic, bytes(3_000))
            order = []

            async def one(name, size):
                await producer.send(topic, bytes(size))
                order.append(name)

            tasks = []
            for given in [("large", 3_500), ("small", 10), ("large again", 3_500), ("last", 10)]:
                tasks.append(anyloop.create_task(one(*given)))
                await settled(lambda: producer._door.in_line == len(tasks))
            assert order == []
            await anyloop.gather(*tasks)
            assert order == ["large", "small", "large again", "last"]

    run(main())


def test_nobody_overtakes_by_a_batch_that_is_open(broker, topic):
    """Behind a request that is not answered a batch stays open, and has room of its own."""

    async def main():
        options = {"buffer_memory": 4_000, "batch_size": 2_000}
        async with make(broker, max_in_flight_requests_per_connection=1, **options) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 300, times=1)
            await producer.send(topic, bytes(1_500))
            await anyloop.sleep(0.02)
            await producer.send(topic, bytes(500))
            large = anyloop.create_task(producer.send(topic, bytes(3_000)))
            await settled(lambda: producer._door.in_line == 1)
            small = await anyloop.create_task(producer.send(topic, b"small"))
            assert large.done()
            assert (await small).offset > (await large.result()).offset

    run(main())


def test_a_full_buffer_times_out_and_goes_on(broker, topic):
    async def main():
        options = {"buffer_memory": 2_000, "max_block_ms": 300}
        async with make(broker, **options) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 1_500, times=1)
            futures = []

            async def fill():
                while True:
                    futures.append(await producer.send(topic, bytes(100)))

            with pytest.raises(KafkaTimeoutError, match="buffer_memory=2000"):
                await fill()
            assert len(futures) > 5
            await producer.flush()
            assert all(future.result().offset > 0 for future in futures)
            await producer.send_and_wait(topic, bytes(100))
            assert broker.end_offsets(topic) == [len(futures) + 2]

    run(main())


def test_each_wait_says_what_it_waited_for(broker, topic):
    """One for room, one for a topic, at the same time."""

    async def main():
        options = {"buffer_memory": 2_000, "allow_auto_create_topics": False}
        async with make(broker, max_block_ms=400, **options) as producer:
            await producer.send_and_wait(topic, b"first")
            waits = [anyloop.create_task(producer.send("nowhere", b"v"))]
            await anyloop.sleep(0.01)
            broker.delay("Produce", 1_500, times=1)
            await producer.send(topic, bytes(1_800))
            waits.append(anyloop.create_task(producer.send(topic, bytes(1_800))))
            waits.append(anyloop.create_task(producer.send(topic, bytes(1_800))))
            unknown, *full = await anyloop.gather(*waits, return_exceptions=True)
            assert "topic nowhere is not known" in str(unknown)
            assert ["buffer_memory=2000" in str(error) for error in full] == [True, True]

    run(main())


# Cancellation -------------------------------------------------------------------------------------


def test_a_send_that_is_cancelled_anywhere_has_taken_nothing(broker, topic):
    """After any number of turns, with room and without: what came back as a future is in the log,
    once, and nothing else.
    """

    async def main():
        chance, kept, cancelled = random.Random(5), [], 0
        async with make(broker, buffer_memory=1_000, batch_size=300) as producer:
            await producer.send_and_wait(topic, b"first")
            for number in range(400):
                if number % 50 == 0:
                    broker.delay("Produce", 20, times=1)
                task = anyloop.create_task(producer.send(topic, b"%d" % number + bytes(150)))
                for _ in range(chance.randrange(6)):
                    await anyloop.sleep(0)
                if chance.random() < 0.3:
                    await anyloop.sleep(0.004)
                task.cancel()
                await anyloop.wait([task])
                if task.cancelled():
                    cancelled += 1
                else:
                    kept.append((number, task.result()))
            await producer.flush()
        assert cancelled > 20
        assert len(kept) > 20
        records = (await read(broker, topic))[0][1:]
        assert [int(record.value.rstrip(b"\0")) for record in records] == [n for n, _ in kept]
        assert [future.result().offset for _, future in kept] == [*range(1, len(kept) + 1)]

    run(main())


def test_who_stands_in_line_and_is_cancelled_holds_up_nobody(broker, topic):
    async def main():
        async with make(broker, buffer_memory=2_000) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 200, times=1)
            await producer.send(topic, bytes(1_800))
            tasks = [anyloop.create_task(producer.send(topic, bytes(1_500))) for _ in range(6)]
            await settled(lambda: producer._door.in_line == 6)
            for task in (tasks[0], tasks[2], tasks[5]):
                task.cancel()
            await anyloop.wait(tasks)
            assert [task.cancelled() for task in tasks] == [True, False, True, False, False, True]
            assert producer._door.in_line == 0
            await producer.flush()
        assert broker.end_offsets(topic) == [5]

    run(main())


def test_a_future_that_is_cancelled_calls_nothing_back(broker, topic, each_loop):
    async def main():
        async with make(broker, linger_ms=50) as producer:
            futures = [await producer.send(topic, b"%d" % number) for number in range(3)]
            if each_loop != "trio":  # under trio nobody cancels futures
                futures[1].cancel()
            waiting = anyloop.create_task(producer.send_and_wait(topic, b"3"))
            await anyloop.sleep(0.01)
            waiting.cancel()
            await producer.flush()
            assert [futures[0].result().offset, futures[2].result().offset] == [0, 2]
            assert waiting.cancelled()
            assert (await producer.send_and_wait(topic, b"4")).offset == 4

    run(main())


def test_a_flush_that_is_cancelled_leaves_nothing(broker, topic):
    async def main():
        async with make(broker) as producer:
            await producer.send_and_wait(topic, b"first")
            broker.delay("Produce", 100, times=1)
            future = await producer.send(topic, b"v")
            with pytest.raises(TimeoutError):
                async with anyloop.timeout(0.02):
                    await producer.flush()
            assert (await future).offset == 1
            await producer.flush()
            courier = producer._courier
            assert (courier._results, courier._unwanted) == ({}, set())

    run(main())
