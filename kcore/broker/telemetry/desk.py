"""Where clients of a node ask what to push, and push it: who they are, how often they may.

Source: Java's ClientMetricsManager and ClientMetricsInstance of Kafka 4.3.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from zlib import crc32

from kcore.broker.batches import RefusedError
from kcore.broker.telemetry import subscriptions
from kcore.broker.telemetry.subscriptions import Wanted, wanted_of
from kcore.errors import ProtocolError
from kcore.records.codecs import DECOMPRESS, NONE, CodecError, MissingPackageError
from kcore.wire.codes import ErrorCode
from kcore.wire.otlp import decode

if TYPE_CHECKING:
    from kcore.broker.calls import Call
    from kcore.wire.messages import PushTelemetryRequest

# Kafka: telemetry.max.bytes.
TELEMETRY_BYTES_MAX: Final = 1 << 20
# Zstandard, LZ4, gzip, snappy: the best first.
CODECS: Final = (4, 3, 1, 2)
# Clients that a node remembers, as a Kafka.
INSTANCES_MAX: Final = 16_384

_LONG_AGO: Final = -(1 << 62)
# A client may ask again at once behind these.
_ASK_AGAIN: Final = frozenset(
    {ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE}
)
_NO_ID: Final = bytes(16)


class Instance:
    """A client, as long as its connection is there."""

    __slots__ = (
        "asked_at",
        "error",
        "id",
        "link",
        "pushed_at",
        "subscription_id",
        "terminating",
        "version",
        "wanted",
    )

    def __init__(self, client_id: bytes, link: int, wanted: Wanted, version: int) -> None:
        self.id = client_id
        self.link = link
        self.wanted = wanted
        self.version = version  # of all subscriptions
        text = f"{sorted(wanted.metrics)}{wanted.interval_ms}".encode()
        number = crc32(text) ^ crc32(client_id)
        self.subscription_id = number - (1 << 32) if number >> 31 else number
        self.asked_at = self.pushed_at = _LONG_AGO
        self.error = ErrorCode.NONE
        self.terminating = False

    def may_ask(self, now_ms: int) -> bool:
        """Whether it is time; noted, if so."""
        if now_ms - max(self.asked_at, self.pushed_at) < self.wanted.interval_ms:
            return False
        self.asked_at = now_ms
        return True

    def may_push(self, now_ms: int) -> bool:
        """The same of a push: the first one behind a question may come at any time."""
        on_time = now_ms - self.pushed_at >= self.wanted.interval_ms
        if self.asked_at <= self.pushed_at and not on_time:
            return False
        self.pushed_at = now_ms
        return True


class Desk:
    """Of one node."""

    def __init__(self) -> None:
        self._instances: OrderedDict[bytes, Instance] = OrderedDict()

    def forget(self, link: int) -> None:
        """A connection has ended, and with it who was known by it."""
        for client_id in [key for key, one in self._instances.items() if one.link == link]:
            del self._instances[client_id]

    def _find(self, call: Call, client_id: bytes) -> Instance:
        """The client, as the subscriptions are now."""
        settings = call.node.cluster.settings
        known = self._instances.get(client_id)
        if known is not None and known.version == settings.client_metrics_version:
            self._instances.move_to_end(client_id)
            return known
        wanted = wanted_of(settings.client_metrics, _described(call, client_id))
        link = call.link.number if known is None else known.link
        found = Instance(client_id, link, wanted, settings.client_metrics_version)
        self._instances[client_id] = found
        if len(self._instances) > INSTANCES_MAX:
            self._instances.popitem(last=False)
        return found

    def ask(self, call: Call, client_id: bytes) -> Instance:
        """What a client is to push. RefusedError: it asks too often."""
        if client_id == _NO_ID:
            rng = call.node.cluster.rng
            client_id = bytes(int(rng.random() * 256) for _ in range(16))
        found = self._find(call, client_id)
        if not found.may_ask(call.now_ms) and found.error not in _ASK_AGAIN:
            raise RefusedError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "")
        found.error = ErrorCode.NONE
        return found

    def push(self, call: Call, request: PushTelemetryRequest) -> bytes:
        """What a client has pushed, unpacked. RefusedError."""
        if request.client_instance_id == _NO_ID:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "")
        found = self._find(call, request.client_instance_id)
        try:
            self._check(found, request, call.now_ms)
            data = unpacked(request)
        except RefusedError as refused:
            found.error = refused.code
            raise
        finally:
            found.terminating = request.terminating
        found.error = ErrorCode.NONE
        return data

    def _check(self, found: Instance, request: PushTelemetryRequest, now_ms: int) -> None:
        if found.terminating:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "")
        if not found.may_push(now_ms) and not request.terminating:
            raise RefusedError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "")
        if request.subscription_id != found.subscription_id:
            raise RefusedError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID, "")
        if request.compression_type not in {NONE, *CODECS}:
            raise RefusedError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "")
        if len(request.metrics or b"") > TELEMETRY_BYTES_MAX:
            raise RefusedError(ErrorCode.TELEMETRY_TOO_LARGE, "")


def unpacked(request: PushTelemetryRequest) -> bytes:
    """The payload. RefusedError: it is none."""
    data = bytes(request.metrics or b"")
    if not data:
        return data
    try:
        if request.compression_type != NONE:
            unpack = DECOMPRESS[request.compression_type]
            data = unpack(memoryview(data), TELEMETRY_BYTES_MAX)
        for _ in decode(data):
            pass
    except (CodecError, MissingPackageError, ProtocolError):
        raise RefusedError(ErrorCode.INVALID_RECORD, "") from None
    return data


def _described(call: Call, client_id: bytes) -> dict[str, str]:
    """What subscriptions may ask of a client."""
    from kcore.broker.telemetry.pushed import text_of  # noqa: PLC0415 - it needs no desk

    name, version = call.link.software
    return {
        subscriptions.CLIENT_INSTANCE_ID: text_of(client_id),
        subscriptions.CLIENT_ID: call.client_id,
        subscriptions.SOFTWARE_NAME: name,
        subscriptions.SOFTWARE_VERSION: version,
        subscriptions.SOURCE_ADDRESS: call.link.host,
    }
