"""What a record costs that is sent, of CPU and by the clock, beside confluent-kafka, kafka-python
and aiokafka.

`python -m bench.producer`: each contender sends the same records to an embedded broker, which is a
process of its own, so that the CPU time is the client's alone; rounds take turns. By the clock is
from the first `send` to the end of `flush`. The buffer has room for all of them: nobody waits.
`send_arrow` takes the same records as columns. Batches of one size are compared with each other,
16 KiB where nothing else is said: librdkafka's own 1 MB is a case for itself.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

RECORDS = 100_000
VALUE = bytes(100)
SMALL = 16_384  # bytes a batch: what ours, Java's and kafka-python's have unless told otherwise
LARGE = 131_072

Took = tuple[float, float]  # seconds of CPU, and by the clock


def timed(work: Callable[[], object]) -> Took:
    cpu, clock = time.process_time(), time.monotonic()
    work()
    return time.process_time() - cpu, time.monotonic() - clock


def send_all(
    send: Callable[[str, bytes], object], flush: Callable[[int], object], count: int
) -> None:
    for _ in range(count):
        send("bench", VALUE)
    flush(120)


def run_kcore(bootstrap: str, count: int, batch_size: int = SMALL) -> Took:
    from kcore import Producer

    producer = Producer(bootstrap_servers=bootstrap, buffer_memory=1 << 28, batch_size=batch_size)
    producer.send("bench", VALUE).get(30)
    took = timed(lambda: send_all(producer.send, producer.flush, count))
    producer.close()
    return took


def run_arrow(bootstrap: str, count: int, batch_size: int = SMALL) -> Took:
    import pyarrow as pa

    from kcore import Producer

    table = pa.table({"value": pa.array([VALUE] * count, pa.binary())})
    producer = Producer(bootstrap_servers=bootstrap, buffer_memory=1 << 28, batch_size=batch_size)
    producer.send("bench", VALUE).get(30)
    took = timed(lambda: producer.send_arrow(table, "bench").get(120))
    producer.close()
    return took


def run_confluent(bootstrap: str, count: int, batch_size: int = SMALL) -> Took:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 10_000_000,
            "linger.ms": 5,
            "batch.size": batch_size,
        }
    )
    producer.produce("bench", VALUE)
    producer.flush(30)
    return timed(lambda: send_all(producer.produce, producer.flush, count))


def run_kafka_python(bootstrap: str, count: int) -> Took:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)
    producer.send("bench", VALUE).get(30)
    took = timed(lambda: send_all(producer.send, producer.flush, count))
    producer.close()
    return took


async def send_all_async(producer: Any, count: int) -> Took:
    await producer.start()
    await producer.send_and_wait("bench", VALUE)
    cpu, clock = time.process_time(), time.monotonic()
    for _ in range(count):
        await producer.send("bench", VALUE)
    await producer.flush()
    took = time.process_time() - cpu, time.monotonic() - clock
    await producer.stop()
    return took


def run_kcore_async(bootstrap: str, count: int) -> Took:
    from kcore import AsyncProducer

    producer = AsyncProducer(bootstrap_servers=bootstrap, buffer_memory=1 << 28)
    return asyncio.run(send_all_async(producer, count))


def run_aiokafka(bootstrap: str, count: int) -> Took:
    async def work() -> Took:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
        return await send_all_async(producer, count)

    return asyncio.run(work())


CONTENDERS: dict[str, Callable[[str, int], Took]] = {
    "kcore": run_kcore,
    "kcore, 128 KiB": partial(run_kcore, batch_size=LARGE),
    "kcore send_arrow": run_arrow,
    "kcore send_arrow, 128 KiB": partial(run_arrow, batch_size=LARGE),
    "confluent-kafka": run_confluent,
    "confluent-kafka, 128 KiB": partial(run_confluent, batch_size=LARGE),
    "confluent-kafka, 1 MB": partial(run_confluent, batch_size=1_000_000),
    "kafka-python": run_kafka_python,
    "kcore AsyncProducer": run_kcore_async,
    "aiokafka": run_aiokafka,
}


def _alone(name: str, bootstrap: str, count: int, pipe: Any) -> None:
    pipe.send(CONTENDERS[name](bootstrap, count))


def _broker(pipe: Any) -> None:
    from kcore.embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        broker.create_topic("bench", 4)
        pipe.send(broker.bootstrap)
        pipe.recv()


def measure(count: int, rounds: int, names: list[str]) -> dict[str, list[Took]]:
    """What all took, by contender and round."""
    context = multiprocessing.get_context("spawn")
    found: dict[str, list[Took]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            here, there = context.Pipe()
            broker = context.Process(target=_broker, args=(there,))
            broker.start()
            bootstrap = here.recv()
            mine, theirs = context.Pipe()
            client = context.Process(target=_alone, args=(name, bootstrap, count, theirs))
            client.start()
            found[name].append(mine.recv())
            client.join()
            here.send(None)
            broker.join()
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*", default=[*CONTENDERS])
    given = parser.parse_args(arguments)
    for name, took in measure(given.records, given.rounds, given.names).items():
        cpu_us, clock_us = (
            [seconds / given.records * 1e6 for seconds in column]
            for column in zip(*took, strict=True)
        )
        print(
            f"{name:28} {statistics.median(cpu_us):7.2f} us of CPU a record, least "
            f"{min(cpu_us):.2f}; {statistics.median(clock_us):7.2f} by the clock"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
