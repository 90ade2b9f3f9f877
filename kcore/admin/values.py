"""What users of the admin client hold: what is to be made or changed, and what is told.

Names, fields and numbers are kafka-python's; its own objects and aiokafka's are taken in their
place. Numbers: the resource types, sources and operations of Kafka's protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Any, Final

from kcore.errors import IllegalArgumentError
from kcore.tuples import NamedTuple
from kcore.values import Value, field

DEFAULT: Final = -1  # of partitions and replicas: as the cluster is set up


class NewTopic(Value):
    """A topic to be made. num_partitions, replication_factor: -1: the cluster's default.

    replica_assignments: {partition: [broker ids]} in place of both. topic_configs: {name: value}.
    """

    name: str
    num_partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    replica_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    topic_configs: Mapping[str, str | None] = field(default_factory=dict)


class NewPartitions(Value):
    """How many partitions a topic is to have. new_assignments: [[broker ids]] of those added."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class RecordsToDelete(Value):
    """Records below this offset; -1: up to the high watermark."""

    before_offset: int


class MemberToRemove(Value):
    """A member of a group, by the id that the coordinator gave it, or by its group_instance_id."""

    member_id: str | None = None
    group_instance_id: str | None = None
    reason: str | None = None


class Named(IntEnum):
    """Numbers that may be given by their names, in either case."""

    @classmethod
    def of(cls, value: object) -> Any:
        """What a number, a name or somebody else's enum stands for. IllegalArgumentError."""
        known = ", ".join(one.name for one in cls)
        try:
            if isinstance(value, str):
                return cls[value.strip().upper().replace("-", "_")]
            return cls(value)  # type: ignore[arg-type]
        except (KeyError, ValueError):
            raise IllegalArgumentError(f"{cls.__name__} is one of {known}, not {value!r}") from None


class OffsetSpec(Named):
    """An offset by what it is; the broker looks it up."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3  # of the record with the highest timestamp (KIP-734, Kafka 3.0)
    EARLIEST_LOCAL = -4  # of tiered storage (KIP-405, Kafka 3.6)
    LATEST_TIERED = -5  # likewise (KIP-1005, Kafka 3.9)


class OffsetTimestamp(int):
    """Ms since 1970, where a plain number would be an offset: the first record not before it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


class OffsetDuration(str):
    """A duration (ISO 8601, "P1DT12H"): the first record not older than it is now."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetDuration({str(self)!r})"


class OffsetShift(int):
    """So many records on from what is committed, or back if it is negative."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetShift({int(self)})"


class ConfigResourceType(Named):
    """What has a configuration."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class AlterConfigOp(Named):
    """What to do to an entry (KIP-339). APPEND and SUBTRACT are for lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigFilterType(Named):
    """Which entries to tell: those that are not a default, that can be altered, or all."""

    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4


class ConfigSourceType(Named):
    """Where a value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigType(Named):
    """What a value is."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ElectionType(Named):
    """Which replica is to lead: the first of its list, or any that there is, with what it has."""

    PREFERRED = 0
    UNCLEAN = 1


class ConfigResource:
    """Whose configuration: a topic, a broker by its number as text, a group.

    configs: to be told: names (None: all); to be altered: {name: value} or {name: (op, value)}.
    """

    def __init__(
        self,
        resource_type: ConfigResourceType | str | int,
        name: str,
        configs: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.resource_type: ConfigResourceType = ConfigResourceType.of(resource_type)
        self.name = name
        self.configs = configs

    def __repr__(self) -> str:
        return f"ConfigResource({self.resource_type.name}, {self.name!r}, {self.configs!r})"


class Word(StrEnum):
    """A word of the protocol that may be given by its name, or in another spelling."""

    @classmethod
    def of(cls, value: object) -> str:
        """As brokers spell it. IllegalArgumentError."""
        wanted = str(getattr(value, "value", value))
        plain = wanted.replace("-", "").replace("_", "").lower()
        for one in cls:
            if one.value.lower() == plain:
                return str(one.value)
        known = ", ".join(one.value for one in cls)
        raise IllegalArgumentError(f"{cls.__name__} is one of {known}, not {wanted!r}")


class GroupState(Word):
    """States of groups (KIP-518, KIP-848, KIP-1071)."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"


class GroupType(Word):
    """Protocols of groups (KIP-848, KIP-932, KIP-1071)."""

    UNKNOWN = "Unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class PartitionLag(NamedTuple):
    """How far a group is behind in one partition, and who reads it.

    committed: the next offset to read, of a share group its start offset; None: there is none yet.
    end: the end of the partition, of what a consumer of this isolation level can read; None: it is
    not there any more. lag: records between the two; None if one of them is. Of a share group:
    those that are still to be done, as the broker counts them; None if it does not.
    The next four: the member it is assigned to; None if it is to nobody, or to several (in a share
    group). members: the ids of all that it is assigned to.
    """

    committed: int | None
    end: int | None
    lag: int | None
    member_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    group_instance_id: str | None = None
    members: tuple[str, ...] = ()


class SharePartitionOffset(NamedTuple):
    """Where a share group is in a partition (KIP-932).

    start_offset: nothing before it is delivered any more; brokers move it now and then, so records
    behind it may be done, too. -1: none is settled yet. lag: records that are still to be done
    (KIP-1226); None: not told, by brokers before 4.2, of what these have kept, or of what has no
    start offset.
    """

    start_offset: int
    leader_epoch: int
    lag: int | None


class UpdateFeatureType(Named):
    """How the finalized version of a feature may change: up, down without loss, down with it."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class ProducerState(NamedTuple):
    """A producer that has written to a partition. last_sequence, coordinator_epoch and
    current_transaction_start_offset: -1: there is none.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_transaction_start_offset: int


class PartitionProducerState(NamedTuple):
    """The producers that a partition knows."""

    active_producers: list[ProducerState]


class ClientQuotaMatch(Named):
    """Which entities of a type: one by its name, the default, or all of both kinds."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class TopicPartitionReplica(NamedTuple):
    """The replica of a partition that a broker has."""

    topic: str
    partition: int
    broker_id: int


class ReplicaLogDirs(NamedTuple):
    """Where a replica is on the disks of its broker, and where it is moved to (None: nowhere), with
    how many offsets each is behind; -1: that is not known.
    """

    current_log_dir: str | None
    current_offset_lag: int
    future_log_dir: str | None = None
    future_offset_lag: int = -1


class RaftVoterEndpoint(NamedTuple):
    """Where a controller is to be found. name: of its listener, in capitals ("CONTROLLER")."""

    name: str
    host: str
    port: int


class BrokerVersionData(NamedTuple):
    """What a broker speaks. broker_version: the release it is like; api_versions: {number of an
    API: (lowest, highest version)}.
    """

    broker_version: tuple[int, int] | None
    api_versions: Mapping[int, tuple[int, int]]
