"""Values that confluent-kafka gives and takes: partitions, nodes, ids, states."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from enum import Enum, IntEnum
from typing import Any

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import KafkaError
from kcore.limits import MAX_INT32, MAX_INT64
from kcore.tuples import NamedTuple


class TopicPartition:
    """A partition, with an offset and what else is known of it; compared by topic and number.

    offset: one, or OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED, OFFSET_INVALID. metadata: the text
    committed with it. leader_epoch: None where it is not known. error: a KafkaError, in results.
    """

    __slots__ = ("_leader_epoch", "error", "metadata", "offset", "partition", "topic")

    error: KafkaError | None

    def __init__(
        self,
        topic: str,
        partition: int = constants.PARTITION_UNASSIGNED,
        offset: int = constants.OFFSET_INVALID,
        metadata: str | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a string, not {topic!r}")
        if not isinstance(partition, int) or not isinstance(offset, int):
            raise TypeError(
                f"partition and offset must be whole numbers, not {partition!r}, {offset!r}"
            )
        if metadata is not None and not isinstance(metadata, str):
            raise TypeError(f"metadata must be a string, not {metadata!r:.200}")
        if "\0" in topic or (metadata is not None and "\0" in metadata):
            raise ValueError("embedded null character")
        if not (-MAX_INT32 <= partition <= MAX_INT32 and -MAX_INT64 <= offset <= MAX_INT64):
            raise OverflowError(f"partition or offset is out of range: {partition}, {offset}")
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
        self._leader_epoch = -1 if leader_epoch is None else leader_epoch
        self.error = None

    @property
    def leader_epoch(self) -> int | None:
        """The epoch of the leader that the offset is of."""
        return self._leader_epoch if self._leader_epoch >= 0 else None

    def __repr__(self) -> str:
        return (
            f"TopicPartition{{topic={self.topic},partition={self.partition},offset={self.offset},"
            f"leader_epoch={self.leader_epoch},error={self.error}}}"
        )

    def __hash__(self) -> int:
        return hash(self.topic) ^ self.partition

    def _key(self) -> tuple[str, int]:
        return self.topic, self.partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicPartition):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, TopicPartition) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._key() <= other._key() if isinstance(other, TopicPartition) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self._key() > other._key() if isinstance(other, TopicPartition) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self._key() >= other._key() if isinstance(other, TopicPartition) else NotImplemented


class Uuid:
    """The id of a topic: two signed halves of 64 bits; as text, base64 without padding."""

    __slots__ = ("_least", "_most")

    def __init__(self, most_significant_bits: int, least_significant_bits: int) -> None:
        self._most = most_significant_bits
        self._least = least_significant_bits

    def get_most_significant_bits(self) -> int:
        """The upper half."""
        return self._most

    def get_least_significant_bits(self) -> int:
        """The lower half."""
        return self._least

    def __str__(self) -> str:
        halves = (half & (1 << 64) - 1 for half in (self._most, self._least))
        return b64encode(b"".join(half.to_bytes(8) for half in halves)).decode().rstrip("=")

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash((self._most, self._least))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Uuid):
            return NotImplemented
        return (self._most, self._least) == (other._most, other._least)


class Node:
    """A broker: id, host, port, rack."""

    def __init__(
        self,
        id: int,  # noqa: A002 - its name there
        host: str,
        port: int,
        rack: str | None = None,
    ) -> None:
        self.id = id
        self.id_string = str(id)
        self.host = host
        self.port = port
        self.rack = rack

    def __str__(self) -> str:
        rack = f"(Rack - {self.rack})" if self.rack else ""
        return f"({self.id}) {self.host}:{self.port} {rack}"


class ConsumerGroupTopicPartitions:
    """A group, and partitions of it."""

    def __init__(self, group_id: str, topic_partitions: list[TopicPartition] | None = None) -> None:
        self.group_id = group_id
        self.topic_partitions = topic_partitions


class TopicCollection:
    """Topics, by their names."""

    def __init__(self, topic_names: list[str]) -> None:
        self.topic_names = topic_names


class TopicPartitionInfo:
    """A partition with the nodes that have it."""

    def __init__(
        self,
        id: int,  # noqa: A002 - its name there
        leader: Node,
        replicas: list[Node],
        isr: list[Node],
    ) -> None:
        self.id = id
        self.leader = leader
        self.replicas = replicas
        self.isr = isr


class Ordered(Enum):
    """An enumeration in the order of its values."""

    def __lt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self.value < other.value)


class ConsumerGroupState(Ordered):
    """What a group is doing."""

    UNKNOWN = 0
    UNKOWN = 0  # a slip of theirs, which programs may have
    PREPARING_REBALANCING = 1
    COMPLETING_REBALANCING = 2
    STABLE = 3
    DEAD = 4
    EMPTY = 5


class ConsumerGroupType(Ordered):
    """Which protocol a group speaks."""

    UNKNOWN = 0
    CONSUMER = 1
    CLASSIC = 2


class IsolationLevel(Ordered):
    """Whether records of open transactions are read."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class ElectionType(Ordered):
    """Which leaders are elected."""

    PREFERRED = 0
    UNCLEAN = 1


class AcknowledgeType(IntEnum):
    """What is said of a record of a share group."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


class Messages:
    """What a poll of a share consumer gives: a sequence that cannot be changed."""

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self._records = list(messages)

    def records(self) -> list[Any]:
        """The messages, in a list of the caller's own."""
        return list(self._records)

    def count(self) -> int:
        """How many there are."""
        return len(self._records)

    def is_empty(self) -> bool:
        """Whether there are none."""
        return not self._records

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    def __getitem__(self, index: Any) -> Any:
        found = self._records[index]
        return Messages(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        return f"Messages({self._records!r})"


class ThrottleEvent(NamedTuple):
    """A broker has had us wait: what `throttle_cb` is called with. throttle_time: s."""

    broker_name: str
    broker_id: int
    throttle_time: float

    def __str__(self) -> str:
        return (
            f"{self.broker_name}/{self.broker_id} throttled for {int(self.throttle_time * 1000)} ms"
        )
