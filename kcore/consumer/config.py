"""Every option of a consumer, read once, checked against each other, and handed to the rooms.

Names are kafka-python's; Java's dotted names are understood as well, because turning dots into
underscores gives the same words. Defaults are those that kafka-python 3 and Java 4 share. Where
the two differ, what is taken and why:

| option | kafka-python | Java | here |
|---|---|---|---|
| client_id | its name and version | "" (generated) | our name and version |
| enable_auto_commit, no group_id | True, without effect | False | False; True asked for: an error |
| reconnect_backoff_max_ms | 30000 | 1000 | 1000: a broker that is back is found at once |
| max_in_flight_requests_per_connection | 5 | 100 | 100 |
| partition_assignment_strategy | range, roundrobin | range, cooperative-sticky | kafka-python's |
| send_buffer_bytes, receive_buffer_bytes | the system's | 128 KiB, 64 KiB | the system's |
| metadata_recovery_strategy | (bootstrap when nobody is known) | rebootstrap | rebootstrap |
| bootstrap_servers | localhost | none | localhost:9092 |

Source: ConsumerConfig.java and CommonClientConfigs.java of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from kcore import __version__
from kcore.assignors import BY_NAME as ASSIGNORS
from kcore.cluster.links import LinksConfig
from kcore.cluster.refresh import RefreshConfig
from kcore.connection.link import LinkOptions
from kcore.connection.sasl import Credentials
from kcore.consumer.deserializers import normal_form
from kcore.consumer.options import KNOWN, LATER, PARSERS, WITHOUT_EFFECT
from kcore.errors import IllegalStateError, KafkaConfigurationError
from kcore.fetch.config import FetchConfig, IsolationLevel, ResetStrategy
from kcore.group.config import GroupConfig
from kcore.limits import (
    MAX_BATCH_BYTES,
    MAX_BUFFERED_BYTES,
    MAX_FRAME_BYTES,
    MAX_INT32,
    MAX_TIMEOUT_MS,
)
from kcore.settings.addresses import format_server
from kcore.settings.names import by_canonical_name
from kcore.settings.security import HIDDEN, SECRETS, security_contradictions, uses_sasl
from kcore.wire.releases import highest_versions

FETCH_MAX_BYTES: Final = 52_428_800
MAX_PARTITION_FETCH_BYTES: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """The options, checked. Make one with `from_options`; times are ms, sizes bytes.

    group_id: None (the default): no group, no commits.
    max_buffered_bytes: the most undecoded record bytes kept at once, whatever the partition count.
    max_batch_bytes: a batch that decompresses to more is a CorruptRecordError.
    include_control_records: ControlRecordsPassed events tell of transaction markers and the like.
    default_api_timeout_ms: bounds blocking calls that are given no timeout of their own.
    consumer_timeout_ms: how long iteration waits for a record; infinity: for ever.
    bootstrap_timeout_ms: how long the constructor looks for a broker when api_version is None.
    api_version: the broker release the user states, and no more is spoken than what it had; None:
    found out by asking.
    ssl_*: what kcore.transports.tls.TlsOptions says of them, without the prefix.
    sasl_*: who we are, with SASL_PLAINTEXT and SASL_SSL. Passwords are in no repr and no mapping.
    transport: a driver's name or a driver (only the clients use it).
    await_acknowledgement: a rebalance waits for `acknowledge_rebalance()` (set by the clients).
    extras: options that are known and have no effect in this version, as given.
    """

    bootstrap_servers: tuple[tuple[str, int], ...] = (("localhost", 9092),)
    client_id: str = f"kcore-{__version__}"
    client_rack: str = ""
    group_id: str | None = None
    group_instance_id: str | None = None
    group_protocol: str = "classic"
    key_deserializer: Any = None
    value_deserializer: Any = None
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = FETCH_MAX_BYTES
    max_partition_fetch_bytes: int = MAX_PARTITION_FETCH_BYTES
    max_buffered_bytes: int = MAX_BUFFERED_BYTES
    max_batch_bytes: int = MAX_BATCH_BYTES
    receive_message_max_bytes: int = MAX_FRAME_BYTES
    check_crcs: bool = True
    include_control_records: bool = False
    isolation_level: str = "read_uncommitted"
    enable_incremental_fetch_sessions: bool = True
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    default_offset_commit_callback: Callable[..., object] | None = None
    partition_assignment_strategy: tuple[str, ...] = ("range", "roundrobin")
    max_poll_records: int = 500
    max_poll_interval_ms: int = 300_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    consumer_timeout_ms: float = float("inf")
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    bootstrap_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    socket_connection_setup_timeout_ms: int = 10_000
    socket_connection_setup_timeout_max_ms: int = 30_000
    connections_max_idle_ms: int = 540_000
    max_in_flight_requests_per_connection: int = 100
    metadata_max_age_ms: int = 300_000
    metadata_recovery_strategy: str = "rebootstrap"
    metadata_recovery_rebootstrap_trigger_ms: int = 300_000
    allow_auto_create_topics: bool = True
    exclude_internal_topics: bool = True
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    socket_options: tuple[tuple[int, int, int | bytes], ...] = ()
    security_protocol: str = "PLAINTEXT"
    ssl_context: Any = None
    ssl_check_hostname: bool = True
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_password: Any = field(default=None, repr=False)
    ssl_ciphers: str | None = None
    ssl_crlfile: str | None = None
    sasl_mechanism: str | None = None
    sasl_plain_username: str | None = None
    sasl_plain_password: str | None = field(default=None, repr=False)
    api_version: tuple[int, ...] | None = None
    transport: Any = "blocking"
    await_acknowledgement: bool = False
    extras: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_options(
        cls, options: Mapping[str, object], *, await_acknowledgement: bool = False
    ) -> ConsumerConfig:
        """Read a mapping of kafka-python's or Java's names.

        KafkaConfigurationError: an unknown name (it carries the nearest known one), a value of the
        wrong type or out of range, options that contradict each other, or one that this version
        does not have yet.
        """
        given = by_canonical_name(options, KNOWN, LATER)
        values: dict[str, Any] = {
            name: PARSERS[name](name, value) for name, value in given.items() if name in PARSERS
        }
        _fill_in(values)
        extras = {name: given.get(name, default) for name, default in WITHOUT_EFFECT.items()}
        extras |= {name: default for name, (default, _) in LATER.items()}
        config = cls(**values, extras=extras, await_acknowledgement=await_acknowledgement)
        _check(config, given)
        return config

    def as_mapping(self) -> dict[str, object]:
        """Every option by kafka-python's name, with the value in use; passwords as "[hidden]"."""
        mapping: dict[str, object] = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.name not in {"extras", "await_acknowledgement"}
        }
        mapping["bootstrap_servers"] = [
            format_server(host, port) for host, port in self.bootstrap_servers
        ]
        for name in SECRETS:
            if mapping[name] is not None:
                mapping[name] = HIDDEN
        return {**self.extras, **mapping}

    # What the rooms take -------------------------------------------------------------------------

    def links(self) -> LinksConfig:
        """Options of connections."""
        idle_ms = self.connections_max_idle_ms
        if idle_ms < 0:  # Java: never
            idle_ms = MAX_TIMEOUT_MS
        return LinksConfig(
            link=LinkOptions(
                client_id=self.client_id,
                request_timeout_ms=self.request_timeout_ms,
                max_frame_bytes=self.receive_message_max_bytes,
                max_in_flight=self.max_in_flight_requests_per_connection,
                software_version=__version__,
                highest={} if self.api_version is None else highest_versions(self.api_version),
            ),
            credentials=self.credentials,
            reconnect_backoff_ms=self.reconnect_backoff_ms,
            reconnect_backoff_max_ms=self.reconnect_backoff_max_ms,
            setup_timeout_ms=self.socket_connection_setup_timeout_ms,
            setup_timeout_max_ms=self.socket_connection_setup_timeout_max_ms,
            connections_max_idle_ms=idle_ms,
            rebootstrap=self.metadata_recovery_strategy == "rebootstrap",
        )

    def refresh(self) -> RefreshConfig:
        """Options of metadata."""
        return RefreshConfig(
            metadata_max_age_ms=self.metadata_max_age_ms,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            allow_auto_create_topics=self.allow_auto_create_topics,
        )

    def fetch(self) -> FetchConfig:
        """Options of fetching."""
        return FetchConfig(
            fetch_min_bytes=self.fetch_min_bytes,
            fetch_max_bytes=self.fetch_max_bytes,
            fetch_max_wait_ms=self.fetch_max_wait_ms,
            max_partition_fetch_bytes=self.max_partition_fetch_bytes,
            isolation_level=IsolationLevel[self.isolation_level.upper()],
            check_crcs=self.check_crcs,
            include_control_records=self.include_control_records,
            client_rack=self.client_rack,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            request_timeout_ms=self.request_timeout_ms,
            metadata_max_age_ms=self.metadata_max_age_ms,
            max_buffered_bytes=self.max_buffered_bytes,
            max_batch_bytes=self.max_batch_bytes,
            enable_incremental_fetch_sessions=self.enable_incremental_fetch_sessions,
            key_deserializer=normal_form(self.key_deserializer),
            value_deserializer=normal_form(self.value_deserializer),
        )

    def group(self) -> GroupConfig:
        """Options of membership; IllegalStateError without a group_id."""
        if self.group_id is None:
            raise IllegalStateError("without a group_id there is no group")
        return GroupConfig(
            group_id=self.group_id,
            group_instance_id=self.group_instance_id,
            session_timeout_ms=self.session_timeout_ms,
            heartbeat_interval_ms=self.heartbeat_interval_ms,
            max_poll_interval_ms=self.max_poll_interval_ms,
            request_timeout_ms=self.request_timeout_ms,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            enable_auto_commit=self.enable_auto_commit,
            auto_commit_interval_ms=self.auto_commit_interval_ms,
            assignors=tuple(ASSIGNORS[name]() for name in self.partition_assignment_strategy),
            client_rack=self.client_rack or None,
            await_acknowledgement=self.await_acknowledgement,
        )

    @property
    def credentials(self) -> Credentials | None:
        """What SASL proves; None without it."""
        if not uses_sasl(self.security_protocol):
            return None
        mechanism, user = self.sasl_mechanism or "", self.sasl_plain_username or ""
        return Credentials(mechanism, user, self.sasl_plain_password or "")

    @property
    def reset_strategy(self) -> ResetStrategy:
        """`auto_offset_reset` as the positions take it."""
        return ResetStrategy(self.auto_offset_reset)


# Reading -----------------------------------------------------------------------------------------


def _fill_in(values: dict[str, Any]) -> None:
    """Defaults that depend on other options."""
    if not values.get("client_id", "x"):  # Java's way of asking for a made-up one
        del values["client_id"]
    if values.get("group_id") is None:
        values.setdefault("enable_auto_commit", False)
    for base in ("reconnect_backoff", "retry_backoff"):
        if f"{base}_ms" in values and f"{base}_max_ms" not in values:
            # Java: setting only the first switches exponential growth off for reconnects.
            ceiling = 0 if base == "reconnect_backoff" else 1_000
            values[f"{base}_max_ms"] = max(ceiling, values[f"{base}_ms"])
    # A fetch answer is its records, at most one batch above what was asked for, and a frame around.
    fetch_max = values.get("fetch_max_bytes", FETCH_MAX_BYTES)
    partition_max = values.get("max_partition_fetch_bytes", MAX_PARTITION_FETCH_BYTES)
    frame_max = values.get("receive_message_max_bytes", MAX_FRAME_BYTES)
    values["receive_message_max_bytes"] = max(frame_max, min(fetch_max + partition_max, MAX_INT32))


def _check(config: ConsumerConfig, given: Mapping[str, object]) -> None:
    """Options against each other."""
    for option, wrong in _contradictions(config, given):
        raise KafkaConfigurationError(wrong, option=option)


def _contradictions(
    config: ConsumerConfig, given: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """(option, what is wrong with it beside the others)."""
    c = config
    grouped = c.group_id is not None
    missing = [name for name in c.partition_assignment_strategy if name not in ASSIGNORS]
    idle_ms = c.connections_max_idle_ms
    rules: tuple[tuple[bool, str, str], ...] = (
        (c.group_protocol == "consumer", "group_protocol", "is not available yet: use 'classic'"),
        (
            bool(missing),
            "partition_assignment_strategy",
            f"has no {missing}; known: {[*ASSIGNORS]}",
        ),
        (
            c.heartbeat_interval_ms >= c.session_timeout_ms,
            "heartbeat_interval_ms",
            f"must be below session_timeout_ms={c.session_timeout_ms}; a third of it is usual",
        ),
        (c.enable_auto_commit and not grouped, "enable_auto_commit", "needs a group_id"),
        (c.group_instance_id is not None and not grouped, "group_instance_id", "needs a group_id"),
        (
            c.fetch_max_wait_ms >= c.request_timeout_ms,
            "fetch_max_wait_ms",
            f"must be below request_timeout_ms={c.request_timeout_ms}, or quiet fetches time out",
        ),
        (
            0 <= idle_ms <= c.request_timeout_ms,
            "connections_max_idle_ms",
            f"must be above request_timeout_ms={c.request_timeout_ms}",
        ),
        (
            c.fetch_min_bytes > c.fetch_max_bytes,
            "fetch_min_bytes",
            f"is above fetch_max_bytes={c.fetch_max_bytes}",
        ),
    )
    yield from security_contradictions(config)
    for broken, option, why in rules:
        if broken:
            yield option, f"{option}={getattr(c, option)!r} {why}"
    for base in ("reconnect_backoff", "retry_backoff", "socket_connection_setup_timeout"):
        low, high = getattr(c, f"{base}_ms"), getattr(c, f"{base}_max_ms")
        if low > high and f"{base}_max_ms" in given:
            yield f"{base}_max_ms", f"{base}_max_ms={high} is below {base}_ms={low}"
