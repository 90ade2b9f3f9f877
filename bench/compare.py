"""End to end from a real Kafka, side by side: `python bench/compare.py --codec lz4`.

Every contender reads the same topic in a process of its own, one after the other, for several
rounds in turn; a first round that does not count warms the broker up. The table shows medians. A
ratio to the ceiling probe is taken within each round and the median of those is shown, so that a
busy stretch of the machine weighs on both sides. Without --bootstrap a one-node Kafka with a
server's JVM settings is started. `all.py` runs this, with all else that is measured.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tables
from contenders import ALONE, CONTENDERS
from machine import about, save
from rounds import kafka, measure, side_by_side
from topics import Shape

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def main() -> int:
    args = arguments()
    shape = Shape(args.records, args.value_bytes, args.partitions, args.codec)
    with kafka(args.bootstrap) as bootstrap:
        cases = side_by_side(args.names, shape, args.max_poll_records)
        runs = measure(bootstrap, cases, args.rounds)
    found = {
        "cells": [
            {"shape": shape._asdict(), "max_poll_records": args.max_poll_records, "runs": runs}
        ]
    }
    result = save(args.json, "compare", found) if args.json else {"about": about(), **found}
    print("\n".join(tables.compare(result)))
    print(tables.where(result))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", help="an existing Kafka instead of one of our own")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--codec", default="none", choices=CODECS)
    parser.add_argument("--max-poll-records", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="comma-separated contenders: " + ", ".join(CONTENDERS))
    parser.add_argument("--json", type=Path, help="write every figure there, too")
    args = parser.parse_args()
    args.names = args.only.split(",") if args.only else ALONE
    unknown = set(args.names) - set(CONTENDERS)
    if unknown:
        parser.error(f"unknown contenders: {', '.join(sorted(unknown))}")
    return args


if __name__ == "__main__":
    sys.exit(main())
