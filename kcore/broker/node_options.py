"""What a node can be told, under Kafka's names: its file, `BrokerConfig` here, and what of that can
be changed while it is up (Java: KafkaConfig, DynamicBrokerConfig of Kafka 4.3 and 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from kcore.broker import group_settings
from kcore.broker.addresses import address_of
from kcore.broker.authorization.config import TOLD as AUTHORIZER
from kcore.broker.batches import RefusedError
from kcore.broker.config import BrokerConfig
from kcore.broker.options import OPTIONS as TOPICS
from kcore.broker.options import (
    SYNONYMS,
    Kind,
    Option,
    checked_value,
    invalid,
    read_value,
    shown,
)
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.consumer.options import BOUNDED as CONSUMER_BOUNDED
from kcore.coordinator.share.options import BOUNDED as SHARE_BOUNDED
from kcore.coordinator.streams.options import BOUNDED as STREAMS_BOUNDED
from kcore.coordinator.streams.options import DEFAULTED
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

NODE_ID: Final = "node.id"
RACK: Final = "broker.rack"
PRODUCER_IDS: Final = "producer.id.expiration.ms"
_SELECTOR: Final = "replica.selector.class"
_CONNECTIONS: Final = "max.connections"
_PER_IP: Final = "max.connections.per.ip"
_OVERRIDES: Final = "max.connections.per.ip.overrides"
_MECHANISMS: Final = "sasl.enabled.mechanisms"
_GROUPS: Final = "group."
_MAKE: Final = "errors.deadletterqueue.auto.create.topics.enable"
_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"


class _Told(NamedTuple):
    """Where an option stands: the part of `BrokerConfig` that has it ("" for itself; of one that is
    None it is Kafka's default), its field.
    """

    part: str
    field: str
    kind: Kind = Kind.INT


def _dotted(*fields: str) -> Iterator[tuple[str, str]]:
    return ((field.replace("_", "."), field) for field in fields)


def _bounded(kind: str, names: tuple[str, ...]) -> Iterator[str]:
    return (f"group_{kind}_{bound}_{name}" for name in names for bound in ("min", "max"))


# What nodes know since Kafka 4.4.
_TOLD_44: Final[Mapping[str, _Told]] = {
    _MAKE: _Told(
        "coordinator", "errors_deadletterqueue_auto_create_topics_enable", Kind.BOOLEAN
    ),
    _PREFIX: _Told("coordinator", "errors_deadletterqueue_topic_name_prefix", Kind.STRING),
    "group.streams.acceptable.recovery.lag": _Told(
        "coordinator", "group_streams_acceptable_recovery_lag", Kind.LONG
    ),
    "group.streams.topology.description.plugin.class": _Told(
        "coordinator", "group_streams_topology_description_plugin_class", Kind.CLASS
    ),
    **{
        name: _Told("coordinator", field, Kind.LIST)
        for name, field in _dotted(
            "group_streams_assignors", "group_streams_rack_aware_assignment_tags"
        )
    },
    **{
        name: _Told("coordinator", field, Kind.BOOLEAN)
        for name, field in _dotted(
            *(f"group_{kind}_assignor_offload_enable" for kind in ("consumer", "share", "streams"))
        )
    },
    **{
        name: _Told("coordinator", field)
        for name, field in _dotted(
            "group_streams_max_warmup_replicas",
            "group_streams_min_task_offset_interval_ms",
            "group_streams_num_warmup_replicas",
            "group_streams_task_offset_interval_ms",
        )
    },
}

_TOLD: Final[Mapping[str, _Told]] = {
    **_TOLD_44,
    "auto.create.topics.enable": _Told("", "auto_create_topics", Kind.BOOLEAN),
    "auto.leader.rebalance.enable": _Told("", "auto_leader_rebalance_enable", Kind.BOOLEAN),
    "replica.lag.time.max.ms": _Told("", "replica_lag_time_max_ms", Kind.LONG),
    _SELECTOR: _Told("", "replica_selector_class", Kind.STRING),
    "socket.request.max.bytes": _Told("", "max_request_bytes"),
    "group.share.max.share.sessions": _Told("", "share_sessions_max"),
    **{
        name: _Told("", field)
        for name, field in _dotted(
            "default_replication_factor",
            "fetch_max_bytes",
            "num_partitions",
            "producer_id_expiration_ms",
            "quota_window_num",
            "quota_window_size_seconds",
            "controller_quota_window_num",
            "controller_quota_window_size_seconds",
        )
    },
    **{
        name: _Told("", field, Kind.SHORT)
        for name, field in _dotted(
            "offsets_topic_replication_factor",
            "transaction_state_log_replication_factor",
            "share_coordinator_state_topic_replication_factor",
        )
    },
    "max.incremental.fetch.session.cache.slots": _Told("sessions", "slots"),
    "connections.max.idle.ms": _Told("crowd", "connections_max_idle_ms", Kind.LONG),
    _CONNECTIONS: _Told("crowd", "max_connections"),
    _PER_IP: _Told("crowd", "max_connections_per_ip"),
    _OVERRIDES: _Told("crowd", "max_connections_per_ip_overrides", Kind.STRING),
    "leader.imbalance.check.interval.seconds": _Told(
        "", "leader_imbalance_check_interval_seconds", Kind.LONG
    ),
    "authorizer.class.name": _Told("authorizer", "class_name", Kind.STRING),
    _MECHANISMS: _Told("sasl", "mechanisms", Kind.LIST),
    "sasl.server.max.receive.size": _Told("sasl", "sasl_server_max_receive_size"),
    "connections.max.reauth.ms": _Told("sasl", "connections_max_reauth_ms", Kind.LONG),
    "connection.failed.authentication.delay.ms": _Told(
        "sasl", "connection_failed_authentication_delay_ms"
    ),
    "delegation.token.secret.key": _Told("delegation_tokens", "secret_key", Kind.PASSWORD),
    **{
        f"delegation.token.{name}": _Told("delegation_tokens", field, Kind.LONG)
        for name, field in _dotted("max_lifetime_ms", "expiry_time_ms", "expiry_check_interval_ms")
    },
    "transaction.remove.expired.transaction.cleanup.interval.ms": _Told(
        "transactions", "transaction_remove_expired_cleanup_interval_ms"
    ),
    **{
        name: _Told("transactions", field)
        for name, field in _dotted(
            "transaction_max_timeout_ms",
            "transaction_state_log_num_partitions",
            "transactional_id_expiration_ms",
        )
    },
    "group.consumer.assignors": _Told("coordinator", "group_consumer_assignors", Kind.LIST),
    "group.consumer.migration.policy": _Told(
        "coordinator", "group_consumer_migration_policy", Kind.STRING
    ),
    "offsets.retention.check.interval.ms": _Told(
        "coordinator", "offsets_retention_check_interval_ms", Kind.LONG
    ),
    **{
        name: _Told("coordinator", field)
        for name, field in _dotted(
            "group_initial_rebalance_delay_ms",
            "group_max_session_timeout_ms",
            "group_max_size",
            "group_min_session_timeout_ms",
            "offset_metadata_max_bytes",
            "offsets_retention_minutes",
            "offsets_topic_num_partitions",
            "group_consumer_max_size",
            "group_consumer_regex_refresh_interval_ms",
            "group_share_max_size",
            "group_streams_max_size",
            "group_streams_max_standby_replicas",
            *(f"group_consumer_{name}" for name in CONSUMER_BOUNDED),
            *(f"group_share_{name}" for name in SHARE_BOUNDED),
            *(f"group_streams_{name}" for name in DEFAULTED),
            *_bounded("consumer", CONSUMER_BOUNDED),
            *_bounded("share", SHARE_BOUNDED),
            *_bounded("streams", STREAMS_BOUNDED),
        )
    },
}

# What can be changed while a node is up: the lowest value.
_CHANGING: Final[Mapping[str, int | None]] = {
    **{f"group.{kind}.assignor.offload.enable": None for kind in ("consumer", "share", "streams")},
    **{f"group.{kind}.assignment.interval.ms": 0 for kind in ("consumer", "share", "streams")},
    PRODUCER_IDS: 1,
    _CONNECTIONS: 1,
    _PER_IP: 0,
    _MAKE: None,
    _PREFIX: None,
    _OVERRIDES: None,
    _MECHANISMS: None,  # for the listeners to come, of which there are none here
}
_OF_ONE_NODE: Final = {_MECHANISMS}
# Kafka's defaults, where those of an embedded broker are others, or may be missing.
_DEFAULTS: Final = {
    _CONNECTIONS: str(MAX_INT32),
    _PER_IP: str(MAX_INT32),
    _OVERRIDES: "",
    "authorizer.class.name": "",
    _MECHANISMS: "GSSAPI",
    "sasl.server.max.receive.size": "524288",
    "connections.max.reauth.ms": "0",
    "connection.failed.authentication.delay.ms": "100",
}
# What Kafka does not show of a node that has been told nothing of it.
_INTERNAL: Final = {
    "group.consumer.regex.refresh.interval.ms",
    *_TOLD_44.keys()
    - {
        _MAKE,
        _PREFIX,
        "group.streams.assignors",
        "group.streams.rack.aware.assignment.tags",
        "group.streams.topology.description.plugin.class",
    },
}

# Of parts that `with_settings` leaves alone where there are none: what tells of them.
_TOLD_BY: Final = {
    "authorizer": "is told by authorizer",
    "sasl": "is of a broker that asks who its clients are (security_protocol, sasl_users)",
    "delegation_tokens": "is told by delegation_token_secret_key",
}

_PLAIN: Final = BrokerConfig()
_KAFKAS: Final = {"coordinator": CoordinatorConfig()}  # not those of an embedded broker


def _said(name: str, config: BrokerConfig) -> str | None:
    """What the file says of an option."""
    told = _TOLD[name]
    part = getattr(config, told.part) if told.part else config
    if part is None:
        return _DEFAULTS[name]
    return _text(getattr(part, told.field))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return ",".join(f"{address}:{most}" for address, most in value.items())
    return shown(value)


def _default(name: str) -> str | None:
    if name in _DEFAULTS:
        return _DEFAULTS[name]
    told = _TOLD[name]
    if told.part in _KAFKAS:
        return _text(getattr(_KAFKAS[told.part], told.field))
    return _said(name, _PLAIN)


# All that a node knows by name: what is about topics, and what is about itself.
OPTIONS: Final[Mapping[str, Option]] = {
    **{synonym: TOPICS[name] for synonym, name in SYNONYMS.items()},
    **{
        name: Option(told.kind, _default(name) or "", lowest=_CHANGING.get(name))
        for name, told in _TOLD.items()
    },
    NODE_ID: Option(Kind.INT, ""),
    RACK: Option(Kind.STRING, ""),
}


class FileOption(NamedTuple):
    """What a node's file says of one option; changing: while it is up, too. internal: not shown, as
    long as nothing is said of it then, either.
    """

    name: str
    value: str | None
    default: str | None
    kind: Kind
    changing: bool
    internal: bool


def _told(config: BrokerConfig) -> Mapping[str, _Told]:
    """What nodes of this release can be told."""
    if config.coordinator.as_44:
        return _TOLD
    return {name: told for name, told in _TOLD.items() if name not in _TOLD_44}


def in_file(config: BrokerConfig) -> Iterator[FileOption]:
    """What nodes are told when they start."""
    for name, told in _told(config).items():
        value, default = _said(name, config), _default(name)
        internal = name in _INTERNAL and value == default
        yield FileOption(name, value, default, told.kind, name in _CHANGING, internal)


def with_settings(config: BrokerConfig, settings: Mapping[Any, Any]) -> BrokerConfig:
    """Of nodes whose file says this, too, under Kafka's names.

    KafkaConfigurationError: a node of this release has no such option, or it is told otherwise here
    (ids, racks, whom it lets in), or has no effect here, or cannot be this.
    """
    changes: dict[str, dict[str, Any]] = {}
    for name, text in settings.items():
        if not (isinstance(name, str) and isinstance(text, str)):
            said = f"{name!r}: {text!r} are not a name and a value, which are texts in settings"
            raise KafkaConfigurationError(said)
        part, field = _place(name, config)
        try:
            value = AUTHORIZER[name][1](text) if name in AUTHORIZER else _checked(name, text)
        except RefusedError as refused:
            raise KafkaConfigurationError(refused.why, option=name) from None
        changes.setdefault(part, {})[field] = value
    fields_of_all = changes.pop("", {})
    parts = {part: replace(getattr(config, part), **told) for part, told in changes.items()}
    return replace(config, **fields_of_all, **parts)


def _place(name: str, config: BrokerConfig) -> tuple[str, str]:
    """The part of `BrokerConfig` and the field that have an option."""
    known = _told(config)
    if name in SYNONYMS:
        part, field = "log", SYNONYMS[name].replace(".", "_")
    elif name in AUTHORIZER:  # which reads the file itself: a node does not know them
        part, field = "authorizer", AUTHORIZER[name][0]
    elif name in known:
        part, field, _ = known[name]
    elif name in {NODE_ID, RACK}:
        raise KafkaConfigurationError(f"{name} is no setting of all nodes", option=name)
    else:
        from difflib import get_close_matches  # noqa: PLC0415 - only for who mistypes

        near = get_close_matches(name, [*known, *SYNONYMS, *AUTHORIZER], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise KafkaConfigurationError(
            f"no setting of a broker is called {name!r}{hint}",
            option=name,
            suggestion=near[0] if near else None,
        )
    of = getattr(config, part) if part else config
    if of is None or field not in {one.name for one in fields(of)}:
        why = _TOLD_BY.get(part, "has no effect on an embedded broker")
        if name in AUTHORIZER:
            why = "is of a broker with an authorizer (authorizer=True, --authorizer)"
        raise KafkaConfigurationError(f"{name} {why}", option=name)
    return part, field


def acting(part: str, known: Mapping[str, str], config: BrokerConfig) -> dict[str, Any]:
    """The fields of a part of `BrokerConfig` that these options set; those that the file a node was
    started with does not allow (any more) do nothing.
    """
    fields = {}
    for name, text in known.items():
        if name in _CHANGING and _TOLD[name].part == part:
            try:
                check({name: text}, config, known)
            except RefusedError:
                continue
            fields[_TOLD[name].field] = _read(name, text)
    return fields


def check(
    wanted: Mapping[str, str],
    config: BrokerConfig,
    known: Mapping[str, str],
    *,
    every: bool = False,
) -> None:
    """RefusedError (INVALID_REQUEST, as Kafka has it of nodes) if these cannot be a node's; every:
    or those of all nodes. known: with what it is told else.
    """
    fixed = sorted({*_told(config), NODE_ID, RACK}.difference(_CHANGING).intersection(wanted))
    if fixed:
        raise _refused(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    single = sorted(_OF_ONE_NODE.intersection(wanted))
    if every and single:
        raise _refused(
            "Cannot update these configs at default cluster level, broker id must be specified:"
            f" [{', '.join(single)}]"
        )
    for name, text in wanted.items():
        if name not in OPTIONS:
            continue
        try:
            value = _checked(name, text)
        except RefusedError as refused:
            raise _refused(refused.why) from None
        if name in {_PER_IP, _OVERRIDES} and not any(
            _read(one, known[one]) if one in known else getattr(config.crowd, _TOLD[one].field)
            for one in (_PER_IP, _OVERRIDES)
        ):
            raise _refused(f"{_PER_IP} can be set to zero only if {_OVERRIDES} is set.")
        if name.endswith(".assignment.interval.ms"):
            out = group_settings.out_of_bounds(
                name.removeprefix(_GROUPS), value, config.coordinator
            )
            if out is not None:
                raise _refused(_GROUPS + out)


def normal(name: str, text: str) -> str:
    """As Kafka writes what a text means; what means nothing (any more), or is internal, stays as it
    is.
    """
    if name in _INTERNAL:
        return text
    try:
        return shown(read_value(name, OPTIONS[name], text))
    except RefusedError:
        return text


def _checked(name: str, text: str) -> Any:
    if name in SYNONYMS:
        return checked_value(name, OPTIONS[name], text)
    return _read(name, text)


def _read(name: str, text: str) -> Any:
    """RefusedError if it is nothing that the option can be."""
    if name != _OVERRIDES:
        return read_value(name, OPTIONS[name], text)
    found = {}
    for part in text.split(",") if text.strip(" ,") else ():
        host, colon, most = (one.strip() for one in part.rpartition(":"))
        address = address_of(host)
        if not colon or address is None:
            raise invalid(name, text, f"{part.strip()} is no address:number")
        found[address] = max(_count(name, most), 0)
    return found


def _count(name: str, text: str) -> int:
    return int(str(read_value(name, Option(Kind.INT, ""), text)))


def _refused(why: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_REQUEST, why)
