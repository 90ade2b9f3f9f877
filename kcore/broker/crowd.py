"""The connections of one node, and what all of them together may cost it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kcore.bounds import check_kinds
from kcore.broker.addresses import address_of
from kcore.broker.links import ClientLink, Turn
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32, MAX_INT64, MAX_TIMEOUT_MS
from kcore.timers import NEVER


@dataclass(frozen=True, slots=True)
class CrowdLimits:
    """Bounds of a node's connections, under Kafka's names where it has them.

    max_connections, max_connections_per_ip: who comes then is sent away;
    max_connections_per_ip_overrides: by address, in place of the latter ({"127.0.0.1": 5}).
    connections_max_idle_ms: without a whole request for so long, or without taking an answer, a
    connection is closed. queued_max_bytes: requests and answers that are kept for all connections;
    beyond that the one that has most of them is closed (Kafka's queued.max.request.bytes stops
    reading instead, so that a few who never go on can stop everybody).
    """

    max_connections: int = 20_000
    max_connections_per_ip: int = 20_000
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    connections_max_idle_ms: int = 600_000
    queued_max_bytes: int = 536_870_912

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        check_kinds(self)
        for name, lowest, highest in (
            ("max_connections", 1, MAX_INT32),
            ("max_connections_per_ip", 0, MAX_INT32),
            ("connections_max_idle_ms", 1, MAX_TIMEOUT_MS),
            ("queued_max_bytes", 1, MAX_INT64),
        ):
            value = getattr(self, name)
            if not lowest <= value <= highest:
                raise KafkaConfigurationError(f"{name}={value} is not within {lowest} to {highest}")
        if not self.max_connections_per_ip and not self.max_connections_per_ip_overrides:
            raise KafkaConfigurationError("max_connections_per_ip=0 lets nobody in")
        for address, most in self.max_connections_per_ip_overrides.items():
            if address_of(address) != address or not 0 <= most <= MAX_INT32:
                raise KafkaConfigurationError(
                    f"max_connections_per_ip_overrides={{{address!r}: {most!r}}} is no address with"
                    f" a number from 0 to {MAX_INT32}"
                )

    def most_of(self, host: str) -> int:
        """Connections from there."""
        return self.max_connections_per_ip_overrides.get(host, self.max_connections_per_ip)


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

    def admit(self, client: ClientLink, limits: CrowdLimits) -> bool:
        """Take it in, if there is room by the limits of now."""
        if len(self._links) >= limits.max_connections or self._hosts[client.host] >= limits.most_of(
            client.host
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
