"""End to end from a real Kafka, side by side: `python bench/compare.py` (or `make bench`).

Every contender reads the same topic in a process of its own, in turn, several rounds; the table
shows the median of each and its ratio to the ceiling probe of the same run. Without --bootstrap a
one-node Kafka is started for the run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
READERS = {
    "probe": [str(HERE / "probe.py")],
    "kcore": [str(HERE / "readers" / "kcore_poll.py")],
    "confluent": [str(HERE / "readers" / "confluent_tuned.py")],
    "aiokafka": [str(HERE / "readers" / "aiokafka_getmany.py")],
    "kafka-python": [str(HERE / "readers" / "kafka_python.py")],
}
# kafka-python reads this fraction of the records: a full run of it would be most of the time.
SLOW = 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", help="an existing Kafka instead of one of our own")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--compression", default="none", choices=["none", "gzip", "lz4"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="comma-separated contenders: " + ", ".join(READERS))
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    args = parser.parse_args()
    if args.bootstrap:
        return compare(args, args.bootstrap)
    from kcore.cli.demo.kafka_cluster import KafkaCluster

    with KafkaCluster(nodes=1) as cluster:
        return compare(args, cluster.bootstrap)


def compare(args: argparse.Namespace, bootstrap: str) -> int:
    topic = f"bench-{args.value_bytes}b-{args.partitions}p-{args.compression}"
    produce(bootstrap, topic, args)
    names = args.only.split(",") if args.only else list(READERS)
    figures: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(args.rounds):
        for name in names:
            if name == "kafka-python" and number:
                continue
            figures[name].append(run(name, bootstrap, topic, args))
    show(figures, args)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": about(args), "figures": figures}, indent=1))
    return 0


def produce(bootstrap: str, topic: str, args: argparse.Namespace) -> None:
    """Fill the topic unless it is there already: keys of 8 bytes, values that do not compress to
    nothing.
    """
    from confluent_kafka import Consumer as Watcher
    from confluent_kafka import Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, args.partitions, 1)]).values():
        try:
            future.result()
        except Exception as error:  # noqa: BLE001 - it may be there from an earlier run
            print(error, file=sys.stderr)
    watcher = Watcher({"bootstrap.servers": bootstrap, "group.id": "bench-watch"})
    have = sum(
        watcher.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1]
        for p in range(args.partitions)
    )
    watcher.close()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": args.compression,
            "linger.ms": 20,
            "batch.size": 65536,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    noise = os.urandom(1 << 16).hex().encode()
    for i in range(have, args.records):
        start = (i * 31) % (len(noise) - args.value_bytes)
        while True:
            try:
                producer.produce(
                    topic,
                    noise[start : start + args.value_bytes],
                    b"k%07d" % i,
                    partition=i % args.partitions,
                )
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(60)


def run(name: str, bootstrap: str, topic: str, args: argparse.Namespace) -> dict[str, Any]:
    records = args.records // SLOW if name == "kafka-python" else args.records
    command = [sys.executable, *READERS[name], "--bootstrap", bootstrap, "--topic", topic]
    command += ["--partitions", str(args.partitions), "--records", str(records)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def about(args: argparse.Namespace) -> dict[str, Any]:
    git = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "command": " ".join(["python", "bench/compare.py", *sys.argv[1:]]),
        "commit": commit,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "records": args.records,
    }


def show(figures: dict[str, list[dict[str, Any]]], args: argparse.Namespace) -> None:
    facts = about(args)
    table = Table(
        title=f"{args.records:,} records of {args.value_bytes} B, {args.partitions} partitions, "
        f"{args.compression}; key, value and offset of each touched in Python",
        caption="; ".join(f"{key}: {value}" for key, value in facts.items()),
    )
    columns = ("reader", "M records/s", "of probe", "CPU us/record", "of probe (CPU)", "RSS MB")
    for column in columns:
        table.add_column(column, justify="left" if column == "reader" else "right")
    base = medians(figures["probe"]) if figures.get("probe") else None
    for runs in figures.values():
        wall, cpu = medians(runs)
        rss = max(run["peak_rss_mb"] for run in runs)
        speed = f"{base[0] / wall:.0%}" if base else "-"
        thrift = f"{base[1] / cpu:.0%}" if base else "-"
        table.add_row(runs[0]["name"], f"{1 / wall:.2f}", speed, f"{cpu:.3f}", thrift, str(rss))
    Console(width=130).print(table)


def medians(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """Median wall and CPU microseconds a record."""
    return (
        statistics.median(run["wall_s"] * 1e6 / run["records"] for run in runs),
        statistics.median(run["cpu_s"] * 1e6 / run["records"] for run in runs),
    )


if __name__ == "__main__":
    sys.exit(main())
