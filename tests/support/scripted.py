"""A scripted cluster for tests of the bare core: real bytes both ways, a virtual clock, no socket.

`World` drives one or more cores: it obeys their actions, hands their requests to `ScriptedCluster`
and brings the answers back one millisecond later. `ScriptedCluster` answers like a small
well-behaved Kafka; a test changes an answer by putting a function into `script` (by API), which may
give a message, raw bytes (sent as they are), SILENT or CUT.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kcore.actions import Connect, Disconnect, Send
from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.events import Event
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

SILENT = object()  # take the request and never answer
CUT = object()  # close the connection instead
APIS = {
    ApiKey.FETCH: (4, 12),
    ApiKey.LIST_OFFSETS: (1, 8),
    ApiKey.METADATA: (0, 12),
    ApiKey.OFFSET_COMMIT: (2, 9),
    ApiKey.OFFSET_FETCH: (1, 9),
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.JOIN_GROUP: (2, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
}


@dataclass
class Member:
    protocols: list[tuple[str, bytes]]
    parked: Callable[[Any], None] | None = None
    sync: Callable[[Any], None] | None = None
    instance_id: str | None = None


@dataclass
class Group:
    """Just enough of a coordinator: a round ends when every known member has joined."""

    generation: int = 0
    state: str = "Empty"
    members: dict[str, Member] = field(default_factory=dict)
    leader: str = ""
    offsets: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    assignments: dict[str, bytes] = field(default_factory=dict)
    ids: int = 0


class ScriptedCluster:
    def __init__(self, topics: dict[str, int], nodes: int = 1) -> None:
        self.topics = dict(topics)
        self.topic_ids: dict[str, bytes] = {}
        self.nodes = {n: (f"node{n}", 9000 + n) for n in range(1, nodes + 1)}
        self.apis = dict(APIS)
        self.logs: dict[tuple[str, int], list[tuple[int, int, bytes]]] = {}
        self.group = Group()
        self.coordinator = 1
        self.leader_epoch = 0
        self.unlisted: set[int] = set()  # partitions that metadata leaves out
        self.script: dict[ApiKey, Callable[[int, Any], Any]] = {}
        self.asked: list[tuple[int, ApiKey, Any]] = []
        self.down: set[int] = set()

    def leader_of(self, partition: int) -> int:
        ids = sorted(self.nodes)
        return ids[partition % len(ids)]

    def append(self, topic: str, partition: int, batch: bytes, base: int, count: int) -> None:
        self.logs.setdefault((topic, partition), []).append((base, base + count - 1, batch))

    def end(self, topic: str, partition: int) -> int:
        log = self.logs.get((topic, partition))
        return log[-1][1] + 1 if log else 0

    def count(self, api: ApiKey) -> int:
        return sum(1 for _, asked, _ in self.asked if asked == api)

    def handle(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        api = ApiKey(request.api_key)
        self.asked.append((node, api, request.message))
        scripted = self.script.get(api)
        if scripted is not None:
            answer = scripted(node, request)
            if answer is not None:
                reply(answer)
                return
        getattr(self, "_" + api.name.lower())(node, request, reply)

    # -- answers ---------------------------------------------------------------------------------

    def _api_versions(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        keys = [
            m.ApiVersionsResponse.ApiVersion(api_key=int(k), min_version=lo, max_version=hi)
            for k, (lo, hi) in self.apis.items()
        ]
        reply(m.ApiVersionsResponse(api_keys=keys))

    def _metadata(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.MetadataResponse
        asked = request.message.topics
        names = sorted(self.topics) if asked is None else [t.name for t in asked]
        topics = []
        for name in names:
            if name not in self.topics:
                topics.append(R.MetadataResponseTopic(error_code=3, name=name))
                continue
            partitions = [
                R.MetadataResponsePartition(
                    partition_index=p,
                    leader_id=self.leader_of(p),
                    leader_epoch=self.leader_epoch,
                    replica_nodes=sorted(self.nodes),
                    isr_nodes=sorted(self.nodes),
                )
                for p in range(self.topics[name])
                if p not in self.unlisted
            ]
            entry = R.MetadataResponseTopic(name=name, partitions=partitions)
            entry.topic_id = self.topic_ids.get(name, entry.topic_id)
            topics.append(entry)
        brokers = [
            R.MetadataResponseBroker(node_id=n, host=h, port=p) for n, (h, p) in self.nodes.items()
        ]
        reply(R(brokers=brokers, topics=topics, controller_id=1, cluster_id="scripted"))

    def _find_coordinator(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        host, port = self.nodes[self.coordinator]
        R = m.FindCoordinatorResponse
        if request.api_version >= 4:
            key = request.message.coordinator_keys[0]
            found = R.Coordinator(key=key, node_id=self.coordinator, host=host, port=port)
            reply(R(coordinators=[found]))
        else:
            reply(R(node_id=self.coordinator, host=host, port=port))

    def _join_group(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        body, group = request.message, self.group
        R = m.JoinGroupResponse
        member_id = body.member_id
        if not member_id:
            group.ids += 1
            member_id = f"member-{group.ids}"
            if request.api_version >= 4 and body.group_instance_id is None:
                reply(R(error_code=79, member_id=member_id))
                return
        protocols = [(p.name, p.metadata) for p in body.protocols]
        member = group.members.setdefault(member_id, Member(protocols))
        member.protocols, member.parked = protocols, reply
        member.instance_id = body.group_instance_id
        group.state = "PreparingRebalance"
        self.complete_join()

    def complete_join(self) -> None:
        """Answer everyone if everyone is here (tests call it after removing members, too)."""
        group = self.group
        if not group.members or any(x.parked is None for x in group.members.values()):
            return
        group.generation += 1
        group.state = "CompletingRebalance"
        group.assignments = {}
        if group.leader not in group.members:
            group.leader = next(iter(group.members))
        chosen = group.members[group.leader].protocols[0][0]
        R = m.JoinGroupResponse
        for member_id, member in group.members.items():
            listed = []
            if member_id == group.leader:
                listed = [
                    R.JoinGroupResponseMember(
                        member_id=k,
                        group_instance_id=v.instance_id,
                        metadata=dict(v.protocols)[chosen],
                    )
                    for k, v in group.members.items()
                ]
            parked, member.parked = member.parked, None
            assert parked is not None
            parked(
                R(
                    generation_id=group.generation,
                    protocol_type="consumer",
                    protocol_name=chosen,
                    leader=group.leader,
                    member_id=member_id,
                    members=listed,
                )
            )

    def _member_error(self, body: Any) -> int:
        if body.member_id not in self.group.members:
            return 25
        return 0 if body.generation_id == self.group.generation else 22

    def _sync_group(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        body, group = request.message, self.group
        error = self._member_error(body)
        if not error and group.state == "PreparingRebalance":
            error = 27
        if error:
            reply(m.SyncGroupResponse(error_code=error))
            return
        group.members[body.member_id].sync = reply
        if body.member_id == group.leader:
            group.assignments = {a.member_id: a.assignment for a in body.assignments}
            group.state = "Stable"
        if group.state == "Stable":
            for member_id, member in group.members.items():
                if member.sync is not None:
                    sync, member.sync = member.sync, None
                    sync(
                        m.SyncGroupResponse(
                            protocol_type=body.protocol_type,
                            protocol_name=body.protocol_name,
                            assignment=group.assignments.get(member_id, b""),
                        )
                    )

    def _heartbeat(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        error = self._member_error(request.message)
        if not error and self.group.state == "PreparingRebalance":
            error = 27
        reply(m.HeartbeatResponse(error_code=error))

    def _leave_group(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        body = request.message
        left = [x.member_id for x in body.members] if request.api_version >= 3 else [body.member_id]
        for member_id in left:
            self.group.members.pop(member_id, None)
        if self.group.members:
            self.group.state = "PreparingRebalance"
        reply(m.LeaveGroupResponse())
        self.complete_join()

    def _offset_commit(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        body, group = request.message, self.group
        generation = body.generation_id_or_member_epoch
        error = 0
        if generation >= 0 and body.member_id not in group.members:
            error = 25
        elif generation >= 0 and generation != group.generation:
            error = 22
        R = m.OffsetCommitResponse
        topics = []
        for t in body.topics:
            for p in t.partitions:
                if not error:
                    group.offsets[t.name, p.partition_index] = (
                        p.committed_offset,
                        p.committed_metadata or "",
                    )
            topics.append(
                R.OffsetCommitResponseTopic(
                    name=t.name,
                    partitions=[
                        R.OffsetCommitResponsePartition(
                            partition_index=p.partition_index, error_code=error
                        )
                        for p in t.partitions
                    ],
                )
            )
        reply(R(topics=topics))

    def refuse_offsets(self, code: ErrorCode, *topics: str, times: int | None = None) -> None:
        """So many OffsetFetch are answered with a code for the partitions of these topics."""
        left = [times]

        def script(node: int, request: Any) -> Any:
            told: list[Any] = []
            self._offset_fetch(node, request, told.append)
            (answer,) = told
            for group in [answer] if request.api_version < 8 else answer.groups:
                for topic in group.topics:
                    for part in topic.partitions if topic.name in topics and left[0] != 0 else ():
                        part.error_code = code
            if left[0]:
                left[0] -= 1
            return answer

        self.script[ApiKey.OFFSET_FETCH] = script

    def _offset_fetch(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.OffsetFetchResponse
        none = (-1, "")
        if request.api_version >= 8:
            asked = request.message.groups[0]
            topics = [
                R.OffsetFetchResponseTopics(
                    name=t.name,
                    partitions=[
                        R.OffsetFetchResponsePartitions(
                            partition_index=p,
                            committed_offset=self.group.offsets.get((t.name, p), none)[0],
                            metadata=self.group.offsets.get((t.name, p), none)[1],
                        )
                        for p in t.partition_indexes
                    ],
                )
                for t in asked.topics
            ]
            reply(R(groups=[R.OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)]))
            return
        reply(
            R(
                topics=[
                    R.OffsetFetchResponseTopic(
                        name=t.name,
                        partitions=[
                            R.OffsetFetchResponsePartition(
                                partition_index=p,
                                committed_offset=self.group.offsets.get((t.name, p), none)[0],
                                metadata=self.group.offsets.get((t.name, p), none)[1],
                            )
                            for p in t.partition_indexes
                        ],
                    )
                    for t in request.message.topics
                ]
            )
        )

    def _list_offsets(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.ListOffsetsResponse
        topics = []
        for t in request.message.topics:
            parts = []
            for p in t.partitions:
                log = self.logs.get((t.name, p.partition_index), [])
                offset = self.end(t.name, p.partition_index)
                if p.timestamp == -2 or p.timestamp >= 0:
                    offset = log[0][0] if log else 0
                parts.append(
                    R.ListOffsetsPartitionResponse(
                        partition_index=p.partition_index,
                        offset=offset,
                        timestamp=p.timestamp,
                        leader_epoch=self.leader_epoch,
                    )
                )
            topics.append(R.ListOffsetsTopicResponse(name=t.name, partitions=parts))
        reply(R(topics=topics))

    def _fetch(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.FetchResponse
        topics = []
        data = False
        for t in request.message.topics:
            parts = []
            for p in t.partitions:
                log = self.logs.get((t.topic, p.partition), [])
                end = self.end(t.topic, p.partition)
                records = b"".join(b for _, last, b in log if last >= p.fetch_offset)[
                    : max(p.partition_max_bytes, 1 << 16)
                ]
                outside = p.fetch_offset > end or (bool(log) and p.fetch_offset < log[0][0])
                data = data or bool(records)
                parts.append(
                    R.PartitionData(
                        partition_index=p.partition,
                        error_code=1 if outside else 0,
                        high_watermark=end,
                        last_stable_offset=end,
                        log_start_offset=log[0][0] if log else 0,
                        records=b"" if outside else records,
                    )
                )
            topics.append(R.FetchableTopicResponse(topic=t.topic, partitions=parts))
        reply(R(responses=topics), **({} if data else {"delay_ms": request.message.max_wait_ms}))

    def _offset_for_leader_epoch(
        self, node: int, request: Any, reply: Callable[[Any], None]
    ) -> None:
        R = m.OffsetForLeaderEpochResponse
        topics = []
        for t in request.message.topics:
            parts = [
                R.EpochEndOffset(
                    partition=p.partition,
                    leader_epoch=p.leader_epoch,
                    end_offset=self.end(t.topic, p.partition),
                )
                for p in t.partitions
            ]
            topics.append(R.OffsetForLeaderTopicResult(topic=t.topic, partitions=parts))
        reply(R(topics=topics))


class Client:
    """A core and what the world holds for it."""

    def __init__(self, world: World, options: dict[str, Any]) -> None:
        self.world = world
        config = ConsumerConfig.from_options(
            {"bootstrap_servers": [f"{h}:{p}" for h, p in world.cluster.nodes.values()], **options}
        )
        self.core = ConsumerCore(config, random.Random(world.seed), world.now)
        self.links: dict[int, int] = {}  # link -> node, once connected
        self.events: list[Event] = []
        self.readers: dict[int, Any] = {}
        # The requests of a link in order, with their answers.
        self.slots: dict[int, deque[list[Any]]] = {}
        self.drain()

    def drain(self) -> None:
        while (action := self.core.next_action()) is not None:
            self.world.obey(self, action)
        while (event := self.core.next_event()) is not None:
            self.events.append(event)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def poll(self) -> None:
        self.core.poll(self.world.now)
        self.drain()

    def take(self, max_records: int | None = None) -> dict[TopicPartition, list[Any]]:
        try:
            return self.core.take_records(max_records, self.world.now)
        finally:
            self.drain()

    def result(self, operation: int, within_ms: int = 120_000) -> Any:
        """Run the world until the operation ends; its result, or raise its error."""
        end = self.world.now + within_ms
        while True:
            for event in self.events:
                if getattr(event, "operation", None) == operation and hasattr(event, "result"):
                    if event.error is not None:
                        raise event.error
                    return event.result
            assert self.world.now < end, "the operation never ended"
            self.drain()
            self.world.run(50)


class World:
    def __init__(self, cluster: ScriptedCluster, seed: int = 1) -> None:
        self.cluster = cluster
        self.seed = seed
        self.now = 1_000
        self.clients: list[Client] = []
        self.inputs = 0
        # What becomes of an answer's frame on its way: (request, frame) -> frame.
        self.garble: Callable[[Any, bytes], bytes] | None = None
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0

    def client(self, **options: Any) -> Client:
        client = Client(self, options)
        self.clients.append(client)
        return client

    def later(self, delay_ms: int, what: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (self.now + delay_ms, self._order, what))

    def obey(self, client: Client, action: Any) -> None:
        if isinstance(action, Connect):
            self.later(1, lambda: self._connect(client, action))
        elif isinstance(action, Send):
            self.later(1, lambda: self._receive(client, action.link, action.data))
        elif isinstance(action, Disconnect):
            client.links.pop(action.link, None)

    def _connect(self, client: Client, action: Connect) -> None:
        for node, address in self.cluster.nodes.items():
            if address == (action.host, action.port) and node not in self.cluster.down:
                client.links[action.link] = node
                client.readers[action.link] = frames.FrameReader(1 << 24)
                client.core.handle_connected(action.link, self.now)
                break
        else:
            client.core.handle_closed(action.link, "connection refused", self.now)
        self.inputs += 1
        client.drain()

    def _receive(self, client: Client, link: int, data: bytes) -> None:
        node = client.links.get(link)
        if node is None:
            return
        for frame in client.readers[link].feed(data):
            request = frames.decode_request(frame)

            # Like Kafka, answer the requests of one connection in their order: a parked one holds
            # up the rest.
            slot: list[Any] = [request, None]
            client.slots.setdefault(link, deque()).append(slot)

            def reply(answer: Any, delay_ms: int = 0, slot: list[Any] = slot) -> None:
                self.later(1 + delay_ms, lambda: self._fill(client, link, slot, answer))

            self.cluster.handle(node, request, reply)

    def _fill(self, client: Client, link: int, slot: list[Any], answer: Any) -> None:
        slot[1] = answer
        slots = client.slots[link]
        while slots and slots[0][1] is not None and slots[0][1] is not SILENT:
            request, ready = slots.popleft()
            self._answer(client, link, request, ready)

    def _answer(self, client: Client, link: int, request: Any, answer: Any) -> None:
        if link not in client.links:
            return
        if answer is CUT:
            self.cut(client, link)
            return
        if not isinstance(answer, bytes):
            answer = frames.encode_response(answer, request.api_version, request.correlation_id)
        if self.garble is not None:
            answer = self.garble(request, answer)
        self.inputs += 1
        client.core.handle_data(link, answer, self.now)
        client.drain()

    def cut(self, client: Client, link: int) -> None:
        if client.links.pop(link, None) is not None:
            client.core.handle_closed(link, "connection reset", self.now)
            client.drain()

    def kill_node(self, node: int) -> None:
        self.cluster.down.add(node)
        for client in self.clients:
            for link in [x for x, n in client.links.items() if n == node]:
                self.cut(client, link)

    def revive_node(self, node: int) -> None:
        self.cluster.down.discard(node)

    def come_back(
        self, client: Client, away_ms: int, verb: Callable[[int], object] = lambda _: None
    ) -> None:
        """As the pump does it, behind a verb that comes before it has looked at the sockets."""
        self.now += away_ms
        verb(self.now)
        client.drain()
        client.core.hold_back(away_ms)
        while self._queue:
            heapq.heappop(self._queue)[2]()
        client.core.handle_deadline(self.now)
        client.drain()

    def run(self, duration_ms: int, *, polls_ms: int | None = None) -> None:
        """Let time pass; with `polls_ms` every client polls that often."""
        end = self.now + duration_ms
        next_poll = self.now
        budget = 200_000
        while budget:
            budget -= 1
            at = min([x.core.deadline() for x in self.clients], default=NEVER)
            if self._queue:
                at = min(at, self._queue[0][0])
            if polls_ms is not None:
                at = min(at, next_poll)
            if at > end:
                self.now = end
                return
            self.now = max(self.now, at)
            while self._queue and self._queue[0][0] <= self.now:
                heapq.heappop(self._queue)[2]()
            for client in self.clients:
                turns = 0
                while client.core.deadline() <= self.now:
                    turns += 1
                    assert turns < 5, "the core's deadline does not move on"
                    self.inputs += 1
                    client.core.handle_deadline(self.now)
                    client.drain()
                if polls_ms is not None and next_poll <= self.now:
                    client.poll()
            if polls_ms is not None and next_poll <= self.now:
                next_poll = self.now + polls_ms
        raise AssertionError("the world does not come to rest")
