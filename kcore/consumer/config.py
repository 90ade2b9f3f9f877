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
| max_poll_records | so many | so many | so many, and no more once they make 1 MiB (TAKE_BYTES) |

Source: ConsumerConfig.java and CommonClientConfigs.java of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kcore.assignors import CLASSES as ASSIGNORS
from kcore.assignors import by_name
from kcore.consumer.options import TABLE
from kcore.errors import IllegalStateError
from kcore.fetch.config import FetchConfig, IsolationLevel, ResetStrategy
from kcore.group.config import CLASSIC, CONSUMER, GroupConfig
from kcore.hints import Any, Final
from kcore.limits import (
    MAX_BATCH_BYTES,
    MAX_BUFFERED_BYTES,
    MAX_FRAME_BYTES,
    MAX_INT32,
)
from kcore.settings.client import ClientConfig, contradictions, fill_in, read_options
from kcore.settings.deserializers import normal_form

FETCH_MAX_BYTES: Final = 52_428_800
MAX_PARTITION_FETCH_BYTES: Final = 1_048_576

# Refused with group_protocol="consumer", as Java does: there it is the coordinator's business.
_CLASSIC_ONLY: Final = {
    "partition_assignment_strategy": "group_remote_assignor names an assignor of the brokers",
    "session_timeout_ms": "the brokers' group.consumer.session.timeout.ms decides",
    "heartbeat_interval_ms": "the brokers' group.consumer.heartbeat.interval.ms decides",
}


class ConsumerConfig(ClientConfig):
    """The options, checked. Make one with `from_options`; what all clients have: ClientConfig.

    group_id: None (the default): no group, and nothing is committed, whatever enable_auto_commit is
        given.
    max_buffered_bytes: the most undecoded record bytes kept at once, whatever the partition count.
    max_batch_bytes: a batch that decompresses to more is a CorruptRecordError.
    include_control_records: ControlRecordsPassed events tell of transaction markers and the like.
    auto_offset_reset: where a partition begins of which nothing is committed, as in Java:
        earliest, latest, none, or as by_duration:PT1H at the first record of the last hour (if
        there is none, at the end).
    out_of_range_reset: where to go on when the log does not hold the position (any more), or was
        truncated below it: a jump over records, or back. None: as auto_offset_reset says.
    default_api_timeout_ms: bounds blocking calls that are given no timeout of their own.
    consumer_timeout_ms: how long iteration waits for a record; infinity: for ever.
    interceptor_classes: what clients have look at records and commits (KIP-42): classes or objects.
    await_acknowledgement: a rebalance waits for `acknowledge_rebalance()` (set by the clients).
    """

    client_rack: str = ""
    group_id: str | None = None
    group_instance_id: str | None = None
    group_protocol: str = CLASSIC
    group_remote_assignor: str | None = None
    key_deserializer: Any = None
    value_deserializer: Any = None
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = FETCH_MAX_BYTES
    max_partition_fetch_bytes: int = MAX_PARTITION_FETCH_BYTES
    max_buffered_bytes: int = MAX_BUFFERED_BYTES
    max_batch_bytes: int = MAX_BATCH_BYTES
    check_crcs: bool = True
    include_control_records: bool = False
    isolation_level: str = "read_uncommitted"
    enable_incremental_fetch_sessions: bool = True
    auto_offset_reset: str = "latest"
    out_of_range_reset: str | None = None
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    default_offset_commit_callback: Callable[..., object] | None = None
    partition_assignment_strategy: tuple[str, ...] = ("range", "roundrobin")
    max_poll_records: int = 500
    max_poll_interval_ms: int = 300_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    consumer_timeout_ms: float = float("inf")
    default_api_timeout_ms: int = 60_000
    exclude_internal_topics: bool = True
    interceptor_classes: tuple[Any, ...] = ()
    await_acknowledgement: bool = False

    @classmethod
    def from_options(
        cls, options: Mapping[str, object], *, await_acknowledgement: bool = False
    ) -> ConsumerConfig:
        """Read a mapping of kafka-python's or Java's names.

        KafkaConfigurationError: an unknown name (it carries the nearest known one), a value of the
        wrong type or out of range, options that contradict each other, or one that this version
        does not have yet.
        """
        return read_options(
            cls,
            TABLE,
            options,
            _fill_in,
            _contradictions,
            await_acknowledgement=await_acknowledgement,
        )

    @property
    def shared_by_brokers(self) -> bool:
        """Whether the group's coordinator shares partitions out, not a member (KIP-848)."""
        return self.group_protocol == CONSUMER

    def labels(self, member_id: str) -> dict[str, str]:
        """What KIP-714 wants to know of a consumer beside its metrics."""
        found = {
            "client_rack": self.client_rack,
            "group_id": self.group_id or "",
            "group_instance_id": self.group_instance_id or "",
            "group_member_id": member_id,
        }
        return {name: value for name, value in found.items() if value}

    # What the rooms take -------------------------------------------------------------------------

    @property
    def _kept_ms(self) -> int:
        return self.fetch_max_wait_ms

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
            group_protocol=self.group_protocol,
            remote_assignor=self.group_remote_assignor,
            session_timeout_ms=self.session_timeout_ms,
            heartbeat_interval_ms=self.heartbeat_interval_ms,
            max_poll_interval_ms=self.max_poll_interval_ms,
            request_timeout_ms=self.request_timeout_ms,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            enable_auto_commit=self.enable_auto_commit,
            auto_commit_interval_ms=self.auto_commit_interval_ms,
            assignors=tuple(by_name(name)() for name in self.partition_assignment_strategy),
            client_rack=self.client_rack or None,
            await_acknowledgement=self.await_acknowledgement,
        )

    @property
    def reset_strategy(self) -> ResetStrategy:
        """`auto_offset_reset` as the positions take it."""
        return ResetStrategy.of(self.auto_offset_reset)


# Reading -----------------------------------------------------------------------------------------


def _fill_in(values: dict[str, Any]) -> None:
    """Defaults that depend on other options."""
    fill_in(values)
    if values.get("group_id") is None:  # said or not, as kafka-python and aiokafka have it
        values["enable_auto_commit"] = False
    # A fetch answer is its records, at most one batch above what was asked for, and a frame around.
    fetch_max = values.get("fetch_max_bytes", FETCH_MAX_BYTES)
    partition_max = values.get("max_partition_fetch_bytes", MAX_PARTITION_FETCH_BYTES)
    frame_max = values.get("receive_message_max_bytes", MAX_FRAME_BYTES)
    values["receive_message_max_bytes"] = max(frame_max, min(fetch_max + partition_max, MAX_INT32))


def _contradictions(
    config: ConsumerConfig, given: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """(option, what is wrong with it beside the others)."""
    c = config
    grouped = c.group_id is not None
    rules: tuple[tuple[bool, str, str], ...] = (
        (
            c.group_remote_assignor is not None and c.group_protocol == CLASSIC,
            "group_remote_assignor",
            "needs group_protocol='consumer'; 'classic' has partition_assignment_strategy",
        ),
        (
            c.heartbeat_interval_ms >= c.session_timeout_ms,
            "heartbeat_interval_ms",
            f"must be below session_timeout_ms={c.session_timeout_ms}; a third of it is usual",
        ),
        (c.group_instance_id is not None and not grouped, "group_instance_id", "needs a group_id"),
        (
            c.fetch_max_wait_ms >= c.request_timeout_ms,
            "fetch_max_wait_ms",
            f"must be below request_timeout_ms={c.request_timeout_ms}, or quiet fetches time out",
        ),
        (
            c.fetch_min_bytes > c.fetch_max_bytes,
            "fetch_min_bytes",
            f"is above fetch_max_bytes={c.fetch_max_bytes}",
        ),
    )
    yield from contradictions(config, given)
    if c.shared_by_brokers:
        for option, instead in _CLASSIC_ONLY.items():
            if option in given:
                why = f"{option} means nothing with group_protocol='consumer'; leave it out: "
                yield option, why + instead
    for name in c.partition_assignment_strategy:
        if name not in ASSIGNORS:
            option, known = "partition_assignment_strategy", ", ".join(ASSIGNORS)
            yield option, f"{option}: there is no {name!r}, only {known}"
    for broken, option, why in rules:
        if broken:
            yield option, f"{option}={getattr(c, option)!r} {why}"
