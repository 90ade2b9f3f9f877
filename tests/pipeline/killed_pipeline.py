"""The driver that test_spark_killed.py kills: topic `in` to topic `out` and to Parquet files.

usage: killed_pipeline.py BOOTSTRAP FOLDER
"""

import sys
import time
from pathlib import Path

from kcore.pipeline.jobs.session import session


def slowly(batches):
    """A few rows at a time, so that a task can be hit in the midst of its writing."""
    for batch in batches:
        for begin in range(0, batch.num_rows, 5):
            time.sleep(0.05)
            yield batch.slice(begin, 5)


def main(bootstrap, folder):
    settings = {
        "spark.driver.memory": "500m",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "5",
    }
    with session("local[2,4]", "killed", more=settings) as spark:  # a task has four tries
        spark.sparkContext.setLogLevel("OFF")
        run(spark, bootstrap, folder)


def run(spark, bootstrap, folder):
    rows = (
        spark.readStream.format("kcore")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "in")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 100)
        .option("minRecordsPerPartition", 1)  # a record costs more than a task here
        .load()
    )
    slow = rows.select("value").mapInArrow(slowly, "value binary")
    to_topic = slow.writeStream.format("kcore")
    to_topic = to_topic.option("kafka.bootstrap.servers", bootstrap).option("topic", "out")
    to_files = rows.selectExpr("cast(value as string) as value").writeStream.format("parquet")
    to_files = to_files.option("path", str(folder / "files"))
    queries = [
        writer.option("checkpointLocation", str(folder / name)).trigger(availableNow=True).start()
        for name, writer in [("topic", to_topic), ("parquet", to_files)]
    ]
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
