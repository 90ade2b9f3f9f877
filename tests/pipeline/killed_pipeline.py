"""The driver that test_spark_killed.py kills: topic `in` to topic `out` and to Parquet files.

usage: killed_pipeline.py BOOTSTRAP FOLDER
"""

import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from kcore.pipeline import KcoreDataSource


def slowly(batches):
    """A few rows at a time, so that a task can be hit in the midst of its writing."""
    for batch in batches:
        for begin in range(0, batch.num_rows, 5):
            time.sleep(0.05)
            yield batch.slice(begin, 5)


def main(bootstrap, folder):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2,4]")  # a task has four tries
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "500m")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "5")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(KcoreDataSource)
    rows = (
        spark.readStream.format("kcore")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "in")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 100)
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
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
