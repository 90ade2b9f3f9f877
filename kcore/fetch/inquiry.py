"""Ask the leaders of all partitions in one state a question, and again until it is answered.

Resets (AWAIT_RESET) and validation (AWAIT_VALIDATION) are the same but for the question: one
request per leader, `partition.retry_at` in the future while it is under way or failed lately, and
a metadata refresh where a leader is missing. An answer is checked against what the partition waits
for by the time it comes; nothing is ever called back.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.backoff import exponential
from kcore.connection.calls import ClusterView, Network, Reach
from kcore.fetch.config import FetchConfig
from kcore.fetch.partition import Partition
from kcore.fetch.positions import Positions
from kcore.fetch.states import PartitionState
from kcore.structs import Rng
from kcore.timers import NEVER

# (under which key to ask, the partitions that the node leads, now_ms)
Ask = Callable[[int, list[Partition], int], None]
# (node id, now_ms): the key
Beside = Callable[[int, int], int]


class Inquiry:
    """See the module's text. `ask` sends the question; its answers call `again` to repeat it.
    beside: how to ask a node that keeps a fetch.
    """

    def __init__(
        self,
        config: FetchConfig,
        network: Network,
        cluster: ClusterView,
        positions: Positions,
        rng: Rng,
        state: PartitionState,
        ask: Ask,
        beside: Beside,
    ) -> None:
        self.due = NEVER
        self._config = config
        self._network = network
        self._cluster = cluster
        self._rng = rng
        self._waiting = positions.in_state(state)
        self._ask = ask
        self._beside = beside
        self._leaderless: dict[Partition, None] = {}

    def wake(self) -> None:
        """A partition may have begun to wait: look at the next turn."""
        self.due = 0

    def leaders_changed(self) -> None:
        """Metadata changed: those that waited for a leader need wait no longer."""
        for partition in self._leaderless:
            partition.retry_at = 0
            self.due = 0
        self._leaderless.clear()

    def handle_tick(self, now_ms: int) -> None:
        """Ask for every partition that is due."""
        if now_ms < self.due:
            return
        by_node: dict[int, list[Partition]] = {}
        for partition in self._waiting:
            if partition.retry_at <= now_ms:
                node_id = self._leader(partition, now_ms)
                if node_id is not None:
                    by_node.setdefault(node_id, []).append(partition)
        for node_id, partitions in by_node.items():
            self._ask(self._beside(node_id, now_ms), partitions, now_ms)
            for partition in partitions:  # behind it: see ClientCore.handle_interrupted
                # Until its answer comes, or is given up.
                partition.retry_at = now_ms + self._config.request_timeout_ms
        self.due = min((partition.retry_at for partition in self._waiting), default=NEVER)

    def _leader(self, partition: Partition, now_ms: int) -> int | None:
        """Whom to ask; if nobody can be asked, when to look again is noted."""
        leader = self._cluster.leader(partition.tp)
        if leader is None:
            self._leaderless[partition] = None
            self.again(partition, now_ms, "no leader known")
            return None
        reach = self._network.reach(leader.node_id, now_ms)
        if reach is Reach.UNKNOWN:
            self.again(partition, now_ms, f"node {leader.node_id} is not known")
            return None
        if reach is Reach.BACKOFF:
            partition.error = f"node {leader.node_id} cannot be reached"
            partition.retry_at = max(self._network.retry_at(leader.node_id), now_ms + 1)
            return None
        return leader.node_id

    def again(self, partition: Partition, now_ms: int, why: str) -> None:
        """Ask again after a while, with fresh metadata (P7)."""
        config = self._config
        wait_ms = exponential(
            partition.attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )
        partition.retry_at = now_ms + wait_ms
        partition.attempts += 1
        partition.error = why
        self._cluster.request_update()
        self.due = min(self.due, partition.retry_at)
