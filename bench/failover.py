"""How long everything stands still when a broker goes, beside other clients.

`python -m bench.failover`, on a Kafka of three nodes of its own, each with Kafka's own times. All
contenders are at work at the same time, so that each mishap is the same for all; each is a process
of its own, with the defaults of its library (acks=all, from the earliest).

* written: the longest that one of 50 records a second took to be acknowledged, of a producer; and
  how many were given up.
* read: the longest that a record that was written already took to reach a member of a group; and
  how many had not come by the end.

Mishaps: the node that leads everything is killed and comes back; is shut down and comes back;
stands still for 45 s, its connections open, as a machine that hangs.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

READ = "read"
EVERY_S = 0.02
SETTLE_S = 12.0
NODE = 0  # leads everything, as the first of all replicas

# What Kafka has by default; clusters for tests are quicker.
SETTINGS = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}

now = time.monotonic  # the same clock in all processes


class Did(NamedTuple):
    """What one contender did: number (or offset) -> when."""

    begun: dict[int, float]
    done: dict[int, float]
    failed: dict[int, str]


class Mishap(NamedTuple):
    """What happens, and for how long."""

    name: str
    seconds: float
    begin: Callable[[Any], None]
    end: Callable[[Any], None]


MISHAPS = [
    Mishap("killed", 20, lambda kafka: kafka.kill(NODE), lambda kafka: kafka.restart(NODE)),
    Mishap("shut down", 20, lambda kafka: kafka.stop(NODE), lambda kafka: kafka.restart(NODE)),
    Mishap(
        "standing still",
        45,
        lambda kafka: kafka.nodes[NODE].pause(),
        lambda kafka: kafka.nodes[NODE].resume(),
    ),
]


# -- readers -----------------------------------------------------------------------------------


def read_as_kafka_python(make: Any, bootstrap: str, group: str, over: Event) -> Did:
    did = Did({}, {}, {})
    consumer = make(
        READ,
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        auto_offset_reset="earliest",
    )
    while not over.is_set():
        for records in consumer.poll(timeout_ms=200).values():
            for record in records:
                did.done.setdefault(record.offset, now())
    consumer.close()
    return did


def read_as_aiokafka(make: Any, bootstrap: str, group: str, over: Event) -> Did:
    did = Did({}, {}, {})

    async def main() -> None:
        consumer = make(
            READ, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest"
        )
        await consumer.start()
        while not over.is_set():
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    did.done.setdefault(record.offset, now())
        await consumer.stop()

    asyncio.run(main())
    return did


def read_as_confluent(_make: Any, bootstrap: str, group: str, over: Event) -> Did:
    from confluent_kafka import Consumer

    did = Did({}, {}, {})
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([READ])
    while not over.is_set():
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            did.done.setdefault(message.offset(), now())
    consumer.close()
    return did


# -- writers -----------------------------------------------------------------------------------


def paced(over: Event) -> Iterator[int]:
    """Numbers, one each EVERY_S."""
    number, due = 0, now()
    while not over.is_set():
        yield number
        number, due = number + 1, due + EVERY_S
        time.sleep(max(0.0, due - now()))


def write_as_kafka_python(make: Any, bootstrap: str, topic: str, over: Event) -> Did:
    did = Did({}, {}, {})
    producer = make(bootstrap_servers=bootstrap.split(","), acks="all")
    for number in paced(over):
        did.begun[number] = now()
        future = producer.send(topic, b"%d" % number)
        future.add_callback(lambda _, number=number: did.done.setdefault(number, now()))
        future.add_errback(lambda e, number=number: did.failed.setdefault(number, repr(e)))
    producer.flush(timeout=120)
    producer.close()
    return did


def write_as_aiokafka(make: Any, bootstrap: str, topic: str, over: Event) -> Did:
    did = Did({}, {}, {})

    async def send(producer: Any, number: int) -> None:
        did.begun[number] = now()
        try:
            await producer.send_and_wait(topic, b"%d" % number)
            did.done[number] = now()
        except Exception as error:  # noqa: BLE001 - they are counted
            did.failed[number] = repr(error)

    async def main() -> None:
        producer = make(bootstrap_servers=bootstrap, acks="all")
        await producer.start()
        number, due, tasks = 0, now(), set()
        while not over.is_set():
            task = asyncio.ensure_future(send(producer, number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number, due = number + 1, due + EVERY_S
            await asyncio.sleep(max(0.0, due - now()))
        if tasks:
            await asyncio.wait(tasks, timeout=120)
        await producer.stop()

    asyncio.run(main())
    return did


def write_as_confluent(_make: Any, bootstrap: str, topic: str, over: Event) -> Did:
    from confluent_kafka import Producer

    did = Did({}, {}, {})

    def told(error: Any, _message: Any, number: int) -> None:
        if error:
            did.failed[number] = repr(error)
        else:
            did.done[number] = now()

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    for number in paced(over):
        did.begun[number] = now()
        producer.produce(
            topic, b"%d" % number, callback=lambda e, m, number=number: told(e, m, number)
        )
        producer.poll(0)
    producer.flush(120)
    return did


Work = Callable[[Any, str, str, Event], Did]

# library -> how it reads and writes, and its module with its consumer and producer
CONTENDERS: dict[str, tuple[Work, Work, str, str, str]] = {
    "kcore": (read_as_kafka_python, write_as_kafka_python, "kcore", "Consumer", "Producer"),
    "kcore, asyncio": (
        read_as_aiokafka,
        write_as_aiokafka,
        "kcore",
        "AsyncConsumer",
        "AsyncProducer",
    ),
    "aiokafka": (
        read_as_aiokafka,
        write_as_aiokafka,
        "aiokafka",
        "AIOKafkaConsumer",
        "AIOKafkaProducer",
    ),
    "kafka-python": (
        read_as_kafka_python,
        write_as_kafka_python,
        "kafka",
        "KafkaConsumer",
        "KafkaProducer",
    ),
    "confluent-kafka": (
        read_as_confluent,
        write_as_confluent,
        "confluent_kafka",
        "Consumer",
        "Producer",
    ),
}


def topic_of(name: str) -> str:
    """What a contender writes to."""
    return "written-by-" + "".join(letter for letter in name if letter.isalpha())


def _alone(name: str, writes: bool, bootstrap: str, over: Event, pipe: Any) -> None:
    import importlib
    import logging

    logging.disable(logging.CRITICAL)
    read, write, module, consumer, producer = CONTENDERS[name]
    library = importlib.import_module(module)
    if writes:
        pipe.send(write(getattr(library, producer), bootstrap, topic_of(name), over))
    else:
        pipe.send(read(getattr(library, consumer), bootstrap, topic_of(name), over))


class Crowd:
    """All contenders at work; `feed` writes what is read."""

    def __init__(self, bootstrap: str, names: list[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._over = context.Event()
        self._pipes: dict[tuple[str, bool], Any] = {}
        self.fed: dict[int, float] = {}
        self._feeding = True
        self._feeder = threading.Thread(target=self._feed, args=(bootstrap,), daemon=True)
        self._feeder.start()
        for name in names:
            for writes in (False, True):
                here, there = context.Pipe()
                context.Process(
                    target=_alone,
                    args=(name, writes, bootstrap, self._over, there),
                    daemon=True,
                ).start()
                self._pipes[name, writes] = here

    def _feed(self, bootstrap: str) -> None:
        import kcore

        with kcore.Producer(bootstrap_servers=bootstrap) as producer:
            number, due = 0, now()
            while self._feeding:
                producer.send(READ, b"%d" % number).add_callback(
                    lambda written: self.fed.setdefault(written.offset, now())
                )
                number, due = number + 1, due + EVERY_S
                time.sleep(max(0.0, due - now()))

    def end(self) -> dict[tuple[str, bool], Did]:
        """What each did, by name and whether it wrote."""
        self._feeding = False
        self._feeder.join()
        time.sleep(SETTLE_S)
        self._over.set()
        return {key: pipe.recv() for key, pipe in self._pipes.items()}


def worst(did: Did, begun: dict[int, float], since: float, until: float) -> tuple[float, int]:
    """The longest of what came to its end between the two, and how many that were begun then never
    did.
    """
    took = [at - begun[number] for number, at in did.done.items() if since <= at < until]
    never = [at for number, at in begun.items() if since <= at < until and number not in did.done]
    return max(took, default=0.0), len(never)


Row = tuple[float, int, float, int]


def measure(cluster: Any, names: list[str], mishaps: list[Mishap]) -> dict[tuple[str, str], Row]:
    """By mishap and contender: written, given up, read, unread; the worst of all rounds."""
    import kcore

    with kcore.Admin(bootstrap_servers=cluster.bootstrap) as admin:
        replicas = [node.node_id for node in cluster.nodes]
        topics = [READ, *map(topic_of, names)]
        admin.create_topics({topic: {"assignments": {0: replicas}} for topic in topics})
        crowd = Crowd(cluster.bootstrap, names)
        time.sleep(SETTLE_S)
        times = []
        for mishap in mishaps:
            times.append(now())
            mishap.begin(cluster)
            time.sleep(mishap.seconds)
            mishap.end(cluster)
            time.sleep(SETTLE_S)
            admin.elect_leaders("preferred")
            time.sleep(SETTLE_S)
        times.append(now())
    found = crowd.end()
    rows: dict[tuple[str, str], Row] = {}
    for index, mishap in enumerate(mishaps):
        for name in names:
            since, until = times[index : index + 2]
            written, given_up = worst(found[name, True], found[name, True].begun, since, until)
            read, unread = worst(found[name, False], crowd.fed, since, until)
            before = rows.get((mishap.name, name), (0.0, 0, 0.0, 0))
            rows[mishap.name, name] = (
                max(written, before[0]),
                given_up + before[1],
                max(read, before[2]),
                unread + before[3],
            )
    return rows


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mishap", action="append", choices=[one.name for one in MISHAPS])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("names", nargs="*", default=[*CONTENDERS])
    given = parser.parse_args(arguments)
    sys.path.insert(0, str(Path(__file__).parent))
    from kcore.cli.demo.kafka_cluster import KafkaCluster

    mishaps = [one for one in MISHAPS if one.name in (given.mishap or [one.name])] * given.rounds
    with KafkaCluster(nodes=3, settings=SETTINGS, jvm="server") as cluster:
        print("the leader is      client             written, s  given up  read, s   unread")
        rows = measure(cluster, given.names, mishaps)
        for (what, name), (written, given_up, read, unread) in rows.items():
            print(f"{what:18} {name:18} {written:10.1f} {given_up:9} {read:8.2f} {unread:8}")


if __name__ == "__main__":
    main(sys.argv[1:])
