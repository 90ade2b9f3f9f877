"""Streams groups in the world of the coordinator: topologies, heartbeats, topics that are made."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from consumer_groups_world import Topics
from coordinator_world import WALL, World

from kcore.coordinator import GroupCoordinator
from kcore.coordinator.keeper import NoKeeper
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import Assigned, StreamsMember
from kcore.coordinator.streams.options import StreamsOptions
from kcore.wire import messages as m

Beat = m.StreamsGroupHeartbeatRequest
RT = 12_000
ROLES = ("active", "standby", "warmup")


def internal(name: str, partitions: int = 0, factor: int = 0, **configs: str) -> Any:
    pairs = [Beat.KeyValue(key=key, value=value) for key, value in configs.items()]
    return Beat.TopicInfo(
        name=name, partitions=partitions, replication_factor=factor, topic_configs=pairs
    )


def part(name: str, sources: Any = (), **more: Any) -> Any:
    """A subtopology; sinks, repartitions, changelogs and copartitions as in the topology."""
    return Beat.Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        repartition_sink_topics=list(more.get("sinks", ())),
        repartition_source_topics=list(more.get("repartitions", ())),
        state_changelog_topics=list(more.get("changelogs", ())),
        copartition_groups=[
            Beat.CopartitionGroup(source_topics=list(one), repartition_source_topics=list(other))
            for one, other in more.get("copartitions", ())
        ],
    )


def topology(*parts: Any, epoch: int = 0) -> Any:
    return Beat.Topology(epoch=epoch, subtopologies=list(parts))


STATELESS = topology(part("0", ["in"]))
STATEFUL = topology(part("0", ["in"], changelogs=[internal("store")]))
WORDS = topology(
    part("0", ["in"], sinks=["words"]),
    part("1", repartitions=[internal("words")], changelogs=[internal("counts", factor=2, a="b")]),
)


def tasks(*names: str) -> dict[str, list[int]]:
    """`tasks("0_1")` -> {"0": [1]}"""
    found: dict[str, list[int]] = {}
    for name in names:
        subtopology, _, number = name.partition("_")
        found.setdefault(subtopology, []).append(int(number))
    return found


def owning(active: Any = (), standby: Any = ()) -> dict[str, Any]:
    def ids(names: Any) -> Any:
        return [
            Beat.TaskIds(subtopology_id=name, partitions=numbers)
            for name, numbers in tasks(*names).items()
        ]

    return {"active_tasks": ids(active), "standby_tasks": ids(standby), "warmup_tasks": []}


def shown(parts: Any) -> list[str] | None:
    if parts is None:
        return None
    return [f"{one.subtopology_id}_{number}" for one in parts for number in one.partitions]


def held(assigned: Assigned) -> tuple[list[str], list[str]]:
    active, standby = (
        [f"{name}_{number}" for name, number in sorted(found)]
        for found in (assigned.active, assigned.standby)
    )
    return active, standby


class StreamsWorld(World, NoKeeper):
    """`sizes`: topics. `set_for`: fields of StreamsOptions by group. No delays unless given.

    creating: whether topics can be made; allowed: which ones who asks may create.
    """

    def __init__(self, sizes: dict[str, int] | None = None, **options: Any) -> None:
        self.sizes = Topics(**({"in": 4} if sizes is None else sizes))
        self.set_for: dict[str, dict[str, Any]] = {}
        self.created: list[Any] = []
        self.creating: str | None = None
        options.setdefault("group_streams_initial_rebalance_delay_ms", 0)
        options.setdefault("group_streams_assignment_interval_ms", 0)
        super().__init__(**options)

    def make(self, seed: int = 1) -> GroupCoordinator:
        self.topics = self.sizes
        NoKeeper.__init__(self, self.config)
        return GroupCoordinator(
            self.config,
            random.Random(seed),
            self.topics,
            wall_offset_ms=WALL,
            immediate=self.immediate,
            keeper=self,
        )

    # The keeper.

    def streams_options(self, group_id: str) -> StreamsOptions:
        return replace(self.config.streams_options, **self.set_for.get(group_id, {}))

    def create_internal_topics(self, topics: Any) -> dict[str, str]:
        topics = list(topics)
        self.created += topics
        if self.creating is not None:
            return {topic.name: self.creating for topic in topics}
        for topic in topics:
            self.sizes.resize(**{topic.name: topic.partitions})
        return {}

    @property
    def streams(self) -> StreamsGroup:
        found = self.coordinator.streams_group("g")
        assert found is not None
        return found

    def member(self, member_id: str) -> StreamsMember:
        return self.streams.members[member_id]

    def state_of(self, member_id: str) -> Any:
        member = self.member(member_id)
        return member.state.name, member.epoch, held(member.assigned), held(member.pending)

    def put_beat(self, member_id: str, epoch: int, **more: Any) -> int:
        request = Beat(**{"group_id": "g"} | more, member_id=member_id, member_epoch=epoch)
        return self.send(request, 0)

    def put_enter(self, member_id: str, said: Any = STATELESS, **more: Any) -> int:
        fields = {"topology": said, "rebalance_timeout_ms": RT, "process_id": f"p-{member_id}"}
        return self.put_beat(member_id, 0, **fields | owning() | more)

    def answer(self, token: int) -> Any:
        """(epoch, active, standby), or the error."""
        answer = self.replies[token]
        if answer.error_code:
            assert (answer.member_epoch, answer.active_tasks) == (0, None)
            return answer.error_code
        assert not answer.warmup_tasks
        return answer.member_epoch, shown(answer.active_tasks), shown(answer.standby_tasks)

    def beat(self, member_id: str, epoch: int, **more: Any) -> Any:
        return self.answer(self.put_beat(member_id, epoch, **more))

    def enter(self, member_id: str, said: Any = STATELESS, **more: Any) -> Any:
        return self.answer(self.put_enter(member_id, said, **more))

    def statuses(self, token: int) -> list[Any]:
        return [(one.status_code, one.status_detail) for one in self.replies[token].status]

    def described(self, group: str = "g") -> Any:
        (one,) = self.ask(m.StreamsGroupDescribeRequest(group_ids=[group]), 0).groups
        return one
