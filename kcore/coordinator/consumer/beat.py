"""One heartbeat on its way through a group: what it changes, as entries (rules C5-C15).

It reads the group and changes nothing there; that is for the entries to do once they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from kcore.coordinator.consumer import records
from kcore.coordinator.consumer.assignors import ASSIGNORS, Subscriber
from kcore.coordinator.consumer.group import NO_TARGET, ConsumerGroup, Target
from kcore.coordinator.consumer.member import LEAVING_STATIC, ConsumerMember, TopicIdPartition
from kcore.coordinator.consumer.reconciling import Goal, reconcile
from kcore.coordinator.consumer.requests import owned_by
from kcore.coordinator.consumer.topics import ids_of, metadata_hash
from kcore.coordinator.heartbeating import is_old_enough
from kcore.coordinator.journal import Item
from kcore.coordinator.patterns import compiled
from kcore.coordinator.refused import RefusedError
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from kcore.coordinator.context import Context


class Beat:
    """Entries in `items`, the member before and after in `old` and `member`."""

    def __init__(
        self, context: Context, group: ConsumerGroup, items: Sequence[Item], wall_ms: int
    ) -> None:
        self._context = context
        self._group = group
        self._wall_ms = wall_ms
        self.items = list(items)
        self.old: ConsumerMember
        self.replaced: str | None = None  # the id under which a static member was here before
        self.member: ConsumerMember
        self.epoch = group.epoch  # of the group, once the entries are written
        self._changed = False  # what the member subscribes to

    # The member ----------------------------------------------------------------------------------

    def find(self, request: ConsumerGroupHeartbeatRequest, member_id: str) -> None:
        """C5-C9: who this is."""
        group = self._group
        if request.instance_id is None:
            old = group.members.get(member_id)
            if old is None:
                if request.member_epoch:
                    raise RefusedError(
                        ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of the group"
                    )
                old = ConsumerMember(member_id)
            _check_epoch(old, request)
        else:
            old = self._find_static(request, request.instance_id, member_id)
        self.old = old

    def _find_static(
        self, request: ConsumerGroupHeartbeatRequest, instance_id: str, member_id: str
    ) -> ConsumerMember:
        holder = self._group.static_member(instance_id)
        if request.member_epoch:
            holder = check_static(holder, instance_id, member_id)
            _check_epoch(holder, request)
            return holder
        if holder is None:
            return self._group.members.get(member_id) or ConsumerMember(member_id)
        if holder.epoch != LEAVING_STATIC and holder.classic is None:
            raise RefusedError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"{holder.member_id} is {instance_id} and has not left",
            )
        return self.replace_static(holder, member_id)

    def replace_static(self, holder: ConsumerMember, member_id: str) -> ConsumerMember:
        """C8: the instance is back under another id; what it had is still its own."""
        group_id = self._group.group_id
        member = replace(holder, member_id=member_id, epoch=0, previous_epoch=0)
        self.replaced = holder.member_id
        self.items += records.member_tombstones(group_id, holder.member_id)
        self.items.append(records.member_entry(group_id, member))
        target = self._group.target.get(holder.member_id, NO_TARGET)
        self.items.append(records.target_entry(group_id, member_id, target))
        self.items.append(records.current_entry(group_id, member))
        return member

    # What it says --------------------------------------------------------------------------------

    def merge(self, request: ConsumerGroupHeartbeatRequest, client_id: str, host: str) -> None:
        """C10: what is not said is as it was."""
        old = self.old
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        timeout_ms = request.rebalance_timeout_ms
        self.update(
            replace(
                old,
                instance_id=_either(request.instance_id, old.instance_id),
                rack_id=_either(request.rack_id, old.rack_id),
                rebalance_timeout_ms=old.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
                assignor=_either(request.server_assignor, old.assignor),
                topics=old.topics if names is None else frozenset(names),
                regex=_either(regex, old.regex),
                client_id=client_id,
                client_host=host,
                classic=None,
            ),
            choosing=True,
        )

    def update(self, member: ConsumerMember, *, choosing: bool = False) -> None:
        """C11, C12: the member is this from now on, and perhaps the group has a new epoch.
        choosing: also if most members want another assignor with it (Kafka 4.4: members of the
        classic protocol have no say in that).
        """
        self.member = member
        group = self._group
        if member != self.old:
            self.items.append(records.member_entry(group.group_id, member))
        named = member.topics != self.old.topics
        regex, resolved = self._update_regex()
        self._changed = named or regex
        bump = named or resolved or (choosing and self._chosen() != self._chosen_before())
        if bump or group.seen_version != self._context.topics.version:
            self._refresh(bump=bump)

    def _chosen_before(self) -> str:
        return self._group.assignor or self._context.config.group_consumer_assignors[0]

    def _chosen(self) -> str:
        """The assignor that makes the next target."""
        wanted = self._group.assignor_with(self.old, self.member)
        return wanted or self._context.config.group_consumer_assignors[0]

    def _update_regex(self) -> tuple[bool, bool]:
        """Whether the member has another regular expression, and whether what that means is known:
        if it is not, the epoch is bumped once it is.
        """
        group, before, now = self._group, self.old.regex or "", self.member.regex or ""
        if before == now:
            return self.old.regex != self.member.regex, False
        if before and group.regex_members[before] == 1:
            self.items.append(records.regex_entry(group.group_id, before, None))
        if not now:
            return True, True
        if not group.regex_members[now] and compiled(now) is None:
            raise RefusedError(
                ErrorCode.INVALID_REGULAR_EXPRESSION,
                "SubscribedTopicRegex is no regular expression, or none that is matched here",
            )
        return True, now in group.regexes

    def _refresh(self, *, bump: bool) -> None:
        group = self._group
        value = metadata_hash(self._context.topics, self._subscribed())
        if bump or value != group.metadata_hash:
            self.epoch += 1
            self.items.append(records.epoch_entry(group.group_id, self.epoch, value))

    def _subscribed(self) -> set[str]:
        """What the group wants with the member as it is now."""
        names: set[str] = set()
        for member in self.members():
            names |= self._group.topics_of(member)
        return names

    def members(self) -> list[ConsumerMember]:
        """All members, with this one as it is now and without the one whose place it takes."""
        group, member = self._group, self.member
        replaced = group.static_member(member.instance_id)
        gone = {member.member_id, replaced.member_id if replaced is not None else None}
        return [one for one in group.members.values() if one.member_id not in gone] + [member]

    # What it gets --------------------------------------------------------------------------------

    def advance(self, owned: AbstractSet[TopicIdPartition] | None) -> None:
        """C13, C14: a new target if there is none for this epoch, and the member's way to it."""
        group = self._group
        target_epoch, target = group.target_epoch, group.target_of(self.member)
        if target_epoch < self.epoch and self._may_assign():
            target_epoch, target = self.epoch, self._assign()
        if not self._changed and self.member.reconciled_to(target_epoch):
            return
        goal = Goal(
            epoch=target_epoch,
            target=target,
            topics=ids_of(self._context.topics, group.topics_of(self.member)),
            changed=self._changed,
            is_held=group.is_held,
            owned=owned,
        )
        member = reconcile(self.member, goal)
        if member is None:
            raise RefusedError(
                ErrorCode.FENCED_MEMBER_EPOCH, "the member's state is not known here"
            )
        if member != self.member:
            self.items.append(records.current_entry(group.group_id, member))
        self.member = member

    def _may_assign(self) -> bool:
        """Whether the last target is old enough (KIP-1263)."""
        options = self._context.keeper.consumer_options(self._group.group_id)
        made_ms = self._group.target_wall_ms
        return is_old_enough(made_ms, options.assignment_interval_ms, self._wall_ms)

    def _assign(self) -> Target:
        group, topics = self._group, self._context.topics
        members = [
            Subscriber(
                one.member_id,
                one.instance_id,
                ids_of(topics, group.topics_of(one)),
                group.target_of(one),
            )
            for one in self.members()
        ]
        sizes = {
            topic_id: topics.partition_count(topics.name_of(topic_id) or "")
            for one in members
            for topic_id in one.topics
        }
        targets = ASSIGNORS[self._chosen()](members, sizes)
        for one in members:
            target = targets.get(one.member_id, NO_TARGET)
            if group.target.get(one.member_id) != target:
                self.items.append(records.target_entry(group.group_id, one.member_id, target))
        self.items.append(records.target_epoch_entry(group.group_id, self.epoch, self._wall_ms))
        return targets.get(self.member.member_id, NO_TARGET)


def check_static(holder: ConsumerMember | None, instance_id: str, member_id: str) -> ConsumerMember:
    """C9: whether the instance id stands for this member."""
    if holder is None:
        raise RefusedError(ErrorCode.UNKNOWN_MEMBER_ID, f"no member of the group is {instance_id}")
    if holder.member_id != member_id:
        raise RefusedError(ErrorCode.FENCED_INSTANCE_ID, f"{holder.member_id} is {instance_id} now")
    return holder


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """C6, C7. Epoch 0 is always let in: a member that was fenced begins again with it. The last
    epoch is, if what the member has was its own in it: the answer with the new one was lost.
    """
    epoch = request.member_epoch
    if epoch in {0, member.epoch}:
        return
    owned = owned_by(request)
    if (
        epoch < member.epoch
        and epoch == member.previous_epoch
        and owned is not None
        and owned <= member.assigned.keys()
    ):
        return
    raise RefusedError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"the member is in epoch {member.epoch}, not in {epoch}: it has to join again",
    )


def _either(said: str | None, before: str | None) -> str | None:
    return before if said is None else said
