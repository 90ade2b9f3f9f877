"""`EmbeddedBroker`: nodes of one cluster in a thread of this process, for any Kafka client."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

from kcore.broker import AuthorizerConfig, BrokerConfig, Cluster, Node
from kcore.broker.node_options import with_settings
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.embedded import inside
from kcore.embedded.access import AccessVerbs
from kcore.embedded.arguments import check, checked_racks
from kcore.embedded.disk import flush_of
from kcore.embedded.mishaps import MishapVerbs
from kcore.embedded.quotas import QuotaVerbs
from kcore.embedded.secured import Secured
from kcore.embedded.telemetry import TelemetryVerbs
from kcore.errors import UsageError
from kcore.structs import Node as Address
from kcore.transports.core import monotonic_ms
from kcore.transports.memory import MemoryNetwork, MemorySelector, MemoryTransport
from kcore.transports.serve import Server, ServingCore

if TYPE_CHECKING:
    from kcore.embedded.entries import Access
    from kcore.embedded.security import SecurityOptions
    from kcore.embedded.store import Store

# More nodes in one thread than this are a mistake.
NODES_MAX: Final = 100
PORT_MAX: Final = 65_535
# A hundred years: clocks are int64, and what is never due has to stay so.
TIME_MAX_MS: Final = 3_155_760_000_000

# Where one can listen, and not connect to from elsewhere.
EVERY_ADDRESS: Final = frozenset({"", "0", "0.0.0.0", "::"})  # noqa: S104 - refused

# Where nodes in memory are said to listen: a name that no resolver knows (RFC 6761).
MEMORY_HOST: Final = "memory.invalid"
MEMORY_PORT: Final = 9092


class EmbeddedBroker(AccessVerbs, MishapVerbs, QuotaVerbs, TelemetryVerbs, Secured):
    """A Kafka cluster of `nodes` brokers that serves from `with` on (or `start`), and is gone with
    everything in it afterwards.

        with EmbeddedBroker() as broker:
            broker.create_topic("t", partitions=4)
            consumer = Consumer("t", bootstrap_servers=broker.bootstrap)

    host, port: where to listen; port 0: any free ones, else node n listens on port + n - 1.
    advertised_host: what clients are told instead of `host`; to be given if that is every address
    of the machine (0.0.0.0), to which nobody can connect.
    config: options of the brokers. settings: more of them, under Kafka's names, as a broker's file
    has them: {"num.partitions": "4", "message.max.bytes": "5000000"}.
    seed: what ids are drawn from; None: of the system's choice.
    in_memory: no ports at all; clients of this process connect through `transport()`.
    directory: where topics, records and groups are kept over a restart; None: nowhere. flush: when
    what is written there is synced: "never" (the system decides: it outlives this process, not the
    machine), "always" (before it is answered), or every so many ms.
    authorizer: whether access control lists say who may do what, and for whom they do not count;
    False: everybody may do everything.
    racks: where each node is (Kafka: broker.rack), for clients with a client_rack; None: nowhere.
    telemetry: clients are asked for their metrics (KIP-714), as by a Kafka with a plug-in for it.
    security: TLS and SASL; see docs/EMBEDDED_SECURITY.md.
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        config: BrokerConfig | None = None,
        seed: int | None = None,
        in_memory: bool = False,
        directory: str | Path | None = None,
        flush: str | int = "never",
        settings: Mapping[str, str] | None = None,
        authorizer: AuthorizerConfig | bool = False,
        racks: Sequence[str | None] | None = None,
        telemetry: bool = False,
        **security: Unpack[SecurityOptions],
    ) -> None:
        check("nodes", nodes, int, "a number of brokers")
        check("host", host, str, "a host name or an address")
        check("port", port, int, "a number")
        check("advertised_host", advertised_host, (str, NoneType), "a host name or an address")
        check("config", config, (BrokerConfig, NoneType), "a BrokerConfig")
        check("seed", seed, (int, NoneType), "a number")
        check("in_memory", in_memory, bool, "True or False")
        check("directory", directory, (str, PathLike, NoneType), "a path")
        check("authorizer", authorizer, (AuthorizerConfig, bool), "True or an AuthorizerConfig")
        flush_of(flush)
        if advertised_host is not None and (in_memory or advertised_host in EVERY_ADDRESS):
            why = "is no host to connect to" if not in_memory else "is for a broker on ports"
            raise UsageError(f"advertised_host={advertised_host!r} {why}")
        if in_memory:
            host, port = MEMORY_HOST, port or MEMORY_PORT
        self._network = MemoryNetwork() if in_memory else None
        if not 1 <= nodes <= NODES_MAX:
            raise UsageError(f"nodes={nodes} is not within 1 to {NODES_MAX}")
        if not 0 <= port <= (PORT_MAX - nodes + 1 if port else 0):
            raise UsageError(f"port={port} leaves no room for {nodes} nodes up to {PORT_MAX}")
        self._count = nodes
        self._racks = checked_racks(racks, nodes)
        self._host = host
        self._advertised_host = host if advertised_host is None else advertised_host
        self._port = port
        self._config = config or BrokerConfig()
        if authorizer is not False:
            rules = AuthorizerConfig() if authorizer is True else authorizer
            self._config = replace(self._config, authorizer=rules)
        check("telemetry", telemetry, bool, "True or False")
        if telemetry:
            self._config = replace(self._config, client_telemetry=True)
        if security:
            self._secure(security)
        if settings is not None:
            check("settings", settings, Mapping, "a mapping such as {'num.partitions': '4'}")
            self._config = with_settings(self._config, settings)
        self._rng = random.SystemRandom() if seed is None else random.Random(seed)
        self._directory = None if directory is None else Path(directory)
        self._flush = flush
        self._store: Store | None = None
        self._cluster: Cluster | None = None
        self._server: Server | None = None
        self._passed_ms = 0  # by which the brokers' clock is ahead
        self._begin_links()

    def _secure(self, options: SecurityOptions) -> None:
        # Only for who asks for it, as with a directory.
        from kcore.embedded.security import read_security  # noqa: PLC0415

        found = read_security(options)
        if found.tls is not None:
            from kcore.embedded.encryption import Tls, in_memory_refused  # noqa: PLC0415

            if self._network is not None:
                raise in_memory_refused(found)
            self._tls = Tls(found)
        if found.sasl is not None:
            self._config = replace(self._config, sasl=found.sasl)
        if found.delegation_tokens is not None:
            self._config = replace(self._config, delegation_tokens=found.delegation_tokens)

    # Life ----------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Listen and serve. OSError if a port is taken; UsageError if it serves already, the
        directory is in use, or the host is every address and none is advertised; StorageError: the
        directory cannot be used.
        """
        if self._server is not None:
            raise UsageError("this broker serves already")
        self._begin_links()
        with ExitStack() as begun:
            listeners = self._listen(begun)
            cluster, nodes = self._make_nodes(listeners, begun)
            selector = None if self._network is None else MemorySelector()
            served: list[tuple[Any, ServingCore]] = [*zip(listeners, nodes, strict=True)]
            tls = None
            if self._tls is not None:
                begun.callback(self._tls.close)
                tls = self._tls.open({self._host, self._advertised_host} - EVERY_ADDRESS)
            self._server = Server(served, self._now_ms, selector=selector, tls=tls)
            begun.pop_all()
        self._cluster = cluster
        try:
            self._server.start()
        except BaseException:  # there was no thread to be had
            self.stop()
            raise
        return self

    def _make_nodes(self, listeners: list[Any], begun: ExitStack) -> tuple[Cluster, list[Node]]:
        addresses = [
            Address(number, self._advertised(listener), listener.getsockname()[1], rack)
            for number, (listener, rack) in enumerate(zip(listeners, self._racks, strict=True), 1)
        ]
        now_ms = self._now_ms()
        wall_offset_ms = time.time_ns() // 1_000_000 - now_ms
        cluster = Cluster(self._config, addresses, self._rng, wall_offset_ms=wall_offset_ms)
        if self._directory is None:
            return cluster, [Node(cluster, address.node_id, now_ms) for address in addresses]
        # Only for who keeps something: a broker in a test is up sooner without.
        from kcore.embedded.durable import DurableNode  # noqa: PLC0415
        from kcore.embedded.store import Store  # noqa: PLC0415

        self._store = store = Store(self._directory, self._count, self._flush, self._now_ms)
        begun.callback(store.close)
        store.load(cluster, now_ms)
        return cluster, [
            DurableNode(cluster, address.node_id, now_ms, store) for address in addresses
        ]

    def _advertised(self, listener: Any) -> str:
        """What clients are told to connect to. UsageError if that would be every address: each
        would take it for its own machine (Kafka refuses it, too: advertised.listeners).
        """
        bound, advertised = listener.getsockname()[0], self._advertised_host
        if advertised == self._host and bound in EVERY_ADDRESS:
            raise UsageError(
                f"{self._host or bound} is every address of this machine and none to connect to:"
                " say what clients are to be told (advertised_host=, --advertise)"
            )
        return advertised

    def stop(self) -> None:
        """Close every connection and forget everything that is not kept. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()
        if self._tls is not None:
            self._tls.close()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # What to connect to --------------------------------------------------------------------------

    @property
    def addresses(self) -> list[str]:
        """`host:port` of each node, with brackets around the host if it is an IPv6 address."""
        nodes = self._running()[0].addresses.values()
        return [
            f"[{node.host}]:{node.port}" if ":" in node.host else f"{node.host}:{node.port}"
            for node in nodes
        ]

    @property
    def bootstrap(self) -> str:
        """All of them, as clients take it."""
        return ",".join(self.addresses)

    def transport(self) -> MemoryTransport:
        """What a client of a broker in memory is given: `Consumer(transport=broker.transport())`,
        a new one for each client. UsageError if this broker is on ports.
        """
        if self._network is None:
            raise UsageError("this broker is on ports: in_memory=True has none")
        return MemoryTransport(self._network)

    @property
    def faults(self) -> list[Exception]:
        """Errors inside the broker so far: empty unless there is a bug in it."""
        cluster, server = self._running()
        return [
            *server.faults,
            *(fault for node in cluster.nodes.values() for fault in node.faults),
        ]

    # What tests do with it -----------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic. partitions, replication_factor: None: as a topic has them that is made when
        it is written to (num.partitions, default.replication.factor): 1, unless brokers are told
        otherwise. settings: texts under Kafka's names (`{"retention.ms": "1000"}`). RefusedError.
        """
        if partitions is None:
            partitions = self._config.num_partitions
        if replication_factor is None:
            replication_factor = min(self._config.default_replication_factor, self._count)
        check("name", name, str, "the name of a topic")
        check("partitions", partitions, int, "a number of partitions")
        check("replication_factor", replication_factor, int, "a number of replicas")
        check("settings", settings, (Mapping, NoneType), "a mapping of names to texts")
        if settings and not all(isinstance(text, str) for text in settings.values()):
            raise UsageError(f"settings are texts, as Kafka's tools take them: {dict(settings)!r}")
        cluster, server = self._running()
        server.call(
            lambda _now_ms: cluster.topics.create(
                name, partitions, settings, replication_factor=replication_factor
            )
        )
        self._flush_now()

    def delete_topic(self, name: str) -> None:
        """Delete a topic. LookupError if there is none of that name."""
        check("name", name, str, "the name of a topic")
        cluster, server = self._running()

        def delete(now_ms: int) -> None:
            cluster.delete(inside.topic_of(cluster, name), now_ms)

        server.call(delete)
        self._flush_now()

    def topics(self) -> dict[str, int]:
        """Topic -> how many partitions it has; without those that coordinators keep groups and
        transactions in, which are there once there are any.
        """
        cluster, server = self._running()
        return server.call(
            lambda _now_ms: {
                topic.name: len(topic.partitions)
                for topic in cluster.topics.topics()
                if topic.name not in INTERNAL_TOPICS
            }
        )

    def produce(
        self,
        topic: str,
        records: Iterable[tuple[bytes | None, bytes | None]],
        partition: int | None = None,
    ) -> int:
        """Append (key, value) records, as a producer with acks=all would; how many.

        partition None: they go round. LookupError if there is none, RefusedError, TypeError.
        """
        check("topic", topic, str, "the name of a topic")
        if partition is not None:
            check("partition", partition, int, "the number of a partition")
        check("records", records, Iterable, "several pairs (key, value)")
        cluster, server = self._running()
        wall_ms = server.call(cluster.wall_ms)
        count = inside.produce(server, cluster, topic, records, partition, wall_ms)
        self._flush_now()
        return count

    def end_offsets(self, topic: str) -> list[int]:
        """The end of each partition's log. LookupError if there is no such topic."""
        check("topic", topic, str, "the name of a topic")
        cluster, server = self._running()

        def ends(_now_ms: int) -> list[int]:
            found = inside.topic_of(cluster, topic)
            return [partition.log.end_offset for partition in found.partitions]

        return server.call(ends)

    def committed_offsets(self, group: str, topic: str) -> list[int | None]:
        """What a group has committed in each partition of a topic; None: nothing. LookupError if
        there is no such topic, RefusedError if no node is up.
        """
        check("group", group, str, "the id of a group")
        check("topic", topic, str, "the name of a topic")
        cluster, server = self._running()
        return inside.committed(server, cluster, group, topic)

    def let_time_pass(self, ms: int) -> None:
        """Move the brokers' clock on: sessions end, parked requests expire, records age. The clock
        of clients is not moved.
        """
        if not isinstance(ms, int) or ms < 0:
            raise UsageError(f"time passes in whole ms, and does not go back: {ms} ms")
        if self._passed_ms + ms > TIME_MAX_MS:
            raise UsageError(f"ms={ms} is too long: {TIME_MAX_MS} ms at most may pass in all")
        _, server = self._running()

        def pass_on(_now_ms: int) -> None:
            self._passed_ms += ms

        server.call(pass_on)

    # Nodes ---------------------------------------------------------------------------------------

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Let another node lead a partition. LookupError if there is no such partition or node."""
        check("topic", topic, str, "the name of a topic")
        check("partition", partition, int, "the number of a partition")
        check("node", node, int, "the number of a node")
        cluster, server = self._running()

        def move(now_ms: int) -> None:
            found = inside.topic_of(cluster, topic, partition)
            if node not in cluster.live:
                raise LookupError(f"node {node} is not there, or not up")
            cluster.move_leader(found, partition, node, now_ms)

        server.call(move)

    def kill(self, node: int) -> None:
        """Take a node down: its port is closed, its connections end, live replicas lead its
        partitions, its groups go on at others. LookupError if it is not up.
        """
        check("node", node, int, "the number of a node")
        cluster, server = self._running()

        def kill(now_ms: int) -> None:
            if node not in cluster.live:
                raise LookupError(f"node {node} is not up")
            server.refuse(cluster.nodes[node])
            cluster.stop_node(node, now_ms)
            self._join_all(node, now_ms)  # it may have stood still

        server.call(kill)

    def revive(self, node: int) -> None:
        """Bring a node back on its port. LookupError if it is not down."""
        check("node", node, int, "the number of a node")
        cluster, server = self._running()

        def revive(now_ms: int) -> None:
            if node in cluster.live or node not in cluster.nodes or cluster.nodes[node].paused:
                raise LookupError(f"node {node} is not down")
            server.listen(self._listener(cluster.addresses[node].port), cluster.nodes[node])
            cluster.start_node(node, now_ms)

        server.call(revive)

    def _access(self) -> Access:
        from kcore.embedded.entries import Access  # noqa: PLC0415 - a broker is up sooner without

        cluster, server = self._running()
        return Access(server, cluster.authorizer)

    def _flush_now(self) -> None:
        """What was done from inside is answered by returning; flush="always" holds for it, too."""
        store, (_, server) = self._store, self._running()
        if store is not None and store.sync_first:
            server.call(lambda _now_ms: store.sync())

    def _listen(self, begun: ExitStack) -> list[Any]:
        listeners = []
        for index in range(self._count):
            listeners.append(self._listener(self._port and self._port + index))
            begun.callback(listeners[-1].close)
        return listeners

    def _listener(self, port: int) -> Any:
        """A socket, or what stands for one in memory. OSError if the port is taken."""
        if self._network is not None:
            return self._network.listen(self._host, port)
        return _listener(self._host, port)

    def _now_ms(self) -> int:
        return monotonic_ms() + self._passed_ms

    def _running(self) -> tuple[Cluster, Server]:
        if self._cluster is None or self._server is None:
            raise UsageError("this broker does not serve: use `with`, or start it")
        return self._cluster, self._server


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        error.filename = f"{host}:{port}"  # its text says what went wrong, and not of what
        raise
    return sock
