"""When there is to be a micro-batch: minOffsetsPerTrigger and maxTriggerDelay."""

from __future__ import annotations

from kcore.pipeline.offsets import Offsets


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
