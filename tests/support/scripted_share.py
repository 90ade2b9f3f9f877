"""A scripted cluster (`scripted.py`) that serves share groups: who has acquired what, by sets."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from scripted import APIS, Client, ScriptedCluster, World

from kcore.clients.guard import Guard
from kcore.clients.reporting import Reporter
from kcore.clients.share.engine import ShareEngine
from kcore.clients.share.share_consumer import ShareConsumer
from kcore.events import ErrorRaised
from kcore.records import encode_batch
from kcore.share.config import ShareConsumerConfig
from kcore.share.core import ShareConsumerCore
from kcore.transports import Step
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

SHARE_APIS = {
    ApiKey.SHARE_GROUP_HEARTBEAT: (1, 1),
    ApiKey.SHARE_FETCH: (1, 2),
    ApiKey.SHARE_ACKNOWLEDGE: (1, 2),
}
FOR_GOOD = (0, 1, 3)  # gap, accept, reject


class SharePartition:
    """offset -> [who has acquired it or None, how often it was delivered, whether it is done]"""

    def __init__(self) -> None:
        self.records: dict[int, list[Any]] = {}

    def release(self, member: str) -> None:
        for entry in self.records.values():
            if entry[0] == member:
                entry[0] = None

    def acquire(self, member: str, offsets: list[int]) -> list[tuple[int, int, int]]:
        ranges: list[list[int]] = []
        for at in offsets:
            entry = self.records[at]
            entry[0] = member
            entry[1] += 1
            if ranges and ranges[-1][1] == at - 1 and ranges[-1][2] == entry[1]:
                ranges[-1][1] = at
            else:
                ranges.append([at, at, entry[1]])
        return [(first, last, count) for first, last, count in ranges]

    def acknowledge(self, member: str, first: int, last: int, types: list[int]) -> int:
        if len(types) not in (1, last - first + 1):
            return ErrorCode.INVALID_REQUEST
        types = types * (last - first + 1) if len(types) == 1 else types
        entries = [self.records.get(at) for at in range(first, last + 1)]
        if any(entry is None or entry[0] != member for entry in entries):
            return ErrorCode.INVALID_RECORD_STATE
        for entry, kind in zip(entries, types, strict=True):
            if kind != 4:
                entry[0] = None
                entry[2] = kind in FOR_GOOD
        return 0


class ShareCluster(ScriptedCluster):
    """told: (node, first, last, types) of every acknowledgement that arrived."""

    def __init__(self, topics: dict[str, int], nodes: int = 1) -> None:
        super().__init__(topics, nodes)
        self.apis = {**APIS, **SHARE_APIS}
        self.topic_ids = {name: name.encode().ljust(16, b"\1") for name in topics}
        self.partitions: dict[tuple[str, int], SharePartition] = {}
        self.sessions: dict[tuple[int, str], int] = {}
        self.in_session: dict[tuple[int, str], set[tuple[str, int]]] = {}
        self.members: dict[str, list[str]] = {}
        self.told: list[tuple[int, int, int, list[int]]] = []
        self.epoch = 1
        self.lock_ms = 30_000

    def fill(self, count: int, topic: str = "t", partition: int = 0, base: int = 0) -> None:
        rows = [(1, b"k", b"%d" % at) for at in range(base, base + count)]
        self.append(topic, partition, encode_batch(rows, base_offset=base), base, count)
        share = self.partitions.setdefault((topic, partition), SharePartition())
        share.records.update({at: [None, 0, False] for at in range(base, base + count)})

    def done(self, topic: str = "t", partition: int = 0) -> list[int]:
        entries = self.partitions[topic, partition].records.items()
        return [at for at, entry in entries if entry[2]]

    def held(self, topic: str = "t", partition: int = 0) -> list[int]:
        entries = self.partitions[topic, partition].records.items()
        return [at for at, entry in entries if entry[0] is not None]

    def forget_sessions(self) -> None:
        for _, member in self.sessions:
            for share in self.partitions.values():
                share.release(member)
        self.sessions.clear()

    # -- answers ---------------------------------------------------------------------------------

    def _share_group_heartbeat(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R, body = m.ShareGroupHeartbeatResponse, request.message
        if body.member_epoch == -1:
            self.members.pop(body.member_id, None)
            reply(R(member_id=body.member_id, member_epoch=-1))
            return
        if body.member_epoch == 0:
            self.epoch += 1
        elif body.member_id not in self.members:
            reply(R(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
            return
        assignment = None
        if body.subscribed_topic_names is not None:
            self.members[body.member_id] = body.subscribed_topic_names
            assignment = R.Assignment(
                topic_partitions=[
                    R.TopicPartitions(
                        topic_id=self.topic_ids[name], partitions=list(range(self.topics[name]))
                    )
                    for name in body.subscribed_topic_names
                    if name in self.topics
                ]
            )
        reply(
            R(
                member_id=body.member_id,
                member_epoch=self.epoch,
                heartbeat_interval_ms=5_000,
                assignment=assignment,
            )
        )

    def _session(self, node: int, body: Any) -> int:
        """The error of a request's session epoch; the session goes on else."""
        key = (node, body.member_id)
        if body.share_session_epoch == 0:
            self.sessions[key] = 1
            self.in_session[key] = set()
            return 0
        if key not in self.sessions:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if body.share_session_epoch == -1:
            del self.sessions[key]
            return 0
        if body.share_session_epoch != self.sessions[key]:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        self.sessions[key] += 1
        return 0

    def _acknowledge(self, node: int, member: str, name: str, part: Any) -> int:
        share = self.partitions.setdefault((name, part.partition_index), SharePartition())
        code, before = 0, -1
        for batch in part.acknowledgement_batches:
            assert before < batch.first_offset <= batch.last_offset
            before = batch.last_offset
            types = batch.acknowledge_types
            self.told.append((node, batch.first_offset, batch.last_offset, types))
            code = code or share.acknowledge(member, batch.first_offset, batch.last_offset, types)
        return code

    def _name(self, topic_id: bytes) -> str:
        return next(name for name, known in self.topic_ids.items() if known == topic_id)

    def _share_acknowledge(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R, body = m.ShareAcknowledgeResponse, request.message
        if code := self._session(node, body):
            reply(R(error_code=code))
            return
        topics = []
        for topic in body.topics:
            parts = [
                R.PartitionData(
                    partition_index=part.partition_index,
                    error_code=self._acknowledge(
                        node, body.member_id, self._name(topic.topic_id), part
                    ),
                )
                for part in topic.partitions
            ]
            topics.append(
                R.ShareAcknowledgeTopicResponse(topic_id=topic.topic_id, partitions=parts)
            )
        if body.share_session_epoch == -1:
            for (_, number), share in self.partitions.items():
                if self.leader_of(number) == node:  # of others it knows nothing
                    share.release(body.member_id)
        reply(R(responses=topics))

    def _share_fetch(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R, body = m.ShareFetchResponse, request.message
        opening = body.share_session_epoch == 0
        if opening and any(p.acknowledgement_batches for t in body.topics for p in t.partitions):
            reply(R(error_code=ErrorCode.INVALID_REQUEST))
            return
        if code := self._session(node, body):
            reply(R(error_code=code))
            return
        mine = self.in_session[node, body.member_id]
        codes: dict[tuple[str, int], int] = {}
        for topic in body.topics:
            name = self._name(topic.topic_id)
            for part in topic.partitions:
                mine.add((name, part.partition_index))
                if part.acknowledgement_batches:
                    codes[name, part.partition_index] = self._acknowledge(
                        node, body.member_id, name, part
                    )
        for topic in body.forgotten_topics_data:
            mine -= {(self._name(topic.topic_id), number) for number in topic.partitions}
        answers: dict[bytes, list[Any]] = {}
        left = body.max_records
        brought = False
        for name, number in sorted(mine | codes.keys()):
            share = self.partitions.setdefault((name, number), SharePartition())
            free = [at for at, entry in share.records.items() if entry[0] is None and not entry[2]]
            free = free if (name, number) in mine else []
            taken = share.acquire(body.member_id, free[: max(left, 0)])
            left -= sum(last - first + 1 for first, last, _ in taken)
            if not taken and (name, number) not in codes:
                continue
            brought = brought or bool(taken)
            wanted = {at for first, last, _ in taken for at in range(first, last + 1)}
            data = b"".join(
                batch
                for base, last, batch in self.logs.get((name, number), ())
                if wanted & set(range(base, last + 1))
            )
            answers.setdefault(self.topic_ids[name], []).append(
                R.PartitionData(
                    partition_index=number,
                    acknowledge_error_code=codes.get((name, number), 0),
                    records=data,
                    acquired_records=[
                        R.AcquiredRecords(
                            first_offset=first, last_offset=last, delivery_count=count
                        )
                        for first, last, count in taken
                    ],
                )
            )
        topics = [
            R.ShareFetchableTopicResponse(topic_id=topic_id, partitions=parts)
            for topic_id, parts in answers.items()
        ]
        answer = R(responses=topics, acquisition_lock_timeout_ms=self.lock_ms)
        reply(answer, **({} if brought or codes else {"delay_ms": body.max_wait_ms}))


class ShareClient(Client):
    """A share consumer's core in a world."""

    def __init__(self, world: World, options: dict[str, Any]) -> None:
        self.world = world
        servers = [f"{host}:{port}" for host, port in world.cluster.nodes.values()]
        config = ShareConsumerConfig.from_options(
            {"bootstrap_servers": servers, "group_id": "g", **options}
        )
        rng = random.Random(f"{world.seed} {len(world.clients)}")  # each has an id of its own
        self.core = ShareConsumerCore(config, rng, world.now)
        self.links: dict[int, int] = {}
        self.events: list[Any] = []
        self.readers: dict[int, Any] = {}
        self.slots: dict[int, deque[list[Any]]] = {}
        self.drain()
        world.clients.append(self)

    def subscribe(self, *topics: str) -> ShareClient:
        self.core.subscribe(topics, self.world.now)
        self.drain()
        return self

    def polled(self, within_ms: int = 2_000, max_records: int | None = None) -> list[Any]:
        """The records of one poll, as a client does it; [] if none come."""
        end = self.world.now + within_ms
        while self.world.now < end:
            self.poll()
            if self.core.has_records:
                found = [one for records in self.take(max_records).values() for one in records]
                if found:
                    return found
            self.world.run(10)
        self.core.rest()
        return []

    def commit(self, timeout_ms: int = 10_000) -> Any:
        return self.result(self.core.commit(self.world.now, timeout_ms))

    def close(self, timeout_ms: int = 5_000) -> None:
        self.core.close(self.world.now, timeout_ms)
        self.drain()
        self.world.run(timeout_ms)


def values(records: list[Any]) -> list[int]:
    return [int(record.value) for record in records]


def asked(cluster: ShareCluster, api: ApiKey) -> list[Any]:
    return [body for _, one, body in cluster.asked if one == api]


def raised(client: ShareClient) -> list[Exception]:
    return [event.error for event in client.of(ErrorRaised)]


class _Pumped(ShareClient):
    """One whose events are a consumer's to take."""

    def drain(self) -> None:
        while (action := self.core.next_action()) is not None:
            self.world.obey(self, action)


class WorldPump:
    """In place of a pump: steps let time pass in a world, until anything comes or time is up."""

    transport = SimpleNamespace(name="blocking")

    def __init__(self, client: _Pumped) -> None:
        self._client = client
        self._woken = False
        self.closed = False

    def now_ms(self) -> int:
        return self._client.world.now

    def drain(self) -> None:
        self._client.drain()

    def step(self, timeout_ms: int | None = None) -> Step:
        self.drain()
        world, before = self._client.world, self._client.world.inputs
        for _ in range(1 if timeout_ms is None else max(timeout_ms, 1)):
            if self._woken:
                self._woken = False
                return Step.WOKEN
            world.run(1)
            if world.inputs != before:
                return Step.FED
        return Step.IDLE

    def wakeup(self) -> None:
        self._woken = True

    def close(self) -> None:
        self.closed = True
        self._client.links.clear()


def share_consumer(world: World, *topics: str, **options: Any) -> ShareConsumer:
    """A `ShareConsumer` in a world."""

    class InWorld(ShareConsumer):
        def _connect(self, settings: ShareConsumerConfig) -> ShareEngine:
            client = _Pumped(world, {"group_id": settings.group_id, **options})
            guard = Guard.for_transport("blocking")
            return ShareEngine(client.core, WorldPump(client), guard, Reporter("g"))

        def _begin_membership(self) -> None:
            """Without a keeper: its thread would let time pass, too."""

    return InWorld(*topics, group_id="g", api_version=(4, 2), **options)
