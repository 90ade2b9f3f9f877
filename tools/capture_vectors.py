"""Write tests/records/vectors/captured.json: what a real broker sends, and what others read in it.

    python tools/capture_vectors.py [--output FILE]

A Kafka is started, three clients write to it (kafka-python, aiokafka, librdkafka): every codec,
with idempotence, in transactions; topics with log-append time, after compaction, over two leader
epochs. Each partition is fetched by a request made by hand, whose whole answer is kept, and read by
a client that is not the one that wrote it: these records are what the tests expect. Brokers of
today neither take nor give message sets (v0, v1), so those come from the clients' own encoders.
Nothing of kcore's codec or reader has a part in it.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import itertools
import json
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioBuilder
from aiokafka.record.memory_records import MemoryRecords as AioRecords
from kafka.record import MemoryRecords as PythonRecords
from kafka.record.legacy_records import LegacyRecordBatchBuilder as PythonBuilder

from kcore.cli.demo.java import find_installation
from kcore.cli.demo.kafka_cluster import KafkaCluster

OUTPUT = Path(__file__).resolve().parent.parent / "tests/records/vectors/captured.json"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIME = 1_700_000_000_000
FETCH_BYTES = 1 << 20
WAIT_S = 90.0
# The records are years old: they shall neither be deleted nor begin a segment each. The cleaner
# would look every 15 s.
SETTINGS = {
    "log.retention.ms": "-1",
    "log.roll.ms": str(20 * 365 * 86_400_000),
    "log.cleaner.backoff.ms": "200",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "200",
}

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]

ROWS: list[Row] = [
    (None, b"only a value", [], TIME),
    (b"tombstone", None, [], TIME + 1),
    (b"", b"", [], TIME + 2),
    (b"k", b"v", [("h", b"1"), ("h", b"2"), ("empty", b"")], TIME + 1),
    ("clé".encode(), "valeur à lire".encode(), [("en-tête", b"\x00\xff")], TIME + 60_000),
    (b"long", b"ab" * 150, [], TIME - 5),
    *[(b"k%d" % number, b"value %d" % number, [], TIME + number) for number in range(6)],
]


@dataclass
class Capture:
    """A partition to fetch, from `offset` on, and who reads it; committed: also as such."""

    name: str
    topic: str
    writer: str
    reader: str
    offset: int = 0
    committed: bool = False
    max_bytes: int = FETCH_BYTES


@dataclass
class Fetched:
    """An answer: the frame behind its length, where its records are, the aborted transactions."""

    frame: bytes
    start: int
    end: int
    aborted: list[tuple[int, int]] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        """The record bytes."""
        return self.frame[self.start : self.end]


# Fetching by hand ---------------------------------------------------------------------------------


def fetch(address: str, topic: str, offset: int, isolation: int, max_bytes: int) -> Fetched:
    """Fetch v4 of partition 0; RuntimeError if the broker answers with an error."""
    name = topic.encode()
    body = struct.pack(">iiiib", -1, 500, 1, max_bytes, isolation)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, 0, offset, max_bytes)
    head = struct.pack(">hhih", 1, 4, 7, 7) + b"capture"
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as link:
        link.sendall(struct.pack(">i", len(head + body)) + head + body)
        frame = receive(link, struct.unpack(">i", receive(link, 4))[0])
    # correlation id, throttle time, one topic, its name, one partition
    at = 4 + 4 + 4 + 2 + len(name) + 4
    _, error, _, _, count = struct.unpack_from(">ihqqi", frame, at)
    if error:
        raise RuntimeError(f"fetching {topic}: error {error}")
    at += 26
    aborted = [struct.unpack_from(">qq", frame, at + 16 * one) for one in range(max(count, 0))]
    at += 16 * len(aborted)
    (size,) = struct.unpack_from(">i", frame, at)
    return Fetched(frame, at + 4, at + 4 + size, aborted)


def receive(link: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes."""
    data = b""
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise ConnectionError("the broker closed the connection")
        data += more
    return data


def heads(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(base offset, last offset delta, record count) of each complete v2 batch."""
    at = 0
    while len(data) - at >= 61:
        base, length = struct.unpack_from(">qi", data, at)
        if length + 12 > len(data) - at:
            return
        yield (
            base,
            *struct.unpack_from(">i", data, at + 23),
            *struct.unpack_from(">i", data, at + 57),
        )
        at += length + 12


# Writing ------------------------------------------------------------------------------------------


def confluent_options(bootstrap: str, codec: str, **options: Any) -> dict[str, Any]:
    """Of a producer that puts everything up to a flush into one batch."""
    base = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 300}
    return base | {"log_level": 0} | options


def confluent_send(producer: Any, topic: str, rows: list[Row]) -> None:
    for key, value, headers, at in rows:
        producer.produce(topic, value, key, partition=0, headers=headers or None, timestamp=at)
    if producer.flush(30):
        raise RuntimeError("librdkafka could not deliver")


def write_confluent(
    bootstrap: str, topic: str, codec: str, rows: list[Row], **options: Any
) -> None:
    """One batch by librdkafka."""
    producer = confluent_kafka.Producer(confluent_options(bootstrap, codec, **options))
    confluent_send(producer, topic, rows)


def python_producer(bootstrap: str, codec: str, **options: Any) -> Any:
    kind = None if codec == "none" else codec
    return kafka.KafkaProducer(
        bootstrap_servers=bootstrap, compression_type=kind, linger_ms=300, **options
    )


def python_send(producer: Any, topic: str, rows: list[Row]) -> None:
    sent = [
        producer.send(topic, value, key, partition=0, headers=headers, timestamp_ms=at)
        for key, value, headers, at in rows
    ]
    producer.flush(30)
    for one in sent:
        one.get(30)


def write_python(bootstrap: str, topic: str, codec: str, rows: list[Row], **options: Any) -> None:
    """One batch by kafka-python."""
    producer = python_producer(bootstrap, codec, **options)
    python_send(producer, topic, rows)
    producer.close()


def aio_producer(bootstrap: str, codec: str, **options: Any) -> Any:
    kind = None if codec == "none" else codec
    return aiokafka.AIOKafkaProducer(
        bootstrap_servers=bootstrap, compression_type=kind, linger_ms=300, **options
    )


async def aio_send(producer: Any, topic: str, rows: list[Row]) -> None:
    sent = [
        await producer.send(topic, value, key, partition=0, headers=headers, timestamp_ms=at)
        for key, value, headers, at in rows
    ]
    await asyncio.gather(*sent)


def write_aio(bootstrap: str, topic: str, codec: str, rows: list[Row], **options: Any) -> None:
    """One batch by aiokafka."""

    async def main() -> None:
        producer = aio_producer(bootstrap, codec, **options)
        await producer.start()
        await aio_send(producer, topic, rows)
        await producer.stop()

    asyncio.run(main())


WRITERS = {"confluent-kafka": write_confluent, "kafka-python": write_python, "aiokafka": write_aio}
IDEMPOTENT = {
    "confluent-kafka": {"enable.idempotence": True},
    "kafka-python": {"enable_idempotence": True},
    "aiokafka": {"enable_idempotence": True},
}
ENDS = "cacaa"  # of transactions: commit, abort, ...
# Who reads what the other has written.
OTHER = {
    "confluent-kafka": "aiokafka",
    "kafka-python": "confluent-kafka",
    "aiokafka": "kafka-python",
}


def transactions_confluent(bootstrap: str, topic: str, ends: str) -> None:
    """A transaction of two records for each letter: c ends in a commit, a in an abort."""
    options = confluent_options(bootstrap, "none", **{"transactional.id": f"id-{topic}"})
    producer = confluent_kafka.Producer(options)
    producer.init_transactions(30)
    for number, end in enumerate(ends):
        producer.begin_transaction()
        confluent_send(producer, topic, ROWS[2 * number : 2 * number + 2])
        (producer.commit_transaction if end == "c" else producer.abort_transaction)(30)


def transactions_python(bootstrap: str, topic: str, ends: str) -> None:
    """The same by kafka-python."""
    producer = python_producer(bootstrap, "none", transactional_id=f"id-{topic}")
    producer.init_transactions()
    for number, end in enumerate(ends):
        producer.begin_transaction()
        python_send(producer, topic, ROWS[2 * number : 2 * number + 2])
        (producer.commit_transaction if end == "c" else producer.abort_transaction)()
    producer.close()


def transactions_aio(bootstrap: str, topic: str, ends: str) -> None:
    """The same by aiokafka."""

    async def main() -> None:
        producer = aio_producer(bootstrap, "none", transactional_id=f"id-{topic}")
        await producer.start()
        for number, end in enumerate(ends):
            await producer.begin_transaction()
            await aio_send(producer, topic, ROWS[2 * number : 2 * number + 2])
            ended = producer.commit_transaction if end == "c" else producer.abort_transaction
            await ended()
        await producer.stop()

    asyncio.run(main())


TRANSACTIONS = {
    "confluent-kafka": transactions_confluent,
    "kafka-python": transactions_python,
    "aiokafka": transactions_aio,
}


# Reading by others --------------------------------------------------------------------------------

Read = tuple[int, int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def read_confluent(bootstrap: str, topic: str, offset: int, end: int, level: str) -> list[Read]:
    """(offset, timestamp, its type, key, value, headers) of what librdkafka reads below `end`."""
    options = {"bootstrap.servers": bootstrap, "group.id": "none", "isolation.level": level}
    options |= {"enable.partition.eof": True, "enable.auto.commit": False, "log_level": 0}
    consumer = confluent_kafka.Consumer(options)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, offset)])
    found: list[Read] = []
    while True:
        one = consumer.poll(30)
        if one is None or one.error() or one.offset() >= end:
            break
        kind, at = one.timestamp()  # 1 create time, 2 log append time
        found.append((one.offset(), at, kind - 1, one.key(), one.value(), one.headers() or []))
    consumer.close()
    return found


def read_python(bootstrap: str, topic: str, offset: int, end: int, level: str) -> list[Read]:
    """The same by kafka-python."""
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=level)
    tp = kafka.TopicPartition(topic, 0)
    consumer.assign([tp])
    consumer.seek(tp, offset)
    found: list[Read] = []
    while consumer.position(tp) < end:
        for one in consumer.poll(timeout_ms=1_000).get(tp, []):
            if one.offset < end:
                item = (one.offset, one.timestamp, one.timestamp_type, one.key, one.value)
                found.append((*item, list(one.headers)))
    consumer.close()
    return found


def read_aio(bootstrap: str, topic: str, offset: int, end: int, level: str) -> list[Read]:
    """The same by aiokafka."""

    async def main() -> list[Read]:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=level)
        await consumer.start()
        tp = aiokafka.TopicPartition(topic, 0)
        consumer.assign([tp])
        consumer.seek(tp, offset)
        found: list[Read] = []
        while await consumer.position(tp) < end:
            for one in (await consumer.getmany(tp, timeout_ms=1_000)).get(tp, []):
                if one.offset < end:
                    item = (one.offset, one.timestamp, one.timestamp_type, one.key, one.value)
                    found.append((*item, list(one.headers)))
        await consumer.stop()
        return found

    return asyncio.run(main())


READERS = {"confluent-kafka": read_confluent, "kafka-python": read_python, "aiokafka": read_aio}


# What is captured ---------------------------------------------------------------------------------


def one_batch_each(cluster: KafkaCluster) -> Iterator[Capture]:
    """Every client, every codec; idempotent; in transactions."""
    for writer, write in WRITERS.items():
        for codec in CODECS:
            topic = f"{writer}-{codec}"
            cluster.create_topic(topic)
            write(cluster.bootstrap, topic, codec, ROWS)
            yield Capture(topic, topic, writer, OTHER[writer])
        topic = f"{writer}-idempotent"
        cluster.create_topic(topic)
        write(cluster.bootstrap, topic, "lz4", ROWS, **IDEMPOTENT[writer])
        yield Capture(topic, topic, writer, OTHER[writer])
        topic = f"{writer}-transactions"
        cluster.create_topic(topic)
        TRANSACTIONS[writer](cluster.bootstrap, topic, ENDS)
        await_markers(cluster.bootstrap, topic)
        yield Capture(topic, topic, writer, OTHER[writer], committed=True)


def await_markers(address: str, topic: str) -> None:
    """Brokers write the markers after they have answered."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        found = list(heads(fetch(address, topic, 0, 1, FETCH_BYTES).data))
        if len(found) == 2 * len(ENDS):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{topic}: {found}")


def special(cluster: KafkaCluster) -> Iterator[Capture]:
    """What becomes of records in a log."""
    write = write_confluent
    cluster.create_topic("append-time", configs={"message.timestamp.type": "LogAppendTime"})
    for codec in ("none", "zstd"):
        write(cluster.bootstrap, "append-time", codec, ROWS)
    yield Capture("append-time", "append-time", "confluent-kafka", "kafka-python")

    cluster.create_topic("mixed")
    for number, codec in enumerate(CODECS * 2):
        list(WRITERS.values())[number % 3](cluster.bootstrap, "mixed", codec, ROWS[1:5])
    yield Capture("mixed", "mixed", "all", "kafka-python")
    yield Capture("from within a batch", "mixed", "all", "kafka-python", offset=10)
    yield Capture("cut off by the broker", "mixed", "all", "confluent-kafka", max_bytes=700)

    cluster.create_topic("epochs")
    write(cluster.bootstrap, "epochs", "none", ROWS[:3])
    cluster.restart(0)
    write(cluster.bootstrap, "epochs", "none", ROWS[3:6])
    yield Capture("two leader epochs", "epochs", "confluent-kafka", "aiokafka")
    yield from compacted(cluster)


def compacted(cluster: KafkaCluster) -> Iterator[Capture]:
    """A log with gaps, and with batches that are kept empty for their producers' sake."""
    topic = "compacted"
    cluster.create_topic(topic, configs=COMPACTED)
    keyed = [(b"k%d" % key, b"first", [], TIME + key) for key in range(8)]
    write_confluent(cluster.bootstrap, topic, "none", keyed[:5], **IDEMPOTENT["confluent-kafka"])
    write_python(cluster.bootstrap, topic, "gzip", keyed, **IDEMPOTENT["kafka-python"])
    # Segments are rolled by the times of records, and the last one is never compacted.
    again = [(key, b"second", [], at + 1_000_000) for key, _, _, at in keyed[::2]]
    write_aio(cluster.bootstrap, topic, "lz4", again)
    deadline = time.monotonic() + WAIT_S
    at = TIME + 2_000_000
    while time.monotonic() < deadline:
        write_aio(cluster.bootstrap, topic, "none", [(b"roll", b"", [], at)])
        at += 1_000_000
        time.sleep(1)
        found = list(heads(fetch(cluster.bootstrap, topic, 0, 0, FETCH_BYTES).data))
        if any(not count for *_, count in found) and any(0 < n <= d for _, d, n in found):
            yield Capture("compacted", topic, "all", "kafka-python")
            return
    raise RuntimeError(f"nothing was compacted in {WAIT_S:.0f} s: {found}")


def legacy() -> Iterator[tuple[str, dict[str, Any]]]:
    """Message sets by two clients' encoders, read by the other's reader.

    aiokafka refuses lz4 in v0, whose header checksum is wrong: there kafka-python reads its own.
    """
    builders = {"kafka-python": PythonBuilder, "aiokafka": AioBuilder}
    readers = {"kafka-python": PythonRecords, "aiokafka": AioRecords}
    others = {"kafka-python": "aiokafka", "aiokafka": "kafka-python"}
    for writer, magic, codec in itertools.product(builders, (0, 1), range(4)):
        odd = magic == 0 and CODECS[codec] == "lz4"
        if odd and writer == "aiokafka":
            continue
        reader = writer if odd else others[writer]
        builder = builders[writer](magic=magic, compression_type=codec, batch_size=1 << 20)
        for offset, (key, value, _, at) in enumerate(ROWS):
            builder.append(offset, timestamp=at, key=key, value=value)
        data = bytes(builder.build())
        if codec:  # the broker gave the wrapper the offset of its last message
            data = struct.pack(">q", len(ROWS) - 1) + data[8:]
        made: dict[str, Any] = {"writer": writer, "reader": reader, "fetch_offset": 0}
        made |= {"end_offset": len(ROWS), "data": data.hex()}
        made["records"] = [row_of(one) for one in every(readers[reader](data))]
        yield f"{writer} v{magic} {CODECS[codec]}", made


def every(records: Any) -> Iterator[Any]:
    """The records of either client's MemoryRecords."""
    while records.has_next():
        yield from records.next_batch()


def row_of(one: Any) -> list[Any]:
    """Of either client's record of a message set; what has no time has the timestamp -1."""
    at = -1 if one.timestamp is None else one.timestamp
    return plain((one.offset, at, one.timestamp_type, one.key, one.value, []))


def plain(row: Any) -> list[Any]:
    """A record as JSON: bytes as hexadecimal digits."""
    offset, at, kind, key, value, headers = row
    pairs = [[name, as_hex(item)] for name, item in headers]
    return [offset, at, kind, as_hex(key), as_hex(value), pairs]


def as_hex(item: bytes | None) -> str | None:
    return None if item is None else bytes(item).hex()


def captured(cluster: KafkaCluster, capture: Capture) -> dict[str, Any]:
    """Fetch a partition and have it read."""
    address = cluster.nodes[0].address
    fetched = fetch(
        address, capture.topic, capture.offset, int(capture.committed), capture.max_bytes
    )
    found = list(heads(fetched.data))
    end = found[-1][0] + found[-1][1] + 1
    made: dict[str, Any] = {
        "writer": capture.writer,
        "reader": capture.reader,
        "fetch_offset": capture.offset,
        "end_offset": end,
        "frame": fetched.frame.hex(),
        "records_at": [fetched.start, fetched.end],
        "aborted": [list(one) for one in fetched.aborted],
    }
    read = READERS[capture.reader]
    where = (cluster.bootstrap, capture.topic, capture.offset, end)
    made["records"] = [plain(row) for row in read(*where, "read_uncommitted")]
    if capture.committed:
        made["committed"] = [plain(row) for row in read(*where, "read_committed")]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    found: dict[str, dict[str, Any]] = {}
    with KafkaCluster(1, settings=SETTINGS) as cluster:
        for source in (one_batch_each(cluster), special(cluster)):
            for capture in source:
                found[capture.name] = captured(cluster, capture)
                print(f"{capture.name}: {len(found[capture.name]['records'])} records")
    found |= dict(legacy())
    names = ("kafka-python", "aiokafka", "confluent-kafka")
    versions = {name: importlib.metadata.version(name) for name in names}
    about = {"broker": broker_version(), "clients": versions}
    lines = [f"{json.dumps(name)}: {json.dumps(made)}" for name, made in found.items()]
    text = f'{{"about": {json.dumps(about)},\n"vectors": {{\n' + ",\n".join(lines) + "\n}}\n"
    output.write_text(text, "utf-8")
    print(f"{len(found)} vectors, {len(text)} bytes: {output}")


def broker_version() -> str:
    """Of the jars that the cluster runs."""
    jars = Path(find_installation().jars)
    (core,) = jars.glob("kafka-clients-*.jar")
    return core.stem.removeprefix("kafka-clients-")


if __name__ == "__main__":
    main()
