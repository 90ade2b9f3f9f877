"""Options of topics and nodes in layers, as Kafka has them (KIP-226):

    a topic's own > a node's > the default of all nodes > the node's file > Kafka's default

A node's file is `BrokerConfig` here. Options of one node are kept and shown; those that act on logs
act only when they are set for all nodes, as the replicas of a partition share their options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from enum import IntEnum
from typing import Final

from kcore.broker import group_settings
from kcore.broker.batches import RefusedError
from kcore.broker.config import BrokerConfig
from kcore.broker.group_settings import GroupOptions
from kcore.broker.options import (
    OPTIONS,
    SYNONYMS,
    Kind,
    LogConfig,
    apply,
    check_topic_settings,
    read_value,
    shown,
    shown_default,
)
from kcore.broker.telemetry import subscriptions
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.consumer.options import BOUNDED as CONSUMER_BOUNDED
from kcore.coordinator.share.options import BOUNDED
from kcore.coordinator.streams.options import BOUNDED as STREAMS_BOUNDED
from kcore.coordinator.streams.options import DEFAULTED
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

# Options of one topic or node: more than Kafka knows of, by far.
SETTINGS_MAX: Final = 1_000

EVERY_NODE: Final = ""


class Source(IntEnum):
    """Java: DescribeConfigsResponse.ConfigSource."""

    TOPIC = 1
    NODE = 2
    EVERY_NODE = 3
    FILE = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


class Operation(IntEnum):
    """Java: AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Synonym(NamedTuple):
    """Where a value could come from, too."""

    name: str
    value: str | None
    source: Source


class Described(NamedTuple):
    """One option and the layers it is set in, the one that counts first."""

    name: str
    value: str | None
    source: Source
    kind: int
    read_only: bool
    layers: list[Synonym]


# What `BrokerConfig` says under names of Kafka's: field, kind; read only while a node is up.
_FILE: Final[Mapping[str, tuple[str, Kind]]] = {
    "auto.create.topics.enable": ("auto_create_topics", Kind.BOOLEAN),
    "auto.leader.rebalance.enable": ("auto_leader_rebalance_enable", Kind.BOOLEAN),
    "default.replication.factor": ("default_replication_factor", Kind.INT),
    "fetch.max.bytes": ("fetch_max_bytes", Kind.INT),
    "num.partitions": ("num_partitions", Kind.INT),
    "quota.window.num": ("quota_window_num", Kind.INT),
    "quota.window.size.seconds": ("quota_window_size_seconds", Kind.INT),
    "controller.quota.window.num": ("controller_quota_window_num", Kind.INT),
    "controller.quota.window.size.seconds": ("controller_quota_window_size_seconds", Kind.INT),
    "replica.lag.time.max.ms": ("replica_lag_time_max_ms", Kind.LONG),
    "replica.selector.class": ("replica_selector_class", Kind.STRING),
    "socket.request.max.bytes": ("max_request_bytes", Kind.INT),
}
# The same of its `CoordinatorConfig`, whose defaults are Kafka's.
_COORDINATOR: Final[Mapping[str, tuple[str, Kind]]] = {
    "group.consumer.assignment.interval.ms": ("group_consumer_assignment_interval_ms", Kind.INT),
    "group.consumer.assignors": ("group_consumer_assignors", Kind.LIST),
    "group.consumer.heartbeat.interval.ms": ("group_consumer_heartbeat_interval_ms", Kind.INT),
    "group.consumer.max.size": ("group_consumer_max_size", Kind.INT),
    "group.consumer.migration.policy": ("group_consumer_migration_policy", Kind.STRING),
    "group.consumer.regex.refresh.interval.ms": (
        "group_consumer_regex_refresh_interval_ms", Kind.INT,
    ),
    "group.consumer.session.timeout.ms": ("group_consumer_session_timeout_ms", Kind.INT),
    "group.initial.rebalance.delay.ms": ("group_initial_rebalance_delay_ms", Kind.INT),
    "group.share.max.size": ("group_share_max_size", Kind.INT),
    **{
        f"group.consumer.{kind}{name.replace('_', '.')}": (
            f"group_consumer_{kind.replace('.', '_')}{name}", Kind.INT,
        )
        for name in CONSUMER_BOUNDED
        for kind in ("min.", "max.")
    },
    **{
        f"group.share.{kind}{name.replace('_', '.')}": (
            f"group_share_{kind.replace('.', '_')}{name}", Kind.INT,
        )
        for name in BOUNDED
        for kind in ("", "min.", "max.")
    },
    **{
        f"group.streams.{kind}{name.replace('_', '.')}": (
            f"group_streams_{kind.replace('.', '_')}{name}", Kind.INT,
        )
        for kind, names in (
            ("", (*DEFAULTED, "max_size", "max_standby_replicas")),
            ("min.", STREAMS_BOUNDED),
            ("max.", STREAMS_BOUNDED),
        )
        for name in names
    },
}  # fmt: skip
_NODE_ID: Final = "node.id"
_RACK: Final = "broker.rack"

_KAFKAS: Final = LogConfig()
_KAFKAS_COORDINATOR: Final = CoordinatorConfig()


class Settings:
    """The layers of one cluster."""

    def __init__(self, config: BrokerConfig, racks: Mapping[int, str | None]) -> None:
        self._config = config
        self._racks = racks
        self.nodes: dict[str, dict[str, str]] = {}  # node id as text, or EVERY_NODE
        self.groups: dict[str, dict[str, str]] = {}  # group id
        self.client_metrics: dict[str, dict[str, str]] = {}  # by the subscription's name
        self.client_metrics_version = 0  # goes up with each change of them
        self._group_options = group_settings.read({}, config.coordinator)
        # Options of groups as read last, and of which settings.
        self._read: dict[str, tuple[dict[str, str], GroupOptions]] = {}

    def log_config(self, own: Mapping[str, str]) -> LogConfig:
        """The options of a topic's logs."""
        config = replace(self._config.log)
        common = self.nodes.get(EVERY_NODE, {})
        apply(config, {SYNONYMS[name]: text for name, text in common.items() if name in SYNONYMS})
        apply(config, own)
        return config

    def of(self, group_id: str) -> GroupOptions:
        """What is set for a group, over what the nodes say."""
        own = self.groups.get(group_id)
        if not own:
            return self._group_options
        known = self._read.get(group_id)
        if known is None or known[0] != own:
            options = group_settings.read(own, self._config.coordinator)
            known = self._read[group_id] = dict(own), options
        return known[1]

    # Describing ----------------------------------------------------------------------------------

    def of_topic(self, own: Mapping[str, str], node_id: int) -> list[Described]:
        """The options of a topic, as this node has them."""
        described = []
        for name, option in OPTIONS.items():
            if option.hidden and name not in own:
                continue
            layers = []
            if name in own:
                text = shown(read_value(name, option, own[name]))
                layers.append(Synonym(name, text, Source.TOPIC))
            layers += self._layers(name, option.synonym, node_id)
            value: str | None = shown_default(name, _KAFKAS)
            source = Source.DEFAULT
            if layers:
                value, source = layers[0].value, layers[0].source
            described.append(
                Described(name, value, source, option.kind, read_only=False, layers=layers)
            )
        return described

    def _layers(self, name: str, synonym: str | None, node_id: int) -> list[Synonym]:
        """Of an option of topics, those below the topic's own."""
        if synonym is None:
            return []
        layers = self._dynamic(synonym, node_id)
        default, file = shown_default(name, _KAFKAS), shown_default(name, self._config.log)
        if file != default:
            layers.append(Synonym(synonym, file, Source.FILE))
        layers.append(Synonym(synonym, default, Source.DEFAULT))
        return layers

    def _dynamic(self, name: str, node_id: int) -> list[Synonym]:
        layers = []
        for key, source in ((str(node_id), Source.NODE), (EVERY_NODE, Source.EVERY_NODE)):
            text = self.nodes.get(key, {}).get(name)
            if text is not None:
                layers.append(Synonym(name, text, source))
        return layers

    def of_node(self, node_id: int) -> list[Described]:
        """The options of a node."""
        described = [
            self._from_file(name, text, default, kind) for name, text, default, kind in self._file()
        ]
        rack = self._racks.get(node_id)
        described.append(self._from_file(_RACK, rack, None, Kind.STRING))
        number = str(node_id)
        described.append(
            Described(
                _NODE_ID, number, Source.FILE, Kind.INT, read_only=True,
                layers=[Synonym(_NODE_ID, number, Source.FILE)],
            )
        )  # fmt: skip
        for synonym, name in SYNONYMS.items():
            layers = self._layers(name, synonym, node_id)
            value, source = layers[0].value, layers[0].source
            kind = OPTIONS[name].kind
            described.append(
                Described(synonym, value, source, kind, read_only=False, layers=layers)
            )
        known = {one.name for one in described}
        others = {*self.nodes.get(number, {}), *self.nodes.get(EVERY_NODE, {})} - known
        for name in sorted(others):
            layers = self._dynamic(name, node_id)
            value, source = layers[0].value, layers[0].source
            described.append(Described(name, value, source, 0, read_only=False, layers=layers))
        return described

    def of_group(self, group_id: str) -> list[Described]:
        """The options of a group, whether it exists or not."""
        described = []
        own = self.groups.get(group_id, {})
        for name, option in group_settings.OPTIONS.items():
            layers = []
            if name in own:
                layers.append(Synonym(name, own[name], Source.GROUP))
            file = shown(group_settings.file_value(name, self._config.coordinator))
            if option.synonym is not None and file != option.default:
                layers.append(Synonym(option.synonym, file, Source.FILE))
            layers.append(Synonym(option.synonym or name, option.default, Source.DEFAULT))
            value, source = layers[0].value, layers[0].source
            described.append(
                Described(name, value, source, option.kind, read_only=False, layers=layers)
            )
        return described

    def of_client_metrics(self, name: str) -> list[Described]:
        """The options of a subscription, whether it exists or not."""
        own = self.client_metrics.get(name, {})
        return [
            Described(
                key,
                own.get(key, option.default),
                Source.CLIENT_METRICS if key in own else Source.DEFAULT,
                option.kind,
                read_only=False,
                layers=[Synonym(key, own[key], Source.CLIENT_METRICS)] if key in own else [],
            )
            for key, option in subscriptions.OPTIONS.items()
        ]

    def subscribe(self, name: str, options: Mapping[str, str]) -> None:
        """Ask clients for metrics so, which have been checked; nothing: not any more."""
        self.client_metrics_version += 1
        if options:
            self.client_metrics[name] = {
                key: text
                if key == subscriptions.INTERVAL
                else ",".join(dict.fromkeys(subscriptions.parts(text)))
                for key, text in options.items()
            }
        else:
            self.client_metrics.pop(name, None)

    def check_group(self, wanted: Mapping[str, str]) -> None:
        """RefusedError if these cannot be a group's options."""
        group_settings.check(wanted, self._config.coordinator)

    def of_every_node(self) -> list[Described]:
        """What is set for all nodes."""
        return [
            Described(
                name, text, Source.EVERY_NODE, _kind_of(name), read_only=False,
                layers=[Synonym(name, text, Source.EVERY_NODE)],
            )
            for name, text in self.nodes.get(EVERY_NODE, {}).items()
        ]  # fmt: skip

    def _file(self) -> Iterable[tuple[str, str | None, str | None, Kind]]:
        """Name, value, default, kind."""
        plain = BrokerConfig()
        for name, (field, kind) in _FILE.items():
            value, default = getattr(self._config, field), getattr(plain, field)
            if value is not None:
                value = shown(value)
            yield name, value, None if default is None else shown(default), kind
        for name, (field, kind) in _COORDINATOR.items():
            value = getattr(self._config.coordinator, field)
            yield name, shown(value), shown(getattr(_KAFKAS_COORDINATOR, field)), kind

    @staticmethod
    def _from_file(name: str, text: str | None, default: str | None, kind: Kind) -> Described:
        layers = [] if default is None else [Synonym(name, default, Source.DEFAULT)]
        if text != default:
            layers.insert(0, Synonym(name, text, Source.FILE))
        source = layers[0].source if layers else Source.DEFAULT
        return Described(name, text, source, kind, read_only=True, layers=layers)

    # Changing ------------------------------------------------------------------------------------

    def check_node(self, wanted: Mapping[str, str]) -> None:
        """RefusedError if these cannot be a node's options."""
        fixed = sorted({*_FILE, *_COORDINATOR, _NODE_ID, _RACK}.intersection(wanted))
        if fixed:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"Cannot update these configs dynamically: [{', '.join(fixed)}]",
            )
        for name, text in wanted.items():
            if name in SYNONYMS:
                read_value(name, OPTIONS[SYNONYMS[name]], text)
        _check_count(wanted)


def replaced(
    operations: Iterable[tuple[str, int, str | None]],
    _known: Mapping[str, str],
    kinds: Mapping[str, str],
) -> dict[str, str]:
    """Settings of which only these are left; as in `changed`."""
    return changed(operations, {}, kinds)


def changed(
    operations: Iterable[tuple[str, int, str | None]],
    known: Mapping[str, str],
    kinds: Mapping[str, str],
) -> dict[str, str]:
    """Settings after incremental operations (KIP-339): name, operation, text. RefusedError.

    kinds: what the options are called in `OPTIONS`, where they are known.
    """
    result = dict(known)
    seen = set()
    for name, number, text in operations:
        if name in seen:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        seen.add(name)
        try:
            operation = Operation(number)
        except ValueError:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"Unknown operation {number} for {name[:1_000]}"
            ) from None
        if operation is Operation.DELETE:
            result.pop(name, None)
            continue
        if text is None:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name[:1_000]}"
            )
        if operation is Operation.SET:
            result[name] = text
        else:
            result[name] = _with_parts(name, operation, text, result.get(name), kinds.get(name))
    return result


def _with_parts(
    name: str, operation: Operation, text: str, known: str | None, option_name: str | None
) -> str:
    """A list with parts added or taken out."""
    option = OPTIONS.get(option_name or "")
    if option is None or option.kind is not Kind.LIST:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {operation.name} to key {name[:1_000]} because its type is not LIST.",
        )
    parts = [part for part in (option.default if known is None else known).split(",") if part]
    given = [part.strip() for part in text.split(",")]
    if operation is Operation.APPEND:
        parts += [part for part in given if part not in parts]
    else:
        parts = [part for part in parts if part not in given]
    return ",".join(parts)


def checked_topic(wanted: Mapping[str, str]) -> None:
    """RefusedError if these cannot be a topic's options."""
    check_topic_settings(wanted)
    _check_count(wanted)


def _check_count(wanted: Mapping[str, str]) -> None:
    if len(wanted) > SETTINGS_MAX:
        raise RefusedError(ErrorCode.POLICY_VIOLATION, f"{SETTINGS_MAX} options are the most")


def _kind_of(name: str) -> int:
    return OPTIONS[SYNONYMS[name]].kind if name in SYNONYMS else 0


def update(config: LogConfig, new: LogConfig) -> None:
    """Make a topic's options, which its logs hold, be those."""
    for field in fields(LogConfig):
        setattr(config, field.name, getattr(new, field.name))
