"""The small tuples that users hold.

Same fields, same order as kafka-python's, so equality and hashing agree. Sources: kafka-python's
`kafka.structs`, Java's `TopicPartition` / `OffsetAndMetadata` (KIP-320 for epochs).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

from kcore.hints import Any, Final, Protocol
from kcore.tuples import NamedTuple


class TopicPartition(NamedTuple):
    """A topic name and a partition number; any tuple of the two is taken in its place."""

    topic: str
    partition: int


class OffsetAndMetadata(NamedTuple):
    """A committed position: the next offset to read, the user's text, the epoch before it.

    leader_epoch: of the last record read, -1 if it is not known.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """An answer to a look-up by time: the first offset at or after it, its time (ms), its epoch."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class ProducerRecord(NamedTuple):
    """A record on its way into a producer, as interceptors see it (KIP-42): what `send` was given.

    headers: a list of (str, bytes or None). partition: None: the partitioner decides.
    timestamp_ms: wall time.
    """

    topic: str
    value: Any
    key: Any
    headers: list[tuple[str, bytes | None]]
    partition: int | None
    timestamp_ms: int


class SubscriptionPattern(NamedTuple):
    """A regular expression (RE2) that the brokers match with topics' whole names, for
    `group_protocol="consumer"` (KIP-848; Java: SubscriptionPattern).
    """

    pattern: str


class MemberState:
    """What ConsumerGroupMetadata.state can say (the values of kafka-python's MemberState)."""

    UNJOINED: Final = "<unjoined>"  # not part of a group
    REBALANCING: Final = "<rebalancing>"  # on the way into a generation
    STABLE: Final = "<stable>"  # part of one, sending heartbeats


class ConsumerGroupMetadata(NamedTuple):
    """Who this consumer is in its group (KIP-447), or was, if that has gone on without it; never
    joined: -1 and "".
    """

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED


class GroupMembershipOperation(StrEnum):
    """What a close means for the membership (KIP-1092; Java: CloseOptions)."""

    # As ever: a dynamic member leaves, a static one will be back.
    DEFAULT = "default"
    # Others have the partitions at once, whoever goes.
    LEAVE_GROUP = "leave_group"
    # Nobody has them before the session is over: who comes back sooner (a static member) finds all
    # as it was, and who does not costs the group no rebalance until then.
    REMAIN_IN_GROUP = "remain_in_group"


class AcknowledgeType(IntEnum):
    """What has become of a record that a share group delivered (KIP-932; Java: AcknowledgeType)."""

    ACCEPT = 1  # it was handled
    RELEASE = 2  # somebody is to have it again
    REJECT = 3  # it cannot be handled: nobody is to have it again
    RENEW = 4  # it is still being handled: its lock begins anew (KIP-1222)


# Kinds of control records (Java: ControlRecordType); KRaft's logs have more.
ABORT: Final = 0
COMMIT: Final = 1


class ControlRecord(NamedTuple):
    """One record that brokers wrote among the data, and the producer whose batch it stands in.

    kind: ABORT, COMMIT, or a number that a later Kafka gave a meaning. timestamp: ms.
    key, value: as on the wire.
    """

    offset: int
    timestamp: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    kind: int
    key: bytes
    value: bytes | None

    @property
    def coordinator_epoch(self) -> int:
        """Of the transaction coordinator that wrote the marker; -1 if it is none, or says none."""
        if self.kind not in {ABORT, COMMIT} or self.value is None or len(self.value) < 6:
            return -1
        return int.from_bytes(self.value[2:6], "big", signed=True)


class Leader(NamedTuple):
    """Who leads a partition: node id and leader epoch (-1: unknown)."""

    node_id: int
    epoch: int


class Node(NamedTuple):
    """A broker as the cluster advertises it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class Rng(Protocol):
    """The part of `random.Random` that the core uses; the caller passes a seeded one in.

    Whoever talks to real brokers passes one whose bits cannot be guessed, as those of a
    `random.SystemRandom`: with SASL/SCRAM a nonce is made of them.
    """

    def random(self) -> float:
        """A float in [0, 1), for what is left to chance: no secret is made of it."""

    def getrandbits(self, k: int, /) -> int:
        """A number of `k` random bits."""
