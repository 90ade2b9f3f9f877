"""A job as spark-submit runs it: `spark-submit .../kcore/pipeline/jobs/main.py NAME BOOTSTRAP DIR`.

The session is the one that spark-submit made; topics are filled unless `--no-load` is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kcore.pipeline.jobs.runner import run_job, session


def main(arguments: list[str]) -> int:
    """The exit code."""
    load = "--no-load" not in arguments
    rest = [one for one in arguments if not one.startswith("--")]
    if len(rest) != 3:
        sys.stderr.write("usage: main.py NAME BOOTSTRAP DIR [--no-load]\n")
        return 2
    name, bootstrap, folder = rest
    with session(None, name) as spark:
        report = run_job(spark, name, bootstrap, Path(folder), load=load)
    sys.stdout.write(f"{report.name}: {report.rows} rows, the same as by pandas\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
