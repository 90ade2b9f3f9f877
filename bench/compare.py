"""End to end from a real Kafka, side by side: `python bench/compare.py` (or `make bench`).

Every contender reads the same topic in a process of its own, one after the other, for several
rounds in turn; a first round that does not count warms the broker up. The table shows medians. A
ratio to the ceiling probe is taken within each round and the median of those is shown, so that a
busy stretch of the machine weighs on both sides. `--matrix` runs sizes x partitions x
max_poll_records. Without --bootstrap a one-node Kafka with a server's JVM settings is started.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, UnavailableError
from tables import Figures, Runs, show_cell, show_matrix
from topics import Shape, fill

HERE = Path(__file__).resolve().parent
RUN_TIMEOUT_S = 600
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

MATRIX_VALUE_BYTES = (10, 100, 1024, 10_240)
MATRIX_PARTITIONS = (1, 4, 100)
MATRIX_MAX_POLL_RECORDS = (1, 500, 10_000)
MATRIX_CONTENDERS = ("probe", "kcore", "confluent")
# A cell of the matrix holds at most so many bytes of values, and one that hands records over one by
# one so many records: the last row would otherwise take as long as all others.
CELL_BYTES = 256 * 1024 * 1024
SINGLE_RECORDS = 100_000


def main() -> int:
    args = arguments()
    with kafka(args.bootstrap) as bootstrap:
        return matrix(args, bootstrap) if args.matrix else compare(args, bootstrap)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", help="an existing Kafka instead of one of our own")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--codec", default="none", choices=CODECS)
    parser.add_argument("--max-poll-records", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="comma-separated contenders: " + ", ".join(CONTENDERS))
    parser.add_argument("--matrix", action="store_true", help="sizes, partitions, batch sizes")
    parser.add_argument("--json", type=Path, help="write every figure there, too")
    args = parser.parse_args()
    args.names = args.only.split(",") if args.only else None
    unknown = set(args.names or ()) - set(CONTENDERS)
    if unknown:
        parser.error(f"unknown contenders: {', '.join(sorted(unknown))}")
    return args


@contextmanager
def kafka(bootstrap: str | None) -> Iterator[str]:
    """The Kafka named, or one of our own for as long as this lasts."""
    if bootstrap:
        yield bootstrap
        return
    from kcore.cli.demo.kafka_cluster import KafkaCluster

    with KafkaCluster(nodes=1, jvm="server") as cluster:
        yield cluster.bootstrap


def compare(args: argparse.Namespace, bootstrap: str) -> int:
    shape = Shape(args.records, args.value_bytes, args.partitions, args.codec)
    runs = measure(bootstrap, shape, args, args.max_poll_records, args.names or list(CONTENDERS))
    facts = about()
    show_cell(runs, title(shape, args.max_poll_records), facts)
    write(args, facts, [{"shape": shape._asdict(), "runs": runs}])
    return 0


def matrix(args: argparse.Namespace, bootstrap: str) -> int:
    cells = []
    for size in MATRIX_VALUE_BYTES:
        for partitions in MATRIX_PARTITIONS:
            count = min(args.records, CELL_BYTES // size)
            shape = Shape(count, size, partitions, args.codec)
            for limit in MATRIX_MAX_POLL_RECORDS:
                names = args.names or list(MATRIX_CONTENDERS)
                runs = measure(bootstrap, shape, args, limit, names)
                print(f"{title(shape, limit)}: {load()}", file=sys.stderr)
                cells.append({"shape": shape._asdict(), "max_poll_records": limit, "runs": runs})
    facts = about()
    show_matrix(cells, facts)
    write(args, facts, cells)
    return 0


def measure(
    bootstrap: str, shape: Shape, args: argparse.Namespace, max_poll_records: int, names: list[str]
) -> Runs:
    """All rounds of one table: figures of each contender, by round."""
    fill(bootstrap, shape)
    commands = commands_of(names, shape.codec)
    runs: Runs = {name: [] for name in commands}
    for number in range(-1, args.rounds):
        for name, command in commands.items():
            found = run(name, command, bootstrap, shape, max_poll_records)
            if number >= 0:
                runs[name].append(found)
    agree(runs, shape)
    return runs


def commands_of(names: list[str], codec: str) -> dict[str, list[str]]:
    """What to run, of those that can take part."""
    commands = {}
    for name in names:
        codecs = CONTENDERS[name].codecs
        if codecs is not None and codec not in codecs:
            continue
        try:
            commands[name] = CONTENDERS[name].command()
        except UnavailableError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return commands


def run(
    name: str, command: list[str], bootstrap: str, shape: Shape, max_poll_records: int
) -> Figures:
    """One contender, once."""
    records = shape.records // CONTENDERS[name].share
    if max_poll_records == 1:
        records = min(records, SINGLE_RECORDS)
    options = {
        "--bootstrap": bootstrap,
        "--topic": shape.topic,
        "--partitions": str(shape.partitions),
        "--records": str(records),
        "--max-poll-records": str(max_poll_records),
    }
    words = [word for option in options.items() for word in option]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stdout}{done.stderr}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def agree(runs: Runs, shape: Shape) -> None:
    """Whoever has read the whole topic must have read the same."""
    whole = {
        (found["bytes"], found["offsets"])
        for rounds in runs.values()
        for found in rounds
        if found["records"] == shape.records
    }
    if len(whole) > 1:
        raise SystemExit(f"the contenders do not agree on bytes and offsets: {whole}")


def title(shape: Shape, max_poll_records: int) -> str:
    return (
        f"{shape.records:,} records of {shape.value_bytes} B, {shape.partitions} partitions,"
        f" {shape.codec}, up to {max_poll_records} a poll"
    )


def load() -> str:
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} over 1 min, {five:.1f} over 5"


def about() -> dict[str, str]:
    """Where and with what the figures were made."""
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=10"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    peers = ("confluent-kafka", "aiokafka", "kafka-python")
    return {
        "command": " ".join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "commit": commit,
        "machine": f"{os.cpu_count()} cores of {cpu_model()}, {platform.system()}",
        "load": f"{load()}, at the end",
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {version(name)}" for name in peers),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def write(args: argparse.Namespace, facts: dict[str, str], cells: list[dict[str, Any]]) -> None:
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": facts, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
