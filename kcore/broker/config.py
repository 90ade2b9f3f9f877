"""What a broker can be told; names and defaults are Kafka's where it has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kcore.bounds import check_kinds
from kcore.broker.authorization.config import AuthorizerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.options import LogConfig, check_log_config
from kcore.broker.selectors import selector_of
from kcore.broker.sessions import SessionLimits
from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.transactions import TransactionConfig
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_FRAME_BYTES, MAX_INT16, MAX_INT32

if TYPE_CHECKING:
    from kcore.broker.sasl.config import SaslConfig

# Partitions of one topic, and of all; topics: what a typing error, or an attacker, can make us keep
# is some hundred megabytes.
PARTITIONS_MAX: Final = 10_000
PARTITIONS_TOTAL_MAX: Final = 100_000
TOPICS_MAX: Final = 10_000

# A parked Fetch waits no longer than this, whatever its client asks for.
FETCH_WAIT_MAX_MS: Final = 300_000

# Windows of a quota: each is kept by itself, for every client that it counts for.
QUOTA_WINDOWS_MAX: Final = 1_000

# Errors kept for who asks.
FAULTS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Options of all nodes of one cluster.

    release: the Kafka whose API versions the nodes offer, such as (2, 1) or (4, 4), and whose rules
    coordinators of groups go by (over what `coordinator` says of it). log_bytes_max:
    of all logs together; beyond it, producers are answered as if a disk were full.
    share_sessions_max: of one node (Kafka: group.share.max.share.sessions). authorizer: whom access
    control lists do not concern; None: there are none, and everybody may do everything. sasl: how
    clients say who they are; None: nobody is asked. replica_selector_class: whether leaders send
    consumers to followers in their rack (KIP-392): "RackAwareReplicaSelector"; None and
    "LeaderSelector": they do not. quota_window_num, quota_window_size_seconds: over what time the
    rates of quotas are; those of the controller are about topics that are made and deleted.
    Internal topics have as many replicas as there are nodes, if that is fewer than told here.
    client_telemetry: clients are asked for their metrics (KIP-714), as by a Kafka with a plug-in.
    """

    cluster_id: str = "kcore-embedded-broker00"
    release: tuple[int, int] = (4, 4)
    auto_create_topics: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    offsets_topic_replication_factor: int = 3
    transaction_state_log_replication_factor: int = 3
    share_coordinator_state_topic_replication_factor: int = 3
    replica_lag_time_max_ms: int = 30_000
    log_bytes_max: int = 4_294_967_296
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    max_request_bytes: int = MAX_FRAME_BYTES
    fetch_max_bytes: int = 57_671_680
    producer_id_expiration_ms: int = 86_400_000
    quota_window_num: int = 11
    quota_window_size_seconds: int = 1
    controller_quota_window_num: int = 11
    controller_quota_window_size_seconds: int = 1
    crowd: CrowdLimits = field(default_factory=CrowdLimits)
    sessions: SessionLimits = field(default_factory=SessionLimits)
    share_sessions_max: int = 2_000
    sasl: SaslConfig | None = None
    log: LogConfig = field(default_factory=LogConfig)
    coordinator: CoordinatorConfig = field(
        default_factory=lambda: CoordinatorConfig(
            group_initial_rebalance_delay_ms=0,
            group_consumer_assignment_interval_ms=0,
            group_share_assignment_interval_ms=0,
        )
    )
    transactions: TransactionConfig = field(default_factory=TransactionConfig)
    authorizer: AuthorizerConfig | None = None
    delegation_tokens: DelegationTokenConfig = field(default_factory=DelegationTokenConfig)
    replica_selector_class: str | None = None
    client_telemetry: bool = False

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        check_kinds(
            self,
            CoordinatorConfig,
            CrowdLimits,
            DelegationTokenConfig,
            LogConfig,
            SessionLimits,
            TransactionConfig,
        )
        check_log_config(self.log)
        bounds = {
            "num_partitions": PARTITIONS_MAX,
            "default_replication_factor": MAX_INT32,
            "offsets_topic_replication_factor": MAX_INT16,
            "transaction_state_log_replication_factor": MAX_INT16,
            "share_coordinator_state_topic_replication_factor": MAX_INT16,
            "replica_lag_time_max_ms": MAX_INT32,
            "leader_imbalance_check_interval_seconds": MAX_INT32,
            "max_request_bytes": MAX_INT32,
            "fetch_max_bytes": MAX_INT32,
            "producer_id_expiration_ms": MAX_INT32,
            "share_sessions_max": MAX_INT32,
            "quota_window_num": QUOTA_WINDOWS_MAX,
            "quota_window_size_seconds": MAX_INT32,
            "controller_quota_window_num": QUOTA_WINDOWS_MAX,
            "controller_quota_window_size_seconds": MAX_INT32,
        }
        for name, highest in bounds.items():
            value = getattr(self, name)
            if not 1 <= value <= highest:
                raise KafkaConfigurationError(f"{name}={value} is not within 1 to {highest}")
        if self.log_bytes_max < 1:
            raise KafkaConfigurationError(f"log_bytes_max={self.log_bytes_max} is not positive")
        selector = self.replica_selector_class
        if selector is not None and selector_of(selector) is None:
            raise KafkaConfigurationError(
                f"replica_selector_class={selector!r} is neither RackAwareReplicaSelector nor"
                " LeaderSelector"
            )
        release = self.release
        if not isinstance(release, tuple) or list(map(type, release)) != [int, int]:
            raise KafkaConfigurationError(f"release={release!r} is no pair such as (3, 7)")
        if release < (2, 1):
            raise KafkaConfigurationError(f"release={release} is before (2, 1)")
        object.__setattr__(self, "coordinator", replace(self.coordinator, release=release))
