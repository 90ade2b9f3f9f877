"""The one backoff formula: exponential, capped, with jitter (Java: ExponentialBackoff)."""

from __future__ import annotations

from math import log2

from kcore.hints import Final
from kcore.structs import Rng

JITTER: Final = 0.2


def exponential(attempts: int, base_ms: int, max_ms: int, rng: Rng) -> int:
    """How long to wait (ms) before the next try, when `attempts` (from 0) have failed.

    `base_ms` doubles with each attempt until `max_ms`; the result varies by +-20 %, so that many
    clients that failed together do not return together, and is never above `max_ms`.
    """
    if base_ms >= max_ms:
        return max_ms
    if base_ms <= 0:
        return 0
    # The exponent is capped before the power is taken: a long outage must not make a huge number.
    exponent = min(attempts, log2(max_ms / base_ms))
    spread = 1 - JITTER + 2 * JITTER * rng.random()
    return min(max_ms, round(base_ms * 2**exponent * spread))
