"""The sink `kcore`: rows of a DataFrame as records, with the columns of Spark's own Kafka sink.

    value (needed), key: string or binary      partition: int
    topic: string, unless the option says it   headers: array<struct<key: string, value: binary>>

At least once, as Spark's own: a task that is tried again writes its rows again. Within one attempt
nothing is written twice (the producer is idempotent). A task is over when every row is delivered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from kcore.pipeline.errors import OptionError, PlanError
from kcore.pipeline.options import SinkOptions
from kcore.pipeline.workers import SentToWorkers, settle

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

_TYPES = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}


def check_mode(*, overwrite: bool) -> None:
    """Topics are appended to; a mode that replaces what is there is refused."""
    if overwrite:
        raise OptionError("mode", "'overwrite' is not possible: records can only be appended")


def check_columns(options: SinkOptions, schema: StructType) -> None:
    """PlanError: columns that are missing, unknown, or of the wrong type."""
    found = {field.name: field.dataType.simpleString() for field in schema.fields}
    for name, kind in found.items():
        wanted = _TYPES.get(name)
        if wanted is None:
            raise PlanError(
                f"column {name!r} means nothing to the sink: it takes {', '.join(_TYPES)}; "
                "select those, or put the rest into `value`, such as with to_json(struct(*))"
            )
        if kind.replace(" ", "") not in wanted:
            raise PlanError(f"column {name!r} is {kind}: it has to be {' or '.join(wanted)}")
    if "value" not in found:
        raise PlanError("there is no column 'value'")
    if "topic" not in found and options.topic is None:
        raise PlanError("no topic: give option 'topic', or a column of that name")


class Written(WriterCommitMessage):
    """What a task has written. rows: all of them delivered."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


def write(options: SinkOptions, batches: Iterator[RecordBatch]) -> Written:
    """Deliver every row; whatever the producer raises."""
    from kcore.pipeline.producers import lend  # noqa: PLC0415 - only in workers

    settle()
    rows = 0
    with lend(options) as producer:
        pending: list[Any] = []
        for batch in batches:
            pending += [
                producer.send_arrow(table, topic=options.topic)
                for table in _by_topic(options, batch)
            ]
            rows += batch.num_rows
            while pending and (pending[0].is_done or len(pending) > 64):
                pending.pop(0).get()
        producer.flush()
        for table in pending:
            table.get()
    return Written(rows)


def _by_topic(options: SinkOptions, batch: RecordBatch) -> Iterator[RecordBatch]:
    """The rows as they are, or one topic after the other where a column names it: rows of many
    topics in turns would otherwise be taken a few at a time. The option counts before the column.
    """
    if "topic" not in batch.schema.names:
        yield batch
        return
    if options.topic is not None:
        yield batch.drop_columns(["topic"])
        return
    import pyarrow.compute as pc  # noqa: PLC0415 - only in workers

    column = batch.column("topic")
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise PlanError(f"a row (number {row} of its batch) has no topic")
    names = pc.unique(column)
    if len(names) == 1:
        yield batch
        return
    for name in names:
        yield batch.filter(pc.equal(column, name))


class KcoreWriter(SentToWorkers, DataSourceArrowWriter):
    """A batch write."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(options, schema)
        self.options = options

    def write(self, iterator: Iterator[RecordBatch]) -> WriterCommitMessage:
        """A task."""
        return write(self.options, iterator)


class KcoreStreamWriter(SentToWorkers, DataSourceStreamArrowWriter):
    """A streaming write."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(options, schema)
        self.options = options

    def write(self, iterator: Iterator[RecordBatch]) -> WriterCommitMessage:
        """A task of a micro-batch."""
        return write(self.options, iterator)

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 - Spark's
        """Everything is delivered already."""

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: N803
        """Nothing can be taken back: rows of tasks that were done will come again."""
