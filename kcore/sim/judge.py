"""The judge: told of everything that happens, it raises a ViolationError as soon as a rule is
broken.

It believes what it sees from outside (bytes on wires, what applications are told and given), and
looks into a coordinator only to see whether its books agree with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.events import PartitionsAssigned
from kcore.sim.habits import Commit
from kcore.sim.interventions import Alterations
from kcore.sim.ledger import Asked, Ledger
from kcore.sim.offsets import Hands, Offsets
from kcore.sim.promises import Promises
from kcore.sim.referee import GroupOf, Referee
from kcore.sim.revocations import Revocations
from kcore.sim.shares import Shares
from kcore.sim.trace import Trace, What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.messages import (
    ConsumerGroupHeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from kcore.sim.members import Member
    from kcore.sim.network import Wire
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process

# Generations whose owners are remembered: a zombie is never further behind.
_GENERATIONS_KEPT: Final = 50

# Brokers that are asked for records of topics by their ids (KIP-516).
_IDS_SINCE: Final = (4, 0)
_COMMITS_BY_ID_SINCE: Final = (4, 2)

# OffsetCommit names topics by id from this version on.
_TOPIC_IDS_VERSION: Final = 10


class Judge(Referee):
    """All rules but those about the end (see `settle`).

    Where members of the consumer protocol are among them, each member of a group may be in an epoch
    of its own, and partitions change hands one by one.
    """

    def __init__(
        self, plan: Plan, ledger: Ledger, trace: Trace, group_of: GroupOf, now: Callable[[], int]
    ) -> None:
        super().__init__(plan, trace, group_of, now)
        self._ledger = ledger
        self._by_epochs = plan.consumer_share > 0
        self.offsets = Offsets(
            self.logs,
            named=plan.release < _IDS_SINCE,
            unnamed=plan.release < _COMMITS_BY_ID_SINCE,
        )
        self.interventions = Alterations(self.offsets, self.logs, self.groups)
        self.hands: dict[Member, Hands] = {}
        self.promises = Promises(self.attendance, self.logs, self.offsets, now, plan.latency_ms[1])
        self.revocations = Revocations(
            self.attendance,
            self.hands,
            self.offsets,
            self._topic_names,
            self._may_hold,
            now,
            plan.latency_ms[1],
        )
        shares = Shares()
        ledger.asked_watchers += [
            self._asked,
            self.attendance.asked,
            self.revocations.asked,
            shares.asked,
        ]
        ledger.answered_watchers += [
            self._answered,
            self.attendance.answered,
            self.revocations.answered,
            shares.answered,
        ]

    # Members -------------------------------------------------------------------------------------

    def member_started(self, process: Process) -> None:
        """A process is there."""
        member = _member(process)
        self.hands[member] = Hands()
        super().member_started(member)
        self.promises.started(member)
        self.revocations.started(member)

    def member_ended(self, process: Process, *, left: bool) -> None:
        """It is gone; what it has sent may still arrive. left: it has closed."""
        super().member_ended(process, left=left)
        member = _member(process)
        self.promises.ended(member)
        self.revocations.ended(member, left=left)

    def look(self, living: Iterable[Process]) -> None:
        """From time to time: what should have happened by now has."""
        super().look(living)
        self.promises.look()

    def polled(self, member: Member) -> None:
        """The application is done with everything it was handed."""
        self.attendance.polled(member)
        self.revocations.polled(member)
        hands = self.hands[member]
        hands.done.update(hands.position)

    def delivered(self, member: Member, taken: Mapping[TopicPartition, Sequence[Any]]) -> None:
        """The application gets records."""
        hands = self.hands[member]
        for tp, records in taken.items():
            self.offsets.handed(member.name, member.group_id, hands, tp, records)
            self.logs.delivered_to(member.name, member.group_id, tp, records)
            if self.watch is not None:
                self.watch.got_on(member, tp)
        spans = {
            _name(tp): (records[0].offset, records[-1].offset) for tp, records in taken.items()
        }
        self._trace.event(What.DELIVERED, member.name, spans=spans)

    def uncommitted(self, member: Member) -> dict[TopicPartition, int]:
        """What an application would commit by itself; it is done with all that then."""
        hands = self.hands[member]
        hands.done.update(hands.position)
        return {
            tp: offset
            for tp, offset in hands.position.items()
            if self.offsets.of(member.group_id, tp).sure != offset
        }

    def assigned(self, member: Member, event: PartitionsAssigned) -> None:
        """A member owns partitions in a generation: nobody else does."""
        hands = self.hands[member]
        self.promises.assigned(member, event.added)
        self.revocations.assigned(member, event)
        for tp in event.added:
            hands.drop(tp)
            hands.done.pop(tp, None)
            hands.owned[tp] = event.generation
            count = len(self.offsets.of(member.group_id, tp).history) - 1
            hands.begun[tp] = self.logs.life(tp.topic), count
        if self._by_epochs:
            self._judge_alone(member, event.added, Rule.OWNED_ONCE, "is given")
        else:
            self._judge_generation(member, event)

    def _judge_generation(self, member: Member, event: PartitionsAssigned) -> None:
        book = self.groups[member.group_id]
        if member not in book.joined.get(event.generation, ()):
            return  # the group that it was in is deleted: one made anew has such a generation, too
        owners = book.owners.setdefault(event.generation, {})
        for tp in event.partitions:
            owner = owners.setdefault(tp, member.identity)
            if owner != member.identity:
                raise ViolationError(
                    Rule.OWNED_ONCE,
                    f"{_name(tp)} is {owner}'s and {member.identity}'s in generation"
                    f" {event.generation} of {member.group_id}",
                )
        for tp in event.added:
            self._judge_handover(member, tp, event.generation)
        while len(book.owners) > _GENERATIONS_KEPT:
            del book.owners[next(iter(book.owners))]

    def _judge_alone(
        self, member: Member, partitions: Iterable[TopicPartition], rule: Rule, does: str
    ) -> None:
        """Nobody else has what a member of a consumer group is given, or commits (also in an older
        epoch: KIP-1251). While the group is a classic one, in a run of both, nothing is judged.
        """
        for tp in partitions:
            other = self._other_owner(member, tp)
            if other is not None:
                raise ViolationError(
                    rule,
                    f"{member.name} {does} {_name(tp)}, and {other.name}, which is in"
                    f" {member.group_id}, has not given it up",
                )

    def _other_owner(self, member: Member, tp: TopicPartition) -> Member | None:
        """Who has a partition of a consumer group beside the member, which is in it."""
        group = self.group_of(member.group_id)
        if not isinstance(group, ConsumerGroup) or not self._counts(group, member, tp):
            return None
        for other, hands in self.hands.items():
            has = other.group_id == member.group_id and not other.ended and tp in hands.owned
            if has and other is not member and self._counts(group, other, tp):
                return other
        return None

    def _counts(self, group: ConsumerGroup, member: Member, tp: TopicPartition) -> bool:
        """Whether it is one of the group's members, as the coordinator has it, and there. Of those
        that speak the classic protocol Kafka (4.3) may not know what they have: one that is out may
        come again as it is, and of a group that goes from one kind to the other and back within a
        rebalance it takes all to have what they were to get. One of a topic that was made anew is
        another one than that of before: it is nobody's.
        """
        known = group.members.get(member.member_id)
        if known is None or known.epoch < 0:
            return False
        by_name = member.habits.by_epochs and not self.logs.life(tp.topic)
        return by_name or self._holds(known, tp)

    def _holds(self, known: ConsumerMember, tp: TopicPartition) -> bool:
        at = (self._topic_ids[tp.topic], tp.partition)
        return at in known.assigned or at in known.pending

    def _may_hold(self, member: Member, tp: TopicPartition) -> bool:
        """Whether it has this of the topic that there is now; and not, as far as a coordinator that
        goes by ids knows, of one that had its name before.
        """
        group = self.group_of(member.group_id)
        if not isinstance(group, ConsumerGroup) or not self.logs.life(tp.topic):
            return True
        known = group.members.get(member.member_id)
        return known is not None and self._holds(known, tp)

    def _judge_handover(self, member: Member, tp: TopicPartition, generation: int) -> None:
        """Who is in the generation, too, has given it up before: eager members all that they have,
        cooperative ones what goes elsewhere. But a static member's new process takes over while
        the old one does not know it yet; and who stood still may hear of a generation when others
        have got something in a later one.
        """
        for other in self.groups[member.group_id].joined.get(generation, ()):
            if other.ended or other.identity == member.identity:
                continue
            if self.hands[other].owned.get(tp, generation + 1) <= generation:
                raise ViolationError(
                    Rule.OWNED_ONCE,
                    f"{_name(tp)} is {member.name}'s in generation {generation} of"
                    f" {member.group_id}, and {other.name}, which is in it, has not given it up",
                )

    def revoked(self, member: Member, partitions: Sequence[TopicPartition]) -> None:
        """A member gives partitions up."""
        self.promises.revoked(member, partitions, self.hands[member])
        self.revocations.revoked(member, partitions)
        self._gone(member, partitions)

    def lost(self, member: Member, partitions: Sequence[TopicPartition]) -> None:
        """A member hears that it has lost partitions."""
        self.attendance.lost(member, partitions)
        self.revocations.lost(member, partitions)
        self._gone(member, partitions)

    def _gone(self, member: Member, partitions: Sequence[TopicPartition]) -> None:
        hands = self.hands[member]
        for tp in partitions:
            hands.drop(tp)
            hands.owned.pop(tp, None)

    def handled(self, member: Member) -> None:
        """An application has handled a step of a rebalance."""
        self.revocations.handled(member)

    def counts(self) -> dict[str, int]:
        """See Referee."""
        return {"commits": self.offsets.commits}

    def lagging(self, member: Member) -> list[TopicPartition]:
        """What a member has and is not at the end of, but for what it has paused."""
        hands, paused = self.hands[member], member.core.paused()
        return [
            tp
            for tp in hands.owned
            if tp not in paused and self._position(member, hands, tp) < self.logs.end_offset(tp)
        ]

    def _position(self, member: Member, hands: Hands, tp: TopicPartition) -> int:
        position = hands.position.get(tp)
        if hands.lives.get(tp) != self.logs.life(tp.topic):
            position = None
        kept_from = self.logs.kept_from(tp)
        if position is None:
            return max(*self.offsets.of(member.group_id, tp).candidates(), kept_from)
        return max(position, kept_from)

    # Nodes ---------------------------------------------------------------------------------------

    def topic_gone(self, name: str) -> None:
        """A topic is deleted, and what was committed in it."""
        super().topic_gone(name)
        self.offsets.topic_gone(name)
        self.revocations.topic_gone(name)

    def turn_begins(self) -> None:
        """Remember who is a member of what, if a commit may be taken in this turn."""
        if self._ledger.open[ApiKey.OFFSET_COMMIT]:
            for group_id, book in self.groups.items():
                group = self.group_of(group_id)
                book.members = frozenset() if group is None else frozenset(group.members)

    def coordinators_moved(self) -> None:
        """Another node keeps the groups: of a generation that was not assigned it knows nothing."""
        super().coordinators_moved()
        for book in self.groups.values():
            book.generation = book.kept_generation
            for told in (book.leaders, book.joined):
                for generation in [one for one in told if one > book.generation]:
                    del told[generation]

    # The wire ------------------------------------------------------------------------------------

    def _asked(self, wire: Wire, asked: Asked) -> None:
        request = asked.message
        self.touches += asked.api is not ApiKey.HEARTBEAT  # which changes no book
        if isinstance(request, OffsetCommitRequest):
            hands = self._hands_of(wire)
            offsets = self._offsets_of(request, asked.version)
            lives = self._lives_of(request, asked.version)
            self.revocations.asks(self._member_of(wire), offsets, lives)
            blind = self._member_of(wire).habits.commit is Commit.NAMED
            self.offsets.asked(
                wire.client.name, request.group_id, hands, offsets, lives, blind=blind
            )
            asked.lives = lives or {tp.topic: self.logs.life(tp.topic) for tp in offsets}

    def _answered(self, wire: Wire, asked: Asked, answer: object) -> None:
        request: Any = asked.message
        self.touches += asked.api is not ApiKey.HEARTBEAT
        if isinstance(answer, JoinGroupResponse) and not answer.error_code:
            self._joined(wire, request.group_id, answer)
        elif isinstance(answer, SyncGroupResponse) and not answer.error_code:
            assert isinstance(request, SyncGroupRequest)
            book = self.groups[request.group_id]
            if request.generation_id < book.generation and not self._by_epochs:
                raise ViolationError(
                    Rule.COHERENT,
                    f"{wire.client.name} has synced generation {request.generation_id} of"
                    f" {request.group_id}, which is in generation {book.generation}",
                )
            book.kept_generation = max(book.kept_generation, request.generation_id)
            book.generation = max(book.generation, request.generation_id)
        elif isinstance(answer, ConsumerGroupHeartbeatResponse) and not answer.error_code:
            self.beaten(answer.member_id or request.member_id, request, answer.member_epoch)
        elif isinstance(answer, OffsetCommitResponse):
            self._committed(wire, request, answer, asked)

    def _joined(self, wire: Wire, group_id: str, answer: JoinGroupResponse) -> None:
        book = self.groups[group_id]
        member = self._member_of(wire)
        book.joined.setdefault(answer.generation_id, set()).add(member)
        while len(book.joined) > _GENERATIONS_KEPT:
            del book.joined[next(iter(book.joined))]
        if answer.leader == answer.member_id and not self._by_epochs:
            identity = member.identity
            leader = book.leaders.setdefault(answer.generation_id, identity)
            if leader != identity:
                raise ViolationError(
                    Rule.COHERENT,
                    f"{leader} and {identity} lead generation {answer.generation_id} of {group_id}",
                )
            while len(book.leaders) > _GENERATIONS_KEPT:
                del book.leaders[next(iter(book.leaders))]
        self.generation_seen(group_id, book, answer.generation_id)
        if answer.generation_id < book.generation and not self._by_epochs:
            raise ViolationError(
                Rule.COHERENT,
                f"{group_id} goes back from generation {book.generation} to {answer.generation_id}",
            )

    def _committed(
        self, wire: Wire, request: OffsetCommitRequest, answer: OffsetCommitResponse, about: Asked
    ) -> None:
        generation, lives = request.generation_id_or_member_epoch, about.lives
        asked = self._offsets_of(request, about.version)
        taken: dict[TopicPartition, int] = {}
        void: dict[TopicPartition, int] = {}  # what it was committed in is deleted
        for topic in answer.topics:
            name = topic.name or self._topic_names.get(topic.topic_id, "")
            for partition in topic.partitions:
                tp = TopicPartition(name, partition.partition_index)
                if partition.error_code:
                    self.offsets.refused(request.group_id, tp, asked[tp], lives[name])
                elif lives[name] == self.logs.life(name):
                    taken[tp] = asked[tp]
                else:
                    void[tp] = asked[tp]
                    self.offsets.void(request.group_id, tp, asked[tp], lives[name])
        whole = len(taken) + len(void) == len(asked)  # else it goes on with the rest
        member = self._member_of(wire)
        self.promises.confirmed(member, taken | void, about.at_ms, whole=whole)
        if not taken:
            return
        book = self.groups[request.group_id]
        if self._by_epochs:
            self._judge_alone(self._member_of(wire), taken, Rule.COMMIT_FENCED, "has committed")
        elif generation < book.generation:
            raise ViolationError(
                Rule.COMMIT_FENCED,
                f"{wire.client.name} of generation {generation} has committed in generation"
                f" {book.generation} of {request.group_id}",
            )
        group = self.group_of(request.group_id)
        # A node that stood still takes what has come before it ends a join that is overdue: whoever
        # is put out by that, in the same turn, was a member when its commit was taken.
        known = request.member_id in book.members
        if group is None or (request.member_id not in group.members and not known):
            raise ViolationError(
                Rule.COMMIT_FENCED,
                f"{wire.client.name} has committed, and is no member of {request.group_id}",
            )
        name, group_id, stray = wire.client.name, request.group_id, not wire.client_open
        for tp, offset in taken.items():
            life = lives[tp.topic]
            self.offsets.confirmed(name, group_id, generation, tp, offset, life, stray=stray)
        spans = {_name(tp): offset for tp, offset in taken.items()}
        self._trace.event(What.COMMITTED, wire.client.name, offsets=spans)

    def _lives_of(self, request: OffsetCommitRequest, version: int) -> dict[str, int] | None:
        """Which topics it means, of those of a name; None: it has no ids."""
        if version < _TOPIC_IDS_VERSION:
            return None
        return {
            self._topic_names[one.topic_id]: self._topic_lives[one.topic_id]
            for one in request.topics
        }

    def _member_of(self, wire: Wire) -> Member:
        return cast("Member", wire.client)  # nobody else joins or commits

    def _hands_of(self, wire: Wire) -> Hands:
        return self.hands[self._member_of(wire)]

    def _offsets_of(self, request: OffsetCommitRequest, version: int) -> dict[TopicPartition, int]:
        by_id = version >= _TOPIC_IDS_VERSION
        return {
            TopicPartition(
                self._topic_names[topic.topic_id] if by_id else topic.name,
                partition.partition_index,
            ): partition.committed_offset
            for topic in request.topics
            for partition in topic.partitions
        }


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def _member(process: Process) -> Member:
    return cast("Member", process)  # there are no others in groups of consumers
