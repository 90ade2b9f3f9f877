"""What membership can be told; defaults and names are Java's (CLIENT_CONSUMER.md section 1)."""

from __future__ import annotations

from kcore import limits
from kcore.assignors import Assignor, RangeAssignor, RebalanceProtocol
from kcore.errors import InvalidGroupIdError, KafkaConfigurationError
from kcore.hints import Final
from kcore.values import Value

# The broker holds a JoinGroup until the rebalance timeout; the answer gets this much longer to
# arrive (Java: JOIN_GROUP_TIMEOUT_LAPSE).
JOIN_TIMEOUT_SLACK_MS: Final = 5_000

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"  # KIP-848

# Reasons for joining and leaving travel to the broker's log; it takes no more (KIP-800).
MAX_REASON_CHARS: Final = 255

# What Java retries at once (MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, ...) is
# retried at once this many times in a row, then with backoff: a broker that says nothing else must
# not make us spin. A member whose id expired needs two: UNKNOWN_MEMBER_ID, then MEMBER_ID_REQUIRED.
MAX_IMMEDIATE_RETRIES: Final = 3


class GroupConfig(Value):
    """Options of one member. All times in ms; `max_poll_interval_ms` is the rebalance timeout,
    too.

    group_protocol: CLASSIC or CONSUMER. With the latter session_timeout_ms, heartbeat_interval_ms
    and assignors mean nothing: the coordinator has its own, `remote_assignor` names one of them.
    """

    group_id: str
    group_protocol: str = CLASSIC
    remote_assignor: str | None = None
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    assignors: tuple[Assignor, ...] = (RangeAssignor(),)
    client_rack: str | None = None
    await_acknowledgement: bool = False
    require_stable: bool = True

    def __post_init__(self) -> None:
        """Refuse what can never work: InvalidGroupIdError, KafkaConfigurationError."""
        if not self.group_id:
            raise InvalidGroupIdError("group_id must not be empty")
        if self.group_instance_id is not None:
            _check_instance_id(self.group_instance_id)
        for name in (
            "session_timeout_ms",
            "heartbeat_interval_ms",
            "max_poll_interval_ms",
            "request_timeout_ms",
            "retry_backoff_ms",
            "retry_backoff_max_ms",
        ):
            if getattr(self, name) < 1:
                raise KafkaConfigurationError(f"{name} must be at least 1", option=name)
        if self.auto_commit_interval_ms < 0:
            raise KafkaConfigurationError(
                "auto_commit_interval_ms must not be negative", option="auto_commit_interval_ms"
            )
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise KafkaConfigurationError(
                f"heartbeat_interval_ms ({self.heartbeat_interval_ms}) must be below"
                f" session_timeout_ms ({self.session_timeout_ms})",
                option="heartbeat_interval_ms",
            )
        names = [assignor.name for assignor in self.assignors]
        if not names or len(set(names)) != len(names):
            raise KafkaConfigurationError(
                f"assignors must be at least one, each name once: {names}",
                option="partition_assignment_strategy",
            )
        _ = self.protocol

    @property
    def protocol(self) -> RebalanceProtocol:
        """The highest rebalance protocol that all assignors support; an error if there is none."""
        common = frozenset.intersection(*(assignor.protocols for assignor in self.assignors))
        if not common:
            raise KafkaConfigurationError(
                "the assignors have no rebalance protocol in common",
                option="partition_assignment_strategy",
            )
        return max(common)

    @property
    def join_timeout_ms(self) -> int:
        """How long a JoinGroup may stay unanswered (G2)."""
        return max(self.request_timeout_ms, self.max_poll_interval_ms + JOIN_TIMEOUT_SLACK_MS)

    def assignor(self, name: str | None) -> Assignor | None:
        """The assignor of a protocol name, None if we did not offer it."""
        return next((assignor for assignor in self.assignors if assignor.name == name), None)


def _check_instance_id(instance_id: str) -> None:
    if (
        not 0 < len(instance_id) <= limits.MAX_NAME_CHARS
        or instance_id in (".", "..")
        or not limits.NAME_CHARS.issuperset(instance_id)
    ):
        raise KafkaConfigurationError(
            f"group_instance_id {instance_id!r}: 1 to {limits.MAX_NAME_CHARS} of letters, digits,"
            ' ".", "_" and "-", and neither "." nor ".."',
            option="group_instance_id",
        )
