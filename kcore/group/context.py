"""What all parts of a member share: who is around them, and the table of timers."""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.backoff import exponential
from kcore.connection.calls import ClusterView, Network
from kcore.enums import Enum
from kcore.events import Event
from kcore.group.config import GroupConfig
from kcore.group.host import GroupHost
from kcore.hints import Protocol
from kcore.structs import Rng
from kcore.timers import Timers
from kcore.values import Value


class Timer(Enum):
    """Every timer of a member. "For a poll": firing only wakes the driver, a poll then acts."""

    HEARTBEAT = "next heartbeat"
    SESSION = "coordinator silent for session_timeout_ms"
    POLL = "application silent for max_poll_interval_ms"
    LOOKUP = "next coordinator lookup"
    JOIN_RETRY = "next JoinGroup"
    METADATA = "leader gives up waiting for metadata"
    AUTO_COMMIT = "auto commit (for a poll)"
    PREPARE = "join-prepare gives up waiting for its commit (for a poll)"
    PREPARE_RETRY = "join-prepare commits again (for a poll)"
    NEXT_POLL = "events were emitted that the next poll builds on (for a poll)"
    SURVEY = "a static member that came back looks who has what"
    CLOSE = "close gives up"

    # Enum's own is written in Python, and timers are looked up all the time.
    __hash__ = object.__hash__


class MemberOptions(Protocol):
    """What every kind of member takes of its options. Times are ms."""

    @property
    def group_id(self) -> str:
        """Whose member it is."""

    @property
    def request_timeout_ms(self) -> int:
        """How long an answer may take."""

    @property
    def retry_backoff_ms(self) -> int:
        """How long to wait after the first failure."""

    @property
    def retry_backoff_max_ms(self) -> int:
        """How long after many."""


FOR_A_POLL = (Timer.AUTO_COMMIT, Timer.PREPARE, Timer.PREPARE_RETRY, Timer.NEXT_POLL)


class Surroundings(Value):
    """Given to each part of a member, whatever kind of group it is of."""

    config: MemberOptions
    network: Network
    cluster: ClusterView
    rng: Rng
    emit: Callable[[Event], None]
    timers: Timers[Timer]

    def backoff(self, attempts: int) -> int:
        """How long to wait (ms) after `attempts` failures before the one just seen."""
        config = self.config
        return exponential(attempts, config.retry_backoff_ms, config.retry_backoff_max_ms, self.rng)

    def due(self, timer: Timer, now_ms: int) -> bool:
        """Whether a timer is armed and its time has come; it is disarmed then."""
        if self.timers.at(timer) > now_ms:
            return False
        self.timers.cancel(timer)
        return True


class Context(Surroundings):
    """Given to each part of a consumer group's member."""

    config: GroupConfig
    host: GroupHost
