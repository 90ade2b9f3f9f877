"""What a client measures of its links: connections, requests, bytes, how long answers took. Under
Kafka's names; of the client, and of each node.

Cheap: what is recorded is recorded a request at a time. A connection has the number that Kafka's
clients give it: of a node, of the bootstrap (below 0), or that of a coordinator (near 2^31).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kcore.connection.calls import COORDINATOR_KEY_BASE, node_id_of, number_told
from kcore.connection.pending import Call
from kcore.meters import Group, Meter, Reading
from kcore.wire.apis import ApiKey


class _Traffic:
    """Of one node, or of all."""

    __slots__ = ("incoming", "latency", "outgoing")

    def __init__(self, now_ms: int) -> None:
        self.incoming = Meter(now_ms)  # bytes of each answer
        self.outgoing = Meter(now_ms)  # bytes of each request
        self.latency = Meter(now_ms)

    def tell(self, now_ms: int) -> Group:
        incoming, outgoing = self.incoming, self.outgoing
        return {
            "request-rate": outgoing.frequency(now_ms),
            "request-total": float(outgoing.times),
            "response-rate": incoming.frequency(now_ms),
            "response-total": float(incoming.times),
            **self.tell_bytes(now_ms),
        }

    def tell_bytes(self, now_ms: int) -> Group:
        incoming, outgoing = self.incoming, self.outgoing
        return {
            "request-size-avg": outgoing.average(now_ms),
            "request-size-max": outgoing.largest(now_ms),
            "outgoing-byte-rate": outgoing.rate(now_ms),
            "outgoing-byte-total": outgoing.total,
            "incoming-byte-rate": incoming.rate(now_ms),
            "incoming-byte-total": incoming.total,
        }


class ApiMeasures:
    """Of the requests of one API. throttle: ms that its answers asked to hold back."""

    __slots__ = ("latency", "throttle")

    def __init__(self, now_ms: int) -> None:
        self.latency = Meter(now_ms)
        self.throttle = Meter(now_ms)


class LinkMeasures:
    """See the module's text. watched: APIs that are measured by themselves, too.

    throttled: who hears, of each answer to one of these (to any, if none is watched), which node's
    key it was, and how many ms it asked to hold back.
    """

    def __init__(self, now_ms: int, watched: Iterable[ApiKey]) -> None:
        self.throttled: Callable[[int, int], object] | None = None
        self.apis = {api: ApiMeasures(now_ms) for api in watched}
        self._all = _Traffic(now_ms)
        self._nodes: dict[int, _Traffic] = {}
        self._opened = Meter(now_ms)
        self._closed = Meter(now_ms)

    def opened(self, now_ms: int) -> None:
        """A connection is there."""
        self._opened.record(1, now_ms)

    def closed(self, now_ms: int) -> None:
        """One that was there has ended."""
        self._closed.record(1, now_ms)

    def wrote(self, node: int, size_bytes: int, now_ms: int) -> None:
        """A request was written."""
        traffic = self._nodes.get(node)
        if traffic is None:
            traffic = self._first_of(node, now_ms)
        traffic.outgoing.record(size_bytes, now_ms)
        self._all.outgoing.record(size_bytes, now_ms)

    def _first_of(self, node: int, now_ms: int) -> _Traffic:
        """The second connection of a node is counted with the first."""
        number = node_id_of(node) if node > COORDINATOR_KEY_BASE else node
        traffic = self._nodes.get(number)
        if traffic is None:
            traffic = self._nodes[number] = _Traffic(now_ms)
        self._nodes[node] = traffic
        return traffic

    def repeated(
        self, node: int, call: Call, size_bytes: int, next_bytes: int, now_ms: int
    ) -> None:
        """A standing question was answered with nothing, and asked again, if it was."""
        self.answered(node, call, size_bytes, 0, now_ms)
        if next_bytes:
            self.wrote(node, next_bytes, now_ms)

    def answered(
        self, node: int, call: Call, size_bytes: int, throttle_ms: int, now_ms: int
    ) -> None:
        """A request was answered."""
        elapsed_ms = now_ms - call.written_at
        traffic = self._nodes.get(node)
        if traffic is None:
            traffic = self._first_of(node, now_ms)
        for one in (traffic, self._all):
            one.incoming.record(size_bytes, now_ms)
            one.latency.record(elapsed_ms, now_ms)
        watched = self.apis.get(call.api)
        if watched is not None:
            watched.latency.record(elapsed_ms, now_ms)
            watched.throttle.record(throttle_ms, now_ms)
        if self.throttled is not None and (watched is not None or not self.apis):
            self.throttled(node, throttle_ms)

    def tell(self, now_ms: int) -> Group:
        """Of the client, but for its requests."""
        return {
            "connection-count": self._opened.total - self._closed.total,
            "connection-creation-rate": self._opened.rate(now_ms),
            "connection-creation-total": self._opened.total,
            "connection-close-rate": self._closed.rate(now_ms),
            "connection-close-total": self._closed.total,
            **self._all.tell_bytes(now_ms),
        }

    def tell_requests(self, now_ms: int) -> Group:
        """Of the client, its requests."""
        return self._all.tell(now_ms)

    def tell_nodes(self, group: str, now_ms: int) -> list[Reading]:
        """Of each node."""
        return [
            Reading(
                group,
                (("node-id", f"node-{number_told(key)}"),),
                {
                    **traffic.tell(now_ms),
                    "request-latency-avg": traffic.latency.average(now_ms),
                    "request-latency-max": traffic.latency.largest(now_ms),
                },
            )
            for key, traffic in sorted(self._nodes.items())
            if key <= COORDINATOR_KEY_BASE
        ]
