"""What a producer measures of itself, under the names of Java's and kafka-python's metrics.

Requests are those that carry records; a batch counts each time it is sent. Cheap: what is recorded
is recorded a batch or a request at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcore.meters import Group, Meter, Reading
from kcore.produce.batch import Batch

# Verbs of transactions, and how long they took in all (KIP-761).
_VERBS: Final = {
    "init_transactions": "txn-init-time-ns-total",
    "begin_transaction": "txn-begin-time-ns-total",
    "send_offsets_to_transaction": "txn-send-offsets-time-ns-total",
    "commit_transaction": "txn-commit-time-ns-total",
    "abort_transaction": "txn-abort-time-ns-total",
}


class _Sums:
    """What a request brings of a topic. packing: compressed / raw, of all batches. retried: records
    that were sent before.
    """

    __slots__ = ("batches", "bytes", "packing", "records", "retried")

    def __init__(self) -> None:
        self.batches = 0
        self.records = 0
        self.bytes = 0
        self.packing = 0.0
        self.retried = 0

    def add(self, batch: Batch, count: int, size_bytes: int) -> None:
        self.batches += 1
        self.records += count
        self.bytes += size_bytes
        self.packing += size_bytes / (batch.raw_bytes or 1)
        if batch.attempts > 1:
            self.retried += count


class _Topic:
    """Of one topic, or of all."""

    __slots__ = ("bytes", "errors", "packing", "records", "retries")

    def __init__(self, now_ms: int) -> None:
        self.records = Meter(now_ms)
        self.bytes = Meter(now_ms)
        self.packing = Meter(now_ms)  # compressed / raw
        self.retries = Meter(now_ms)
        self.errors = Meter(now_ms)

    def sent(self, sums: _Sums, now_ms: int) -> None:
        self.records.record_many(sums.records, sums.batches, 0, now_ms)
        self.bytes.record_many(sums.bytes, sums.batches, 0, now_ms)
        self.packing.record_many(sums.packing, sums.batches, 0, now_ms)
        if sums.retried:
            self.retries.record_many(sums.retried, 1, 0, now_ms)

    def tell(self, now_ms: int) -> Group:
        return {
            "record-send-rate": self.records.rate(now_ms),
            "record-send-total": self.records.total,
            "byte-rate": self.bytes.rate(now_ms),
            "byte-total": self.bytes.total,
            "record-retry-rate": self.retries.rate(now_ms),
            "record-retry-total": self.retries.total,
            "record-error-rate": self.errors.rate(now_ms),
            "record-error-total": self.errors.total,
        }


class Measures:
    """See the module's text."""

    def __init__(self, now_ms: int) -> None:
        self._all = _Topic(now_ms)
        self._topics: dict[str, _Topic] = {}
        self._latencies: dict[int, Meter] = {}  # ms, by node
        self._latency = Meter(now_ms)
        self._requests = Meter(now_ms)  # records of each
        self._batches = Meter(now_ms)  # bytes of each
        self._queued = Meter(now_ms)  # ms
        self._splits = Meter(now_ms)
        self.verbs: Group = dict.fromkeys(_VERBS.values(), 0.0)  # of transactions, ns

    def verb_took(self, verb: str, elapsed_ns: int) -> None:
        """Whoever called that verb of a transaction has waited so long for its good end."""
        self.verbs[_VERBS[verb]] += elapsed_ns

    def sent(self, batches: Iterable[Batch], now_ms: int) -> None:
        """A request with these was begun."""
        count = largest = 0
        topics: dict[str, _Sums] = {}
        for batch in batches:
            size, records = len(batch.data or b""), batch.record_count
            count += records
            largest = max(largest, size)
            if batch.attempts <= 1:
                self._queued.record(now_ms - batch.created_at, now_ms)
            sums = topics.get(batch.tp.topic)
            if sums is None:
                sums = topics[batch.tp.topic] = _Sums()
            sums.add(batch, records, size)
        for name, sums in topics.items():
            self._batches.record_many(sums.bytes, sums.batches, largest, now_ms)
            self._all.sent(sums, now_ms)
            self._topic(name, now_ms).sent(sums, now_ms)
        self._requests.record(count, now_ms)

    def _topic(self, name: str, now_ms: int) -> _Topic:
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = _Topic(now_ms)
        return topic

    def answered(self, node_id: int, began_at: int, now_ms: int) -> None:
        """A request that was begun then has come to its end."""
        meter = self._latencies.get(node_id)
        if meter is None:
            meter = self._latencies[node_id] = Meter(now_ms)
        meter.record(now_ms - began_at, now_ms)
        self._latency.record(now_ms - began_at, now_ms)

    def failed(self, batch: Batch, now_ms: int) -> None:
        """Its records are given up."""
        self._all.errors.record(batch.record_count, now_ms)
        self._topic(batch.tp.topic, now_ms).errors.record(batch.record_count, now_ms)

    def split(self, now_ms: int) -> None:
        """A batch was too large."""
        self._splits.record(1, now_ms)

    def tell(self, now_ms: int) -> list[Reading]:
        """Everything: of the producer, of each topic and node."""
        whole: Group = {
            **self._all.tell(now_ms),
            "compression-rate-avg": self._all.packing.average(now_ms),
            "batch-size-avg": self._batches.average(now_ms),
            "batch-size-max": self._batches.largest(now_ms),
            "batch-split-rate": self._splits.rate(now_ms),
            "batch-split-total": self._splits.total,
            "record-queue-time-avg": self._queued.average(now_ms),
            "record-queue-time-max": self._queued.largest(now_ms),
            "records-per-request-avg": self._requests.average(now_ms),
            "request-rate": self._requests.frequency(now_ms),
            "request-total": float(self._requests.times),
            "request-latency-avg": self._latency.average(now_ms),
            "request-latency-max": self._latency.largest(now_ms),
        }
        readings = [Reading("producer-metrics", (), whole)]
        for name, topic in sorted(self._topics.items()):
            values = {
                **topic.tell(now_ms),
                "compression-rate": topic.packing.average(now_ms),
            }
            readings.append(Reading("producer-topic-metrics", (("topic", name),), values))
        for node_id, meter in sorted(self._latencies.items()):
            values = {
                "request-rate": meter.frequency(now_ms),
                "request-total": float(meter.times),
                "request-latency-avg": meter.average(now_ms),
                "request-latency-max": meter.largest(now_ms),
            }
            tags = (("node-id", f"node-{node_id}"),)
            readings.append(Reading("producer-node-metrics", tags, values))
        return readings
