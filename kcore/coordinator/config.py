"""What a group coordinator can be told; names and defaults are Kafka's (BROKER_GROUPS.md
section 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcore.bounds import check_kinds
from kcore.coordinator.consumer import options as consumer
from kcore.coordinator.consumer.assignors import ASSIGNORS
from kcore.coordinator.share.options import BOUNDED, ShareOptions
from kcore.coordinator.streams import options as streams
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32, MAX_INT64

# How long a member that has never been in a generation may wait in a parked JoinGroup: its client
# may be gone, and nothing but the answer would tell (Java: classic-group new member join timeout).
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000

# A join phase in which nobody rejoined is tried again after the members' rebalance timeout, but not
# sooner than this: a member may have said 0, and the coordinator must not spin.
MIN_JOIN_RETRY_MS: Final = 1_000

# Ids handed out with MEMBER_ID_REQUIRED that have not been used yet, in one group. An empty group
# gives one to whoever asks and keeps it for the session timeout asked for, which may be half an
# hour; this bounds what that can hold.
MAX_PENDING_MEMBERS: Final = 100_000

# Whether groups may change their protocol while there are members.
MIGRATION_POLICIES: Final = ("bidirectional", "upgrade", "downgrade", "disabled")

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """Options of one coordinator; times in ms unless named otherwise.

    group_consumer_*: of consumer groups (KIP-848). The first of the assignors is for groups whose
    members name none; the bounds are for what is set for one group. group_share_*: of share groups
    (KIP-932). errors_deadletterqueue_*: whether brokers make the topics that share groups name for
    dead letters (KIP-1191), and what their names are to begin with. group_streams_*: of streams
    groups (KIP-1071); group_streams_topology_description_plugin_class: who keeps descriptions of
    topologies (KIP-1331): "InMemory"; None: nobody. *_assignor_offload_enable: known, and does
    nothing here. release: the Kafka whose rules hold, where those of releases differ.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = MAX_INT32
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_max_size: int = MAX_INT32
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_share_session_timeout_ms: int = 45_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_assignment_interval_ms: int = 1_000
    group_share_max_size: int = 200
    group_share_record_lock_duration_ms: int = 30_000
    group_share_delivery_count_limit: int = 5
    group_share_partition_max_record_locks: int = 2_000
    group_share_min_session_timeout_ms: int = 45_000
    group_share_max_session_timeout_ms: int = 60_000
    group_share_min_heartbeat_interval_ms: int = 5_000
    group_share_max_heartbeat_interval_ms: int = 15_000
    group_share_min_assignment_interval_ms: int = 0
    group_share_max_assignment_interval_ms: int = 15_000
    group_share_min_record_lock_duration_ms: int = 15_000
    group_share_max_record_lock_duration_ms: int = 60_000
    group_share_min_delivery_count_limit: int = 2
    group_share_max_delivery_count_limit: int = 10
    group_share_min_partition_max_record_locks: int = 100
    group_share_max_partition_max_record_locks: int = 4_000
    errors_deadletterqueue_auto_create_topics_enable: bool = False
    errors_deadletterqueue_topic_name_prefix: str = "dlq."
    group_streams_session_timeout_ms: int = 45_000
    group_streams_heartbeat_interval_ms: int = 5_000
    group_streams_num_standby_replicas: int = 0
    group_streams_initial_rebalance_delay_ms: int = 3_000
    group_streams_assignment_interval_ms: int = 1_000
    group_streams_max_size: int = MAX_INT32
    group_streams_min_session_timeout_ms: int = 45_000
    group_streams_max_session_timeout_ms: int = 60_000
    group_streams_min_heartbeat_interval_ms: int = 5_000
    group_streams_max_heartbeat_interval_ms: int = 15_000
    group_streams_min_assignment_interval_ms: int = 0
    group_streams_max_assignment_interval_ms: int = 15_000
    group_streams_max_standby_replicas: int = 2
    group_streams_assignors: tuple[str, ...] = (streams.ASSIGNOR,)
    group_streams_rack_aware_assignment_tags: tuple[str, ...] = ()
    group_streams_num_warmup_replicas: int = 2
    group_streams_max_warmup_replicas: int = 20
    group_streams_acceptable_recovery_lag: int = 10_000
    group_streams_task_offset_interval_ms: int = 60_000
    group_streams_min_task_offset_interval_ms: int = 15_000
    group_streams_topology_description_plugin_class: str | None = None
    group_consumer_assignor_offload_enable: bool = True
    group_share_assignor_offload_enable: bool = True
    group_streams_assignor_offload_enable: bool = True
    release: tuple[int, int] = (4, 4)

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        check_kinds(self)
        lowest = {
            "group_min_session_timeout_ms": 0,
            "group_max_session_timeout_ms": self.group_min_session_timeout_ms,
            "group_initial_rebalance_delay_ms": 0,
            "group_max_size": 1,
            "offset_metadata_max_bytes": 0,
            "offsets_retention_minutes": 1,
            "offsets_retention_check_interval_ms": 1,
            "offsets_topic_num_partitions": 1,
            "group_consumer_session_timeout_ms": self.group_consumer_heartbeat_interval_ms + 1,
            "group_consumer_heartbeat_interval_ms": 1,
            "group_consumer_max_size": 1,
            "group_consumer_assignment_interval_ms": 0,
            "group_consumer_regex_refresh_interval_ms": 10_000,
            **{
                f"group_consumer_{bound}_{name}": 0 if name == "assignment_interval_ms" else 1
                for bound in ("min", "max")
                for name in consumer.BOUNDED
            },
            "group_share_session_timeout_ms": self.group_share_heartbeat_interval_ms + 1,
            "group_share_assignment_interval_ms": 0,
            "group_share_max_size": 1,
            "group_streams_session_timeout_ms": self.group_streams_heartbeat_interval_ms + 1,
            "group_streams_initial_rebalance_delay_ms": 0,
            "group_streams_num_standby_replicas": 0,
            "group_streams_max_standby_replicas": self.group_streams_num_standby_replicas,
            "group_streams_assignment_interval_ms": 0,
            "group_streams_max_size": 1,
            "group_streams_num_warmup_replicas": 0,
            "group_streams_max_warmup_replicas": self.group_streams_num_warmup_replicas,
            "group_streams_min_task_offset_interval_ms": 1,
            "group_streams_task_offset_interval_ms": self.group_streams_min_task_offset_interval_ms,
        }
        for kind, bounds in (("share", self.share_bounds), ("streams", self.streams_bounds)):
            for name, (bound, _) in bounds.items():
                option = f"group_{kind}_{name}"
                own = lowest.get(option, 1)
                lowest[f"group_{kind}_min_{name}"] = min(own, 1)
                lowest[option] = max(bound, own)
                lowest[f"group_{kind}_max_{name}"] = getattr(self, option)
        for name, bound in lowest.items():
            value = getattr(self, name)
            if not bound <= value <= MAX_INT32:
                raise KafkaConfigurationError(
                    f"{name}={value} is not within {bound} to {MAX_INT32}"
                )
        assignors = self.group_consumer_assignors
        if (
            not assignors
            or len(set(assignors)) < len(assignors)
            or not ASSIGNORS.keys() >= {*assignors}
        ):
            raise KafkaConfigurationError(
                f"group_consumer_assignors={assignors!r}: each of {', '.join(ASSIGNORS)} once at"
                " most, and one at least"
            )
        self._check_streams()
        if self.group_consumer_migration_policy not in MIGRATION_POLICIES:
            raise KafkaConfigurationError(
                f"group_consumer_migration_policy={self.group_consumer_migration_policy!r} is none"
                f" of {', '.join(MIGRATION_POLICIES)}"
            )

    def _check_streams(self) -> None:
        if self.group_streams_assignors != (streams.ASSIGNOR,):
            raise KafkaConfigurationError(
                f"group_streams_assignors={self.group_streams_assignors!r} is not"
                f" ({streams.ASSIGNOR!r},): there is no other"
            )
        if self.group_streams_topology_description_plugin_class not in {None, streams.IN_MEMORY}:
            raise KafkaConfigurationError(
                "group_streams_topology_description_plugin_class="
                f"{self.group_streams_topology_description_plugin_class!r} is neither"
                f" {streams.IN_MEMORY!r} nor None"
            )
        tags = self.group_streams_rack_aware_assignment_tags
        if len(set(tags)) < len(tags) or "" in tags:
            raise KafkaConfigurationError(
                f"group_streams_rack_aware_assignment_tags={tags!r}: each key once, and none empty"
            )
        lag = self.group_streams_acceptable_recovery_lag
        if not 0 <= lag <= MAX_INT64:
            raise KafkaConfigurationError(
                f"group_streams_acceptable_recovery_lag={lag} is not within 0 to {MAX_INT64}"
            )

    @property
    def describes_topologies(self) -> bool:
        """Whether descriptions of topologies are kept."""
        return self.group_streams_topology_description_plugin_class is not None

    @property
    def as_44(self) -> bool:
        """Whether Kafka 4.4's rules hold, or newer ones."""
        return self.release >= (4, 4)

    @property
    def consumer_bounds(self) -> dict[str, tuple[int, int]]:
        """Field of ConsumerOptions -> what it may be set to for a group; what the nodes say is
        always within.
        """
        bounds = {}
        for name in consumer.BOUNDED:
            own = getattr(self, f"group_consumer_{name}")
            lowest = getattr(self, f"group_consumer_min_{name}")
            highest = getattr(self, f"group_consumer_max_{name}")
            bounds[name] = min(lowest, own), max(highest, own)
        return bounds

    @property
    def consumer_options(self) -> consumer.ConsumerOptions:
        """What consumer groups have of which nothing is set."""
        return consumer.ConsumerOptions(
            **{name: getattr(self, f"group_consumer_{name}") for name in consumer.BOUNDED},
            assignor_offload_enable=self.group_consumer_assignor_offload_enable,
        )

    @property
    def share_bounds(self) -> dict[str, tuple[int, int]]:
        """Field of ShareOptions -> what it may be set to for a group."""
        return {
            name: (
                getattr(self, f"group_share_min_{name}"),
                getattr(self, f"group_share_max_{name}"),
            )
            for name in BOUNDED
        }

    @property
    def streams_bounds(self) -> dict[str, tuple[int, int]]:
        """Field of StreamsOptions -> what it may be set to for a group."""
        return {
            name: (
                getattr(self, f"group_streams_min_{name}"),
                getattr(self, f"group_streams_max_{name}"),
            )
            for name in streams.BOUNDED
        }

    @property
    def streams_options(self) -> streams.StreamsOptions:
        """What streams groups have of which nothing is set."""
        return streams.StreamsOptions(
            **{
                name: getattr(self, f"group_streams_{name}")
                for name in (*streams.DEFAULTED, *streams.DEFAULTED_44)
            }
        )

    @property
    def share_options(self) -> ShareOptions:
        """What share groups have of which nothing is set."""
        return ShareOptions(
            **{name: getattr(self, f"group_share_{name}") for name in BOUNDED},
            assignor_offload_enable=self.group_share_assignor_offload_enable,
        )

    @property
    def offsets_retention_ms(self) -> int:
        """How long a committed offset outlives its use."""
        return self.offsets_retention_minutes * _MINUTE_MS
