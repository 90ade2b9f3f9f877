"""What a program asks before it reads does not wait behind a fetch that nobody wanted yet: a broker
answers the requests of a connection one after the other, and keeps a fetch at the end of a log for
`fetch_max_wait_ms`.
"""

import asyncio

import pytest

import kcore
from kcore.embedded import EmbeddedBroker

PARTITIONS = [kcore.TopicPartition("orders", number) for number in range(2)]
# Who has to wait for a fetch that is kept gets no answer in time.
OPTIONS = {"fetch_max_wait_ms": 20_000, "default_api_timeout_ms": 5_000}


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("orders", 2)
        broker.produce("orders", [(None, b"%d" % number) for number in range(20)])
        yield broker
        assert not broker.faults


def test_the_last_records_of_each_partition(broker):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, **OPTIONS) as consumer:
        consumer.assign(PARTITIONS)
        ends = consumer.end_offsets(PARTITIONS)
        assert consumer.position(PARTITIONS[0]) == 10
        begins = consumer.beginning_offsets(PARTITIONS)
        assert set(begins.values()) == {0}
        for tp in PARTITIONS:
            consumer.seek(tp, ends[tp] - 2)
        assert len(list(consumer.read_until(ends))) == 4


def test_the_same_on_a_loop(broker):
    async def main():
        where = broker.bootstrap
        async with kcore.AsyncConsumer(bootstrap_servers=where, **OPTIONS) as consumer:
            consumer.assign(PARTITIONS)
            ends = await consumer.end_offsets(PARTITIONS)
            assert await consumer.position(PARTITIONS[0]) == 10
            assert set((await consumer.beginning_offsets(PARTITIONS)).values()) == {0}
            for tp in PARTITIONS:
                consumer.seek(tp, ends[tp] - 2)
            assert len([record async for record in consumer.read_until(ends)]) == 4
            return await consumer.getmany(timeout_ms=0)

    assert asyncio.run(main()) == {}


def test_a_listener_that_asks(broker):
    """Of a group: what is assigned is not read before the listener was told of it."""

    class Last(kcore.ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            pass

        def on_partitions_assigned(self, assigned):
            consumer.beginning_offsets(assigned)
            for tp, end in consumer.end_offsets(assigned).items():
                consumer.seek(tp, end - 1)

    with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="g", **OPTIONS) as consumer:
        consumer.subscribe(["orders"], listener=Last())
        seen = []
        while len(seen) < 2:
            found = consumer.poll(timeout_ms=5_000)
            assert found
            seen += [record.value for records in found.values() for record in records]
    assert sorted(seen) == [b"18", b"19"]


def test_where_it_stands_is_told_as_before(broker):
    """Somebody who waits for a position hears what is in the way of it."""
    broker.cut("ListOffsets", times=100)
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, default_api_timeout_ms=300) as consumer:
        consumer.assign(PARTITIONS)
        with pytest.raises(kcore.errors.KafkaTimeoutError, match="looking up the latest offset"):
            consumer.position(PARTITIONS[0])
