"""StreamsGroupHeartbeat for the groups of a partition: members join, are there, and go.

Source of the rules and the texts: Java's GroupCoordinatorService and GroupMetadataManager of Kafka
4.3 and 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from kcore.coordinator.appends import answered
from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import Group
from kcore.coordinator.heartbeating import JOINING, BaseHeartbeats
from kcore.coordinator.journal import Item, group_entry
from kcore.coordinator.numbered import grouped
from kcore.coordinator.purgatory import Delayed, Key
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.states import GroupState
from kcore.coordinator.streams import records
from kcore.coordinator.streams.beat import (
    DETAIL_CHARS_MAX,
    Beat,
    may_assign,
    unknown,
)
from kcore.coordinator.streams.described import ask_for, keep
from kcore.coordinator.streams.endpoints import endpoints_of
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import LEAVING_STATIC, StreamsMember, Task
from kcore.coordinator.streams.requests import owned_by
from kcore.coordinator.streams.states import MemberState, Status
from kcore.coordinator.streams.statics import static_member
from kcore.coordinator.streams.targets import Ground, new_target
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup

# Timers: a member's session; until when it is to have given something up; until when a new group's
# members are awaited.
SESSION: Final = "streams-session"
REVOCATION: Final = "streams-revocation"
DELAY: Final = "streams-initial-delay"

# Topics that could not be made: how many a text says why of.
_SHOWN_MAX: Final = 3

# Who asks by an older version does not know of tags that are missing, nor of descriptions.
_TAGS_VERSION: Final = 1
_DESCRIBING_VERSION: Final = 1

_TaskIds = StreamsGroupHeartbeatResponse.TaskIds


class DelayedAssignment(Delayed):
    """Waits for more members of a new group, before any gets tasks."""

    __slots__ = ("_group_id", "_heartbeats")

    def __init__(self, heartbeats: StreamsHeartbeats, group_id: str) -> None:
        self._heartbeats = heartbeats
        self._group_id = group_id

    def expire(self, now_ms: int) -> None:
        """Whoever is there now shares the tasks."""
        self._heartbeats.assign(self._group_id, now_ms)


class StreamsHeartbeats(BaseHeartbeats[StreamsGroupHeartbeatRequest, StreamsGroup]):
    """Handles StreamsGroupHeartbeat, and keeps the timers of members and groups."""

    session = SESSION
    response = StreamsGroupHeartbeatResponse
    kind = StreamsGroup

    # There ---------------------------------------------------------------------------------------

    def _beat(
        self,
        ticket: Ticket,
        request: StreamsGroupHeartbeatRequest,
        kept: AnyGroup | None,
        now_ms: int,
    ) -> None:
        context = self._context
        group, items = self._group_for(request, kept)
        beat = Beat(context, group, items, context.wall_ms(now_ms))
        beat.find(request)
        beat.merge(request, ticket.caller.client_id, ticket.caller.client_host)
        beat.configure(request)
        version = context.topics.version
        delayed = self._await_others(group, now_ms)
        beat.advance(owned_by(request), delayed=delayed)
        new = group is not kept
        endpoint_epoch = self._endpoint_epoch(request, group, beat)
        if not new:  # of a new group Kafka forgets it; of others not, even if there is no answer
            group.endpoint_epoch = endpoint_epoch
            group.end_asked_by(request.member_id if request.shutdown_application else None)
        response = self._response(request, ticket.version, group, beat, endpoint_epoch)
        if not new:  # before it is written: who comes back under its old id has said it in vain
            group.report(request.member_id, beat.reported)
        if kept is None:
            # Nothing of it is written yet; but it is held from now on.
            context.streams[group.group_id] = group
        holder = group if kept is None else kept
        holder.held = True

        def done(error: ErrorCode, now_ms: int) -> None:
            holder.held = False
            if error:
                if new:
                    context.streams.pop(group.group_id, None)  # it never was
                    context.purgatory.cancel((DELAY, group.group_id))
                ticket.answer(StreamsGroupHeartbeatResponse(error_code=answered(error)))
                return
            live = context.streams.get(request.group_id)
            if live is not None:
                self._stepped(live, beat, now_ms)
                if not new:  # so it is found out again
                    live.configured, live.seen_version = beat.configured, version
                described = self._is_to_describe(ticket, live, beat, now_ms)
                response.topology_description_required = described
            self._make_topics(ticket, beat)
            ticket.answer(response)

        if beat.items:
            context.write(beat.items, done, now_ms)
        else:
            done(ErrorCode.NONE, now_ms)

    def _group_for(
        self, request: StreamsGroupHeartbeatRequest, kept: AnyGroup | None
    ) -> tuple[StreamsGroup, list[Item]]:
        """The group, and what has to be written before anything else: a classic one without members
        becomes what its first member wants it to be.
        """
        name = request.group_id[:MAX_NAME_CHARS]
        items: list[Item] = []
        if isinstance(kept, StreamsGroup):
            group = kept
        elif request.member_epoch == JOINING and kept is None:
            group = StreamsGroup(request.group_id)
        elif (
            request.member_epoch == JOINING
            and isinstance(kept, Group)
            and kept.state is GroupState.EMPTY
        ):
            group = StreamsGroup(request.group_id)
            items = [group_entry(request.group_id, None)]
        elif kept is None:
            raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {name} not found.")
        else:
            raise _not_streams(name)
        largest = self._context.config.group_streams_max_size
        known = self._context.config.as_44 and (
            request.member_id in group.members
            or (request.instance_id or "") in group.static_members
        )
        full = len(group.members) >= largest and not known
        if request.member_epoch == JOINING and full:
            raise RefusedError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The streams group has reached its maximum capacity of {largest} members.",
            )
        return group, items

    def _stepped(self, group: StreamsGroup, beat: Beat, now_ms: int) -> None:
        """The member's timers, now that it is where it is."""
        member, old = beat.member, beat.old
        self.watch(group, member.member_id, now_ms)
        if beat.replaced is not None:
            self.forget_member(group.group_id, beat.replaced)
        if (member.state, member.epoch, member.assigned, member.pending) != (
            old.state,
            old.epoch,
            old.assigned,
            old.pending,
        ):
            self._watch_revocation(group.group_id, member, now_ms)

    def _response(
        self,
        request: StreamsGroupHeartbeatRequest,
        version: int,
        group: StreamsGroup,
        beat: Beat,
        endpoint_epoch: int,
    ) -> StreamsGroupHeartbeatResponse:
        """The answer; endpoint_epoch: of endpoints from now on."""
        member, configured = beat.member, beat.configured
        as_44 = self._context.config.as_44
        options = self._context.keeper.streams_options(group.group_id)
        response = StreamsGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=options.heartbeat_interval_ms,
        )
        if as_44:
            response.acceptable_recovery_lag = options.acceptable_recovery_lag
            response.task_offset_interval_ms = options.task_offset_interval_ms
        if request.member_epoch == JOINING or member.assigned != beat.old.assigned:
            response.active_tasks = _task_ids(member.assigned.active)
            response.standby_tasks = _task_ids(member.assigned.standby)
            response.warmup_tasks = _task_ids(member.assigned.warmup)
        if endpoint_epoch != request.endpoint_information_epoch:
            response.partitions_by_user_endpoint = endpoints_of(
                [*beat.others(), member], configured, self._context.topics, as_44=as_44
            )
        if self._context.kept(group.group_id) is not None:
            response.endpoint_information_epoch = endpoint_epoch
        if configured.problem is not None:
            beat.tell(*configured.problem)
        stopping = group.shutdown_member_id or (
            request.member_id if request.shutdown_application else None
        )
        if stopping is not None:
            beat.tell(
                Status.SHUTDOWN_APPLICATION,
                f"Streams group member {stopping} encountered a fatal error and requested a"
                " shutdown for the entire application.",
            )
        missing = [tag for tag in options.rack_aware_assignment_tags if tag not in member.tags]
        if missing and version >= _TAGS_VERSION:
            beat.tell(
                Status.MISSING_CLIENT_TAGS,
                "Missing required client tags for rack-aware standby assignment:"
                f" [{', '.join(missing)}]. Configure them via 'client.tag.<tagKey>' in your Streams"
                " config.",
            )
        response.status = beat.statuses
        return response

    def _endpoint_epoch(
        self, request: StreamsGroupHeartbeatRequest, group: StreamsGroup, beat: Beat
    ) -> int:
        """Of endpoints, from now on: another one if the member's is, or if its tasks are."""
        member, as_44 = beat.member, self._context.config.as_44
        joins, moved = request.member_epoch == JOINING, member.assigned != beat.old.assigned
        changed = as_44 and member.endpoint != beat.old.endpoint
        if member.endpoint is not None:
            changed = changed or moved or (joins and not as_44)
        return group.endpoint_epoch + changed

    def _make_topics(self, ticket: Ticket, beat: Beat) -> None:
        """Topics of the application that are missing are made; the member finds them there with its
        next heartbeat. What cannot be made, its status says.
        """
        missing = beat.configured.missing
        if not missing:
            return
        may_create = ticket.caller.may_create
        barred = (
            []
            if may_create is None
            else [topic.name for topic in missing if not may_create(topic.name)]
        )
        if barred:
            more = f"; Unauthorized to CREATE on topics {', '.join(barred)}."
        else:
            errors = self._context.keeper.create_internal_topics(missing)
            if not errors:
                return
            shown = [f"{name} ({why})" for name, why in errors.items()]
            rest = len(shown) - _SHOWN_MAX
            told = ", ".join(shown[:_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
            more = f"; Creation failed: {told}."
        for status in beat.statuses:
            if status.status_code == Status.MISSING_INTERNAL_TOPICS:
                status.status_detail = (status.status_detail + more)[:DETAIL_CHARS_MAX]

    # Descriptions of topologies ------------------------------------------------------------------

    def _is_to_describe(self, ticket: Ticket, group: StreamsGroup, beat: Beat, now_ms: int) -> bool:
        """Whether the member is asked for a description."""
        return (
            ticket.version >= _DESCRIBING_VERSION
            and self._context.config.describes_topologies
            and not beat.is_stale
            and ask_for(group, now_ms)
        )

    def describe_topology(
        self, ticket: Ticket, request: StreamsGroupTopologyDescriptionUpdateRequest, _now_ms: int
    ) -> None:
        """A member says what its topology is made of."""
        try:
            kept = self._context.kept(request.group_id)
            keep(_streams_group(kept, request.group_id), request)
        except RefusedError as refused:
            ticket.answer(refused.answer(StreamsGroupTopologyDescriptionUpdateResponse))
        else:
            ticket.answer(StreamsGroupTopologyDescriptionUpdateResponse())

    # New groups ----------------------------------------------------------------------------------

    def _await_others(self, group: StreamsGroup, now_ms: int) -> bool:
        """Whether a group that has no members yet, or is as new, waits for more of them."""
        key, purgatory = (DELAY, group.group_id), self._context.purgatory
        delay_ms = self._context.keeper.streams_options(group.group_id).initial_rebalance_delay_ms
        if not group.members and delay_ms > 0 and key not in purgatory:
            purgatory.watch(key, DelayedAssignment(self, group.group_id), now_ms + delay_ms)
        return key in purgatory

    def assign(self, group_id: str, now_ms: int) -> None:
        """The members of a new group have had their time to come."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if group is None or error:
                return
            wall_ms = self._context.wall_ms(now_ms)
            options = self._context.keeper.streams_options(group_id)
            if (
                not isinstance(group, StreamsGroup)
                or not group.members
                or group.configured is None
                or group.epoch <= group.target_epoch
                or not may_assign(group, options, wall_ms)
            ):
                group.held = False  # a heartbeat sees to it
                return
            ground = Ground(
                group.ordered(),
                group.target,
                group.offsets,
                group.configured,
                options,
                self._context.config.as_44,
            )
            items, _ = new_target(group_id, ground)
            items.append(records.target_epoch_entry(group_id, group.epoch, wall_ms))

            def done(_error: ErrorCode, _now_ms: int) -> None:
                group.held = False  # what was not written is made by the next heartbeat

            self._context.write(items, done, now_ms)

        self._context.hold(group_id, run, now_ms)

    # Timers --------------------------------------------------------------------------------------

    def _session_timeout_ms(self, group: StreamsGroup, _member_id: str) -> int:
        return self._context.keeper.streams_options(group.group_id).session_timeout_ms

    def _watch_revocation(self, group_id: str, member: StreamsMember, now_ms: int) -> None:
        """A member has taken a step; if it is to give something up, its time runs anew."""
        key: Key = (REVOCATION, group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_TASKS:
            self._await(key, now_ms + max(member.rebalance_timeout_ms, 0), member.epoch)
        else:
            self._context.purgatory.cancel(key)

    def load(self, group: StreamsGroup, now_ms: int) -> None:
        """The members of a group that has been loaded are taken to be alive until they are not."""
        super().load(group, now_ms)
        for member in group.members.values():
            self._watch_revocation(group.group_id, member, now_ms)

    def forget(self, group: StreamsGroup) -> None:
        """Nothing of this group is to fire any more."""
        super().forget(group)
        self._context.purgatory.cancel((DELAY, group.group_id))

    def forget_member(self, group_id: str, member_id: str) -> None:
        """Nothing of this member is to fire any more."""
        super().forget_member(group_id, member_id)
        self._context.purgatory.cancel((REVOCATION, group_id, member_id))

    # Going ---------------------------------------------------------------------------------------

    def _leave(
        self,
        ticket: Ticket,
        request: StreamsGroupHeartbeatRequest,
        kept: AnyGroup | None,
        now_ms: int,
    ) -> None:
        group, name = _streams_group(kept, request.group_id), request.group_id[:MAX_NAME_CHARS]
        # Also if nobody of that name is there.
        group.end_asked_by(request.member_id if request.shutdown_application else None)
        if request.instance_id is not None:
            member = static_member(group, request.instance_id, request.member_id)
        elif request.member_id in group.members:
            member = group.members[request.member_id]
        else:
            raise unknown(request.member_id, name)

        def done(error: ErrorCode, _now_ms: int) -> None:
            if error:
                ticket.answer(StreamsGroupHeartbeatResponse(error_code=answered(error)))
                return
            ticket.answer(
                StreamsGroupHeartbeatResponse(
                    member_id=request.member_id, member_epoch=request.member_epoch
                )
            )

        if request.member_epoch == LEAVING_STATIC:
            away = member.left_for_a_while()

            def left(error: ErrorCode, now_ms: int) -> None:
                group.held = False
                done(error, now_ms)

            self._context.write([records.current_entry(group.group_id, away)], left, now_ms)
        else:
            self._fence(group, request.member_id, done, now_ms)

    def _fence(
        self,
        group: StreamsGroup,
        member_id: str,
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """Take a member out of a group that is held, and let go of it; whoever sends the next
        heartbeat makes the target without it.
        """
        group_id = group.group_id
        items = records.member_tombstones(group_id, member_id)
        items.append(
            records.epoch_entry(
                group_id,
                group.epoch + 1,
                group.metadata_hash,
                group.validated_epoch,
                group.configs,
            )
        )
        if self._context.config.as_44 and len(group.members) == 1:
            items.append(records.target_epoch_entry(group_id, group.epoch + 1, 0))

        def fenced(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if not error:
                self.forget_member(group_id, member_id)
            done(error, now_ms)

        self._context.write(items, fenced, now_ms)


def _streams_group(kept: AnyGroup | None, group_id: str) -> StreamsGroup:
    name = group_id[:MAX_NAME_CHARS]
    if kept is None:
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {name} not found.")
    if not isinstance(kept, StreamsGroup):
        raise _not_streams(name)
    return kept


def _not_streams(name: str) -> RefusedError:
    return RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {name} is not a streams group.")


def _task_ids(tasks: Iterable[Task]) -> list[_TaskIds]:
    return [
        _TaskIds(subtopology_id=name, partitions=numbers)
        for name, numbers in grouped(tasks).items()
    ]
