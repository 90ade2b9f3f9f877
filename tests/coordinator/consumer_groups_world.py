"""Consumer groups in the world of the coordinator: topics, heartbeats, and groups made at will."""

from __future__ import annotations

from typing import Any

from coordinator_world import World

from kcore.coordinator.consumer import records
from kcore.coordinator.consumer.assignors import ASSIGNORS
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.coordinator.numbered import grouped
from kcore.wire import messages as m

RT = 12_000


def id_of(name: str) -> bytes:
    return name.encode().rjust(16, b"_")


class Topics:
    """`sizes`: how many partitions each topic has."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self.version = 1
        self.made: dict[str, int] = {}

    def resize(self, **sizes: int) -> None:
        self.sizes = self.sizes | sizes
        self.version += 1

    def delete(self, name: str) -> None:
        del self.sizes[name]
        self.version += 1

    def names(self) -> Any:
        return list(self.sizes)

    def partition_count(self, name: str) -> int:
        return self.sizes.get(name, 0)

    def name_of(self, topic_id: bytes) -> str | None:
        name = topic_id.lstrip(b"_").decode()
        return name if name in self.sizes else None

    def id_of(self, name: str) -> bytes | None:
        return id_of(name) if name in self.sizes else None

    def has_partition(self, name: str, partition: int) -> bool:
        return 0 <= partition < self.partition_count(name)


def parts(**topics: Any) -> dict[Any, int]:
    """{(topic id, partition): epoch 0}; `parts(foo=[0, 1])`."""
    return {(id_of(name), number): 0 for name, numbers in topics.items() for number in numbers}


def shown(assignment: Any) -> Any:
    """An assignment as {topic: partitions}; None if there is none."""
    if assignment is None:
        return None
    return {
        part.topic_id.lstrip(b"_").decode(): part.partitions for part in assignment.topic_partitions
    }


class ConsumerWorld(World):
    """`sizes`: topics. The interval between assignments is 0, unless it is given."""

    def __init__(self, sizes: dict[str, int] | None = None, **options: Any) -> None:
        self.sizes = Topics(**({"foo": 6, "bar": 3} if sizes is None else sizes))
        options.setdefault("group_consumer_assignment_interval_ms", 0)
        super().__init__(**options)

    def make(self, seed: int = 1) -> Any:
        self.topics = self.sizes
        return super().make(seed)

    @property
    def consumers(self) -> ConsumerGroup:
        found = self.coordinator.consumer_group("g")
        assert found is not None
        return found

    def member(self, member_id: str) -> ConsumerMember:
        return self.consumers.members[member_id]

    def put_beat(
        self,
        member_id: str,
        epoch: int,
        topics: Any = None,
        owned: Any = None,
        *,
        version: int = 1,
        group: str = "g",
        **more: Any,
    ) -> int:
        """Send a heartbeat. owned: as `parts` makes them."""
        Request = m.ConsumerGroupHeartbeatRequest
        request = Request(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=topics,
            **more,
        )
        if owned is not None:
            request.topic_partitions = [
                Request.TopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in grouped(owned).items()
            ]
        return self.send(request, version)

    def beat(self, member_id: str, epoch: int, *args: Any, **more: Any) -> Any:
        """(error, epoch, assignment) of a heartbeat."""
        answer = self.replies[self.put_beat(member_id, epoch, *args, **more)]
        if answer.error_code:
            assert (answer.member_epoch, answer.assignment) == (0, None)
            return answer.error_code
        return answer.member_epoch, shown(answer.assignment)

    def enter(self, member_id: str, topics: Any = ("foo", "bar"), **more: Any) -> Any:
        """Join."""
        more.setdefault("rebalance_timeout_ms", RT)
        names = None if topics is None else list(topics)
        return self.beat(member_id, 0, names, {}, **more)

    def state_of(self, member_id: str) -> Any:
        member = self.member(member_id)
        return member.state.name, member.epoch, set(member.assigned), set(member.pending)


def kept_group(members: Any, targets: Any, epoch: int, *, sizes_hash: int = 0) -> list[Any]:
    """The journal of a group at an epoch: members, and {id: partitions} of the target."""
    items: list[Any] = [records.member_entry("g", member) for member in members]
    items.append(records.epoch_entry("g", epoch, sizes_hash))
    for member_id, target in targets.items():
        items.append(records.target_entry("g", member_id, frozenset(target)))
    items.append(records.target_epoch_entry("g", epoch, 0))
    return items + [records.current_entry("g", member) for member in members]


def decide(monkeypatch: Any, targets: Any) -> None:
    """What the assignor says from now on: {member id: parts}."""
    answer = {member_id: frozenset(target) for member_id, target in targets.items()}
    monkeypatch.setitem(ASSIGNORS, "uniform", lambda _members, _sizes: answer)
