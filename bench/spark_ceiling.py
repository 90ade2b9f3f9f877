"""A source and a sink of PySpark that cost nothing: what is left is PySpark's own.

The source gives one Arrow record batch again and again, made when a worker is first asked; with the
columns of Kafka's, in batches of the size that ours hands on. The sink drops what it is given. What
ours does in a worker so that PySpark takes less there (`pipeline/workers.py`) they do as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kcore.pipeline.workers import SentToWorkers, settle

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
KEY = b"k0000000"


@lru_cache(maxsize=4)
def batch(topic: str, rows: int, value_bytes: int, texts: bool) -> pa.RecordBatch:
    """Rows that are all the same. texts: values alone, as strings."""
    if texts:
        return pa.RecordBatch.from_pydict({"value": pa.array(["v" * value_bytes] * rows)})
    columns = {
        "key": pa.array([KEY] * rows, pa.binary()),
        "value": pa.array([b"v" * value_bytes] * rows, pa.binary()),
        "topic": pa.array([topic] * rows, pa.string()),
        "partition": pa.array([0] * rows, pa.int32()),
        "offset": pa.array(range(rows), pa.int64()),
        "timestamp": pa.array([0] * rows, pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array([0] * rows, pa.int32()),
    }
    return pa.RecordBatch.from_pydict(columns)


class Rows(InputPartition):
    """So many of them."""

    def __init__(self, rows: int) -> None:
        super().__init__(None)
        self.rows = rows


class CeilingReader(SentToWorkers, DataSourceReader):
    """options: topic, rows, partitions, value_bytes, batch_rows."""

    def __init__(self, options: Mapping[str, str], *, texts: bool) -> None:
        self.topic = options["topic"]
        self.rows = int(options["rows"])
        self.tasks = int(options["partitions"])
        self.value_bytes = int(options["value_bytes"])
        self.batch_rows = int(options["batch_rows"])
        self.texts = texts

    def split(self, rows: int) -> list[Rows]:
        cuts = [rows * part // self.tasks for part in range(self.tasks + 1)]
        return [Rows(end - begin) for begin, end in pairwise(cuts)]

    def partitions(self) -> Sequence[InputPartition]:
        return self.split(self.rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        settle()
        left = partition.rows
        full = batch(self.topic, self.batch_rows, self.value_bytes, self.texts)
        while left > 0:
            yield full if left >= full.num_rows else full.slice(0, left)
            left -= full.num_rows


class CeilingStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The same in micro-batches; an offset is how many rows were before it. options: limit."""

    def __init__(self, options: Mapping[str, str], *, texts: bool) -> None:
        self.inner = CeilingReader(options, texts=texts)
        self.limit = int(options.get("limit", "0"))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.limit) if self.limit else ReadAllAvailable()

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        end = self.inner.rows
        if isinstance(limit, ReadMaxRows):
            end = min(end, start["rows"] + limit.max_rows)
        return {"rows": end}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """All of it is there."""

    def partitions(
        self, start: Mapping[str, int], end: Mapping[str, int]
    ) -> Sequence[InputPartition]:
        return self.inner.split(end["rows"] - start["rows"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.inner.read(partition)


class Dropped(SentToWorkers, DataSourceArrowWriter):
    """Takes every batch and lets it go."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        settle()
        for _ in iterator:
            pass
        return WriterCommitMessage()


def _is_texts(schema: Any) -> bool:
    return bool(schema.simpleString() == "struct<value:string>")


class CeilingSource(DataSource):
    """format("ceiling")."""

    @classmethod
    def name(cls) -> str:
        return "ceiling"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return CeilingReader(self.options, texts=_is_texts(schema))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        return CeilingStreamReader(self.options, texts=_is_texts(schema))

    def writer(self, schema: Any, overwrite: bool) -> Any:  # noqa: ARG002
        return Dropped()
