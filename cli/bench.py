"""`kcore bench`: how fast this machine writes to and reads from Kafka with kcore.

A topic of its own is written and read round by round, each way once a round, and deleted at the
end; a topic that is named is only read. Without brokers an embedded one is started, in a process of
its own, so that CPU is that of the client alone.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from kcore.cli.endings import DONE, RefusalError
from kcore.cli.tables import Page, table
from kcore.errors import KafkaTimeoutError
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore import Consumer
    from kcore.cli.tables import Rows

_SERVED: Final = "serving on "
_IDLE_S: Final = 30.0
_POLL_MS: Final = 1_000
# Values are slices of so many random hexadecimal digits: a codec has something to do.
_TEXT_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class BenchOptions:
    """What was asked for. bootstrap: None: an embedded broker. topic: one that is there already,
    read only; None: one of our own. settings: of both clients.
    """

    bootstrap: str | None = None
    topic: str | None = None
    records: int = 1_000_000
    value_bytes: int = 100
    partitions: int = 4
    compression: str | None = None
    rounds: int = 3
    settings: Mapping[str, object] = field(default_factory=dict)


class Figures(NamedTuple):
    """One way in one round. value_bytes: of all records."""

    records: int
    value_bytes: int
    wall_s: float
    cpu_s: float


def bench(options: BenchOptions) -> int:
    """Measure, and print a table. Raises KafkaError, RefusalError."""
    page = Page()
    console = Console(file=sys.stderr, highlight=False)
    with _brokers(options) as bootstrap, _topic(options, bootstrap) as target:
        found: dict[str, list[Figures]] = {}
        for number in range(options.rounds):
            with console.status(f"round {number + 1} of {options.rounds}"):
                for name, way in target.ways().items():
                    found.setdefault(name, []).append(_measured(way))
        where = bootstrap if options.bootstrap else "an embedded broker in a process of its own"
        page.show(f"{target.title} at {where}", _table(found))
    return DONE


def _measured(way: Callable[[], tuple[int, int]]) -> Figures:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    records, value_bytes = way()
    return Figures(records, value_bytes, time.perf_counter() - wall_s, time.process_time() - cpu_s)


def _table(found: Mapping[str, Sequence[Figures]]) -> Rows:
    """Medians of the rounds, and how far apart they are."""
    shown = table("", right=("records/s", "from", "to", "MB/s", "CPU us a record"))
    for name, rounds in found.items():
        rates = [one.records / one.wall_s for one in rounds]
        shown.add_row(
            name,
            *(f"{pick(rates):,.0f}" for pick in (statistics.median, min, max)),
            f"{statistics.median(one.value_bytes / one.wall_s / 1e6 for one in rounds):,.0f}",
            f"{statistics.median(one.cpu_s / one.records * 1e6 for one in rounds):.2f}",
        )
    return shown


# Where ------------------------------------------------------------------------------------------


@contextmanager
def _brokers(options: BenchOptions) -> Iterator[str]:
    """Those named, or an embedded one for as long as this lasts."""
    if options.bootstrap is not None:
        yield options.bootstrap
        return
    line = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    serving = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
    with serving as broker:
        assert broker.stdout is not None
        try:
            said = broker.stdout.readline()
            if not said.startswith(_SERVED):
                raise RefusalError("the embedded broker did not start")
            yield said.removeprefix(_SERVED).partition(";")[0]
        finally:
            broker.terminate()


@contextmanager
def _topic(options: BenchOptions, bootstrap: str) -> Iterator[Target]:
    """What is measured. A topic of our own is gone afterwards."""
    given = {"bootstrap_servers": bootstrap.split(","), "client_id": "kcore-bench"}
    clients = given | dict(options.settings)
    if options.topic is not None:
        yield Target(options, clients, options.topic, own=False)
        return
    from kcore import Admin  # noqa: PLC0415
    from kcore.admin import NewTopic  # noqa: PLC0415

    name = f"kcore-bench-{os.urandom(4).hex()}"
    with Admin(**clients) as admin:
        admin.create_topics([NewTopic(name, options.partitions, 1)])
        try:
            yield Target(options, clients, name, own=True)
        finally:
            admin.delete_topics([name])


class Target:
    """A topic, and the ways to write and to read it."""

    def __init__(
        self, options: BenchOptions, clients: Mapping[str, object], topic: str, *, own: bool
    ) -> None:
        from kcore import Consumer  # noqa: PLC0415

        self._options = options
        self._clients = clients
        self._topic = topic
        self._own = own
        self._value_bytes = 0.0  # of a record, on average
        with Consumer(**clients) as consumer:
            known = consumer.partitions_for_topic(topic)
            if not known:
                raise RefusalError(f"there is no topic {topic!r}")
            self._partitions = [TopicPartition(topic, number) for number in sorted(known)]
            self._first = consumer.beginning_offsets(self._partitions)
            held = sum(consumer.end_offsets(self._partitions).values()) - sum(self._first.values())
        self._records = options.records if own else min(held, options.records)
        if not self._records:
            raise RefusalError(f"there is nothing in topic {topic!r}")

    @property
    def title(self) -> str:
        """What is read."""
        text = f"{self._records:,} records"
        if not self._own:
            return f"{text} of {self._topic!r}"
        codec = f", {self._options.compression}" if self._options.compression else ""
        size, partitions = self._options.value_bytes, len(self._partitions)
        return f"{text} of {size} bytes in {partitions} partitions{codec}"

    def ways(self) -> dict[str, Callable[[], tuple[int, int]]]:
        """By name; each gives how many records it had, and the bytes of their values."""
        reads = {"poll()": self._poll, "poll_arrow()": self._poll_arrow}
        return {"send()": self._send, **reads} if self._own else reads

    def _send(self) -> tuple[int, int]:
        from kcore import Producer  # noqa: PLC0415

        options = self._options
        size, partitions = options.value_bytes, len(self._partitions)
        text = os.urandom((_TEXT_BYTES + size) // 2 + 1).hex().encode()
        with Producer(**self._clients, compression_type=options.compression) as producer:
            for number in range(options.records):
                start = number * 97 % _TEXT_BYTES
                value = text[start : start + size]
                producer.send(self._topic, value, partition=number % partitions)
        return options.records, options.records * size

    def _poll(self) -> tuple[int, int]:
        count = size = 0
        with self._reading() as (consumer, idle):
            while count < self._records:
                polled = consumer.poll(_POLL_MS)
                idle(polled)
                for records in polled.values():
                    count += len(records)
                    for record in records:
                        size += len(record.value or b"")
        self._value_bytes = size / count
        return count, size

    def _poll_arrow(self) -> tuple[int, int]:
        count = 0
        with self._reading() as (consumer, idle):
            while count < self._records:
                batch = consumer.poll_arrow(_POLL_MS)
                idle(batch.num_rows)
                count += batch.num_rows
        return count, round(count * self._value_bytes)

    @contextmanager
    def _reading(self) -> Iterator[tuple[Consumer, Callable[[Any], None]]]:
        """A consumer at the beginning, and who is told what each poll brought."""
        from kcore import Consumer  # noqa: PLC0415

        since = time.monotonic()

        def idle(brought: Any) -> None:
            nonlocal since
            now = time.monotonic()
            if brought:
                since = now
            elif now - since > _IDLE_S:  # gaps: fewer records than offsets
                raise KafkaTimeoutError(f"no records came for {_IDLE_S:.0f} s")

        with Consumer(**self._clients) as consumer:
            consumer.assign(self._partitions)
            for tp, offset in self._first.items():
                consumer.seek(tp, offset)
            yield consumer, idle
