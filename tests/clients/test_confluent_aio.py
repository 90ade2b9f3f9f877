"""The clients of `confluent_kafka.aio`, the serializing ones too: programs over both libraries."""

import asyncio
import types

import confluent_kafka
import confluent_kafka.aio
import pytest
from support.confluent_aio import program

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

TopicPartition = MODULES["confluent_kafka"]["TopicPartition"]
AIO = {
    "ours": types.SimpleNamespace(**MODULES["confluent_kafka.aio"]),
    "theirs": confluent_kafka.aio,
}


@pytest.fixture(scope="module")
def where():
    with EmbeddedBroker() as broker:
        for name in AIO:
            broker.create_topic(name, 1)
        yield broker.bootstrap


def test_a_program_sees_the_same(where):
    found = {name: asyncio.run(program(aio, where, name)) for name, aio in AIO.items()}
    assert ("k", "good", 0) in found["ours"]
    assert found["ours"] == found["theirs"]


def test_tasks_that_others_cancel_are_not_missed(where):
    """Frameworks cancel all tasks that they find, behind a test for instance (aiokafka 1039)."""

    async def main():
        producer = AIO["ours"].AIOProducer({"bootstrap.servers": where, "linger.ms": 300})
        future = await producer.produce("ours", value=b"1")
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert tasks
        for task in tasks:
            task.cancel()
        await producer.close()
        return (await asyncio.wait_for(future, 5)).value()

    assert asyncio.run(main()) == b"1"


@pytest.mark.parametrize("verb", ["poll", "consume"])
def test_what_a_task_that_was_cancelled_would_have_got_is_for_the_next(verb):
    async def main(where):
        conf = {"bootstrap.servers": where, "group.id": "g", "auto.offset.reset": "earliest"}
        consumer = AIO["ours"].AIOConsumer(conf)
        producer = AIO["ours"].AIOProducer({"bootstrap.servers": where})
        await consumer.assign([TopicPartition("cancelled", 0, 0)])
        arguments = () if verb == "poll" else (2, 20)
        waiting = asyncio.create_task(getattr(consumer, verb)(*arguments))
        await asyncio.sleep(0.2)
        waiting.cancel()
        for number in range(3):
            await (await producer.produce("cancelled", str(number)))
        await asyncio.sleep(0.5)
        seen = [(await consumer.poll(20)).value() for _ in range(2)]
        await consumer.close()
        await producer.close()
        return seen

    with EmbeddedBroker() as broker:
        broker.create_topic("cancelled")
        assert asyncio.run(main(broker.bootstrap)) == [b"0", b"1"]
        assert broker.committed_offsets("g", "cancelled") == [2]


def test_polls_that_were_cancelled_leave_no_thread(where):
    async def main():
        consumer = AIO["ours"].AIOConsumer({"bootstrap.servers": where, "group.id": "g"}, 2)
        await consumer.assign([TopicPartition("ours", 0)])
        for _ in range(4):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(consumer.poll(), 0.05)
        places = await asyncio.wait_for(consumer.assignment(), 20)
        await consumer.close()
        return [place.topic for place in places]

    assert asyncio.run(main()) == ["ours"]
