"""OffsetCommit and TxnOffsetCommit (rules O1-O10)."""

from __future__ import annotations

from collections.abc import Callable

from kcore.coordinator.appends import answered
from kcore.coordinator.context import Context, Topics
from kcore.coordinator.desk import Ticket
from kcore.coordinator.epochs import Commit, check_commit, knows_groups
from kcore.coordinator.journal import Entry, offset_entry
from kcore.coordinator.membership import Membership
from kcore.coordinator.offsets import Offsets
from kcore.coordinator.share.states import FOREIGN
from kcore.coordinator.states import GroupState
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID
from kcore.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitValue,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

# From these versions on topics go by their ids.
TOPIC_IDS_VERSION = 10
TXN_TOPIC_IDS_VERSION = 6

# No retention of its own (versions 2 to 4 can have one).
_NO_RETENTION = -1

_BMP_END = "\uffff"

CommitResponse = OffsetCommitResponse | TxnOffsetCommitResponse
_Partition = (
    OffsetCommitRequest.OffsetCommitRequestPartition
    | TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
)
_Result = (
    OffsetCommitResponse.OffsetCommitResponsePartition
    | TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition
)


class Wanted(NamedTuple):
    """One partition of a commit, and the place of its error in the response."""

    topic: str
    asked: _Partition
    result: _Result


class Commits:
    """Handles commits to the groups of a partition."""

    def __init__(self, context: Context, membership: Membership, offsets: Offsets) -> None:
        self._context = context
        self._offsets = offsets
        self._membership = membership

    def commit(self, ticket: Ticket, request: OffsetCommitRequest, now_ms: int) -> None:
        """Store offsets outside of a transaction."""
        response, wanted = commit_response(self._context.topics, request, ticket.version)
        error = self._check(request, ticket.version, wanted)
        group = self._context.groups.get(request.group_id)
        if not error and group is not None:
            self._membership.committed(group, group.members.get(request.member_id), now_ms)
        retention_ms = request.retention_time_ms

        def entry(one: Wanted) -> Entry:
            value = self._value(one, now_ms)
            if retention_ms != _NO_RETENTION:
                expires_ms = value.commit_timestamp + max(retention_ms, 0)
                value.expire_timestamp = min(expires_ms, NEVER)
            index = one.asked.partition_index
            return offset_entry(request.group_id, one.topic, index, value)

        self._store(ticket, response, wanted, error, entry, now_ms)

    def commit_in_transaction(
        self, ticket: Ticket, request: TxnOffsetCommitRequest, now_ms: int
    ) -> None:
        """Store offsets that count once the producer's transaction is committed."""
        response, wanted = txn_commit_response(self._context.topics, request, ticket.version)
        error = self._check(request, ticket.version, wanted)
        if request.producer_id < 0 and not error:
            error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        known = self._offsets.epochs_of(request.producer_id)
        if request.producer_epoch < known.producer and not error:
            error = ErrorCode.INVALID_PRODUCER_EPOCH

        def entry(one: Wanted) -> Entry:
            value = self._value(one, now_ms)
            return offset_entry(
                request.group_id,
                one.topic,
                one.asked.partition_index,
                value,
                request.producer_id,
                request.producer_epoch,
            )

        self._store(ticket, response, wanted, error, entry, now_ms)

    def _check(self, request: Commit, version: int, wanted: list[Wanted]) -> ErrorCode:
        """O2-O7."""
        group_id = request.group_id
        if group_id in self._context.shares:
            return FOREIGN[ApiKey.OFFSET_COMMIT]
        streams = self._context.streams.get(group_id)
        if streams is not None:
            tasks = ((streams.reader_of(one.topic), one.asked.partition_index) for one in wanted)
            return check_commit(streams, request, version, tasks)
        consumers = self._context.consumers.get(group_id)
        if consumers is not None:
            ids = {one.topic: self._context.topics.id_of(one.topic) or b"" for one in wanted}
            partitions = [(ids[one.topic], one.asked.partition_index) for one in wanted]
            return check_commit(consumers, request, version, partitions)
        return self._check_classic(request, version)

    def _check_classic(self, request: Commit, version: int) -> ErrorCode:
        generation, member_id = request.generation_id_or_member_epoch, request.member_id
        instance_id = request.group_instance_id
        group = self._context.groups.get(request.group_id)
        if group is None:
            if generation < 0:
                return ErrorCode.NONE  # the commit makes a group without members
            if knows_groups(request, version):
                return ErrorCode.GROUP_ID_NOT_FOUND
            return ErrorCode.ILLEGAL_GENERATION
        api = ApiKey(request.API_KEY)
        empty = group.state is GroupState.EMPTY
        if group.state is GroupState.DEAD or (generation < 0 and empty):
            return group.refusal(api)
        if generation >= 0 or member_id or instance_id is not None:
            error = group.check_member(member_id, instance_id)
            if error:
                return error
            if generation != group.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif isinstance(request, OffsetCommitRequest):
            return ErrorCode.UNKNOWN_MEMBER_ID
        return group.refusal(api)

    def _value(self, one: Wanted, now_ms: int) -> OffsetCommitValue:
        """It says of which topic of that name it is."""
        return OffsetCommitValue(
            offset=one.asked.committed_offset,
            leader_epoch=one.asked.committed_leader_epoch,
            metadata=one.asked.committed_metadata or "",
            commit_timestamp=self._context.wall_ms(now_ms),
            topic_id=self._context.topics.id_of(one.topic) or ZERO_UUID,
        )

    def _store(
        self,
        ticket: Ticket,
        response: CommitResponse,
        wanted: list[Wanted],
        error: ErrorCode,
        entry: Callable[[Wanted], Entry],
        now_ms: int,
    ) -> None:
        """Append what is in order; answer when that is through."""
        limit = self._context.config.offset_metadata_max_bytes
        entries: list[Entry] = []
        written: list[_Result] = []
        for one in wanted:
            if error:
                one.result.error_code = error
            elif _utf16_length(one.asked.committed_metadata or "") > limit:
                one.result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                entries.append(entry(one))
                written.append(one.result)
        if not entries:
            ticket.answer(response)
            return

        def done(error: ErrorCode, _now_ms: int) -> None:
            for result in written:
                result.error_code = answered(error)
            ticket.answer(response)

        self._context.write(list(entries), done, now_ms)


def commit_response(
    topics: Topics, request: OffsetCommitRequest, version: int
) -> tuple[OffsetCommitResponse, list[Wanted]]:
    """The response to fill in, and the partitions that exist; the others have their error."""
    response = OffsetCommitResponse()
    wanted = []
    for topic in request.topics:
        by_id = version >= TOPIC_IDS_VERSION
        name = topics.name_of(topic.topic_id) if by_id else topic.name
        shown = OffsetCommitResponse.OffsetCommitResponseTopic(
            name="" if by_id else topic.name, topic_id=topic.topic_id
        )
        response.topics.append(shown)
        for asked in topic.partitions:
            result = OffsetCommitResponse.OffsetCommitResponsePartition(
                partition_index=asked.partition_index
            )
            shown.partitions.append(result)
            if name is None:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            elif not topics.has_partition(name, asked.partition_index):
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append(Wanted(name, asked, result))
    return response, wanted


def txn_commit_response(
    topics: Topics, request: TxnOffsetCommitRequest, version: int
) -> tuple[TxnOffsetCommitResponse, list[Wanted]]:
    """As `commit_response`."""
    response = TxnOffsetCommitResponse()
    wanted = []
    for topic in request.topics:
        by_id = version >= TXN_TOPIC_IDS_VERSION
        name = topics.name_of(topic.topic_id) if by_id else topic.name
        shown = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
            name="" if by_id else topic.name, topic_id=topic.topic_id
        )
        response.topics.append(shown)
        for asked in topic.partitions:
            result = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                partition_index=asked.partition_index
            )
            shown.partitions.append(result)
            if name is None:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            elif not topics.has_partition(name, asked.partition_index):
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append(Wanted(name, asked, result))
    return response, wanted


def _utf16_length(text: str) -> int:
    """The length Kafka measures: Java strings count UTF-16 units."""
    return len(text) + sum(char > _BMP_END for char in text)
