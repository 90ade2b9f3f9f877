"""How long somebody waits who asks for one thing at a time, beside other clients.

`python -m bench.waiting`, on a Kafka of its own; rounds take turns, each contender in a process.
All have their defaults, but that records go by themselves (confluent-kafka waits with `flush`).

* send: one record, until it is acknowledged.
* seek: a position anywhere in a log of 10,000 records of 100 B, until the first record is there.
* end: the end of the log, asked by a consumer that has read all there is.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

RECORDS = 10_000  # of the log
VALUE = bytes(100)
TOPIC = "waiting"
TIMES = 60

Took = list[float]  # ms
Found = dict[str, Took]


def each(call: Callable[[], object], before: Callable[[], object] = lambda: None) -> Took:
    """How long each of many calls takes; what comes before it does not count."""
    took = []
    for number in range(TIMES + 5):
        before()
        start = time.perf_counter()
        call()
        if number >= 5:  # the first find nothing prepared
            took.append((time.perf_counter() - start) * 1000)
    return took


async def each_awaited(call: Callable[[], Awaitable[object]]) -> Took:
    took = []
    for number in range(TIMES + 5):
        start = time.perf_counter()
        await call()
        if number >= 5:
            took.append((time.perf_counter() - start) * 1000)
    return took


def run_kcore(bootstrap: str) -> Found:
    import kcore

    return as_kafka_python(bootstrap, kcore.Producer, kcore.Consumer, kcore.TopicPartition)


def run_kafka_python(bootstrap: str) -> Found:
    import kafka

    producer, consumer = kafka.KafkaProducer, kafka.KafkaConsumer
    return as_kafka_python(bootstrap, producer, consumer, kafka.TopicPartition)


def as_kafka_python(bootstrap: str, make_producer: Any, make_consumer: Any, tp_of: Any) -> Found:
    producer = make_producer(bootstrap_servers=bootstrap)
    found = {"send": each(lambda: producer.send(TOPIC, VALUE).get(30))}
    producer.close()
    consumer = make_consumer(bootstrap_servers=bootstrap)
    tp = tp_of(TOPIC, 0)
    consumer.assign([tp])
    chance = random.Random(1)

    def seek() -> None:
        consumer.seek(tp, chance.randrange(RECORDS))
        while not consumer.poll(timeout_ms=1000):
            pass

    found["seek"] = each(seek)
    consumer.seek_to_end(tp)
    found["end"] = each(lambda: consumer.end_offsets([tp]), lambda: consumer.poll(timeout_ms=20))
    consumer.close()
    return found


def run_confluent(bootstrap: str) -> Found:
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})

    def send() -> None:
        producer.produce(TOPIC, VALUE)
        producer.flush()

    found = {"send": each(send)}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "waiting"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    while consumer.poll(1) is None:
        pass
    chance = random.Random(1)

    def seek() -> None:
        consumer.seek(TopicPartition(TOPIC, 0, chance.randrange(RECORDS)))
        while consumer.poll(1) is None:
            pass

    found["seek"] = each(seek)
    end = TopicPartition(TOPIC, 0)
    consumer.seek(TopicPartition(TOPIC, 0, consumer.get_watermark_offsets(end)[1]))
    found["end"] = each(
        lambda: consumer.get_watermark_offsets(end, timeout=30), lambda: consumer.poll(0.02)
    )
    consumer.close()
    return found


def run_kcore_async(bootstrap: str) -> Found:
    import kcore

    return asyncio.run(as_aiokafka(bootstrap, kcore.AsyncProducer))


def run_aiokafka(bootstrap: str) -> Found:
    import aiokafka

    return asyncio.run(as_aiokafka(bootstrap, aiokafka.AIOKafkaProducer, enable_idempotence=True))


async def as_aiokafka(bootstrap: str, make_producer: Any, **options: Any) -> Found:
    producer = make_producer(bootstrap_servers=bootstrap, **options)
    await producer.start()
    found = {"send": await each_awaited(lambda: producer.send_and_wait(TOPIC, VALUE))}
    await producer.stop()
    return found


CONTENDERS: dict[str, Callable[[str], Found]] = {
    "kcore": run_kcore,
    "confluent-kafka": run_confluent,
    "kafka-python": run_kafka_python,
    "kcore, asyncio": run_kcore_async,
    "aiokafka": run_aiokafka,
}


def _alone(name: str, bootstrap: str, pipe: Any) -> None:
    pipe.send(CONTENDERS[name](bootstrap))


def fill(bootstrap: str) -> None:
    """The topic, with what positions are set to."""
    import kcore

    with kcore.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([TOPIC])
    with kcore.Producer(bootstrap_servers=bootstrap) as producer:
        for _ in range(RECORDS):
            producer.send(TOPIC, VALUE)


def measure(bootstrap: str, rounds: int, names: list[str]) -> dict[str, Found]:
    """What all took, by contender and kind, all rounds together."""
    context = multiprocessing.get_context("spawn")
    found: dict[str, Found] = {name: {} for name in names}
    for _ in range(rounds):
        for name in names:
            here, there = context.Pipe()
            client = context.Process(target=_alone, args=(name, bootstrap, there))
            client.start()
            for kind, took in here.recv().items():
                found[name].setdefault(kind, []).extend(took)
            client.join()
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*", default=[*CONTENDERS])
    given = parser.parse_args(arguments)
    sys.path.insert(0, str(Path(__file__).parent))
    from rounds import kafka

    with kafka(given.bootstrap) as bootstrap:
        fill(bootstrap)
        for name, kinds in measure(bootstrap, given.rounds, given.names).items():
            for kind, took in kinds.items():
                late = statistics.quantiles(took, n=100)[98]
                print(f"{name:16} {kind:5} {statistics.median(took):7.2f} ms, 99 % in {late:7.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
