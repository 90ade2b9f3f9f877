"""Spark's own Kafka connector beside ours, on one Kafka, in one Spark: `python bench/spark.py`.

Six parts: reading in batches, reading as a stream, writing, planning many partitions, memory over
many micro-batches, and what a micro-batch adds to a record's way. Contenders take turns, round by
round, on local[2]; ratios are taken within a round, and their median is shown. CPU seconds are of
all processes of Spark: JVM, driver, Python workers; not of Kafka.

    python bench/spark.py                          # all of it in some ten minutes
    python bench/spark.py --quick                  # a minute: does it work? no figures
    python bench/spark.py --only batch,plan        # some; kept only by --json FILE

A whole run is kept in bench/results/spark.json, from which `report.py` makes docs/plots/spark*.svg
and the tables of docs/SPARK_PERFORMANCE.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import report
import spark_latency
import spark_memory
import spark_planning
import spark_speed
from machine import RESULTS, about, load, save
from plan import QUICK, Plan, SparkPlan
from rounds import kafka
from spark_session import started
from spark_tables import PARTS, summary

Measure = Callable[[Any, str, SparkPlan], Any]
SECTIONS: dict[str, Measure] = {
    **spark_speed.SPEEDS,
    "latency": lambda spark, where, plan: spark_latency.measure(spark, where, plan.latencies),
    "memory": lambda _spark, where, plan: spark_memory.measure(where, plan.batches),
    # Last, because a broker with so many partitions is a slower one.
    "plan": lambda spark, where, plan: spark_planning.measure(
        spark, where, plan.partitions, plan.rounds
    ),
}


def measure(bootstrap: str, plan: SparkPlan, names: list[str]) -> dict[str, Any]:
    """Those parts, in order. SystemExit: one of them has failed."""
    found: dict[str, Any] = {"plan_of": asdict(plan)}
    with (
        tempfile.TemporaryDirectory(prefix="kcore-bench-") as folder,
        started(Path(folder)) as spark,
    ):
        for name, section in SECTIONS.items():
            if name not in names:
                continue
            began = time.monotonic()
            found[name] = section(spark, bootstrap, plan)
            print(f"\n{name}: {time.monotonic() - began:.0f} s, {load()}\n", flush=True)
            print("\n".join(PARTS[f"spark_{name}"](found)), flush=True)
    return found


def spark(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """A section of `all.py`."""
    return measure(bootstrap, plan.spark, list(SECTIONS))


def main() -> int:
    args = arguments()
    with kafka(args.bootstrap) as bootstrap:
        found = measure(bootstrap, (QUICK if args.quick else Plan()).spark, args.names)
    result = save(args.json, "spark", found) if args.json else {"about": about(), **found}
    print("\n" + "\n".join(summary(result)))
    if args.json == RESULTS / "spark.json":
        report.write_spark(result, report.PLOTS, report.SPARK_DOCUMENT)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bootstrap", help="an existing Kafka instead of one of our own")
    parser.add_argument("--only", help="comma-separated: " + ", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="next to no data, nothing is kept")
    parser.add_argument("--json", type=Path, help="where the figures go")
    args = parser.parse_args()
    args.names = args.only.split(",") if args.only else list(SECTIONS)
    unknown = set(args.names) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    if not (args.only or args.quick or args.json):
        args.json = RESULTS / "spark.json"
    return args


if __name__ == "__main__":
    sys.exit(main())
