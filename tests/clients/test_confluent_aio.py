"""The clients of `confluent_kafka.aio`, the serializing ones too: programs over both libraries."""

import asyncio
import types

import confluent_kafka
import confluent_kafka.aio
import pytest
from support.confluent_aio import program

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

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
