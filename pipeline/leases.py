"""Consumers kept between tasks: one for each partition and set of options, lent to one at a time.

A consumer that comes back goes on where it was: what it had fetched beyond the last range is the
beginning of the next. Those nobody asks for are closed after a while (Spark's own source: the
consumer pool, spark.kafka.consumer.cache.timeout).
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kcore import Consumer
from kcore.connection.backoff import exponential
from kcore.pipeline.cluster import questions
from kcore.pipeline.options import SourceOptions
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from pyarrow import RecordBatch

IDLE_S: Final = 300.0
KEPT_MAX: Final = 64
# What they may hold together of what was fetched ahead: some six MB each while there is a backlog.
KEPT_BYTES: Final = 67_108_864
# Instead of what consumers of many partitions have: this one has a single one, and an answer costs
# much the same whether it brings 1 MiB (the default) or three. Below FETCH_AHEAD_BYTES, so that the
# next request still leaves before the first record is handed over. And a request that waits at the
# end of the log holds up whoever is sent elsewhere by then, while what tasks read is there.
_CLIENT: Final = {
    "max_buffered_bytes": 33_554_432,
    "max_partition_fetch_bytes": 3_145_728,
    "fetch_max_wait_ms": 20,
}


class Lease:
    """A consumer of one partition, and what it has read too much of."""

    def __init__(self, key: tuple[Any, ...], options: SourceOptions, tp: TopicPartition) -> None:
        self.key = key
        self.used_at = time.monotonic()
        self._tp = tp
        self._columns = options.columns
        client = {**_CLIENT, **options.client}
        client.setdefault("client_id", f"kcore-{tp.topic}-{tp.partition}")  # else quotas go by it
        client.setdefault("default_api_timeout_ms", min(60_000, options.poll_timeout_ms))
        self._consumer = Consumer(**client)
        self._consumer.assign([tp])
        self._position = -1  # what the next record would be, rest and all
        self._rest: RecordBatch | None = None

    def seek(self, offset: int, *, again: bool = False) -> None:
        """Go on reading here. again: even if reading is there, as after an error."""
        if again or offset != self._position:
            self._rest = None
            self._consumer.seek(self._tp, offset)
            self._position = offset

    def back_off(self, times: int) -> None:
        """The leader has not what it says that it has: give it a while, longer each time."""
        config: Any = self._consumer.config
        base_ms, max_ms = config["retry_backoff_ms"], config["retry_backoff_max_ms"]
        time.sleep(exponential(times, base_ms, max_ms, Random()) / 1000)

    @property
    def held_bytes(self) -> int:
        """Memory of what is fetched and not read yet."""
        rest = 0 if self._rest is None else self._rest.get_total_buffer_size()
        return rest + self._consumer.buffered_bytes

    def empty(self) -> None:
        """Let go of what is fetched; it is fetched again when it is asked for."""
        self.seek(self._position, again=True)

    def poll(self, timeout_ms: int) -> RecordBatch | None:
        """The next records; None: none came."""
        from pyarrow import record_batch  # noqa: PLC0415 - only in workers

        if self._rest is not None:
            rest, self._rest = self._rest, None
            return rest
        found = self._consumer.poll_arrow(timeout_ms, columns=self._columns.fetched)
        batch: RecordBatch = record_batch(found)
        return batch if batch.num_rows else None

    def cut(self, batch: RecordBatch, end: int) -> tuple[RecordBatch, int]:
        """What of a batch is before an offset, and the offset behind it; the rest is kept."""
        column = batch.column("offset").to_numpy(zero_copy_only=True)
        count = int(column.searchsorted(end))
        if count < batch.num_rows:
            self._rest = batch.slice(count)
            self._position = end
            return batch.slice(0, count), end
        self._position = int(column[-1]) + 1
        return batch, self._position

    def position(self) -> int:
        """Where reading is: beyond gaps, too."""
        if self._rest is None:
            # None: the topic was made anew, which the next poll raises.
            found = self._consumer.position(self._tp, timeout_ms=0)
            self._position = max(self._position, found or 0)
        return self._position

    def limits(self) -> tuple[int, int] | None:
        """The first offset of the log and the one behind its last; None: there is no such log.
        KafkaTimeoutError: nobody can say now.
        """
        topic, partition = self._tp
        for _ in questions():
            if partition in self._consumer.fetch_partitions([topic]).get(topic, ()):
                break
        else:
            return None
        first = self._consumer.beginning_offsets([self._tp])[self._tp]
        return first, self._consumer.end_offsets([self._tp])[self._tp]

    def may_have(self, offset: int) -> bool:
        """Whether the leader has this record, be it readable or not, or has said nothing yet."""
        end = self._consumer.highwater(self._tp)
        return end is None or offset < end

    def health(self) -> str:
        """What the consumer says of the partition."""
        return str(self._consumer.health().get(self._tp, "not assigned"))

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close(autocommit=False)


class Leases:
    """Those that are not lent now. Safe for threads; a forked child begins with none."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], list[Lease]] = OrderedDict()
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def take(self, options: SourceOptions, tp: TopicPartition) -> Lease:
        """A consumer of this partition, kept or made."""
        client = sorted((name, str(value)) for name, value in options.client.items())
        # Never another query's: what was fetched for that one may be of a topic that is gone since.
        key = (options.query_id, tp, options.columns, *client)
        with self._lock:
            if self._pid != os.getpid():  # the parent's connections are not ours
                self._pid = os.getpid()
                self._kept.clear()
            late = self._drop_idle()
            kept = self._kept.get(key)
            lease = kept.pop() if kept else None
        for one in late:
            one.close()
        return Lease(key, options, tp) if lease is None else lease

    def give_back(self, lease: Lease, *, usable: bool) -> None:
        """A consumer is free again; unusable: nobody knows what it was at."""
        if not usable:
            lease.close()
            return
        lease.used_at = time.monotonic()
        with self._lock:
            self._kept.setdefault(lease.key, []).append(lease)
            self._kept.move_to_end(lease.key)
            late = self._drop_idle()
            self._empty_some()
        for one in late:
            one.close()

    def _drop_idle(self) -> list[Lease]:
        before = time.monotonic() - IDLE_S
        late: list[Lease] = []
        count = sum(map(len, self._kept.values()))
        for key in [*self._kept]:
            kept = self._kept[key]
            while kept and (kept[0].used_at < before or count > KEPT_MAX):
                late.append(kept.pop(0))
                count -= 1
            if not kept:
                del self._kept[key]
        return late

    def _empty_some(self) -> None:
        """Those that were used longest ago keep their connections only."""
        kept = [lease for leases in self._kept.values() for lease in leases]
        held = [lease.held_bytes for lease in kept]
        too_much = sum(held) - KEPT_BYTES
        for lease, size in zip(kept, held, strict=True):
            if too_much <= 0:
                break
            if size:
                lease.empty()
                too_much -= size

    def close(self) -> None:
        """Close all that are not lent."""
        with self._lock:
            kept = [lease for leases in self._kept.values() for lease in leases]
            self._kept.clear()
        for lease in kept:
            lease.close()
