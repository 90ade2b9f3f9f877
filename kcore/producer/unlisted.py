"""Partitions that records are for and that metadata does not list: a topic may have been given
more since it was last asked for.

Java waits for such a one all of max.block.ms. Here the brokers are asked again a few times, which
is long enough for one that lags behind the controller, and then it is an error of the caller.
"""

from __future__ import annotations

from kcore.cluster.refresh import Refresher
from kcore.structs import TopicPartition

# Of requests that were made after the record came. The first goes out at once if none was lately,
# each of the others after its backoff: 300 ms in all, or seconds if brokers said the same lately.
ANSWERS = 3


class Unlisted:
    """How long each is still looked for.

    patience_ms: a record waits no longer; a look-up that is older was for another one.
    """

    def __init__(self, refresher: Refresher, patience_ms: int) -> None:
        self._refresher = refresher
        self._patience_ms = patience_ms
        # The answer that decides, and until when there is somebody who waits for it.
        self._sought: dict[TopicPartition, tuple[int, int]] = {}

    def look_for(self, tp: TopicPartition, now_ms: int) -> bool:
        """Have it asked for; False: it was, and brokers do not have it."""
        self._sought = {one: at for one, at in self._sought.items() if now_ms <= at[1]}
        found = self._sought.get(tp)
        if found is None:
            found = self._refresher.requests + ANSWERS, now_ms + self._patience_ms
            self._sought[tp] = found
        if self._refresher.answered < found[0]:
            return True
        del self._sought[tp]
        return False
