"""Reading in batches, reading as a stream and writing, round by round in one Spark.

Contenders: `kafka` is Spark's own connector, `kcore` ours, `ceiling` a Python source (sink) that
costs nothing, which tells how much of ours is PySpark's.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from plan import SparkPlan
from rounds import Runs
from spark_session import jvm_pid, timed
from topics import Shape, fill, held

KINDS = ("kafka", "kcore", "ceiling")
# What a fetch answer of ours brings, and what a record takes beside its value: one Arrow batch.
ANSWER_BYTES = 3_145_728
RECORD_BYTES = 18
# What both sinks are given in the case `alike`.
ALIKE = {
    "kafka.acks": "all",
    "kafka.enable.idempotence": "true",
    "kafka.compression.type": "none",
    "kafka.linger.ms": "20",
    "kafka.batch.size": "131072",
}
WRITES = {"alike": ALIKE, "defaults": {}}
WRITE_PARTITIONS = 4

# Between runs: Python processes of the one before end meanwhile, and count for it or for nobody.
SETTLE_S = 0.2

Run = Callable[[], dict[str, Any]]


def side_by_side(runs: dict[str, Run], rounds: int, *, warm: int = 1) -> Runs:
    """Everyone once a round; `warm` rounds before do not count."""
    found: Runs = {name: [] for name in runs}
    for number in range(-warm, rounds):
        for name, run in runs.items():
            time.sleep(SETTLE_S)
            figures = run()
            if number >= 0:
                found[name].append(figures)
    return found


def source_options(kind: str, bootstrap: str, shape: Shape) -> dict[str, str]:
    if kind != "ceiling":
        return {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": shape.topic,
            "startingOffsets": "earliest",
        }
    return {
        "topic": shape.topic,
        "rows": str(shape.records),
        "partitions": str(shape.partitions),
        "value_bytes": str(shape.value_bytes),
        "batch_rows": str(ANSWER_BYTES // (shape.value_bytes + RECORD_BYTES)),
    }


# Reading -----------------------------------------------------------------------------------------


def shapes(plan: SparkPlan) -> list[Shape]:
    return [Shape(plan.records, 100, 4), Shape(plan.kib_records, 1024, 4)]


def noop(rows: Any) -> None:
    """Every row and column comes, and goes nowhere."""
    rows.write.format("noop").mode("overwrite").save()


def total(rows: Any) -> int:
    """One column of every row is looked at."""
    return int(rows.selectExpr("sum(length(value))").collect()[0][0])


def every_column(source: Any, kind: str) -> Any:  # noqa: ARG001
    return source.load()


def texts(source: Any, kind: str) -> Any:
    """Values alone, as strings, in the way of each."""
    if kind == "kafka":
        return source.load().selectExpr("cast(value as string)")
    return source.schema("value string").load()


# What is read, and what is done with it.
ACTIONS: dict[str, tuple[Callable[[Any, str], Any], Callable[[Any], Any]]] = {
    "noop": (every_column, noop),
    "sum": (every_column, total),
    "texts": (texts, noop),
}


def batch(spark: Any, bootstrap: str, plan: SparkPlan) -> list[dict[str, Any]]:
    """Whole topics, by size of values and by what is done with the rows."""
    jvm, cells = jvm_pid(spark), []
    for shape in shapes(plan):
        fill(bootstrap, shape)
        for name, (rows, action) in ACTIONS.items():
            runs: dict[str, Run] = {}
            for kind in KINDS:
                given = source_options(kind, bootstrap, shape)

                def act(kind: str = kind, given: dict[str, str] = given) -> Any:
                    source = spark.read.format(kind).options(**given)
                    return action(rows(source, kind))  # noqa: B023

                runs[kind] = partial(timed, jvm, shape.records, act)
            # A JVM that reads for the first time is still being compiled in its third round.
            found = side_by_side(runs, plan.rounds, warm=1 if cells else min(3, plan.rounds))
            agree(f"batch, {name}", found)
            cells.append({"action": name, "shape": shape._asdict(), "runs": found})
    return cells


def agree(what: str, runs: Runs) -> None:
    """Everyone has read the same."""
    different = {one["found"] for figures in runs.values() for one in figures}
    if len(different) > 1:
        raise SystemExit(f"{what}: the contenders do not agree: {runs}")


def stream(spark: Any, bootstrap: str, plan: SparkPlan) -> list[dict[str, Any]]:
    """Whole topics in micro-batches until their end (AvailableNow), to the noop sink: smaller
    micro-batches and, of more records, larger ones, for what a micro-batch costs by itself.
    """
    jvm, cells = jvm_pid(spark), []
    small = shapes(plan)
    large = [one._replace(records=one.records * plan.larger) for one in small]
    for shape in (*small, *large):
        fill(bootstrap, shape)
        limit = -(-shape.records // plan.triggers)
        for name in ("noop", "texts"):
            runs: dict[str, Run] = {}
            for kind in KINDS:
                given = source_options(kind, bootstrap, shape)
                given |= {"limit" if kind == "ceiling" else "maxOffsetsPerTrigger": str(limit)}
                rows = partial(ACTIONS[name][0], kind=kind)
                runs[kind] = partial(streamed, jvm, shape.records, spark, kind, given, rows)
            found = side_by_side(runs, plan.rounds)
            agree(f"stream, {name}", found)
            cells.append({"action": name, "limit": limit, "shape": shape._asdict(), "runs": found})
    return cells


def streamed(
    jvm: int,
    records: int,
    spark: Any,
    kind: str,
    given: dict[str, str],
    rows_of: Callable[[Any], Any],
) -> dict[str, Any]:
    """One query from its start to its end. steady_s: what all rows would have taken at the pace of
    the micro-batches after the first one, which starts the workers.
    """
    figures = timed(jvm, records, partial(until_end, spark, kind, given, rows_of))
    batches = figures["found"]
    figures["found"] = sum(rows for rows, _ in batches)
    rows, took_ms = (sum(column) for column in zip(*batches[1:], strict=True))
    return figures | {"steady_s": took_ms / 1e3 * records / rows}


def until_end(
    spark: Any, kind: str, given: dict[str, str], rows_of: Callable[[Any], Any]
) -> list[tuple[int, int]]:
    """(rows, ms) of each micro-batch."""
    from pyspark.errors import StreamingQueryException

    with tempfile.TemporaryDirectory(prefix="kcore-bench-") as folder:
        query = (
            rows_of(spark.readStream.format(kind).options(**given))
            .writeStream.format("noop")
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except StreamingQueryException as error:  # its text is in a JVM that ends with the bench
            raise SystemExit(f"{kind}: {error}") from None
        return [
            (one.numInputRows, one.durationMs["triggerExecution"])
            for one in query.recentProgress
            if one.numInputRows
        ]


# Writing -----------------------------------------------------------------------------------------


def write(spark: Any, bootstrap: str, plan: SparkPlan) -> list[dict[str, Any]]:
    """Rows that Spark holds in memory into a topic of four partitions: fewer and, for what a query
    and its tasks cost by themselves, more.
    """
    jvm, cells = jvm_pid(spark), []
    for size, rows in ((100, plan.write_rows), (1024, plan.write_kib_rows)):
        few = (
            spark.range(0, rows, 1, WRITE_PARTITIONS)
            .selectExpr(f"cast(rpad(cast(id as string), {size}, 'v') as binary) as value")
            .cache()  # or making them would be most of what is measured
        )
        few.count()
        many = few
        for _ in range(plan.larger - 1):
            many = many.union(few)
        frames = {rows: few, rows * plan.larger: many.coalesce(WRITE_PARTITIONS)}
        for count, frame in frames.items():
            for name, given in WRITES.items():
                runs: dict[str, Run] = {}
                for kind in KINDS if name == "alike" else KINDS[:2]:
                    target = Target(bootstrap, f"bench-written-{size}b-{count}-{name}-{kind}")
                    runs[kind] = partial(target.write, jvm, frame, count, kind, given)
                # Spark's and Kafka's JVMs are still being compiled at first.
                warm = 1 if cells else min(5, plan.write_rounds)
                found = side_by_side(runs, plan.write_rounds, warm=warm)
                cells.append(
                    {"case": name, "value_bytes": size, "options": given, "rows": count,
                     "runs": found}
                )  # fmt: skip
        few.unpersist()
    return cells


class Target:
    """A topic for each run, gone after it.

    What a broker has written stays in the page cache, and memory that a virtual machine has not
    touched before may cost more to write to than everything else: here a broker's CPU for a row
    doubled after some 3 GB. So files go at once, and the next run has their pages.
    """

    def __init__(self, bootstrap: str, prefix: str) -> None:
        from confluent_kafka.admin import AdminClient

        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._bootstrap = bootstrap
        self._prefix = f"{prefix}-{uuid4().hex[:6]}"  # another run may have left its own
        self._number = 0

    def write(
        self, jvm: int, frame: Any, rows: int, kind: str, given: dict[str, str]
    ) -> dict[str, Any]:
        """All rows once; SystemExit: not all are there."""
        writer = frame.write.format(kind).mode("append")
        if kind == "ceiling":
            return timed(jvm, rows, writer.save)
        with self._topic() as topic:
            options = {"kafka.bootstrap.servers": self._bootstrap, "topic": topic, **given}
            figures = timed(jvm, rows, writer.options(**options).save)
            found = held(self._bootstrap, topic, WRITE_PARTITIONS)
        if found != rows:
            raise SystemExit(f"{kind}: {found} records of {rows} were written")
        return figures

    @contextmanager
    def _topic(self) -> Iterator[str]:
        from confluent_kafka.admin import NewTopic

        self._number += 1
        name = f"{self._prefix}-{self._number}"
        self._admin.create_topics([NewTopic(name, WRITE_PARTITIONS, 1)])[name].result()
        held(self._bootstrap, name, WRITE_PARTITIONS)  # has leaders
        try:
            yield name
        finally:
            self._admin.delete_topics([name])[name].result()


SPEEDS: dict[str, Callable[[Any, str, SparkPlan], Sequence[dict[str, Any]]]] = {
    "batch": batch,
    "stream": stream,
    "write": write,
}
