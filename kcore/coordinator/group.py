"""A classic group: its members, generation and protocols, and what can be asked about them.

It answers nobody and arms no timers; the rules that do are in the modules beside. Members are kept
in the order in which they joined, which decides where Kafka's hash order decides for Kafka: who
leads when nobody does, and how a tied vote ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kcore.coordinator.desk import Ticket
from kcore.coordinator.ordering import hash_ordered
from kcore.coordinator.states import REFUSED, TABLE, GroupInput, GroupState
from kcore.coordinator.subscriptions import subscribed_topics
from kcore.errors import IllegalStateError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import GroupMetadataValue, JoinGroupResponse

CONSUMER_PROTOCOL = "consumer"

Protocols = tuple[tuple[str, bytes], ...]


class Member:
    """A member, and the requests of it that wait for an answer (`join`, `sync`)."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "join",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.join: Ticket | None = None
        self.sync: Ticket | None = None
        self.is_new = False  # has never been part of a generation

    def metadata(self, protocol: str | None) -> bytes:
        """What it says under a protocol; empty if it does not list it."""
        return next((data for name, data in self.protocols if name == protocol), b"")


class Group:
    """One classic group. `wall_ms` arguments are times of day: they are kept in the journal."""

    __slots__ = (
        "awaiting_join",
        "generation",
        "group_id",
        "held",
        "leader_id",
        "members",
        "new_member_added",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_since_ms",
        "static_members",
        "subscribed",
        "supported",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_since_ms: int | None = None  # time of day; None: not known
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation = 0
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.pending_join: set[str] = set()  # ids handed out, not used yet
        self.pending_sync: set[str] = set()  # members that have not synced this generation
        self.awaiting_join = 0  # members whose JoinGroup is parked
        self.supported: Counter[str] = Counter()  # protocol -> how many members list it
        self.new_member_added = False  # during this initial delay
        self.subscribed: frozenset[str] | None = None  # topics; None: not known
        self.held = False  # what is to be removed of it is being decided and written

    # State ---------------------------------------------------------------------------------------

    def move(self, what: GroupInput, wall_ms: int) -> None:
        """The one place that changes `state`; IllegalStateError if the table has no such cell."""
        to = TABLE[self.state].get(what)
        if to is None:
            raise IllegalStateError(
                f"group {self.group_id}: {what.name} cannot happen in {self.state.name}"
            )
        self.previous_state, self.state = self.state, to
        self.state_since_ms = wall_ms

    def refusal(self, api: ApiKey) -> ErrorCode:
        """What the state by itself answers to a request; NONE if it is served."""
        return REFUSED[self.state].get(api, ErrorCode.NONE)

    @property
    def can_rebalance(self) -> bool:
        """Whether a round can begin now; one that is under way cannot begin again."""
        return GroupInput.REBALANCE in TABLE[self.state]

    def in_state(self, *states: GroupState) -> bool:
        """Whether the state is one of these."""
        return self.state in states

    def initial_delay(self) -> bool:
        """Whether the join phase under way is an empty group's first."""
        return (
            self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY
        )

    # Members -------------------------------------------------------------------------------------

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether this is a member, and (KIP-345) the one that its instance id stands for."""
        if instance_id is not None:
            holder = self.static_members.get(instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: Member) -> None:
        """A member more; the first one says what kind of group this is and leads it."""
        self._count(member, 1)
        self.members[member.member_id] = member
        self.pending_join.discard(member.member_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id

    def remove(self, member_id: str) -> None:
        """Forget a member; what it had parked is the caller's."""
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id)
        self._count(member, -1)
        self.awaiting_join -= member.join is not None
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def rename(self, member: Member, member_id: str) -> None:
        """A static member goes by a new id from now on; its place and role stay its own."""
        old = member.member_id
        member.member_id = member_id
        self.members = {m.member_id: m for m in self.members.values()}
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member_id
        if self.leader_id == old:
            self.leader_id = member_id
        if old in self.pending_sync:
            self.pending_sync.remove(old)
            self.pending_sync.add(member_id)

    def update(
        self, member: Member, protocols: Protocols, rebalance_timeout_ms: int, session_ms: int
    ) -> None:
        """What a member says of itself when it joins."""
        self._count(member, -1)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_ms
        self._count(member, 1)

    def _count(self, member: Member, by: int) -> None:
        for name in {name for name, _ in member.protocols}:
            self.supported[name] += by
            if not self.supported[name]:
                del self.supported[name]

    def park_join(self, member: Member, ticket: Ticket) -> Ticket | None:
        """The member's JoinGroup waits; answers the older one that waited."""
        before, member.join = member.join, ticket
        self.awaiting_join += before is None
        return before

    def unpark_join(self, member: Member) -> Ticket | None:
        """Take the parked JoinGroup out, to answer it."""
        ticket, member.join = member.join, None
        self.awaiting_join -= ticket is not None
        return ticket

    def all_joined(self) -> bool:
        """Whether nobody is missing from the join phase."""
        return len(self.members) == self.awaiting_join and not self.pending_join

    def max_rebalance_timeout_ms(self) -> int:
        """How long the slowest member may take to join again."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    # Protocols -----------------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member that offers these protocols fits in."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        size = len(self.members)
        return protocol_type == self.protocol_type and any(
            self.supported[name] == size for name in names
        )

    def select_protocol(self) -> str:
        """What most members prefer of the protocols all list; of as many, what comes first in a
        HashMap (Java: ClassicGroup.selectProtocol).
        """
        size = len(self.members)
        votes: Counter[str] = Counter()
        for member in self.members.values():
            choice = next((n for n, _ in member.protocols if self.supported[n] == size), None)
            if choice is None:
                raise IllegalStateError(f"group {self.group_id} has no protocol in common")
            votes[choice] += 1
        return max(hash_ordered(votes), key=votes.__getitem__)

    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of the topic are in use; not known counts as yes for consumers."""
        if self.subscribed is None:
            return self.protocol_type == CONSUMER_PROTOCOL
        return topic in self.subscribed

    def recompute_subscribed(self) -> None:
        """Read what the members of this generation subscribe to."""
        self.subscribed = None
        if self.protocol_type != CONSUMER_PROTOCOL:
            return
        if not self.members:
            self.subscribed = frozenset()
        elif self.protocol_name is not None:
            self.subscribed = subscribed_topics(
                member.metadata(self.protocol_name) for member in self.members.values()
            )

    # Pictures ------------------------------------------------------------------------------------

    def join_members(self) -> list[JoinGroupResponse.JoinGroupResponseMember]:
        """Everybody, for the leader to assign to."""
        return [
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    def value(self, assignments: dict[str, bytes]) -> GroupMetadataValue:
        """The group as the journal keeps it, with these assignments."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=-1 if self.state_since_ms is None else self.state_since_ms,
            members=[
                GroupMetadataValue.MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol_name),
                    assignment=assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ],
        )

    def assignments(self) -> dict[str, bytes]:
        """What each member has been assigned."""
        return {member_id: member.assignment for member_id, member in self.members.items()}

    def replay(self, value: GroupMetadataValue) -> None:
        """An entry about this live group is in the journal: the assignments it carries hold.

        Members and roles moved on by themselves since the entry was made; an entry of a generation
        that is over says nothing any more.
        """
        if value.generation != self.generation or not self.in_state(
            GroupState.COMPLETING_REBALANCE, GroupState.STABLE
        ):
            return
        for entry in value.members:
            member = self.members.get(entry.member_id)
            if member is not None:
                member.assignment = entry.assignment

    @classmethod
    def load(cls, group_id: str, value: GroupMetadataValue) -> Group:
        """The group that an entry of the journal describes."""
        group = cls(group_id)
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        group.generation = value.generation
        group.state_since_ms = (
            None if value.current_state_timestamp < 0 else value.current_state_timestamp
        )
        for entry in value.members:
            session = entry.session_timeout
            rebalance = entry.rebalance_timeout
            group.add(
                Member(
                    entry.member_id,
                    entry.group_instance_id,
                    entry.client_id,
                    entry.client_host,
                    session if rebalance < 0 else rebalance,
                    session,
                    ((value.protocol or "", entry.subscription),),
                    entry.assignment,
                )
            )
        if value.leader in group.members:
            group.leader_id = value.leader
        if group.members:
            group.state = GroupState.STABLE
        group.recompute_subscribed()
        return group


def protocols_of(offered: Sequence[tuple[str, bytes]]) -> Protocols:
    """What a JoinGroup offers; of a name that comes twice, the first."""
    found: dict[str, bytes] = {}
    for name, metadata in offered:
        found.setdefault(name, metadata)
    return tuple(found.items())
