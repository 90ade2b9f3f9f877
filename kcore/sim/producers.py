"""A producer that writes numbered records and remembers which it was promised.

It speaks to nodes in bytes like everybody else, one batch at a time, and does not try again: what
was not acknowledged may be in the log or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcore.records import encode_batch
from kcore.sim.chance import Chance
from kcore.sim.nodes import Brokers
from kcore.sim.stage import Stage
from kcore.structs import TopicPartition
from kcore.wire import frames
from kcore.wire import messages as m

_PRODUCE_VERSION: Final = 7  # every release has it
_GIVE_UP_MS: Final = 3_000
_WALL_MS: Final = 1_700_000_000_000


@dataclass(slots=True)
class _Batch:
    """What is being written."""

    tp: TopicPartition
    node_id: int
    values: list[bytes]
    data: bytes


class Producer:
    """Appends to a random partition again and again until `until_ms`."""

    def __init__(self, stage: Stage, brokers: Brokers, chance: Chance, until_ms: int) -> None:
        self.name = "producer"
        self.owner: object = self
        self.deaf = False
        self._stage = stage
        self._brokers = brokers
        self._chance = chance
        self._until_ms = until_ms
        self._links: dict[int, int] = {}  # node -> link
        self._ready: set[int] = set()
        self._answers: dict[int, bytes] = {}  # link -> what has come of an answer
        self._batch: _Batch | None = None
        self._count = 0  # of links, and of requests
        self._number = 0  # of records
        self.acknowledged = 0
        self._next()

    def _next(self) -> None:
        every_ms = self._stage.plan.append_every_ms
        at_ms = self._stage.now() + self._chance.around(every_ms)
        if at_ms <= self._until_ms:
            self._stage.at(at_ms, self._write)

    def _write(self) -> None:
        partitions = self._brokers.partitions()
        tp = self._chance.one_of(partitions) if partitions else None
        node_id = None if tp is None else self._brokers.leader_of(tp)
        if tp is None or node_id is None:
            self._next()
            return
        values = []
        for _ in range(self._chance.between(1, self._stage.plan.records_per_append)):
            self._number += 1
            values.append(b"%d" % self._number)
        self._send(tp, node_id, values)
        self._stage.at(self._stage.now() + _GIVE_UP_MS, self._give_up, self._batch)

    def _send(self, tp: TopicPartition, node_id: int, values: list[bytes]) -> None:
        self._count += 1
        records = encode_batch(
            [(_WALL_MS + self._stage.now(), None, value) for value in values],
            codec=self._chance.one_of(self._stage.plan.codecs),
        )
        part = m.ProduceRequest.PartitionProduceData(index=tp.partition, records=records)
        topic = m.ProduceRequest.TopicProduceData(name=tp.topic, partition_data=[part])
        request = m.ProduceRequest(acks=-1, timeout_ms=_GIVE_UP_MS, topic_data=[topic])
        data = frames.encode_request(request, _PRODUCE_VERSION, self._count, self.name)
        self._batch = _Batch(tp, node_id, values, data)
        self._stage.judge.written(tp, values)
        link = self._links.get(node_id)
        if link is None:
            self._links[node_id] = self._count
            self._stage.network.connect(self, self._count, self._brokers.node(node_id))
        elif link in self._ready:
            self._stage.network.client_sends(self, link, data)

    def _give_up(self, batch: _Batch) -> None:
        """Its answer is late: nothing more is expected of that connection."""
        if batch is self._batch:
            link = self._links.get(batch.node_id)
            if link is not None:
                self._stage.network.client_closes(self, link)
                self._forget(link)
            self._done()

    def _done(self) -> None:
        self._batch = None
        self._next()

    # The network ---------------------------------------------------------------------------------

    def wire_opened(self, link: int) -> None:
        """See ClientSide."""
        self._ready.add(link)
        if self._batch is not None and self._links.get(self._batch.node_id) == link:
            self._stage.network.client_sends(self, link, self._batch.data)

    def wire_closed(self, link: int, _why: str) -> None:
        """See ClientSide."""
        lost = self._batch is not None and self._links.get(self._batch.node_id) == link
        self._forget(link)
        if lost:
            self._done()

    def wire_data(self, link: int, data: bytes) -> None:
        """See ClientSide."""
        data = self._answers.pop(link, b"") + data
        if len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            self._answers[link] = data
            return
        batch = self._batch
        if batch is not None and self._links.get(batch.node_id) == link:
            answer = frames.decode_response(
                m.ProduceResponse, _PRODUCE_VERSION, memoryview(data)[4:]
            )
            (topic,) = answer.responses
            (result,) = topic.partition_responses
            if not result.error_code:
                self.acknowledged += len(batch.values)
                self._stage.judge.acknowledged(batch.tp, result.base_offset, batch.values)
            self._done()

    def _forget(self, link: int) -> None:
        self._ready.discard(link)
        self._answers.pop(link, None)
        self._links = {node_id: one for node_id, one in self._links.items() if one != link}
