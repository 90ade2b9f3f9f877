"""How much of something there is a second, by Kafka's reckoning (Java: Rate, TokenBucket)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

# Rounded up, an answer's int32 holds it: 24 days.
THROTTLE_MAX_MS = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Windows:
    """Over what time rates are: `count` windows of so many ms, of which one is under way."""

    count: int
    size_ms: int

    @property
    def full_s(self) -> int:
        """Seconds of those that are over, as far as a rate looks back at least."""
        return (self.count - 1) * self.size_ms // 1_000


class Rate:
    """What was recorded in the last windows, a second."""

    __slots__ = ("_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        # [when it begins, when something was last recorded in it, how much]
        self._samples: deque[list[float]] = deque()

    def record(self, amount: float, now_ms: int) -> None:
        """So much more; or less, of what is taken back."""
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= self._windows.size_ms:
            samples.append([now_ms, now_ms, 0.0])
            if len(samples) > self._windows.count + 1:
                samples.popleft()
        samples[-1][1] = now_ms
        samples[-1][2] += amount

    def window_ms(self, now_ms: int) -> int:
        """The time that the rate is over: at least as many windows as there are, empty or not."""
        self._forget(now_ms)
        size_ms = self._windows.size_ms
        elapsed = now_ms - int(self._samples[0][0]) if self._samples else 0
        missing = self._windows.count - 1 - elapsed // size_ms
        return elapsed + max(missing, 0) * size_ms

    def value(self, now_ms: int) -> float:
        """The rate."""
        window_ms = self.window_ms(now_ms)
        return sum(sample[2] for sample in self._samples) * 1_000 / max(window_ms, 1)

    def excess_ms(self, bound: float, now_ms: int) -> int:
        """How long nothing may be recorded for the rate to be at its bound again; 0: it is not
        above it.
        """
        value = self.value(now_ms)
        if not value > bound:
            return 0
        over = min((value - bound) / bound, THROTTLE_MAX_MS)  # of next to nothing: infinite
        return int(min(over * self.window_ms(now_ms) + 0.5, THROTTLE_MAX_MS))

    def _forget(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._windows.count * self._windows.size_ms
        while self._samples and self._samples[0][1] <= oldest_ms:
            self._samples.popleft()


class Bucket:
    """Tokens that come back with time, as many a second as the quota says (KIP-599). It may be
    overdrawn, once: nobody takes more then until that is made good.
    """

    __slots__ = ("_tokens", "_updated_ms", "_windows")

    def __init__(self, windows: Windows, bound: float, now_ms: int) -> None:
        self._windows = windows
        self._tokens = self._most(bound)
        self._updated_ms = now_ms

    def _most(self, bound: float) -> float:
        return self._windows.count * self._windows.size_ms / 1_000 * bound

    def tokens(self, bound: float, now_ms: int) -> float:
        """How many there are; below 0: it is overdrawn."""
        more = bound * (now_ms - self._updated_ms) / 1_000
        self._tokens = min(self._most(bound), self._tokens + more)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, amount: float, bound: float, now_ms: int) -> None:
        """Take so many, whether they are there or not."""
        self._tokens = min(self._most(bound), self.tokens(bound, now_ms) - amount)

    def excess_ms(self, bound: float, now_ms: int) -> int:
        """How long it stays overdrawn; 0: it is not."""
        tokens = self.tokens(bound, now_ms)
        return int(min(-tokens / bound * 1_000 + 0.5, THROTTLE_MAX_MS)) if tokens < 0 else 0
