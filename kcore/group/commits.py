"""Committing offsets (rules C1-C7 and the OffsetCommit column of table 3.1).

A commit is fenced twice: by the broker through generation and member id, and here by ownership.
Partitions that this member does not own any more, or owns anew since the commit was asked for, are
left out and reported, never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import groupby

from kcore.connection.calls import Answer, Message
from kcore.enums import Enum
from kcore.errors import (
    FencedInstanceIdError,
    IllegalArgumentError,
    KafkaError,
    RebalanceInProgressError,
    Unexpected,
)
from kcore.group.context import Context
from kcore.group.coordinator import Coordinator
from kcore.group.effects import Effect, Effects, error_of
from kcore.group.membership import Generation, Membership, instance_fenced
from kcore.group.operations import Operation, Operations
from kcore.group.repeated import Repeated
from kcore.hints import Any, Final
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import OffsetCommitRequest

Offsets = dict[TopicPartition, OffsetAndMetadata]
CommitDone = Callable[[Offsets, KafkaError | None], None]
Ids = dict[str, bytes | None]  # of topics by their names, as far as they are known
Renew = Callable[[], tuple[Offsets, Ids]]

TOPIC_ID_VERSION: Final = (
    10  # OffsetCommit and OffsetFetch name topics by id from here on (KIP-848)
)
_INSTANCE_ID_VERSION: Final = 7
_FENCING: Final = (
    Effect.FENCED,
    Effect.FORGET,
    Effect.OUTDATED,
    Effect.STALE,
    Effect.UNOWNED,
)
_RETRY_WITH_METADATA = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
# How often the coordinator has to say that it does not know a partition until commits that nobody
# asked for leave it out: a topic was deleted, and no rebalance and no close shall wait for it.
_UNKNOWN_MAX: Final = 3


class Objection(Enum):
    """Why a commit is not sent."""

    FENCED = "another process has our group_instance_id"
    BEFORE = "it was asked for before subscribing"
    REMADE = "their topics were deleted, and made anew, since it was asked for"
    LOST = "the group gave them to another member"
    REBALANCING = "the group is rebalancing; poll until that is over, then commit again"
    OUTSIDE = "it is not in the group now"


class _Written(NamedTuple):
    """What a request says of offsets. numbers: the partitions of each topic, in their order."""

    offsets: Offsets
    ids: Ids
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic]
    numbers: dict[str, list[int]]


class CommitOperation(Operation):
    """One commit; `stamps` are the ownership counts of all partitions when it was asked for, None
    without a membership. repeats: it says what the last one said, and nobody waits for it. renew:
    what to commit when it is sent, each time; None: what was asked for. ids: of the topics, as they
    were known then: in one that is made anew these offsets say nothing.
    """

    what = "the commit"

    def __init__(
        self,
        committer: Committer,
        offsets: Offsets,
        done: CommitDone,
        deadline_ms: int | None,
        stamps: Mapping[TopicPartition, int] | None,
        *,
        ids: Ids | None = None,
        repeats: bool = False,
        renew: Renew | None = None,
    ) -> None:
        super().__init__(deadline_ms)
        self.repeats = repeats
        self.renew = renew
        self._committer = committer
        self.offsets = offsets
        self.done = done
        self.stamps = stamps
        self.ids = ids or {}

    @property
    def automatic(self) -> bool:
        """Nobody has asked for it."""
        return self.repeats or self.renew is not None

    @property
    def needs_coordinator(self) -> bool:
        """A commit that cannot be made says so without waiting for a coordinator."""
        return bool(self.offsets) and self._committer.objection(self) is None

    @property
    def needs_turn(self) -> bool:
        """C5: without offsets it only waits for the commits before it."""
        return not self.offsets

    def send(self, now_ms: int) -> None:
        """See Operation.send."""
        self._committer.send(self, now_ms)

    def follow(self, later: Offsets, ids: Ids, *, managed: bool) -> None:
        """Another commit is asked for. If this one is tried again, it goes with that: it would come
        behind it, and take the offsets of the same partitions back.
        """
        if self.once or managed != (self.stamps is not None):
            return
        both = self.offsets.keys() & later.keys()
        if both:
            self.offsets = self.offsets | {tp: later[tp] for tp in both}
            self.ids = self.ids | {tp.topic: ids[tp.topic] for tp in both}

    def fail(self, error: KafkaError) -> None:
        """See Operation.fail."""
        self.ended = True
        self.done({}, error)

    def succeed(self, committed: Offsets) -> None:
        """End with what was committed."""
        self.ended = True
        self.done(committed, None)


class Committer:
    """All commits of one member, by verb and automatic. effects: of refusals, by its protocol."""

    def __init__(
        self,
        ctx: Context,
        membership: Membership,
        coordinator: Coordinator,
        effects: Effects,
        on_fenced: Callable[[int], None],
        undisturbed: Callable[[], bool],
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self._effects = effects
        self._on_fenced = on_fenced
        self._undisturbed = undisturbed
        self.operations: Operations[CommitOperation] = Operations(ctx, coordinator)
        # Of the last commit: who has nothing to do commits the same every few seconds.
        self._written = _Written({}, {}, [], {})
        self._repeated = Repeated()
        # What the coordinator has taken last, and what this member had then.
        self._taken: tuple[_Written, Mapping[TopicPartition, int]] | None = None
        # Of automatic commits: how often in a row the coordinator has not known these.
        self._unknown: dict[TopicPartition, int] = {}

    def commit(
        self,
        offsets: Offsets,
        done: CommitDone,
        *,
        deadline_ms: int | None,
        renew: Renew | None = None,
    ) -> None:
        """Commit; `done(committed, error)` follows. What is in `offsets` and not in `committed` was
        left out.

        deadline_ms: retried until then (C5); None: one try (C6). renew: asked whenever it is sent.
        No offsets: done when all commits asked for earlier are. IllegalArgumentError for a negative
        offset.
        """
        for tp, offset in offsets.items():
            if offset.offset < 0:
                raise IllegalArgumentError(
                    f"offset {offset.offset} of {tp.topic}-{tp.partition} must not be negative"
                )
            if offset.leader_epoch >= 0:
                self._ctx.cluster.see_epoch(tp, offset.leader_epoch)
        stamps, ids = self._stamps(), self.ids_of(offsets)
        for earlier in self.operations:
            earlier.follow(offsets, ids, managed=stamps is not None)
        operation = CommitOperation(
            self, dict(offsets), done, deadline_ms, stamps, ids=ids, renew=renew
        )
        self.operations.add(operation)

    def ids_of(self, offsets: Offsets) -> Ids:
        """Of their topics, as they are known now."""
        return self._ids_now(sorted({tp.topic for tp in offsets}))

    def _ids_now(self, topics: Iterable[str]) -> Ids:
        """Of a topic that is gone it is that of what was read: by its name the offsets could end in
        one that is made in its place.
        """
        topic_id = self._ctx.cluster.topic_id
        ids: Ids = {topic: topic_id(topic) for topic in topics}
        if not all(ids.values()):
            read = self._ctx.host.log_ids()
            ids = {topic: known or read.get(topic) for topic, known in ids.items()}
        return ids

    def _stamps(self) -> Mapping[TopicPartition, int] | None:
        return self._membership.acquired if self._membership.managed else None

    def repeats(self, offsets: Offsets) -> bool:
        """Whether these are what the last commit named."""
        return offsets == self._written.offsets

    def repeat(self, offsets: Offsets, done: CommitDone, now_ms: int) -> None:
        """Commit once more what the last one named, with one try; sent now. To be called while no
        operation is open, and the coordinator is known.
        """
        operation = CommitOperation(self, offsets, done, None, self._stamps(), repeats=True)
        self.operations.add(operation)
        self.send(operation, now_ms)

    def forgo(self, now_ms: int) -> None:
        """Nothing is consumed any more: what nobody asked for, and would commit what the last
        commit did, waits for no coordinator that is out of reach. It ends without a word.
        """
        if self._taken is None or self._coordinator.usable(now_ms):
            return
        (written, acquired), last = self._taken, self._written
        if written is not last or acquired is not self._membership.acquired:
            return
        for operation in self.operations:
            same = operation.offsets == last.offsets and operation.ids == last.ids
            if same and operation.automatic:
                operation.ended = True
        self.operations.sweep()

    # -- sending -------------------------------------------------------------------------------

    def objection(self, operation: CommitOperation) -> Objection | None:
        """C4: why the commit cannot be sent at all; None if it can."""
        membership = self._membership
        if membership.fenced is not None:
            return Objection.FENCED
        if operation.stamps is None and membership.managed:
            return Objection.BEFORE
        meant = self._meant(operation)
        if operation.offsets and not meant and operation.renew is None:
            return Objection.REMADE
        if operation.stamps is None:
            return None
        if membership.may_commit:
            return Objection.LOST if meant and not self._owned(operation) else None
        return Objection.REBALANCING if membership.rebalancing else Objection.OUTSIDE

    def _refusal(self, operation: CommitOperation, objection: Objection) -> KafkaError:
        membership = self._membership
        if membership.fenced is not None:
            return membership.fenced
        if objection is Objection.REBALANCING:
            return RebalanceInProgressError(objection.value)
        return membership.commit_failed(operation.offsets, membership.generation, objection.value)

    def _owned(self, operation: CommitOperation) -> Offsets:
        """What of the commit is still this member's: owned without a break since it was asked
        for.
        """
        stamps, offsets = operation.stamps, self._meant(operation)
        if stamps is None:
            return offsets
        acquired = self._membership.acquired
        if stamps is acquired and offsets.keys() <= acquired.keys():
            return offsets
        return {
            tp: offset
            for tp, offset in offsets.items()
            if tp in stamps and acquired.get(tp) == stamps[tp]
        }

    def _meant(self, operation: CommitOperation) -> Offsets:
        """The offsets without those of topics that were made anew since. What is consumed is of
        topics that were known: of one that was gone by then, and is there again, it is not.
        """
        topic_id = self._ctx.cluster.topic_id
        anew = [
            topic
            for topic, known in operation.ids.items()
            if (known is not None or operation.renew is not None)
            and topic_id(topic) not in (None, known)
        ]
        if not anew:
            return operation.offsets
        return {tp: at for tp, at in operation.offsets.items() if tp.topic not in anew}

    def send(self, operation: CommitOperation, now_ms: int) -> None:
        """Write OffsetCommit, or end the operation if there is nothing (allowed) to write."""
        if not operation.offsets:
            operation.succeed({})
            return
        objection = self.objection(operation)
        if objection is None and operation.renew is not None:
            offsets, operation.ids = operation.renew()
            operation.offsets, operation.stamps = dict(offsets), self._stamps()
            if not self._meant(operation):
                operation.succeed({})
                return
            objection = self.objection(operation)
        if objection is not None:
            operation.fail(self._refusal(operation, objection))
            return
        offsets = self._owned(operation)
        sent = self._membership.generation if operation.stamps is not None else Generation()
        instance_id = None if operation.stamps is None else self._ctx.config.group_instance_id
        written = self._write(offsets)

        def build(version: int) -> Message:
            return OffsetCommitRequest(
                group_id=self._ctx.config.group_id,
                generation_id_or_member_epoch=sent.id,
                member_id=sent.member_id,
                group_instance_id=instance_id if version >= _INSTANCE_ID_VERSION else None,
                topics=written.topics,
            )

        def done(answer: Answer, at_ms: int) -> None:
            operation.in_flight = False
            good = self._answered(operation, written, sent, answer, at_ms)
            if repeated is not None:
                repeated.read(good=good and not answer.body.throttle_time_ms)

        def taken(at_ms: int) -> bool:
            del at_ms
            alone = operation.repeats and self.operations.alone(operation)
            if not alone or not self._undisturbed():
                return False  # who waits for it has to be seen to
            operation.in_flight = False
            self._succeeded(operation, written)
            self.operations.sweep()
            return True

        repeated = None if self._repeated.busy else self._repeated
        self._coordinator.ask(
            ApiKey.OFFSET_COMMIT,
            build if repeated is None else repeated.ask((written, sent), build, taken),
            done,
            now_ms,
            max_version=None if all(written.ids.values()) else TOPIC_ID_VERSION - 1,
            standing=repeated,
        )
        operation.in_flight = True  # behind it: see ClientCore.handle_interrupted

    def _write(self, offsets: Offsets) -> _Written:
        """What to say of these offsets; kept for the next time."""
        last = self._written
        if offsets == last.offsets:
            ids = self._ids_now(last.ids)
            if ids == last.ids:
                return last
        else:
            ids = self.ids_of(offsets)
        topics = _topics(offsets, ids)
        numbers = {
            entry.name: [partition.partition_index for partition in entry.partitions]
            for entry in topics
        }
        self._written = _Written(offsets, ids, topics, numbers)
        return self._written

    # -- answers -------------------------------------------------------------------------------

    def _answered(
        self,
        operation: CommitOperation,
        written: _Written,
        sent: Generation,
        answer: Answer,
        now_ms: int,
    ) -> bool:
        """Whether it is the usual answer."""
        if answer.error is not None:
            operation.failed(answer.error, self._ctx, now_ms)
            return False
        usual = _all_good(answer, written)
        known: Collection[TopicPartition] | None = None
        if not usual:
            try:
                codes = _read(answer, written.offsets, written.ids)
            except Unexpected as error:
                self._coordinator.lost(str(error), now_ms)
                operation.failed(error, self._ctx, now_ms)
                return False
            if operation.automatic:
                known = codes = self._without_unknown(codes)
            refused = self._effect(codes, sent, operation, now_ms)
            if refused is not None:
                operation.failed(refused, self._ctx, now_ms)
                return False
        self._succeeded(operation, written, known)
        return usual

    def _succeeded(
        self,
        operation: CommitOperation,
        written: _Written,
        known: Collection[TopicPartition] | None = None,
    ) -> None:
        """known: those that were committed; None: all."""
        self._coordinator.works()
        self._taken = (written, self._membership.acquired) if known is None else None
        if not operation.ended:
            committed = dict(written.offsets)  # theirs to change, `written` is kept
            if known is not None:
                committed = {tp: offset for tp, offset in committed.items() if tp in known}
            operation.succeed(committed)

    def _without_unknown(self, codes: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The codes without those of partitions that the coordinator has often enough not known.

        The others are committed in the same request, as long as nothing else was refused.
        """
        unknown = {
            tp: self._unknown.get(tp, 0) + 1
            for tp, code in codes.items()
            if code in _RETRY_WITH_METADATA
        }
        self._unknown = unknown
        return {tp: code for tp, code in codes.items() if unknown.get(tp, 0) < _UNKNOWN_MAX}

    def _effect(
        self,
        codes: dict[TopicPartition, int],
        sent: Generation,
        operation: CommitOperation,
        now_ms: int,
    ) -> KafkaError | None:
        """The first error in the answer's order decides, except that authorization is collected."""
        unauthorized: dict[TopicPartition, int] = {}
        for tp, code in codes.items():
            if code == ErrorCode.NONE:
                continue
            if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                unauthorized[tp] = code
                continue
            return self._refused(tp, code, sent, operation, now_ms)
        if not unauthorized:
            return None
        from kcore.errors.parts import of_partitions  # noqa: PLC0415 - hardly ever needed

        done = {tp: at for tp, at in operation.offsets.items() if tp in codes.keys() - unauthorized}
        return of_partitions("committing", unauthorized, done)

    def _refused(
        self,
        tp: TopicPartition,
        code: int,
        sent: Generation,
        operation: CommitOperation,
        now_ms: int,
    ) -> KafkaError:
        error: KafkaError = error_of(code, f"committing {tp.topic}-{tp.partition}")
        effect = self._effects.of(code)
        if effect is Effect.RETRY and code in _RETRY_WITH_METADATA:
            self._ctx.cluster.request_update()
        elif effect is Effect.MOVED:
            self._coordinator.lost(str(error), now_ms)
        elif effect is Effect.REJOIN:
            self._membership.request_rejoin("a commit found the group rebalancing")
        elif effect is Effect.STALE and operation.stamps is not None:
            # Ours still, as what is not is left out: once more, under the epoch that was meanwhile
            # told or soon will be.
            error.retriable = True
        elif effect in _FENCING:
            return self._fenced_off(effect, error, sent, operation, now_ms)
        return error

    def _fenced_off(
        self,
        effect: Effect,
        error: KafkaError,
        sent: Generation,
        operation: CommitOperation,
        now_ms: int,
    ) -> KafkaError:
        """The C-rule of section 3.1: what a commit says when the broker does not know its
        sender.
        """
        membership = self._membership
        if operation.stamps is None:
            return membership.commit_failed(
                operation.offsets,
                sent,
                f"{error}: the group has members, which assign() cannot share it with",
            )
        same = membership.generation == sent
        if not same and membership.preparing:
            return RebalanceInProgressError(f"the group has begun to rebalance meanwhile: {error}")
        if effect is Effect.FENCED:
            if not same:
                return membership.commit_failed(operation.offsets, sent, str(error))
            fenced: FencedInstanceIdError = instance_fenced(self._ctx.config.group_instance_id)
            membership.fence(fenced, now_ms)
            self._on_fenced(now_ms)
            return fenced
        if membership.managed and effect is not Effect.UNOWNED:
            membership.reset(str(error), now_ms, keep_member_id=effect is Effect.OUTDATED)
        return membership.commit_failed(operation.offsets, sent, str(error))


def _topics(
    offsets: Offsets, ids: dict[str, bytes | None]
) -> list[OffsetCommitRequest.OffsetCommitRequestTopic]:
    cls = OffsetCommitRequest
    result = []
    for topic, group in groupby(sorted(offsets), key=lambda tp: tp.topic):
        partitions = [
            cls.OffsetCommitRequestPartition(
                partition_index=tp.partition,
                committed_offset=offsets[tp].offset,
                committed_leader_epoch=offsets[tp].leader_epoch,
                committed_metadata=offsets[tp].metadata,
            )
            for tp in group
        ]
        topic_id = ids[topic]
        entry = cls.OffsetCommitRequestTopic(name=topic, partitions=partitions)
        if topic_id is not None:
            entry.topic_id = topic_id
        result.append(entry)
    return result


def names_of(answer: Answer, ids: dict[str, bytes | None]) -> Callable[[Any], str | None]:
    """How to tell a topic entry's name: by id from v10 on. None: a topic that was not asked
    about.
    """
    if answer.version < TOPIC_ID_VERSION:
        return lambda entry: entry.name if entry.name in ids else None
    by_id = {topic_id: topic for topic, topic_id in ids.items()}
    return lambda entry: by_id.get(entry.topic_id)


def _all_good(answer: Answer, written: _Written) -> bool:
    """Whether it is the usual answer: every partition once, in the request's order, no error."""
    name_of, numbers = names_of(answer, written.ids), written.numbers
    topics = answer.body.topics
    if len(topics) != len(numbers):
        return False
    for entry, (topic, wanted) in zip(topics, numbers.items(), strict=True):
        if name_of(entry) != topic or len(entry.partitions) != len(wanted):
            return False
        for partition, number in zip(entry.partitions, wanted, strict=True):
            if partition.error_code or partition.partition_index != number:
                return False
    return True


def _read(
    answer: Answer, offsets: Offsets, ids: dict[str, bytes | None]
) -> dict[TopicPartition, int]:
    """The error code of each partition, in the answer's order; Unexpected if one is missing."""
    name_of = names_of(answer, ids)
    codes: dict[TopicPartition, int] = {}
    for entry in answer.body.topics:
        name = name_of(entry)
        if name is None:
            continue
        for partition in entry.partitions:
            tp = TopicPartition(name, partition.partition_index)
            if tp in offsets:
                codes[tp] = partition.error_code
    missing = offsets.keys() - codes.keys()
    if missing:
        tp = min(missing)
        raise Unexpected(f"OffsetCommit answered nothing for {tp.topic}-{tp.partition}")
    return codes
