"""What the parts of a share consumer have in common: who is around them, and the timers."""

from __future__ import annotations

from collections.abc import Callable

from kcore.connection.backoff import exponential
from kcore.connection.calls import ClusterView, Network
from kcore.events import Event
from kcore.group.context import Timer
from kcore.share.config import ShareGroupConfig
from kcore.structs import Rng
from kcore.timers import Timers
from kcore.values import Value, field


class ShareContext(Value):
    """Given to each part (`kcore.group.context.Surroundings` is one half of it)."""

    config: ShareGroupConfig
    network: Network
    cluster: ClusterView
    rng: Rng
    emit: Callable[[Event], None]
    timers: Timers[Timer] = field(default_factory=Timers)

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
