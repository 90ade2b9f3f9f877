"""Requests from this process, served like any client's but without a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from itertools import count
from typing import Final, Protocol, TypeVar

from kcore.broker import Cluster, Node, apis
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.links import ClientLink
from kcore.broker.topics import Topic
from kcore.records import encode_batch
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.frames import DecodedRequest
from kcore.wire.message import Message
from kcore.wire.messages import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    ProduceRequest,
    ProduceResponse,
)

TIMEOUT_S: Final = 30.0
_LOOKS: Final = 300  # meanwhile, at whether there is still a server
_PRODUCE_VERSION: Final = 9
_OFFSET_FETCH_VERSION: Final = 7
_TIMEOUT_MS: Final = 30_000
# What a batch costs beside its records, and the most that a record does beside key and value.
_BATCH_BYTES: Final = 61
_RECORD_BYTES: Final = 32
# No driver gives a link such a number: what is sent on it would go nowhere.
_links = count(-1, -1)

_R = TypeVar("_R")


class Serving(Protocol):
    """Who drives the nodes: a Server, a CoreLoop."""

    def call(self, function: Callable[[int], _R]) -> _R:
        """Run `function(now_ms)` between two inputs of the nodes."""


NewRecord = tuple[bytes | None, bytes | None]


class _InsideCall(Call):
    """A request whose answer is a future's result."""

    __slots__ = ("future",)

    def __init__(self, node: Node, message: Message, version: int, now_ms: int) -> None:
        key = ApiKey(message.API_KEY)
        request = DecodedRequest(key, version, 0, "kcore-inside", message)
        super().__init__(node, ClientLink(next(_links), "inside", 1, now_ms), request, now_ms)
        self.future: Future[Message] = Future()

    def answer(self, message: Message) -> None:
        if not self.future.done():
            self.future.set_result(message)


def ask(server: Serving, whom: Callable[[], Node], message: Message, version: int) -> Message:
    """The answer of the node that it is then to a request. TimeoutError if it does not come;
    RuntimeError if nobody serves any more who could give it.
    """

    def begin(now_ms: int) -> Future[Message]:
        call = _InsideCall(whom(), message, version, now_ms)
        result = apis.HANDLERS[call.key](call, message)
        if isinstance(result, Message):
            call.answer(result)
        return call.future

    future = server.call(begin)
    for _ in range(_LOOKS):
        if wait([future], TIMEOUT_S / _LOOKS).done:
            break
        server.call(lambda _now_ms: None)
    return future.result(0)


def topic_of(cluster: Cluster, name: str, partition: int = 0) -> Topic:
    """LookupError: there is none of that name, or not with such a partition."""
    found = cluster.topics.get(name)
    if found is None:
        raise LookupError(f"there is no topic {name!r}")
    if not 0 <= partition < len(found.partitions):
        count = len(found.partitions)
        raise LookupError(f"there is no partition {partition} of {name!r}, which has {count}")
    return found


def committed(server: Serving, cluster: Cluster, group: str, topic: str) -> list[int | None]:
    """What a group has committed in each partition; LookupError, RefusedError."""
    count = server.call(lambda _now_ms: len(topic_of(cluster, topic).partitions))

    def keeper() -> Node:
        node = cluster.nodes.get(cluster.coordinator_of(group))
        if node is None:
            raise RefusedError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"nobody keeps the group {group!r}: no node that has its journal is up",
            )
        return node

    wanted = OffsetFetchRequest.OffsetFetchRequestTopic(
        name=topic, partition_indexes=list(range(count))
    )
    request = OffsetFetchRequest(group_id=group, topics=[wanted])
    answer = ask(server, keeper, request, _OFFSET_FETCH_VERSION)
    assert isinstance(answer, OffsetFetchResponse)
    if answer.error_code:
        code = ErrorCode(answer.error_code)
        raise RefusedError(code, f"the offsets of the group {group!r}: {code.name}")
    offsets = {
        part.partition_index: part.committed_offset for part in answer.topics[0].partitions
    }
    return [None if offsets[number] < 0 else offsets[number] for number in range(count)]


def produce(
    server: Serving,
    cluster: Cluster,
    topic: str,
    records: Iterable[NewRecord],
    partition: int | None,
    wall_ms: int,
) -> int:
    """Append records with acks=all, each partition's in their order; how many.

    partition None: they go round. LookupError, RefusedError; what was before it in its partition,
    or in an earlier one, is kept then. TypeError if a record is no pair of bytes or None.
    """
    found = topic_of(cluster, topic, partition or 0)
    numbers = range(len(found.partitions)) if partition is None else [partition]
    shares: Mapping[int, list[NewRecord]] = {number: [] for number in numbers}
    total = 0
    for total, record in enumerate(records, 1):
        if not isinstance(record, tuple) or len(record) != 2:
            raise TypeError(f"a record is a pair (key, value), not {record!r:.80}")
        if not all(part is None or isinstance(part, bytes) for part in record):
            raise TypeError(f"key and value of a record are bytes or None, not {record!r:.80}")
        shares[numbers[(total - 1) % len(numbers)]].append(record)
    for number, share in shares.items():
        for batch in _batches(share, found.config.max_message_bytes):
            _send(server, cluster, topic, number, batch, wall_ms)
    return total


def _batches(records: list[NewRecord], bytes_max: int) -> Iterator[list[NewRecord]]:
    """Records in batches of at most so many bytes; one that is larger by itself is alone in its."""
    batch: list[NewRecord] = []
    size = _BATCH_BYTES
    for key, value in records:
        more = _RECORD_BYTES + len(key or b"") + len(value or b"")
        if batch and size + more > bytes_max:
            yield batch
            batch, size = [], _BATCH_BYTES
        batch.append((key, value))
        size += more
    if batch:
        yield batch


def _send(
    server: Serving,
    cluster: Cluster,
    topic: str,
    number: int,
    records: list[NewRecord],
    wall_ms: int,
) -> None:
    def leader() -> Node:
        found = cluster.topics.get(topic)
        node = None if found is None else cluster.nodes.get(found.partitions[number].leader)
        if node is None:
            raise RefusedError(ErrorCode.LEADER_NOT_AVAILABLE, f"nobody leads {topic}-{number}")
        return node

    batch = encode_batch((wall_ms, key, value) for key, value in records)
    part = ProduceRequest.PartitionProduceData(index=number, records=batch)
    data = ProduceRequest.TopicProduceData(name=topic, partition_data=[part])
    request = ProduceRequest(acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=[data])
    answer = ask(server, leader, request, _PRODUCE_VERSION)
    assert isinstance(answer, ProduceResponse)
    result = answer.responses[0].partition_responses[0]
    if result.error_code:
        code = ErrorCode(result.error_code)
        raise RefusedError(code, result.error_message or code.name)
