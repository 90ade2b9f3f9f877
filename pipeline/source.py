"""The data source `kcore`: schema, options and meaning of Spark's own `kafka` source, and no jar.

The driver plans ranges of offsets; a task reads one of them as Arrow record batches (reading.py).
Source: PySpark's Python data source API (pyspark.sql.datasource, 4.2 for admission control).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kcore.pipeline import offsets as json_offsets
from kcore.pipeline.admission import Admission, Idling
from kcore.pipeline.cluster import Cluster
from kcore.pipeline.columns import Columns
from kcore.pipeline.errors import DataLossError, OptionError, PlanError
from kcore.pipeline.offsets import Offsets, listed
from kcore.pipeline.options import SourceOptions, sink_options, source_options
from kcore.pipeline.planning import OffsetRange, limit_offsets, pack, split
from kcore.pipeline.workers import SentToWorkers, settle
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

log = logging.getLogger("kcore.pipeline")


class KcoreDataSource(DataSource):
    """Reads and writes Kafka topics, in batches and as a stream: `format("kcore")`."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._query_id = uuid4().hex

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "kcore"

    def schema(self) -> str:
        """The columns of Spark's Kafka source."""
        wanted = {name.lower(): value for name, value in self.options.items()}
        headers = wanted.get("includeheaders", "false").strip().lower() == "true"
        return Columns.all(headers=headers).ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        """For a batch query. OptionError; PlanError: a schema of columns that there are not."""
        options = self._source_options(schema, streaming=False)
        return KcoreReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """For a streaming query. OptionError and PlanError (columns that there are not) come from
        whatever the reader is asked first.
        """
        try:
            options = self._source_options(schema, streaming=True)
        except (OptionError, PlanError) as error:
            return RefusedStreamReader(error)
        return KcoreStreamReader(options)

    def _source_options(self, schema: StructType, *, streaming: bool) -> SourceOptions:
        options = source_options(self.options, streaming=streaming)
        return replace(options, query_id=self._query_id, columns=Columns.of(schema))

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """For a batch write. OptionError; PlanError: columns that cannot be written."""
        from kcore.pipeline.sink import KcoreWriter, check_mode  # noqa: PLC0415

        check_mode(overwrite=overwrite)
        return KcoreWriter(sink_options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: ARG002, N802
        """For a streaming write. OptionError; PlanError: columns that cannot be written."""
        from kcore.pipeline.sink import KcoreStreamWriter  # noqa: PLC0415

        return KcoreStreamWriter(sink_options(self.options), schema)


class RangePartition(InputPartition):
    """One task's ranges, read one after the other."""

    def __init__(self, *ranges: OffsetRange) -> None:
        super().__init__(None)
        self.ranges = ranges

    def __repr__(self) -> str:
        return ", ".join(
            f"{one.topic}-{one.partition}[{one.begin}, {one.end})" for one in self.ranges
        )


def _ranges(begin: Offsets, end: Offsets) -> list[OffsetRange]:
    return [OffsetRange(*tp, begin[tp], end[tp]) for tp in sorted(end) if tp in begin]


def _tasks(options: SourceOptions, ranges: list[OffsetRange]) -> list[RangePartition]:
    pieces = split(
        ranges,
        min_partitions=options.min_partitions,
        max_records=options.max_records_per_partition,
    )
    packed = pack(pieces, options.min_records_per_partition, options.min_partitions)
    return [RangePartition(*taken) for taken in packed]


def _read(options: SourceOptions, partition: InputPartition) -> Iterator[RecordBatch]:
    from kcore.pipeline.reading import read_range  # noqa: PLC0415 - only in workers

    if not isinstance(partition, RangePartition):
        return iter(())  # what PySpark makes of a plan without partitions
    settle()
    return chain.from_iterable(read_range(options, one) for one in partition.ranges)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class KcoreReader(SentToWorkers, DataSourceReader):
    """A batch query."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges between both bounds. PlanError: they cannot be."""
        cluster = Cluster(self.options)
        try:
            found = cluster.partitions()
            begin = cluster.resolve(self.options.starting, found)
            end = cluster.resolve(self.options.ending, found)
        finally:
            cluster.close()
        wrong = {tp for tp in found if begin[tp] > end[tp]}
        if wrong:
            first = min(wrong)
            raise PlanError(
                f"{self.options.starting.option} is behind {self.options.ending.option} in "
                f"{listed(wrong)}: {first.topic}-{first.partition} would be read from "
                f"{begin[first]} to {end[first]}"
            )
        return _tasks(self.options, _ranges(begin, end))

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """A task's records."""
        return _read(self.options, partition)


class KcoreStreamReader(SentToWorkers, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query: each micro-batch is a set of ranges from the last one's end."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self._cluster: Cluster | None = None
        self._latest: Offsets | None = None
        self._target: Offsets | None = None  # of Trigger.AvailableNow
        self._initial: dict[str, Any] | None = None
        self._held: Offsets = {}  # where the first micro-batch reads nothing
        self._admission = Admission(options.min_offsets_per_trigger, options.max_trigger_delay_ms)
        self._idling = Idling()

    def __getstate__(self) -> dict[str, Any]:
        # Tasks get the options; connections stay with the driver.
        mine = dict.fromkeys(("_cluster", "_initial", "_latest", "_target"))
        return {**self.__dict__, **mine}

    def _ask(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self.options)
        return self._cluster

    # Offsets -------------------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's
        """Where a new query begins: Spark asks again when it runs the first micro-batch, and by
        then the end has moved, or partitions have come that this one reads.
        """
        if self._initial is None:
            self._initial = json_offsets.to_mapping(self._find_initial())
        return self._initial

    def _find_initial(self) -> Offsets:
        cluster = self._ask()
        found = cluster.resolve(self.options.starting, cluster.partitions())
        if self._target is not None:  # the end is where it was when that was asked for
            found |= {tp: self._target.get(tp, found[tp]) for tp in cluster.at_end}
            # A beginning that records had not come to by then: nothing of it is read yet.
            self._target |= {tp: max(end, found.get(tp, end)) for tp, end in self._target.items()}
        # Spark writes down where a micro-batch ends, but not where the first one began. Where that
        # is the end of the log, which moves, the first one is empty: should it be run again, from
        # another beginning, nothing is left out.
        self._held = {tp: found[tp] for tp in cluster.at_end}
        return found

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What maxOffsetsPerTrigger says; minOffsetsPerTrigger is seen to in `latestOffset`."""
        if self.options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self.options.max_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, Any], limit: ReadLimit
    ) -> dict[str, Any]:
        """Where the next micro-batch ends: `start` if there is to be none yet."""
        if self._target is not None:
            return self._end_of_batch(start, limit)
        time.sleep(self._idling.pause_ms(_now_ms()) / 1000)
        end = self._end_of_batch(start, limit)
        self._idling.answered(_now_ms(), new=end != start)
        return end

    def _end_of_batch(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:
        begin = json_offsets.from_mapping(start)
        latest = self._fetch_latest(begin) if self._target is None else self._whole_target(begin)
        latest = self._latest = self._with_hidden(begin, latest)
        is_cut = self._check_ends(begin, latest)
        full = self._with_new(begin, latest)
        now_ms = _now_ms()
        # What is gone is said once: the next question begins where this micro-batch ends.
        waits = self._target is None and not is_cut
        if waits and not self._admission.admits(full, latest, now_ms):
            return dict(start)
        end = latest
        if isinstance(limit, ReadMaxRows):
            end = limit_offsets(full, latest, limit.max_rows)
        held, self._held = self._held, {}
        end = {tp: begin[tp] if begin.get(tp) == held.get(tp, -1) else end[tp] for tp in end}
        if any(end[tp] > full.get(tp, end[tp]) for tp in end):
            self._admission.took(now_ms)
        return json_offsets.to_mapping(end)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """The latest offsets as last seen."""
        return None if self._latest is None else json_offsets.to_mapping(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Nothing that comes after this moment is read."""
        self._target = self._fetch_latest({})

    def _fetch_latest(self, begin: Offsets) -> Offsets:
        cluster = self._ask()
        return cluster.latest(cluster.partitions(begin))

    def _whole_target(self, begin: Offsets) -> Offsets:
        """The end of Trigger.AvailableNow. It was asked for before anything was known of `begin`: a
        topic that was not there then is looked for again.
        """
        target = self._target or {}
        if begin.keys() - target.keys():
            found = self._fetch_latest(begin)
            more = begin.keys() & found.keys() - target.keys()
            target = self._target = target | {tp: found[tp] for tp in more}
        return target

    def _with_hidden(self, begin: Offsets, latest: Offsets) -> Offsets:
        """`latest` with the position itself where that is behind what is committed: it was reached
        by a query that read what was not, and nothing is gone.
        """
        behind = {tp for tp, offset in begin.items() if latest.get(tp, offset) < offset}
        if not behind or not self.options.is_committed:
            return latest
        written = self._ask().written(behind)
        return latest | {tp: begin[tp] for tp in behind if begin[tp] <= written[tp]}

    def _check_ends(self, begin: Offsets, latest: Offsets) -> bool:
        """A log that ends before a position has lost records: DataLossError; where that is allowed,
        the query goes on at that end (as Spark's own). Whether there is such a one.
        """
        is_cut = False
        for tp, offset in begin.items():
            end = latest.get(tp)
            if end is None or end < offset:
                is_cut = True
                gone = "is gone" if end is None else f"ends at {end}"
                self._report_loss(
                    f"{tp.topic}-{tp.partition} {gone}, and was read up to {offset}: the topic was "
                    "deleted or made anew, or its log was truncated",
                    tp,
                    0 if end is None else end,
                    offset,
                )
        return is_cut

    def _with_new(self, begin: Offsets, latest: Offsets) -> Offsets:
        """`begin` with the partitions that are new since: they are read from their first offset.
        Without those that are gone again: a micro-batch may be one that an earlier run has planned.
        """
        added = latest.keys() - begin.keys()
        if not added:
            return begin
        cluster = self._ask()
        first = cluster.earliest(added & cluster.partitions(added))
        for tp in sorted(added):
            if tp not in first:
                self._report_loss(
                    f"{tp.topic}-{tp.partition} is gone, and was to be read up to {latest[tp]}: "
                    "the topic was deleted or made anew",
                    tp,
                    0,
                    latest[tp],
                )
            elif first[tp] > 0:
                self._report_loss(
                    f"{tp.topic}-{tp.partition} is new to this query, and begins at {first[tp]} "
                    "instead of 0: records of it may be gone",
                    tp,
                    0,
                    first[tp],
                )
        return {**begin, **first}

    def _report_loss(self, text: str, tp: TopicPartition, begin: int, end: int) -> None:
        if self.options.fail_on_data_loss:
            raise DataLossError(text, tp, begin, end)
        log.warning("%s; going on, as failOnDataLoss is false", text)

    # Tasks ---------------------------------------------------------------------------------------

    def partitions(
        self, start: Mapping[str, Any], end: Mapping[str, Any]
    ) -> Sequence[InputPartition]:
        """The ranges of a micro-batch."""
        until = json_offsets.from_mapping(end)
        begin = self._with_new(json_offsets.from_mapping(start), until)
        return _tasks(self.options, _ranges(begin, until))

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """A task's records."""
        return _read(self.options, partition)

    def stop(self) -> None:
        """The query has ended."""
        if self._cluster is not None:
            self._cluster.close()


class RefusedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Of a stream whose options cannot be: every question raises why.

    Raised where a reader is made, it would not be the last word: PySpark (4.2, 4.3) stops the
    reader that it has not got, and its text ends with the UnboundLocalError of that.
    """

    def __init__(self, why: OptionError | PlanError) -> None:
        self._why = why

    def _refuse(self, *_asked: Any, **_by_name: Any) -> NoReturn:
        raise self._why

    initialOffset = getDefaultReadLimit = latestOffset = reportLatestOffset = _refuse  # noqa: N815
    prepareForTriggerAvailableNow = partitions = read = commit = _refuse  # noqa: N815
