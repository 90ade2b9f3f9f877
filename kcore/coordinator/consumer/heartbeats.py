"""ConsumerGroupHeartbeat for the groups of a partition (rules C1-C19).

Whatever writes to a group holds it, so that each heartbeat finds what the one before it wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from kcore.coordinator.answers import refuse_join, refuse_sync
from kcore.coordinator.appends import answered
from kcore.coordinator.consumer import records
from kcore.coordinator.consumer.beat import Beat, check_static
from kcore.coordinator.consumer.fencing import Fencing
from kcore.coordinator.consumer.group import FIRST_EPOCH, ConsumerGroup
from kcore.coordinator.consumer.member import LEAVING_STATIC, ConsumerMember
from kcore.coordinator.consumer.migrating import upgraded
from kcore.coordinator.consumer.requests import is_full, owned_by
from kcore.coordinator.consumer.topics import metadata_hash, resolve
from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import Group
from kcore.coordinator.journal import Item, group_entry
from kcore.coordinator.numbered import grouped
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.states import GroupState
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

# Regular expressions are looked at again no sooner than this, as it takes a walk over all topics.
REGEX_REFRESH_MIN_MS: Final = 10_000

Sees = Callable[[str], bool] | None  # which topics who asks may know of; None: all

_Assignment = ConsumerGroupHeartbeatResponse.Assignment
_TopicPartitions = ConsumerGroupHeartbeatResponse.TopicPartitions


class Heartbeats:
    """Handles ConsumerGroupHeartbeat."""

    def __init__(self, context: Context, fencing: Fencing) -> None:
        self._context = context
        self._fencing = fencing

    def handle(self, ticket: Ticket, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> None:
        """A member joins, is there, or goes; the request makes sense by itself."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error:
                ticket.answer(ConsumerGroupHeartbeatResponse(error_code=error))
                return
            try:
                if request.member_epoch < 0:
                    self._leave(ticket, request, group, now_ms)
                else:
                    self._beat(ticket, request, group, now_ms)
            except RefusedError as refused:
                if group is not None:
                    group.held = False
                ticket.answer(refused.answer(ConsumerGroupHeartbeatResponse))

        self._context.hold(request.group_id, run, now_ms)

    # There ---------------------------------------------------------------------------------------

    def _beat(
        self,
        ticket: Ticket,
        request: ConsumerGroupHeartbeatRequest,
        kept: AnyGroup | None,
        now_ms: int,
    ) -> None:
        group, items = self._group_for(request, kept)
        largest = self._context.config.group_consumer_max_size
        returns = group.static_member(request.instance_id) is not None
        if (
            len(group.members) >= largest
            and request.member_id not in group.members
            and not returns
        ):
            raise RefusedError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has {largest} members")
        beat = Beat(self._context, group, items, self._context.wall_ms(now_ms))
        member_id = request.member_id or self._context.new_uuid()
        beat.find(request, member_id)
        beat.merge(request, ticket.caller.client_id, ticket.caller.client_host)
        beat.advance(owned_by(request))
        response = self._response(request, beat)
        version = self._context.topics.version
        if kept is None and beat.items:
            # Nothing of it is written yet; but it is held from now on.
            self._context.consumers[group.group_id] = group
        holder = group if kept is None else kept
        holder.held = True

        def done(error: ErrorCode, now_ms: int) -> None:
            holder.held = False
            if error:
                self._undo_new(group)
                ticket.answer(ConsumerGroupHeartbeatResponse(error_code=answered(error)))
                return
            live = self._context.consumers.get(request.group_id)
            if live is not None:
                live.seen_version = version
                if isinstance(kept, Group):
                    self._fencing.load(live, now_ms)  # who was in the classic group
                self._stepped(live, beat, now_ms)
            ticket.answer(response)
            if live is not None:
                self._refresh_regexes(live, ticket.caller.sees, now_ms)

        if beat.items:
            self._context.write(beat.items, done, now_ms)
        else:
            done(ErrorCode.NONE, now_ms)

    def _group_for(
        self, request: ConsumerGroupHeartbeatRequest, kept: AnyGroup | None
    ) -> tuple[ConsumerGroup, list[Item]]:
        """C4: the group, and what has to be written before anything else. One without members
        becomes what its first member wants it to be.
        """
        if isinstance(kept, ConsumerGroup):
            return kept, []
        if request.member_epoch == 0 and kept is None:
            return ConsumerGroup(request.group_id), []
        if request.member_epoch == 0 and isinstance(kept, Group):
            if kept.state is GroupState.EMPTY:
                return ConsumerGroup(request.group_id), [group_entry(request.group_id, None)]
            return self._upgraded(kept)
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such consumer group")

    def _upgraded(self, kept: Group) -> tuple[ConsumerGroup, list[Item]]:
        """M1: members that wait for answers of the classic group are to come again."""
        found = upgraded(kept, self._context.config, self._context.topics)
        for member in kept.members.values():
            join = kept.unpark_join(member)
            sync, member.sync = member.sync, None
            if join is not None:
                refuse_join(join, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            if sync is not None:
                refuse_sync(sync, ErrorCode.REBALANCE_IN_PROGRESS)
        return found

    def _undo_new(self, group: ConsumerGroup) -> None:
        """Nothing was written: a group that was to be made by it never was."""
        if not group.members and group.epoch == FIRST_EPOCH:
            self._context.consumers.pop(group.group_id, None)

    def _stepped(self, group: ConsumerGroup, beat: Beat, now_ms: int) -> None:
        """The member's timers, now that it is where it is."""
        member, old = beat.member, beat.old
        replaced = beat.replaced
        if replaced is not None:
            self._fencing.forget(group.group_id, [replaced])
        self._fencing.watch(group.group_id, member, now_ms)
        if (member.state, member.epoch, member.pending) != (old.state, old.epoch, old.pending):
            self._fencing.watch_revocation(group.group_id, member, now_ms)

    def _response(
        self, request: ConsumerGroupHeartbeatRequest, beat: Beat
    ) -> ConsumerGroupHeartbeatResponse:
        """C15: the assignment is in it if it is another one, or if the member said everything."""
        member = beat.member
        options = self._context.keeper.consumer_options(request.group_id)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=options.heartbeat_interval_ms,
        )
        if is_full(request) or member.assigned != beat.old.assigned:
            response.assignment = _Assignment(
                topic_partitions=[
                    _TopicPartitions(topic_id=topic_id, partitions=numbers)
                    for topic_id, numbers in grouped(member.assigned).items()
                ]
            )
        return response

    # Regular expressions -------------------------------------------------------------------------

    def _refresh_regexes(self, group: ConsumerGroup, sees: Sees, now_ms: int) -> None:
        """Find out what the group's regular expressions stand for, if that may have changed. The
        member is answered before: it gets what comes of it with its next heartbeat. As in a Kafka,
        they stand for the topics that this member may know of.
        """
        if not group.regex_members:
            return
        wall_ms = self._context.wall_ms(now_ms)
        known = list(group.regexes.values())
        if known:
            since_ms = wall_ms - known[0].wall_ms
            interval_ms = self._context.config.group_consumer_regex_refresh_interval_ms
            fresh = (
                len(known) == len(group.regex_members)
                and known[0].version == self._context.topics.version
                and since_ms <= interval_ms
            )
            if fresh or since_ms <= REGEX_REFRESH_MIN_MS:
                return
        group_id = group.group_id
        self._context.hold(group_id, partial(self._resolve_regexes, sees), now_ms)

    def _resolve_regexes(
        self, sees: Sees, group: AnyGroup | None, error: ErrorCode, now_ms: int
    ) -> None:
        if error or not isinstance(group, ConsumerGroup):
            if group is not None:
                group.held = False
            return
        topics, wall_ms = self._context.topics, self._context.wall_ms(now_ms)
        found = resolve(topics, group.regex_members, wall_ms, sees)
        items: list[Item] = [
            records.regex_entry(group.group_id, regex, one) for regex, one in found.items()
        ]
        names = set(group.named).union(*(one.topics for one in found.values()))
        value = metadata_hash(topics, names)
        changed = any(
            regex not in group.regexes or one.topics != group.regexes[regex].topics
            for regex, one in found.items()
            if regex in group.regexes or one.topics
        )
        if changed or value != group.metadata_hash:
            items.append(records.epoch_entry(group.group_id, group.epoch + 1, value))

        def done(_error: ErrorCode, _now_ms: int) -> None:
            group.held = False  # what was not written is found out again

        self._context.write(items, done, now_ms)

    # Going ---------------------------------------------------------------------------------------

    def _leave(
        self,
        ticket: Ticket,
        request: ConsumerGroupHeartbeatRequest,
        group: AnyGroup | None,
        now_ms: int,
    ) -> None:
        """C17, C18: for good, or (static members) for a while."""
        if not isinstance(group, ConsumerGroup):
            raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such consumer group")
        member = self._who_leaves(request, group)

        def done(error: ErrorCode, _now_ms: int) -> None:
            if error:
                ticket.answer(ConsumerGroupHeartbeatResponse(error_code=answered(error)))
                return
            ticket.answer(
                ConsumerGroupHeartbeatResponse(
                    member_id=member.member_id, member_epoch=request.member_epoch
                )
            )

        if request.member_epoch == LEAVING_STATIC and request.instance_id is not None:
            self._fencing.depart(group, member, done, now_ms)
        else:
            self._fencing.fence(group, [member], done, now_ms)

    def _who_leaves(
        self, request: ConsumerGroupHeartbeatRequest, group: ConsumerGroup
    ) -> ConsumerMember:
        if request.instance_id is not None:
            holder = group.static_member(request.instance_id)
            return check_static(holder, request.instance_id, request.member_id)
        member = group.members.get(request.member_id)
        if member is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"{request.member_id} is not a member of the group"
            )
        return member
