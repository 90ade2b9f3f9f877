"""Fetching committed offsets (rule C8). No membership is needed; a member of the consumer protocol
says who it is, so that it is not told what another one has meanwhile committed over (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from kcore.connection.calls import Answer, Message
from kcore.errors import KafkaError, Unexpected, for_code
from kcore.group.commits import TOPIC_ID_VERSION, names_of
from kcore.group.context import Context
from kcore.group.coordinator import Coordinator
from kcore.group.effects import error_of
from kcore.group.membership import Generation, Membership
from kcore.group.operations import Operation, Operations
from kcore.hints import Any, Final
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import OffsetFetchRequest

Committed = dict[TopicPartition, OffsetAndMetadata | None]
FetchDone = Callable[[Committed | None, KafkaError | None], None]
Found = Callable[[Committed], None]

_GROUPS_VERSION: Final = 8  # several groups in one request from here on (KIP-709)
_MEMBER_VERSION: Final = 9  # who asks (KIP-848)
_STABLE_VERSION: Final = 7  # require_stable (KIP-447)
# The epoch has moved on, or the membership is over: asked again under what the member is then.
_OUTDATED = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
# Of a partition it is final (C8): the coordinator has just looked.
_FINAL = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class FetchOperation(Operation):
    """One look-up of committed offsets.

    each: None: all are told together, out of one answer. Else it is given what an answer says while
    it refuses others, which alone are asked for from then on.
    """

    what = "fetching committed offsets"

    def __init__(
        self,
        fetcher: CommittedFetcher,
        partitions: frozenset[TopicPartition],
        done: FetchDone,
        deadline_ms: int,
        each: Found | None,
    ) -> None:
        super().__init__(deadline_ms)
        self._fetcher = fetcher
        self.partitions = partitions
        self.done = done
        self._each = each

    def send(self, now_ms: int) -> None:
        """See Operation.send."""
        self._fetcher.send(self, now_ms)

    def fail(self, error: KafkaError) -> None:
        """See Operation.fail."""
        self.ended = True
        self.done(None, error)

    def refused(self, error: KafkaError, committed: Committed, ctx: Context, now_ms: int) -> None:
        """An answer says something of some partitions only."""
        if self._each is not None and not self.ended and committed:
            self.partitions = self.partitions - committed.keys()
            self._each(committed)
        self.failed(error, ctx, now_ms)

    def succeed(self, committed: Committed) -> None:
        """End with what is committed."""
        self.ended = True
        self.done(committed, None)


class CommittedFetcher:
    """All look-ups of committed offsets of one member."""

    def __init__(self, ctx: Context, membership: Membership, coordinator: Coordinator) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self.by_id = False  # whether the last answer named topics by their ids
        self.operations: Operations[FetchOperation] = Operations(ctx, coordinator)

    def fetch(
        self,
        partitions: Iterable[TopicPartition],
        done: FetchDone,
        *,
        deadline_ms: int,
        each: Found | None = None,
    ) -> None:
        """`done({tp: what is committed, None if nothing is}, None)` or `done(None, error)`
        follows; the error has partitions that were refused in `failed`. each: see FetchOperation.
        """
        wanted = frozenset(partitions)
        self.operations.add(FetchOperation(self, wanted, done, deadline_ms, each))

    def send(self, operation: FetchOperation, now_ms: int) -> None:
        """Write OffsetFetch."""
        partitions = operation.partitions
        if not partitions:
            operation.succeed({})
            return
        ids = {tp.topic: self._ctx.cluster.topic_id(tp.topic) for tp in partitions}
        config, asker = self._ctx.config, self._membership.asker

        def build(version: int) -> Message:
            stable = config.require_stable and version >= _STABLE_VERSION
            return _request(config.group_id, asker, partitions, ids, version, require_stable=stable)

        def done(answer: Answer, at_ms: int) -> None:
            operation.in_flight = False
            self._answered(operation, ids, answer, at_ms)

        self._coordinator.ask(
            ApiKey.OFFSET_FETCH,
            build,
            done,
            now_ms,
            max_version=None if all(ids.values()) else TOPIC_ID_VERSION - 1,
        )
        operation.in_flight = True  # behind it: see ClientCore.handle_interrupted

    def _answered(
        self, operation: FetchOperation, ids: dict[str, bytes | None], answer: Answer, now_ms: int
    ) -> None:
        if answer.error is not None:
            operation.failed(answer.error, self._ctx, now_ms)
            return
        self.by_id = answer.version >= TOPIC_ID_VERSION
        try:
            committed, codes = self._read(operation, ids, answer)
        except Unexpected as error:
            self._coordinator.lost(str(error), now_ms)
            operation.failed(error, self._ctx, now_ms)
        except KafkaError as error:
            errno = getattr(error, "errno", None)
            if errno in _MOVED:
                self._coordinator.lost(str(error), now_ms)
            elif errno in _OUTDATED:
                error.retriable = True
            operation.failed(error, self._ctx, now_ms)
        else:
            if not codes:
                self._coordinator.works()
                if not operation.ended:
                    operation.succeed(committed)
                return
            self._refused(operation, committed, codes, now_ms)

    def _refused(
        self,
        operation: FetchOperation,
        committed: Committed,
        codes: dict[TopicPartition, int],
        now_ms: int,
    ) -> None:
        """What will not change is said before what may; if all may, all is asked for again."""
        from kcore.errors.parts import of_partitions  # noqa: PLC0415 - hardly ever needed

        final = {
            tp: code for tp, code in codes.items() if code == _FINAL or not for_code(code).retriable
        }
        what = f"fetching what group {self._ctx.config.group_id!r} has committed in"
        error = of_partitions(what, final or codes, committed)
        error.retriable = not final
        if ErrorCode.UNKNOWN_TOPIC_ID in codes.values():
            self._ctx.cluster.request_update()
        if not final and not set(codes.values()).isdisjoint(_MOVED):
            self._coordinator.lost(str(error), now_ms)
        else:
            self._coordinator.works()
        operation.refused(error, committed, self._ctx, now_ms)

    def _read(
        self, operation: FetchOperation, ids: dict[str, bytes | None], answer: Answer
    ) -> tuple[Committed, dict[TopicPartition, int]]:
        """What an answer says, and the codes of partitions that it refuses; raises the error of the
        group, Unexpected if it leaves a partition out.

        A partition left out must not pass for one without a commit: that would reset its position.
        """
        entry = answer.body
        group_id = self._ctx.config.group_id
        if answer.version >= _GROUPS_VERSION:
            entry = next((it for it in answer.body.groups if it.group_id == group_id), None)
            if entry is None:
                raise Unexpected(f"OffsetFetch answered without group {group_id!r}")
        if entry.error_code != ErrorCode.NONE:
            raise error_of(entry.error_code, f"fetching committed offsets of group {group_id!r}")
        name_of = names_of(answer, ids)
        committed: Committed = {}
        codes: dict[TopicPartition, int] = {}
        anew = {topic for topic, known in ids.items() if known and self._made_anew(topic, known)}
        for topic in entry.topics:
            name = name_of(topic)
            for partition in topic.partitions if name is not None else ():
                tp = TopicPartition(name or "", partition.partition_index)
                if tp not in operation.partitions:
                    continue
                if partition.error_code != ErrorCode.NONE:
                    codes[tp] = partition.error_code
                elif name in anew:  # committed in the one before, perhaps
                    codes[tp] = ErrorCode.UNKNOWN_TOPIC_ID
                else:
                    committed[tp] = _one(partition)
        missing = operation.partitions - committed.keys() - codes.keys()
        if missing:
            tp = min(missing)
            raise Unexpected(f"OffsetFetch answered nothing for {tp.topic}-{tp.partition}")
        return committed, codes

    def _made_anew(self, topic: str, topic_id: bytes) -> bool:
        return self._ctx.cluster.topic_id(topic) not in (None, topic_id)


def _one(partition: Any) -> OffsetAndMetadata | None:
    if partition.committed_offset < 0:
        return None
    return OffsetAndMetadata(
        partition.committed_offset,
        partition.metadata or "",
        max(-1, partition.committed_leader_epoch),
    )


def _request(
    group_id: str,
    asker: Generation | None,
    partitions: frozenset[TopicPartition],
    ids: dict[str, bytes | None],
    version: int,
    *,
    require_stable: bool,
) -> OffsetFetchRequest:
    cls = OffsetFetchRequest
    by_topic = [
        (topic, [tp.partition for tp in group])
        for topic, group in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]
    if version < _GROUPS_VERSION:
        topics = [
            cls.OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic
        ]
        return cls(group_id=group_id, topics=topics, require_stable=require_stable)
    entries = []
    for topic, numbers in by_topic:
        entry = cls.OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
        topic_id = ids[topic]
        if topic_id is not None:
            entry.topic_id = topic_id
        entries.append(entry)
    group = cls.OffsetFetchRequestGroup(group_id=group_id, topics=entries)
    if asker is not None and version >= _MEMBER_VERSION:
        group.member_id, group.member_epoch = asker.member_id, asker.id
    return cls(groups=[group], require_stable=require_stable)
