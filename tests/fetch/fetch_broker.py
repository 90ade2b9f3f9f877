"""Three brokers with logs and fetch sessions, as far as a fetcher can tell: for random play.

They answer what a sound broker would, from what the session says is wanted, so a client that
loses track of its session is found out; faults are the caller's to add.
"""

from __future__ import annotations

import random
from typing import Any

from fetch_world import Sent, asked, batch, data, forgotten, listed, marker, topic_id, validated

from kcore.connection.calls import node_id_of
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FetchResponse


class Log:
    """One partition: batches with gaps and markers between them, and which offsets show."""

    def __init__(self, rng: random.Random, batches: int) -> None:
        self.batches: list[tuple[int, int, bytes]] = []  # first and last offset, bytes
        self.visible: list[int] = []
        at = 0
        for _ in range(batches):
            kind = rng.random()
            if kind < 0.1:
                self.batches.append((at, at, marker(at, 1, commit=True)))
                at += 1
                continue
            if kind < 0.2:
                at += rng.randint(1, 5)  # compacted away whole
            count = rng.randint(1, 8)
            last = at + count - 1 + (rng.randint(1, 3) if kind > 0.9 else 0)
            raw = batch(at, count, size=rng.randint(0, 60), last=last)
            self.batches.append((at, last, raw))
            self.visible += range(at, at + count)
            at = last + 1
        self.end = at

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset` on; the first however large."""
        out = b""
        for _, last, raw in self.batches:
            if last < offset:
                continue
            if out and len(out) + len(raw) > max_bytes:
                break
            out += raw
        return out


class Brokers:
    """All three; `answer_for` gives the body for a request."""

    def __init__(self, logs: dict[TopicPartition, Log], rng: random.Random) -> None:
        self.logs = logs
        self.leaders: dict[TopicPartition, int] = {}
        self.largest_answer = 0
        self._rng = rng
        self._sessions: dict[int, tuple[int, dict[TopicPartition, int]]] = {}
        self._last_session = 100

    def lose_sessions(self) -> None:
        self._sessions.clear()

    def answer_for(self, sent: Sent) -> Any:
        if sent.api is ApiKey.FETCH:
            return self._fetch(sent)
        rows = [
            (TopicPartition(topic.name if sent.api is ApiKey.LIST_OFFSETS else topic.topic,
                            getattr(one, "partition_index", None) or getattr(one, "partition", 0)),
             one)
            for topic in sent.body.topics
            for one in topic.partitions
        ]  # fmt: skip
        if sent.api is ApiKey.LIST_OFFSETS:
            return listed(
                *((where, self.logs[where].end if one.timestamp == -1 else 0)
                  for where, one in rows)
            )  # fmt: skip
        return validated(*((where, one.leader_epoch, 1 << 40) for where, one in rows))

    def _fetch(self, sent: Sent) -> FetchResponse:
        body = sent.body
        full = body.session_epoch <= 0
        fresh: set[TopicPartition] = set()
        if full:
            self._sessions.pop(body.session_id, None)
            session_id, wanted = 0, dict(asked(sent))
            if body.session_epoch == 0:
                self._last_session += 1
                session_id = self._last_session
                self._sessions[session_id] = (1, wanted)
        else:
            found = self._sessions.get(body.session_id)
            if found is None:
                return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            session_id, (epoch, wanted) = body.session_id, found
            if epoch != body.session_epoch:
                return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            for where in forgotten(sent):
                del wanted[where]
            for where, offset in asked(sent).items():
                if wanted.pop(where, None) is None:
                    fresh.add(where)  # the session has not told its offsets yet
                wanted[where] = offset
            self._sessions[session_id] = (epoch + 1, wanted)
        return self._parts(sent, session_id, wanted, set(wanted) if full else fresh)

    def _parts(
        self,
        sent: Sent,
        session_id: int,
        wanted: dict[TopicPartition, int],
        fresh: set[TopicPartition],
    ) -> FetchResponse:
        room = sent.body.max_bytes
        parts = []
        size = 0
        for where, offset in list(wanted.items()):
            log = self.logs[where]
            one = data(where, high_watermark=log.end)
            if self.leaders[where] != node_id_of(sent.node):
                one[1].error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif offset > log.end:
                one[1].error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            elif room > 0 or not size:
                one[1].records = log.read(offset, min(room, 200))
                room -= len(one[1].records)
                size += len(one[1].records)
            if where in fresh or one[1].error_code or one[1].records:
                parts.append(one)
            if one[1].records:
                wanted[where] = wanted.pop(where)
        self.largest_answer = max(self.largest_answer, size + 1024 * len(parts))
        self._rng.shuffle(parts)
        topics = [
            FetchResponse.FetchableTopicResponse(
                topic=where.topic, topic_id=topic_id(where.topic), partitions=[part]
            )
            for where, part in parts
        ]
        return FetchResponse(session_id=session_id, responses=topics)
