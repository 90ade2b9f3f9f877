"""What an AdminClient is given: resources, configurations, access, passwords, topics to make."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import total_ordering
from typing import Any, ClassVar, Self, TypeVar

from kcore.clients.stand_in.confluent.constants import FOR_ADMINS
from kcore.clients.stand_in.confluent.structures import Ordered

_E = TypeVar("_E", bound=Enum)


def enum_of(kind: type[_E], value: Any) -> _E:
    """A member by itself, by its name in either case, or by its number.

    ValueError: there is none; TypeError: it is nothing of these.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        try:
            return kind[value.upper()]
        except KeyError:
            raise ValueError(f'Unknown value "{value}": should be a {kind.__name__}') from None
    if isinstance(value, int):
        return kind(value)
    raise TypeError(f'Unknown value "{value}": should be a {kind.__name__}')


# Configurations -----------------------------------------------------------------------------------


class ResourceType(Ordered):
    """What a resource is. ANY is for filters; access to BROKER is access to the cluster."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    TRANSACTIONAL_ID = 5


class ConfigSource(Ordered):
    """Where a value comes from."""

    UNKNOWN_CONFIG = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class AlterConfigOpType(Ordered):
    """What is done to an entry; APPEND and SUBTRACT are for lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigEntry:
    """An entry of a configuration. value: None: there is none, or it is kept from us."""

    def __init__(
        self,
        name: str,
        value: str | None,
        source: ConfigSource | int = ConfigSource.UNKNOWN_CONFIG,
        is_read_only: bool = False,
        is_default: bool = False,
        is_sensitive: bool = False,
        is_synonym: bool = False,
        synonyms: Mapping[str, ConfigEntry] | None = None,
        incremental_operation: AlterConfigOpType | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.is_read_only = bool(is_read_only)
        self.is_default = bool(is_default)
        self.is_sensitive = bool(is_sensitive)
        self.is_synonym = bool(is_synonym)
        self.synonyms = {} if synonyms is None else synonyms
        self.incremental_operation = incremental_operation

    def __repr__(self) -> str:
        return f"ConfigEntry({self})"

    def __str__(self) -> str:
        return f'{self.name}="{self.value}"'


@total_ordering
class ConfigResource:
    """Whose configuration: a topic, a group, a broker by its number as text; compared by both.

    set_config: what `alter_configs` sets. incremental_configs: what `incremental_alter_configs`
    does, as entries with their operation.
    """

    Type = ResourceType

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: Mapping[str, Any] | None = None,
        described_configs: Mapping[str, ConfigEntry] | None = None,
        error: Any = None,
        incremental_configs: Iterable[ConfigEntry] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("Expected resource name to be a string")
        self.restype = enum_of(ResourceType, restype)
        self.restype_int = self.restype.value
        self.name = name
        self.set_config_dict = {} if set_config is None else dict(set_config.items())
        self.incremental_configs = list(incremental_configs or ())
        self.configs = described_configs
        self.error = error

    def _key(self) -> tuple[ResourceType, str]:
        return self.restype, self.name

    def __repr__(self) -> str:
        wrong = "" if self.error is None else f",{self.error!r}"
        return f"ConfigResource({self.restype},{self.name}{wrong})"

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ConfigResource) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, ConfigResource) else NotImplemented

    def __len__(self) -> int:
        return len(self.set_config_dict)

    def set_config(self, name: str, value: Any, overwrite: bool = True) -> None:
        """An entry that `alter_configs` is to set; overwrite: also if one of the name is there."""
        if overwrite or name not in self.set_config_dict:
            self.set_config_dict[name] = value

    def add_incremental_config(self, config_entry: ConfigEntry) -> None:
        """An entry with what `incremental_alter_configs` is to do to it."""
        self.incremental_configs.append(config_entry)


# Access -------------------------------------------------------------------------------------------


class ResourcePatternType(Ordered):
    """How a name stands for resources. ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(Ordered):
    """What may be done, or not. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class AclPermissionType(Ordered):
    """Whether it may be done. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


@total_ordering
class AclBinding:
    """What a principal ("User:alice") may do, or may not, to which resources, from which host.

    Enumerations may be given by name or number. ValueError: something is missing, or is for filters
    only; TypeError: of another type.
    """

    _TYPES: ClassVar[dict[str, type[Ordered]]] = {
        "restype": ResourceType,
        "resource_pattern_type": ResourcePatternType,
        "operation": AclOperation,
        "permission_type": AclPermissionType,
    }
    _NAMES: ClassVar[tuple[str, ...]] = ("name", "principal", "host")
    _FORBIDDEN: ClassVar[tuple[str, ...]] = ("ANY", "MATCH")

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str | None,
        resource_pattern_type: ResourcePatternType | str | int,
        principal: str | None,
        host: str | None,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None:
        self.restype: Any = restype
        self.name = name
        self.resource_pattern_type: Any = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation: Any = operation
        self.permission_type: Any = permission_type
        self._check_missing()
        for field in self._NAMES:
            value = getattr(self, field)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"Expected {field} to be a string")
        for field, kind in self._TYPES.items():
            member = enum_of(kind, getattr(self, field))
            if member.name in self._FORBIDDEN:
                raise ValueError(f"Cannot use enum {field}, value {member.name} in this class")
            setattr(self, field, member)
            setattr(self, f"{field}_int", member.value)

    def _check_missing(self) -> None:
        for field in (*self._TYPES, *self._NAMES):
            if getattr(self, field) is None:
                raise ValueError(f"Expected {field} to be not None")

    def _key(self) -> tuple[Any, ...]:
        return (
            self.restype,
            self.name,
            self.resource_pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission_type,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(map(str, self._key()))})"

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, AclBinding) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, AclBinding) else NotImplemented


class AclBindingFilter(AclBinding):
    """Bindings to find. name, principal, host: None: any."""

    _FORBIDDEN = ("UNKNOWN",)

    def _check_missing(self) -> None:
        for field in self._TYPES:
            if getattr(self, field) is None:
                raise ValueError(f"Expected {field} to be not None")


# Passwords ----------------------------------------------------------------------------------------


class ScramMechanism(Ordered):
    """How a password is hashed."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class ScramCredentialInfo:
    """Of a credential: mechanism, and iterations of its hash."""

    def __init__(self, mechanism: ScramMechanism, iterations: int) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class UserScramCredentialAlteration:
    """What is to become of a user's credential."""

    def __init__(self, user: str) -> None:
        self.user = user


class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """It is to be of this password. salt: None: random."""

    def __init__(
        self,
        user: str,
        scram_credential_info: ScramCredentialInfo,
        password: bytes,
        salt: bytes | None = None,
    ) -> None:
        super().__init__(user)
        self.scram_credential_info = scram_credential_info
        self.password = password
        self.salt = salt


class UserScramCredentialDeletion(UserScramCredentialAlteration):
    """What the user has of this mechanism is to go."""

    def __init__(self, user: str, mechanism: ScramMechanism) -> None:
        super().__init__(user)
        self.mechanism = mechanism


# Topics -------------------------------------------------------------------------------------------


class _Compared:
    """Ordered and hashed by `_key`, among objects of the very same class."""

    def _key(self) -> tuple[str, int]:
        raise NotImplementedError

    def _other(self, other: object) -> tuple[str, int]:
        if type(other) is not type(self):
            raise NotImplementedError  # as theirs do
        return other._key()  # noqa: SLF001 - of the same class

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self._key() == self._other(other)

    def __lt__(self, other: object) -> bool:
        return self._key() < self._other(other)

    def __le__(self, other: object) -> bool:
        return self._key() <= self._other(other)

    def __gt__(self, other: object) -> bool:
        return self._key() > self._other(other)

    def __ge__(self, other: object) -> bool:
        return self._key() >= self._other(other)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    return value


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__}")
    return int(value)


class NewTopic(_Compared):
    """A topic to make. num_partitions, replication_factor: -1: the cluster's default.

    replica_assignment: for each partition a list of brokers.
    """

    def __init__(
        self,
        topic: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignment: list[list[int]] | None = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        self.topic = _text(topic, "topic")
        self.num_partitions = _whole(num_partitions, "num_partitions")
        self.replication_factor = _whole(replication_factor, "replication_factor")
        self.replica_assignment = replica_assignment
        if config is not None and not isinstance(config, dict):
            raise TypeError("config must be a dict of strings")
        self.config = config

    def _key(self) -> tuple[str, int]:
        return self.topic, self.num_partitions

    def __repr__(self) -> str:
        count = "" if self.num_partitions == -1 else f",num_partitions={self.num_partitions}"
        return f"NewTopic(topic={self.topic}{count})"


class NewPartitions(_Compared):
    """A topic is to have so many partitions. replica_assignment: for each new one its brokers."""

    def __init__(
        self,
        topic: str,
        new_total_count: int,
        replica_assignment: list[list[int]] | None = None,
    ) -> None:
        self.topic = _text(topic, "topic")
        self.new_total_count = _whole(new_total_count, "new_total_count")
        self.replica_assignment = replica_assignment

    def _key(self) -> tuple[str, int]:
        return self.topic, self.new_total_count

    def __repr__(self) -> str:
        return f"NewPartitions(topic={self.topic},new_total_count={self.new_total_count})"


# Offsets ------------------------------------------------------------------------------------------


class OffsetSpec(ABC):
    """Which offset of a partition: `earliest()`, `latest()`, `max_timestamp()`, or
    `for_timestamp(ms)`. `OffsetSpec(number)` is the one of this number.
    """

    _fixed: ClassVar[dict[int, OffsetSpec]] = {}

    @property
    @abstractmethod
    def _value(self) -> int:
        """Its number on the wire."""

    def __new__(cls, index: int) -> Any:
        return cls._fixed[index] if index < 0 else cls.for_timestamp(index)

    @classmethod
    def earliest(cls) -> OffsetSpec:
        """The beginning."""
        return cls._fixed[FOR_ADMINS["OFFSET_SPEC_EARLIEST"]]

    @classmethod
    def latest(cls) -> OffsetSpec:
        """The end."""
        return cls._fixed[FOR_ADMINS["OFFSET_SPEC_LATEST"]]

    @classmethod
    def max_timestamp(cls) -> OffsetSpec:
        """The record with the highest timestamp."""
        return cls._fixed[FOR_ADMINS["OFFSET_SPEC_MAX_TIMESTAMP"]]

    @classmethod
    def for_timestamp(cls, timestamp: int) -> OffsetSpec:
        """The first record that is not older than that (ms)."""
        return TimestampSpec(timestamp)

    def __lt__(self, other: object) -> bool:
        return self._value < other._value if isinstance(other, OffsetSpec) else NotImplemented


class TimestampSpec(OffsetSpec):
    """See `OffsetSpec.for_timestamp`."""

    def __new__(cls, _timestamp: int) -> Self:
        return object.__new__(cls)

    def __init__(self, timestamp: int) -> None:
        self.timestamp = timestamp

    @property
    def _value(self) -> int:
        return self.timestamp


class _Fixed(OffsetSpec):
    _number: ClassVar[int]

    def __new__(cls) -> Self:
        return object.__new__(cls)

    @property
    def _value(self) -> int:
        return self._number


class MaxTimestampSpec(_Fixed):
    """See `OffsetSpec.max_timestamp`."""

    _number = FOR_ADMINS["OFFSET_SPEC_MAX_TIMESTAMP"]


class EarliestSpec(_Fixed):
    """See `OffsetSpec.earliest`."""

    _number = FOR_ADMINS["OFFSET_SPEC_EARLIEST"]


class LatestSpec(_Fixed):
    """See `OffsetSpec.latest`."""

    _number = FOR_ADMINS["OFFSET_SPEC_LATEST"]


for _spec in (MaxTimestampSpec(), EarliestSpec(), LatestSpec()):
    OffsetSpec._fixed[_spec._number] = _spec  # noqa: SLF001 - that module's own
