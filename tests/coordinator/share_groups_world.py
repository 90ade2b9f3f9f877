"""Share groups in the world of the coordinator: heartbeats, and what is set for a group."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from consumer_groups_world import Topics, shown
from coordinator_world import WALL, World

from kcore.coordinator import GroupCoordinator
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.share.keeper import NOT_STARTED, ShareOffset
from kcore.coordinator.share.options import ShareOptions
from kcore.wire import messages as m


class ShareWorld(World):
    """`sizes`: topics. `set_for`: fields of ShareOptions by group."""

    def __init__(self, sizes: dict[str, int] | None = None, **options: Any) -> None:
        self.sizes = Topics(**({"foo": 4, "bar": 2} if sizes is None else sizes))
        self.set_for: dict[str, dict[str, Any]] = {}
        self.read: dict[tuple[str, bytes, int], ShareOffset] = {}
        options.setdefault("group_share_assignment_interval_ms", 0)
        super().__init__(**options)

    def make(self, seed: int = 1) -> GroupCoordinator:
        self.topics = self.sizes
        return GroupCoordinator(
            self.config,
            random.Random(seed),
            self.topics,
            wall_offset_ms=WALL,
            immediate=self.immediate,
            keeper=self,
        )

    # The keeper of what groups have read.

    def share_options(self, group_id: str) -> ShareOptions:
        return replace(self.config.share_options, **self.set_for.get(group_id, {}))

    def share_offset(self, group_id: str, topic_id: bytes, partition: int) -> ShareOffset:
        return self.read.get((group_id, topic_id, partition), NOT_STARTED)

    def alter_share_offset(
        self, group_id: str, topic_id: bytes, partition: int, offset: int
    ) -> None:
        self.read[group_id, topic_id, partition] = ShareOffset(offset, 0, 0)

    def forget_share_group(self, group_id: str, topic_ids: Any = None) -> None:
        for key in list(self.read):
            if key[0] == group_id and (topic_ids is None or key[1] in topic_ids):
                del self.read[key]

    @property
    def share(self) -> ShareGroup | None:
        return self.coordinator.share_group("g")

    def put_beat(
        self, member: str, epoch: int, topics: Any = None, *, group: str = "g", **more: Any
    ) -> int:
        request = m.ShareGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=None if topics is None else list(topics),
            **more,
        )
        return self.send(request, 1)

    def beat(self, member: str, epoch: int, topics: Any = None, **more: Any) -> Any:
        """(epoch, assignment) of a heartbeat, or its error."""
        answer = self.replies[self.put_beat(member, epoch, topics, **more)]
        if answer.error_code:
            assert (answer.member_epoch, answer.assignment) == (0, None)
            return answer.error_code
        return answer.member_epoch, shown(answer.assignment)

    def enter(self, member: str, topics: Any = ("foo", "bar"), **more: Any) -> Any:
        return self.beat(member, 0, topics, **more)

    def described(self, group: str = "g") -> Any:
        (one,) = self.ask(m.ShareGroupDescribeRequest(group_ids=[group]), 1).groups
        return one
