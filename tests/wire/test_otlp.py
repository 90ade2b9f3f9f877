"""Client telemetry's payload beside OpenTelemetry's own package, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from kcore.errors import ProtocolError
from kcore.wire.otlp import CUMULATIVE, DELTA, Point, Pushed, decode, encode

POINTS = [
    Point("a.rate", (), 1.5, 7),
    Point("a.total", (), 3.0, 7, DELTA, 5),
    Point("b.total", (("topic", "t"), ("partition", "0")), 1.0, 7, CUMULATIVE, 5),
    Point("b.total", (("topic", "t"), ("partition", "1")), 2.0, 7, CUMULATIVE, 5),
    Point("c", (("node_id", "node-1"),), -1, 7),
]


def test_their_package_reads_what_is_written():
    data, count = encode({"group_id": "g"}, POINTS, 10_000)
    assert count == len(POINTS)
    read = MetricsData.FromString(data)
    (resource,) = read.resource_metrics
    assert [(one.key, one.value.string_value) for one in resource.resource.attributes] == [
        ("group_id", "g")
    ]
    (scope,) = resource.scope_metrics
    assert [one.name for one in scope.metrics] == ["a.rate", "a.total", "b.total", "c"]
    rate, total, both, number = scope.metrics
    assert rate.gauge.data_points[0].as_double == 1.5
    assert rate.gauge.data_points[0].time_unix_nano == 7
    assert total.sum.aggregation_temporality == DELTA
    assert total.sum.is_monotonic
    assert total.sum.data_points[0].start_time_unix_nano == 5
    assert both.sum.aggregation_temporality == CUMULATIVE
    assert [
        ({pair.key: pair.value.string_value for pair in one.attributes}, one.as_double)
        for one in both.sum.data_points
    ] == [({"topic": "t", "partition": "0"}, 1.0), ({"topic": "t", "partition": "1"}, 2.0)]
    assert number.gauge.data_points[0].as_int == -1


def test_it_reads_what_their_package_writes():
    data = MetricsData()
    resource = data.resource_metrics.add()
    resource.resource.attributes.append(KeyValue(key="r", value=AnyValue(string_value="x")))
    scope = resource.scope_metrics.add()
    scope.scope.name = "not asked for"
    gauge = scope.metrics.add(name="g", unit="ms", description="d").gauge.data_points.add()
    gauge.as_int = -5
    for value in (
        AnyValue(string_value="s"),
        AnyValue(int_value=-3),
        AnyValue(bool_value=True),
        AnyValue(double_value=0.5),
        AnyValue(bytes_value=b"b"),
    ):
        gauge.attributes.append(KeyValue(key=value.WhichOneof("value"), value=value))
    total = scope.metrics.add(name="s").sum
    total.aggregation_temporality = CUMULATIVE
    total.data_points.add().as_double = 2.5
    total.data_points.add()
    scope.metrics.add(name="h").histogram.data_points.add(count=1)
    shown = {
        "string_value": "s", "int_value": "-3", "bool_value": "true", "double_value": "0.5",
        "bytes_value": "",
    }  # fmt: skip
    assert list(decode(data.SerializeToString())) == [
        Pushed("g", "gauge", -5, shown, {"r": "x"}),
        Pushed("s", "sum", 2.5, {}, {"r": "x"}, CUMULATIVE),
        Pushed("s", "sum", None, {}, {"r": "x"}, CUMULATIVE),
        Pushed("h", "histogram", None, {}, {"r": "x"}),
    ]


def test_what_has_no_room_is_left_out_from_the_end():
    whole, _ = encode({}, POINTS, 10_000)
    for limit in range(len(whole) + 30):
        data, count = encode({}, POINTS, limit)
        assert count < len(POINTS) or len(data) == len(whole)
        assert len(data) <= max(limit, 6)
        names = [point.name for point in POINTS[:count]]
        assert [one.name for one in decode(data)] == names
    assert count == len(POINTS)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    try:
        list(decode(data))
    except ProtocolError:
        return


def test_every_cut_is_read_or_refused():
    data, _ = encode({"group_id": "g"}, POINTS, 10_000)
    for end in range(1, len(data)):
        with pytest.raises(ProtocolError):
            list(decode(data[:end]))


@given(st.integers(0, 2**64 - 1), st.floats(allow_nan=False), st.text(), st.text())
def test_a_point_comes_back(time_ns, value, key, text):
    data, _ = encode({key: text}, [Point("n", ((key, text),), value, time_ns)], 10_000_000)
    assert list(decode(data)) == [Pushed("n", "gauge", value, {key: text}, {key: text})]
    assert MetricsData.FromString(data).resource_metrics[0].scope_metrics[0].metrics[0].name == "n"
