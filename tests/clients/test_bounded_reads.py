"""Reads that end where a log ends, and memory that ends where the budget does (PAINS 2 and 13)."""

import subprocess
import sys
import time

import pytest
from async_consumers import consumer as async_consumer
from async_consumers import run
from confluent_kafka import Producer

from kcore import Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker

T0 = TopicPartition("t", 0)
LIMIT_S = 10
MIB = 1 << 20


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ends_in_markers(broker):
    """Topic t: two committed records, the marker, three aborted ones, their marker."""
    broker.create_topic("t", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "x"})
    producer.init_transactions(LIMIT_S)
    for count, end in ((2, producer.commit_transaction), (3, producer.abort_transaction)):
        producer.begin_transaction()
        for number in range(count):
            producer.produce("t", b"%d" % number)
        producer.flush(LIMIT_S)
        end()
    return broker


def options(broker, isolation):
    return {
        "bootstrap_servers": broker.bootstrap,
        "auto_offset_reset": "earliest",
        "isolation_level": isolation,
        "fetch_max_wait_ms": 20,
    }


def polling(consumer):
    return [record for found in consumer.poll(timeout_ms=50).values() for record in found]


def iterating(consumer):
    return list(consumer)


def in_columns(consumer):
    return [None] * len(consumer.poll_arrow(timeout_ms=50))


ISOLATION = pytest.mark.parametrize(
    ("isolation", "count"), [("read_committed", 2), ("read_uncommitted", 5)]
)


@ISOLATION
@pytest.mark.parametrize("read", [polling, iterating, in_columns])
def test_the_position_comes_to_the_end_though_no_record_is_there(
    ends_in_markers, read, isolation, count
):
    given = options(ends_in_markers, isolation)
    with Consumer(**given, consumer_timeout_ms=50) as consumer:
        consumer.assign([T0])
        (end,) = consumer.end_offsets([T0]).values()
        assert end == 7
        seen, until = [], time.monotonic() + LIMIT_S
        while consumer.position(T0) < end and time.monotonic() < until:
            seen += read(consumer)
        assert (consumer.position(T0), len(seen)) == (end, count)


@ISOLATION
def test_so_it_does_in_an_event_loop(ends_in_markers, isolation, count):
    async def main():
        async with async_consumer(ends_in_markers, isolation_level=isolation) as consumer:
            consumer.assign([T0])
            seen = 0
            while await consumer.position(T0) < 7:
                found = await consumer.getmany(timeout_ms=50)
                seen += sum(map(len, found.values()))
            assert seen == count

    run(main())


# Memory -------------------------------------------------------------------------------------------

SLOW_READER = """
import re, sys, time
from kcore import Consumer

def resident():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) * 1024

with Consumer(
    "small", bootstrap_servers=sys.argv[1], auto_offset_reset="earliest",
    max_buffered_bytes=int(sys.argv[2]), fetch_max_wait_ms=20, consumer_timeout_ms=5_000,
) as consumer:
    next(consumer)  # all that reading needs is loaded
    before = resident()
    consumer.unsubscribe()
    consumer.subscribe(["backlog"])
    for _ in range(100):
        assert consumer.poll(timeout_ms=5_000, max_records=1)
        time.sleep(0.005)  # so that each poll finds what has come
    print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for the peak")
def test_a_slow_reader_of_a_large_backlog_stays_within_its_budget(broker):
    partitions, each, size = 100, 4, 100 * 1024
    broker.create_topic("small", 1)
    broker.produce("small", [(None, b"x")])
    broker.create_topic("backlog", partitions)
    for number in range(partitions):
        broker.produce("backlog", [(None, bytes(size))] * each, partition=number)
    budget, answer, rest = 2 * MIB, 4 * MIB, 6 * MIB
    done = subprocess.run(
        [sys.executable, "-c", SLOW_READER, broker.bootstrap, str(budget)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert budget + answer + rest < partitions * each * size / 3
    assert int(done.stdout) < budget + answer + rest
