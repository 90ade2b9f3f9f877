"""Options of topics and nodes in layers, as Kafka has them (KIP-226):

    a topic's own > a node's > the default of all nodes > the node's file > Kafka's default

A node's file is `BrokerConfig` here. Options of one node are kept and shown; those that act on logs
act only when they are set for all nodes, as the replicas of a partition share their options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from enum import IntEnum
from typing import Any, Final

from kcore.broker import group_settings, node_options
from kcore.broker.batches import RefusedError
from kcore.broker.config import BrokerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.broker.group_settings import GroupOptions
from kcore.broker.node_options import FileOption
from kcore.broker.options import (
    INT64_MAX,
    OPTIONS,
    SYNONYMS,
    Kind,
    LogConfig,
    Option,
    apply,
    check_topic_settings,
    read_value,
    shown,
    shown_default,
)
from kcore.broker.telemetry import subscriptions
from kcore.coordinator import CoordinatorConfig
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
    sensitive: bool = False


# What has its default under another name, which shows up behind a value of its own only.
_DEFAULTED_AS: Final = {
    "log.flush.interval.ms": ("log.flush.scheduler.interval.ms", str(INT64_MAX)),
    "log.retention.ms": ("log.retention.hours", "168"),
    "log.roll.jitter.ms": ("log.roll.jitter.hours", "0"),
    "log.roll.ms": ("log.roll.hours", "168"),
}
_KAFKAS: Final = LogConfig()


class Settings:
    """The layers of one cluster."""

    def __init__(self, config: BrokerConfig, racks: Mapping[int, str | None]) -> None:
        self._config = config
        self._racks = racks
        self.nodes: dict[str, dict[str, str]] = {}  # node id as text, or EVERY_NODE
        self.groups: dict[str, dict[str, str]] = {}  # group id
        self.client_metrics: dict[str, dict[str, str]] = {}  # by the subscription's name
        self.client_metrics_version = 0  # goes up with each change of them
        self._coordinators: dict[int, CoordinatorConfig] = {}  # with what nodes were told since
        self._crowds: dict[int, CrowdLimits] = {}  # likewise
        # Options of groups as read last, and of which settings; "" for all that have none.
        self._read: dict[tuple[str, int], tuple[dict[str, str], GroupOptions]] = {}

    def log_config(self, own: Mapping[str, str]) -> LogConfig:
        """The options of a topic's logs."""
        config = replace(self._config.log)
        common = self.nodes.get(EVERY_NODE, {})
        apply(config, {SYNONYMS[name]: text for name, text in common.items() if name in SYNONYMS})
        apply(config, own)
        return config

    def tell_node(self, name: str, options: dict[str, str]) -> None:
        """A node's options, or those of EVERY_NODE, which have been checked, in place of others."""
        self.nodes[name] = options
        self._coordinators.clear()
        self._crowds.clear()
        self._read.clear()

    def _told(self, part: str, node_id: int) -> dict[str, Any]:
        """What a node was told while it was up, as fields of a part of `BrokerConfig`."""
        known = {**self.nodes.get(EVERY_NODE, {}), **self.nodes.get(str(node_id), {})}
        return node_options.acting(part, known, self._config)

    def producer_id_expiration_ms(self, node_id: int) -> int:
        """How long a node remembers a producer that writes nothing."""
        config = self._config.producer_id_expiration_ms
        return int(self._told("", node_id).get("producer_id_expiration_ms", config))

    def crowd(self, node_id: int) -> CrowdLimits:
        """How many may connect to a node."""
        limits = self._crowds.get(node_id)
        if limits is None:
            limits = replace(self._config.crowd, **self._told("crowd", node_id))
            self._crowds[node_id] = limits
        return limits

    def coordinator(self, node_id: int) -> CoordinatorConfig:
        """What a node has of groups for which nothing is set."""
        config = self._coordinators.get(node_id)
        if config is None:
            config = replace(self._config.coordinator, **self._told("coordinator", node_id))
            self._coordinators[node_id] = config
        return config

    def of(self, group_id: str, node_id: int) -> GroupOptions:
        """What is set for a group, over what the node says that keeps it."""
        own = self.groups.get(group_id, {})
        key = group_id if own else "", node_id
        known = self._read.get(key)
        if known is None or known[0] != own:
            options = group_settings.read(own, self.coordinator(node_id))
            known = self._read[key] = dict(own), options
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
        if synonym not in _DEFAULTED_AS:
            layers.append(Synonym(synonym, default, Source.DEFAULT))
        elif layers:
            layers.append(Synonym(*_DEFAULTED_AS[synonym], Source.DEFAULT))
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
        number = str(node_id)
        described = [
            found
            for option in node_options.in_file(self._config)
            if (found := self._of_file(option, node_id)).source is not Source.DEFAULT
            or not option.internal
        ]
        rack = self._racks.get(node_id)
        for name, text, kind in (
            (node_options.RACK, rack, Kind.STRING),
            (node_options.NODE_ID, number, Kind.INT),
        ):
            layers = [] if text is None else [Synonym(name, text, Source.FILE)]
            described.append(_described(name, kind, layers, read_only=True))
        for synonym, name in SYNONYMS.items():
            layers = self._layers(name, synonym, node_id)
            described.append(_normal(_described(synonym, OPTIONS[name].kind, layers)))
        known = {one.name for one in described}
        others = {*self.nodes.get(number, {}), *self.nodes.get(EVERY_NODE, {})} - known
        described += [_secret(name, self._dynamic(name, node_id)) for name in sorted(others)]
        return described

    def _of_file(self, option: FileOption, node_id: int) -> Described:
        layers = self._file_layers(option, option.name)
        if option.changing:
            layers = self._dynamic(option.name, node_id) + layers
        if option.kind is Kind.PASSWORD:
            return _secret(option.name, layers, option.kind)
        return _normal(_described(option.name, option.kind, layers, read_only=not option.changing))

    @staticmethod
    def _file_layers(option: FileOption, name: str) -> list[Synonym]:
        layers = [] if option.default is None else [Synonym(name, option.default, Source.DEFAULT)]
        if option.value != option.default:
            layers.insert(0, Synonym(name, option.value, Source.FILE))
        return layers

    def of_group(self, group_id: str, node_id: int) -> list[Described]:
        """The options of a group, whether it exists or not, as this node has them."""
        described = []
        own = self.groups.get(group_id, {})
        for name, option in group_settings.known_to(self._config.coordinator).items():
            layers = []
            if name in own:
                text = group_settings.normal(name, own[name])
                layers.append(Synonym(name, text, Source.GROUP))
            if option.synonym is not None:
                layers += self._dynamic(option.synonym, node_id)
                file = shown(group_settings.file_value(name, self._config.coordinator))
                if file != option.default:
                    layers.append(Synonym(option.synonym, file, Source.FILE))
            if option.hidden and not layers:
                continue
            layers.append(Synonym(option.synonym or name, option.default, Source.DEFAULT))
            described.append(_described(name, option.kind, layers))
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
                key: shown(read_value(key, subscriptions.OPTIONS[key], text))
                for key, text in options.items()
            }
        else:
            self.client_metrics.pop(name, None)

    def check_group(self, wanted: Mapping[str, str]) -> None:
        """RefusedError if these cannot be a group's options."""
        group_settings.check(wanted, self._config.coordinator)

    def of_every_node(self) -> list[Described]:
        """What is set for all nodes."""
        described = []
        for name, text in self.nodes.get(EVERY_NODE, {}).items():
            layers = [Synonym(name, text, Source.EVERY_NODE)]
            option = node_options.OPTIONS.get(name)
            described.append(
                _secret(name, layers) if option is None else _described(name, option.kind, layers)
            )
        return described

    # Changing ------------------------------------------------------------------------------------

    def check_node(self, name: str, wanted: Mapping[str, str]) -> None:
        """RefusedError if these cannot be the options of a node, or of EVERY_NODE."""
        known = {**self.nodes.get(EVERY_NODE, {}), **wanted} if name else wanted
        node_options.check(wanted, self._config, known, every=name == EVERY_NODE)
        _check_count(wanted)


def _described(
    name: str, kind: int, layers: list[Synonym], *, read_only: bool = False
) -> Described:
    """Of an option whose value is that of the first of its layers."""
    value, source = (layers[0].value, layers[0].source) if layers else (None, Source.DEFAULT)
    return Described(name, value, source, kind, read_only=read_only, layers=layers)


def _normal(described: Described) -> Described:
    """The value as it is understood; the layers say what was given ("compact, delete")."""
    if described.source not in {Source.NODE, Source.EVERY_NODE} or described.value is None:
        return described
    return described._replace(value=node_options.normal(described.name, described.value))


def _secret(name: str, layers: list[Synonym], kind: int = 0) -> Described:
    """Of a password, or an option that is not known: it could be one. Nobody gets to see it."""
    hidden = [layer._replace(value=None) for layer in layers]
    return _described(name, kind, hidden, read_only=True)._replace(sensitive=True)


def replaced(
    operations: Iterable[tuple[str, int, str | None]],
    _known: Mapping[str, str],
    options: Mapping[str, Option],
) -> dict[str, str]:
    """Settings of which only these are left; as in `changed`."""
    return changed(operations, {}, options)


def changed(
    operations: Iterable[tuple[str, int, str | None]],
    known: Mapping[str, str],
    options: Mapping[str, Option],
) -> dict[str, str]:
    """Settings after incremental operations (KIP-339): name, operation, text. RefusedError.

    options: those that are known.
    """
    wanted = list(operations)
    if len({name for name, _, _ in wanted}) < len(wanted):
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    for name, number, text in wanted:
        if text is None and number != Operation.DELETE:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name[:1_000]}"
            )
    result = dict(known)
    for name, number, text in wanted:
        try:
            operation = Operation(number)
        except ValueError:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"Unknown operation {number} for {name[:1_000]}"
            ) from None
        if operation is Operation.DELETE or text is None:
            result.pop(name, None)
            continue
        if operation is Operation.SET:
            result[name] = text
        else:
            result[name] = _with_parts(name, operation, text, result.get(name), options.get(name))
    return result


def _with_parts(
    name: str, operation: Operation, text: str, known: str | None, option: Option | None
) -> str:
    """A list with parts added or taken out."""
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


def update(config: LogConfig, new: LogConfig) -> None:
    """Make a topic's options, which its logs hold, be those."""
    for field in fields(LogConfig):
        setattr(config, field.name, getattr(new, field.name))
