"""A real Kafka whose voters may be altered (KIP-853): node 1 is broker and controller and votes
alone, node 2 is a controller that may vote, node 3 a broker.
"""

from __future__ import annotations

from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.cli.demo.kafka_node import HOST

BROKER = 2  # the index of node 3


class DynamicQuorum(KafkaCluster):
    """See the module's text."""

    ROLES = ("broker,controller", "controller", "broker")

    def __init__(self) -> None:
        super().__init__(len(self.ROLES))

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses."""
        return ",".join(self.nodes[index].address for index in (0, BROKER))

    def controller(self, index: int) -> str:
        """Where a controller listens."""
        if "broker" not in self.ROLES[index]:
            return self.nodes[index].address
        return f"{HOST}:{self._controller_ports[index]}"

    def broker_settings(self, index: int) -> dict[str, str]:
        """The properties of one node, by its roles."""
        settings = super().broker_settings(index)
        del settings["controller.quorum.voters"]
        roles = self.ROLES[index]
        listeners = []
        if "broker" in roles:
            listeners.append(f"PLAINTEXT://{self.nodes[index].address}")
        else:
            del settings["advertised.listeners"]
        if "controller" in roles:
            listeners.append(f"CONTROLLER://{self.controller(index)}")
        settings["process.roles"] = roles
        settings["listeners"] = ",".join(listeners)
        settings["controller.quorum.bootstrap.servers"] = self.controller(0)
        return settings

    def format_options(self, index: int) -> tuple[str, ...]:
        """Node 1 is the first voter, the others are none."""
        return ("--no-initial-controllers",) if index else ("--standalone",)
