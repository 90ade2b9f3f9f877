"""From a record produced to its row in the driver: small micro-batches, one record each.

A query runs without a pause between micro-batches and collects each in `foreachBatch`. A record is
sent, acknowledged, and its row waited for; then the next one, after a pause that is not the same
each time. Queries of both connectors take turns.
"""

from __future__ import annotations

import tempfile
import threading
import time
from typing import Any

from spark_session import jvm_pid, used

TIMEOUT_S = 60
WARM = 10  # records that do not count, at the start of each query
PHASES = ("triggerExecution", "latestOffset", "queryPlanning", "addBatch", "walCommit",
          "commitOffsets")  # fmt: skip


class Seen:
    """The rows that have come; `last` is the value of the newest."""

    def __init__(self) -> None:
        self.last = -1
        self.at_s = 0.0
        self._changed = threading.Condition()

    def take(self, rows: Any, _number: int) -> None:
        """What foreachBatch calls."""
        found = [int(row[0]) for row in rows.select("value").collect()]
        if found:
            with self._changed:
                self.last, self.at_s = max(found), time.monotonic()
                self._changed.notify_all()

    def wait(self, number: int) -> float:
        """When it was seen; SystemExit: never."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.last >= number, TIMEOUT_S):
                raise SystemExit(f"record {number} was not seen")
            return self.at_s


def one_query(spark: Any, bootstrap: str, topic: str, kind: str, count: int) -> dict[str, Any]:
    """Seconds from `send` to the row, and Spark's own account of these micro-batches."""
    from kcore import Producer

    seen, jvm, found = Seen(), jvm_pid(spark), []
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    with (
        tempfile.TemporaryDirectory(prefix="kcore-bench-") as folder,
        Producer(bootstrap_servers=bootstrap) as producer,
    ):
        query = (
            spark.readStream.format(kind)
            .options(**given, startingOffsets="latest")
            .load()
            .writeStream.foreachBatch(seen.take)
            .option("checkpointLocation", folder)
            .start()
        )
        try:
            while query.lastProgress is None:  # it knows where it begins
                time.sleep(0.1)
            for number in range(WARM + count):
                time.sleep(0.05 + 0.013 * (number % 8))
                began = time.monotonic()
                producer.send(topic, b"%d" % number).get(TIMEOUT_S)
                took = seen.wait(number) - began
                if number >= WARM:
                    found.append(took)
            progress = [one for one in query.recentProgress if one.numInputRows][-count:]
            idle = idling(jvm)
        finally:
            query.stop()
    phases = {name: [one.durationMs.get(name, 0) for one in progress] for name in PHASES}
    return {"latency_s": found, "phases_ms": phases, "idle_core": idle}


def idling(jvm: int, seconds: float = 2.0) -> float:
    """Cores that a query uses while there is nothing to read."""
    before, began = used(jvm), time.monotonic()
    time.sleep(seconds)
    after = used(jvm)
    return (sum(after) - sum(before)) / (time.monotonic() - began)


def measure(spark: Any, bootstrap: str, count: int, turns: int = 2) -> dict[str, Any]:
    """`count` records each, in so many queries of either connector."""
    from topics import Shape, fill

    shape = Shape(4, 8, 4)
    fill(bootstrap, shape)
    runs: dict[str, list[dict[str, Any]]] = {"kafka": [], "kcore": []}
    for _ in range(turns):
        for kind, found in runs.items():
            found.append(one_query(spark, bootstrap, shape.topic, kind, -(-count // turns)))
    return {"runs": runs}
