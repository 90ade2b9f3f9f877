"""What it costs to plan a read of many partitions, as Spark's planner has it done.

`python bench/spark_planning.py --bootstrap HOST:PORT --topic T` is one such process: it asks the
cluster (Metadata, ListOffsets), splits, and pickles the partitions for Spark, as
pyspark/sql/worker/plan_data_source_read.py does; then the same for a stream, whose offsets pass as
JSON. It prints one line of JSON: seconds by the clock and of CPU, by step.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH_PARTITIONS = 5_000  # that Kafka's controller makes in one request
TIMEOUT_S = 120
# As Spark's own has it; by default ours packs ranges as small as these, and plans less.
A_TASK_EACH = {"minRecordsPerPartition": "1"}


class Steps:
    """Each with what it took."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}

    def take(self, name: str, step: Callable[[], Any]) -> Any:
        began, cpu = time.monotonic(), time.process_time()
        given = step()
        self.found[name] = {
            "wall_s": time.monotonic() - began,
            "cpu_s": time.process_time() - cpu,
        }
        return given


def plan(bootstrap: str, topic: str) -> dict[str, Any]:
    """A batch query and two micro-batches."""
    from pyspark.serializers import CPickleSerializer

    steps = Steps()
    # The planner's process has imported this before it is asked.
    source_class = steps.take("import", _imported)
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, **A_TASK_EACH}
    source = source_class(given)
    schema = _schema(source.schema())
    reader = source.reader(schema)
    parts = steps.take("batch: partitions", reader.partitions)
    pickle = CPickleSerializer()
    pickles = steps.take("batch: pickles", lambda: [pickle.dumps(part) for part in parts])

    stream = source_class(given | {"startingOffsets": "earliest"}).streamReader(schema)
    begin = steps.take("stream: first offsets", lambda: json.dumps(stream.initialOffset()))
    limit = stream.getDefaultReadLimit()

    def micro_batch() -> int:
        start = json.loads(begin)
        end = json.dumps(stream.latestOffset(start, limit))
        found = stream.partitions(json.loads(begin), json.loads(end))
        return sum(len(pickle.dumps(part)) > 0 for part in found)

    steps.take("stream: micro-batch", micro_batch)
    count = steps.take("stream: next micro-batch", micro_batch)
    stream.stop()
    if count != len(parts):
        raise SystemExit(f"{count} partitions in the stream, {len(parts)} in the batch")
    return {"partitions": len(parts), "bytes": sum(map(len, pickles)), "steps": steps.found}


def _schema(text: str) -> Any:
    """As Spark hands it to the planner; its own parser of such text is in the JVM."""
    from pyspark.sql.types import StructType

    schema = StructType()
    for column in text.split(", "):
        name, kind = column.split(" ")
        schema.add(name, {"int": "integer", "bigint": "long"}.get(kind, kind))
    return schema


def _imported() -> Any:
    from kcore.pipeline import KcoreDataSource

    return KcoreDataSource


# The other side: a topic to plan for -------------------------------------------------------------


def fill_each(bootstrap: str, topic: str, partitions: int) -> None:
    """Make a topic of many partitions with a record in each, unless it is there."""
    from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

    from kcore import Producer

    admin = AdminClient({"bootstrap.servers": bootstrap})
    if topic in admin.list_topics(timeout=TIMEOUT_S).topics:
        return
    waits = {"operation_timeout": TIMEOUT_S, "request_timeout": TIMEOUT_S}
    first = min(partitions, BATCH_PARTITIONS)
    for future in admin.create_topics([NewTopic(topic, first, 1)], **waits).values():
        future.result()
    for count in range(2 * first, partitions + 1, first):
        for future in admin.create_partitions([NewPartitions(topic, count)], **waits).values():
            future.result()
    give_up = time.monotonic() + TIMEOUT_S
    while len(admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions) < partitions:
        if time.monotonic() > give_up:
            raise SystemExit(f"{topic} has not got its partitions")
        time.sleep(0.2)
    with Producer(bootstrap_servers=bootstrap, linger_ms=100, max_block_ms=60_000) as producer:
        for number in range(partitions):
            producer.send(topic, b"v", partition=number)
        producer.flush(TIMEOUT_S)


def measure(spark: Any, bootstrap: str, partitions: int, rounds: int) -> dict[str, Any]:
    """Planning alone, a process a round; and through Spark, both connectors in turns."""
    from functools import partial

    from rounds import last_line
    from spark_session import jvm_pid, timed
    from spark_speed import side_by_side

    topic = f"bench-{partitions}-partitions"
    fill_each(bootstrap, topic, partitions)
    words = [sys.executable, str(Path(__file__).resolve()), "--bootstrap", bootstrap]
    alone = [last_line([*words, "--topic", topic]) for _ in range(rounds)]
    jvm = jvm_pid(spark)
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}

    def planned(kind: str) -> int:
        more = A_TASK_EACH if kind == "kcore" else {}
        frame = spark.read.format(kind).options(**given, **more).load()
        return int(frame._jdf.queryExecution().toRdd().getNumPartitions())  # noqa: SLF001

    runs = side_by_side(
        {
            kind: partial(timed, jvm, partitions, partial(planned, kind))
            for kind in ("kafka", "kcore")
        },
        rounds,
    )
    for kind, figures in runs.items():
        if {one["found"] for one in figures} != {partitions}:
            raise SystemExit(f"{kind} plans something else: {figures}")
    return {"partitions": partitions, "alone": alone, "runs": runs}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    asked = parser.parse_args()
    print(json.dumps(plan(asked.bootstrap, asked.topic)))
