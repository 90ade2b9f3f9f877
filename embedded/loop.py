"""A cluster and bare client cores in one loop: no thread, no socket, a clock that only jumps.

For tests of a core, and for whoever embeds one and wants to see both halves at work:

    loop = CoreLoop(nodes=3)
    core = ConsumerCore(config, rng, loop.now_ms)       # bootstrap_servers=loop.bootstrap
    loop.add(core)
    core.subscribe(["t"], loop.now_ms)
    loop.run()                                          # until nobody has anything to do
    loop.pass_time(3_000)                               # heartbeats, sessions, long polls

Each input is followed by draining every core, as docs/BOUNDARY.md has it; bytes arrive whole, at
once and in order. `kcore.sim` is the place for networks that do worse.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, Final, TypeVar

from kcore.actions import Action, Connect, Disconnect, Send
from kcore.broker import BrokerConfig, Cluster, Node
from kcore.embedded import inside
from kcore.embedded.arguments import checked_racks
from kcore.errors import IllegalStateError, UsageError
from kcore.structs import Node as Address
from kcore.timers import NEVER

HOST: Final = "memory.invalid"
PORT: Final = 9092
# Inputs in one `run`; two cores that answer each other without end are a bug, not a wait.
INPUTS_MAX: Final = 1_000_000

_R = TypeVar("_R")


class _Wire:
    """A connection: the client's core and link, the node and its link."""

    __slots__ = ("core", "link", "node", "number")

    def __init__(self, core: Any, link: int, node: Node, number: int) -> None:
        self.core = core
        self.link = link
        self.node = node
        self.number = number


class CoreLoop:
    """See the module's text. now_ms: the clock of all cores; `wall_offset_ms`: the time of day
    minus that. racks: where each node is; None: nowhere.
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        config: BrokerConfig | None = None,
        seed: int = 0,
        wall_offset_ms: int = 0,
        racks: Sequence[str | None] | None = None,
    ) -> None:
        self.now_ms = 0
        addresses = [
            Address(number, HOST, PORT + number - 1, rack)
            for number, rack in enumerate(checked_racks(racks, nodes), 1)
        ]
        self.cluster = Cluster(
            config or BrokerConfig(),
            addresses,
            random.Random(seed),
            wall_offset_ms=wall_offset_ms,
        )
        self._nodes = {
            (at.host, at.port): Node(self.cluster, at.node_id, self.now_ms) for at in addresses
        }
        self.bootstrap = ",".join(f"{at.host}:{at.port}" for at in addresses)
        self._cores: list[Any] = []
        self._inputs: deque[Callable[[], object]] = deque()
        self._by_client: dict[tuple[int, int], _Wire] = {}  # by id of the core, and its link
        self._by_node: dict[int, _Wire] = {}
        self._numbers = count(1)

    def add(self, core: Any) -> None:
        """A client's core takes part from now on."""
        self._cores.append(core)

    def remove(self, core: Any) -> None:
        """It is gone, as a process that was killed: the nodes see its connections end."""
        self._cores.remove(core)
        for wire in [wire for wire in self._by_node.values() if wire.core is core]:
            self._forget(wire)
            self._tell_node(wire, "closed by the client")

    def cut(self, core: Any) -> None:
        """All connections of a core end, and both sides are told; it may make others."""
        for wire in [wire for wire in self._by_node.values() if wire.core is core]:
            self._forget(wire)
            self._tell_node(wire, "cut")
            self._tell_client(wire, "cut")

    def call(self, function: Callable[[int], _R]) -> _R:
        """Run `function(now_ms)` on the cluster, and what follows from it."""
        result = function(self.now_ms)
        self.run()
        return result

    def produce(
        self,
        topic: str,
        records: Iterable[tuple[bytes | None, bytes | None]],
        partition: int | None = None,
    ) -> int:
        """As `EmbeddedBroker.produce`."""
        wall_ms = self.cluster.wall_ms(self.now_ms)
        return inside.produce(self, self.cluster, topic, records, partition, wall_ms)

    def run(self) -> None:
        """Give each core its inputs until there are none."""
        for _ in range(INPUTS_MAX):
            if not self.step():
                return
        raise IllegalStateError(f"no end after {INPUTS_MAX} inputs")

    def step(self) -> bool:
        """Give one core one input; False if there is none."""
        self._drain()
        if not self._inputs:
            return False
        self._inputs.popleft()()
        self._drain()
        return True

    def pass_time(self, ms: int) -> None:
        """Move the clock on by so much, stopping where a core wants to be called."""
        if ms < 0:
            raise UsageError(f"time does not go back: {ms} ms")
        until = self.now_ms + ms
        self.run()
        while True:
            cores = [*self._cores, *self._nodes.values()]
            due = min((core.deadline() for core in cores), default=NEVER)
            if due > until:
                break
            self.now_ms = max(self.now_ms, due)
            for core in cores:
                if core.deadline() <= self.now_ms:
                    core.handle_deadline(self.now_ms)
                    self.run()
        self.now_ms = until
        self.run()

    # Between the cores ---------------------------------------------------------------------------

    def _drain(self) -> None:
        busy = True
        while busy:
            busy = False
            for core in self._cores:
                while (action := core.next_action()) is not None:
                    busy = True
                    self._obey_client(core, action)
            for node in self._nodes.values():
                while (action := node.next_action()) is not None:
                    busy = True
                    self._obey_node(action)

    def _obey_client(self, core: Any, action: Action) -> None:
        key = (id(core), action.link)
        if isinstance(action, Connect):
            self._connect(core, action)
        elif key not in self._by_client:
            return
        elif isinstance(action, Send):
            wire, data = self._by_client[key], action.data
            self._inputs.append(lambda: wire.node.handle_data(wire.number, data, self.now_ms))
        elif isinstance(action, Disconnect):
            wire = self._by_client[key]
            self._forget(wire)
            self._tell_node(wire, "closed by the client")

    def _connect(self, core: Any, action: Connect) -> None:
        node = self._nodes.get((action.host, action.port))
        if node is None or node.node_id not in self.cluster.live:
            self._inputs.append(
                lambda: core.handle_closed(action.link, "nobody listens there", self.now_ms)
            )
            return
        wire = _Wire(core, action.link, node, next(self._numbers))
        self._by_client[id(core), action.link] = self._by_node[wire.number] = wire
        self._inputs.append(lambda: node.handle_connected(wire.number, "core", self.now_ms))
        self._inputs.append(lambda: core.handle_connected(wire.link, self.now_ms))

    def _obey_node(self, action: Action) -> None:
        wire = self._by_node.get(action.link)
        if wire is None:
            return
        if isinstance(action, Send):
            data = action.data
            self._inputs.append(lambda: wire.core.handle_data(wire.link, data, self.now_ms))
            self._inputs.append(lambda: wire.node.handle_sent(wire.number, self.now_ms))
        elif isinstance(action, Disconnect):
            self._forget(wire)
            self._tell_client(wire, "closed by the peer")

    def _tell_node(self, wire: _Wire, why: str) -> None:
        self._inputs.append(lambda: wire.node.handle_closed(wire.number, why, self.now_ms))

    def _tell_client(self, wire: _Wire, why: str) -> None:
        self._inputs.append(lambda: wire.core.handle_closed(wire.link, why, self.now_ms))

    def _forget(self, wire: _Wire) -> None:
        self._by_client.pop((id(wire.core), wire.link), None)
        self._by_node.pop(wire.number, None)
