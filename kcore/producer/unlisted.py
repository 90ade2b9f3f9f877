"""Partitions that records are for and that metadata does not list: a topic may have been given
more since it was last asked for.

Java waits for such a one all of max.block.ms. Here the brokers are asked again a few times, which
is long enough for one that lags behind the controller, and then it is an error of the caller.
"""

from __future__ import annotations

from kcore.cluster.refresh import Refresher
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.tuples import NamedTuple

# Of requests that were made after the record came. The first goes out at once if none was lately,
# each of the others after its backoff: 300 ms in all, or seconds if brokers said the same lately.
ANSWERS = 3


class _Search(NamedTuple):
    """The answer that decides, until when somebody may wait for it, and when it came."""

    answer: int
    until: int
    ended_at: int = NEVER


class Unlisted:
    """How long each is still looked for.

    patience_ms: a record waits no longer; a look-up that is older was for another one.
    """

    def __init__(self, refresher: Refresher, patience_ms: int) -> None:
        self._refresher = refresher
        self._patience_ms = patience_ms
        self._sought: dict[TopicPartition, _Search] = {}

    def look_for(self, tp: TopicPartition, now_ms: int, since_ms: int) -> bool:
        """Have it asked for; False: it was, and brokers do not have it. All who wait at a time wait
        for the same answer: a record that has waited since before it came is not looked for anew.
        """
        self._sought = {one: at for one, at in self._sought.items() if now_ms <= at.until}
        until = now_ms + self._patience_ms
        found = self._sought.get(tp)
        if found is None or found.ended_at <= since_ms:
            found = self._sought[tp] = _Search(self._refresher.requests + ANSWERS, until)
        if found.ended_at == NEVER:
            if self._refresher.answered < found.answer:
                return True
            self._sought[tp] = _Search(found.answer, until, now_ms)
        return False
