"""What ends: groups and offsets, on request or by age (rules O16-O20, A3).

All of it holds the group: it looks at what is there when the writes on their way are through, and
until its own is, nothing is added. So no commit slips in between the look and the tombstones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kcore.coordinator.appends import answered
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.records import group_tombstones
from kcore.coordinator.context import AnyGroup, Context, ignore
from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import CONSUMER_PROTOCOL, Group
from kcore.coordinator.journal import Item, group_entry, offset_entry
from kcore.coordinator.offsets import Offsets
from kcore.coordinator.purgatory import Delayed, Key
from kcore.coordinator.share import records as share_records
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.share.states import FOREIGN
from kcore.coordinator.states import GroupState
from kcore.coordinator.streams import records as streams_records
from kcore.coordinator.streams.group import StreamsGroup
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import OffsetCommitValue, OffsetDeleteRequest, OffsetDeleteResponse


def sweep_key(partition: int) -> Key:
    """The next look for what is too old."""
    return ("sweep", partition)


class DelayedSweep(Delayed):
    """Looks for what is too old, again and again."""

    __slots__ = ("_cleaning",)

    def __init__(self, cleaning: Cleaning) -> None:
        self._cleaning = cleaning

    def expire(self, now_ms: int) -> None:
        """It is time to look."""
        self._cleaning.schedule_sweep(now_ms)
        self._cleaning.sweep(now_ms)


class Cleaning:
    """Deletes groups and offsets of a partition."""

    def __init__(self, context: Context, offsets: Offsets) -> None:
        self._context = context
        self._offsets = offsets

    # On request ----------------------------------------------------------------------------------

    def delete_group(self, group_id: str, done: Callable[[ErrorCode], None], now_ms: int) -> None:
        """A3: with everything it has committed."""

        def retire(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if group is None:
                done(error or ErrorCode.GROUP_ID_NOT_FOUND)
                return
            error = group.refusal(ApiKey.DELETE_GROUPS)
            if error:
                group.held = False
                done(error)
                return
            entries = self._tombstones(group_id, self._offsets.touched(group_id))
            entries += _group_tombstones(group)

            def deleted(error: ErrorCode) -> None:
                if not error and isinstance(group, ShareGroup):
                    self._context.keeper.forget_share_group(group_id)
                done(error)

            self._remove(group, entries, deleted, now_ms)

        self._context.hold(group_id, retire, now_ms)

    def delete_offsets(self, ticket: Ticket, request: OffsetDeleteRequest, now_ms: int) -> None:
        """O16."""

        def delete(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if group is None:
                error = error or ErrorCode.GROUP_ID_NOT_FOUND
                ticket.answer(OffsetDeleteResponse(error_code=error))
                return
            error = _offset_delete_error(group)
            if error:
                group.held = False
                ticket.answer(OffsetDeleteResponse(error_code=error))
                return
            response, gone = self._delete_response(group, request)

            def done(error: ErrorCode) -> None:
                ticket.answer(OffsetDeleteResponse(error_code=error) if error else response)

            self._remove(group, self._tombstones(group.group_id, gone), done, now_ms)

        self._context.hold(request.group_id, delete, now_ms)

    def _delete_response(
        self, group: AnyGroup, request: OffsetDeleteRequest
    ) -> tuple[OffsetDeleteResponse, list[TopicPartition]]:
        touched = set(self._offsets.touched(group.group_id))
        response = OffsetDeleteResponse()
        gone: dict[TopicPartition, None] = {}
        for topic in request.topics:
            subscribed = group.is_subscribed(topic.name)
            shown = OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name)
            response.topics.append(shown)
            for asked in topic.partitions:
                tp = TopicPartition(topic.name, asked.partition_index)
                error = ErrorCode.NONE
                if not self._context.topics.has_partition(*tp):
                    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif subscribed:
                    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                elif tp in touched:
                    gone[tp] = None
                shown.partitions.append(
                    OffsetDeleteResponse.OffsetDeleteResponsePartition(
                        partition_index=asked.partition_index, error_code=error
                    )
                )
        return response, list(gone)

    def delete_topics(self, topics: Collection[str], now_ms: int) -> None:
        """O20: topics are gone, and with them what was read of them."""

        def delete(error: ErrorCode, now_ms: int) -> None:
            entries: list[Item] = [
                offset_entry(group_id, *tp, None)
                for group_id, tp in self._offsets.with_topics(topics)
            ]
            if entries and not error:
                self._context.write(entries, ignore, now_ms)

        self._context.appends.after(delete, now_ms)

    # By age --------------------------------------------------------------------------------------

    def schedule_sweep(self, now_ms: int) -> None:
        """Look for what is too old after the check interval, from then on regularly."""
        at_ms = now_ms + self._context.config.offsets_retention_check_interval_ms
        key = sweep_key(self._context.appends.partition)
        self._context.purgatory.watch(key, DelayedSweep(self), at_ms)

    def sweep(self, now_ms: int) -> None:
        """O18, O19: end what is too old."""
        groups: list[AnyGroup] = [
            *self._context.groups.values(),
            *self._context.consumers.values(),
            *self._context.streams.values(),
        ]
        for group in groups:
            if self._expired(group, now_ms):
                self._context.hold(group.group_id, self._sweep_group, now_ms)

    def _sweep_group(self, group: AnyGroup | None, _error: ErrorCode, now_ms: int) -> None:
        if group is not None:
            self._remove(group, self._expired(group, now_ms), lambda _error: None, now_ms)

    def _expired(self, group: AnyGroup, now_ms: int) -> list[Item]:
        """The tombstones of what is too old: offsets, and the group if that leaves nothing."""
        stored = self._offsets.of(group.group_id)
        wall_ms = self._context.wall_ms(now_ms)
        gone = [
            tp
            for tp, offset in stored.items()
            if not group.is_subscribed(tp.topic)
            and not self._offsets.is_pending(group.group_id, tp)
            and self._is_expired(group, offset.value, wall_ms)
        ]
        entries = self._tombstones(group.group_id, sorted(gone))
        if (
            len(gone) == len(stored)
            and _is_empty(group)
            and not self._offsets.has_open_transaction(group.group_id)
        ):
            entries += _group_tombstones(group)
        return entries

    def _is_expired(self, group: AnyGroup, value: OffsetCommitValue, wall_ms: int) -> bool:
        """Whether an offset is too old; that its topic is not subscribed is known."""
        base_ms = value.commit_timestamp
        if isinstance(group, Group) and group.protocol_type is not None:
            if group.state is GroupState.EMPTY:
                # While there were members, the offsets were in use.
                base_ms = base_ms if group.state_since_ms is None else group.state_since_ms
            elif not (
                group.state is GroupState.STABLE
                and group.protocol_type == CONSUMER_PROTOCOL
                and group.subscribed is not None
            ):
                return False
        if value.expire_timestamp >= 0:
            return wall_ms >= value.expire_timestamp
        return wall_ms - base_ms >= self._context.config.offsets_retention_ms

    # Both ----------------------------------------------------------------------------------------

    def _tombstones(self, group_id: str, gone: list[TopicPartition]) -> list[Item]:
        return [offset_entry(group_id, tp.topic, tp.partition, None) for tp in gone]

    def _remove(
        self, group: AnyGroup, entries: list[Item], done: Callable[[ErrorCode], None], now_ms: int
    ) -> None:
        """Append the tombstones of a group that is held; what they say goes when they are in."""

        def removed(error: ErrorCode, _now_ms: int) -> None:
            group.held = False
            done(answered(error))

        if entries:
            self._context.write(entries, removed, now_ms)
        else:
            removed(ErrorCode.NONE, now_ms)


def _group_tombstones(group: AnyGroup) -> list[Item]:
    if isinstance(group, ConsumerGroup):
        return group_tombstones(group)
    if isinstance(group, ShareGroup):
        return share_records.group_tombstones(group)
    if isinstance(group, StreamsGroup):
        return streams_records.group_tombstones(group)
    return [group_entry(group.group_id, None)]


def _is_empty(group: AnyGroup) -> bool:
    if not isinstance(group, Group):
        return not group.members
    return group.state is GroupState.EMPTY


def _offset_delete_error(group: AnyGroup) -> ErrorCode:
    if isinstance(group, ConsumerGroup | StreamsGroup):
        return ErrorCode.NONE
    if isinstance(group, ShareGroup):
        return FOREIGN[ApiKey.OFFSET_DELETE]
    error = group.refusal(ApiKey.OFFSET_DELETE)
    members = group.state is not GroupState.EMPTY
    if not error and members and group.protocol_type != CONSUMER_PROTOCOL:
        return ErrorCode.NON_EMPTY_GROUP
    return error
