"""A job as spark-submit runs it: `spark-submit .../kcore/pipeline/jobs/main.py NAME BOOTSTRAP DIR`.

The session is the one that spark-submit made; DIR has to be the same place for driver and
executors. Topics are created and filled unless `--no-load` is given.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kcore.pipeline.jobs import NAMES
from kcore.pipeline.jobs.data import FLIGHTS, ROWS_MIN
from kcore.pipeline.jobs.errors import JobError
from kcore.pipeline.jobs.runner import prepare, run_job
from kcore.pipeline.jobs.session import session


def main(arguments: list[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="main.py", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("bootstrap")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--rows", type=int, help=f"only the first so many flights, {ROWS_MIN} at least"
    )
    parser.add_argument("--no-load", action="store_true", help="the topics are filled already")
    given = parser.parse_args(arguments)
    if given.rows is not None and not ROWS_MIN <= given.rows <= FLIGHTS:
        parser.error(f"--rows {given.rows}: there are {ROWS_MIN} to {FLIGHTS}")
    folder = given.folder.absolute() / given.name
    try:
        prepare(folder, given.rows, given.bootstrap)
        with session(None, given.name) as spark:
            report = run_job(
                spark, given.name, given.bootstrap, folder, rows=given.rows, load=not given.no_load
            )
    except JobError as error:
        sys.stderr.write(f"{given.name}: {error}\n")
        return 1
    sys.stdout.write(f"{report.name}: {report.rows:,} rows, the same as pandas has\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
