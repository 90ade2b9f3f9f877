"""What each error code does to the member, per request: table 3.1 of CLIENT_CONSUMER.md as data.

Sources: the response handlers of Java's AbstractCoordinator and ConsumerCoordinator. A code that is
not in a table has the table's default. Then the same for the consumer protocol.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcore import errors
from kcore.enums import Enum
from kcore.errors import BrokerResponseError, KafkaError, ProtocolError
from kcore.hints import Final
from kcore.values import Value
from kcore.wire.codes import ErrorCode as Code


class Effect(Enum):
    """What a handler does. "Same" generation: the one that the request was sent with is still
    ours.
    """

    RETRY = "wait out a backoff, then try again"
    MOVED = "forget the coordinator, then as RETRY"
    AGAIN = "try again at once, nothing is lost"
    NAMED = "take the member id given, try again at once"
    FORGET = "same generation: reset with the member id, try again at once"
    OUTDATED = "same generation: reset but keep the member id, try again at once"
    FENCED = "fatal: another process has our instance id"
    REJOIN = "the group rebalances: join again"
    FAILED = "a failed heartbeat: backoff"
    STALE = "of an older member epoch (KIP-848): try again under the present one"
    UNOWNED = "not this member's to commit any more; heartbeats will say why"
    SAY = "the application must know, then as RETRY"
    FATAL = "the application must know"


class Effects(Value):
    """The effects of one request's error codes."""

    by_code: Mapping[int, Effect]
    default: Effect

    def of(self, code: int) -> Effect:
        """The effect of a code."""
        return self.by_code.get(code, self.default)


JOIN: Final = Effects(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS: Effect.RETRY,
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.UNKNOWN_MEMBER_ID: Effect.FORGET,
        Code.REBALANCE_IN_PROGRESS: Effect.AGAIN,
        Code.FENCED_INSTANCE_ID: Effect.FENCED,
        Code.MEMBER_ID_REQUIRED: Effect.NAMED,
    },
    Effect.FATAL,
)

SYNC: Final = Effects(
    {
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.UNKNOWN_MEMBER_ID: Effect.FORGET,
        Code.ILLEGAL_GENERATION: Effect.OUTDATED,
        Code.REBALANCE_IN_PROGRESS: Effect.AGAIN,
        Code.FENCED_INSTANCE_ID: Effect.FENCED,
    },
    Effect.FATAL,
)

HEARTBEAT: Final = Effects(
    {
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.UNKNOWN_MEMBER_ID: Effect.FORGET,
        Code.ILLEGAL_GENERATION: Effect.OUTDATED,
        Code.REBALANCE_IN_PROGRESS: Effect.REJOIN,
        Code.FENCED_INSTANCE_ID: Effect.FENCED,
    },
    Effect.FAILED,
)

OFFSET_COMMIT: Final = Effects(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS: Effect.RETRY,
        Code.UNKNOWN_TOPIC_OR_PARTITION: Effect.RETRY,
        Code.UNKNOWN_TOPIC_ID: Effect.RETRY,
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.REQUEST_TIMED_OUT: Effect.MOVED,
        Code.UNKNOWN_MEMBER_ID: Effect.FORGET,
        Code.ILLEGAL_GENERATION: Effect.OUTDATED,
        Code.REBALANCE_IN_PROGRESS: Effect.REJOIN,
        Code.FENCED_INSTANCE_ID: Effect.FENCED,
    },
    Effect.FATAL,
)

# Of the consumer protocol (KIP-848). Java: ConsumerHeartbeatRequestManager and
# ConsumerMembershipManager, CommitRequestManager.
CONSUMER_HEARTBEAT: Final = Effects(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS: Effect.RETRY,
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.UNKNOWN_MEMBER_ID: Effect.OUTDATED,
        Code.FENCED_MEMBER_EPOCH: Effect.OUTDATED,
        Code.TOPIC_AUTHORIZATION_FAILED: Effect.SAY,
        Code.FENCED_INSTANCE_ID: Effect.FENCED,
    },
    Effect.FATAL,
)

CONSUMER_OFFSET_COMMIT: Final = Effects(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS: Effect.RETRY,
        Code.UNKNOWN_TOPIC_OR_PARTITION: Effect.RETRY,
        Code.UNKNOWN_TOPIC_ID: Effect.RETRY,
        Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
        Code.NOT_COORDINATOR: Effect.MOVED,
        Code.REQUEST_TIMED_OUT: Effect.MOVED,
        Code.STALE_MEMBER_EPOCH: Effect.STALE,
        Code.UNKNOWN_MEMBER_ID: Effect.UNOWNED,
        Code.FENCED_MEMBER_EPOCH: Effect.UNOWNED,
        Code.FENCED_INSTANCE_ID: Effect.UNOWNED,
        Code.ILLEGAL_GENERATION: Effect.UNOWNED,
        Code.GROUP_ID_NOT_FOUND: Effect.UNOWNED,
    },
    Effect.FATAL,
)


def error_of(code: int, *context: object) -> BrokerResponseError:
    """The error of a code, with words of context."""
    return errors.for_code(code)(*context)


def passing(error: KafkaError) -> bool:
    """Whether to try again by ourselves: retriable, or an unreadable answer, which counts as a
    disconnect.
    """
    return error.retriable or isinstance(error, ProtocolError)
