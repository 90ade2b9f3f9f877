"""DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets: how far share groups
are, as administrators see and set it.

Source of the rules: Java's GroupCoordinatorService and GroupMetadataManager of Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcore.coordinator.appends import answered
from kcore.coordinator.desk import Ticket
from kcore.coordinator.journal import Item
from kcore.coordinator.numbered import grouped
from kcore.coordinator.share import records
from kcore.coordinator.share.group import Initialized, ShareGroup
from kcore.coordinator.share.keeper import NOT_STARTED
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

_Described = DescribeShareGroupOffsetsResponse
_Altered = AlterShareGroupOffsetsResponse
_Deleted = DeleteShareGroupOffsetsResponse

_NO_TOPIC = "This server does not host this topic-partition."


class ShareOffsets:
    """Handles the offsets of the share groups of a partition."""

    def __init__(self, context: Context) -> None:
        self._context = context

    # Describing ----------------------------------------------------------------------------------

    def describe(
        self, asked: DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    ) -> _Described.DescribeShareGroupOffsetsResponseGroup:
        """One group: the topics named, or all that it has read and are there still. One that is not
        there has read nothing.
        """
        group_id = asked.group_id
        result = _Described.DescribeShareGroupOffsetsResponseGroup(group_id=group_id)
        group = self._context.shares.get(group_id) or ShareGroup(group_id)
        if asked.topics is None:
            wanted = [
                (name, sorted(one.partitions))
                for topic_id, one in group.initialized.items()
                if (name := self._context.topics.name_of(topic_id)) is not None
            ]
        else:
            wanted = [(one.topic_name, list(one.partitions)) for one in asked.topics]
        result.topics = [self._describe_topic(group, name, parts) for name, parts in wanted]
        return result

    def _describe_topic(
        self, group: ShareGroup, name: str, partitions: list[int]
    ) -> _Described.DescribeShareGroupOffsetsResponseTopic:
        topics, keeper = self._context.topics, self._context.keeper
        topic_id = topics.id_of(name)
        found = _Described.DescribeShareGroupOffsetsResponseTopic(topic_name=name)
        if topic_id is not None:
            found.topic_id = topic_id
        for number in partitions:
            at = NOT_STARTED
            if topic_id is not None and group.knows([number], topic_id):
                at = keeper.share_offset(group.group_id, topic_id, number)
            found.partitions.append(
                _Described.DescribeShareGroupOffsetsResponsePartition(
                    partition_index=number,
                    start_offset=at.start,
                    leader_epoch=at.leader_epoch,
                    lag=at.lag,
                )
            )
        return found

    # Altering ------------------------------------------------------------------------------------

    def alter(self, ticket: Ticket, request: AlterShareGroupOffsetsRequest, now_ms: int) -> None:
        """Only while nobody is in the group; one that is not there is made, if what it is to read
        is.
        """

        def run(kept: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            refused = _refusal(request.group_id, kept, error, ApiKey.ALTER_SHARE_GROUP_OFFSETS)
            if kept is None and not error:
                refused = None
            if refused is not None:
                _let_go(kept)
                code, why = refused
                ticket.answer(_Altered(error_code=code, error_message=why))
                return
            response, chosen = self._choose(request)
            id_of = self._context.topics.id_of
            if kept is None and all(id_of(topic.topic_name) is None for topic in request.topics):
                ticket.answer(response)
                return
            group = kept if isinstance(kept, ShareGroup) else ShareGroup(request.group_id)
            self._begin_at(ticket, group, response, chosen, now_ms)

        self._context.hold(request.group_id, run, now_ms)

    def _choose(
        self, request: AlterShareGroupOffsetsRequest
    ) -> tuple[_Altered, dict[tuple[bytes, int], int]]:
        """The answer, and what is to be altered, where that exists."""
        topics = self._context.topics
        response = _Altered()
        chosen: dict[tuple[bytes, int], int] = {}
        for topic in request.topics:
            topic_id = topics.id_of(topic.topic_name)
            shown = _Altered.AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name)
            if topic_id is not None:
                shown.topic_id = topic_id
            for one in topic.partitions:
                result = _Altered.AlterShareGroupOffsetsResponsePartition(
                    partition_index=one.partition_index
                )
                shown.partitions.append(result)
                there = topics.has_partition(topic.topic_name, one.partition_index)
                if topic_id is None or not there:
                    result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    result.error_message = _NO_TOPIC
                else:
                    chosen[topic_id, one.partition_index] = one.start_offset
            response.responses.append(shown)
        return response, chosen

    def _begin_at(
        self,
        ticket: Ticket,
        group: ShareGroup,
        response: _Altered,
        chosen: dict[tuple[bytes, int], int],
        now_ms: int,
    ) -> None:
        group_id, context = group.group_id, self._context
        every = dict(group.initialized)
        for topic_id, numbers in grouped(chosen).items():
            known = every[topic_id].partitions if topic_id in every else frozenset()
            name = context.topics.name_of(topic_id) or ""
            every[topic_id] = Initialized(name, known.union(numbers))
        items: list[Item] = []
        is_new = group_id not in context.shares
        if is_new:
            items.append(records.epoch_entry(group_id, group.epoch, group.metadata_hash))
            context.shares[group_id] = group
        group.held = True
        if every != group.initialized:
            items.append(records.initialized_entry(group_id, every))

        def done(error: ErrorCode, _now_ms: int) -> None:
            group.held = False
            if error:
                if is_new:
                    context.shares.pop(group_id, None)  # it never was
                ticket.answer(_Altered(error_code=answered(error)))
                return
            for (topic_id, number), offset in chosen.items():
                context.keeper.alter_share_offset(group_id, topic_id, number, offset)
            ticket.answer(response)

        if items:
            context.write(items, done, now_ms)
        else:
            done(ErrorCode.NONE, now_ms)

    # Deleting ------------------------------------------------------------------------------------

    def delete(self, ticket: Ticket, request: DeleteShareGroupOffsetsRequest, now_ms: int) -> None:
        """What a group has read of topics, while nobody is in it."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            refused = _refusal(request.group_id, group, error, ApiKey.DELETE_SHARE_GROUP_OFFSETS)
            if refused is not None or not isinstance(group, ShareGroup):
                _let_go(group)
                code, why = refused or (ErrorCode.GROUP_ID_NOT_FOUND, None)
                ticket.answer(_Deleted(error_code=code, error_message=why))
                return
            self._delete(ticket, request, group, now_ms)

        self._context.hold(request.group_id, run, now_ms)

    def _delete(
        self,
        ticket: Ticket,
        request: DeleteShareGroupOffsetsRequest,
        group: ShareGroup,
        now_ms: int,
    ) -> None:
        response, gone = _Deleted(), set()
        for topic in request.topics:
            topic_id = self._context.topics.id_of(topic.topic_name)
            shown = _Deleted.DeleteShareGroupOffsetsResponseTopic(topic_name=topic.topic_name)
            if topic_id is None or topic_id not in group.initialized:
                shown.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                shown.error_message = _NO_TOPIC
            else:
                shown.topic_id = topic_id
                gone.add(topic_id)
            response.responses.append(shown)
        left = {key: one for key, one in group.initialized.items() if key not in gone}

        def done(error: ErrorCode, _now_ms: int) -> None:
            group.held = False
            if error:
                ticket.answer(_Deleted(error_code=answered(error)))
                return
            self._context.keeper.forget_share_group(group.group_id, gone)
            ticket.answer(response)

        if gone:
            items: list[Item] = [records.initialized_entry(group.group_id, left)]
            self._context.write(items, done, now_ms)
        else:
            group.held = False
            ticket.answer(response)


def _refusal(
    group_id: str, group: AnyGroup | None, error: ErrorCode, api: ApiKey
) -> tuple[ErrorCode, str | None] | None:
    if error:
        return error, None
    if not isinstance(group, ShareGroup):
        return ErrorCode.GROUP_ID_NOT_FOUND, _not_found(group_id, group)
    code = group.refusal(api)
    return (code, "The group is not empty.") if code else None


def _let_go(group: AnyGroup | None) -> None:
    if group is not None:
        group.held = False


def _not_found(group_id: str, group: AnyGroup | None) -> str:
    why = "not found" if group is None else "is not a share group"
    return f"Group {group_id[:MAX_NAME_CHARS]} {why}."
