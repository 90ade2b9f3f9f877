"""ShareGroupHeartbeat for the groups of a partition: members join, are there, and go.

Source of the rules and the texts: Java's GroupCoordinatorService and GroupMetadataManager of Kafka
4.3. There a member gets partitions with a heartbeat after its first, once another coordinator has
made room for their state; here with the first one, unless targets keep a distance (KIP-1263): who
came a moment later would have to watch the first one read everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kcore.coordinator.appends import answered
from kcore.coordinator.consumer.member import TopicIdPartition
from kcore.coordinator.consumer.topics import ids_of, metadata_hash
from kcore.coordinator.desk import Ticket
from kcore.coordinator.heartbeating import BaseHeartbeats, is_old_enough
from kcore.coordinator.journal import Item
from kcore.coordinator.numbered import grouped
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.share import assignor, records
from kcore.coordinator.share.group import Initialized, ShareGroup
from kcore.coordinator.share.member import (
    LEAVING,
    MEMBER_CHARS_MAX,
    NOTHING,
    Partitions,
    ShareMember,
)
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

# What a session's timer is called.
SESSION: Final = "share-session"

_Assignment = ShareGroupHeartbeatResponse.Assignment
_TopicPartitions = ShareGroupHeartbeatResponse.TopicPartitions


def check(request: ShareGroupHeartbeatRequest) -> RefusedError | None:
    """What is wrong with a request wherever it goes; None if nothing is."""
    if not request.member_id or len(request.member_id) > MEMBER_CHARS_MAX:
        return RefusedError(ErrorCode.INVALID_REQUEST, None)
    named = {
        "MemberId": request.member_id,
        "GroupId": request.group_id,
        "RackId": request.rack_id,
    }
    for name, value in named.items():
        if value is not None and not value.strip():
            return RefusedError(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == 0 and not request.subscribed_topic_names:
        return RefusedError(
            ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request."
        )
    if request.member_epoch < LEAVING:
        return RefusedError(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")
    return None


class ShareHeartbeats(BaseHeartbeats[ShareGroupHeartbeatRequest, ShareGroup]):
    """Handles ShareGroupHeartbeat, and keeps the sessions of members."""

    session = SESSION
    response = ShareGroupHeartbeatResponse
    kind = ShareGroup

    # There ---------------------------------------------------------------------------------------

    def _beat(
        self,
        ticket: Ticket,
        request: ShareGroupHeartbeatRequest,
        kept: AnyGroup | None,
        now_ms: int,
    ) -> None:
        group = self._group_for(request, kept)
        old = _member_for(request, group, self._context.config.group_share_max_size)
        beat = _Beat(self._context, group, old, self._context.wall_ms(now_ms))
        beat.merge(request, ticket.caller.client_id, ticket.caller.client_host)
        member = beat.advance()
        keeper = self._context.keeper
        options = keeper.share_options(request.group_id)
        response = ShareGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=options.heartbeat_interval_ms,
        )
        if request.subscribed_topic_names is not None or member.assigned != old.assigned:
            response.assignment = _Assignment(
                topic_partitions=[
                    _TopicPartitions(topic_id=topic_id, partitions=numbers)
                    for topic_id, numbers in grouped(member.assigned).items()
                ]
            )
        version = self._context.topics.version
        if kept is None:
            # Nothing of it is written yet; but it is held from now on.
            self._context.shares[group.group_id] = group
        group.held = True

        def done(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if error:
                if kept is None:
                    self._context.shares.pop(group.group_id, None)  # it never was
                ticket.answer(ShareGroupHeartbeatResponse(error_code=answered(error)))
                return
            live = self._context.shares.get(request.group_id)
            if live is not None:
                live.seen_version = version
                self.watch(live, member.member_id, now_ms)
            for topic_id, partition in beat.added:
                keeper.alter_share_offset(request.group_id, topic_id, partition, 0)
            ticket.answer(response)

        if beat.items:
            self._context.write(beat.items, done, now_ms)
        else:
            done(ErrorCode.NONE, now_ms)

    def _group_for(self, request: ShareGroupHeartbeatRequest, kept: AnyGroup | None) -> ShareGroup:
        if isinstance(kept, ShareGroup):
            return kept
        name = request.group_id[:MAX_NAME_CHARS]
        if kept is not None:
            raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {name} is not a share group.")
        if request.member_epoch:
            raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {name} not found.")
        return ShareGroup(request.group_id)

    def _session_timeout_ms(self, group: ShareGroup, _member_id: str) -> int:
        return self._context.keeper.share_options(group.group_id).session_timeout_ms

    # Going ---------------------------------------------------------------------------------------

    def _leave(
        self,
        ticket: Ticket,
        request: ShareGroupHeartbeatRequest,
        group: AnyGroup | None,
        now_ms: int,
    ) -> None:
        name = request.group_id[:MAX_NAME_CHARS]
        if group is None:
            raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {name} not found.")
        if not isinstance(group, ShareGroup):
            raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {name} is not a share group.")
        member_id = request.member_id
        if member_id not in group.members:
            raise _unknown(member_id, name)

        def done(error: ErrorCode, _now_ms: int) -> None:
            if error:
                ticket.answer(ShareGroupHeartbeatResponse(error_code=answered(error)))
                return
            ticket.answer(ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVING))

        self._fence(group, member_id, done, now_ms)

    def _fence(
        self,
        group: ShareGroup,
        member_id: str,
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """Take a member out of a group that is held, and let go of it; whoever sends the next
        heartbeat makes the target without it. That of a group without members is there at once,
        since Kafka 4.4.
        """
        group_id = group.group_id
        names: set[str] = set()
        for one in group.members.values():
            if one.member_id != member_id:
                names |= one.topics
        items = records.member_tombstones(group_id, member_id)
        value = metadata_hash(self._context.topics, names)
        items.append(records.epoch_entry(group_id, group.epoch + 1, value))
        if self._context.config.as_44 and len(group.members) == 1:
            items.append(records.target_epoch_entry(group_id, group.epoch + 1, 0))

        def fenced(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if not error:
                self.forget_member(group_id, member_id)
            done(error, now_ms)

        self._context.write(items, fenced, now_ms)


class _Beat:
    """One heartbeat on its way through a group: entries in `items`. It reads the group and changes
    nothing there; that is for the entries to do once they are written. added: partitions that a
    topic of the group has got, which are read from their beginning since Kafka 4.4.
    """

    def __init__(self, context: Context, group: ShareGroup, old: ShareMember, wall_ms: int) -> None:
        self._context = context
        self._group = group
        self._old = old
        self._member = old
        self._wall_ms = wall_ms
        self.items: list[Item] = []
        self.added: list[TopicIdPartition] = []
        self._epoch = group.epoch

    def merge(self, request: ShareGroupHeartbeatRequest, client_id: str, host: str) -> None:
        """What is not said is as it was."""
        old, group = self._old, self._group
        names = request.subscribed_topic_names
        self._member = member = replace(
            old,
            rack_id=old.rack_id if request.rack_id is None else request.rack_id,
            topics=old.topics if names is None else frozenset(names),
            client_id=client_id,
            client_host=host,
        )
        if member != old:
            self.items.append(records.member_entry(group.group_id, member))
        changed = member.topics != old.topics  # a new member has some
        changed = changed or group.lacks_target(self._context.topics)
        if changed or group.seen_version != self._context.topics.version:
            topics = set().union(*(one.topics for one in self._members()))
            value = metadata_hash(self._context.topics, topics)
            if changed or value != group.metadata_hash:
                self._epoch += 1
                self.items.append(records.epoch_entry(group.group_id, self._epoch, value))
            self._initialize(topics)

    def advance(self) -> ShareMember:
        """A new target if there is none for this epoch; the member with what that gives it."""
        group, member = self._group, self._member
        target_epoch, target = group.target_epoch, group.target_of(member.member_id)
        options = self._context.keeper.share_options(group.group_id)
        interval_ms = options.assignment_interval_ms
        if target_epoch < self._epoch and is_old_enough(
            group.target_wall_ms, interval_ms, self._wall_ms
        ):
            target_epoch, target = self._epoch, self._assign(only_kept=interval_ms > 0)
        if member.epoch != target_epoch or member.assigned != target:
            member = replace(
                member, epoch=target_epoch, previous_epoch=member.epoch, assigned=target
            )
            self.items.append(records.current_entry(group.group_id, member))
        return member

    def _members(self) -> list[ShareMember]:
        """All members, with this one as it is now."""
        others = self._group.members.values()
        return [one for one in others if one.member_id != self._member.member_id] + [self._member]

    def _assign(self, *, only_kept: bool) -> Partitions:
        """only_kept: partitions whose state was kept before this heartbeat, as at a Kafka."""
        group, topics = self._group, self._context.topics
        members = {one.member_id: one for one in self._members()}
        wanted = {name: ids_of(topics, one.topics) for name, one in sorted(members.items())}
        every = frozenset[bytes]().union(*wanted.values())
        parts = {
            one: sorted(group.kept_of(one))
            if only_kept
            else list(range(topics.partition_count(topics.name_of(one) or "")))
            for one in every
        }
        targets = assignor.assign(wanted, group.target, parts)
        for member_id, target in targets.items():
            if group.target.get(member_id) != target:
                self.items.append(records.target_entry(group.group_id, member_id, target))
        self.items.append(records.target_epoch_entry(group.group_id, self._epoch, self._wall_ms))
        return targets.get(self._member.member_id, NOTHING)

    def _initialize(self, names: Iterable[str]) -> None:
        """What is read for the first time is to be kept from now on, whenever the next target is
        made.
        """
        group, topics = self._group, self._context.topics
        every = {
            topic_id: Initialized(name, frozenset(range(topics.partition_count(name))))
            for name in sorted(names)
            if (topic_id := topics.id_of(name)) is not None
        }
        if all(group.knows(one.partitions, topic_id) for topic_id, one in every.items()):
            return
        known = {
            topic_id: one
            for topic_id, one in group.initialized.items()
            if topics.name_of(topic_id) is not None
        }
        self.items.append(records.initialized_entry(group.group_id, {**known, **every}))
        if self._context.config.as_44:
            self.added = [
                (topic_id, number)
                for topic_id, one in every.items()
                if topic_id in known
                for number in sorted(one.partitions - known[topic_id].partitions)
            ]


def _member_for(
    request: ShareGroupHeartbeatRequest, group: ShareGroup, largest: int
) -> ShareMember:
    """Who this is. Epoch 0 is always let in; the last epoch is, too: the answer with the new one
    may have been lost.
    """
    member_id, epoch = request.member_id, request.member_epoch
    member = group.members.get(member_id)
    if member is None and len(group.members) >= largest:
        raise RefusedError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The share group has reached its maximum capacity of {largest} members.",
        )
    if member is None:
        if epoch:
            raise _unknown(member_id, group.group_id)
        return ShareMember(member_id)
    if epoch > member.epoch:
        raise RefusedError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater member epoch ({epoch}) than the one known by the"
            f" group coordinator ({member.epoch}). The member must abandon all its partitions and"
            " rejoin.",
        )
    if epoch and epoch < member.epoch and epoch != member.previous_epoch:
        raise RefusedError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller member epoch ({epoch}) than the one known by the"
            f" group coordinator ({member.epoch}), and it does not match the previous member epoch"
            f" ({member.previous_epoch}). The member must abandon all its partitions and rejoin.",
        )
    return member


def _unknown(member_id: str, group_id: str) -> RefusedError:
    return RefusedError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id[:MAX_NAME_CHARS]} is not a member of group"
        f" {group_id[:MAX_NAME_CHARS]}.",
    )
