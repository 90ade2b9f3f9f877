"""`AsyncShareConsumer` on the embedded broker: what it reads, accepts, gives back and keeps."""

import gc
import weakref

import anyloop
import pytest

import kcore
from kcore import AcknowledgeType, errors
from kcore.admin import ConfigResource
from kcore.embedded import EmbeddedBroker

pytestmark = anyloop.EACH_LOOP

T0 = kcore.TopicPartition("t", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@pytest.fixture
def broker():
    with EmbeddedBroker() as made:
        made.create_topic("t", 1)
        with kcore.Admin(bootstrap_servers=made.bootstrap) as admin:
            earliest = {"share.auto.offset.reset": "earliest"}
            admin.alter_configs([ConfigResource("group", "g", earliest)])
        yield made


@pytest.fixture
def fill(broker):
    written = []

    def write(count):
        values = [b"%d" % number for number in range(len(written), len(written) + count)]
        broker.produce("t", [(None, value) for value in values])
        written.extend(values)

    return write


@pytest.fixture
def options(broker):
    return {"bootstrap_servers": broker.bootstrap, "group_id": "g"}


def run(coroutine):
    return anyloop.run(anyloop.wait_for(coroutine, 30))


async def read(consumer, count):
    """(offset, delivery count) of so many records, in as many reads as it takes."""
    found = []
    while len(found) < count:
        for records in (await consumer.getmany(timeout_ms=500)).values():
            found += [(record.offset, record.delivery_count) for record in records]
    return found


def test_a_commit_within_a_loop_accepts_what_it_has_yielded(fill, options):
    fill(10)

    async def main():
        async with kcore.AsyncShareConsumer("t", **options) as consumer:
            first = [(await consumer.getone()).offset for _ in range(4)]
            assert await consumer.commit() == {T0: None}
            assert first == [0, 1, 2, 3]
            assert await read(consumer, 6) == [(at, 1) for at in range(4, 10)]
            assert await consumer.commit() == {T0: None}
        async with kcore.AsyncShareConsumer("t", **options) as other:
            fill(1)
            assert await read(other, 1) == [(10, 1)]

    run(main())


def test_stopping_behind_a_loop_releases_the_record_in_hand_and_the_rest(fill, options):
    fill(10)

    async def main():
        async with kcore.AsyncShareConsumer("t", **options) as consumer:
            async for record in consumer:
                if record.offset == 5:
                    break
        async with kcore.AsyncShareConsumer("t", **options) as other:
            assert await read(other, 5) == [(at, 2) for at in range(5, 10)]

    run(main())


def test_explicitly_what_is_released_comes_again(fill, options):
    fill(4)
    heard = []

    async def main():
        async with kcore.AsyncShareConsumer("t", **options, **EXPLICIT) as consumer:
            consumer.set_acknowledgement_commit_callback(lambda *said: heard.append(said))
            (records,) = (await consumer.getmany(timeout_ms=5_000)).values()
            for record in records[:3]:
                consumer.acknowledge(record)
            with pytest.raises(errors.IllegalStateError, match="1 records of the last poll"):
                await consumer.getmany()
            consumer.acknowledge(records[3], AcknowledgeType.RELEASE)
            again = await consumer.getone()
            assert (again.offset, again.delivery_count) == (3, 2)
            consumer.acknowledge(again)
            assert await consumer.commit() == {T0: None}

    run(main())
    assert heard == [({T0: {0, 1, 2, 3}}, None), ({T0: {3}}, None)]


def test_what_came_of_a_commit_is_told_though_nobody_calls(fill, options):
    fill(2)

    async def main():
        async with kcore.AsyncShareConsumer("t", **options) as consumer:
            told = anyloop.Event()
            consumer.set_acknowledgement_commit_callback(lambda *_: told.set())
            assert await read(consumer, 2)
            consumer.commit_async()
            await anyloop.wait_for(told.wait(), 5)

    run(main())



def test_what_was_handed_over_is_not_kept(fill, options):
    made = []

    class Value:
        pass

    def make(_data):
        value = Value()
        made.append(weakref.ref(value))
        return value

    async def main():
        async with kcore.AsyncShareConsumer("t", **options, value_deserializer=make) as consumer:
            for _ in range(5):
                fill(10)
                await read(consumer, 10)
            gc.collect()
            assert len(made) == 50
            assert sum(one() is not None for one in made) <= 10

    run(main())


def test_who_is_cancelled_has_taken_nothing_and_one_task_reads(fill, options):
    async def main():
        async with kcore.AsyncShareConsumer("t", **options) as consumer:
            waiting = anyloop.create_task(consumer.getone())
            while not consumer.assignment():
                await anyloop.sleep(0.01)
            with pytest.raises(errors.ConcurrentUseError):
                await consumer.getone()
            waiting.cancel()
            with pytest.raises(anyloop.CancelledError):
                await waiting
            fill(1)
            assert (await consumer.getone()).offset == 0

    run(main())


def test_a_task_that_waits_hears_that_it_was_stopped(options):
    async def main():
        consumer = kcore.AsyncShareConsumer("t", **options)
        await consumer.start()
        waiting = anyloop.create_task(consumer.getone())
        while not consumer.assignment():
            await anyloop.sleep(0.01)
        await consumer.stop()
        with pytest.raises(errors.ConsumerStoppedError):
            await waiting
        await consumer.stop()
        with pytest.raises(errors.ConsumerStoppedError):
            await consumer.commit()

    run(main())


def test_the_loop_is_its_transport():
    with pytest.raises(errors.KafkaConfigurationError, match="running event loop"):
        kcore.AsyncShareConsumer(group_id="g", transport="selectors")
    assert kcore.AsyncShareConsumer(group_id="g", transport=None).subscription() == set()
