"""Calls that give many records at once as columns: `poll_batches` and `poll_arrow`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from kcore.clients import arguments
from kcore.clients.engine import Engine
from kcore.consumer.deserializers import normal_form

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig
    from kcore.records.arrow import ArrowBatch
    from kcore.records.batch import PartitionBatch
    from kcore.records.columns import Columns

T = TypeVar("T")


class Batches(ABC):
    """The part of Consumer that gives columns. The attributes are the consumer's."""

    _engine: Engine
    _settings: ConsumerConfig

    @abstractmethod
    def _poll(self, wait_ms: float, take: Callable[[int], T]) -> T | None: ...

    def poll_batches(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> list[PartitionBatch]:
        """`poll` with one object for many records: batches of one partition each, in order.

        A batch has `topic`, `partition`, a length, slices, records by index and iteration, and
        columns: `offsets`, `timestamps`, `keys`, `values`. A partition may come more than once.
        max_records: COLUMN_ROWS of kcore.limits unless given. Columns are as fetched, records come
        out of the deserializers: one that fails is raised where the record is looked at; the
        position is behind the batch by then. Keys and values lie in the fetched bytes: a batch, a
        slice or a column keeps the answers of its poll alive; a record or a `bytes` object does
        not.

        Raises what `poll` raises.
        """
        from kcore.records.batch import batches_of  # noqa: PLC0415 - for those who use it

        columns = self._poll_columns(timeout_ms, max_records, None, views=True, headers=True)
        if columns is None:
            return []
        settings = self._settings
        return batches_of(
            columns,
            key_deserializer=normal_form(settings.key_deserializer),
            value_deserializer=normal_form(settings.value_deserializer),
        )

    def poll_arrow(
        self,
        timeout_ms: float = 0,
        max_rows: int | None = None,
        max_bytes: int | None = None,
        *,
        views: bool = False,
        include_headers: bool = False,
        dictionary: bool = False,
        columns: Iterable[str] | None = None,
    ) -> ArrowBatch:
        """`poll` as one Arrow record batch: for pyarrow, polars, duckdb, nanoarrow, ...

        The columns are those of Spark's Kafka source: key, value, topic, partition, offset,
        timestamp (us, UTC), timestampType, and with `include_headers` headers. It has no rows if no
        records come within `timeout_ms`. Keys and values are as fetched: deserializers are not
        asked.

        max_rows, max_bytes (of keys, values and headers, on the wire): COLUMN_ROWS and COLUMN_BYTES
        of kcore.limits unless given; a first record that is larger comes nevertheless. What 32-bit
        offsets cannot hold waits for the next call.
        views: keys and values are `binary_view` over the fetched bytes, without a copy; the bytes
        stay alive with whatever was imported (docs/ARROW.md). dictionary: topic is
        dictionary-encoded.
        columns: the names of those that are wanted; the others are not made, which is faster. They
        come in the order above, "headers" among them if it is named.

        Raises what `poll` raises. IllegalArgumentError (a ValueError): a column that there is not,
        or none at all.
        """
        from kcore.records.arrow import FIELD_NAMES, ArrowBatch  # noqa: PLC0415 - for users
        from kcore.records.columns import Columns  # noqa: PLC0415

        wanted = arguments.column_names(columns, FIELD_NAMES, headers=include_headers)
        headers = "headers" in wanted
        taken = self._poll_columns(
            timeout_ms,
            max_rows,
            max_bytes,
            views=views,
            headers=headers,
            keys="key" in wanted,
            values="value" in wanted,
            name="max_rows",
        )
        if taken is None:
            taken = Columns(views=views, with_headers=headers)
        return ArrowBatch(taken, dictionary=dictionary, only=wanted)

    def _poll_columns(
        self,
        timeout_ms: float,
        max_rows: int | None,
        max_bytes: int | None,
        *,
        views: bool,
        headers: bool,
        keys: bool = True,
        values: bool = True,
        name: str = "max_records",
    ) -> Columns | None:
        rows = None if max_rows is None else arguments.record_count(max_rows, name)
        size = None if max_bytes is None else arguments.record_count(max_bytes, "max_bytes")
        wait_ms = arguments.timeout(timeout_ms, 0)
        with self._engine.guard:
            core = self._engine.core
            taken: Columns | None = self._poll(
                wait_ms,
                lambda now: core.take_columns(
                    rows,
                    size,
                    now,
                    views=views,
                    with_headers=headers,
                    with_keys=keys,
                    with_values=values,
                ),
            )
            return taken
