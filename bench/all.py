"""Everything that is measured, in one run: `python bench/all.py` (or `make bench`), twenty minutes.

Each section is written to `<out>/<section>.json` as soon as it is done. From those, the plots of
docs/plots, the tables of docs/PERFORMANCE.md and docs/SPARK_PERFORMANCE.md and the lists of goals
are made (`report.py`, which can be run alone). Sections: decode compare codecs matrix partitions
single memory startup idle sharing spark. The last one takes ten minutes (`spark.py`), and so do all
the others.

    python bench/all.py --only compare,codecs     # some of it
    python bench/all.py --resume                  # what has no results yet
    python bench/all.py --quick --out build/bench # a minute: does it work? no figures
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import memory
import report
import scaling
import spark
import spark_tables
import startup
from compare import CODECS
from contenders import ALONE, READERS, SHARERS
from decode import decode
from machine import RESULTS, load, save
from plan import QUICK, Plan
from rounds import kafka, measure, side_by_side
from tables import TABLES
from topics import Shape

Section = Callable[[str, Plan], dict[str, Any]]


def compare(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """One topic, everyone."""
    shape = Shape(plan.many_records, 100, 4)
    runs = measure(bootstrap, side_by_side(READERS, shape), plan.rounds)
    return {"cells": [{"shape": shape._asdict(), "max_poll_records": 500, "runs": runs}]}


def sharing(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """One topic, a share group of one member each."""
    shape = Shape(plan.shared_records, 100, 4)
    runs = measure(bootstrap, side_by_side(SHARERS, shape), plan.rounds)
    return {"cells": [{"shape": shape._asdict(), "max_poll_records": 500, "runs": runs}]}


SECTIONS: dict[str, Section] = {
    "decode": decode,
    "compare": compare,
    "codecs": partial(scaling.codecs, names=ALONE, kinds=CODECS[1:]),
    "matrix": scaling.matrix,
    "partitions": scaling.partitions,
    "single": scaling.single,
    "memory": memory.memory,
    "startup": startup.startup,
    "idle": startup.idle,
    "sharing": sharing,
    "spark": spark.spark,  # last: its many partitions stay with the broker
}
SHOWN = {**TABLES, "spark": spark_tables.summary}


def main() -> int:
    args = arguments()
    plan = QUICK if args.quick else Plan()
    done = {name for name in args.names if args.resume and (args.out / f"{name}.json").exists()}
    wanted = [name for name in args.names if name not in done]
    failed = []
    if wanted:
        with kafka(args.bootstrap) as bootstrap:
            failed = [name for name in wanted if not measured(name, bootstrap, plan, args.out)]
    document, about_spark = (None, None) if args.quick else (args.document, args.spark_document)
    report.write(args.out, args.plots, document, about_spark)
    if failed:
        print(f"\nfailed: {', '.join(failed)}; --resume does them again", file=sys.stderr)
    return 1 if failed else 0


def measured(name: str, bootstrap: str, plan: Plan, out: Path) -> bool:
    """One section; whether it has results now. The others go on without it."""
    began = time.monotonic()
    path = out / f"{name}.json"
    path.unlink(missing_ok=True)
    try:
        result = save(path, name, SECTIONS[name](bootstrap, plan))
    except SystemExit as why:
        print(f"\n{name}: {why}", file=sys.stderr, flush=True)
        return False
    print(f"\n{name}: {time.monotonic() - began:.0f} s, {load()}\n", flush=True)
    print("\n".join(SHOWN[name](result)), flush=True)
    return True


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bootstrap", help="an existing Kafka instead of one of our own")
    parser.add_argument("--only", help="comma-separated sections")
    parser.add_argument("--resume", action="store_true", help="leave out what has results")
    parser.add_argument("--quick", action="store_true", help="next to no data, no document")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON files")
    parser.add_argument("--plots", type=Path, help="folder of the plots (docs/plots, or in --out)")
    parser.add_argument("--document", type=Path, default=report.DOCUMENT, help="its tables")
    args = parser.parse_args()
    args.names = args.only.split(",") if args.only else list(SECTIONS)
    unknown = set(args.names) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown sections: {', '.join(sorted(unknown))}")
    own = args.out.resolve() == RESULTS
    args.plots = args.plots or (report.PLOTS if own else args.out / "plots")
    args.document = args.document if own else None
    args.spark_document = report.SPARK_DOCUMENT if own else None
    return args


if __name__ == "__main__":
    sys.exit(main())
