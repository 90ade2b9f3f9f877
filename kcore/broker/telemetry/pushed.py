"""What clients have pushed, for who looks: the newest, and no more than there is room for."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Iterator
from typing import Final

from kcore.tuples import NamedTuple
from kcore.wire.otlp import decode

# Payloads, unpacked, of all clients of a cluster.
PUSHED_BYTES_MAX: Final = 64 << 20
_COST_BYTES: Final = 1_000  # of a push beside its payload


class PushedMetric(NamedTuple):
    """A number that a client has pushed.

    attributes: of the number (topic, node_id, ...). labels: of the client (group_id, ...). kind:
    "gauge" or "sum"; another of OTLP's has no value here. terminating: it was the client's last
    push.
    """

    client_instance_id: str
    client_id: str
    name: str
    attributes: dict[str, str]
    value: float | None
    kind: str
    delta: bool
    labels: dict[str, str]
    terminating: bool


class _Push(NamedTuple):
    client_instance_id: bytes
    client_id: str
    terminating: bool
    data: bytes


class Pushes:
    """See the module's text."""

    def __init__(self) -> None:
        self._kept: deque[_Push] = deque()
        self._bytes = 0

    def add(self, client_instance_id: bytes, client_id: str, data: bytes, *, last: bool) -> None:
        """A client has pushed this; the oldest go for it."""
        self._kept.append(_Push(client_instance_id, client_id, last, data))
        self._bytes += len(data) + _COST_BYTES
        while self._bytes > PUSHED_BYTES_MAX:
            self._bytes -= len(self._kept.popleft().data) + _COST_BYTES

    def kept(self) -> Pushes:
        """What there is now, for another thread."""
        found = Pushes()
        found._kept = self._kept.copy()
        return found

    def rows(self) -> Iterator[PushedMetric]:
        """Every number, in the order in which they came."""
        for push in self._kept:
            for one in decode(push.data):
                yield PushedMetric(
                    text_of(push.client_instance_id),
                    push.client_id,
                    one.name,
                    one.attributes,
                    one.value,
                    one.kind,
                    one.temporality == 1,
                    one.resource,
                    push.terminating,
                )


def text_of(client_instance_id: bytes) -> str:
    """An id as Kafka writes it."""
    return urlsafe_b64encode(client_instance_id).rstrip(b"=").decode()
