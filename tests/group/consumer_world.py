"""A world of one member of the consumer protocol (KIP-848): group_world with the coordinator's side
of ConsumerGroupHeartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from group_world import ANSWERS, Request, World, tps

from kcore.errors import KafkaError
from kcore.structs import TopicPartition
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
INTERVAL_MS = 5_000
IDS = {"t1": b"1" * 16, "t2": b"2" * 16}


@dataclass
class ConsumerWorld(World):
    """See the module's text."""

    def __post_init__(self) -> None:
        self.config = {"group_protocol": "consumer"} | self.config
        super().__post_init__()
        self.topics_told: list[str] = []
        self.owned_told: list[TopicPartition] = []
        self.cluster.ids = dict(IDS)

    def id_of(self, topic: str) -> bytes:
        return IDS.get(topic) or topic.encode().ljust(16, b"-")

    def beat(self, assigned: str | None = None, **fields: Any) -> Request:
        """Answer the open heartbeat; `assigned` is the target, None says nothing of it."""
        return self.answer(BEAT, assigned=assigned, **fields)

    def refuse(self, error: int | KafkaError, **fields: Any) -> Request:
        return self.answer(BEAT, error, **fields)

    def start(self, *topics: str) -> None:
        """From nothing to the first heartbeat, on its way."""
        self.subscribe(*(topics or ("t1",)))
        self.find()
        self.poll()

    def become_stable(self, *topics: str, assigned: str = "t1-0 t1-1", **fields: Any) -> None:
        """From nothing to a member with an assignment that it has told of."""
        self.start(*topics)
        self.take(assigned, **fields)
        assert self.member.stable, (self.member.state, self.member.step)
        self.seen = len(self.events)

    def take(self, assigned: str, **fields: Any) -> None:
        """Answer with a target, and go all the way to what acknowledges it, answered."""
        self.beat(assigned, **fields)
        for _ in range(3):
            self.poll()
            if self.options.await_acknowledgement:
                self.ack()
        self.beat()

    def next_beat(self) -> Request:
        """The heartbeat that comes with time."""
        self.run(INTERVAL_MS, poll_every=1_000)
        return self.request(BEAT)

    def said(self, request: Request) -> dict[str, Any]:
        """What a heartbeat says beside who sends it, with topics by name."""
        body = request.body
        fields = {
            "timeout": None if body.rebalance_timeout_ms < 0 else body.rebalance_timeout_ms,
            "topics": body.subscribed_topic_names,
            "assignor": body.server_assignor,
            "rack": body.rack_id,
            "owned": body.topic_partitions,
        }
        if body.topic_partitions is not None:
            fields["owned"] = [
                TopicPartition(self.name_of(entry.topic_id), number)
                for entry in body.topic_partitions
                for number in entry.partitions
            ]
        return {name: value for name, value in fields.items() if value is not None}

    def name_of(self, topic_id: bytes) -> str:
        return next(
            (name for name, known in IDS.items() if known == topic_id),
            topic_id.rstrip(b"-").decode(),
        )


def _beat(world: World, request: Request, error: int, fields: dict[str, Any]) -> Any:
    assert isinstance(world, ConsumerWorld)
    cls, body = API_TABLE[BEAT].response, request.body
    if error:
        return cls(error_code=error, error_message=fields.get("message"))
    if body.member_epoch < 0:
        return cls(member_id=body.member_id, member_epoch=body.member_epoch)
    said = world.said(request)
    world.topics_told = said.get("topics", world.topics_told)
    world.owned_told = said.get("owned", world.owned_told)
    assigned = fields.get("assigned")
    if world.auto:
        assigned = " ".join(
            f"{topic}-{number}"
            for topic in world.topics_told
            for number in range(world.cluster.counts.get(topic) or 0)
        )
    by_topic: dict[str, list[int]] = {}
    for at in tps(assigned or ""):
        by_topic.setdefault(at.topic, []).append(at.partition)
    entries = [
        cls.TopicPartitions(topic_id=world.id_of(topic), partitions=numbers)
        for topic, numbers in by_topic.items()
    ]
    return cls(
        error_code=ErrorCode.NONE,
        member_id=fields.get("member_id", body.member_id or "given"),
        member_epoch=fields.get("epoch", body.member_epoch or 1),
        heartbeat_interval_ms=fields.get("interval", INTERVAL_MS),
        throttle_time_ms=fields.get("throttle_time_ms", 0),
        assignment=None if assigned is None else cls.Assignment(topic_partitions=entries),
    )


ANSWERS[BEAT] = _beat


def stable(assigned: str = "t1-0 t1-1", **config: object) -> ConsumerWorld:
    world = ConsumerWorld(config=config)
    world.become_stable(assigned=assigned)
    return world
