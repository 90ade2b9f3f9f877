"""What PushTelemetry carries (KIP-714): `MetricsData` of OpenTelemetry's protocol (OTLP 1.x), of
which numbers alone are written, as gauges and sums; read are those, and the names of the rest.

    MetricsData > ResourceMetrics (attributes of the client) > ScopeMetrics > Metric > points

Protobuf is so small a language that the handful of messages is written here: a field is its number
and its wire type in one varint, then its value. Source: opentelemetry/proto/metrics/v1/
metrics.proto; the tests hold both ways against the package opentelemetry-proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Final

from kcore.errors import Truncated, Unexpected
from kcore.tuples import NamedTuple

Attributes = tuple[tuple[str, str], ...]

DELTA: Final = 1
CUMULATIVE: Final = 2

# Wire types.
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Longer is no varint: 64 bits.
_VARINT_BYTES_MAX: Final = 10

_double = Struct("<d")
_fixed64 = Struct("<Q")
_signed64 = Struct("<q")

# Of Metric, the field that its data are in.
_KINDS: Final = {5: "gauge", 7: "sum", 9: "histogram", 10: "exponential_histogram", 11: "summary"}


class Point(NamedTuple):
    """One number: of which metric, with which attributes. temporality: 0 of a gauge, else that of a
    sum, which is monotonic. start_ns: since when it is summed up. Times are Unix ns, 0: not known.
    """

    name: str
    attributes: Attributes
    value: float
    time_ns: int
    temporality: int = 0
    start_ns: int = 0


class Pushed(NamedTuple):
    """One number that was read. kind: gauge, sum, or another of OTLP's, whose value is None.
    resource: attributes of the client. temporality: 1 delta, 2 cumulative, 0 of what is no sum.
    """

    name: str
    kind: str
    value: float | None
    attributes: dict[str, str]
    resource: dict[str, str]
    temporality: int = 0


# -- writing ---------------------------------------------------------------------------------------


def encode(
    resource: Mapping[str, str], points: Iterable[Point], max_bytes: int
) -> tuple[bytes, int]:
    """MetricsData of up to `max_bytes`, and how many points are in it: those that come first.

    Points of a metric that follow one another share its entry.
    """
    head = _message(1, b"".join(_attribute(1, *pair) for pair in resource.items()))
    room = max_bytes - len(head) - 2 * (1 + _VARINT_BYTES_MAX)  # of the two messages around metrics
    metrics: list[bytes] = []
    count = size = 0
    for group in _by_metric(points):
        data = _metric(group)
        if size + len(data) > room:
            break
        metrics.append(data)
        size += len(data)
        count += len(group)
    scope = _message(2, b"".join(metrics))
    return _message(1, head + scope), count


def _by_metric(points: Iterable[Point]) -> Iterator[list[Point]]:
    group: list[Point] = []
    for point in points:
        if group and (point.name, point.temporality) != (group[0].name, group[0].temporality):
            yield group
            group = []
        group.append(point)
    if group:
        yield group


def _metric(points: list[Point]) -> bytes:
    """The field `metrics` of ScopeMetrics."""
    first = points[0]
    data = b"".join(map(_number, points))
    if first.temporality:
        # aggregation_temporality, and is_monotonic
        kind = _message(7, data + bytes((2 << 3, first.temporality, 3 << 3, 1)))
    else:
        kind = _message(5, data)
    return _message(2, _message(1, first.name.encode()) + kind)


def _number(point: Point) -> bytes:
    """The field `data_points`."""
    parts = [_key(3, _FIXED64), _fixed64.pack(point.time_ns)]
    if point.start_ns:
        parts += (_key(2, _FIXED64), _fixed64.pack(point.start_ns))
    if isinstance(point.value, int):
        parts += (_key(6, _FIXED64), _signed64.pack(point.value))
    else:
        parts += (_key(4, _FIXED64), _double.pack(point.value))
    parts += (_attribute(7, *pair) for pair in point.attributes)
    return _message(1, b"".join(parts))


def _attribute(number: int, key: str, value: str) -> bytes:
    """A KeyValue with a text."""
    return _message(number, _message(1, key.encode()) + _message(2, _message(1, value.encode())))


def _message(number: int, data: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(data)) + data


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# -- reading ---------------------------------------------------------------------------------------


def decode(data: bytes | memoryview) -> Iterator[Pushed]:
    """Every number of MetricsData. ProtocolError: it is none, said when the reader comes there."""
    for number, resource_metrics in _fields(memoryview(data)):
        if number != 1 or not isinstance(resource_metrics, memoryview):
            continue
        parts = list(_fields(resource_metrics))
        resource: dict[str, str] = {}
        for field, value in parts:
            if field == 1 and isinstance(value, memoryview):
                resource |= _attributes(value, 1)
        for field, value in parts:
            if field == 2 and isinstance(value, memoryview):
                for inner, metric in _fields(value):
                    if inner == 2 and isinstance(metric, memoryview):
                        yield from _read_metric(metric, resource)


def _read_metric(metric: memoryview, resource: dict[str, str]) -> Iterator[Pushed]:
    name, kind, data = "", "", memoryview(b"")
    for number, value in _fields(metric):
        if isinstance(value, memoryview):
            if number == 1:
                name = _text(value)
            elif number in _KINDS:
                kind, data = _KINDS[number], value
    if kind not in {"gauge", "sum"}:
        yield Pushed(name, kind, None, {}, resource)
        return
    points = []
    temporality = 0
    for number, value in _fields(data):
        if number == 1 and isinstance(value, memoryview):
            points.append(value)
        elif number == 2 and isinstance(value, int):
            temporality = value
    for point in points:
        attributes = _attributes(point, 7)
        yield Pushed(name, kind, _value(point), attributes, resource, temporality)


def _value(point: memoryview) -> float | None:
    for number, value in _fields(point):
        if number == 4 and isinstance(value, int):
            found: float = _double.unpack(_fixed64.pack(value))[0]
            return found
        if number == 6 and isinstance(value, int):
            return value - (1 << 64) if value >> 63 else value
    return None


def _attributes(message: memoryview, number: int) -> dict[str, str]:
    """The KeyValues in that field. Values that are no text are shown as it; others are left out."""
    found = {}
    for field, value in _fields(message):
        if field == number and isinstance(value, memoryview):
            key = shown = ""
            for inner, part in _fields(value):
                if inner == 1 and isinstance(part, memoryview):
                    key = _text(part)
                elif inner == 2 and isinstance(part, memoryview):
                    shown = _any_value(part)
            found[key] = shown
    return found


def _any_value(message: memoryview) -> str:
    for number, value in _fields(message):
        if number == 1 and isinstance(value, memoryview):
            return _text(value)
        if isinstance(value, int):
            if number == 2:
                return "true" if value else "false"
            if number == 3:
                return str(value - (1 << 64) if value >> 63 else value)
            if number == 4:
                return str(_double.unpack(_fixed64.pack(value))[0])
    return ""


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        raise Unexpected("OTLP: a text that is not UTF-8") from None


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: bytes as they are, numbers as unsigned ones."""
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        number, wire_type = key >> 3, key & 7
        if not number:
            raise Unexpected("OTLP: a field with the number 0")
        if wire_type == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(wire_type)
        if wire_type == _BYTES:
            size, at = _read_varint(data, at)
        if size is None:
            raise Unexpected(f"OTLP: a field of the wire type {wire_type}")
        if size > end - at:
            raise Truncated(f"OTLP: a field of {size} bytes, of which {end - at} are there")
        part = data[at : at + size]
        at += size
        yield number, part if wire_type == _BYTES else int.from_bytes(part, "little")


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index in range(_VARINT_BYTES_MAX):
        if at + index >= len(data):
            raise Truncated("OTLP: a number that ends early")
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & (1 << 64) - 1, at + index + 1
    raise Unexpected("OTLP: a number of more than 64 bits")
