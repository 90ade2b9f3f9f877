"""librdkafka's partitioners, by the names that its `partitioner` has, and as functions.

Source: rdkafka_msg.c, rdfnv1a.c of librdkafka: CRC-32, Java's murmur2, and the FNV-1a of Sarama.
What is drawn stays with a partition until that has a batch, as ours does
(sticky.partitioning.linger.ms is librdkafka's way to the same).
"""

from __future__ import annotations

from collections.abc import Callable
from random import randrange
from typing import Final
from zlib import crc32

from kcore.produce.murmur import partition_of

DRAWN: Final = -1
_FNV_BASIS, _FNV_PRIME = 0x811C9DC5, 0x01000193


def murmur2(key: bytes, partition_count: int) -> int:
    """The partition of a key as Java has it. TypeError, ValueError."""
    _check(key, partition_count)
    return partition_of(key, partition_count)


def consistent(key: bytes, partition_count: int) -> int:
    """The partition of a key by its CRC-32. TypeError, ValueError."""
    _check(key, partition_count)
    return crc32(key) % partition_count


def fnv1a(key: bytes, partition_count: int) -> int:
    """The partition of a key by its FNV-1a hash, as Sarama has it. TypeError, ValueError."""
    _check(key, partition_count)
    found = _FNV_BASIS
    for byte in key:
        found = (found ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    if found >= 1 << 31:
        found = (1 << 32) - found
    return found % partition_count


def _check(key: object, partition_count: object) -> None:
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise TypeError(f"key must be bytes, not {type(key).__name__}")
    if not isinstance(partition_count, int) or isinstance(partition_count, bool):
        raise TypeError(f"partition_count must be an int, not {type(partition_count).__name__}")
    if partition_count <= 0:
        raise ValueError("partition_count must be > 0")


Chooser = Callable[[bytes | None, int], int]
"""The partition for a key among so many; DRAWN: our producer's, for records without a key."""


def _random(_key: bytes | None, _count: int) -> int:
    return DRAWN


def _consistent(key: bytes | None, count: int) -> int:
    return crc32(key or b"") % count


def _consistent_random(key: bytes | None, count: int) -> int:
    if key:
        return crc32(key) % count
    return DRAWN if key is None else randrange(count)


def _murmur2(key: bytes | None, count: int) -> int:
    return partition_of(key or b"", count)


def _murmur2_random(key: bytes | None, count: int) -> int:
    return DRAWN if key is None else partition_of(key, count)


def _fnv1a(key: bytes | None, count: int) -> int:
    return fnv1a(key or b"", count)


def _fnv1a_random(key: bytes | None, count: int) -> int:
    return DRAWN if key is None else fnv1a(key, count)


CHOOSERS: Final[dict[str, Chooser]] = {
    "random": _random,
    "consistent": _consistent,
    "consistent_random": _consistent_random,
    "murmur2": _murmur2,
    "murmur2_random": _murmur2_random,
    "fnv1a": _fnv1a,
    "fnv1a_random": _fnv1a_random,
}
