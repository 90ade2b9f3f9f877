"""Which topics to keep metadata of: those that records were lately sent to.

Java: ProducerMetadata and metadata.max.idle.ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kcore.cluster.refresh import Refresher
from kcore.timers import NEVER


class Interest:
    """Topics, and when each was last used."""

    def __init__(self, refresher: Refresher, max_idle_ms: int) -> None:
        self._refresher = refresher
        self._max_idle_ms = max_idle_ms
        self._used: dict[str, int] = {}
        self._look_at = NEVER

    def use(self, topic: str, now_ms: int) -> bool:
        """A record is for this topic; whether it was not known before."""
        known = topic in self._used
        self._used[topic] = now_ms
        if not known:
            self._refresher.set_used(set(self._used))
            self._look_at = min(self._look_at, now_ms + self._max_idle_ms)
        return not known

    def mend(self) -> None:
        """`use` was struck, perhaps: what is wanted is said again."""
        self._refresher.set_used(set(self._used))
        self._look_at = min(
            [self._look_at, *(at + self._max_idle_ms for at in self._used.values())]
        )

    def handle_tick(self, now_ms: int, busy: Callable[[], Iterable[str]]) -> None:
        """Forget what has not been used for long. busy: topics with records under way."""
        if now_ms < self._look_at:
            return
        self._used |= dict.fromkeys(busy(), now_ms)
        used = self._used
        self._used = {name: at for name, at in used.items() if at > now_ms - self._max_idle_ms}
        self._look_at = min(self._used.values(), default=NEVER)
        if self._used:
            self._look_at += self._max_idle_ms
        if len(self._used) < len(used):
            self._refresher.set_used(set(self._used))
