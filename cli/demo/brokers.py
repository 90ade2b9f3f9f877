"""What the demo reads from: nodes that it starts itself, embedded ones or a real Kafka's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from kcore.broker import BrokerConfig
from kcore.cli.endings import RefusalError
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker

if TYPE_CHECKING:
    from rich.console import Console

    from kcore.cli.demo.kafka_cluster import KafkaCluster

NODES: Final = 3
# Long enough for every member to be there before the first generation is made.
REBALANCE_DELAY_MS: Final = 1_000
KAFKA_VERSION: Final = "4.4.0"
LOAD_HINT: Final = "to read a topic of yours: make run BOOTSTRAP=host:port TOPIC=name"


class Brokers(Protocol):
    """A cluster that serves."""

    @property
    def bootstrap(self) -> str:
        """Every node's address."""

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Every node's id."""

    def kill(self, node: int) -> None:
        """Take a node down, without any farewell."""

    def revive(self, node: int) -> None:
        """Bring it back on its port; may return before it serves."""

    def faults(self) -> list[str]:
        """What went wrong inside: a bug each, however well the clients got over it."""


@contextmanager
def embedded_nodes(console: Console) -> Iterator[Brokers]:
    """Three nodes in this process, for as long as the demo runs."""
    config = BrokerConfig(
        auto_create_topics=False,
        coordinator=CoordinatorConfig(group_initial_rebalance_delay_ms=REBALANCE_DELAY_MS),
    )
    began_s = time.monotonic()
    with EmbeddedBroker(NODES, config=config) as broker:
        took_ms = (time.monotonic() - began_s) * 1_000
        console.print(
            f"{NODES} embedded nodes are up at {broker.bootstrap} after {took_ms:.0f} ms",
            highlight=False,
            soft_wrap=True,
        )
        yield _Embedded(broker)


@contextmanager
def kafka_nodes(console: Console, nodes: int) -> Iterator[Brokers]:
    """A real Kafka for as long as the demo runs. Raises RefusalError, saying what is missing."""
    try:
        from kcore.cli.demo.kafka_cluster import KafkaCluster  # noqa: PLC0415 (an extra's)
    except ModuleNotFoundError as missing:
        raise RefusalError(f"{missing.name} is missing: pip install 'kcore[demo]'") from missing
    from kcore.cli.demo.java import KafkaUnavailableError  # noqa: PLC0415
    from kcore.cli.demo.kafka_node import NodeError  # noqa: PLC0415

    try:
        cluster = KafkaCluster(
            nodes, settings={"group.initial.rebalance.delay.ms": str(REBALANCE_DELAY_MS)}
        )
        began_s = time.monotonic()
        with console.status("starting Apache Kafka"):
            cluster.start()
    except (KafkaUnavailableError, NodeError) as why:
        raise RefusalError(f"{why}\n{LOAD_HINT}") from why
    try:
        took_s = time.monotonic() - began_s
        console.print(
            f"Apache Kafka {KAFKA_VERSION} is up at {cluster.bootstrap} after {took_s:.1f} s",
            highlight=False,
            soft_wrap=True,
        )
        yield _Kafka(cluster)
    finally:
        cluster.close()


class _Embedded:
    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self.bootstrap = broker.bootstrap
        self.node_ids = tuple(range(1, NODES + 1))
        self.kill = broker.kill
        self.revive = broker.revive

    def faults(self) -> list[str]:
        return [f"inside the broker: {fault!r}" for fault in self._broker.faults]


class _Kafka:
    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self.bootstrap = cluster.bootstrap
        self.node_ids = tuple(node.node_id for node in cluster.nodes)

    def kill(self, node: int) -> None:
        self._cluster.kill(self._cluster.index_of(node))

    def revive(self, node: int) -> None:
        self._cluster.nodes[self._cluster.index_of(node)].start()

    def faults(self) -> list[str]:
        return []
