"""The way of a node's dead letters to their topic (KIP-1191).

What a share-partition gives up is archived once its letters are written, or cannot be: there is no
such topic, it is not for dead letters, or does not take them. Where nobody leads it now it is tried
again some times. Source of the rules: Java's ShareGroupDLQStateManager of Kafka 4.4.

Left out: letters wait for no replica, so what nobody but a leader has may get lost with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import RefusedError
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.share.letters import Address, Copies, letters
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.node import Node
    from kcore.broker.share.keeping import ShareKey
    from kcore.broker.share.partition import Dead, SharePartition
    from kcore.broker.topics import Topic

# What no name of a topic for them begins with.
_INTERNAL: Final = "__"
# Of a topic that is made for them: the time of a letter is its own, whatever topics have else.
_SETTINGS: Final = {
    "errors.deadletterqueue.group.enable": "true",
    "message.timestamp.type": "CreateTime",
}

_ATTEMPTS_MAX: Final = 5
_BACKOFF_MS: Final = 1_000


@dataclass(slots=True)
class Condemned:
    """What a share-partition gave up and is not written down yet. at_ms: when it is tried next."""

    key: ShareKey
    share: SharePartition
    dead: Dead
    at_ms: int
    attempts: int = 0


class DeadLetters:
    """Those of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cluster = node.cluster
        self._waiting: list[Condemned] = []
        self._written: dict[Partition, None] = {}

    def take(self, key: ShareKey, share: SharePartition, now_ms: int) -> None:
        """What a share-partition has given up since is to be written; `write` does."""
        self._waiting += [Condemned(key, share, dead, now_ms) for dead in share.dead]
        share.dead = []

    def waits(self, key: ShareKey) -> bool:
        """Whether something that a share-partition gave up is not written yet."""
        return any(one.key == key for one in self._waiting)

    def deadline(self) -> int:
        """When `write` is to be called."""
        return min((one.at_ms for one in self._waiting), default=NEVER)

    def due(self, now_ms: int) -> list[ShareKey]:
        """The share-partitions that it is to be called for."""
        return list(dict.fromkeys(one.key for one in self._waiting if one.at_ms <= now_ms))

    def write(
        self, key: ShareKey, share: SharePartition, source: Partition, now_ms: int, wall_ms: int
    ) -> None:
        """Write what it is time for, and have it archived. Readers are told by `tell`."""
        left, over = [], []
        copies = Copies(source.log)
        for one in self._waiting:
            if one.key != key or one.at_ms > now_ms:
                left.append(one)
            elif one.share is not share:
                continue  # what is kept of it has been read anew
            elif self._deliver(one, source, copies, wall_ms):
                over.append(one.dead)
            else:
                one.at_ms = now_ms + (_BACKOFF_MS << one.attempts)
                left.append(one)
        self._waiting = left
        share.bury(over)

    def drop(self, key: ShareKey) -> None:
        """Another node leads the share-partition, or it is gone."""
        self._waiting = [one for one in self._waiting if one.key != key]

    def clear(self) -> None:
        """The node went down."""
        self._waiting.clear()
        self._written.clear()

    def tell(self) -> None:
        """Have who waits for letters look again."""
        written, self._written = self._written, {}
        for partition in written:
            partition.home.changed(partition)

    def _deliver(self, one: Condemned, source: Partition, copies: Copies, wall_ms: int) -> bool:
        """Whether nothing is left to do for it, well or ill."""
        group_id, _, number = one.key
        options = self._cluster.share_options(group_id)
        try:
            topic = self._topic(options.errors_deadletterqueue_topic_name)
            target = topic.partitions[number % len(topic.partitions)]
            if target.leader == NOBODY:
                one.attempts += 1
                return one.attempts >= _ATTEMPTS_MAX
            copied = options.errors_deadletterqueue_copy_record_enable
            for data in letters(
                Address(group_id, source.topic, number),
                one.dead,
                copies if copied else None,
                wall_ms,
                topic.config.max_message_bytes,
            ):
                target.check_min_isr()
                target.append(memoryview(data), self._cluster.now_ms)
                self._written[target] = None
        except RefusedError:
            return True
        return True

    def _topic(self, name: str) -> Topic:
        """The one that they go to, made if it may be. RefusedError."""
        rules = self._cluster.settings.coordinator(self._node.node_id)
        prefix = rules.errors_deadletterqueue_topic_name_prefix
        if not name or name.startswith(_INTERNAL) or not name.startswith(prefix):
            raise RefusedError(ErrorCode.INVALID_CONFIG, f"{name!r} cannot be for dead letters")
        topic = self._cluster.topics.get(name)
        if topic is not None:
            if not topic.config.errors_deadletterqueue_group_enable:
                raise RefusedError(ErrorCode.INVALID_CONFIG, f"{name} is not for dead letters")
            return topic
        if not rules.errors_deadletterqueue_auto_create_topics_enable:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {name}")
        config = self._cluster.config
        return self._cluster.topics.create(
            name,
            config.num_partitions,
            _SETTINGS,
            replication_factor=config.default_replication_factor,
        )
