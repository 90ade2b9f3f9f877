"""When there is to be a micro-batch: minOffsetsPerTrigger, maxTriggerDelay, and how often an idle
query asks.
"""

from __future__ import annotations

from typing import Final

from kcore.pipeline.offsets import Offsets

PAUSE_MAX_MS: Final = 50
# A pause is this share of the time in which nothing has come: a busy stream does not feel it.
_PAUSE_SHARE: Final = 20
# Spark asks again 10 ms after an answer that says nothing (spark.sql.streaming.pollingDelay).
_AT_ONCE_MS: Final = 30


class Admission:
    """Whether a micro-batch is to be: not before `minimum` offsets are there, or `delay_ms` has
    passed since the last one. The first one may be at once, and counts even if it is empty (Spark:
    KafkaMicroBatchStream.delayBatch).
    """

    def __init__(self, minimum: int | None, delay_ms: int) -> None:
        self._minimum = minimum
        self._delay_ms = delay_ms
        self._last_ms: int | None = None

    def admits(self, begin: Offsets, latest: Offsets, now_ms: int) -> bool:
        """Whether there is enough, or it has been waited for long enough."""
        if self._minimum is None:
            return True
        if self._last_ms is None:
            self._last_ms = now_ms
            return True
        if now_ms - self._last_ms >= self._delay_ms:
            return True
        there = sum(max(0, latest[tp] - begin.get(tp, latest[tp])) for tp in latest)
        return there >= self._minimum

    def took(self, now_ms: int) -> None:
        """A micro-batch was made."""
        self._last_ms = now_ms


class Idling:
    """How long a question for the latest offsets waits before it is put to the cluster.

    Spark asks a hundred times a second while nothing comes, and each time goes through two
    processes to the brokers. Only who asks again at once waits, no trigger with an interval.
    """

    def __init__(self) -> None:
        self._since_ms: int | None = None  # nothing has come from then on
        self._answered_ms = 0

    def pause_ms(self, now_ms: int) -> int:
        """Of a question that is asked now."""
        if self._since_ms is None or now_ms - self._answered_ms > _AT_ONCE_MS:
            return 0
        return min((now_ms - self._since_ms) // _PAUSE_SHARE, PAUSE_MAX_MS)

    def answered(self, now_ms: int, *, new: bool) -> None:
        """The cluster was asked. new: there is something to read."""
        self._answered_ms = now_ms
        if new:
            self._since_ms = None
        elif self._since_ms is None:
            self._since_ms = now_ms
