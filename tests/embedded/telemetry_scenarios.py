"""What brokers are asked of telemetry, by raw requests: an embedded one and a Kafka."""

from __future__ import annotations

import gzip
import socket
import time
from types import SimpleNamespace

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from kcore.wire import frames
from kcore.wire import messages as m

SET, DELETE, APPEND = 0, 1, 2
CLIENT_METRICS = 16
OTHER_ID = bytes(range(16))


class Peer:
    """A connection of a client that calls itself so."""

    def __init__(self, address, client_id="peer", software="kcore-test", version="1.0"):
        self.socket = socket.create_connection(address, 20)
        self.client_id = client_id
        self.ask(
            m.ApiVersionsRequest(client_software_name=software, client_software_version=version), 3
        )

    def ask(self, request, version=0):
        self.socket.sendall(frames.encode_request(request, version, 7, self.client_id))
        size = int.from_bytes(self._read(4), "big")
        response = getattr(m, type(request).__name__.replace("Request", "Response"))
        data = size.to_bytes(4, "big") + self._read(size)
        return frames.decode_response(response, version, memoryview(data)[4:])

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def close(self):
        self.socket.close()


def alter(peer, name, *options, validate_only=False):
    """(name, operation, text) each; the code and the text."""
    one = m.IncrementalAlterConfigsRequest.AlterableConfig
    entry = m.IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=CLIENT_METRICS,
        resource_name=name,
        configs=[one(name=key, config_operation=op, value=text) for key, op, text in options],
    )
    asked = m.IncrementalAlterConfigsRequest(resources=[entry], validate_only=validate_only)
    (found,) = peer.ask(asked, 1).responses
    return found.error_code, found.error_message


def describe(peer, name):
    entry = m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=CLIENT_METRICS, resource_name=name, configuration_keys=None
    )
    asked = m.DescribeConfigsRequest(resources=[entry], include_synonyms=True)
    (found,) = peer.ask(asked, 4).results
    return (
        found.error_code,
        found.error_message,
        sorted(
            (one.name, one.value, one.read_only, one.config_source, one.config_type,
             sorted((s.name, s.value, s.source) for s in one.synonyms))
            for one in found.configs
        ),
    )  # fmt: skip


def listed(peer, *types, version=1):
    answer = peer.ask(m.ListConfigResourcesRequest(resource_types=list(types)), version)
    found = sorted((one.resource_type, one.resource_name) for one in answer.config_resources)
    return answer.error_code, [row for row in found if row[0] in (CLIENT_METRICS, 4)]


def payload():
    data = MetricsData()
    scope = data.resource_metrics.add().scope_metrics.add()
    scope.metrics.add(name="org.apache.kafka.test.one").gauge.data_points.add().as_double = 1.5
    return data.SerializeToString()


def get(peer, client_id=bytes(16)):
    return peer.ask(m.GetTelemetrySubscriptionsRequest(client_instance_id=client_id))


def plain(found):
    """Without what is drawn."""
    return (
        found.error_code, found.throttle_time_ms, found.accepted_compression_types,
        found.push_interval_ms, found.telemetry_max_bytes, found.delta_temporality,
        sorted(found.requested_metrics or []), found.client_instance_id != bytes(16),
    )  # fmt: skip


def push(peer, subscription, **fields):
    given = {
        "client_instance_id": subscription.client_instance_id,
        "subscription_id": subscription.subscription_id,
        "metrics": payload(),
        **fields,
    }
    found = peer.ask(m.PushTelemetryRequest(**given))
    return found.error_code, found.throttle_time_ms


def everything(address, pause_s):
    """All that is compared: (what, answer). pause_s: after that a change is known."""
    said = []

    def wait():
        time.sleep(pause_s)

    def note(what, answer):
        said.append((what, answer))
        return answer

    peers = []

    def peer(*args, **kwargs):
        peers.append(Peer(address, *args, **kwargs))
        return peers[-1]

    try:
        configurations(peer(), note)
        subscriptions(peer, note, wait)
        pushes(peer, note, wait)
    finally:
        for one in peers:
            one.close()
    return said


def configurations(admin, note):
    for what, name, options in (
        ("good", "one", [("metrics", SET, "a.,b."), ("interval.ms", SET, "1000")]),
        ("matching", "one", [("match", SET, "client_id=x.*,client_software_name=y")]),
        ("unknown", "one", [("colour", SET, "red")]),
        ("no name", "", [("metrics", SET, "a.")]),
        ("too short", "one", [("interval.ms", SET, "99")]),
        ("too long", "one", [("interval.ms", SET, "3600001")]),
        ("no number", "one", [("interval.ms", SET, "x")]),
        ("no pattern", "one", [("match", SET, "client_id")]),
        ("no key", "one", [("match", SET, "colour=red")]),
        ("bad pattern", "one", [("match", SET, "client_id=[")]),
        ("twice the same", "one", [("metrics", SET, "a.,a.")]),
        ("appended", "one", [("metrics", APPEND, "c.")]),
        ("taken away", "one", [("match", DELETE, None)]),
    ):
        note(("alter", what), alter(admin, name, *options))
        note(("described", what), describe(admin, "one"))
    note("dry run", alter(admin, "dry", ("metrics", SET, "a."), validate_only=True))
    note("described", describe(admin, "nobody"))
    note("no name", describe(admin, ""))
    note("listed", listed(admin, CLIENT_METRICS))
    note("listed before", listed(admin, version=0))
    note("listed with nodes", listed(admin))
    note("listed strangely", listed(admin, 77))
    note("gone", alter(admin, "one", ("metrics", DELETE, ""), ("interval.ms", DELETE, "")))
    note("listed then", listed(admin, CLIENT_METRICS))


def subscriptions(peer, note, wait):
    admin, one, two = peer(), peer("billing"), peer("other", "librdkafka", "2.0.1")
    note("nothing subscribed", plain(get(one)))
    alter(admin, "mine", ("metrics", SET, "a.,b."), ("interval.ms", SET, "200"),
          ("match", SET, "client_id=bill.*"))  # fmt: skip
    theirs = "client_software_name=librdkafka,client_software_version=2\\..*"
    alter(admin, "theirs", ("metrics", SET, "b.,c."), ("interval.ms", SET, "300"),
          ("match", SET, theirs))  # fmt: skip
    alter(admin, "part", ("metrics", SET, "d."), ("interval.ms", SET, "250"),
          ("match", SET, "client_id=bill"))  # fmt: skip
    wait()
    note("mine", plain(get(peer("billing"))))
    note("theirs", plain(get(peer("other", "librdkafka", "2.0.1"))))
    note("another version", plain(get(peer("other", "librdkafka", "3.0"))))
    note("of that id", get(two, OTHER_ID).client_instance_id == OTHER_ID)
    alter(admin, "all", ("metrics", SET, "*"), ("interval.ms", SET, "150"))
    alter(admin, "none", ("interval.ms", SET, "120"))
    wait()
    note("all", plain(get(peer("billing"))))
    for name in ("mine", "theirs", "part", "none"):
        options = [(key, DELETE, "") for key in ("metrics", "interval.ms", "match")]
        note("deleted", alter(admin, name, *options))
    wait()


def pushes(peer, note, wait):
    admin = peer()
    alter(admin, "all", ("metrics", SET, "*"), ("interval.ms", SET, "3600000"))
    wait()
    one = peer("pusher")
    sub = get(one)
    note("again too soon", plain(get(one, sub.client_instance_id)))
    note("pushed", push(one, sub))
    note("pushed too soon", push(one, sub))
    note("asked too soon", plain(get(one, sub.client_instance_id)))
    note("terminating", push(one, sub, terminating=True))
    note("after that", push(one, sub))
    note("terminating again", push(one, sub, terminating=True))
    for what, fields in (
        ("another subscription", {"subscription_id": sub.subscription_id ^ 1}),
        ("no codec", {"compression_type": 9}),
        ("no id", {"client_instance_id": bytes(16)}),
        ("too large", {"metrics": bytes((1 << 20) + 1)}),
        ("not packed", {"compression_type": 1}),
        ("too large, unpacked", {"compression_type": 1, "metrics": gzip.compress(bytes(2 << 20))}),
        ("packed", {"compression_type": 1, "metrics": gzip.compress(payload())}),
        ("empty", {"metrics": b""}),
    ):
        fresh = peer("pusher")
        sub = get(fresh)
        given = dict(fields)
        if "subscription_id" in given:
            given["subscription_id"] = sub.subscription_id ^ 1
        note(what, push(fresh, sub, **given))
        note((what, "asked at once"), plain(get(fresh, sub.client_instance_id)))
    stranger = SimpleNamespace(client_instance_id=OTHER_ID, subscription_id=1)
    note("nobody knows", push(peer("pusher"), stranger))
