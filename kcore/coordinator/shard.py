"""One partition of `__consumer_offsets`: its groups, the parts that handle them, its journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from kcore.coordinator.appends import Appends
from kcore.coordinator.cleaning import Cleaning, sweep_key
from kcore.coordinator.commits import Commits
from kcore.coordinator.consumer.classic import ClassicMembers
from kcore.coordinator.consumer.fencing import Fencing
from kcore.coordinator.consumer.heartbeats import Heartbeats
from kcore.coordinator.consumer.records import RECORDS as CONSUMER
from kcore.coordinator.context import Context
from kcore.coordinator.fetches import Fetches
from kcore.coordinator.front import BaseShard
from kcore.coordinator.group import Group
from kcore.coordinator.joining import Joining, dismiss
from kcore.coordinator.journal import NO_PRODUCER, Append, Item, Marker, read_entry
from kcore.coordinator.membership import Membership
from kcore.coordinator.offsets import Offsets
from kcore.coordinator.rebalance import Rebalance
from kcore.coordinator.share.heartbeats import ShareHeartbeats
from kcore.coordinator.share.offsets import ShareOffsets
from kcore.coordinator.share.records import RECORDS as SHARE
from kcore.coordinator.streams.heartbeats import StreamsHeartbeats
from kcore.coordinator.streams.records import RECORDS as STREAMS
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

_SHARE_KEYS: Final = SHARE.keys
_STREAMS_KEYS: Final = STREAMS.keys


class Shard(BaseShard):
    """Everything about the groups whose journal is one partition."""

    def __init__(
        self,
        context: Context,
        partition: int,
        out: deque[Append],
        numbers: Iterator[int],
        *,
        immediate: bool,
    ) -> None:
        super().__init__()
        self.context = context
        self.offsets = Offsets()
        context.appends = Appends(partition, self._replay, out, numbers, immediate=immediate)
        self.appends = context.appends
        self.rebalance = Rebalance(context)
        self.fencing = Fencing(context, self.rebalance)
        consumers = ClassicMembers(context, self.fencing)
        self.joining = Joining(context, self.rebalance, consumers)
        self.membership = Membership(context, self.rebalance, consumers)
        self.heartbeats = Heartbeats(context, self.fencing)
        self.share_heartbeats = ShareHeartbeats(context)
        self.share_offsets = ShareOffsets(context)
        self.streams_heartbeats = StreamsHeartbeats(context)
        self.commits = Commits(context, self.membership, self.offsets)
        self.fetches = Fetches(context, self.offsets)
        self.cleaning = Cleaning(context, self.offsets)

    @property
    def groups(self) -> dict[str, Group]:
        """The groups by id."""
        return self.context.groups

    # Coming and going ----------------------------------------------------------------------------

    def start(self, now_ms: int) -> None:
        """U2: the whole journal is loaded. The members are taken to be alive until they are not."""
        self.loading = False
        self.cleaning.schedule_sweep(now_ms)
        for group in list(self.groups.values()):
            for member in group.members.values():
                self.rebalance.renew_session(group, member, now_ms)
            if len(group.members) > self.context.config.group_max_size:
                self.rebalance.prepare(group, now_ms)
        for consumers in self.context.consumers.values():
            self.fencing.load(consumers, now_ms)
        for shares in self.context.shares.values():
            self.share_heartbeats.load(shares, now_ms)
        for streams in self.context.streams.values():
            self.streams_heartbeats.load(streams, now_ms)

    def resign(self, error: ErrorCode, now_ms: int) -> None:
        """U3: another node has the partition now. Whoever waits is to look for it."""
        self.context.purgatory.cancel(sweep_key(self.appends.partition))
        self.appends.abandon(error, now_ms)  # first: what it undoes is still there
        groups, self.context.groups = self.context.groups, {}
        for group in groups.values():
            dismiss(self.context, group, error, now_ms)
        consumers, self.context.consumers = self.context.consumers, {}
        for group_id, one in consumers.items():
            self.fencing.forget(group_id, list(one.members))
        shares, self.context.shares = self.context.shares, {}
        for share in shares.values():
            self.share_heartbeats.forget(share)
        streams, self.context.streams = self.context.streams, {}
        for application in streams.values():
            self.streams_heartbeats.forget(application)

    # Replay --------------------------------------------------------------------------------------

    def _replay(self, item: Item, position: int, now_ms: int) -> None:
        """An entry is in the journal: what it says holds. Nothing else makes it hold."""
        if isinstance(item, Marker):
            self.offsets.replay_epoch(item.producer_id, item.producer_epoch, item.coordinator_epoch)
            self.offsets.replay_marker(item.producer_id, item.committed)
            return
        read = read_entry(item)
        if read is None:
            return
        key, value = read
        if item.producer_id != NO_PRODUCER:
            self.offsets.replay_epoch(item.producer_id, item.producer_epoch)
        if isinstance(key, OffsetCommitKey):
            tp = TopicPartition(key.topic, key.partition)
            if value is not None and self.context.kept(key.group) is None:
                self.groups[key.group] = Group(key.group)  # somebody who only commits
            assert value is None or isinstance(value, OffsetCommitValue)
            self.offsets.replay(key.group, tp, value, item.producer_id, position)
        elif isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_group(key.group, value, now_ms)
        else:
            context = self.context
            if isinstance(key, _SHARE_KEYS):
                made = SHARE.replay(context.shares, key, value)
            elif isinstance(key, _STREAMS_KEYS):
                made = STREAMS.replay(context.streams, key, value)
            else:
                made = CONSUMER.replay(context.consumers, key, value)
            if made is not None:
                self.groups.pop(made, None)  # so far only somebody who commits

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None, now_ms: int) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if group is not None:
                del self.groups[group_id]
                dismiss(self.context, group, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
        elif self.loading:
            # Behind a change of the protocol there may be one that was on its way before.
            if group_id not in self.context.consumers and group_id not in self.context.streams:
                self.groups[group_id] = Group.load(group_id, value)
        elif group is not None:
            group.replay(value)
