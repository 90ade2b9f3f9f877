"""A scripted coordinator of the consumer protocol (KIP-848) for `scripted.ScriptedCluster`: one
group, shared evenly, in which nobody is given what another one still has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scripted import ScriptedCluster

from kcore.wire import messages as m
from kcore.wire.apis import ApiKey

INTERVAL_MS = 1_000
UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH = 25, 110, 113

IdPartition = tuple[bytes, int]


@dataclass
class Told:
    """What a member has said of itself, and what it was told to have."""

    epoch: int = 0
    topics: list[str] = field(default_factory=list)
    owned: set[IdPartition] = field(default_factory=set)
    given: set[IdPartition] = field(default_factory=set)


class ScriptedCoordinator:
    """`ScriptedCluster` with it: `ScriptedCoordinator(cluster)`. `members` by id."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self._cluster = cluster
        self.members: dict[str, Told] = {}
        self.epoch = 0
        cluster.topic_ids = {name: name.encode().ljust(16, b"-") for name in cluster.topics}
        cluster.apis[ApiKey.CONSUMER_GROUP_HEARTBEAT] = (0, 1)
        cluster._consumer_group_heartbeat = self._heartbeat  # type: ignore[attr-defined]
        cluster.script[ApiKey.OFFSET_COMMIT] = self._check_commit

    def _heartbeat(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        body, R = request.message, m.ConsumerGroupHeartbeatResponse
        if body.member_epoch < 0:
            if self.members.pop(body.member_id, None) is not None:
                self.epoch += 1
            reply(R(member_id=body.member_id, member_epoch=body.member_epoch))
            return
        if body.member_epoch == 0:
            self.members[body.member_id] = Told()
            self.epoch += 1
        member = self.members.get(body.member_id)
        if member is None or body.member_epoch > self.epoch:
            reply(R(error_code=UNKNOWN_MEMBER_ID if member is None else FENCED_MEMBER_EPOCH))
            return
        before = set(member.given)
        if body.subscribed_topic_names is not None:
            self.epoch += body.subscribed_topic_names != member.topics
            member.topics = body.subscribed_topic_names
        if body.topic_partitions is not None:
            member.owned = {(t.topic_id, p) for t in body.topic_partitions for p in t.partitions}
        member.given = self._target(body.member_id) - self._held_by_others(body.member_id)
        member.epoch = self.epoch
        full = body.subscribed_topic_names is not None and body.topic_partitions is not None
        told = None
        if full or member.given != before:
            told = R.Assignment(
                topic_partitions=[
                    R.TopicPartitions(topic_id=topic_id, partitions=[number])
                    for topic_id, number in sorted(member.given)
                ]
            )
        reply(
            R(
                member_id=body.member_id,
                member_epoch=member.epoch,
                heartbeat_interval_ms=INTERVAL_MS,
                assignment=told,
            )
        )

    def _target(self, member_id: str) -> set[IdPartition]:
        found = set()
        for topic in self.members[member_id].topics:
            sharers = sorted(name for name, told in self.members.items() if topic in told.topics)
            for number in range(self._cluster.topics.get(topic, 0)):
                if sharers[number % len(sharers)] == member_id:
                    found.add((self._cluster.topic_ids[topic], number))
        return found

    def _held_by_others(self, member_id: str) -> set[IdPartition]:
        others = [told for name, told in self.members.items() if name != member_id]
        return set().union(*(told.owned | told.given for told in others))

    def _check_commit(self, node: int, request: Any) -> Any:
        """Refuse, or let the cluster's own handler take it for one of the present generation."""
        body, group = request.message, self._cluster.group
        member = self.members.get(body.member_id)
        if body.generation_id_or_member_epoch < 0:
            return None
        if member is not None and member.epoch == body.generation_id_or_member_epoch:
            group.generation = member.epoch
            group.members = {body.member_id: None}  # type: ignore[dict-item]
            return None
        code = UNKNOWN_MEMBER_ID if member is None else STALE_MEMBER_EPOCH
        R = m.OffsetCommitResponse
        return R(
            topics=[
                R.OffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        R.OffsetCommitResponsePartition(
                            partition_index=each.partition_index, error_code=code
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in body.topics
            ]
        )
