"""The connections of one node, and what all of them together may cost it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from kcore.broker.links import ClientLink, Turn
from kcore.timers import NEVER


@dataclass(frozen=True, slots=True)
class CrowdLimits:
    """Bounds of a node's connections, under Kafka's names where it has them.

    max_connections, max_connections_per_ip: who comes then is sent away. connections_max_idle_ms:
    without a whole request for so long, or without taking an answer, a connection is closed.
    queued_max_bytes: requests and answers that are kept for all connections; beyond that the one
    that has most of them is closed (Kafka's queued.max.request.bytes stops reading instead, so that
    a few who never go on can stop everybody).
    """

    max_connections: int = 20_000
    max_connections_per_ip: int = 20_000
    connections_max_idle_ms: int = 600_000
    queued_max_bytes: int = 536_870_912


class Crowd:
    """Connections by their numbers, who was silent longest first."""

    def __init__(self, limits: CrowdLimits) -> None:
        self._limits = limits
        self._links: OrderedDict[int, ClientLink] = OrderedDict()
        self._hosts: Counter[str] = Counter()
        self._held_bytes = 0

    def __len__(self) -> int:
        return len(self._links)

    def __iter__(self) -> Iterator[ClientLink]:
        return iter(list(self._links.values()))

    def __contains__(self, number: int) -> bool:
        return number in self._links

    @property
    def held_bytes(self) -> int:
        """What is kept for all of them."""
        return self._held_bytes

    def get(self, number: int) -> ClientLink | None:
        """The connection of this number; None if there is none."""
        return self._links.get(number)

    def has(self, client: ClientLink) -> bool:
        """Whether it is still there."""
        return self._links.get(client.number) is client

    def admit(self, client: ClientLink) -> bool:
        """Take it in, if there is room."""
        limits = self._limits
        if (
            len(self._links) >= limits.max_connections
            or self._hosts[client.host] >= limits.max_connections_per_ip
        ):
            return False
        self._links[client.number] = client
        self._hosts[client.host] += 1
        return True

    def remove(self, client: ClientLink) -> bool:
        """Forget it; whether it was there."""
        if not self.has(client):
            return False
        del self._links[client.number]
        self._hosts[client.host] -= 1
        if not self._hosts[client.host]:
            del self._hosts[client.host]
        self._held_bytes -= client.counted_bytes
        return True

    def touch(self, client: ClientLink, now_ms: int) -> None:
        """A whole request came, or was done."""
        client.active_ms = now_ms
        self._links.move_to_end(client.number)

    def count(self, client: ClientLink) -> ClientLink | None:
        """What is kept for it may have changed; who has to go, if all have too much."""
        if self.has(client):
            held = client.held_bytes
            self._held_bytes += held - client.counted_bytes
            client.counted_bytes = held
        if self._held_bytes <= self._limits.queued_max_bytes:
            return None
        return max(self._links.values(), key=lambda one: one.counted_bytes, default=None)

    def idle(self, now_ms: int) -> ClientLink | None:
        """One that has been silent for too long."""
        before_ms = now_ms - self._limits.connections_max_idle_ms
        oldest = next(iter(self._links.values()), None)
        while oldest is not None and oldest.active_ms <= before_ms:
            if oldest.turn is not Turn.SERVING:
                return oldest
            self.touch(oldest, now_ms)  # it waits for us: that is not being silent
            oldest = next(iter(self._links.values()))
        return None

    def deadline(self) -> int:
        """When somebody may have been silent for too long."""
        oldest = next(iter(self._links.values()), None)
        if oldest is None:
            return NEVER
        return oldest.active_ms + self._limits.connections_max_idle_ms
