"""Any bytes as a partition's log, and a whole consumer that reads them in every way there is.

No producer could write such logs: they are put behind an embedded broker's checks, and answered as
they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple, Self

import pyarrow

from kcore import Consumer
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaError
from kcore.structs import TopicPartition

TURN_MS = 20
STALL_S = 30  # thousands of times what any of it takes
Seen = tuple[int, int, bytes | None, bytes | None]  # partition, offset, key, value


class Piece(NamedTuple):
    """Bytes that an answer has whole or not at all, asked for up to `last_offset`."""

    data: bytes
    last_offset: int


def put(broker: EmbeddedBroker, topic: str, partition: int, pieces: Iterable[Piece]) -> None:
    """Append to a log, unchecked; all of it counts as replicated."""
    cluster, server = broker._running()

    def append(_now_ms: int) -> None:
        found = cluster.topics.get(topic)
        assert found is not None
        log = found.partitions[partition].log
        for piece in pieces:
            log.segments[-1].add(piece.data, piece.last_offset, -1)
            log.size_bytes += len(piece.data)
            log.end_offset = log.high_watermark = piece.last_offset + 1

    server.call(append)


def in_epoch(batch: bytes, epoch: int = 0) -> bytes:
    """The v2 batch as one of the broker's own epochs; its checksum does not cover that."""
    return batch[:12] + epoch.to_bytes(4, "big", signed=True) + batch[16:]


# Ways to read -------------------------------------------------------------------------------------


def _polled(consumer: Consumer) -> list[Seen]:
    taken = consumer.poll(timeout_ms=TURN_MS)
    return [(r.partition, r.offset, r.key, r.value) for r in chain.from_iterable(taken.values())]


def _iterated(consumer: Consumer) -> list[Seen]:
    for r in consumer:
        return [(r.partition, r.offset, r.key, r.value)]
    return []


def _in_batches(consumer: Consumer) -> list[Seen]:
    batches = consumer.poll_batches(timeout_ms=TURN_MS)
    seen = [(r.partition, r.offset, r.key, r.value) for batch in batches for r in batch]
    columns = [zip(b.offsets, b.keys.tolist(), b.values.tolist(), strict=True) for b in batches]
    assert [row[1:] for row in seen] == list(chain.from_iterable(columns))
    return seen


def _as_arrow(consumer: Consumer, *, views: bool = False) -> list[Seen]:
    batch = pyarrow.record_batch(consumer.poll_arrow(timeout_ms=TURN_MS, views=views))
    batch.validate(full=True)
    names = ("partition", "offset", "key", "value")
    return list(zip(*(batch[name].to_pylist() for name in names), strict=True))


def _as_views(consumer: Consumer) -> list[Seen]:
    return _as_arrow(consumer, views=True)


# Name -> how to take what is there, and the options it needs.
WAYS: dict[str, tuple[Callable[[Consumer], list[Seen]], dict[str, Any]]] = {
    "poll": (_polled, {}),
    "one at a time": (_polled, {"max_poll_records": 1}),
    "iteration": (_iterated, {"consumer_timeout_ms": TURN_MS}),
    "batches": (_in_batches, {}),
    "arrow": (_as_arrow, {}),
    "views": (_as_views, {}),
}


class Reading:
    """A consumer, one of WAYS, and what has come of it: records and errors, in order."""

    def __init__(self, broker: EmbeddedBroker, way: str, **options: Any) -> None:
        self.take, more = WAYS[way]
        self.consumer = Consumer(
            transport=broker.transport(),
            bootstrap_servers=broker.bootstrap,
            auto_offset_reset="earliest",
            api_version=(3, 9),
            fetch_max_wait_ms=TURN_MS,
            enable_auto_commit=False,
            **more,
            **options,
        )
        self.seen: list[Seen] = []
        self.errors: list[KafkaError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()

    def assign(self, topic: str, starts: dict[int, int]) -> None:
        """Read these partitions from these offsets on."""
        self.consumer.assign([TopicPartition(topic, number) for number in starts])
        for number, offset in starts.items():
            self.consumer.seek(TopicPartition(topic, number), offset)

    def turn(self) -> None:
        """Take once."""
        try:
            self.seen += self.take(self.consumer)
        except KafkaError as error:
            self.errors.append(error)

    def until(self, enough: Callable[[], bool]) -> None:
        """Take until it is enough; a bound on time, so that a stall is a failure.

        Not on turns: thousands of those that only raise take less than one heartbeat.
        """
        end = time.monotonic() + STALL_S
        while time.monotonic() < end:
            if enough():
                return
            self.turn()
        raise AssertionError(f"not enough: {self.seen[-3:]}, {self.errors[-1:]}")

    def offsets(self, partition: int) -> list[int]:
        """Of the records seen of a partition."""
        return [offset for number, offset, _, _ in self.seen if number == partition]
