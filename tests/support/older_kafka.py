"""Older releases of Kafka, with a ZooKeeper where they need one.

The jars are those of tests/older/pom.xml, fetched by `make older` into .cache/older.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Final

from spark_processes import Started, wait_until

from kcore.cli.demo import tether
from kcore.cli.demo.java import KafkaInstallation, find_java
from kcore.cli.demo.kafka_cluster import START_TIMEOUT_S, KafkaCluster
from kcore.cli.demo.kafka_node import HOST, free_ports

JARS: Final = Path(".cache/older")
RELEASES: Final = ("1.1.1", "2.1.1", "2.8.2", "3.9.1", "4.0.1", "4.1.1", "4.2.0", "4.3.1")
ZOOKEEPER: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
# What a Kafka with a ZooKeeper has not, or has as something else.
KRAFT_ONLY: Final = ("process.roles", "node.id", "controller.", "inter.broker.listener.name")


def missing() -> str | None:
    """Why none can be started here; None if they can."""
    return None if (JARS / ".complete").exists() else "older Kafkas are not there: make older"


def number(release: str) -> tuple[int, int]:
    """Major and minor."""
    major, minor, _ = map(int, release.split("."))
    return major, minor


class OlderKafka(KafkaCluster):
    """A cluster of that release."""

    def __init__(self, release: str, nodes: int = 1) -> None:
        super().__init__(nodes, installation=KafkaInstallation(find_java(), JARS / release))
        self.release = number(release)
        self._zookeeper: Started | None = None
        self._zookeeper_port = free_ports(1)[0] if self.release < (3, 3) else None

    def broker_settings(self, index: int) -> dict[str, str]:
        settings = super().broker_settings(index)
        if self._zookeeper_port is None:
            return settings
        node = self.nodes[index]
        kept = {name: v for name, v in settings.items() if not name.startswith(KRAFT_ONLY)}
        return kept | {
            "broker.id": str(node.node_id),
            "zookeeper.connect": f"{HOST}:{self._zookeeper_port}",
            "listeners": f"PLAINTEXT://{node.address}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
        }

    def format_options(self, index: int) -> tuple[str, ...]:
        """Share groups were a preview in 4.1."""
        share = ("--feature", "share.version=1") if self.release == (4, 1) else ()
        return (*super().format_options(index), *share)

    def _format(self) -> None:
        if self._zookeeper_port is None:
            super()._format()
            return
        self._start_zookeeper()
        for index, node in enumerate(self.nodes):
            node.folder.mkdir(parents=True)
            lines = [f"{name}={value}\n" for name, value in self.broker_settings(index).items()]
            node.properties.write_text("".join(lines))
        self._formatted = True

    def _start_zookeeper(self) -> None:
        folder = self.folder / "zookeeper"
        folder.mkdir()
        settings = folder / "zoo.cfg"
        settings.write_text(
            f"dataDir={folder}/data\nclientPort={self._zookeeper_port}\n"
            f"clientPortAddress={HOST}\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        )
        command = self.installation.command(ZOOKEEPER, str(settings))
        tied = [sys.executable, "-IS", str(tether.__file__), str(os.getpid())]
        self._zookeeper = Started([*tied, *command], folder / "log")
        wait_until(self._zookeeper_answers, START_TIMEOUT_S, "ZooKeeper's start", self._zookeeper)

    def _zookeeper_answers(self) -> bool:
        try:
            socket.create_connection((HOST, self._zookeeper_port), timeout=1.0).close()
        except OSError:
            return False
        return True

    def upgrade(self, index: int, to: KafkaInstallation) -> None:
        """Start one node again, with its data, as another release."""
        self.nodes[index]._installation = to
        self.restart(index)

    def close(self) -> None:
        super().close()
        if self._zookeeper is not None:
            self._zookeeper.kill()
