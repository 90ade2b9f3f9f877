"""What a slow reader costs in memory: `python bench/memory.py`.

A consumer with a small `max_buffered_bytes` has far more in front of it than it may hold, and takes
100 records every few milliseconds. Shown is how far its resident memory rises at most above what
it was before the first poll, over all of the run, at 1 and at many partitions. The bound: what may
be buffered, one answer (a node is asked for half of that at a time), and CONSTANT_MB.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from compare import about, kafka
from topics import Shape, fill

MIB = 1024 * 1024
CONSTANT_MB = 24  # large frames kept for the next ones, and what reading makes of objects
PAUSE_S = 0.003
TAKE = 100
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def main() -> int:
    args = arguments()
    if args.topic:
        read_slowly(args)
        return 0
    broken = 0
    with kafka(args.bootstrap) as bootstrap:
        for partitions in (1, args.partitions):
            records = args.records_per_partition * args.partitions // 2 if partitions == 1 else 0
            count = records or args.records_per_partition * partitions
            shape = Shape(count, args.value_bytes, partitions)
            fill(bootstrap, shape)
            broken += not measure(args, bootstrap, shape)
    for key, value in about().items():
        print(f"{key}: {value}")
    return 1 if broken else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", help="an existing Kafka instead of one of our own")
    parser.add_argument("--partitions", type=int, default=500)
    parser.add_argument("--records-per-partition", type=int, default=1024)
    parser.add_argument("--value-bytes", type=int, default=1024)
    parser.add_argument("--max-buffered-bytes", type=int, default=64 * MIB)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--topic", help=argparse.SUPPRESS)  # the reader's own process
    return parser.parse_args()


def measure(args: argparse.Namespace, bootstrap: str, shape: Shape) -> bool:
    """One reader in a process of its own; whether it stayed within the bound."""
    options = ["--bootstrap", bootstrap, "--topic", shape.topic]
    options += ["--partitions", str(shape.partitions), "--seconds", str(args.seconds)]
    options += ["--max-buffered-bytes", str(args.max_buffered_bytes)]
    command = [sys.executable, __file__, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)
    backlog = shape.records * shape.value_bytes / MIB
    budget = args.max_buffered_bytes / MIB
    bound = budget * 1.5 + CONSTANT_MB
    fine = found["growth_mb"] <= bound
    print(
        f"{shape.partitions} partitions, {backlog:.0f} MiB ahead, {budget:.0f} MiB may be buffered:"
        f" {found['growth_mb']:.1f} MiB above the {found['base_mb']:.1f} before;"
        f" {found['records']:,} records taken; bound {bound:.0f}{'' if fine else ': BROKEN'}"
    )
    return fine


def read_slowly(args: argparse.Namespace) -> None:
    from kcore import Consumer, TopicPartition

    consumer = Consumer(
        bootstrap_servers=args.bootstrap,
        auto_offset_reset="earliest",
        max_buffered_bytes=args.max_buffered_bytes,
    )
    consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])
    base = memory("VmRSS")
    CLEAR.write_text("5")  # the peak begins anew
    records = 0
    until = time.monotonic() + args.seconds
    while time.monotonic() < until:
        records += sum(map(len, consumer.poll(timeout_ms=1000, max_records=TAKE).values()))
        time.sleep(PAUSE_S)
    found = {"base_mb": base, "growth_mb": memory("VmHWM") - base, "records": records}
    print(json.dumps(found))
    consumer.close()


def memory(what: str) -> float:
    """A line of the process's status, in MiB."""
    match = re.search(rf"{what}:\s+(\d+) kB", STATUS.read_text())
    return int(match[1]) / 1024 if match else 0.0


if __name__ == "__main__":
    sys.exit(main())
