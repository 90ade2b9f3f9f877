"""Which metrics clients are asked for: configurations of the type CLIENT_METRICS, a subscription
each, of which those count for a client that it matches.

Source: Java's ClientMetricsConfigs and ClientMetricsManager of Kafka 4.3; patterns are Python's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.options import Kind, Option, parts, read_value
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

METRICS: Final = "metrics"
INTERVAL: Final = "interval.ms"
MATCH: Final = "match"
OPTIONS: Final[Mapping[str, Option]] = {
    INTERVAL: Option(Kind.INT, "300000", None),
    MATCH: Option(Kind.LIST, "", None),
    METRICS: Option(Kind.LIST, "", None),
}
EVERYTHING: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000
INTERVAL_MS_MIN: Final = 100
INTERVAL_MS_MAX: Final = 3_600_000
# Subscriptions of a cluster: more than anybody has, by far.
SUBSCRIPTIONS_MAX: Final = 10_000

CLIENT_INSTANCE_ID: Final = "client_instance_id"
CLIENT_ID: Final = "client_id"
SOFTWARE_NAME: Final = "client_software_name"
SOFTWARE_VERSION: Final = "client_software_version"
SOURCE_ADDRESS: Final = "client_source_address"
SOURCE_PORT: Final = "client_source_port"
_KEYS: Final = frozenset(
    {CLIENT_INSTANCE_ID, CLIENT_ID, SOFTWARE_NAME, SOFTWARE_VERSION, SOURCE_ADDRESS, SOURCE_PORT}
)


class Wanted(NamedTuple):
    """What a client is asked for, and how often."""

    metrics: tuple[str, ...]
    interval_ms: int


def check(name: str, options: Mapping[str, str]) -> None:
    """RefusedError, in Kafka's words, if these cannot be those of a subscription."""
    if not name:
        raise _refused("Subscription name can't be empty")
    for key in options:
        if key not in OPTIONS:
            raise _refused(f"Unknown client metrics configuration: {key[:1_000]}")
    if INTERVAL in options:
        interval_ms = read_value(INTERVAL, OPTIONS[INTERVAL], options[INTERVAL])
        assert isinstance(interval_ms, int)
        if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
            raise _refused(
                f"Invalid value {interval_ms} for {INTERVAL}, interval must be between"
                f" {INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)"
            )
    patterns(options.get(MATCH, ""))


def patterns(text: str) -> dict[str, re.Pattern[str]]:
    """What a client has to be, each by its key. RefusedError."""
    found = {}
    for part in filter(None, parts(text)):
        key, sign, pattern = part.partition("=")
        if not sign or not pattern or "=" in pattern:
            raise RefusedError(
                ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {part[:1_000]}"
            )
        if key.strip() not in _KEYS:
            raise RefusedError(
                ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {part[:1_000]}"
            )
        try:
            found[key.strip()] = re.compile(pattern.strip())
        except (re.error, RecursionError):
            raise RefusedError(
                ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {part[:1_000]}"
            ) from None
    return found


def wanted_of(subscriptions: Mapping[str, Mapping[str, str]], client: Mapping[str, str]) -> Wanted:
    """What all subscriptions that match a client come to."""
    metrics: dict[str, None] = {}
    interval_ms = DEFAULT_INTERVAL_MS
    for options in subscriptions.values():
        wishes = patterns(options.get(MATCH, ""))
        if all(wish.fullmatch(client.get(key, "")) for key, wish in wishes.items()):
            metrics |= dict.fromkeys(filter(None, parts(options.get(METRICS, ""))))
            interval_ms = min(interval_ms, int(options.get(INTERVAL, DEFAULT_INTERVAL_MS)))
    if EVERYTHING in metrics:
        metrics = {EVERYTHING: None}
    return Wanted(tuple(metrics), interval_ms)


def _refused(why: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_REQUEST, why)
