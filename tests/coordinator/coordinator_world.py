"""A coordinator on a virtual clock, with its journal, and the requests members send."""

from __future__ import annotations

import itertools
import random
from typing import Any

from kcore.assignors import MemberSubscription
from kcore.assignors.blobs import encode_subscription
from kcore.coordinator import Caller, CoordinatorConfig, Entry, GroupCoordinator, Marker
from kcore.coordinator.consumer.fencing import JOIN, REVOCATION, SESSION, SYNC, timer_key
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.group import Group
from kcore.coordinator.journal import read_entry
from kcore.coordinator.purgatory import heartbeat_key, join_key, sync_key
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.share.heartbeats import SESSION as SHARE
from kcore.coordinator.states import GroupState
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.heartbeats import DELAY
from kcore.coordinator.streams.heartbeats import REVOCATION as TASKS
from kcore.coordinator.streams.heartbeats import SESSION as STREAMS
from kcore.coordinator.streams.states import MemberState as StreamsMemberState
from kcore.wire import messages as m
from kcore.wire.codec import encode
from kcore.wire.codes import ErrorCode

D = 3_000  # group.initial.rebalance.delay.ms
N = 300_000  # new member join timeout
WALL = 1_700_000_000_000  # time of day at now = 0
P0 = 0

RANGE = [("range", b"\x00\x00meta")]


def subscription(*topics: str) -> bytes:
    return encode_subscription(MemberSubscription(topics=topics))


class World:
    """`appending`: entries are in the journal at once; else `settle()` puts them there.

    `immediate`: the coordinator itself takes them as appended when it gives them out.
    """

    def __init__(
        self,
        *,
        appending: bool = True,
        immediate: bool = False,
        seed: int = 1,
        loaded: Any = (),
        **options: Any,
    ):
        self.immediate = immediate
        options.setdefault("offsets_topic_num_partitions", 1)
        self.config = CoordinatorConfig(**options)
        self.now = 0
        self.appending = appending
        self.journal: list[Any] = list(loaded)
        self.batches: list[int] = []  # journal length after each append
        self.waiting: list[Any] = []  # appends given out, not answered
        self.replies: dict[Any, Any] = {}
        self.requests: dict[Any, Any] = {}
        self.versions: dict[Any, int] = {}
        self._tokens = itertools.count(1)
        self.topics: Any = None
        self.coordinator = self.make(seed)
        self.lead()

    def make(self, seed: int = 1) -> GroupCoordinator:
        return GroupCoordinator(
            self.config,
            random.Random(seed),
            self.topics,
            wall_offset_ms=WALL,
            immediate=self.immediate,
        )

    def lead(self) -> None:
        for partition in range(self.config.offsets_topic_num_partitions):
            self.coordinator.handle_elected(partition)
            self.coordinator.handle_entries(partition, self.journal, self.now)
            self.coordinator.handle_loaded(partition, self.now)
        self.drain()

    # Time and the journal ------------------------------------------------------------------------

    def drain(self) -> None:
        while self.immediate and (append := self.coordinator.next_append()) is not None:
            self.journal.extend(append.entries)
        while True:
            self._take_replies()
            append = self.coordinator.next_append()
            if append is None:
                return
            self.waiting.append(append)
            if self.appending:
                self.settle()

    def _take_replies(self) -> None:
        while (reply := self.coordinator.next_reply()) is not None:
            assert reply.token in self.requests, "an answer nobody waits for"
            assert reply.token not in self.replies, "answered twice"
            self.replies[reply.token] = reply.message
            encode(reply.message, self.versions[reply.token])  # it can be said in that version
            self.on_reply(reply.token, reply.message)

    def on_reply(self, token: Any, message: Any) -> None:
        """For judges who must see every answer at its time."""

    def settle(self, error: ErrorCode = ErrorCode.NONE, count: int | None = None) -> None:
        """The appends that wait are through (or failed)."""
        for append in self.waiting[: count if count is not None else len(self.waiting)]:
            self.waiting.remove(append)
            if not error:
                self.journal.extend(append.entries)
                self.batches.append(len(self.journal))
            self.coordinator.handle_appended(append.partition, append.number, self.now, error)
        self.drain()

    def until(self, at_ms: int) -> None:
        """Let time pass, and everything fire at its own time."""
        assert at_ms >= self.now
        while (due := self.coordinator.deadline()) <= at_ms:
            self.now = max(self.now, due)
            self.coordinator.handle_deadline(self.now)
            self.drain()
        self.now = at_ms

    def after(self, ms: int) -> None:
        self.until(self.now + ms)

    # Requests ------------------------------------------------------------------------------------

    def send(self, request: Any, version: int, *, link: Any = None, client: str = "c") -> int:
        token = next(self._tokens)
        self.requests[token], self.versions[token] = request, version
        link = token if link is None else link
        caller = Caller(token, link, client, f"/{client[:100]}-host")
        self.coordinator.handle_request(caller, version, request, self.now)
        self.drain()
        return token

    def ask(self, request: Any, version: int, **more: Any) -> Any:
        return self.replies[self.send(request, version, **more)]

    def join(
        self,
        member_id: str = "",
        *,
        version: int = 3,
        instance: str | None = None,
        st: int = 10_000,
        rt: int = 10_000,
        protocols: Any = None,
        protocol_type: str = "consumer",
        group: str = "g",
        **more: Any,
    ) -> int:
        request = m.JoinGroupRequest(
            group_id=group,
            member_id=member_id,
            group_instance_id=instance,
            session_timeout_ms=st,
            rebalance_timeout_ms=rt,
            protocol_type=protocol_type,
            protocols=[
                m.JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=data)
                for name, data in (RANGE if protocols is None else protocols)
            ],
        )
        return self.send(request, version, **more)

    def sync(
        self,
        member_id: str,
        generation: int = 1,
        assignments: Any = None,
        *,
        instance: str | None = None,
        version: int = 5,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        group: str = "g",
        **more: Any,
    ) -> int:
        request = m.SyncGroupRequest(
            group_id=group,
            member_id=member_id,
            generation_id=generation,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=k, assignment=v)
                for k, v in (assignments or {}).items()
            ],
        )
        return self.send(request, version, **more)

    def heartbeat(
        self, member_id: str, generation: int = 1, instance: str | None = None, group: str = "g"
    ) -> int:
        request = m.HeartbeatRequest(
            group_id=group,
            member_id=member_id,
            generation_id=generation,
            group_instance_id=instance,
        )
        return self.ask(request, 4).error_code

    def leave(self, *entries: tuple[str, str | None], group: str = "g", version: int = 5) -> Any:
        request = m.LeaveGroupRequest(
            group_id=group,
            member_id=entries[0][0] if version < 3 else "",
            members=[
                m.LeaveGroupRequest.MemberIdentity(member_id=a, group_instance_id=b)
                for a, b in entries
                if version >= 3
            ],
        )
        return self.ask(request, version)

    def commit(
        self,
        offsets: Any,
        member_id: str = "",
        generation: int = -1,
        *,
        instance: str | None = None,
        metadata: str | None = "",
        version: int = 9,
        group: str = "g",
        retention: int = -1,
    ) -> int:
        R = m.OffsetCommitRequest
        topics: dict[str, list[Any]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(
                R.OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=metadata
                )
            )
        request = R(
            group_id=group,
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            group_instance_id=instance,
            retention_time_ms=retention,
            topics=[
                R.OffsetCommitRequestTopic(name=name, partitions=parts)
                for name, parts in topics.items()
            ],
        )
        return self.send(request, version)

    def committed(self, *args: Any, **more: Any) -> int:
        """The one error code of a commit's answer."""
        (code,) = {
            p.error_code
            for t in self.replies[self.commit(*args, **more)].topics
            for p in t.partitions
        }
        return code

    def txn_commit(
        self,
        offsets: Any,
        producer: int,
        *,
        member_id: str = "",
        generation: int = -1,
        group: str = "g",
        epoch: int = 0,
    ) -> int:
        R = m.TxnOffsetCommitRequest
        request = R(
            transactional_id="t",
            group_id=group,
            producer_id=producer,
            producer_epoch=epoch,
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            topics=[
                R.TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        R.TxnOffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset
                        )
                    ],
                )
                for (topic, partition), offset in offsets.items()
            ],
        )
        return self.send(request, 4)

    def mark(
        self, producer: int, committed: bool, epoch: int = 0, error: ErrorCode = ErrorCode.NONE
    ) -> None:
        got = self.coordinator.end_transaction(P0, Marker(producer, epoch, committed), self.now)
        assert got == error
        self.drain()

    def fetch(self, *wanted: tuple[str, int], stable: bool = False, group: str = "g") -> Any:
        """{(topic, partition): (offset, error)}; everything if nothing is named."""
        R = m.OffsetFetchRequest
        topics = [R.OffsetFetchRequestTopics(name=t, partition_indexes=[p]) for t, p in wanted]
        request = R(
            groups=[R.OffsetFetchRequestGroup(group_id=group, topics=topics if wanted else None)],
            require_stable=stable,
        )
        (found,) = self.ask(request, 9).groups
        assert not found.error_code
        return {
            (t.name, p.partition_index): (p.committed_offset, p.error_code)
            for t in found.topics
            for p in t.partitions
        }

    def describe(self, group: str = "g", version: int = 5) -> Any:
        (found,) = self.ask(m.DescribeGroupsRequest(groups=[group]), version).groups
        return found

    # State ---------------------------------------------------------------------------------------

    @property
    def group(self) -> Group:
        found = self.coordinator.group("g")
        assert found is not None
        return found

    @property
    def state(self) -> str:
        """P, C, S, E or D."""
        return self.group.state.name[0]

    def parked(self, *tokens: int) -> bool:
        """None of these requests has been answered."""
        return not any(token in self.replies for token in tokens)

    def error(self, token: int) -> int:
        return self.replies[token].error_code

    def form(
        self, count: int = 2, *, instances: Any = (), sync: bool = True, **options: Any
    ) -> Any:
        """A group of so many members (their ids; the first leads), Stable unless not `sync`."""
        instances = [*instances, *[None] * (count - len(instances))]
        tokens = [self.join(instance=x, version=5 if x else 3, **options) for x in instances]
        while not all(token in self.replies for token in tokens):
            self.until(self.coordinator.deadline())
        answers = [self.replies[token] for token in tokens]
        assert {a.error_code for a in answers} == {0}
        ids = [a.member_id for a in answers]
        if sync:
            self.sync_all(ids, answers[0].generation_id, instances)
            assert self.group.state is GroupState.STABLE
        return ids

    def sync_all(self, ids: Any, generation: int, instances: Any = ()) -> None:
        """Everybody syncs; the leader hands b"<id>" to each."""
        name = self.group.protocol_name
        leader = self.group.leader_id
        for i in sorted(range(len(ids)), key=lambda i: ids[i] == leader):
            assignments = {x: x.encode() for x in ids} if ids[i] == leader else {}
            instance = instances[i] if i < len(instances) else None
            self.sync(ids[i], generation, assignments, instance=instance, protocol_name=name)

    def check(self) -> None:
        """What has to hold after every step (BROKER_GROUPS.md section 3)."""
        for group in self.groups():
            parked = [x for x in group.members.values() if x.join is not None]
            assert group.awaiting_join == len(parked)
            assert not group.pending_join & set(group.members)
            assert group.pending_sync <= set(group.members)
            assert set(group.static_members.values()) <= set(group.members)
            assert group.leader_id is None or group.leader_id in group.members
            assert bool(group.members) == (group.leader_id is not None)
            if group.state is GroupState.EMPTY:
                assert not group.members
            if group.state is GroupState.STABLE:
                assert group.members
        for one in self.consumer_groups():
            self._check_consumers(one)
        self._check_shares()
        self._check_streams()
        self._check_timers()

    def _check_consumers(self, group: ConsumerGroup) -> None:
        assert self.coordinator.group(group.group_id) is None
        assert group.target_epoch <= group.epoch
        assert set(group.static_members.values()) <= set(group.members)
        assert set(group.target) <= set(group.members)
        if self.waiting:
            return
        assert not group.held
        given: list[Any] = []
        for member in group.members.values():
            assert not set(member.assigned) & set(member.pending)
            assert bool(member.pending) <= (member.state is MemberState.UNREVOKED_PARTITIONS)
            given += [*member.assigned, *member.pending]
        assert len(given) == len(set(given)), "a partition that two members have"
        assert set(given) == set(group.holders)
        self._check_consumer_timers()

    def _check_consumer_timers(self) -> None:
        expected, allowed = set(), set()
        for one in self.consumer_groups():
            expected |= {timer_key(SESSION, one.group_id, member_id) for member_id in one.members}
            expected |= {
                timer_key(REVOCATION, one.group_id, member.member_id)
                for member in one.members.values()
                if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None
            }
            allowed |= {
                timer_key(kind, one.group_id, member.member_id)
                for member in one.members.values()
                for kind in (JOIN, SYNC)
                if member.classic is not None
            }
        armed = {key for key in self.coordinator._purgatory if key[0].startswith("consumer-")}
        assert expected <= armed <= expected | allowed

    def _check_shares(self) -> None:
        groups = self.share_groups()
        for one in groups:
            assert self.coordinator.group(one.group_id) is None
            assert self.coordinator.consumer_group(one.group_id) is None
            assert one.target_epoch <= one.epoch
            assert set(one.target) <= set(one.members)
            assert self.waiting or not one.held
        if not self.waiting:
            expected = {(SHARE, one.group_id, name) for one in groups for name in one.members}
            armed = {key for key in self.coordinator._purgatory if key[0].startswith("share-")}
            assert armed == expected

    def _check_streams(self) -> None:
        groups = self.streams_groups()
        allowed, expected = set(), set()
        for one in groups:
            assert self.coordinator.group(one.group_id) is None
            assert self.coordinator.consumer_group(one.group_id) is None
            assert self.coordinator.share_group(one.group_id) is None
            assert one.target_epoch <= one.epoch
            assert set(one.target) <= set(one.members)
            assert self.waiting or not one.held
            allowed.add((DELAY, one.group_id))
            for member in one.members.values():
                expected.add((STREAMS, one.group_id, member.member_id))
                if member.state is StreamsMemberState.UNREVOKED_TASKS:
                    expected.add((TASKS, one.group_id, member.member_id))
            if not self.waiting:
                self._check_tasks(one)
        if not self.waiting:
            armed = {key for key in self.coordinator._purgatory if key[0].startswith("streams-")}
            assert expected <= armed <= expected | allowed

    def _check_tasks(self, group: StreamsGroup) -> None:
        active: list[Any] = []
        process: list[Any] = []
        for member in group.members.values():
            assert bool(member.pending) <= (member.state is StreamsMemberState.UNREVOKED_TASKS)
            own = [  # since Kafka 4.4 one that is given up as an active task can be standby then
                (*has.active, *has.standby, *has.warmup)
                for has in (member.assigned, member.pending)
            ]
            if not self.config.as_44:
                assert not set(own[0]) & set(own[1])
            for has in (member.assigned, member.pending):
                active += has.active
                assert not has.active.keys() & (has.standby | has.warmup)
            process += [(member.process_id, task) for task in {*own[0], *own[1]}]
        assert len(active) == len(set(active)), "a task that is active twice"
        assert set(active) == set(group.active_in)
        assert len(process) == len(set(process)), "a task that is in a process twice"

    def streams_groups(self) -> list[StreamsGroup]:
        shards = self.coordinator._shards.values()
        return [group for shard in shards for group in shard.context.streams.values()]

    def share_groups(self) -> list[ShareGroup]:
        shards = self.coordinator._shards.values()
        return [group for shard in shards for group in shard.context.shares.values()]

    def consumer_groups(self) -> list[ConsumerGroup]:
        shards = self.coordinator._shards.values()
        return [group for shard in shards for group in shard.context.consumers.values()]

    def groups(self) -> list[Group]:
        shards = self.coordinator._shards.values()
        return [group for shard in shards for group in shard.groups.values()]

    def _check_timers(self) -> None:
        """No timer for who is gone, one for everybody else."""
        expected = set()
        for group in self.groups():
            known = [*group.members, *group.pending_join]
            expected |= {heartbeat_key(group, member_id) for member_id in known}
            if group.state is GroupState.PREPARING_REBALANCE:
                expected.add(join_key(group))
            if group.pending_sync:
                expected.add(sync_key(group))
        satisfied = {
            heartbeat_key(group, x.member_id)
            for group in self.groups()
            for x in group.members.values()
            if x.join is not None or x.sync is not None
        }
        armed = {
            key
            for key in self.coordinator._purgatory
            if key[0] != "sweep" and not key[0].startswith(("consumer-", "share-", "streams-"))
        }
        assert armed <= expected, "a timer of nobody"
        assert expected - armed <= satisfied, "somebody without a timer"


def of_journal(journal: list[Any]) -> list[Any]:
    """The entries as (key message, value message), markers as they are."""
    return [read_entry(item) if isinstance(item, Entry) else item for item in journal]
