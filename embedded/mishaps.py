"""What tests have go wrong: with requests, between clients and nodes, between nodes."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

from kcore.broker import Kind, LinkFault, Mishap
from kcore.embedded.arguments import check, near
from kcore.errors import UsageError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker import Cluster
    from kcore.transports.serve import Server


class MishapVerbs:
    """The part of `EmbeddedBroker` that is about mishaps."""

    _cut: list[tuple[int, int]]
    _late: list[int]

    def _running(self) -> tuple[Cluster, Server]:
        raise NotImplementedError

    def _begin_links(self) -> None:
        """Every link is up."""
        self._cut = []  # between nodes, until restore_links
        self._late = []

    def refuse(
        self,
        api: str,
        error: str,
        times: int = 1,
        *,
        node: int | None = None,
        client: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
    ) -> None:
        """Answer the next `times` requests of an API ("Fetch") with an error
        ("NOT_LEADER_OR_FOLLOWER"), wherever its answer has a place for one, and do nothing else.
        node, client: only those that this node gets, or that clients of this `client_id` send.
        topic, partition, group: only those that name it, by themselves or by what their session
        is about; nothing else of them is refused. UsageError where an answer has no place for that.
        """
        check("error", error, str, "the name of an error code")
        code = ErrorCode.__members__.get(error)
        if code is None:
            meant = near(error, ErrorCode.__members__)
            raise UsageError(f"{error!r} is no error code of Kafka{meant}")
        self._add(api, Kind.REFUSED, times, node, client, topic, partition, group, error=code)

    def cut(
        self,
        api: str,
        times: int = 1,
        *,
        node: int | None = None,
        client: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        served: bool = False,
    ) -> None:
        """Close the connections on which the next `times` requests of an API come, instead of
        serving them; served: instead of answering, when they are served, so that their clients do
        not know it. Which requests: as of `refuse`.
        """
        check("served", served, bool, "True or False")
        kind = Kind.LOST if served else Kind.CUT
        self._add(api, kind, times, node, client, topic, partition, group)

    def delay(
        self,
        api: str,
        delay_ms: int,
        times: int = 1,
        *,
        node: int | None = None,
        client: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
    ) -> None:
        """Serve the next `times` requests of an API so much later. Which requests: as of
        `refuse`.
        """
        check("delay_ms", delay_ms, int, "a number of ms")
        self._add(
            api, Kind.DELAYED, times, node, client, topic, partition, group, delay_ms=delay_ms
        )

    def drop_link(self, *, node: int | None = None, client: str | None = None) -> None:
        """Let nothing pass between a node (None: every) and clients with this `client_id` (None:
        all) until `restore_links`. Connections stay: nobody is told, and nothing is lost, as TCP
        has it: what was sent meanwhile arrives afterwards, if its sender has waited.
        """
        self._add_link(LinkFault(None, node, client))

    def delay_link(
        self, delay_ms: int, *, node: int | None = None, client: str | None = None
    ) -> None:
        """Serve every request that passes between these so much later, until `restore_links`."""
        check("delay_ms", delay_ms, int, "a number of ms")
        self._add_link(LinkFault(delay_ms, node, client))

    def drop_replication(self, node: int, other: int) -> None:
        """Let nothing pass between two nodes until `restore_links`: replicas fall behind, and out
        of sync after `replica_lag_time_max_ms`.
        """
        pair = (self._known(node), self._known(other))
        if node == other:
            raise UsageError(f"node {node} has no link to itself")
        cluster, server = self._running()
        self._cut.append(pair)
        server.call(lambda now_ms: cluster.replication.cut(*pair, now_ms))

    def delay_replication(self, node: int, delay_ms: int) -> None:
        """Let a node's replicas get everything so much later, until `restore_links`. Who produces
        with acks=all waits for them.
        """
        check("delay_ms", delay_ms, int, "a number of ms")
        if delay_ms < 0:
            raise UsageError(f"delay_ms={delay_ms}")
        cluster, server = self._running()
        known = self._known(node)
        self._late.append(known)
        server.call(lambda now_ms: cluster.replication.set_lag(known, delay_ms, now_ms))

    def restore_links(self) -> None:
        """Everything passes again; what was held up arrives now."""
        cluster, server = self._running()
        cut, self._cut = self._cut, []
        late, self._late = self._late, []

        def restore(now_ms: int) -> None:
            for pair in cut:
                self._join(*pair, now_ms)
            for node_id in late:
                cluster.replication.set_lag(node_id, 0, now_ms)
            cluster.mishaps.mend_links()
            for node in cluster.nodes.values():
                node.release(now_ms)
            server.look_again()

        server.call(restore)

    def no_mishaps(self) -> None:
        """Forget those that have not happened yet, and restore the links."""
        cluster, server = self._running()
        server.call(lambda _now_ms: cluster.mishaps.clear())
        self.restore_links()

    @property
    def mishaps_to_come(self) -> int:
        """How many have not happened yet."""
        cluster, server = self._running()
        return server.call(lambda _now_ms: len(cluster.mishaps))

    def pause(self, node: int) -> None:
        """Let a node stand still, as a process that is stopped: its connections stay open and new
        ones are accepted, but nobody answers on them. It still leads what it led, until `fence`
        takes that away from it, and gets nothing from other nodes. LookupError if it is not up.
        """
        check("node", node, int, "the number of a node")
        cluster, server = self._running()

        def pause(now_ms: int) -> None:
            if node not in cluster.live:
                raise LookupError(f"node {node} is not up")
            cluster.nodes[node].pause()
            for other in cluster.nodes:
                if other != node:
                    cluster.replication.cut(node, other, now_ms)

        server.call(pause)

    def fence(self, node: int) -> None:
        """Let the cluster put out a node that stands still, as a Kafka does after
        broker.session.timeout.ms (9 s): others lead its partitions and keep its groups, and name it
        to nobody, while its connections stay open. LookupError if it does not stand still.
        """
        check("node", node, int, "the number of a node")
        cluster, server = self._running()

        def fence(now_ms: int) -> None:
            if node not in cluster.live or not self._stands_still(node):
                raise LookupError(f"node {node} does not stand still: pause it")
            cluster.fence_node(node, now_ms)

        server.call(fence)

    def resume(self, node: int) -> None:
        """Let it go on, with what has come meanwhile. Of a node that was fenced the connections
        end, and it follows those that lead now. LookupError if it is not up.
        """
        check("node", node, int, "the number of a node")
        cluster, server = self._running()

        def resume(now_ms: int) -> None:
            if node not in cluster.live and not self._stands_still(node):
                raise LookupError(f"node {node} is not up")
            cluster.nodes[node].resume(now_ms)
            self._join_all(node, now_ms)
            if node not in cluster.live:
                cluster.start_node(node, now_ms)
            server.look_again()

        server.call(resume)

    def _join_all(self, node: int, now_ms: int) -> None:
        """A node stands still no more: what passes between it and others passes again."""
        for other in self._running()[0].nodes:
            if other != node:
                self._join(node, other, now_ms)

    def _join(self, node: int, other: int, now_ms: int) -> None:
        """Let everything pass between two nodes, unless something else is in the way."""
        apart = (node, other) in self._cut or (other, node) in self._cut
        if not (apart or self._stands_still(node) or self._stands_still(other)):
            self._running()[0].replication.heal(node, other, now_ms)

    def _stands_still(self, node: int) -> bool:
        nodes = self._running()[0].nodes
        return node in nodes and nodes[node].paused

    def _known(self, node: int) -> int:
        """The node, if it is one: LookupError."""
        check("node", node, int, "the number of a node")
        if node not in self._running()[0].nodes:
            raise LookupError(f"there is no node {node}")
        return node

    def _add_link(self, fault: LinkFault) -> None:
        check("client", fault.client_id, (str, NoneType), "a client_id")
        if fault.node_id is not None:
            self._known(fault.node_id)
        cluster, server = self._running()
        server.call(lambda _now_ms: cluster.mishaps.add_link(fault))

    def _add(
        self,
        api: str,
        kind: Kind,
        times: int,
        node: int | None,
        client: str | None,
        topic: str | None,
        partition: int | None,
        group: str | None,
        **what: int | ErrorCode,
    ) -> None:
        check("times", times, int, "a number of requests")
        check("client", client, (str, NoneType), "a client_id")
        check("topic", topic, (str, NoneType), "the name of a topic")
        check("partition", partition, (int, NoneType), "the number of a partition")
        check("group", group, (str, NoneType), "the id of a group")
        if node is not None:
            self._known(node)
        mishap = Mishap(
            _api(api),
            kind,
            times,
            node,
            client_id=client,
            topic=topic,
            partition=partition,
            group=group,
            **what,  # type: ignore[arg-type]
        )
        cluster, server = self._running()
        server.call(lambda _now_ms: cluster.mishaps.add(mishap))


def _api(name: str) -> ApiKey:
    check("api", name, str, "the name of an API")
    for key in ApiKey:
        if name in {key.stem, key.name}:
            return key
    raise UsageError(f"{name!r} is no API of Kafka{near(name, [key.stem for key in ApiKey])}")
