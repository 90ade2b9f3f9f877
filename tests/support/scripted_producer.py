"""A scripted cluster that takes what producers send, as Kafka's leaders do: it judges sequences and
remembers five batches of each producer. See scripted.py.

`fault`, asked at each batch, says what goes wrong with it: an error code or a word of those below.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from scripted import CUT, SILENT, Client, ScriptedCluster, World

from kcore.locks import WorkLock
from kcore.produce.events import RecordsDelivered
from kcore.produce.intake import Door, Ticket
from kcore.producer.config import ProducerConfig
from kcore.producer.core import ProducerCore
from kcore.records import RecordReader
from kcore.records.batches import BatchInfo, describe_batches
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey

CUT_BEFORE = "cut before"  # the link ends, nothing is written
CUT_AFTER = "cut after"  # written, but the link ends instead of an answer
NO_ANSWER = "no answer"  # written, and nobody says so
LATE = "late"  # the link ends; what was read already is worked off 700 ms later

_ENDINGS = {CUT_BEFORE: CUT, CUT_AFTER: CUT, NO_ANSWER: SILENT, LATE: CUT}

NOT_LEADER, OUT_OF_ORDER, INVALID_EPOCH, TOO_LARGE = 6, 45, 47, 10
UNKNOWN_TOPIC_ID = 100


class LeaderLog:
    """One partition at its leader."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.batches: list[BatchInfo] = []
        self.producers: dict[int, tuple[int, deque[tuple[int, int, int]]]] = {}

    def append(self, data: bytes) -> tuple[int, int]:
        """Error code and base offset, as UnifiedLog and ProducerAppendInfo have it."""
        (info,) = describe_batches(data)
        first = info.base_sequence
        base = len(self.values)
        if info.producer_id >= 0:
            last = (first + info.record_count - 1) % (1 << 31)
            epoch, kept = self.producers.get(info.producer_id, (-1, deque(maxlen=5)))
            if info.producer_epoch < epoch:
                return INVALID_EPOCH, -1
            if info.producer_epoch > epoch:
                if first != 0 and epoch >= 0:
                    return OUT_OF_ORDER, -1
                kept = deque(maxlen=5)
            else:
                for known_first, known_last, known_base in kept:
                    if (known_first, known_last) == (first, last):
                        return 0, known_base
                if first != (kept[-1][1] + 1) % (1 << 31):
                    return OUT_OF_ORDER, -1
            kept.append((first, last, base))
            self.producers[info.producer_id] = (info.producer_epoch, kept)
        records = RecordReader("t", 0, data, 0).take(info.record_count)
        assert len(records) == info.record_count > 0
        self.values += [record.value for record in records]
        self.batches.append(info)
        return 0, base


class ProduceCluster(ScriptedCluster):
    def __init__(self, topics: dict[str, int], nodes: int = 1) -> None:
        super().__init__(topics, nodes)
        self.apis |= {ApiKey.PRODUCE: (3, 12), ApiKey.INIT_PRODUCER_ID: (0, 4)}
        self.logs_of: dict[tuple[str, int], LeaderLog] = {}
        self.leaders: dict[int, int] = {}  # partitions that have moved
        self.hints = False  # whether NOT_LEADER says who leads (KIP-951)
        self.fault: Callable[[int, str, int, bytes], Any] = lambda *_: None
        self.later: Callable[[int, Callable[[], None]], None] = lambda *_: None
        self.ids = 0
        self.first_epoch = 0
        self.max_batch = 1 << 30

    def log(self, partition: int = 0, topic: str = "t") -> LeaderLog:
        return self.logs_of.setdefault((topic, partition), LeaderLog())

    def values(self, topic: str = "t") -> list[bytes | None]:
        return [v for (name, _), log in self.logs_of.items() if name == topic for v in log.values]

    def leader_of(self, partition: int) -> int:
        return self.leaders.get(partition, super().leader_of(partition))

    def move(self, partition: int, node: int) -> None:
        self.leaders[partition] = node
        self.leader_epoch += 1

    def _init_producer_id(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        self.ids += 1
        reply(
            m.InitProducerIdResponse(
                producer_id=1000 + self.ids, producer_epoch=self.first_epoch if self.ids == 1 else 0
            )
        )

    def _produce(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.ProduceResponse
        endings: list[Any] = []
        topics = [
            R.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    self._take(node, name, part.index, bytes(part.records), endings)
                    if (name := topic.name or self._name(topic.topic_id))
                    else R.PartitionProduceResponse(
                        index=part.index, error_code=UNKNOWN_TOPIC_ID, base_offset=-1
                    )
                    for part in topic.partition_data
                ],
            )
            for topic in request.message.topic_data
        ]
        if request.message.acks == 0:
            return
        if endings:
            reply(endings[-1])
            return
        endpoints = [R.NodeEndpoint(node_id=n, host=h, port=p) for n, (h, p) in self.nodes.items()]
        reply(R(responses=topics, node_endpoints=endpoints if self.hints else []))

    def _name(self, topic_id: bytes) -> str:
        return next((name for name, known in self.topic_ids.items() if known == topic_id), "")

    def make_anew(self, topic: str, topic_id: bytes) -> None:
        """Deleted, and there again at once: its logs are empty and know no producer."""
        self.topic_ids[topic] = topic_id
        self.logs_of = {tp: log for tp, log in self.logs_of.items() if tp[0] != topic}

    def _take(self, node: int, topic: str, number: int, data: bytes, endings: list[Any]) -> Any:
        """One batch; `endings` gets what becomes of the answer, if there is none."""
        R = m.ProduceResponse
        answer = R.PartitionProduceResponse(index=number, base_offset=-1)
        log = self.log(number, topic)
        fault = self.fault(node, topic, number, data)
        if isinstance(fault, str):
            endings.append(_ENDINGS[fault])
        if fault == LATE:
            if len(data) <= self.max_batch:
                self.later(700, lambda: log.append(data))
        elif isinstance(fault, R.PartitionProduceResponse):
            return fault
        elif isinstance(fault, int):
            answer.error_code = fault
        elif node != self.leader_of(number):
            answer.error_code = NOT_LEADER
            if self.hints:
                answer.current_leader = R.LeaderIdAndEpoch(
                    leader_id=self.leader_of(number), leader_epoch=self.leader_epoch
                )
        elif len(data) > self.max_batch:
            answer.error_code = TOO_LARGE
        elif fault != CUT_BEFORE:
            answer.error_code, answer.base_offset = log.append(data)
        return answer


class ProducerClient(Client):
    """A producer's core in the world. taken: (batch, number, value) of each record, in order."""

    def __init__(self, world: World, options: dict[str, Any]) -> None:
        self.world = world
        servers = [f"{h}:{p}" for h, p in world.cluster.nodes.values()]
        config = ProducerConfig.from_options({"bootstrap_servers": servers, **options})
        self.core = ProducerCore(config, random.Random(world.seed), world.now)
        self.links, self.readers, self.slots = {}, {}, {}
        self.events = []
        self.taken: list[tuple[Any, int, bytes | None]] = []
        self.door = Door(self.core.intake, WorkLock(threading.RLock(), ()), Ticket, None)
        self.quick = 0  # records that came in by the intake
        self.drain()

    def send(self, value: bytes | None, *, topic: str = "t", **given: Any) -> bool:
        """Append, as the client does; whether it was taken."""
        given = {"key": None, "headers": [], "partition": None, "timestamp_ms": 5, **given}
        since_ms = given.pop("since_ms", None)
        ticket = self.door.send(topic, value=value, **given)
        if ticket is not None:
            self.quick += 1
            self.taken.append((ticket.batch, ticket.number, value))
            return True
        given |= {"now_ms": self.world.now, "since_ms": since_ms}
        found = self.core.append(topic, value=value, **given)
        self.drain()
        if found is not None:
            self.taken.append((*found, value))
        return found is not None

    def send_soon(self, value: bytes | None, within_ms: int = 60_000, **given: Any) -> None:
        end = self.world.now + within_ms
        while not self.send(value, **given):
            assert self.world.now < end, self.core.held_up
            self.world.run(5)

    def flush(self, within_ms: int = 200_000) -> None:
        self.result(self.core.flush(self.world.now), within_ms)

    def outcomes(self) -> list[Any]:
        return [batch.outcome(number) for batch, number, _ in self.taken]

    def errors(self) -> list[Any]:
        return [one.error for one in self.outcomes() if one is not None and one.error is not None]

    def delivered(self) -> list[bytes | None]:
        """The values that are said to be in the log."""
        found = []
        for batch, number, value in self.taken:
            outcome = batch.outcome(number)
            if outcome is not None and outcome.error is None:
                found.append(value)
        return found

    def check_offsets(self) -> None:
        """What is said to be delivered is where it is said to be."""
        cluster: Any = self.world.cluster
        for batch, number, value in self.taken:
            outcome = batch.outcome(number)
            assert outcome is not None, "a record has no end"
            if outcome.error is None and outcome.offset >= 0:
                tp: TopicPartition = batch.tp
                assert cluster.log(tp.partition, tp.topic).values[outcome.offset] == value

    @property
    def over(self) -> int:
        return len(self.of(RecordsDelivered))


def produce_world(
    nodes: int = 1, topics: dict[str, int] | None = None, seed: int = 1, **options: Any
) -> tuple[World, ProduceCluster, ProducerClient]:
    cluster = ProduceCluster({"t": 1} if topics is None else topics, nodes)
    world = World(cluster, seed)
    cluster.later = world.later
    client = ProducerClient(world, options)
    world.clients.append(client)
    return world, cluster, client


def values(count: int, start: int = 0) -> list[bytes]:
    return [b"%06d" % number for number in range(start, start + count)]


def send_all(client: ProducerClient, wanted: list[bytes], **given: Any) -> None:
    for value in wanted:
        client.send_soon(value, **given)


def first_times(count: int, what: Any) -> Callable[..., Any]:
    """A fault of the first `count` batches."""
    left = [count]

    def fault(*_: Any) -> Any:
        if left[0]:
            left[0] -= 1
            return what
        return None

    return fault


def behind_a_dead_leader(
    count: int, **options: Any
) -> tuple[World, ProduceCluster, ProducerClient]:
    """The first record is there; then the leader, node 1, refuses connections, and so many more are
    to be sent.
    """
    world, cluster, client = produce_world(**options)
    send_all(client, values(1))
    client.flush()
    world.kill_node(1)
    send_all(client, values(count, 1))
    return world, cluster, client


def small_batches(**options: Any) -> tuple[World, ProduceCluster, ProducerClient]:
    """Each record is a batch."""
    return produce_world(batch_size=0, linger_ms=0, **options)
