"""CPU seconds a record of `send`, beside confluent-kafka and kafka-python.

`python -m bench.producer`: each contender sends the same records to an embedded broker, which is a
process of its own, so that the CPU time is the client's alone; rounds take turns. The buffer has
room for all of them: nobody waits. `send_arrow` takes the same records as columns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from typing import Any

RECORDS = 100_000
VALUE = bytes(100)


def run_kcore(bootstrap: str, count: int) -> float:
    from kcore import Producer

    producer = Producer(bootstrap_servers=bootstrap, buffer_memory=1 << 28)
    producer.send("bench", VALUE).get(30)
    begin = time.process_time()
    for _ in range(count):
        producer.send("bench", VALUE)
    producer.flush(120)
    took = time.process_time() - begin
    producer.close()
    return took


def run_arrow(bootstrap: str, count: int, batch_size: int = 16_384) -> float:
    import pyarrow as pa

    from kcore import Producer

    table = pa.table({"value": pa.array([VALUE] * count, pa.binary())})
    producer = Producer(bootstrap_servers=bootstrap, buffer_memory=1 << 28, batch_size=batch_size)
    producer.send("bench", VALUE).get(30)
    begin = time.process_time()
    producer.send_arrow(table, "bench").get(120)
    took = time.process_time() - begin
    producer.close()
    return took


def run_arrow_128k(bootstrap: str, count: int) -> float:
    return run_arrow(bootstrap, count, 131_072)


def run_confluent(bootstrap: str, count: int) -> float:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 10_000_000,
            "linger.ms": 5,
        }
    )
    producer.produce("bench", VALUE)
    producer.flush(30)
    begin = time.process_time()
    for _ in range(count):
        producer.produce("bench", VALUE)
    producer.flush(120)
    return time.process_time() - begin


def run_kafka_python(bootstrap: str, count: int) -> float:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)
    producer.send("bench", VALUE).get(30)
    begin = time.process_time()
    for _ in range(count):
        producer.send("bench", VALUE)
    producer.flush(120)
    took = time.process_time() - begin
    producer.close()
    return took


CONTENDERS = {
    "kcore": run_kcore,
    "kcore send_arrow, 16 KiB": run_arrow,
    "kcore send_arrow, 128 KiB": run_arrow_128k,
    "confluent-kafka": run_confluent,
    "kafka-python": run_kafka_python,
}


def _alone(name: str, bootstrap: str, count: int, pipe: Any) -> None:
    pipe.send(CONTENDERS[name](bootstrap, count))


def _broker(pipe: Any) -> None:
    from kcore.embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        broker.create_topic("bench", 4)
        pipe.send(broker.bootstrap)
        pipe.recv()


def measure(count: int, rounds: int, names: list[str]) -> dict[str, list[float]]:
    """Microseconds of CPU a record, by contender and round."""
    context = multiprocessing.get_context("spawn")
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            here, there = context.Pipe()
            broker = context.Process(target=_broker, args=(there,))
            broker.start()
            bootstrap = here.recv()
            mine, theirs = context.Pipe()
            client = context.Process(target=_alone, args=(name, bootstrap, count, theirs))
            client.start()
            found[name].append(mine.recv() / count * 1e6)
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
    for name, times in measure(given.records, given.rounds, given.names).items():
        print(
            f"{name:28} {statistics.median(times):7.2f} us of CPU a record, least {min(times):.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
