"""Calls that give many records at once as columns: `poll_batches` and `poll_arrow`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable

from kcore.clients import arguments
from kcore.clients.engine import Engine
from kcore.hints import TYPE_CHECKING, TypeVar
from kcore.settings.deserializers import normal_form
from kcore.values import Value

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig
    from kcore.records.arrow import ArrowBatch
    from kcore.records.batch import PartitionBatch
    from kcore.records.columns import Columns
    from kcore.structs import TopicPartition

T = TypeVar("T")
R = TypeVar("R")


class ArrowWish(Value):
    """What `poll_arrow` and its like are asked for. names: of the columns."""

    rows: int | None
    size: int | None
    views: bool
    headers: bool
    dictionary: bool
    names: frozenset[str]

    @classmethod
    def of(
        cls,
        max_rows: int | None,
        max_bytes: int | None,
        *,
        views: bool,
        include_headers: bool,
        dictionary: bool,
        columns: Iterable[str] | None,
    ) -> ArrowWish:
        """The arguments, checked. TypeError, IllegalArgumentError."""
        from kcore.records.arrow import FIELD_NAMES  # noqa: PLC0415 - for those who use it

        names = arguments.column_names(columns, FIELD_NAMES, headers=include_headers)
        rows = None if max_rows is None else arguments.record_count(max_rows, "max_rows")
        size = None if max_bytes is None else arguments.record_count(max_bytes, "max_bytes")
        return cls(rows, size, views, "headers" in names, dictionary, names)

    def take(
        self, engine: Engine, now_ms: int, only: Collection[TopicPartition] | None = None
    ) -> Columns:
        """What is at hand of it."""
        taken: Columns = engine.core.take_columns(
            self.rows,
            self.size,
            now_ms,
            views=self.views,
            with_headers=self.headers,
            with_keys="key" in self.names,
            with_values="value" in self.names,
            only=only,
        )
        return taken

    def batch(self, taken: Columns | None) -> ArrowBatch:
        """What was taken, or nothing, as Arrow."""
        from kcore.records.arrow import ArrowBatch  # noqa: PLC0415 - for those who use it
        from kcore.records.columns import Columns  # noqa: PLC0415

        if taken is None:
            taken = Columns(views=self.views, with_headers=self.headers)
        return ArrowBatch(taken, dictionary=self.dictionary, only=self.names)


class Batches(ABC):
    """The part of Consumer that gives columns. The attributes are the consumer's."""

    _engine: Engine
    _settings: ConsumerConfig

    @abstractmethod
    def _poll(
        self, wait_ms: float, take: Callable[[int], T], shape: Callable[[T | None], R]
    ) -> R: ...

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

        rows = None if max_records is None else arguments.record_count(max_records)
        wait_ms = arguments.timeout(timeout_ms, 0)
        core = self._engine.core
        settings = self._settings
        if self._engine.interceptors is not None:
            self._engine.interceptors.pass_by("poll_batches")

        def shape(columns: Columns | None) -> list[PartitionBatch]:
            if columns is None:
                return []
            return batches_of(
                columns,
                key_deserializer=normal_form(settings.key_deserializer),
                value_deserializer=normal_form(settings.value_deserializer),
            )

        return self._poll(
            wait_ms,
            lambda now: core.take_columns(rows, None, now, views=True, with_headers=True),
            shape,
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
        wish = ArrowWish.of(
            max_rows,
            max_bytes,
            views=views,
            include_headers=include_headers,
            dictionary=dictionary,
            columns=columns,
        )
        wait_ms = arguments.timeout(timeout_ms, 0)
        engine = self._engine
        if engine.interceptors is not None:
            engine.interceptors.pass_by("poll_arrow")
        return self._poll(wait_ms, lambda now: wish.take(engine, now), wish.batch)
