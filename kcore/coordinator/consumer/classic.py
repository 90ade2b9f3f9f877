"""What members of the classic protocol say to a consumer group (rules M2-M6).

A group without members gives way to a classic one, as a streams group does. Members of a group that
was classic stay in it as they are, and new ones may come: their JoinGroup is what a heartbeat is to
others, generations are epochs, and REBALANCE_IN_PROGRESS is how they hear that there is something
to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kcore.coordinator.answers import refuse_join, refuse_sync
from kcore.coordinator.appends import answered
from kcore.coordinator.consumer.beat import Beat, check_static
from kcore.coordinator.consumer.blobs import (
    ids_and_partitions,
    read_subscription,
    version_of,
    write_assignment,
)
from kcore.coordinator.consumer.fencing import JOIN, SYNC, Fencing
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ClassicSide, ConsumerMember, TopicIdPartition
from kcore.coordinator.consumer.records import group_tombstones
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import CONSUMER_PROTOCOL, protocols_of
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.records import group_tombstones as streams_tombstones
from kcore.coordinator.streams.states import FOREIGN
from kcore.errors import ProtocolError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

# From these versions on a member without an id joins again with the one it is given (KIP-394);
# LeaveGroup names several members (KIP-345).
_REQUIRES_ID_VERSION: Final = 4
_LEAVE_BATCH_VERSION: Final = 3

_Identity = LeaveGroupRequest.MemberIdentity
Again = Callable[[int], None]


class ClassicMembers:
    """Handles the classic protocol for the consumer groups of a partition."""

    def __init__(self, context: Context, fencing: Fencing) -> None:
        self._context = context
        self._fencing = fencing

    # JoinGroup -----------------------------------------------------------------------------------

    def join(self, ticket: Ticket, request: JoinGroupRequest, again: Again, now_ms: int) -> None:
        """M2, M6. again: handle the request anew, as there is no such group any more."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error:
                refuse_join(ticket, error, request.member_id)
                return
            try:
                if not isinstance(group, ConsumerGroup | StreamsGroup):
                    if group is not None:
                        group.held = False
                    again(now_ms)
                elif not group.members:
                    self._give_way(ticket, request, group, again, now_ms)
                elif isinstance(group, StreamsGroup):
                    group.held = False
                    refuse_join(ticket, FOREIGN[ApiKey.JOIN_GROUP])
                else:
                    self._join(ticket, request, group, now_ms)
            except RefusedError as refused:
                if group is not None:
                    group.held = False
                refuse_join(ticket, refused.error)

        self._context.hold(request.group_id, run, now_ms)

    def _give_way(
        self,
        ticket: Ticket,
        request: JoinGroupRequest,
        group: ConsumerGroup | StreamsGroup,
        again: Again,
        now_ms: int,
    ) -> None:
        if request.member_id:
            group.held = False
            refuse_join(ticket, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
            return

        def done(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if error:
                refuse_join(ticket, answered(error), request.member_id)
            else:
                again(now_ms)

        if isinstance(group, StreamsGroup):
            self._context.write(streams_tombstones(group), done, now_ms)
        else:
            self._context.write(group_tombstones(group), done, now_ms)

    def _join(
        self, ticket: Ticket, request: JoinGroupRequest, group: ConsumerGroup, now_ms: int
    ) -> None:
        """M2: a member comes (again) and is reconciled, as far as that goes in one step."""
        self._check_join(request, group)
        member_id = request.member_id or self._context.new_uuid()
        unnamed = not request.member_id and request.group_instance_id is None
        if unnamed and ticket.version >= _REQUIRES_ID_VERSION:
            group.held = False
            refuse_join(ticket, ErrorCode.MEMBER_ID_REQUIRED, member_id)
            return
        beat = Beat(self._context, group, (), self._context.wall_ms(now_ms))
        beat.old = _former(group, request, member_id, beat)
        owned = self._update(ticket, request, beat)
        if beat.replaced is not None and self._downgrades(group, beat):
            self._downgrade(ticket, group, beat, now_ms)
            return
        beat.advance(owned)

        def done(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if error:
                refuse_join(ticket, answered(error), request.member_id)
                return
            group.seen_version = version
            self._joined(group.group_id, beat, now_ms)
            _accept(ticket, beat.member, beat.member.epoch)

        version = self._context.topics.version
        if beat.items:
            self._context.write(beat.items, done, now_ms)
        else:
            done(ErrorCode.NONE, now_ms)

    def _check_join(self, request: JoinGroupRequest, group: ConsumerGroup) -> None:
        config = self._context.config
        names = {protocol.name for protocol in request.protocols}
        classic = [one.classic for one in group.members.values() if one.classic is not None]
        common = any(all(name in dict(one.protocols) for one in classic) for name in names)
        if config.group_consumer_migration_policy == "disabled":
            raise RefusedError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the group speaks the consumer protocol"
            )
        if (
            len(group.members) >= config.group_consumer_max_size
            and request.member_id not in group.members
            and group.static_member(request.group_instance_id) is None
        ):
            raise RefusedError(ErrorCode.GROUP_MAX_SIZE_REACHED, "the group is full")
        if request.protocol_type != CONSUMER_PROTOCOL or not common:
            raise RefusedError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "no protocol is common to the group"
            )

    def _update(
        self, ticket: Ticket, request: JoinGroupRequest, beat: Beat
    ) -> set[TopicIdPartition]:
        """What the member says, into the beat; what it says it has."""
        protocols = protocols_of([(one.name, bytes(one.metadata)) for one in request.protocols])
        try:
            subscription = read_subscription(protocols[0][1])
        except ProtocolError:
            raise RefusedError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the subscription cannot be read"
            ) from None
        old = beat.old
        timeout_ms = request.rebalance_timeout_ms
        beat.update(
            replace(
                old,
                instance_id=request.group_instance_id or old.instance_id,
                rack_id=subscription.rack_id or old.rack_id,
                rebalance_timeout_ms=old.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
                topics=frozenset(subscription.topics),
                regex="",
                client_id=ticket.caller.client_id,
                client_host=ticket.caller.client_host,
                classic=ClassicSide(request.session_timeout_ms, protocols),
            )
        )
        named = [(part.topic, part.partitions) for part in subscription.owned_partitions]
        return ids_and_partitions(named, self._context.topics)

    def _joined(self, group_id: str, beat: Beat, now_ms: int) -> None:
        member = beat.member
        if beat.replaced is not None:
            self._fencing.forget(group_id, [beat.replaced])
        self._fencing.cancel(JOIN, group_id, member.member_id)
        self._fencing.watch_revocation(group_id, member, now_ms)
        self._fencing.watch(group_id, member, now_ms)
        self._fencing.watch_sync(group_id, member, now_ms)

    def _downgrades(self, group: ConsumerGroup, beat: Beat) -> bool:
        """M5: whether this member took the place of the last one of the consumer protocol."""
        replaced = group.members[beat.replaced or ""]
        return replaced.classic is None and self._fencing.may_downgrade(beat.members())

    def _downgrade(self, ticket: Ticket, group: ConsumerGroup, beat: Beat, now_ms: int) -> None:
        current = beat.epoch == group.target_epoch

        def done(error: ErrorCode, _now_ms: int) -> None:
            if error:
                refuse_join(ticket, answered(error), "")
            else:
                _accept(ticket, beat.member, group.epoch if current else beat.member.epoch)

        self._fencing.downgrade(group, beat.members(), done, now_ms, rebalance=not current)

    # SyncGroup, Heartbeat ------------------------------------------------------------------------

    def sync(self, ticket: Ticket, request: SyncGroupRequest, now_ms: int) -> None:
        """M3: what the member has been assigned."""
        group = self._context.consumers[request.group_id]
        member, error = _classic_member(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        if member is None or member.classic is None:
            refuse_sync(ticket, error)
            return
        name, metadata = member.classic.protocols[0]
        if request.protocol_type not in {None, CONSUMER_PROTOCOL} or (
            request.protocol_name not in {None, name}
        ):
            refuse_sync(ticket, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            return
        if group.target_epoch > member.epoch and (
            member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            self._fencing.watch_join(group.group_id, member, now_ms)
            refuse_sync(ticket, ErrorCode.REBALANCE_IN_PROGRESS)
            return
        self._fencing.cancel(SYNC, group.group_id, member.member_id)
        self._fencing.watch(group.group_id, member, now_ms)
        ticket.answer(
            SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=write_assignment(
                    member.assigned, self._context.topics, version_of(metadata)
                ),
            )
        )

    def heartbeat(self, ticket: Ticket, request: HeartbeatRequest, now_ms: int) -> None:
        """M4: the member is alive; whether there is something for it to do."""
        group = self._context.consumers[request.group_id]
        member, error = _classic_member(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        if member is not None:
            self._fencing.watch(group.group_id, member, now_ms)
            if _has_to_join(group, member):
                self._fencing.watch_join(group.group_id, member, now_ms)
                error = ErrorCode.REBALANCE_IN_PROGRESS
        ticket.answer(HeartbeatResponse(error_code=error))

    # LeaveGroup ----------------------------------------------------------------------------------

    def leave(
        self, ticket: Ticket, group_id: str, members: Sequence[_Identity], now_ms: int
    ) -> None:
        """L1-L5; an administrator may name any member, whichever protocol that speaks."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error or not isinstance(group, ConsumerGroup):
                if group is not None:
                    group.held = False
                ticket.answer(
                    LeaveGroupResponse(error_code=error or ErrorCode.COORDINATOR_NOT_AVAILABLE)
                )
                return
            gone: dict[str, ConsumerMember] = {}
            response = LeaveGroupResponse()
            for entry in members:
                member, wrong = _named(group, entry)
                if member is not None:
                    gone[member.member_id] = member
                response.members.append(
                    LeaveGroupResponse.MemberResponse(
                        member_id=entry.member_id,
                        group_instance_id=entry.group_instance_id,
                        error_code=wrong,
                    )
                )
            if ticket.version < _LEAVE_BATCH_VERSION:
                response = LeaveGroupResponse(error_code=response.members[0].error_code)

            def done(error: ErrorCode, _now_ms: int) -> None:
                ticket.answer(LeaveGroupResponse(error_code=answered(error)) if error else response)

            if gone:
                self._fencing.fence(group, list(gone.values()), done, now_ms)
            else:
                group.held = False
                ticket.answer(response)

        self._context.hold(group_id, run, now_ms)


def _accept(ticket: Ticket, member: ConsumerMember, generation: int) -> None:
    assert member.classic is not None
    ticket.answer(
        JoinGroupResponse(
            generation_id=generation,
            protocol_type=CONSUMER_PROTOCOL,
            protocol_name=member.classic.protocols[0][0],
            member_id=member.member_id,
        )
    )


def _former(
    group: ConsumerGroup, request: JoinGroupRequest, member_id: str, beat: Beat
) -> ConsumerMember:
    """Who joins, as it was before; the place of a static one is taken whoever had it."""
    instance_id = request.group_instance_id
    holder = group.static_member(instance_id)
    if instance_id is not None and request.member_id:
        return check_static(holder, instance_id, member_id)
    if holder is not None:
        return beat.replace_static(holder, member_id)
    return group.members.get(member_id) or ConsumerMember(member_id)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember | None, ErrorCode]:
    """The member that asks, or why it is none."""
    member, error = _named(group, _Identity(member_id=member_id, group_instance_id=instance_id))
    if member is not None and member.member_id != member_id:
        return None, ErrorCode.FENCED_INSTANCE_ID
    if member is None or member.classic is None:
        return None, error or ErrorCode.UNKNOWN_MEMBER_ID
    if generation != member.epoch:
        return None, ErrorCode.ILLEGAL_GENERATION
    return member, ErrorCode.NONE


def _has_to_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether a JoinGroup would bring the member further."""
    if member.epoch < group.target_epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    missing = group.target_of(member) - member.assigned.keys()
    return member.state is MemberState.UNRELEASED_PARTITIONS and not any(
        map(group.is_held, missing)
    )


def _named(group: ConsumerGroup, entry: _Identity) -> tuple[ConsumerMember | None, ErrorCode]:
    """The member that is meant, or why there is none."""
    if entry.group_instance_id is None:
        member = group.members.get(entry.member_id)
    else:
        member = group.static_member(entry.group_instance_id)
        if member is not None and entry.member_id not in {"", member.member_id}:
            return None, ErrorCode.FENCED_INSTANCE_ID
    return member, ErrorCode.UNKNOWN_MEMBER_ID if member is None else ErrorCode.NONE
