"""A real Apache Kafka, one node or several: for the demo, for tests and for benches.

KRaft in combined mode on free ports of 127.0.0.1, its data in a temporary folder that goes away
with it.

    with KafkaCluster() as kafka:
        kafka.create_topic("t", partitions=4)
        kafka.produce("t", [(b"k", b"v")])
        print(kafka.tool("kafka-topics", "--list"))
"""

from __future__ import annotations

import atexit
import base64
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from kcore.cli.demo import kafka_data
from kcore.cli.demo.java import TOOLS, KafkaInstallation, find_installation
from kcore.cli.demo.kafka_node import HOST, KafkaNode, NodeError, free_ports

START_TIMEOUT_S: Final = 90.0
TOOL_TIMEOUT_S: Final = 60.0

# "quick" is up soonest and leaves the processors to the tests; "server" is what Kafka's own scripts
# use, for measuring.
JVM: Final = {
    "quick": ("-Xms64m", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    "server": ("-Xms512m", "-Xmx1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
}


class ToolError(RuntimeError):
    """One of Kafka's own tools ended with an error; the text has what it printed."""


class KafkaCluster:
    """`nodes` brokers. Options:

    - `settings`: broker properties that go over the quick ones of `broker_settings`;
    - `jvm`: "quick" or "server", see JVM;
    - `installation`: which Java and jars (default: found, KafkaUnavailableError if there is none).
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        settings: Mapping[str, str] | None = None,
        jvm: Literal["quick", "server"] = "quick",
        installation: KafkaInstallation | None = None,
    ) -> None:
        self.installation = installation or find_installation()
        self.folder = Path(tempfile.mkdtemp(prefix="kcore-kafka-"))
        self.cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        ports = free_ports(2 * nodes)
        self._controller_ports = ports[nodes:]
        self._settings = dict(settings or {})
        self.nodes = [
            KafkaNode(
                self.installation, number + 1, self.folder / f"node-{number + 1}", port, JVM[jvm]
            )
            for number, port in enumerate(ports[:nodes])
        ]
        self._formatted = False
        self._closed = False

    @property
    def bootstrap(self) -> str:
        """Every node's address, comma separated."""
        return ",".join(node.address for node in self.nodes)

    @property
    def closed(self) -> bool:
        """Whether it ended for good."""
        return self._closed

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start every node and wait until all serve. Raises NodeError, nothing left running."""
        atexit.register(self.close)
        deadline_s = time.monotonic() + timeout_s
        try:
            if not self._formatted:
                self._format()
            for node in self.nodes:
                node.start()
            for node in self.nodes:
                node.wait_ready(deadline_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End every node and remove their data. Harmless when done already."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        for node in self.nodes:
            node.kill()  # the data goes too: an orderly shutdown would gain nothing
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # One node at a time, by index.

    def stop(self, index: int) -> None:
        """An orderly shutdown of one node."""
        self.nodes[index].stop()

    def kill(self, index: int) -> None:
        """Kill -9 one node."""
        self.nodes[index].kill()

    def restart(self, index: int, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start one node again, on the same port with the same data; stops it first if it runs."""
        node = self.nodes[index]
        node.stop()
        node.start()
        node.wait_ready(time.monotonic() + timeout_s)

    def index_of(self, node_id: int) -> int:
        """The index of the node with this id."""
        return next(index for index, node in enumerate(self.nodes) if node.node_id == node_id)

    def log_tails(self) -> str:
        """The last lines of every node's log, for a failed test's report."""
        return "\n".join(
            f"--- node {node.node_id} ({node.address})\n{node.log_tail()}" for node in self.nodes
        )

    # Data and Kafka's own tools.

    def tool(
        self, name: str, *args: str, stdin: str | None = None, timeout_s: float = TOOL_TIMEOUT_S
    ) -> str:
        """Run one of Kafka's own tools (a name in TOOLS, or a class); gives its standard output.

        `--bootstrap-server` is added unless it is there. Raises ToolError.
        """
        if not any(arg.startswith("--bootstrap-") for arg in args):
            args = ("--bootstrap-server", self.bootstrap, *args)
        command = self.installation.command(TOOLS.get(name, name), *args)
        try:
            done = subprocess.run(
                command,
                input=stdin or "",
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as slow:
            raise ToolError(f"{name} {' '.join(args)}: not done after {timeout_s:.0f} s") from slow
        if done.returncode:
            raise ToolError(
                f"{name} {' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic and wait for its leaders; three copies if there are three nodes."""
        copies = replication or min(3, len(self.nodes))
        kafka_data.create_topic(self.bootstrap, name, partitions, copies, configs)

    def produce(
        self,
        topic: str,
        records: Iterable[tuple[bytes | None, bytes | None]],
        partition: int | None = None,
        **options: str | int,
    ) -> int:
        """Write (key, value) records, all acknowledged when it returns; gives their number."""
        return kafka_data.produce(self.bootstrap, topic, records, partition, **options)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Partition -> the offset the next record will get."""
        return kafka_data.end_offsets(self.bootstrap, topic)

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        """Partition -> what this group has committed, for partitions where it has."""
        return kafka_data.group_offsets(self.bootstrap, group, topic)

    def broker_settings(self, index: int) -> dict[str, str]:
        """The properties of one node: small and quick, not what production needs."""
        node, controller_port = self.nodes[index], self._controller_ports[index]
        copies = str(min(3, len(self.nodes)))
        voters = ",".join(
            f"{other.node_id}@{HOST}:{port}"
            for other, port in zip(self.nodes, self._controller_ports, strict=True)
        )
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(node.node_id),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": f"PLAINTEXT://{node.address},CONTROLLER://{HOST}:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{node.address}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(node.folder / "data"),
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            "group.consumer.assignment.interval.ms": "0",
            "offsets.topic.num.partitions": "4",
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.num.partitions": "4",
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": "1",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "num.recovery.threads.per.data.dir": "1",
            "log.cleaner.dedupe.buffer.size": str(16 << 20),
            "controlled.shutdown.enable": "true",
            "broker.session.timeout.ms": "6000",
            "broker.heartbeat.interval.ms": "1000",
            # How quick a group may be made; what groups are by default stays Kafka's own.
            "group.consumer.min.session.timeout.ms": "1000",
            "group.consumer.min.heartbeat.interval.ms": "100",
            "group.share.min.session.timeout.ms": "1000",
            "group.share.min.heartbeat.interval.ms": "100",
            "group.share.min.record.lock.duration.ms": "1000",
            "group.streams.min.session.timeout.ms": "1000",
            "group.streams.min.heartbeat.interval.ms": "100",
        }
        return settings | self._settings

    def format_options(self, index: int) -> tuple[str, ...]:  # noqa: ARG002 - the nodes are alike
        """Options of kafka-storage for the folder of one node."""
        return ()

    def _format(self) -> None:
        formatting = []
        for index, node in enumerate(self.nodes):
            settings, options = self.broker_settings(index), self.format_options(index)
            formatting.append(node.configure(settings, self.cluster_id, *options))
        for node, process in zip(self.nodes, formatting, strict=True):
            if process.wait(START_TIMEOUT_S):
                raise NodeError(f"kafka-storage format failed:\n{node.log_tail()}")
        self._formatted = True
