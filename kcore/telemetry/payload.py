"""What is pushed: readings under the names that KIP-714 has for them, as bytes.

`consumer-fetch-manager-metrics` / `fetch-latency-avg` is pushed as
`org.apache.kafka.consumer.fetch.manager.fetch.latency.avg`, a tag `node-id` as the attribute
`node_id`. Totals are sums, since the beginning or since the last push that was taken, as the broker
wants them; all else is a gauge. Source: Java's TelemetryMetricNamingConvention and
KafkaMetricsCollector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Final

from kcore.errors import UsageError
from kcore.meters import Reading
from kcore.records.codecs import COMPRESS, NONE, MissingPackageError
from kcore.wire.otlp import CUMULATIVE, DELTA, Attributes, Point

PREFIX: Final = "org.apache.kafka"
EVERYTHING: Final = "*"

Series = tuple[str, Attributes]
_NS: Final = 1_000_000


def full_name(group: str, name: str) -> str:
    """The name of a metric in telemetry."""
    whole = f"{group.lower().replace('-', '.').replace('.metrics', '')}.{name.lower()}"
    return f"{PREFIX}.{whole.replace('-', '.')}"


def attributes(tags: Iterable[tuple[str, str]]) -> Attributes:
    """The attributes of a point."""
    return tuple((key.lower().replace("-", "_"), value) for key, value in tags)


class Wanted:
    """Which metrics are wanted: those whose names begin so; `*`: all."""

    def __init__(self, prefixes: Sequence[str]) -> None:
        self._all = list(prefixes) == [EVERYTHING]
        self._prefixes = tuple(prefixes)

    def __bool__(self) -> bool:
        return bool(self._prefixes)

    def __contains__(self, name: str) -> bool:
        return self._all or name.startswith(self._prefixes)


class Ledger:
    """How far sums have been told, for deltas. wall_ms: Unix time when ours is 0; None: unknown."""

    def __init__(self, began_ms: int, wall_ms: int | None) -> None:
        self._wall_ms = wall_ms
        self._began_ns = self._ns(began_ms)
        self._told: dict[Series, tuple[float, int]] = {}
        self._telling: dict[Series, tuple[float, int]] = {}

    def _ns(self, now_ms: int) -> int:
        return 0 if self._wall_ms is None else (self._wall_ms + now_ms) * _NS

    def points(
        self, readings: Iterable[Reading], wanted: Wanted, now_ms: int, *, delta: bool
    ) -> list[Point]:
        """What is wanted of the readings, of the client first, then of its parts, by name."""
        now_ns = self._ns(now_ms)
        self._telling = {}
        found = [
            self._point(series, value, total=total, delta=delta, now_ns=now_ns)
            for series, value, total in _series(readings, wanted)
        ]
        # What may be left out for want of room comes last: partitions, then nodes and topics.
        found.sort(key=lambda point: (len(point.attributes), point.name))
        return found

    def _point(
        self, series: Series, value: float, *, total: bool, delta: bool, now_ns: int
    ) -> Point:
        name, pairs = series
        if not total:
            return Point(name, pairs, value, now_ns)
        if not delta:
            return Point(name, pairs, value, now_ns, CUMULATIVE, self._began_ns)
        before, since_ns = self._told.get(series, (0.0, self._began_ns))
        self._telling[series] = value, now_ns
        return Point(name, pairs, max(value - before, 0.0), now_ns, DELTA, since_ns)

    def taken(self, points: Iterable[Point]) -> None:
        """The broker has these of the last points: the next deltas begin there."""
        for point in points:
            told = self._telling.get((point.name, point.attributes))
            if told is not None:
                self._told[point.name, point.attributes] = told
        self._telling = {}


def _series(readings: Iterable[Reading], wanted: Wanted) -> Iterator[tuple[Series, float, bool]]:
    for group, tags, values in readings:
        pairs = attributes(tags)
        for name, value in values.items():
            whole = full_name(group, name)
            if whole in wanted and isfinite(value):
                yield (whole, pairs), value, name.endswith("-total")


class OwnMetrics:
    """Metrics of the application that are pushed with the client's (KIP-1076).

    They are asked for their values when it is time to push; one that raises, or gives no number, is
    left out of that push, and `failed` has the reason of the last such.
    """

    LIMIT: Final = 1_000

    def __init__(self) -> None:
        self.failed: Exception | None = None
        self._known: dict[tuple[str, str, Attributes], Callable[[], float]] = {}

    def add(self, group: str, name: str, tags: Attributes, read: Callable[[], float]) -> None:
        """Push it from now on, in place of one of the same name. UsageError: there are too many."""
        key = group, name, tuple(sorted(tags))
        if key not in self._known and len(self._known) >= self.LIMIT:
            raise UsageError(f"{self.LIMIT} metrics of an application are the most")
        self._known[key] = read

    def remove(self, group: str, name: str, tags: Attributes) -> None:
        """Do not push it any more; harmless if it was not."""
        self._known.pop((group, name, tuple(sorted(tags))), None)

    def tell(self) -> list[Reading]:
        """What they say now."""
        found = []
        for (group, name, tags), read in [*self._known.items()]:
            try:
                value = float(read())
            except Exception as error:  # noqa: BLE001 - it is the application's
                self.failed = error
                continue
            found.append(Reading(group, tags, {name: value}))
        return found


def pack(data: bytes, accepted: Iterable[int], refused: Iterable[int]) -> tuple[bytes, int]:
    """Compressed by the first codec that the broker takes and that is here, and its number."""
    for codec in accepted:
        if codec == NONE:
            break
        if codec in COMPRESS and codec not in refused:
            try:
                return COMPRESS[codec](data, None), codec
            except MissingPackageError:
                continue
    return data, NONE
