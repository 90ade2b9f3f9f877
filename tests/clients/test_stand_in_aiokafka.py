"""What programs written for aiokafka go by, with aiokafka and with kcore under its names."""

import asyncio

import aiokafka
import aiokafka.admin
import aiokafka.errors
import aiokafka.structs
import pytest

from kcore import errors
from kcore.clients.stand_in import aiokafka_classes, aiokafka_names
from kcore.embedded import EmbeddedBroker

pytestmark = pytest.mark.parametrize(
    ("client", "errors_of"),
    [
        pytest.param(aiokafka, aiokafka.errors, id="aiokafka"),
        pytest.param(aiokafka_classes, errors, id="kcore"),
    ],
)


@pytest.fixture
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        yield running


@pytest.fixture
def where(broker):
    return {"bootstrap_servers": broker.bootstrap}


def structs_of(client):
    if client is aiokafka:
        return aiokafka.structs
    return type("Structs", (), aiokafka_names.MODULES["aiokafka.structs"])


def test_who_waits_for_many_when_it_stops_gets_none(client, errors_of, where):
    async def main():
        reader = client.AIOKafkaConsumer("t", **where)
        await reader.start()
        waiting = asyncio.create_task(reader.getmany(timeout_ms=30_000))
        await asyncio.sleep(0.1)
        await reader.stop()
        assert await waiting == {}
        with pytest.raises(errors_of.ConsumerStoppedError):
            await reader.getmany(timeout_ms=0)

    asyncio.run(main())


def test_who_waits_for_one_when_it_stops_is_told(client, errors_of, where):
    async def main():
        reader = client.AIOKafkaConsumer("t", **where)
        await reader.start()
        waiting = asyncio.create_task(reader.getone())
        await asyncio.sleep(0.1)
        await reader.stop()
        with pytest.raises(errors_of.ConsumerStoppedError):
            await waiting

    asyncio.run(main())


def test_offsets_are_pairs(client, errors_of, where):
    structs = structs_of(client)
    part, other = structs.TopicPartition("t", 0), structs.TopicPartition("t", 1)

    async def main():
        async with client.AIOKafkaProducer(**where) as producer:
            told = await producer.send_and_wait("t", b"v", partition=0, timestamp_ms=1_000)
        assert told.offset == 0
        async with client.AIOKafkaConsumer(group_id="g", enable_auto_commit=False, **where) as one:
            found = await one.offsets_for_times({part: 1, other: 1})
            offset, timestamp = found[part]
            assert (offset, timestamp, found[other]) == (0, 1_000, None)
            assert found[part] == structs.OffsetAndTimestamp(0, 1_000)
            one.assign([part, other])
            await one.commit({part: structs.OffsetAndMetadata(1, "here"), other: 0})
        admin = getattr(client, "AIOKafkaAdminClient", None) or client.admin.AIOKafkaAdminClient
        asked = admin(**where)
        await asked.start()
        try:
            held = await asked.list_consumer_group_offsets("g", partitions=[part, other])
        finally:
            await asked.close()
        assert held == {
            part: structs.OffsetAndMetadata(1, "here"),
            other: structs.OffsetAndMetadata(0, ""),
        }
        offset, metadata = held[part]
        assert (offset, metadata) == (1, "here")

    asyncio.run(main())


def test_errors_of_producers_have_their_names(client, errors_of, where):
    async def main():
        async with client.AIOKafkaProducer(max_request_size=1_000, **where) as plain:
            with pytest.raises(errors_of.MessageSizeTooLargeError):
                await plain.send("t", bytes(2_000))
            with pytest.raises(errors_of.IllegalOperation):
                await plain.begin_transaction()
            with pytest.raises(errors_of.IllegalOperation):
                async with plain.transaction():
                    pass
        async with client.AIOKafkaProducer(transactional_id="x", **where) as first:
            with pytest.raises(errors_of.IllegalOperation):
                await first.send("t", b"outside")
            async with client.AIOKafkaProducer(transactional_id="x", **where):
                pass
            with pytest.raises(errors_of.ProducerFenced):
                async with first.transaction():
                    await first.send_and_wait("t", b"late", partition=0)

    asyncio.run(main())
