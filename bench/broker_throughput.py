"""How fast the embedded broker serves Fetch and takes Produce: MB/s to one fast client, and MB per
CPU second of the broker, which other work on the machine does not change.

The client is one socket that decodes nothing: requests are made beforehand, two Fetches or five
Produces are under way, answers land by `recv_into`.

    python bench/broker_throughput.py [--mb 4000] [--rounds 3] [--wrapper 'perf record -g']
"""

from __future__ import annotations

import argparse
import shlex
import struct

from broker_process import TICKS, BrokerProcess, ask, exactly, wall

from kcore.records import encode_batch
from kcore.wire import frames
from kcore.wire import messages as m

WALL_MS = 1_700_000_000_000
MB = 1e6
TICK_S = 1 / TICKS  # no CPU time is known more finely


def batch(size: int, value: int) -> bytes:
    """A batch of about `size` bytes in records of `value` bytes."""
    return encode_batch([(WALL_MS, None, b"v" * value)] * max(1, size // (value + 8)))


def producing(topic: str, data: bytes, acks: int, version: int = 9) -> bytes:
    part = m.ProduceRequest.PartitionProduceData(index=0, records=data)
    entry = m.ProduceRequest.TopicProduceData(name=topic, partition_data=[part])
    request = m.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[entry])
    return frames.encode_request(request, version, 7, "bench")


def produce(broker: BrokerProcess, topic: str, data: bytes, total: int, acks: int) -> dict:
    """Write `total` bytes."""
    frame = producing(topic, data, acks)
    answer = bytearray(4096)
    under_way = 0
    sent = 0
    with broker.connect() as sock:
        cpu, start = broker.cpu_s(), wall()
        while sent < total or under_way:
            if sent < total and under_way < 5:
                sock.sendall(frame)
                sent += len(data)
                under_way += 1
                continue
            exactly(sock, memoryview(answer)[:4])
            (size,) = struct.unpack_from(">i", answer)
            exactly(sock, memoryview(answer)[:size])
            under_way -= 1
        seconds, used = wall() - start, broker.cpu_s() - cpu
    found = frames.decode_response(m.ProduceResponse, 9, answer[:size])
    assert not found.responses[0].partition_responses[0].error_code
    return {"mb_s": sent / MB / seconds, "mb_cpu_s": sent / MB / max(used, TICK_S)}


def fetch(broker: BrokerProcess, topic: str, end: int, total: int, limit: int) -> dict:
    """Read `total` bytes, from the start of the log to its end and again."""

    def asking(offset: int) -> bytes:
        part = m.FetchRequest.FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=limit
        )
        entry = m.FetchRequest.FetchTopic(topic=topic, partitions=[part])
        request = m.FetchRequest(
            topics=[entry], max_bytes=limit, max_wait_ms=500, min_bytes=1, session_epoch=-1
        )
        return frames.encode_request(request, 11, 7, "bench")

    with broker.connect() as sock:
        (entry,) = ask(sock, m.FetchRequest(
            topics=[m.FetchRequest.FetchTopic(topic=topic, partitions=[
                m.FetchRequest.FetchPartition(partition=0, partition_max_bytes=limit)])],
            max_bytes=limit, session_epoch=-1,
        ), 11).responses  # fmt: skip
        records = memoryview(entry.partitions[0].records)
        step, at = 0, 0  # records of one answer
        while at < len(records):
            (size,) = struct.unpack_from(">i", records, at + 8)
            step += struct.unpack_from(">i", records, at + 57)[0]
            at += 12 + size
        requests = [asking(offset) for offset in range(0, end - step + 1, step)]
        room = memoryview(bytearray(limit + (1 << 16)))
        cpu, start = broker.cpu_s(), wall()
        sock.sendall(requests[0])
        got, number = 0, 0
        while got < total:
            number += 1
            sock.sendall(requests[number % len(requests)])
            exactly(sock, room[:4])
            (size,) = struct.unpack_from(">i", room)
            exactly(sock, room[:size])
            got += size
        exactly(sock, room[:4])
        (size,) = struct.unpack_from(">i", room)
        exactly(sock, room[:size])
        seconds, used = wall() - start, broker.cpu_s() - cpu
    return {"mb_s": got / MB / seconds, "mb_cpu_s": got / MB / max(used, TICK_S)}


def median(rounds: list[dict]) -> dict:
    return {key: sorted(one[key] for one in rounds)[len(rounds) // 2] for key in rounds[0]}


CASES = [  # name, bytes of a batch, of a value, acks
    ("produce, 1 MB batches of 1 kB, acks=1", 1_000_000, 1_000, 1),
    ("produce, 1 MB batches of 1 kB, acks=all", 1_000_000, 1_000, -1),
    ("produce, 1 MB batches of 100 B, acks=1", 1_000_000, 100, 1),
    ("produce, 16 kB batches of 100 B, acks=1", 16_000, 100, 1),
]
FETCHES = [  # name, bytes of a batch, limit of an answer
    ("fetch, 1 MB batches, 8 MB answers", 1_000_000, 8_000_000),
    ("fetch, 1 MB batches, 1 MB answers", 1_000_000, 1_048_576),
    ("fetch, 16 kB batches, 8 MB answers", 16_000, 8_000_000),
    ("fetch, 16 kB batches, 1 MB answers", 16_000, 1_048_576),
]


def measure(mb: int, rounds: int, wrapper: tuple[str, ...] = (), only: str = "") -> list[dict]:
    results = []
    for name, size, value, acks in CASES:
        if only not in name:
            continue
        data = batch(size, value)
        found = []
        for _ in range(rounds):
            with BrokerProcess(wrapper=wrapper) as broker:
                broker.create_topic("t", retention_bytes="500000000", segment_bytes="100000000")
                found.append(produce(broker, "t", data, int(mb * MB), acks))
        results.append({"case": name} | median(found))
        print_one(results[-1])
    for name, size, limit in FETCHES:
        if only not in name:
            continue
        with BrokerProcess(wrapper=wrapper) as broker:
            broker.create_topic("t")
            data = batch(size, 1_000)
            log = int(MB * min(200, max(20, mb)))
            produce(broker, "t", data, log, 1)
            end = -(-log // len(data)) * struct.unpack_from(">i", data, 57)[0]
            found = [fetch(broker, "t", end, int(mb * MB), limit) for _ in range(rounds)]
        results.append({"case": name} | median(found))
        print_one(results[-1])
    return results


def print_one(result: dict) -> None:
    print(
        f"{result['case']:45} {result['mb_s']:8.0f} MB/s {result['mb_cpu_s']:8.0f} MB per CPU s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wrapper", default="")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    measure(asked.mb, asked.rounds, tuple(shlex.split(asked.wrapper)), asked.only)
