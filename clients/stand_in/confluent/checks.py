"""What librdkafka refuses of a configuration as a whole: values that each could be, and that do not
go together.

Source: rd_kafka_conf_finalize and rd_kafka_topic_conf_finalize of librdkafka 2.16. Where one of two
was not given, librdkafka adjusts that, and so says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcore.clients.stand_in.confluent.errors import KafkaException, failure

_SESSION_MS: Final = 45_000
_POLL_MS: Final = 300_000
_LARGEST: Final = 1_000_000
_FETCH: Final = 50 << 20
_BACKOFF_MS, _BACKOFF_MAX_MS = 100, 10_000
_LINGER_MS: Final = 5
_TRANSACTION_MS: Final = 60_000
_OVERHEAD: Final = 512  # of what a fetch brings beside records, as librdkafka takes it
_OF_BROKERS: Final = ("session.timeout.ms", "heartbeat.interval.ms", "group.protocol.type")
DEBUGS: Final = frozenset(
    """
    generic broker topic metadata feature queue msg protocol cgrp security fetch interceptor plugin
    consumer admin eos mock assignor conf telemetry all
    """.split()  # noqa: SIM905 - a line of names is read more easily so
)

Given = Mapping[str, Any]


def check_all(given: Given) -> None:
    """Of any client. KafkaException."""
    if "debug" in given:
        _check_debug(given["debug"])
    if given.get("reconnect.backoff.max.ms", _BACKOFF_MAX_MS) < given.get(
        "reconnect.backoff.ms", _BACKOFF_MS
    ):
        raise _wrong("`reconnect.backoff.max.ms` must be >= `reconnect.backoff.ms`")


def _check_debug(text: str) -> None:
    if not text:
        raise _wrong('Configuration property "debug" cannot be set to empty value')
    for name in text.split(","):
        if name.strip() and name.strip() not in DEBUGS:
            raise _wrong(f'Invalid value "{name.strip()}" for configuration property "debug"')


def check_fetching(given: Given) -> None:
    """Of who reads. KafkaException."""
    fetch = given.get("fetch.max.bytes", _FETCH)
    if "fetch.max.bytes" in given and fetch < given.get("message.max.bytes", _LARGEST):
        raise _wrong("`fetch.max.bytes` must be >= `message.max.bytes`")
    if given.get("receive.message.max.bytes", fetch + _OVERHEAD) < fetch + _OVERHEAD:
        raise _wrong("`receive.message.max.bytes` must be >= `fetch.max.bytes` + 512")


def check_consumer(given: Given) -> None:
    """Of a consumer. KafkaException."""
    check_fetching(given)
    if given.get("group.protocol") == "consumer":
        for name in (*_OF_BROKERS, "partition.assignment.strategy"):
            if name in given:
                raise _wrong(f"`{name}` is not supported for `group.protocol=consumer`")
    elif given.get("max.poll.interval.ms", _POLL_MS) < given.get("session.timeout.ms", _SESSION_MS):
        raise _wrong("`max.poll.interval.ms` must be >= `session.timeout.ms`")


def check_producer(given: Given) -> None:
    """Of a producer. KafkaException."""
    timeout = given.get("message.timeout.ms", 0)
    if not timeout:
        return
    if given.get("linger.ms", 0) >= timeout:
        raise _wrong("`message.timeout.ms` must be greater than `linger.ms`")
    if given.get("transactional.id") and timeout > given.get(
        "transaction.timeout.ms", _TRANSACTION_MS
    ):
        raise _wrong("`message.timeout.ms` must be set <= `transaction.timeout.ms`")


def _wrong(why: str) -> KafkaException:
    return failure("_INVALID_ARG", why)
