"""What test_spark_secure.py submits to a cluster: everything that is planned, read, written and
failed with a password among the options, and said as loudly as Spark can say it.

usage: secret_pipeline.py BOOTSTRAP FOLDER CA JAAS-FILE
"""

import sys
from pathlib import Path

from pyspark.errors import PySparkException

from kcore.pipeline.jobs.session import session


def say(line):
    """In one piece: what Spark says meanwhile would come in between."""
    sys.stdout.write(f"{line}\n")


def main(bootstrap, folder, certificate, login):
    secure = {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": Path(login).read_text(),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": certificate,
    }
    with session(None, "secrets") as spark:
        spark.sparkContext.setLogLevel("INFO")
        rows = spark.read.format("kcore").options(**secure, subscribe="t").load()
        rows.explain(extended=True)
        print(rows._jdf.queryExecution().logical().toJSON())
        say(f"rows: {rows.count()}")
        found = spark.createDataFrame([("x",)], "value string")
        found.write.format("kcore").options(**secure, topic="t").mode("append").save()
        stream = spark.readStream.format("kcore").options(
            **secure, subscribe="t", startingOffsets="earliest"
        )
        query = (
            stream.load()
            .select("value")
            .writeStream.format("kcore")
            .options(**secure, topic="copy", checkpointLocation=f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        query.explain(extended=True)
        print(*(progress.json for progress in query.recentProgress))
        # A task that fails, and a plan that does.
        rows = spark.createDataFrame([("x", 99)], "value string, partition int")
        for fails in (
            lambda: rows.write.format("kcore").options(**secure, topic="t").mode("append").save(),
            lambda: spark.read.format("kcore").options(**secure, subscribe="none").load().count(),
        ):
            try:
                fails()
            except PySparkException as error:
                say(f"failed: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
