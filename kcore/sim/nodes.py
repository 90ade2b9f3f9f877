"""The brokers of a run: the nodes of one cluster, each with a clock, up or down."""

from __future__ import annotations

from collections import deque
from typing import Any

from kcore.actions import Connect, Disconnect, Send
from kcore.broker import BrokerConfig, Cluster, Node
from kcore.broker.features import GROUPS, SHARES
from kcore.broker.partitions import Partition
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.context import AnyGroup
from kcore.coordinator.share.options import EARLIEST
from kcore.coordinator.transactions import TransactionConfig
from kcore.sim.chance import Chance
from kcore.sim.clock import Clock
from kcore.sim.operations import least_heartbeat_ms, least_session_ms
from kcore.sim.plan import Plan
from kcore.sim.stage import Stage
from kcore.sim.trace import What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import Node as Address
from kcore.structs import TopicPartition
from kcore.timers import NEVER

_WALL_MS = 1_700_000_000_000

# Few partitions of the groups' journal, so that groups share them and move together.
JOURNALS = 3


class NodePeer:
    """One node."""

    def __init__(self, brokers: Brokers, node_id: int, clock: Clock) -> None:
        self.name = f"node{node_id}"
        self.node_id = node_id
        self.up = True
        self.starts = 0  # how often it has come up again
        self.paused = False  # it stands still
        self.clock = clock
        self._brokers = brokers
        self._stage = brokers.stage
        self._wake_ms = NEVER
        self.node = Node(brokers.cluster, node_id, self.local_ms)

    @property
    def local_ms(self) -> int:
        """What its own clock says."""
        return self.clock.read(self._stage.now())

    def wire_opened(self, number: int, host: str) -> None:
        """See NodeSide."""
        self.node.handle_connected(number, host, self.local_ms)
        self._brokers.drain()

    def wire_data(self, number: int, data: bytes) -> None:
        """See NodeSide."""
        self.node.handle_data(number, data, self.local_ms)
        self._brokers.drain()

    def wire_sent(self, number: int) -> None:
        """See NodeSide."""
        self.node.handle_sent(number, self.local_ms)
        self._brokers.drain()

    def wire_closed(self, number: int, why: str) -> None:
        """See NodeSide."""
        self.node.handle_closed(number, why, self.local_ms)
        self._brokers.drain()

    def reads(self, number: int) -> bool:
        """See NodeSide."""
        return self.node.reads(number)

    def obey(self) -> bool:
        """Do what the node wants done; whether there was anything."""
        stage, node = self._stage, self.node
        now_ms = stage.now()
        written: deque[int] = deque()  # on which all is in the kernel
        busy = False
        while True:
            action = node.next_action()
            if isinstance(action, Send):
                written_ms = stage.network.node_sends(action.link, action.data)
                if written_ms > now_ms:
                    stage.at(written_ms, self.wire_sent, action.link)
                else:
                    written.append(action.link)
            elif isinstance(action, Disconnect):
                stage.network.node_closes(action.link)
            elif written:
                node.handle_sent(written.popleft(), self.local_ms)
            else:
                return busy
            busy = True

    def rearm(self) -> None:
        """Come back when the node wants."""
        if self.node.faults:
            fault = self.node.faults[0]
            raise ViolationError(Rule.NO_FAULT, f"{self.name} has a fault: {fault!r}") from fault
        at_ms = self.clock.when(self.node.deadline()) if self.up and not self.paused else NEVER
        if at_ms < self._wake_ms:
            self._wake_ms = max(at_ms, self._stage.now())
            self._stage.at(self._wake_ms, self._wake, self._wake_ms)

    def _wake(self, at_ms: int) -> None:
        if self._wake_ms != at_ms:
            return
        self._wake_ms = NEVER
        now_ms = self.local_ms
        if self.up and not self.paused and self.node.deadline() <= now_ms:
            self.node.handle_deadline(now_ms)
        self._brokers.drain()

    def group(self, group_id: str) -> AnyGroup | None:
        """A group that is kept here, of any protocol."""
        coordinator = self.node.groups.coordinator
        return (
            coordinator.group(group_id)
            or coordinator.consumer_group(group_id)
            or coordinator.share_group(group_id)
        )

    def pause(self) -> None:
        """Stand still: connections stay, nothing is said on them."""
        self.paused = True
        self.node.pause()

    def resume(self) -> None:
        """Go on with what has come meanwhile."""
        if self.paused and self.up:
            self.paused = False
            self.node.resume(self.local_ms)
            self._brokers.drain()


class Brokers:
    """All nodes of a run."""

    def __init__(self, stage: Stage, chance: Chance) -> None:
        self.stage = stage
        plan = stage.plan
        share: dict[str, Any] = _share_options(plan) if plan.share else {}
        coordinator = CoordinatorConfig(
            group_initial_rebalance_delay_ms=plan.rebalance_delay_ms,
            offsets_topic_num_partitions=JOURNALS,
            group_consumer_session_timeout_ms=plan.session_timeout_ms,
            group_consumer_heartbeat_interval_ms=plan.heartbeat_interval_ms,
            group_consumer_assignment_interval_ms=plan.assignment_interval_ms,
            group_consumer_min_session_timeout_ms=least_session_ms(plan),
            group_consumer_min_heartbeat_interval_ms=least_heartbeat_ms(plan),
            group_share_assignment_interval_ms=0,
            **share,
        )
        config = BrokerConfig(
            release=plan.release,
            auto_create_topics=False,
            coordinator=coordinator,
            replica_selector_class="RackAwareReplicaSelector" if plan.racks else None,
            transactions=TransactionConfig(
                transaction_state_log_num_partitions=JOURNALS,
                transaction_version=plan.transaction_version,
            ),
        )
        racks = plan.racks or (None,)
        addresses = [
            Address(n, f"node{n}", 9092, racks[n % len(racks)]) for n in range(1, plan.brokers + 1)
        ]
        # The clocks of coordinators; what nodes do together has a time of its own.
        clocks = {
            address.node_id: Clock(
                time.offset_ms, time.drift_ppm, _WALL_MS + time.skew_ms - time.offset_ms
            )
            for address, time in zip(addresses, plan.node_times, strict=False)
        }
        self.cluster = Cluster(
            config, addresses, chance.fork(), wall_offset_ms=_WALL_MS, clocks=clocks
        )
        self.peers = {
            address.host: NodePeer(self, address.node_id, Clock(1_000)) for address in addresses
        }
        for number in range(1, plan.groups + 1) if plan.share else ():
            own = self.cluster.settings.groups.setdefault(f"group{number}", {})
            own["share.auto.offset.reset"] = EARLIEST
        self._partitions: list[TopicPartition] = []
        # What members of the run are of, if they speak a newer protocol; how often it was taken up.
        self.groups_feature = SHARES if plan.share else GROUPS
        self._taken_up = 0

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Where clients begin."""
        return tuple(f"{host}:9092" for host in self.peers)

    def find(self, action: Connect) -> NodePeer:
        """Whose address it is."""
        return self.peers[action.host]

    def node(self, node_id: int) -> NodePeer:
        """A node by its id."""
        return self.peers[f"node{node_id}"]

    def drain(self) -> None:
        """What one node does may let another one answer: until all have nothing to do."""
        peers = self.peers.values()
        busy = True
        while busy:
            busy = False
            for peer in peers:
                busy = peer.obey() or busy
        for peer in peers:
            peer.rearm()

    # Topics --------------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        """How many nodes are up: without any, topics stay as they are."""
        return len(self.cluster.live)

    def create_topic(self, name: str, partitions: int) -> None:
        """A topic, with as many replicas as there are nodes."""
        topic = self.cluster.topics.create(name, partitions, replication_factor=self.live)
        self.stage.judge.topic_made(name, topic.topic_id)
        self._count(name)

    def delete_topic(self, name: str) -> None:
        """A topic is gone, for all nodes at once."""
        topic = self.cluster.topics.get(name)
        assert topic is not None
        self.stage.judge.topic_gone(name)
        self._partitions = [tp for tp in self._partitions if tp.topic != name]
        self.cluster.delete(topic, self.node(self.cluster.live[0]).local_ms)
        self.drain()

    def partition_count(self, name: str) -> int:
        """How many partitions a topic has; 0 if it is gone."""
        return self.cluster.topics.partition_count(name)

    def add_partitions(self, name: str, more: int) -> None:
        """A topic gets more."""
        topic = self.cluster.topics.get(name)
        assert topic is not None
        known = len(topic.partitions)
        self.cluster.topics.add_partitions(topic, more, self.live)
        self._count(name, known)

    def _count(self, name: str, known: int = 0) -> None:
        topic = self.cluster.topics.get(name)
        assert topic is not None
        numbers = range(known, len(topic.partitions))
        self._partitions += [TopicPartition(name, number) for number in numbers]

    def trim(self, tp: TopicPartition, chance: Chance) -> int | None:
        """Delete some of the oldest records; where the log starts then, None if it stays."""
        leader = self.leader_of(tp)
        partition = self.cluster.partition(tp.topic, tp.partition)
        log = partition.log
        if leader is None or log.start_offset >= log.high_watermark:
            return None
        until = chance.between(log.start_offset + 1, log.high_watermark)
        partition.delete_before(until, self.node(leader).local_ms)
        self.stage.judge.logs.trimmed(tp, until)
        self.drain()
        return until

    def partitions(self) -> list[TopicPartition]:
        """All partitions of all topics."""
        return self._partitions

    def partition(self, tp: TopicPartition) -> Partition | None:
        """One of them; None if there is none."""
        topic = self.cluster.topics.get(tp.topic)
        if topic is None or tp.partition >= len(topic.partitions):
            return None
        return topic.partitions[tp.partition]

    def leader_of(self, tp: TopicPartition) -> int | None:
        """Who leads it now; None: nobody."""
        partition = self.partition(tp)
        leader = None if partition is None else partition.leader
        return leader if leader in self.cluster.nodes else None

    def term_of(self, tp: TopicPartition) -> tuple[int, int]:
        """Who leads it, and since when: the leader's epoch, how often that node has come up, or
        was without share groups.
        """
        partition = self.cluster.partition(tp.topic, tp.partition)
        leader = self.leader_of(tp)
        starts = 0 if leader is None else self.node(leader).starts
        return partition.leader_epoch, starts + self._taken_up

    def move_leader(self, tp: TopicPartition, peer: NodePeer) -> bool:
        """Let a node lead a partition; False if it does, or cannot without loss."""
        topic = self.cluster.topics.get(tp.topic)
        assert topic is not None
        partition = topic.partitions[tp.partition]
        if partition.leader == peer.node_id or peer.node_id not in partition.isr:
            return False
        self.cluster.move_leader(topic, tp.partition, peer.node_id, peer.local_ms)
        self.drain()
        return True

    def group_of(self, group_id: str) -> AnyGroup | None:
        """A group where it is kept; None if it is kept nowhere."""
        for peer in self.peers.values():
            group = peer.group(group_id)
            if group is not None:
                return group
        return None

    def move_coordinator(self, journal: int, peer: NodePeer) -> None:
        """Let a node keep the groups of a journal."""
        self.stage.judge.coordinators_moved()
        self.cluster.move_coordinator(journal, peer.node_id, peer.local_ms)
        self.drain()

    def keep_apart(self, one: NodePeer, other: NodePeer) -> None:
        """Two nodes do not reach each other."""
        self.cluster.replication.cut(one.node_id, other.node_id, one.local_ms)
        self.drain()

    def join(self, one: NodePeer, other: NodePeer) -> None:
        """They do again."""
        self.cluster.replication.heal(one.node_id, other.node_id, one.local_ms)
        self.drain()

    def set_lag(self, peer: NodePeer, lag_ms: int) -> None:
        """A node gets what others write so much later."""
        self.cluster.replication.set_lag(peer.node_id, lag_ms, peer.local_ms)
        self.drain()

    def limit(self, client_id: str, **rates: float | None) -> None:
        """What a client may do in a second, at each node; None: as much as it likes."""
        self.cluster.with_quotas().set((("client-id", client_id),), rates)

    def unlimit(self, client_id: str) -> None:
        """It may do what it likes."""
        self.limit(
            client_id, consumer_byte_rate=None, producer_byte_rate=None, request_percentage=None
        )

    def heal(self) -> None:
        """All nodes reach each other at once."""
        peers = list(self.peers.values())
        for one in peers:
            self.set_lag(one, 0)
            for other in peers:
                if one.node_id < other.node_id:
                    self.join(one, other)

    # Features ------------------------------------------------------------------------------------

    @property
    def has_groups(self) -> bool:
        """Whether members may speak the newer protocol now."""
        return bool(self.cluster.features.levels.get(self.groups_feature))

    def use_groups(self, level: int = 1) -> None:
        """They may from now on, or not."""
        if bool(self.cluster.features.levels.get(self.groups_feature, level)) != bool(level):
            self._taken_up += level == 0
            self.cluster.finalize({self.groups_feature: level})
            self.drain()

    # Life ----------------------------------------------------------------------------------------

    def stop(self, peer: NodePeer) -> None:
        """A node is gone."""
        peer.up = peer.paused = False
        self.stage.trace.event(What.NODE_DOWN, peer.name)
        self.stage.judge.coordinators_moved()
        self.cluster.stop_node(peer.node_id, peer.local_ms)
        self.drain()
        # Once more: of joins that it has answered with its last breath nobody hears.
        self.stage.judge.coordinators_moved()

    def fence(self, peer: NodePeer) -> None:
        """The others put out a node that stands still; its connections stay."""
        peer.up = False
        self.stage.trace.event(What.NODE_DOWN, peer.name)
        self.stage.judge.coordinators_moved()
        self.cluster.fence_node(peer.node_id, peer.local_ms)
        self.drain()

    def start(self, peer: NodePeer) -> None:
        """It is back."""
        if peer.paused:
            peer.paused = False
            peer.node.resume(peer.local_ms)
        peer.up = True
        peer.starts += 1
        self.stage.trace.event(What.NODE_UP, peer.name)
        self.stage.judge.coordinators_moved()
        self.cluster.start_node(peer.node_id, peer.local_ms)
        self.drain()


def _share_options(plan: Plan) -> dict[str, int]:
    """What share groups have, and bounds that let them."""
    options = {
        "session_timeout_ms": (plan.session_timeout_ms, least_session_ms(plan)),
        "heartbeat_interval_ms": (plan.heartbeat_interval_ms, least_heartbeat_ms(plan)),
        "record_lock_duration_ms": (plan.lock_ms, plan.lock_ms),
        "delivery_count_limit": (plan.delivery_limit, plan.delivery_limit),
    }
    return {
        f"group_share_{bound}{name}": value
        for name, values in options.items()
        for bound, value in zip(("", "min_"), values, strict=True)
    }
