"""What the core tells the application, in the past tense, popped by `next_event()`.

Every event is a frozen value. `OperationCompleted` answers the verbs that return an operation
number (commit, committed offsets, offset look-ups, metadata, close); everything else is news. An
application that ignores news loses nothing but knowledge, with one exception: after
PartitionsRevoked, PartitionsLost and PartitionsAssigned the core waits for
`acknowledge_rebalance()` when it was built with `await_acknowledgement=True`, so that the
application can commit or save state first.
"""

from __future__ import annotations

from kcore.errors import KafkaError
from kcore.hints import Any, ClassVar
from kcore.structs import ControlRecord, OffsetAndMetadata, TopicPartition
from kcore.values import Value, field


class Event(Value):
    """The base of all events. news: what may be dropped when nobody takes it for too long."""

    news: ClassVar[bool] = True


class LinkOpened(Event):
    """A broker was connected and greeted; `software` is what it calls itself when it says so."""

    node_id: int
    host: str
    port: int


class LinkClosed(Event):
    """A connection ended or could not be made. opened: it was there, or was given up by this side;
    False: it could not be set up.
    """

    node_id: int
    host: str
    port: int
    error: KafkaError
    opened: bool = True


class OtherClusterMet(Event):
    """A broker named another cluster than the one that is meant: what it said is not believed."""

    node_id: int
    address: str
    cluster_id: str
    expected: str


class ClusterUnreachable(Event):
    """No broker can be reached any more; said once when it begins."""

    error: KafkaError | None


class ClusterReachable(Event):
    """The first broker answered again after `outage_ms`, `attempts` connection attempts later."""

    outage_ms: int
    attempts: int


class MetadataUpdated(Event):
    """A metadata answer was taken in; `version` is the view's new version."""

    version: int


class TopicsMissing(Event):
    """The topics asked for that the cluster does not have now; said when the set changes (empty:
    all are there).
    """

    topics: frozenset[str]


class CoordinatorFound(Event):
    """FindCoordinator answered."""

    node_id: int
    host: str
    port: int


class CoordinatorLost(Event):
    """The coordinator must be looked up again (membership is kept)."""

    reason: str


class RebalanceStarted(Event):
    """A join (or another one) is about to begin. What is assigned may change without one in the
    consumer protocol.
    """

    reason: str


class GroupJoined(Event):
    """JoinGroup answered and SyncGroup followed: the member is part of this generation.

    With the consumer protocol (KIP-848) the first heartbeat was answered: a generation is a member
    epoch, nobody leads, and the protocol is the assignor asked for, or "consumer".
    """

    generation: int
    member_id: str
    leader_id: str
    protocol: str
    is_leader: bool
    members: int  # how many the leader was told of; 0 for a follower, which is not told


class PartitionsAssigned(Event):
    """`added` are new to this member, `partitions` is all it now has."""

    added: tuple[TopicPartition, ...]
    partitions: tuple[TopicPartition, ...]
    generation: int


class PartitionsRevoked(Event):
    """About to be given up, still owned: offsets can still be committed for them."""

    partitions: tuple[TopicPartition, ...]


class PartitionsLost(Event):
    """Gone already (session over, fenced): someone else may have them, nothing can be committed."""

    partitions: tuple[TopicPartition, ...]


class HeartbeatAnswered(Event):
    """The coordinator answered a heartbeat; `error` is None, or why it counts as failed (or a
    rebalance begins).
    """

    generation: int
    latency_ms: int
    error: KafkaError | None = None


class GroupLeft(Event):
    """The member gave up its membership (close, unsubscribe, poll interval exceeded)."""

    reason: str


class RecordsFetched(Event):
    """A fetch answer brought record bytes: they are buffered and wait for `take_records`."""

    node_id: int
    partitions: tuple[TopicPartition, ...]
    size_bytes: int


class ControlRecordsPassed(Event):
    """Control records were passed over on the way to the position where `partition` now is: commit
    and abort markers, and kinds that only a later Kafka knows. In order, each once unless the
    application seeks back. Only said with the option `include_control_records`.
    """

    partition: TopicPartition
    records: tuple[ControlRecord, ...]


class OffsetReset(Event):
    """A position was set by the reset policy: the partition, where it is now, and the policy.

    before: where it stood, if that is not in the log (any more); None: it stood nowhere, or the
    application has asked for this. "truncated": the log was cut off at `offset` (KIP-320).
    """

    partition: TopicPartition
    offset: int
    strategy: str
    before: int | None = None


class TopicRecreated(Event):
    """A partition that was read, and how far: its topic was deleted, and made anew under its name.
    Reading begins anew there.
    """

    partition: TopicPartition
    offset: int


class OffsetsCommitted(Event):
    """An automatic commit was answered. `operation` is None: commits of the application's own end
    in an OperationCompleted.

    `dropped` are partitions left out because this member no longer owned them, or because the
    coordinator goes on not knowing them: their topic was deleted.
    """

    news: ClassVar[bool] = False

    operation: int | None
    offsets: dict[TopicPartition, OffsetAndMetadata]
    error: KafkaError | None = None
    dropped: tuple[TopicPartition, ...] = ()


class RecordsAcknowledged(Event):
    """A broker was told what has become of records that a share group delivered, or could not be
    told. ranges: of offsets, (first, last). error: why it did not take that in; None: it did.
    topic_id: of the topic that held them (16 bytes); one that was made anew may have its name now.
    """

    news: ClassVar[bool] = False

    partition: TopicPartition
    ranges: tuple[tuple[int, int], ...]
    error: KafkaError | None = None
    topic_id: bytes = b""


class MetricsPushed(Event):
    """Metrics of this client were pushed to a broker that has subscribed to them (KIP-714).

    points: numbers that it was given. left_out: those that had no room in what it takes. error: why
    it did not take them, or did not say what it wants (`points` is 0 then).
    """

    node_id: int
    points: int
    left_out: int
    size_bytes: int
    error: KafkaError | None = None


class ErrorRaised(Event):
    """Something the application must know: raised by the next `poll` of the blocking facade."""

    error: KafkaError


class OperationCompleted(Event):
    """The end of a verb that returned `operation`: its result, or its error."""

    news: ClassVar[bool] = False

    operation: int
    result: Any = None
    error: KafkaError | None = None


class Closed(Event):
    """`close` is complete; every link has been told to disconnect. `errors` are what went wrong on
    the way.
    """

    news: ClassVar[bool] = False

    errors: tuple[KafkaError, ...] = field(default=())
