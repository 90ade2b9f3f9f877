"""The judge of share groups: it reads the wire, and tells who keeps the custody and the hands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from kcore.sim.referee import GroupOf, Referee
from kcore.sim.share.custody import Custody, Place, Term, Word
from kcore.sim.share.hands import At, Hands
from kcore.sim.trace import Trace, What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.wire.messages import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from kcore.broker.share.keeping import ShareKey
    from kcore.events import RecordsAcknowledged
    from kcore.sim.ledger import Asked, Ledger
    from kcore.sim.network import Wire
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process
    from kcore.sim.share.members import ShareMember

_FINAL_EPOCH: Final = -1


class ShareJudge(Referee):
    """All rules of share groups but those about the end (see `settle`)."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        trace: Trace,
        group_of: GroupOf,
        now: Callable[[], int],
        term_of: Callable[[TopicPartition], Term],
    ) -> None:
        super().__init__(plan, trace, group_of, now)
        self.custody = Custody(plan, now, term_of, self._is_member, self.logs)
        self.hands = Hands(plan, self.attendance, self.logs, now)
        self.idle_ms: dict[str, int] = {}  # when there was nothing to give last
        self._ids: dict[tuple[str, int], bytes] = {}  # of topics, by name and life
        self._words: dict[tuple[int, int], list[Word]] = {}  # asked, by wire and request
        self._sessions: dict[int, set[tuple[str, str]]] = {}  # opened on a wire
        self._last: dict[tuple[int, int], tuple[str, str]] = {}  # last requests of sessions, asked
        self.asked_ms: dict[tuple[str, str], int] = {}  # in which, last
        ledger.asked_watchers.append(self._asked)
        ledger.answered_watchers.append(self._answered)
        ledger.dropped_watchers.append(self._dropped)

    def _is_member(self, group_id: str, member_id: str) -> bool:
        group = self.group_of(group_id)
        return group is not None and member_id in group.members

    # Members -------------------------------------------------------------------------------------

    def member_started(self, process: Process) -> None:
        """A process is there."""
        super().member_started(process)
        self.hands.started(cast("ShareMember", process))

    def look(self, living: Iterable[Process]) -> None:
        """From time to time: what should have happened by now has."""
        super().look(living)
        self.hands.look()

    def polled(self, member: ShareMember) -> None:
        """The application shows that it is alive."""
        self.attendance.polled(member)

    def collected(self, member: ShareMember) -> None:
        """The core has taken the application's words."""
        self.hands.collected(member)

    def delivered(self, member: ShareMember, taken: Mapping[TopicPartition, Sequence[Any]]) -> None:
        """The application gets records; none means that there are none."""
        if not taken:
            self._judge_nothing(member)
            return
        self.hands.handed(member, taken)
        for tp, records in taken.items():
            self.logs.delivered_to(member.name, member.group_id, tp, records)
        spans = {_name(tp): (each[0].offset, each[-1].offset) for tp, each in taken.items()}
        self._trace.event(What.DELIVERED, member.name, spans=spans)

    def told(self, member: ShareMember, event: RecordsAcknowledged) -> None:
        """The application hears what became of its words."""
        life = self._topic_lives[event.topic_id]
        self.hands.told(member, event.partition, life, event.ranges, event.error)

    def _judge_nothing(self, member: ShareMember) -> None:
        left = self.hands.left_out(member) if self.attendance.well(member) else []
        if left:
            names = ", ".join(map(str, left[:8]))
            raise ViolationError(Rule.HANDED, f"{member.name} is not handed {names}")

    def place(self, group_id: str, tp: TopicPartition) -> Place:
        """A group's way through a partition as it is now."""
        return Place(group_id, tp, self.logs.life(tp.topic))

    def topic_made(self, name: str, topic_id: bytes) -> None:
        """See Referee."""
        super().topic_made(name, topic_id)
        self._ids[name, self.logs.life(name)] = topic_id

    def key_of(self, place: Place) -> ShareKey:
        """What nodes call it."""
        return (place.group_id, self._ids[place.tp.topic, place.life], place.tp.partition)

    def counts(self) -> dict[str, int]:
        """See Referee."""
        return {"acquired": self.custody.acquisitions, "done with": self.custody.done}

    # The wire ------------------------------------------------------------------------------------

    def _asked(self, wire: Wire, asked: Asked) -> None:
        request = asked.message
        self.touches += 1
        if isinstance(request, ShareGroupHeartbeatRequest):
            self.attendance.asked(wire, asked)
        elif isinstance(request, ShareFetchRequest | ShareAcknowledgeRequest):
            key = (request.member_id or "", wire.node.name)
            if request.share_session_epoch == _FINAL_EPOCH:
                self.custody.session_ends(*key)
                self._last[wire.number, asked.correlation_id] = key
            self._sessions.setdefault(wire.number, set()).add(key)
            self.asked_ms[key] = asked.at_ms
            if isinstance(request, ShareFetchRequest):
                self._wants(wire, request)
            words = list(self._words_of(wire, request))
            if words:
                self._words[wire.number, asked.correlation_id] = words

    def _wants(self, wire: Wire, request: ShareFetchRequest) -> None:
        gone = {
            (topic.topic_id, number)
            for topic in request.forgotten_topics_data
            for number in topic.partitions
        }
        member = _member(wire)
        for topic in request.topics:
            if any((topic.topic_id, part.partition_index) not in gone for part in topic.partitions):
                name, life = self._topic_names[topic.topic_id], self._topic_lives[topic.topic_id]
                self.hands.asks(member, name, life)

    def _words_of(
        self, wire: Wire, request: ShareFetchRequest | ShareAcknowledgeRequest
    ) -> Iterator[Word]:
        member = _member(wire)
        for place, part in self._parts(member, request.topics):
            late = self.custody.over(place)
            for batch in part.acknowledgement_batches:
                types = batch.acknowledge_types
                for at, offset in enumerate(range(batch.first_offset, batch.last_offset + 1)):
                    kind = types[at] if len(types) > 1 else types[0]
                    hold = self.hands.spoken_of(member, At(place.tp, place.life, offset), kind)
                    word = Word(place, offset, kind, hold, late)
                    self.custody.said(word)
                    yield word

    def _answered(self, wire: Wire, asked: Asked, answer: object) -> None:
        self.touches += 1
        if isinstance(answer, ShareGroupHeartbeatResponse):
            self.attendance.answered(wire, asked, answer)
            request = asked.message
            assert isinstance(request, ShareGroupHeartbeatRequest)
            if not answer.error_code:
                self.beaten(request.member_id, request, answer.member_epoch)
            return
        member = _member(wire)
        if key := self._last.pop((wire.number, asked.correlation_id), None):
            self.custody.last_request_over(*key)
        words = self._words.pop((wire.number, asked.correlation_id), [])
        refused: set[Place] | None = None  # all
        if isinstance(answer, ShareAcknowledgeResponse) and not answer.error_code:
            parts = self._parts(member, answer.responses)
            refused = {place for place, one in parts if one.error_code}
        elif isinstance(answer, ShareFetchResponse) and not answer.error_code:
            parts = self._parts(member, answer.responses)
            refused = {place for place, one in parts if one.acknowledge_error_code}
        for word in words:
            at = At(word.place.tp, word.place.life, word.offset)
            if refused is None or word.place in refused:
                self.custody.refused(word)
                if self.custody.over(word.place):
                    self.hands.refused(member, at, word.hold)
            else:
                self.custody.taken(word)
                self.hands.taken(member, at, word.kind, word.hold)
        if isinstance(answer, ShareFetchResponse) and not answer.error_code:
            self._acquired(wire, answer)

    def _acquired(self, wire: Wire, answer: ShareFetchResponse) -> None:
        member = _member(wire)
        for place, part in self._parts(member, answer.responses):
            for one in part.acquired_records:
                for offset, hold in self.custody.acquire(
                    place,
                    member,
                    wire.node.name,
                    one.first_offset,
                    one.last_offset,
                    one.delivery_count,
                ):
                    self.hands.acquired(member, At(place.tp, place.life, offset), hold)

    def _parts(self, member: ShareMember, topics: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
        """The partitions of a request or an answer."""
        for topic in topics:
            name, life = self._topic_names[topic.topic_id], self._topic_lives[topic.topic_id]
            for part in topic.partitions:
                tp = TopicPartition(name, part.partition_index)
                yield Place(member.group_id, tp, life), part

    def _dropped(self, wire: Wire) -> None:
        """A node's side is gone, and with it the sessions."""
        for at in [at for at in self._last if at[0] == wire.number]:
            self.custody.last_request_over(*self._last.pop(at))
        for key in self._sessions.pop(wire.number, ()):
            self.custody.session_ended(*key)


def _member(wire: Wire) -> ShareMember:
    return cast("ShareMember", wire.client)  # nobody else asks for what is shared


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
