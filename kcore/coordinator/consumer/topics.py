"""What a group's subscriptions mean in the cluster as it is now."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from kcore.coordinator.consumer.group import Resolved
from kcore.coordinator.patterns import compiled

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics

_HASH_BYTES: Final = 8


def ids_of(topics: Topics, names: Iterable[str]) -> frozenset[bytes]:
    """The ids of those that exist."""
    found = map(topics.id_of, names)
    return frozenset(topic_id for topic_id in found if topic_id is not None)


def metadata_hash(topics: Topics, names: Iterable[str]) -> int:
    """A number that changes when one of these topics comes, goes, is made anew or grows; 0 if there
    is none (KIP-1101). Kafka's differs: one that reads this journal makes one assignment more.
    """
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    existing = False
    for name in sorted(names):
        topic_id = topics.id_of(name)
        if topic_id is not None:
            existing = True
            digest.update(topic_id)
            digest.update(b"%d %b\0" % (topics.partition_count(name), name.encode()))
    return int.from_bytes(digest.digest(), "big", signed=True) if existing else 0


def resolve(
    topics: Topics, regexes: Iterable[str], wall_ms: int, sees: Callable[[str], bool] | None = None
) -> dict[str, Resolved]:
    """What each regular expression stands for; nothing, if it cannot be read. sees: which topics
    who asks may know of; None: all.
    """
    names = list(filter(sees, topics.names()) if sees is not None else topics.names())
    found = {}
    for regex in regexes:
        pattern = compiled(regex)
        matching = () if pattern is None else filter(pattern.fullmatch, names)
        found[regex] = Resolved(frozenset(matching), topics.version, wall_ms)
    return found
