"""A local Spark for measuring, with both connectors in it, and what all of its processes use.

Spark's own connector comes as jars (`make connector`); ours, and a source and a sink that cost
nothing (`spark_ceiling.py`), as Python. Settings are Spark's defaults but for what would only
disturb: no UI, no console, one partition after a shuffle.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
CONNECTOR = HERE.parent / ".cache" / "spark" / "connector"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MIB = 1024 * 1024
CORES = 2

# What Spark keeps of finished work for its UI and its progress would grow for the first thousand
# micro-batches, whoever reads: less of it, and the rest shows.
KEEP_LITTLE = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.streaming.minBatchesToRetain": "20",
}


def connector_jars() -> list[Path]:
    """SystemExit: they were not fetched."""
    found = sorted(CONNECTOR.glob("*.jar")) if (CONNECTOR / ".complete").exists() else []
    if not found:
        raise SystemExit("Spark's own connector is not there: make connector")
    return found


@contextmanager
def started(folder: Path, more: dict[str, str] | None = None) -> Iterator[SparkSession]:
    """Spark for as long as this lasts. folder: of everything it writes."""
    jars = connector_jars()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = filter(None, (str(HERE), os.environ.get("PYTHONPATH")))
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # workers import spark_ceiling
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from pyspark.sql import SparkSession
    from spark_ceiling import CeilingSource

    from kcore.pipeline import KcoreDataSource

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        **(more or {}),
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for source in (KcoreDataSource, CeilingSource):
        session.dataSource.register(source)
    try:
        yield session
    finally:
        session.stop()
        _end_jvm(type(session.sparkContext))


def _end_jvm(context: Any) -> None:
    """PySpark keeps it for the next session; a bench is to leave nothing behind."""
    gateway = context._gateway  # noqa: SLF001
    gateway.shutdown()
    gateway.proc.stdin.close()  # which it is told by
    gateway.proc.wait(30)
    context._gateway = context._jvm = None  # noqa: SLF001


# Processes ---------------------------------------------------------------------------------------


class Used(NamedTuple):
    """CPU seconds so far: of the JVM, and of Python (driver, daemons, workers)."""

    jvm_s: float
    python_s: float


class Process(NamedTuple):
    """What /proc says of one. done_s: CPU seconds of its children that have ended.

    is_source: whether it is the Python process in which a streaming query has its source.
    """

    pid: int
    parent: int
    is_source: bool
    cpu_s: float
    done_s: float
    rss_mb: float


def _process(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        is_source = b"python_streaming_source_runner" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    fields = text.rsplit(")", 1)[1].split()
    own, done = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    rss_mb = int(fields[21]) * PAGE_BYTES / MIB
    return Process(pid, int(fields[1]), is_source, own * TICK_S, done * TICK_S, rss_mb)


def java(session: SparkSession) -> Any:
    """Java's packages, by py4j."""
    return session.sparkContext._jvm  # noqa: SLF001


def jvm_pid(session: SparkSession) -> int:
    """The JVM of this session: what spark-submit has become, or its child."""
    return int(java(session).java.lang.ProcessHandle.current().pid())


def tree(root: int) -> list[Process]:
    """A process and all that come from it."""
    found = [one for entry in os.listdir("/proc") if entry.isdigit()
             if (one := _process(int(entry))) is not None]  # fmt: skip
    inside = {root}
    grown = True
    while grown:
        more = {one.pid for one in found if one.parent in inside} - inside
        grown = bool(more)
        inside |= more
    return [one for one in found if one.pid in inside]


def used(jvm: int) -> Used:
    """By the JVM, by the Python processes below it, and by this one."""
    below = tree(jvm)
    java = sum(one.cpu_s for one in below if one.pid == jvm)
    workers = sum(one.cpu_s + one.done_s for one in below) - java
    times = os.times()
    return Used(java, workers + times.user + times.system)


def timed(jvm: int, records: int, action: Callable[[], Any]) -> dict[str, Any]:
    """What an action costs, as `rounds.Figures`; `found` is what it gave."""
    before, began = used(jvm), monotonic()
    found = action()
    wall_s, after = monotonic() - began, used(jvm)
    java, python = after.jvm_s - before.jvm_s, after.python_s - before.python_s
    return {
        "records": records,
        "wall_s": wall_s,
        "cpu_s": java + python,
        "jvm_cpu_s": java,
        "python_cpu_s": python,
        "found": found,
    }
