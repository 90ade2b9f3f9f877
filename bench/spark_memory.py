"""What a long streaming query keeps: memory over a thousand micro-batches.

`python bench/spark_memory.py --bootstrap HOST:PORT --topic T --kind kcore` runs one query in a
Spark of its own, as fast as its micro-batches go, and looks at it every so many of them: resident
memory of the driver's Python, of the process that has the source, of all workers, of the JVM; and
the JVM's heap after a collection. It prints one line of JSON. `measure` runs both connectors so, at
once.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TIMEOUT_S = 500
SAMPLES = 20
BEYOND = 50  # and a tenth: micro-batches there are for it to be looked at while it still runs


def sample(spark: Any, jvm: int, number: int) -> dict[str, float]:
    """Now, in MiB."""
    import os

    from spark_session import MIB, java, tree

    gc.collect()
    runtime = java(spark).java.lang.Runtime.getRuntime()
    for _ in range(2):  # what the first one finds unreachable is cleaned up, and goes by the second
        java(spark).java.lang.System.gc()
    heap = (runtime.totalMemory() - runtime.freeMemory()) / MIB
    below = tree(jvm)
    workers = [one.rss_mb for one in below if one.pid != jvm]
    return {
        "batch": number,
        "driver_python_mb": next(one.rss_mb for one in tree(os.getpid()) if one.pid == os.getpid()),
        "jvm_heap_mb": heap,
        "jvm_rss_mb": next(one.rss_mb for one in below if one.pid == jvm),
        "source_mb": sum(one.rss_mb for one in below if one.is_source),
        "workers_mb": sum(workers),
        "workers": len(workers),
    }


def watch(bootstrap: str, topic: str, kind: str, batches: int, each: int) -> dict[str, Any]:
    """One query over `batches` micro-batches of `each` records."""
    from spark_session import KEEP_LITTLE, jvm_pid, started

    given = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(each),
    }
    step = max(1, batches // SAMPLES)
    with (
        tempfile.TemporaryDirectory(prefix="kcore-bench-") as name,
        started(Path(name), KEEP_LITTLE) as spark,
    ):
        jvm, began = jvm_pid(spark), time.monotonic()
        query = (
            spark.readStream.format(kind)
            .options(**given)
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(Path(name) / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        samples: list[dict[str, float]] = []
        due = step
        number = 0
        while query.isActive and number < batches and time.monotonic() - began < TIMEOUT_S - 50:
            progress = query.lastProgress
            number = 0 if progress is None else int(progress.batchId) + 1
            if number >= due:
                samples.append(sample(spark, jvm, number))
                due = (number // step + 1) * step
            time.sleep(0.05)
        error = query.exception()
        if error is not None or not query.isActive:
            raise SystemExit(f"{kind}: the query has ended after {number} micro-batches: {error}")
        took = [one.durationMs["triggerExecution"] for one in query.recentProgress]
        query.stop()
        return {
            "kind": kind,
            "batches": number,
            "wall_s": time.monotonic() - began,
            "trigger_ms": took,
            "samples": samples,
        }


def measure(bootstrap: str, batches: int, each: int = 100) -> dict[str, Any]:
    """Both connectors, at the same time: memory is not about speed."""
    from topics import Shape, fill

    shape = Shape((batches + batches // 10 + BEYOND) * each, 100, 4)
    fill(bootstrap, shape)
    words = [sys.executable, str(Path(__file__).resolve()), "--bootstrap", bootstrap]
    words += ["--topic", shape.topic, "--batches", str(batches), "--each", str(each)]
    running = {
        kind: subprocess.Popen(
            [*words, "--kind", kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for kind in ("kafka", "kcore")
    }
    runs = {}
    try:
        for kind, process in running.items():
            said, errors = process.communicate(timeout=TIMEOUT_S)
            if process.returncode:
                raise SystemExit(f"memory, {kind}:\n{said}{errors}")
            runs[kind] = json.loads(said.splitlines()[-1])
    finally:
        for process in running.values():
            if process.poll() is None:
                process.terminate()
    return {"each": each, "runs": runs}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--kind", required=True)
    parser.add_argument("--batches", type=int, default=1_000)
    parser.add_argument("--each", type=int, default=100)
    asked = parser.parse_args()
    print(json.dumps(watch(asked.bootstrap, asked.topic, asked.kind, asked.batches, asked.each)))
