"""A world of one group member: a fake network, cluster and host on a clock that only tests move.

A test answers each request by hand (`world.answer(API, error or fields)`) or sets `world.auto` and
lets a one-member coordinator answer. Every request goes through the real codec in the version the
"broker" speaks, and so does every answer.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kcore.assignors import MemberSubscription, RangeAssignor, RebalanceProtocol, blobs
from kcore.connection.calls import COORDINATOR_KEY_BASE, Answer, Reach, Standing
from kcore.errors import (
    DisconnectedError,
    KafkaError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from kcore.events import Event
from kcore.group import GroupConfig, GroupMember
from kcore.structs import Leader, Node, OffsetAndMetadata, TopicPartition
from kcore.timers import NEVER
from kcore.wire import codec
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

HOST, PORT = "broker", 9092
KEY = COORDINATOR_KEY_BASE - 1
MEMBER = "member-1"


def tp(text: str) -> TopicPartition:
    """`t1-0` as a TopicPartition."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def tps(text: str) -> list[TopicPartition]:
    """`t1-0 t1-1` as a list."""
    return [tp(part) for part in text.split()]


@dataclass(eq=False)
class Request:
    """A request that was sent and not answered."""

    node: int
    api: ApiKey
    version: int
    body: Any
    done: Callable[[Answer, int], None]
    expires_at: int


class FakeNetwork:
    """kcore.connection.calls.Network without links: requests wait here for their answers."""

    late = False

    def __init__(self) -> None:
        self.open: list[Request] = []
        self.log: list[Request] = []
        self.completed: deque[tuple[Request, Answer]] = deque()
        self.versions: dict[ApiKey, int] = {}
        self.backoff_until: dict[int, int] = {}
        self.drops: list[int] = []
        self.brokers = True  # False: nobody can be reached
        self.node_id = 1

    def send(
        self,
        node: int,
        api: ApiKey,
        build: Callable[[int], Any],
        done: Callable[[Answer, int], None],
        now_ms: int,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        standing: Standing | None = None,
    ) -> None:
        limit = 30_000 if timeout_ms is None else timeout_ms
        version = min(self.versions.get(api, 99), API_TABLE[api].max_version, max_version or 99)
        request = Request(node, api, version, None, done, now_ms + limit)
        if self.reach(node, now_ms) is Reach.BACKOFF:
            self.fail(request, DisconnectedError("failed lately"))
            return
        try:
            message = build(version)
        except UnsupportedVersionError as error:
            self.fail(request, error)
            return
        request.body = codec.decode(type(message), version, codec.encode(message, version))
        self.open.append(request)
        self.log.append(request)

    def reach(self, node: int, now_ms: int) -> Reach:
        if not self.brokers or self.backoff_until.get(node, 0) > now_ms:
            return Reach.BACKOFF
        return Reach.READY

    def retry_at(self, node: int) -> int:
        return self.backoff_until.get(node, 0)

    def least_loaded(self, now_ms: int) -> int | None:
        return self.node_id if self.brokers else None

    def version_of(self, node: int, api: ApiKey, max_version: int | None = None) -> int | None:
        return min(self.versions.get(api, 99), API_TABLE[api].max_version, max_version or 99)

    def in_flight(self, node: int) -> int:
        return sum(request.node == node for request in self.open)

    def add_coordinator(self, node_id: int, host: str, port: int) -> int:
        return COORDINATOR_KEY_BASE - node_id

    def drop(self, node: int, now_ms: int) -> None:
        self.drops.append(node)
        self.break_link(node, DisconnectedError("dropped"))

    # -- what the world does with it -----------------------------------------------------------

    def fail(self, request: Request, error: KafkaError) -> None:
        self.completed.append((request, Answer(None, error, -1, request.node)))

    def break_link(self, node: int, error: KafkaError) -> None:
        for request in [it for it in self.open if it.node == node]:
            self.open.remove(request)
            self.completed.append((request, Answer(None, error, request.version, node)))

    def deadline(self) -> int:
        return min((request.expires_at for request in self.open), default=NEVER)

    def expire(self, now_ms: int) -> None:
        for request in list(self.open):
            if request in self.open and request.expires_at <= now_ms:
                self.break_link(request.node, RequestTimedOutError("no answer in time"))


class FakeCluster:
    """kcore.connection.calls.ClusterView as a dict."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.counts = dict(topics)
        self.version = 1
        self.updates_asked = 0
        self.names_asked: list[frozenset[bytes]] = []
        self.ids: dict[str, bytes] = {}
        self.racks: dict[TopicPartition, set[str]] = {}

    def set(self, topic: str, count: int | None) -> None:
        self.version += 1
        if count is None:
            self.counts.pop(topic, None)
        else:
            self.counts[topic] = count

    def leader(self, tp: TopicPartition) -> Leader | None:
        return Leader(1, 0)

    def node(self, node_id: int) -> Node | None:
        return Node(node_id, HOST, PORT)

    def partitions(self, topic: str) -> list[int] | None:
        count = self.counts.get(topic)
        return None if count is None else list(range(count))

    def topics(self) -> set[str]:
        return set(self.counts)

    def is_internal(self, topic: str) -> bool:
        return False

    def topic_id(self, topic: str) -> bytes | None:
        return self.ids.get(topic)

    def topic_name(self, topic_id: bytes) -> str | None:
        return next((name for name, its in self.ids.items() if its == topic_id), None)

    def replica_racks(self, tp: TopicPartition) -> set[str]:
        return self.racks.get(tp, set())

    def request_update(self) -> None:
        self.updates_asked += 1

    def request_names(self, topic_ids: frozenset[bytes]) -> None:
        self.names_asked.append(topic_ids)

    def see_epoch(self, tp: TopicPartition, epoch: int) -> bool:
        return False

    def learn_leader(self, tp: TopicPartition, leader: Leader, node: Node | None) -> bool:
        return False


class FakeHost:
    """kcore.group.GroupHost: subscription, assignment and positions as plain values."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.topics: list[str] = []
        self.owned: list[TopicPartition] = []
        self.consumed: dict[TopicPartition, OffsetAndMetadata] = {}
        self.log_ids: Callable[[], dict[str, bytes]] = dict  # of topics that were read
        self.suspended: set[TopicPartition] = set()
        self.fresh = True
        self.group_topics: set[str] | None = None
        self.group_topics_log: list[set[str] | None] = []
        self.pattern_prefix: str | None = None
        self.brokers_pattern: str | None = None

    def subscribed_topics(self) -> list[str]:
        if self.pattern_prefix is not None:
            return sorted(t for t in self.cluster.topics() if t.startswith(self.pattern_prefix))
        return sorted(self.topics)

    def remote_pattern(self) -> str | None:
        return self.brokers_pattern

    def covers(self, topic: str) -> bool:
        if self.brokers_pattern is not None:
            return True
        if self.pattern_prefix is not None:
            return topic.startswith(self.pattern_prefix)
        return topic in self.topics

    def owned_partitions(self) -> list[TopicPartition]:
        return list(self.owned)

    def consumed_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {tp: at for tp, at in self.consumed.items() if tp in self.owned}

    def suspend(self, partitions: Iterable[TopicPartition]) -> None:
        self.suspended.update(partitions)

    def take_assignment(self, partitions: list[TopicPartition]) -> None:
        self.owned = list(partitions)
        self.suspended = set()

    def set_group_topics(self, topics: set[str] | None) -> bool:
        self.group_topics = topics
        self.group_topics_log.append(topics)
        return topics is None or topics <= self.cluster.topics()

    def metadata_fresh(self) -> bool:
        return self.fresh


@dataclass
class World:
    """See the module's text. `config` fields may be given to override the quick defaults."""

    config: dict[str, Any] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=lambda: {"t1": 2, "t2": 2})
    seed: int = 1

    def __post_init__(self) -> None:
        defaults: dict[str, Any] = {
            "group_id": "g",
            "session_timeout_ms": 10_000,
            "heartbeat_interval_ms": 3_000,
            "max_poll_interval_ms": 60_000,
            "request_timeout_ms": 5_000,
            "enable_auto_commit": False,
        }
        self.now = 1_000_000
        self.network = FakeNetwork()
        self.cluster = FakeCluster(self.topics)
        self.host = FakeHost(self.cluster)
        self.events: list[Event] = []
        self.seen = 0
        self.options = GroupConfig(**(defaults | self.config))
        self.member = GroupMember(
            self.options,
            self.network,
            self.cluster,
            self.host,
            random.Random(self.seed),
            self.events.append,
        )
        self.generation = 0
        self.auto = False
        self.auto_errors: dict[ApiKey, deque[int | KafkaError | None]] = {}
        self.held: set[ApiKey] = set()
        self.committed: dict[TopicPartition, OffsetAndMetadata] = {}
        self.given = b""  # the assignment that SyncGroup was answered with last

    # -- inputs --------------------------------------------------------------------------------

    def subscribe(self, *topics: str) -> None:
        self.host.topics = list(topics)
        self.member.subscription_changed(self.now)
        self.settle()

    def poll(self) -> None:
        self.member.handle_poll(self.now)
        self.settle()

    def settle(self) -> None:
        """Deliver what is done, tick until nothing is due now. A livelock fails."""
        for _ in range(100):
            while self.network.completed:
                request, answer = self.network.completed.popleft()
                request.done(answer, self.now)
            self.member.handle_tick(self.now)
            if self.auto and self._answer_one():
                continue
            if not self.network.completed and self.member.deadline() > self.now:
                return
        raise AssertionError(
            f"spins in {self.member.state} / {self.member.step}, deadline {self.member.deadline()}"
        )

    def run(self, ms: int, *, poll_every: int | None = None) -> None:
        """Let time pass, jumping from deadline to deadline."""
        end = self.now + ms
        next_poll = self.now + poll_every if poll_every is not None else NEVER
        while True:
            self.settle()
            nearest = min(self.member.deadline(), self.network.deadline(), next_poll)
            if nearest > end:
                break
            self.now = max(self.now, nearest)
            self.network.expire(self.now)
            if self.now >= next_poll:
                assert poll_every is not None
                next_poll = self.now + poll_every
                self.poll()
        self.now = end
        self.settle()

    # -- requests and answers ------------------------------------------------------------------

    def open(self, api: ApiKey) -> list[Request]:
        return [request for request in self.network.open if request.api is api]

    def request(self, api: ApiKey) -> Request:
        """The one open request of an API."""
        found = self.open(api)
        assert len(found) == 1, f"{len(found)} open {api.name}; open: {self.network.open}"
        return found[0]

    def count(self, api: ApiKey) -> int:
        """How many requests of an API were ever sent."""
        return sum(request.api is api for request in self.network.log)

    def respond(self, request: Request, body: Any) -> None:
        version = request.version
        data = codec.encode(body, version)
        answer = Answer(codec.decode(type(body), version, data), None, version, request.node)
        self.network.open.remove(request)
        self.network.completed.append((request, answer))

    def answer(
        self, api: ApiKey, error: int | KafkaError = ErrorCode.NONE, **fields: Any
    ) -> Request:
        """Answer the open request of an API: with an error code, a failure of the link, or
        fields.
        """
        request = self.request(api)
        self._reply(request, error, **fields)
        self.settle()
        return request

    def _reply(self, request: Request, error: int | KafkaError, **fields: Any) -> None:
        if isinstance(error, KafkaError):
            self.network.open.remove(request)
            self.network.completed.append(
                (request, Answer(None, error, request.version, request.node))
            )
            return
        self.respond(request, ANSWERS[request.api](self, request, int(error), fields))

    def _answer_one(self) -> bool:
        for request in self.network.open:
            if request.api in self.held:
                continue
            errors = self.auto_errors.get(request.api)
            error = errors.popleft() if errors else None
            self._reply(request, ErrorCode.NONE if error is None else error)
            return True
        return False

    # -- the usual ways ------------------------------------------------------------------------

    def find(self) -> None:
        self.answer(ApiKey.FIND_COORDINATOR)

    def join(self, assigned: str = "", **fields: Any) -> None:
        """Answer Join and Sync of the round under way; the assignment waits for a poll."""
        self.answer(ApiKey.JOIN_GROUP, **fields)
        self.answer(ApiKey.SYNC_GROUP, assigned=assigned)

    def become_stable(self, *topics: str, assigned: str = "t1-0 t1-1", **fields: Any) -> None:
        """From nothing to a member with an assignment, as a follower unless told otherwise."""
        self.subscribe(*(topics or ("t1",)))
        self.find()
        self.poll()
        self.join(assigned, **fields)
        self.poll()
        if self.options.await_acknowledgement:
            self.ack()
        assert self.member.stable, (self.member.state, self.member.step)
        self.seen = len(self.events)

    def ack(self) -> None:
        self.member.acknowledge_rebalance(self.now)
        self.settle()

    def new_events(self, *kinds: type[Event]) -> list[Event]:
        """Events since the last call, of these kinds if any are given."""
        fresh, self.seen = self.events[self.seen :], len(self.events)
        return [event for event in fresh if not kinds or isinstance(event, kinds)]


# -- answers -----------------------------------------------------------------------------------


def _find(world: World, request: Request, error: int, fields: dict[str, Any]) -> Any:
    cls = API_TABLE[ApiKey.FIND_COORDINATOR].response
    values = {"node_id": world.network.node_id, "host": HOST, "port": PORT, "error_code": error}
    values |= fields
    if request.version < 4:
        return cls(**values)
    return cls(coordinators=[cls.Coordinator(key="g", **values)])


def _join(world: World, request: Request, error: int, fields: dict[str, Any]) -> Any:
    cls = API_TABLE[ApiKey.JOIN_GROUP].response
    if error:
        return cls(error_code=error, member_id=fields.get("member_id", request.body.member_id))
    world.generation += 1
    member_id = fields.pop("member_id", request.body.member_id or MEMBER)
    leader = fields.pop("leader", "someone-else")
    members = fields.pop("members", [])
    if world.auto or leader == "me":
        leader = member_id
        own = {member_id: request.body.protocols[0].metadata}
        entries = own | dict(members)
        members = list(entries.items())
    return cls(
        generation_id=fields.pop("generation_id", world.generation),
        protocol_type=fields.pop("protocol_type", "consumer" if request.version >= 7 else None),
        protocol_name=fields.pop("protocol_name", request.body.protocols[0].name),
        leader=leader,
        member_id=member_id,
        members=[
            cls.JoinGroupResponseMember(member_id=name, metadata=blob) for name, blob in members
        ],
        **fields,
    )


def _sync(world: World, request: Request, error: int, fields: dict[str, Any]) -> Any:
    cls = API_TABLE[ApiKey.SYNC_GROUP].response
    if error:
        return cls(error_code=error)
    given = {it.member_id: it.assignment for it in request.body.assignments}
    blob = fields.pop("blob", None)
    assigned = fields.pop("assigned", None)
    if blob is None:
        blob = given.get(request.body.member_id, b"")
        if assigned is not None:
            blob = blobs.encode_assignment(tps(assigned))
    world.given = blob
    if request.version >= 5:
        fields = {"protocol_type": "consumer", "protocol_name": request.body.protocol_name} | fields
    return cls(assignment=blob, **fields)


def _simple(api: ApiKey) -> Callable[[World, Request, int, dict[str, Any]], Any]:
    def reply(_: World, __: Request, error: int, fields: dict[str, Any]) -> Any:
        return API_TABLE[api].response(error_code=error, **fields)

    return reply


def _describe(world: World, _: Request, error: int, fields: dict[str, Any]) -> Any:
    """`others`: the assignments of other members."""
    cls = API_TABLE[ApiKey.DESCRIBE_GROUPS].response
    members = [
        cls.DescribedGroupMember(member_assignment=blob)
        for blob in (world.given, *fields.get("others", ()))
    ]
    state = fields.get("state", "Stable")
    return cls(groups=[cls.DescribedGroup(error_code=error, group_state=state, members=members)])


def _commit(world: World, request: Request, error: int, fields: dict[str, Any]) -> Any:
    """`codes` maps partitions to codes of their own; `omit` leaves partitions out of the answer."""
    cls = API_TABLE[ApiKey.OFFSET_COMMIT].response
    codes, omit = fields.get("codes", {}), fields.get("omit", ())
    topics = []
    for topic in request.body.topics:
        name = topic.name or world.cluster.topic_name(topic.topic_id)
        partitions = []
        for entry in topic.partitions:
            at = TopicPartition(name, entry.partition_index)
            code = codes.get(at, error)
            if at in omit:
                continue
            if code == 0:
                world.committed[at] = OffsetAndMetadata(
                    entry.committed_offset, entry.committed_metadata, entry.committed_leader_epoch
                )
            partitions.append(
                cls.OffsetCommitResponsePartition(partition_index=at.partition, error_code=code)
            )
        topics.append(
            cls.OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=partitions
            )
        )
    return cls(topics=topics)


def _fetch(world: World, request: Request, error: int, fields: dict[str, Any]) -> Any:
    """`offsets` is what is committed; `codes` and `omit` as for commits; `error` is the group's."""
    cls = API_TABLE[ApiKey.OFFSET_FETCH].response
    grouped = request.version >= 8
    asked = request.body.groups[0].topics if grouped else request.body.topics
    topic_cls = cls.OffsetFetchResponseTopics if grouped else cls.OffsetFetchResponseTopic
    part_cls = cls.OffsetFetchResponsePartitions if grouped else cls.OffsetFetchResponsePartition
    offsets, codes = fields.get("offsets", world.committed), fields.get("codes", {})
    topics = []
    for topic in asked:
        topic_id = getattr(topic, "topic_id", None)
        name = topic.name or world.cluster.topic_name(topic_id)
        partitions = []
        for number in topic.partition_indexes:
            at = TopicPartition(name, number)
            if at in fields.get("omit", ()):
                continue
            found = offsets.get(at, OffsetAndMetadata(-1, ""))
            partitions.append(
                part_cls(
                    partition_index=number,
                    committed_offset=found.offset,
                    committed_leader_epoch=found.leader_epoch,
                    metadata=found.metadata,
                    error_code=codes.get(at, 0),
                )
            )
        entry = topic_cls(name=topic.name, partitions=partitions)
        if grouped:
            entry.topic_id = topic_id
        topics.append(entry)
    if grouped:
        group = cls.OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=error)
        return cls(groups=[group])
    return cls(topics=topics, error_code=error)


ANSWERS: dict[ApiKey, Callable[[World, Request, int, dict[str, Any]], Any]] = {
    ApiKey.FIND_COORDINATOR: _find,
    ApiKey.JOIN_GROUP: _join,
    ApiKey.SYNC_GROUP: _sync,
    ApiKey.HEARTBEAT: _simple(ApiKey.HEARTBEAT),
    ApiKey.LEAVE_GROUP: _simple(ApiKey.LEAVE_GROUP),
    ApiKey.DESCRIBE_GROUPS: _describe,
    ApiKey.OFFSET_COMMIT: _commit,
    ApiKey.OFFSET_FETCH: _fetch,
}


def subscription_blob(*topics: str, **fields: Any) -> bytes:
    """Another member's subscription."""
    return blobs.encode_subscription(MemberSubscription(topics=topics, **fields))


class CooperativeRange(RangeAssignor):
    """Range for the COOPERATIVE protocol: what another member still owns is not given away yet."""

    name = "cooperative-range"
    protocols = frozenset({RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE})

    def assign(self, members, partitions, racks=None):
        plan = super().assign(members, partitions, racks)
        owners = {at: name for name, member in members.items() for at in member.owned}
        return {
            name: [at for at in given if owners.get(at, name) == name]
            for name, given in plan.items()
        }


def lead(world: World, *members: tuple[str, bytes], **fields: object) -> None:
    world.answer(ApiKey.JOIN_GROUP, leader="me", members=list(members), **fields)


def start(*topics: str, **config: object) -> World:
    world = World(config=config)
    world.subscribe(*(topics or ("t1",)))
    world.find()
    world.poll()
    return world
