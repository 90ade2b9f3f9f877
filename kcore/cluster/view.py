"""What is known of the cluster: brokers, topics, leaders, epochs. Implements
`connection.calls.ClusterView`.

Leader epochs never go back (M4): an answer from a broker that lags behind keeps the entry we have,
unless the topic was created anew (another topic id). A leader counts as known only under the newest
epoch seen anywhere, because asking an older one can only be refused. When one Metadata answer after
the other says less, the newest epoch was a lie, or the topic was created anew on brokers without
topic ids (before 2.8): then the answers are believed, or the partition would never be read again.

So it is with ids: a topic that was made anew never gets back one that it had. A broker that lags
behind names it still, and who believed that would begin anew there, and then in the new one again.
"""

from __future__ import annotations

from kcore.hints import Any
from kcore.structs import Leader, Node, TopicPartition
from kcore.values import Value, field

_NO_ID = bytes(16)
# Epochs in answers below this version can be stale (KAFKA-9212) and are not used.
_EPOCHS_SINCE = 9
# So many answers in a row, a second or so apart, are more than one broker that lags behind.
_OLDER_EPOCHS_MAX = 10
_OLDER_IDS_MAX = 10
# Of so many topics, and so many of each, ids are kept that they had before.
_BYGONE_MAX = 1_000
_BYGONE_OF_ONE_MAX = 8


class _Topic(Value, frozen=False):
    """One topic as last told."""

    partitions: list[int]
    topic_id: bytes | None
    internal: bool
    replicas: dict[int, list[int]] = field(default_factory=dict)


class Taken(Value, frozen=False):
    """What an answer brought: topic errors by name, and whether anything must be asked again."""

    topic_errors: dict[str, int] = field(default_factory=dict)
    incomplete: bool = False
    newer: bool = False  # a newer leader epoch or another topic id was among it
    brokers: int = 0


class Metadata:
    """See the module's text. `requested` and `unnamed` are read by the refresher."""

    def __init__(self) -> None:
        self.requested = False  # somebody needs a refresh
        self.unnamed: frozenset[bytes] = frozenset()  # ids whose topics somebody wants to know
        self.cluster_id: str | None = None
        self.controller_id = -1
        self._version = 0
        self._nodes: dict[int, Node] = {}
        self._topics: dict[str, _Topic] = {}
        self._names: dict[bytes, str] = {}
        self._leaders: dict[TopicPartition, Leader] = {}
        self._epochs: dict[TopicPartition, int] = {}
        # Whether Metadata answers carry epochs: if not, none seen elsewhere is ever confirmed.
        self._epochs_told = True
        self._older: dict[TopicPartition, int] = {}  # answers in a row below the epoch seen
        # Ids that topics had before they were made anew: answers in a row that name them still.
        self._bygone: dict[str, dict[bytes, int]] = {}

    # -- ClusterView -------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Goes up with each change of what this view says."""
        return self._version

    def leader(self, tp: TopicPartition) -> Leader | None:
        """The leader under the newest epoch seen; None if it is unknown or none is elected."""
        leader = self._leaders.get(tp)
        if leader is None or leader.node_id not in self._nodes:
            return None
        return leader if leader.epoch >= self._epochs.get(tp, -1) else None

    def node(self, node_id: int) -> Node | None:
        """A broker's address."""
        return self._nodes.get(node_id)

    def nodes(self) -> list[Node]:
        """Every broker known."""
        return list(self._nodes.values())

    def partitions(self, topic: str) -> list[int] | None:
        """Partition numbers in order; None if the topic is not known."""
        entry = self._topics.get(topic)
        return None if entry is None else entry.partitions

    def topics(self) -> set[str]:
        """Every topic known now."""
        return set(self._topics)

    def is_internal(self, topic: str) -> bool:
        """Whether the broker marks the topic internal."""
        entry = self._topics.get(topic)
        return entry is not None and entry.internal

    def topic_id(self, topic: str) -> bytes | None:
        """The 16-byte topic id; None if there is none."""
        entry = self._topics.get(topic)
        return None if entry is None else entry.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        """The topic of an id."""
        return self._names.get(topic_id)

    def replica_racks(self, tp: TopicPartition) -> set[str]:
        """Racks that hold a replica."""
        entry = self._topics.get(tp.topic)
        if entry is None:
            return set()
        nodes = (self._nodes.get(node_id) for node_id in entry.replicas.get(tp.partition, ()))
        return {node.rack for node in nodes if node is not None and node.rack}

    def request_update(self) -> None:
        """Ask for a refresh as soon as its backoff allows."""
        self.requested = True

    def request_names(self, topic_ids: frozenset[bytes]) -> None:
        """Ask what topics these ids stand for: new ones at once, others when the backoff of
        refreshes allows.
        """
        self.unnamed = topic_ids
        self.requested = True

    def see_epoch(self, tp: TopicPartition, epoch: int) -> bool:
        """Note a leader epoch seen in another answer; True if it is newer (then a refresh is asked
        for).
        """
        if epoch <= self._epochs.get(tp, -1) or not self._epochs_told:
            return False
        self._epochs[tp] = epoch
        self.requested = True
        self._version += 1
        return True

    def learn_leader(self, tp: TopicPartition, leader: Leader, node: Node | None) -> bool:
        """Take a leader hint (KIP-951) if it is newer and its node can be reached."""
        if tp not in self._leaders or leader.node_id < 0:
            return False
        if leader.epoch <= self._epochs.get(tp, -1):
            return False
        if leader.node_id not in self._nodes:
            if node is None or not _plausible(node.node_id, node.host, node.port):
                return False
            self._nodes[node.node_id] = node
        self._leaders[tp] = leader
        self._epochs[tp] = leader.epoch
        self._version += 1
        return True

    # -- answers -----------------------------------------------------------------------------------

    def take(self, body: Any, version: int, *, keep: set[str] | None) -> Taken:
        """Take a Metadata answer in. `keep`: topics that stay although the answer has them not
        (None: none goes).
        """
        taken = Taken()
        nodes = {
            broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in body.brokers
            if _plausible(broker.node_id, broker.host, broker.port)
        }
        taken.brokers = len(nodes)
        if not nodes:
            return taken  # an answer without one usable broker counts as a failure (M3)
        self._epochs_told = version >= _EPOCHS_SINCE
        changed = nodes != self._nodes
        self._nodes = nodes
        self.cluster_id = body.cluster_id
        self.controller_id = body.controller_id
        for topic in body.topics:
            if topic.name:
                changed |= self._take_topic(topic, version, taken)
        if keep is not None:
            answered = {topic.name for topic in body.topics if topic.name and not topic.error_code}
            for name in self._topics.keys() - answered - keep:
                self._forget(name)
                changed = True
        if changed:
            self._version += 1
        return taken

    def _take_topic(self, topic: Any, version: int, taken: Taken) -> bool:
        name = topic.name
        if topic.error_code:
            taken.topic_errors[name] = topic.error_code
            return False
        topic_id = topic.topic_id if version >= 10 and topic.topic_id != _NO_ID else None
        if self._bygone and topic_id is not None and self._is_bygone(name, topic_id):
            taken.incomplete = True
            return False
        old = self._topics.get(name)
        anew = old is not None and old.topic_id is not None and old.topic_id != topic_id
        if old is not None and anew:
            self._forget(name)
            taken.newer = True
            if old.topic_id is not None and topic_id is not None:
                self._note_bygone(name, old.topic_id)
        changed = anew or old is None
        numbers: dict[int, list[int]] = {}
        for part in topic.partitions:
            if part.partition_index < 0 or part.partition_index in numbers:
                # A broker that contradicts itself: believe the first, ask again.
                taken.incomplete = True
                continue
            numbers[part.partition_index] = part.replica_nodes
            changed |= self._take_partition(name, part, version, taken)
        entry = _Topic(sorted(numbers), topic_id, bool(topic.is_internal), numbers)
        changed |= old != entry
        self._topics[name] = entry
        if topic_id is not None:
            self._names[topic_id] = name
        return changed

    def _note_bygone(self, name: str, topic_id: bytes) -> None:
        ids = self._bygone.pop(name, {})
        ids[topic_id] = 0
        if len(ids) > _BYGONE_OF_ONE_MAX:
            del ids[next(iter(ids))]
        self._bygone[name] = ids
        if len(self._bygone) > _BYGONE_MAX:
            del self._bygone[next(iter(self._bygone))]

    def _is_bygone(self, name: str, topic_id: bytes) -> bool:
        """Whether this is the topic before, as a broker has it that lags behind."""
        ids = self._bygone.get(name)
        if ids is None:
            return False
        seen = ids.get(topic_id)
        if seen is None:
            ids.update(dict.fromkeys(ids, 0))
            return False
        ids[topic_id] = seen + 1
        if seen + 1 < _OLDER_IDS_MAX:
            return True
        del ids[topic_id]  # every answer says it
        return False

    def _take_partition(self, name: str, part: Any, version: int, taken: Taken) -> bool:
        tp = TopicPartition(name, part.partition_index)
        epoch = part.leader_epoch if version >= _EPOCHS_SINCE else -1
        known = self._epochs.get(tp, -1)
        if part.leader_id < 0:
            taken.incomplete = True
        if 0 <= epoch < known:
            taken.incomplete = True
            self._older[tp] = self._older.get(tp, 0) + 1
            if self._older[tp] < _OLDER_EPOCHS_MAX:
                return False
        elif epoch > known:
            taken.newer = True
        self._older.pop(tp, None)
        forgotten = False
        if epoch >= 0:
            self._epochs[tp] = epoch
        elif version < _EPOCHS_SINCE or part.leader_id >= 0:
            # Nothing to compare with any more: a cluster half upgraded, or one without epochs.
            self._epochs_told = False
            forgotten = self._epochs.pop(tp, None) is not None
        leader = Leader(part.leader_id, epoch)
        if self._leaders.get(tp) == leader and not 0 <= epoch < known:
            return forgotten
        self._leaders[tp] = leader
        return True

    def _forget(self, name: str) -> None:
        entry = self._topics.pop(name)
        if entry.topic_id is not None:
            self._names.pop(entry.topic_id, None)
        for number in entry.partitions:
            tp = TopicPartition(name, number)
            self._leaders.pop(tp, None)
            self._epochs.pop(tp, None)
            self._older.pop(tp, None)


def _plausible(node_id: int, host: str, port: int) -> bool:
    """Whether an advertised broker can be meant: nothing else of it is believed before it is
    reached.
    """
    return node_id >= 0 and bool(host.strip()) and 0 < port <= 65535
