"""Whom to ask for what, now (rules F1-F3), within the memory there is.

One fetch is in flight per node. It names every partition that is wanted of the node, also those
with data buffered: they are asked for from where that data ends. So the next request can leave
before the application has taken anything, a partition never waits while a request without it is
parked at the broker, and session requests carry little but moved offsets. Only where more are known
to be behind than one answer has room for, they take turns (`window.py`): such a request is never
parked. Instead of single partitions (Java's "not buffered") the whole node waits, until what it
sent and nobody has taken is below `fetch_ahead_bytes`.

Memory: requests in flight reserve what their answers may bring. A node may ask for half of its
share of `max_buffered_bytes`, so that one answer can arrive while another is handed over. When
nothing is left, nodes wait for memory to be freed; when nothing would ever be freed, because all
that is held belongs to paused partitions, that is given up. An answer can still be larger than
asked for, by one batch: the broker sends a first batch whole, however large (KIP-74).

A broker keeps a request until something new comes, and does not look at what is sent behind it.
What such a request does not ask for (a position that was set meanwhile, a partition that was given
to us) is asked for by another connection to the node, its second, which waits for nothing
(`_lane`). When the request is answered, or the log's end is reached, the partition is back where
the others are.

What has changed is marked (`touch`) and looked at once, in `settle`: a turn in which nothing
changed costs nothing, however many partitions there are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer, ClusterView, Network, Reach, keys_of, node_id_of
from kcore.errors import DisconnectedError, RequestTimedOutError
from kcore.events import Event, TopicRecreated
from kcore.fetch.config import (
    FETCH_ASK_BYTES,
    FetchConfig,
    ResetStrategy,
)
from kcore.fetch.pace import Pace
from kcore.fetch.partition import Partition
from kcore.fetch.positions import Positions
from kcore.fetch.reading import opener
from kcore.fetch.requests import TOPIC_IDS_SINCE, build_fetch
from kcore.fetch.retries import Retries
from kcore.fetch.session import Ask, FetchSession
from kcore.fetch.shelf import Shelf
from kcore.fetch.standing import StandingFetch
from kcore.fetch.states import WITH_POSITION
from kcore.fetch.window import Window
from kcore.structs import Rng, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.messages import FetchRequest


class NodePlan:
    """What is wanted of one node, and how it goes.

    key: under which it is asked. second: by its second connection. wanted: in the order to be
    served. window: which of those to ask for. changed: where the session may not know what is
    wanted. waiting: bytes it sent that can be handed over and were not. reserved: what the request
    in flight may bring; asked_bytes: the last one, also afterwards. shared_with: how many nodes
    were busy when that was decided. standing: the requests that follow empty answers.
    """

    __slots__ = (
        "asked_bytes",
        "changed",
        "early",
        "failures",
        "in_flight",
        "key",
        "node_id",
        "pace",
        "reserved",
        "retry_at",
        "second",
        "sent_at",
        "session",
        "shared_with",
        "standing",
        "waiting",
        "wanted",
        "window",
        "without_id",
    )

    standing: StandingFetch
    pace: Pace

    def __init__(self, key: int) -> None:
        self.key = key
        self.node_id = node_id_of(key)
        self.second = key != self.node_id
        self.session = FetchSession()
        self.wanted: OrderedDict[TopicPartition, Partition] = OrderedDict()
        self.changed: dict[TopicPartition, None] = {}
        self.window = Window()
        self.without_id: set[TopicPartition] = set()
        self.in_flight = False
        self.sent_at = 0
        self.waiting = 0
        self.reserved = self.shared_with = self.asked_bytes = 0
        self.failures = 0  # answers in a row that were none, or of no use
        self.early = 0  # empty answers in a row that came too soon
        self.retry_at = 0

    def begin_anew(self) -> None:
        """Want nothing of it, hold nothing of it, and let the next request replace the session."""
        self.wanted.clear()
        self.changed.clear()
        self.window = Window()
        self.without_id.clear()
        self.waiting = self.reserved = 0
        self.session.renew()


class Planner:
    """See the module's text. `take` is given every answer after the plan has been told of it."""

    def __init__(
        self,
        config: FetchConfig,
        network: Network,
        cluster: ClusterView,
        positions: Positions,
        rng: Rng,
        take: Callable[[NodePlan, Answer, int], None],
        emit: Callable[[Event], None],
    ) -> None:
        self.shelf = Shelf(config.fetch_ahead_bytes, opener(config), self._drained, self._freed)
        self.nodes: dict[int, NodePlan] = {}
        self.reserved_bytes = 0
        self.touched: dict[Partition, None] = {}
        self._config = config
        self._network = network
        self._cluster = cluster
        self._positions = positions
        self._rng = rng
        self._take = take
        self._emit = emit
        self.ready: dict[NodePlan, None] = {}  # may have something to ask
        self.starving: dict[NodePlan, None] = {}  # has, but there is no memory
        self.busy_nodes = 0  # nodes of which anything is wanted
        self._partition_retries: Retries[Partition] = Retries()
        self._node_retries: Retries[NodePlan] = Retries()
        self._ended = False
        self._kept: dict[NodePlan, bool] = {}  # found in this turn

    # -- told from outside -------------------------------------------------------------------------

    def touch(self, partition: Partition) -> None:
        """Something about it has changed: look whether, where and from what offset to fetch it."""
        self.touched[partition] = None

    def end(self) -> None:
        """Want nothing of any node from here on."""
        self._ended = True
        self.touched.update(dict.fromkeys(self._positions))

    def back_off(self, partition: Partition, now_ms: int, why: str) -> None:
        """Do not ask for it for a while, longer each time in a row."""
        partition.retry_at = now_ms + self.backoff_ms(partition.attempts)
        partition.attempts += 1
        partition.error = why
        self.touch(partition)

    def leave(self, partition: Partition, now_ms: int) -> None:
        """The log does not hold its position: go where the policy says. If nothing was read since
        it was put where ListOffsets said, that is no place for now: the two do not agree.
        """
        partition.vain = partition.vain + 1 if partition.strategy is not ResetStrategy.NONE else 0
        self._positions.out_of_reach(partition, self._positions.out_of_range)
        if partition.vain:
            partition.retry_at = now_ms + self.backoff_ms(partition.vain - 1)
            self._cluster.request_update()

    def fail(self, plan: NodePlan, now_ms: int) -> None:
        """Do not ask the node for a while, longer each time in a row."""
        plan.retry_at = now_ms + self.backoff_ms(plan.failures)
        plan.failures += 1

    def backoff_ms(self, attempts: int) -> int:
        """How long to wait after so many failures before this one."""
        config = self._config
        return exponential(
            attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )

    def _drained(self, plan: NodePlan) -> None:
        self.ready[plan] = None

    def _freed(self) -> None:
        if self.starving:
            self.ready.update(self.starving)
            self.starving.clear()

    # -- leaders -----------------------------------------------------------------------------------

    def review(self) -> None:
        """Metadata changed: compare every position's leader with the current one (P9)."""
        for partition in self._positions:
            if partition.state in WITH_POSITION:
                self._adopt_leader(partition)
        gone = [
            key
            for key, plan in self.nodes.items()
            if self._cluster.node(plan.node_id) is None
            and not (plan.wanted or plan.in_flight or plan.waiting)
        ]
        for key in gone:
            self._node_retries.cancel(self.nodes.pop(key))

    def _adopt_leader(self, partition: Partition) -> None:
        cluster, tp = self._cluster, partition.tp
        # A topic that is gone is asked for by the id it had: by its name another one might answer.
        topic_id = cluster.topic_id(tp.topic) or partition.log_id
        if topic_id != partition.topic_id:
            partition.topic_id = topic_id
            self.touch(partition)
            if partition.log_id not in (None, topic_id):
                self._emit(TopicRecreated(tp, partition.offset))
                self._positions.remade(partition)
                return
        if partition.leader is None:
            # Who led before what was read there cannot tell of it: it would seem to be cut off.
            cluster.see_epoch(tp, partition.offset_epoch)
        current = cluster.leader(tp)
        if current is None or current == partition.leader:
            return
        partition.leader = current
        partition.preferred = -1
        partition.retry_at = partition.attempts = 0
        partition.error = ""
        self.touch(partition)
        if partition.offset_epoch >= 0 and current.epoch >= 0:
            self._positions.doubt(partition)
        else:
            self._positions.validated(partition)

    def _choose_node(self, partition: Partition, now_ms: int) -> int | None:
        """F2: the preferred replica while that is good, else the leader."""
        if partition.preferred >= 0:
            if now_ms < partition.preferred_until:
                if self._cluster.node(partition.preferred) is not None:
                    self._partition_retries.set(partition, partition.preferred_until)
                    return partition.preferred
                self._cluster.request_update()
            partition.preferred = -1
        if partition.leader is None:
            self._cluster.request_update()
            partition.error = "no leader known"
            # Metadata that brings no leader brings no change either, so ask again.
            self._partition_retries.set(partition, now_ms + self._config.retry_backoff_ms)
            return None
        return partition.leader.node_id

    # -- planning ----------------------------------------------------------------------------------

    def settle(self, now_ms: int) -> None:
        """Put every touched partition on the list of the node to ask, or on none."""
        if now_ms >= self._partition_retries.due:
            for partition in self._partition_retries.pop_due(now_ms):
                self.touch(partition)
        self._kept.clear()
        while self.touched:
            touched, self.touched = self.touched, {}
            for partition in touched:
                self._place(partition, now_ms)

    def _place(self, partition: Partition, now_ms: int) -> None:
        if partition.assigned and partition.leader is None and partition.state in WITH_POSITION:
            self._adopt_leader(partition)  # may put the position in doubt
        key: int | None = None
        wanted = partition.assigned and partition.deliverable and partition.can_go_on
        if wanted and not partition.refused and not self._ended:
            if partition.retry_at > now_ms:
                self._partition_retries.set(partition, partition.retry_at)
            else:
                key = self._choose_node(partition, now_ms)
        tp = partition.tp
        if key is not None:
            key = self._lane(key, partition, now_ms)
        if partition.node is not None and partition.node != key:
            self._unlist(self.nodes[partition.node], partition)
        partition.node = key
        if key is None:
            return
        plan = self.nodes.get(key)
        if plan is None:
            plan = self.nodes[key] = NodePlan(key)
            plan.standing = StandingFetch(self._config, self, plan)
            plan.pace = Pace(plan.standing.timeout_ms)
        if not plan.wanted:
            self.busy_nodes += 1
        plan.wanted[tp] = partition
        plan.changed[tp] = None
        plan.window.put(tp, partition.next_offset, self.end_of(partition))
        if partition.topic_id is None:
            plan.without_id.add(tp)
        else:
            plan.without_id.discard(tp)
        self.ready[plan] = None

    def _lane(self, node_id: int, partition: Partition, now_ms: int) -> int:
        """By which of the node's connections to ask for a partition: under which key. What a kept
        request asks for is at its end.
        """
        plan = self.nodes.get(node_id)
        if plan is None or 0 <= self.end_of(partition) <= partition.next_offset:
            return node_id
        kept = self._kept.get(plan)
        if kept is None:
            kept = self._kept[plan] = self._is_kept(plan, now_ms)
        return self._second(node_id, now_ms) if kept else node_id

    def _is_kept(self, plan: NodePlan, now_ms: int) -> bool:
        """Whether the broker keeps the node's request until something new comes: as far as is
        known, there is nothing of what it asks for.
        """
        if not plan.in_flight or plan.window.narrow:
            return False
        if self._network.reach(plan.key, now_ms) is not Reach.READY:
            return False
        asked = ((self._positions.find(tp), ask) for tp, ask in plan.session.asks.items())
        return all(one is None or self._brings_nothing(plan, one, ask) for one, ask in asked)

    def _brings_nothing(self, plan: NodePlan, partition: Partition, ask: Ask) -> bool:
        end = self.end_of(partition)
        if end < 0 and partition.node != plan.key:
            return True  # assigned anew since it was asked for: nobody wants that any more
        return 0 <= end <= ask.offset

    def beside(self, node_id: int, now_ms: int) -> int:
        """Under which key to ask the node what is not to wait behind a request that it keeps."""
        plan = self.nodes.get(node_id)
        return self._second(node_id, now_ms) if plan and self._is_kept(plan, now_ms) else node_id

    def _second(self, node_id: int, now_ms: int) -> int:
        """The key of the node's second connection; its own if that cannot be had now."""
        key = self._network.second(node_id)
        return node_id if self._network.reach(key, now_ms) is Reach.BACKOFF else key

    def _unlist(self, plan: NodePlan, partition: Partition) -> None:
        tp = partition.tp
        # Given up and assigned again, it is another partition by now, and that one stays.
        if plan.wanted.get(tp) is not partition:
            return
        del plan.wanted[tp]
        plan.changed[tp] = None
        plan.window.drop(tp)
        plan.without_id.discard(tp)
        if not plan.wanted:
            self.busy_nodes -= 1

    def end_of(self, partition: Partition) -> int:
        """Up to where the broker would send it, as last told; -1 before."""
        committed_only = self._config.committed_only
        return partition.last_stable_offset if committed_only else partition.high_watermark

    def came_without(self, plan: NodePlan, partition: Partition, *, full: bool) -> None:
        """An answer told of it and had no records of it; full: perhaps for want of room."""
        tp, end = partition.tp, self.end_of(partition)
        if tp in plan.wanted and (full or end <= partition.next_offset):
            plan.window.put(tp, partition.next_offset, end)
            plan.changed[tp] = None

    # -- asking ------------------------------------------------------------------------------------

    def send(self, now_ms: int) -> None:
        """Ask every node that may be asked."""
        if now_ms >= self._node_retries.due:
            for plan in self._node_retries.pop_due(now_ms):
                self.ready[plan] = None
        if self.ready:
            ready, self.ready = self.ready, {}
            for plan in ready:
                if not plan.in_flight and plan.wanted:
                    self._try(plan, now_ms)

    def _try(self, plan: NodePlan, now_ms: int) -> None:
        if plan.retry_at > now_ms:
            self._node_retries.set(plan, plan.retry_at)
            return
        if plan.waiting > self._config.fetch_ahead_bytes:
            return  # `_drained` comes back to it
        reach = self._network.reach(plan.key, now_ms)
        if reach is Reach.BACKOFF or reach is Reach.UNKNOWN:
            self._unreachable(plan, reach, now_ms)
            return
        allowance = self._allowance(plan)
        if not allowance:
            self.starving[plan] = None  # `_freed` comes back to it
            return
        plan.changed.update(dict.fromkeys(plan.window.turn(now_ms)))
        plan.in_flight = True
        plan.sent_at = now_ms
        plan.reserved = plan.asked_bytes = allowance
        plan.shared_with = self.busy_nodes
        self.reserved_bytes += allowance
        self._network.send(
            plan.key,
            ApiKey.FETCH,
            lambda version: self._build(plan, version),
            lambda answer, at_ms: self._answered(plan, answer, at_ms),
            now_ms,
            timeout_ms=plan.standing.timeout_ms,
            max_version=TOPIC_IDS_SINCE - 1 if plan.without_id else None,
            standing=plan.standing,
        )

    def _unreachable(self, plan: NodePlan, reach: Reach, now_ms: int) -> None:
        if reach is Reach.UNKNOWN:
            self._cluster.request_update()
            retry_at = now_ms + self._config.retry_backoff_ms
        else:
            retry_at = max(self._network.retry_at(plan.key), now_ms + 1)
        self._node_retries.set(plan, retry_at)
        self.leave_replica(plan, plan.wanted, now_ms)

    def leave_replica(
        self, plan: NodePlan, partitions: Iterable[TopicPartition], now_ms: int
    ) -> None:
        """Of these, ask the leader again where the node is only the preferred replica (S5)."""
        if plan.second:
            return  # which says nothing of the first connection
        for tp in list(partitions):
            partition = self._positions.find(tp)
            if partition is not None and partition.preferred == plan.node_id:
                partition.preferred = -1
                self._cluster.request_update()
                # The leader may send us to the same replica at once: not in a circle.
                self.back_off(partition, now_ms, f"node {plan.node_id} failed")

    def _allowance(self, plan: NodePlan) -> int:
        """How many bytes to ask a node for; 0 if there is no memory for an answer now."""
        config, shelf = self._config, self.shelf
        budget = config.max_buffered_bytes
        share = max(budget // (2 * max(self.busy_nodes, 1)), 1)
        enough = max(FETCH_ASK_BYTES, config.max_partition_fetch_bytes)
        wanted = min(config.fetch_max_bytes, share, enough, plan.pace.limit)
        least = min(config.max_partition_fetch_bytes, wanted)
        room = budget - shelf.held_bytes - self.reserved_bytes
        while room < least:
            if shelf:
                return 0
            evicted = shelf.evict()
            if evicted is None:
                break
            self.touch(evicted)
            room = budget - shelf.held_bytes - self.reserved_bytes
        if room >= least:
            return min(wanted, room)
        # Nothing can be handed over: without this answer there never will be anything.
        return 0 if self.reserved_bytes else least

    def _build(self, plan: NodePlan, version: int) -> FetchRequest:
        return build_fetch(
            self._config,
            plan.session,
            plan.wanted,
            plan.window,
            plan.changed,
            version,
            plan.reserved,
            waits=not plan.second,
        )

    def _answered(self, plan: NodePlan, answer: Answer, now_ms: int) -> None:
        if isinstance(answer.error, RequestTimedOutError) and answer.version >= 0:
            plan.pace.timed_out(plan.reserved)
        self.reserved_bytes -= plan.reserved
        plan.reserved = 0
        plan.in_flight = False
        second = self.nodes.get(keys_of(plan.node_id)[2])
        if second is not None:  # which is for as long as the first is kept, and no end is reached
            self.touched.update(dict.fromkeys(second.wanted.values()))
        self._freed()  # whoever waits for memory comes before who just had some
        self.ready[plan] = None
        self._take(plan, answer, now_ms)

    def recover(self, now_ms: int) -> None:
        """Every link has just been ended, and who waited for an answer told: who waits still was
        forgotten. What is wanted of whom is found out anew; what was buffered is gone.
        """
        for plan in list(self.nodes.values()):
            if plan.in_flight:
                error = DisconnectedError("interrupted")
                self._answered(plan, Answer(None, error, -1, plan.node_id), now_ms)
            plan.begin_anew()
        self.shelf.clear(self._positions)
        self.reserved_bytes = self.busy_nodes = 0
        self.starving.clear()
        self.ready = dict.fromkeys(self.nodes.values())
        self.touched = dict.fromkeys(self._positions)
        for partition in self._positions:
            partition.node = None

    # -- looking -----------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `settle` or `send` has something to do by itself."""
        return min(self._partition_retries.due, self._node_retries.due)

    def starved(self, plan: NodePlan) -> bool:
        """Whether the node is not asked for want of memory."""
        return plan in self.starving
