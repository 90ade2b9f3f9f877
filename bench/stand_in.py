"""CPU seconds a message of a program that is written for confluent-kafka: over confluent-kafka
itself, and over kcore in its place.

`python -m bench.stand_in`: each program is a process of its own, from its first client to its last
message; all its threads count. The broker is an embedded one in another process. They take turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
from collections.abc import Callable
from typing import Any

MESSAGES = 300_000
VALUE = bytes(100)
KEYS = [b"key-%d" % number for number in range(1_000)]
CONTENDERS = ("kcore", "confluent-kafka")


def consume(confluent: Any, bootstrap: str, count: int) -> None:
    """Lists of up to 500."""
    consumer = _consumer(confluent, bootstrap, "consume")
    got = 0
    while got < count:
        for message in consumer.consume(500, 1):
            if message.error() is None:
                message.value()
                got += 1
    consumer.close()


def poll(confluent: Any, bootstrap: str, count: int) -> None:
    """One a call."""
    consumer = _consumer(confluent, bootstrap, "poll")
    got = 0
    while got < count:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            message.value()
            got += 1
    consumer.close()


def produce(confluent: Any, bootstrap: str, count: int) -> None:
    """Each with a callback."""
    producer = confluent.Producer({"bootstrap.servers": bootstrap})
    delivered = 0

    def on_delivery(error: object, _message: object) -> None:
        nonlocal delivered
        assert error is None
        delivered += 1

    for number in range(count):
        while True:
            try:
                producer.produce("out", VALUE, KEYS[number % 1_000], on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.1)
        if not number % 1_000:
            producer.poll(0)
    producer.flush()
    assert delivered == count


PROGRAMS: dict[str, Callable[[Any, str, int], None]] = {
    "consume(500)": consume,
    "poll()": poll,
    "produce()": produce,
}


def _consumer(confluent: Any, bootstrap: str, group: str) -> Any:
    consumer = confluent.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["in"])
    return consumer


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _alone(contender: str, program: str, bootstrap: str, count: int, pipe: Any) -> None:
    if contender == "kcore":
        from kcore import install_as_confluent_kafka

        install_as_confluent_kafka()
    import confluent_kafka

    begin = _cpu()
    PROGRAMS[program](confluent_kafka, bootstrap, count)
    pipe.send(_cpu() - begin)


def _broker(count: int, pipe: Any) -> None:
    from kcore import Producer
    from kcore.embedded import EmbeddedBroker

    with EmbeddedBroker() as broker:
        broker.create_topic("in", 1)
        broker.create_topic("out", 4)
        with Producer(bootstrap_servers=broker.bootstrap, batch_size=131_072) as producer:
            for number in range(count):
                producer.send("in", VALUE, KEYS[number % 1_000])
        pipe.send(broker.bootstrap)
        pipe.recv()


def measure(count: int, rounds: int) -> dict[tuple[str, str], list[float]]:
    """Microseconds of CPU a message by program and contender, a round each."""
    context = multiprocessing.get_context("spawn")
    found: dict[tuple[str, str], list[float]] = {
        (program, contender): [] for program in PROGRAMS for contender in CONTENDERS
    }
    for _ in range(rounds):
        for (program, contender), times in found.items():
            here, there = context.Pipe()
            broker = context.Process(target=_broker, args=(count, there))
            broker.start()
            mine, theirs = context.Pipe()
            told = (contender, program, here.recv(), count, theirs)
            client = context.Process(target=_alone, args=told)
            client.start()
            times.append(mine.recv() / count * 1e6)
            client.join()
            here.send(None)
            broker.join()
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    for (program, contender), times in measure(given.messages, given.rounds).items():
        told = ", ".join(f"{one:.2f}" for one in sorted(times))
        print(f"{program:14} {contender:16} {statistics.median(times):6.2f} us of CPU ({told})")


if __name__ == "__main__":
    main(sys.argv[1:])
