"""`AsyncShareConsumer` against a real Kafka."""

import anyloop
import pytest

import kcore
from kcore import AcknowledgeType, errors

pytestmark = anyloop.EACH_LOOP


def run(coroutine):
    return anyloop.run(anyloop.wait_for(coroutine, 40))


@pytest.fixture
def topic(share_topic, kafka):
    share_topic(kafka, 300)


@pytest.fixture
def options(kafka, names):
    return {"bootstrap_servers": kafka.bootstrap, "group_id": names.group}


def test_implicitly_one_by_one_and_many_at_once(topic, options, names):
    async def main():
        async with kcore.AsyncShareConsumer(names.topic, **options) as consumer:
            first = [await consumer.getone() for _ in range(10)]
            assert await consumer.commit() == {kcore.TopicPartition(names.topic, 0): None}
            rest = []
            while len(rest) < 290:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    rest += records
            assert [int(record.value) for record in first + rest] == list(range(300))
            assert {record.delivery_count for record in first + rest} == {1}
            await consumer.getmany()

    run(main())


def test_explicitly_in_a_loop_that_somebody_ends(topic, options, names):
    async def main():
        mode = {"share_acknowledgement_mode": "explicit", "max_poll_records": 100}
        consumer = kcore.AsyncShareConsumer(names.topic, **options, **mode)
        seen = []
        async with consumer:
            async for record in consumer:
                odd = int(record.value) % 2
                again = record.delivery_count > 1
                kind = AcknowledgeType.RELEASE if odd and not again else AcknowledgeType.ACCEPT
                consumer.acknowledge(record, kind)
                seen.append((int(record.value), record.delivery_count))
                if len(seen) == 450:
                    anyloop.create_task(consumer.stop())
            with pytest.raises(errors.ConsumerStoppedError):
                await consumer.getone()
        assert sorted(seen) == sorted(
            [(number, 1) for number in range(300)] + [(number, 2) for number in range(1, 300, 2)]
        )

    run(main())


def test_what_a_cancelled_task_waited_for_comes_to_the_next(share_topic, kafka, options, names):
    share_topic(kafka, 0)

    async def main():
        async with kcore.AsyncShareConsumer(names.topic, **options) as consumer:
            waiting = anyloop.create_task(consumer.getone())
            await anyloop.sleep(0.5)
            with pytest.raises(errors.ConcurrentUseError):
                await consumer.getone()
            waiting.cancel()
            with pytest.raises(anyloop.CancelledError):
                await waiting
            async with kcore.AsyncProducer(bootstrap_servers=kafka.bootstrap) as producer:
                await producer.send_and_wait(names.topic, b"7")
            assert (await consumer.getone()).value == b"7"

    run(main())
