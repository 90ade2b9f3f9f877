"""A broker that stands still, and is put out by the others: who is at work there goes on elsewhere,
long before its requests have had their time (20 s here).
"""

import asyncio
import time

import pytest

import kcore
from kcore.embedded import EmbeddedBroker

OPTIONS = {"request_timeout_ms": 20_000, "retry_backoff_ms": 10, "reconnect_backoff_ms": 10}
LIMIT_S = 15  # of what takes 2 s, a tenth of that


@pytest.fixture
def cluster():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", 1, replication_factor=3)
        yield broker
        assert not broker.faults


def freeze(broker, node):
    broker.pause(node)
    broker.fence(node)


def leader(broker):
    return broker._cluster.topics.get("t").partitions[0].leader


def written(broker):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        part = kcore.TopicPartition("t", 0)
        consumer.assign([part])
        consumer.seek_to_beginning(part)
        return [record.value for record in consumer.read_until()]


def test_a_producer(cluster):
    options = OPTIONS | {"delivery_timeout_ms": 120_000}
    with kcore.Producer(bootstrap_servers=cluster.bootstrap, **options) as producer:
        producer.send("t", b"0").get(LIMIT_S)
        freeze(cluster, leader(cluster))
        sent = [producer.send("t", b"%d" % number) for number in range(1, 10)]
        assert [future.get(LIMIT_S).offset for future in sent] == [*range(1, 10)]
    assert written(cluster) == [b"%d" % number for number in range(10)]


def test_an_async_producer(cluster):
    async def main():
        options = OPTIONS | {"delivery_timeout_ms": 120_000}
        producer = kcore.AsyncProducer(bootstrap_servers=cluster.bootstrap, **options)
        async with producer:
            await producer.send_and_wait("t", b"0")
            freeze(cluster, leader(cluster))
            await asyncio.wait_for(producer.send_and_wait("t", b"1"), LIMIT_S)

    asyncio.run(main())
    assert written(cluster) == [b"0", b"1"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_whose_coordinator_it_is(cluster, protocol):
    told = []

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            told.append("assigned")

        def on_partitions_revoked(self, revoked):
            told.append("revoked")

    with kcore.Consumer(
        bootstrap_servers=cluster.bootstrap,
        group_id="g",
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **OPTIONS,
    ) as consumer:
        consumer.subscribe(["t"], listener=Listener())
        cluster.produce("t", [(None, b"0")])
        end = time.monotonic() + LIMIT_S
        while not consumer.poll(timeout_ms=100):
            assert time.monotonic() < end
        consumer.commit()
        freeze(cluster, cluster._cluster.coordinator_of("g"))
        cluster.produce("t", [(None, b"1")])
        while not consumer.poll(timeout_ms=100):
            assert time.monotonic() < end
        consumer.commit(timeout_ms=LIMIT_S * 1_000)
        assert cluster.committed_offsets("g", "t") == [2]
        assert told == ["assigned"]  # it was a member all the time
