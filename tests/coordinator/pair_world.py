"""The client's core against the coordinator, bytes both ways, on the scripted world's clock.

Each node has a coordinator; `__consumer_offsets` has one partition, led by one node at a time,
whose journal all of them can read.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

from scripted import Client, ScriptedCluster, World

from kcore.coordinator import Caller, CoordinatorConfig, GroupCoordinator
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

WALL = 1_700_000_000_000
P0 = 0
GROUP_APIS = {
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
}


class CoordinatedCluster(ScriptedCluster):
    """A scripted cluster whose groups are kept by real coordinators."""

    def __init__(self, topics: dict[str, int], nodes: int = 1, **options: Any) -> None:
        super().__init__(topics, nodes)
        self.config = CoordinatorConfig(offsets_topic_num_partitions=1, **options)
        self.journal: list[Any] = []
        self.world: World
        self.caller_link: Any = None
        self._seeds = 0
        self._appended_at = 0
        self.epoch = 0  # of the leader of the groups' partition
        self.append_ms = 1
        self.append_error: Callable[[], ErrorCode] = lambda: ErrorCode.NONE
        self._replies: dict[int, Callable[[Any], None]] = {}
        self._tokens = itertools.count(1)
        self._wake = NEVER
        self.brokers = {node: self._new(node) for node in self.nodes}

    def _new(self, node: int) -> GroupCoordinator:
        self._seeds += 1  # nodes, and lives of a node, draw ids of their own
        rng = random.Random(1_000 * node + self._seeds)
        return GroupCoordinator(self.config, rng, wall_offset_ms=WALL)

    @property
    def active(self) -> GroupCoordinator:
        return self.brokers[self.coordinator]

    def lead(self, node: int, load_ms: int = 0) -> None:
        """The node leads the groups' partition from now on."""
        old = self.brokers[self.coordinator]
        old.handle_resigned(P0, self.world.now)
        self.drain(old)
        self.coordinator = node
        self.epoch += 1
        epoch = self.epoch
        broker = self.brokers[node]
        broker.handle_elected(P0)

        def load() -> None:
            if self.brokers[node] is broker and self.epoch == epoch:
                broker.handle_entries(P0, self.journal, self.world.now)
                broker.handle_loaded(P0, self.world.now)
                self.drain(broker)

        if load_ms:
            self.world.later(load_ms, load)
        else:
            load()

    def crash(self, node: int) -> None:
        """The node dies: what it had not written is gone."""
        self.brokers[node] = self._new(node)

    def handle(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        api = ApiKey(request.api_key)
        if api not in GROUP_APIS or api in self.script:
            super().handle(node, request, reply)
            return
        self.asked.append((node, api, request.message))
        token = next(self._tokens)
        self._replies[token] = reply
        caller = Caller(token, self.caller_link, request.client_id or "", "/127.0.0.1")
        broker = self.brokers[node]
        broker.handle_request(caller, request.api_version, request.message, self.world.now)
        self.drain(broker)

    def closed(self, link: Any) -> None:
        for broker in self.brokers.values():
            broker.handle_closed(link)

    def drain(self, broker: GroupCoordinator) -> None:
        while (found := broker.next_reply()) is not None:
            self._replies.pop(found.token)(found.message)
        while (append := broker.next_append()) is not None:
            self._later_append(broker, append)
        due = min(x.deadline() for x in self.brokers.values())
        if due < NEVER and (due < self._wake or self._wake <= self.world.now):
            self._wake = due
            self.world.later(max(due - self.world.now, 0), self._tick)

    def _later_append(self, broker: GroupCoordinator, append: Any) -> None:
        epoch = self.epoch

        def done() -> None:
            if broker is not self.active or epoch != self.epoch:
                return  # another node writes this log now
            error = self.append_error()
            if not error:
                self.journal.extend(append.entries)
            broker.handle_appended(P0, append.number, self.world.now, error)
            self.drain(broker)

        self._appended_at = max(self._appended_at, self.world.now + self.append_ms)  # in order
        self.world.later(self._appended_at - self.world.now, done)

    def _tick(self) -> None:
        self._wake = NEVER
        for broker in self.brokers.values():
            broker.handle_deadline(self.world.now)
            self.drain(broker)


class PairWorld(World):
    """Tells the cluster which connection speaks, and which is gone."""

    def __init__(self, cluster: CoordinatedCluster, seed: int = 1) -> None:
        super().__init__(cluster, seed)
        cluster.world = self
        cluster.lead(1)

    def obey(self, client: Client, action: Any) -> None:
        link = getattr(action, "link", None)
        before = link in client.links
        super().obey(client, action)
        if before and link not in client.links:
            self.cluster.closed((id(client), link))  # type: ignore[attr-defined]

    def _receive(self, client: Client, link: int, data: bytes) -> None:
        self.cluster.caller_link = (id(client), link)  # type: ignore[attr-defined]
        super()._receive(client, link, data)

    def cut(self, client: Client, link: int) -> None:
        super().cut(client, link)
        self.cluster.closed((id(client), link))  # type: ignore[attr-defined]

    def crash(self, node: int) -> None:
        self.kill_node(node)
        self.cluster.crash(node)  # type: ignore[attr-defined]
