"""A network, a cluster and a clock for the fetch room alone: no sockets, no time, no other rooms.

Requests and answers go through the real codec at the version that was negotiated, so a test that
passes here has also shown that the messages can be written and read.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from kcore.connection.calls import Answer, Build, Done, Reach, Standing, keys_of
from kcore.errors import DisconnectedError, KafkaError
from kcore.events import Event
from kcore.fetch.config import FetchConfig
from kcore.fetch.fetcher import Fetcher
from kcore.fetch.positions import Positions
from kcore.records import ConsumerRecord, encode_batch
from kcore.structs import Leader, Node, TopicPartition
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codec import decode, encode
from kcore.wire.messages import (
    FetchResponse,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
)

RESPONSES: dict[ApiKey, Any] = {
    ApiKey.FETCH: FetchResponse,
    ApiKey.LIST_OFFSETS: ListOffsetsResponse,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpochResponse,
}
NEWEST = {ApiKey.FETCH: 17, ApiKey.LIST_OFFSETS: 10, ApiKey.OFFSET_FOR_LEADER_EPOCH: 4}


def tp(number: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, number)


def topic_id(topic: str) -> bytes:
    return topic.encode().ljust(16, b".")


class Sent:
    """One request on its way: what was asked, and the way to answer it."""

    def __init__(
        self, node: int, api: ApiKey, version: int, body: Any, done: Done, timeout_ms: int
    ) -> None:
        self.node = node
        self.api = api
        self.version = version
        self.body = body
        self.done = done
        self.timeout_ms = timeout_ms

    def __repr__(self) -> str:
        return f"<{self.api.name} v{self.version} to {self.node}>"


class FakeNetwork:
    """`connection.calls.Network`: every node is connected unless told otherwise."""

    late = False

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.unreachable: dict[int, int] = {}  # node -> when it may be tried again
        self.unknown: set[int] = set()
        self.versions: dict[int, dict[ApiKey, int]] = {}
        self.closing: list[Sent] = []

    def send(
        self,
        node: int,
        api: ApiKey,
        build: Build,
        done: Done,
        now_ms: int,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        standing: Standing | None = None,
    ) -> None:
        version = self.versions.get(node, NEWEST)[api]
        if max_version is not None:
            version = min(version, max_version)
        body = build(version)
        body = decode(type(body), version, encode(body, version))
        assert timeout_ms is None or timeout_ms > 0
        self.sent.append(Sent(node, api, version, body, done, timeout_ms or 30_000))

    def reach(self, node: int, now_ms: int) -> Reach:
        if node in self.unknown:
            return Reach.UNKNOWN
        if self.unreachable.get(node, 0) > now_ms:
            return Reach.BACKOFF
        return Reach.READY

    def retry_at(self, node: int) -> int:
        return self.unreachable.get(node, 0)

    def version_of(self, node: int, api: ApiKey, max_version: int | None = None) -> int | None:
        return self.versions.get(node, NEWEST)[api]

    def in_flight(self, node: int) -> int:
        return sum(one.node == node for one in self.sent)

    def least_loaded(self, now_ms: int) -> int | None:
        return 1

    def add_coordinator(self, node_id: int, host: str, port: int) -> int:
        raise NotImplementedError

    def second(self, node_id: int) -> int:
        return keys_of(node_id)[2]

    def drop(self, node: int, now_ms: int) -> None:
        raise NotImplementedError


class FakeCluster:
    """`connection.calls.ClusterView`: what the test says; it counts the refreshes asked for."""

    def __init__(self) -> None:
        self.version = 1
        self.updates = 0
        self.leaders: dict[TopicPartition, Leader] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self.ids: dict[str, bytes] = {}
        self.nodes = {number: Node(number, f"host{number}", 9092) for number in (1, 2, 3)}

    def lead(self, where: TopicPartition, node: int, epoch: int = -1) -> None:
        self.leaders[where] = Leader(node, epoch)
        self.epochs[where] = max(epoch, self.epochs.get(where, -1))
        self.version += 1

    def leader(self, where: TopicPartition) -> Leader | None:
        leader = self.leaders.get(where)
        if leader is None or leader.epoch < self.epochs.get(where, -1):
            return None
        return leader

    def node(self, node_id: int) -> Node | None:
        return self.nodes.get(node_id)

    def partitions(self, topic: str) -> list[int] | None:
        return sorted(where.partition for where in self.leaders if where.topic == topic)

    def topics(self) -> set[str]:
        return {where.topic for where in self.leaders}

    def is_internal(self, topic: str) -> bool:
        return False

    def topic_id(self, topic: str) -> bytes | None:
        return self.ids.get(topic)

    def topic_name(self, wanted: bytes) -> str | None:
        return next((name for name, one in self.ids.items() if one == wanted), None)

    def replica_racks(self, where: TopicPartition) -> set[str]:
        return set()

    def request_update(self) -> None:
        self.updates += 1

    def see_epoch(self, where: TopicPartition, epoch: int) -> bool:
        if epoch <= self.epochs.get(where, -1):
            return False
        self.epochs[where] = epoch
        self.version += 1
        self.updates += 1
        return True

    def learn_leader(self, where: TopicPartition, leader: Leader, node: Node | None) -> bool:
        if leader.epoch <= self.epochs.get(where, -1):
            return False
        if leader.node_id not in self.nodes:
            if node is None:
                return False
            self.nodes[leader.node_id] = node
        self.lead(where, leader.node_id, leader.epoch)
        return True


class World:
    """The room under test, everything around it, and words to play the broker with.

    All partitions named are led by node 1 (or `leader`), have a position of 0 unless `start` says
    otherwise (None: none), and topic ids are known.
    """

    made: ClassVar[list[World]] = []

    def __init__(
        self,
        *partitions: TopicPartition,
        policy: str = "latest",
        out_of_range: str | None = None,
        start: int | None = 0,
        leader: Callable[[TopicPartition], int] = lambda _tp: 1,
        seed: int = 1,
        wall_offset_ms: int | None = None,
        **options: Any,
    ) -> None:
        World.made.append(self)
        self.now_ms = 1_000_000
        self.events: list[Event] = []
        self.network = FakeNetwork()
        self.cluster = FakeCluster()
        self.positions = Positions(policy, out_of_range, wall_offset_ms=wall_offset_ms)
        self.config = FetchConfig(**options)
        for where in partitions:
            self.cluster.lead(where, leader(where))
            self.cluster.ids[where.topic] = topic_id(where.topic)
        self.fetcher = Fetcher(
            self.config,
            self.network,
            self.cluster,
            self.positions,
            random.Random(seed),
            self.events.append,
        )
        self.positions.assign(partitions)
        if start is not None:
            for where in partitions:
                self.positions.seek(where, start)

    # -- time --------------------------------------------------------------------------------------

    def tick(self, after_ms: int = 0) -> None:
        self.now_ms += after_ms
        self.fetcher.handle_tick(self.now_ms)

    def until_due(self) -> int:
        """Go on to the next deadline, if there is one; how long that was."""
        before, deadline = self.now_ms, self.fetcher.deadline()
        if deadline != NEVER:
            self.now_ms = max(self.now_ms, deadline)
        self.tick()
        return self.now_ms - before

    # -- the broker's side -------------------------------------------------------------------------

    def pending(self, api: ApiKey, node: int | None = None) -> list[Sent]:
        return [one for one in self.network.sent if one.api is api and node in {None, one.node}]

    def only(self, api: ApiKey = ApiKey.FETCH, node: int | None = None) -> Sent:
        """The one request of this kind that is under way."""
        found = self.pending(api, node)
        assert len(found) == 1, found
        return found[0]

    def answer(self, sent: Sent, body: Any, after_ms: int = 0) -> None:
        """Answer a request, and give the room its turn."""
        self.network.sent.remove(sent)
        self.now_ms += after_ms
        body = decode(type(body), sent.version, memoryview(encode(body, sent.version)))
        sent.done(Answer(body, None, sent.version, sent.node), self.now_ms)
        self.tick()

    def fail(self, sent: Sent, error: KafkaError | None = None) -> None:
        """Let a request end without an answer."""
        self.network.sent.remove(sent)
        error = error or DisconnectedError("gone")
        sent.done(Answer(None, error, -1, sent.node), self.now_ms)
        self.tick()

    def fetched(
        self,
        *parts: tuple[TopicPartition, FetchResponse.PartitionData],
        node: int | None = None,
        after_ms: int = 0,
        session_id: int = 0,
        error_code: int = 0,
        pad: bool = True,
        **fields: Any,
    ) -> None:
        """Answer the fetch under way; a full one also has empty parts for what is not named."""
        sent = self.only(ApiKey.FETCH, node)
        named = dict(parts)
        every = list(parts)
        full = sent.body.session_epoch <= 0
        if pad and full and not error_code:
            every += [data(where) for where in asked(sent) if where not in named]
        topics = [
            FetchResponse.FetchableTopicResponse(
                topic=where.topic, topic_id=topic_id(where.topic), partitions=[data]
            )
            for where, data in every
        ]
        body = FetchResponse(
            session_id=session_id, error_code=error_code, responses=topics, **fields
        )
        self.answer(sent, body, after_ms)

    # -- the application's side --------------------------------------------------------------------

    def take(self, count: int = 500) -> dict[TopicPartition, list[int]]:
        """Take records: their offsets by partition."""
        one = self.fetcher.take_next() if count == 1 else None
        taken = one or self.fetcher.take_records(count, self.now_ms)
        self.tick()
        return {where: offsets(records) for where, records in taken.items()}

    def take_error(self, kind: type[Exception] = KafkaError, count: int = 500) -> Any:
        try:
            taken = self.fetcher.take_records(count, self.now_ms)
        except kind as error:
            self.tick()
            return error
        raise AssertionError(f"nothing was raised, but taken: {taken}")

    def at(self, where: TopicPartition) -> int | None:
        position = self.positions.position(where)
        return None if position is None else position.offset


class Outcome:
    """Takes the end of one look-up."""

    def __init__(self) -> None:
        self.ended: list[tuple[object, KafkaError | None]] = []

    def __call__(self, result: object, error: KafkaError | None) -> None:
        self.ended.append((result, error))


def look_up(
    world: World, timestamps: dict[TopicPartition, int], timeout_ms: int = 5_000
) -> Outcome:
    outcome = Outcome()
    world.fetcher.list_offsets(
        timestamps,
        world.now_ms,
        outcome,
        deadline_ms=world.now_ms + timeout_ms,
    )
    assert outcome.ended == []  # never inside the call
    world.tick()
    return outcome


def asked(sent: Sent) -> dict[TopicPartition, int]:
    """What a fetch request asks for: offset by partition."""
    names = {topic_id(name): name for name in ("t", "foo", "bar", "other")}
    return {
        TopicPartition(topic.topic or names[topic.topic_id], one.partition): one.fetch_offset
        for topic in sent.body.topics
        for one in topic.partitions
    }


def forgotten(sent: Sent) -> list[TopicPartition]:
    names = {topic_id(name): name for name in ("t", "foo", "bar", "other")}
    return [
        TopicPartition(topic.topic or names[topic.topic_id], number)
        for topic in sent.body.forgotten_topics_data
        for number in topic.partitions
    ]


def offsets(records: Iterable[ConsumerRecord]) -> list[int]:
    return [record.offset for record in records]


def batch(
    first: int,
    count: int = 1,
    *,
    size: int = 10,
    last: int | None = None,
    epoch: int = -1,
    producer: int = -1,
    transactional: bool = False,
) -> bytes:
    """A batch of `count` records from offset `first` on; each value begins with its offset.

    last: the batch's last offset, if records at the end are compacted away.
    """
    rows = [(1000, None, b"%d " % (first + index) + b"." * size) for index in range(count)]
    return encode_batch(
        rows,
        base_offset=first,
        last_offset=last,
        leader_epoch=epoch,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        transactional=transactional,
    )


def marker(at: int, producer: int, *, commit: bool) -> bytes:
    """A control batch: a transaction's end."""
    return _control([(1000, struct.pack(">hh", 0, 1 if commit else 0), bytes(6))], at, producer)


def empty_control(at: int, producer: int) -> bytes:
    """A control batch whose record was compacted away."""
    return _control([], at, producer)


def _control(rows: list[tuple[int, bytes, bytes]], at: int, producer: int) -> bytes:
    return encode_batch(
        rows,
        base_offset=at,
        last_offset=at,
        producer_id=producer,
        producer_epoch=0,
        transactional=True,
        control=True,
    )


def part(
    records: bytes = b"", aborted: Iterable[tuple[int, int]] = (), **fields: Any
) -> FetchResponse.PartitionData:
    """A partition's part of an answer; `aborted` are (producer id, first offset)."""
    fields.setdefault("high_watermark", 1000)
    transactions = [
        FetchResponse.AbortedTransaction(producer_id=producer, first_offset=first)
        for producer, first in aborted
    ]
    return FetchResponse.PartitionData(records=records, aborted_transactions=transactions, **fields)


def data(where: TopicPartition, *batches: bytes, **fields: Any) -> Any:
    """`(partition, its part)` with these batches, for `World.fetched`."""
    records = b"".join(batches)
    return where, _numbered(where, part(records, **fields))


def failed(where: TopicPartition, code: int, **fields: Any) -> Any:
    """`(partition, its part)` with an error."""
    fields.setdefault("high_watermark", -1)
    return where, _numbered(where, part(b"", error_code=code, **fields))


def _numbered(
    where: TopicPartition, found: FetchResponse.PartitionData
) -> FetchResponse.PartitionData:
    found.partition_index = where.partition
    return found


def listed(*found: tuple[TopicPartition, int], **fields: Any) -> ListOffsetsResponse:
    """A ListOffsets answer: (partition, offset), with the same other fields for all."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=where.topic,
                partitions=[
                    ListOffsetsResponse.ListOffsetsPartitionResponse(
                        partition_index=where.partition, offset=offset, **fields
                    )
                ],
            )
            for where, offset in found
        ]
    )


def validated(
    *found: tuple[TopicPartition, int, int], error_code: int = 0
) -> OffsetForLeaderEpochResponse:
    """An OffsetForLeaderEpoch answer: (partition, epoch, end offset)."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=where.topic,
                partitions=[
                    OffsetForLeaderEpochResponse.EpochEndOffset(
                        error_code=error_code,
                        partition=where.partition,
                        leader_epoch=epoch,
                        end_offset=end,
                    )
                ],
            )
            for where, epoch, end in found
        ]
    )
