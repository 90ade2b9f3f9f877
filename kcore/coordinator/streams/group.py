"""A streams group: its topology, its members, its epochs, the target assignment. It answers nobody.

What the journal says is changed by replay alone. What is not in it (the topology as configured, who
asked for the end, which version of endpoints members have been told of, how far they are with
tasks, the description of the topology) is gone with the coordinator, as in Kafka: it is found out
again, or asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from kcore.coordinator.ordering import timeline_ordered
from kcore.coordinator.streams.configuring import Configured
from kcore.coordinator.streams.member import (
    NO_OFFSETS,
    NO_TARGET,
    Assigned,
    Offsets,
    StreamsMember,
    Task,
    Tasks,
)
from kcore.coordinator.streams.states import REFUSED, StreamsGroupState
from kcore.coordinator.streams.topology import Topology
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import StreamsGroupDescribeResponse


class Reported(NamedTuple):
    """What a member said last: how far it is with tasks, and how far it could be."""

    done: Offsets
    ends: Offsets


TopologyDescription: TypeAlias = StreamsGroupDescribeResponse.TopologyDescription

NOTHING_REPORTED: Final = Reported(NO_OFFSETS, NO_OFFSETS)


class Asked(NamedTuple):
    """A member has been asked for a description of the topology of this epoch; until_ms: until when
    it is awaited, which was for wait_ms.
    """

    epoch: int
    wait_ms: int
    until_ms: int


class StreamsGroup:
    """One streams group."""

    __slots__ = (
        "active_in",
        "asked",
        "configs",
        "configured",
        "description",
        "endpoint_epoch",
        "epoch",
        "group_id",
        "held",
        "members",
        "members_most",
        "metadata_hash",
        "offsets",
        "seen_version",
        "shutdown_member_id",
        "standby_in",
        "static_members",
        "target",
        "target_epoch",
        "target_wall_ms",
        "topology",
        "validated_epoch",
        "warmup_in",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        # A group begins here, so that no member that has joined is in epoch 0.
        self.epoch = 1
        self.metadata_hash = 0  # of the topics, when the epoch was bumped last
        self.validated_epoch = 0  # of the topology whose topics were all there then; -1: of none
        self.configs: dict[str, str] = {}  # what the last target was made with
        self.target_epoch = 1
        self.target_wall_ms = 0  # when the target was made; 0: not known
        self.target: dict[str, Tasks] = {}
        self.members: dict[str, StreamsMember] = {}
        self.members_most = 0  # at a time
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.offsets: dict[str, Reported] = {}  # by member
        self.description: tuple[int, TopologyDescription] | None = None  # of the topology's epoch
        self.asked: Asked | None = None  # for a description
        self.topology: Topology | None = None
        self.configured: Configured | None = None
        self.seen_version: int | None = None  # of the cluster's topics; None: not looked at yet
        self.shutdown_member_id: str | None = None  # who asked all members to end
        self.endpoint_epoch = 0  # of what members are told of each other's endpoints
        self.active_in: dict[Task, str] = {}  # task -> process that has it
        self.standby_in: dict[Task, set[str]] = {}
        self.warmup_in: dict[Task, set[str]] = {}
        self.held = False  # something of it is being decided and written

    # Questions -----------------------------------------------------------------------------------

    @property
    def state(self) -> StreamsGroupState:
        """See StreamsGroupState."""
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_epoch:
            return StreamsGroupState.NOT_READY
        if self.epoch > self.target_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.reconciled_to(self.target_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def refusal(self, api: ApiKey) -> ErrorCode:
        """What the state by itself answers to a request; NONE if it is served."""
        return REFUSED[self.state].get(api, ErrorCode.NONE)

    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of the topic are in use."""
        return bool(self.members) and self.reader_of(topic) is not None

    def static_member(self, instance_id: str) -> StreamsMember | None:
        """Who has an instance id; None if nobody does."""
        return self.members.get(self.static_members.get(instance_id, ""))

    def reader_of(self, topic: str) -> str | None:
        """The subtopology that reads a topic; None if none does, as far as is known."""
        return None if self.topology is None else self.topology.reader_of(topic)

    def ordered(self) -> list[StreamsMember]:
        """The members in the order in which a Kafka goes over them."""
        names = timeline_ordered(self.members, self.members_most)
        return [self.members[name] for name in names]

    def target_of(self, member_id: str) -> Tasks:
        """What a member is to get."""
        return self.target.get(member_id, NO_TARGET)

    # What is not in the journal ------------------------------------------------------------------

    def report(self, member_id: str, reported: Reported) -> None:
        """A member says how far it is; nothing, if it does not say. Nothing is kept of who never
        came to be a member.
        """
        if reported is not NOTHING_REPORTED:
            for stray in self.offsets.keys() - self.members.keys():
                del self.offsets[stray]
            self.offsets[member_id] = reported

    def end_asked_by(self, member_id: str | None) -> None:
        """A member wants all to end (None: nobody does); who was the first is told."""
        if self.shutdown_member_id is None:
            self.shutdown_member_id = member_id

    # Replay --------------------------------------------------------------------------------------

    def put(self, member: StreamsMember) -> None:
        """A member is new, or is this from now on."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._give_back(old)
            self.static_members.pop(old.instance_id or "", None)
        self.members[member.member_id] = member
        self.members_most = max(self.members_most, len(self.members))
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for assigned in (member.assigned, member.pending):
            self.active_in.update(dict.fromkeys(assigned.active, member.process_id))
            _add(self.standby_in, assigned.standby, member.process_id)
            _add(self.warmup_in, assigned.warmup, member.process_id)

    def remove(self, member_id: str) -> None:
        """A member is gone; with the last one, who asked for the end is forgotten."""
        member = self.members.pop(member_id, None)
        self.offsets.pop(member_id, None)
        if member is not None:
            self._give_back(member)
            self.static_members.pop(member.instance_id or "", None)
        if not self.members:
            self.shutdown_member_id = None

    def _give_back(self, member: StreamsMember) -> None:
        for assigned in (member.assigned, member.pending):
            _free(self.active_in, assigned, member.process_id)
            _take(self.standby_in, assigned.standby, member.process_id)
            _take(self.warmup_in, assigned.warmup, member.process_id)


def _free(active_in: dict[Task, str], assigned: Assigned, process_id: str) -> None:
    for task in assigned.active:
        if active_in.get(task) == process_id:
            del active_in[task]


def _add(held_in: dict[Task, set[str]], tasks: Iterable[Task], process_id: str) -> None:
    for task in tasks:
        held_in.setdefault(task, set()).add(process_id)


def _take(held_in: dict[Task, set[str]], tasks: Iterable[Task], process_id: str) -> None:
    for task in tasks:
        processes = held_in.get(task)
        if processes is not None:
            processes.discard(process_id)
            if not processes:
                del held_in[task]


def in_process(held_in: Mapping[Task, set[str]], task: Task, process_id: str) -> bool:
    """Whether a process has a task in this role."""
    return process_id in held_in.get(task, ())
