"""Reading and writing through Spark, in a few words; `kind` is the format: ours or Spark's own."""

import json

from secure_kafka import PASSWORD, USER

DEADLINE_S = 90


def _with(part, bootstrap, given):
    part = part.option("kafka.bootstrap.servers", bootstrap)
    for name, value in given.items():
        part = part.option(name.replace("__", "."), value)
    return part


def load(spark, bootstrap, kind="kcore", **given):
    return _with(spark.read.format(kind), bootstrap, given).load()


def stream(spark, bootstrap, kind="kcore", **given):
    return _with(spark.readStream.format(kind), bootstrap, given).load()


def save(rows, bootstrap, kind="kcore", **given):
    _with(rows.write.format(kind).mode("append"), bootstrap, given).save()


class Collected:
    """A stream run into memory: rows by micro-batch, and the progress of each.

    folder: of the checkpoint. Every other option is the source's.
    """

    def __init__(self, spark, bootstrap, folder, kind="kcore", trigger=None, **given):
        self.batches = {}
        rows = stream(spark, bootstrap, kind, **given)
        self.query = (
            rows.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", str(folder))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )

    def _take(self, rows, number):
        self.batches[number] = [tuple(row) for row in places(rows)]

    def wait(self):
        """Until it has ended; raises what it ended with."""
        try:
            assert self.query.awaitTermination(DEADLINE_S), "the query goes on and on"
        finally:
            self.query.stop()
        return self

    @property
    def rows(self):
        return sorted(row for rows in self.batches.values() for row in rows)

    @property
    def sizes(self):
        return [len(rows) for _, rows in sorted(self.batches.items()) if rows]

    @property
    def progress(self):
        """(start, end, latest) of each micro-batch with rows, as objects."""
        found = []
        for one in self.query.recentProgress:
            source = one.sources[0]
            if one.numInputRows:
                said = (source.startOffset, source.endOffset, source.latestOffset)
                found.append(tuple(text and json.loads(text) for text in said))
        return found


def places(rows):
    """(topic, partition, offset, value) of all rows."""
    return rows.select("topic", "partition", "offset", "value").collect()


def words(rows):
    """(topic, partition, offset, value), in order, as plain values."""
    return sorted(
        (row.topic, row.partition, row.offset, row.value and bytes(row.value))
        for row in places(rows)
    )


def security(kafka, password=PASSWORD):
    """The options for the listener SASLTLS of a SecureKafka."""
    login = f'scram.ScramLoginModule required username="{USER}" password="{password}";'
    return {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f"org.apache.kafka.common.security.{login}",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(kafka.certificates.ca),
    }
