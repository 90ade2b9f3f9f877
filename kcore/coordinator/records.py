"""What the journal keeps of consumer, share and streams groups alike, over the classes of records
of each: entries out of groups, groups out of entries.

    group epoch, target epoch       one record each, of the group
    member, its target, what it has one record each, of the member

A member goes by three tombstones, what it has first and itself last; a group by those of all, its
epoch behind them (Java: GroupCoordinatorRecordHelpers, createGroupTombstoneRecords of each kind of
group). What else a kind of group keeps is in `records.py` of its room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import LEAVING
from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.streams.group import StreamsGroup
from kcore.wire.message import Message

# A target that was deleted: no epoch is before it.
_NO_TARGET_EPOCH: Final = -1

G = TypeVar("G", ConsumerGroup, ShareGroup, StreamsGroup)

# A class of records.
Kind = type[Any]


@dataclass(frozen=True, slots=True)
class Records(Generic[G]):
    """Those of one kind of group.

    epoch, target_epoch, member, target, current: keys. made_at: the value that goes with a target
    epoch. empty: what a member has, of one that has nothing. read_*: what a value says of a group,
    a target or a member. others: keys of what else a group keeps -> what a value, or None for a
    tombstone, makes of the group.
    """

    group: Callable[[str], G]
    new_member: Callable[[str], Any]
    epoch: Kind
    target_epoch: Kind
    made_at: Kind
    member: Kind
    target: Kind
    current: Kind
    empty: Mapping[str, Any]
    read_epoch: Callable[[G, Any], None]
    read_target: Callable[[Any], Any]
    read_member: Callable[[Any, Any], Any]
    read_current: Callable[[Any, Any], Any]
    others: Mapping[Kind, Callable[[G, Any, Any], None]] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[Kind, ...]:
        """Of all records of this kind of group."""
        return (
            *(self.epoch, self.target_epoch, self.member, self.target, self.current),
            *self.others,
        )

    # Entries -------------------------------------------------------------------------------------

    def target_epoch_entry(self, group_id: str, epoch: int, wall_ms: int) -> Entry:
        """There is a target assignment for this epoch, as of this time of day."""
        value = self.made_at(assignment_epoch=epoch, assignment_timestamp=wall_ms)
        return entry_of(self.target_epoch(group_id=group_id), value)

    def member_tombstones(self, group_id: str, member_id: str) -> list[Item]:
        """A member goes."""
        return [
            entry_of(key(group_id=group_id, member_id=member_id), None)
            for key in (self.current, self.target, self.member)
        ]

    def tombstones(self, group: G, *others: Item) -> list[Item]:
        """A group goes, with all of its members; others: tombstones before that of its epoch."""
        group_id = group.group_id
        each: list[list[Item]] = [self.member_tombstones(group_id, one) for one in group.members]
        return [
            *(current for current, _, _ in each),
            *(target for _, target, _ in each),
            entry_of(self.target_epoch(group_id=group_id), None),
            *(member for _, _, member in each),
            *others,
            entry_of(self.epoch(group_id=group_id), None),
        ]

    # Replay --------------------------------------------------------------------------------------

    def replay(self, groups: dict[str, G], key: Message, value: Message | None) -> str | None:
        """Let a record take effect; the first one of a group makes it (the answer is its id then),
        its epoch's tombstone ends it. A tombstone of what is not there is no news.
        """
        about: Any = key
        group = groups.get(about.group_id)
        if value is None:
            if group is not None and type(key) is self.epoch:
                del groups[group.group_id]
            elif group is not None:
                self._bury(group, about)
            return None
        made = None
        if group is None:
            made = about.group_id
            group = groups[about.group_id] = self.group(about.group_id)
        self._put(group, about, value)
        return made

    def _put(self, group: G, key: Any, value: Any) -> None:
        """Something of a group is new, or is this from now on."""
        kind = type(key)
        if kind is self.epoch:
            self.read_epoch(group, value)
        elif kind is self.target_epoch:
            group.target_epoch = value.assignment_epoch
            group.target_wall_ms = value.assignment_timestamp
        elif kind is self.target:
            group.target[key.member_id] = self.read_target(value)
        elif kind in self.others:
            self.others[kind](group, key, value)
        else:
            member = group.members.get(key.member_id) or self.new_member(key.member_id)
            read = self.read_member if kind is self.member else self.read_current
            group.put(read(member, value))

    def _bury(self, group: G, key: Any) -> None:
        """Something of a group is gone."""
        kind = type(key)
        if kind is self.target_epoch:
            group.target_epoch, group.target_wall_ms = _NO_TARGET_EPOCH, 0
        elif kind is self.target:
            group.target.pop(key.member_id, None)
        elif kind is self.member:
            group.remove(key.member_id)
        elif kind in self.others:
            self.others[kind](group, key, None)
        else:
            member: Any = group.members.get(key.member_id)
            if member is not None:
                left = replace(member, epoch=LEAVING, previous_epoch=LEAVING, **self.empty)
                group.put(left)
