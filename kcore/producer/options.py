"""The options that only producers have, and all the names a producer knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcore.limits import MAX_INT32, MAX_TIMEOUT_MS
from kcore.records.codecs import NAMES as CODECS
from kcore.settings import java, names
from kcore.settings.parsers import (
    Parser,
    choice,
    integer,
    interceptors,
    optional,
    refuse,
    text,
    transactional_id,
    truth,
)

_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}


def acks(option: str, value: object) -> int:
    """0, 1, -1 or "all"."""
    found = None if isinstance(value, bool) else _ACKS.get(str(value).strip().lower())
    if found is None:
        raise refuse(option, value, "0, 1, -1 or 'all'")
    return found


def retries(option: str, value: object) -> int:
    """A number of attempts; infinity is as many as fit into delivery_timeout_ms."""
    if value == float("inf"):
        return MAX_INT32
    found = integer(0)(option, value)
    assert isinstance(found, int)
    return found


def compression(option: str, value: object) -> str:
    """A codec's name; None: none."""
    if value is None:
        return "none"
    found = choice(*CODECS)(option, value)
    assert isinstance(found, str)
    return found


def serializer(option: str, value: object) -> object:
    """A callable that gives bytes, or an object with `serialize(topic, headers, data)`."""
    if isinstance(value, type):
        raise refuse(option, value, "an instance or a function, not a class")
    if not callable(value) and not callable(getattr(value, "serialize", None)):
        raise refuse(option, value, "a callable, or an object with serialize()")
    return value


def partitioner(option: str, value: object) -> object:
    """A callable, or an object as kafka.partitioner.Partitioner is."""
    # A str has a method of that name, which does something else.
    if isinstance(value, (type, str, bytes, bytearray)) or not (
        callable(value) or callable(getattr(value, "partition", None))
    ):
        raise refuse(option, value, "a callable, or an object with partition()")
    return value


# Java's, a level for each codec: that of compression_type counts.
LEVELS: Final[Mapping[str, tuple[int, int]]] = {
    "compression_gzip_level": (-1, 9),
    "compression_lz4_level": (1, 17),
    "compression_zstd_level": (-131_072, 22),
}

PARSERS: Final[Mapping[str, Parser]] = {
    **names.PARSERS,
    "key_serializer": optional(serializer),
    "value_serializer": optional(serializer),
    "acks": acks,
    "enable_idempotence": truth,
    "compression_type": compression,
    "compression_level": optional(integer(-131_072, 22)),
    **{name: optional(integer(*span)) for name, span in LEVELS.items()},
    "retries": retries,
    "batch_size": integer(0),
    "linger_ms": optional(integer(0, MAX_TIMEOUT_MS)),
    "buffer_memory": integer(1, 1 << 40),
    "max_request_size": integer(1),
    "max_block_ms": integer(0, MAX_TIMEOUT_MS),
    "delivery_timeout_ms": integer(1),
    "partitioner": optional(partitioner),
    "partitioner_ignore_keys": truth,
    "partitioner_adaptive_partitioning_enable": truth,
    "partitioner_rack_aware": truth,
    "client_rack": text,
    "metadata_max_idle_ms": integer(5_000, MAX_TIMEOUT_MS),
    "transactional_id": optional(transactional_id),
    "transaction_timeout_ms": integer(1),
    "interceptor_classes": interceptors("on_send", "on_acknowledgement"),
}

LATER: Final[Mapping[str, tuple[object, str]]] = {
    **names.without(names.LATER, "interceptor_classes"),
    "partitioner_class": (None, "pass a callable as partitioner="),
    "partitioner_availability_timeout_ms": (0, "only 0 is available"),
}
WITHOUT_EFFECT: Final[Mapping[str, object]] = {
    **names.WITHOUT_EFFECT,
    "metric_group_prefix": "producer",
}
FOREIGN: Final[java.Foreign] = {
    **java.COMMON,
    "transaction_two_phase_commit_enable": (False, "two-phase commit is not available"),
    "buffer_memory_allocation_strategy": ("full", "memory is taken as records come"),
}
TABLE: Final = names.Table(PARSERS, LATER, WITHOUT_EFFECT, FOREIGN)
