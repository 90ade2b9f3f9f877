"""The judge of share groups: it reads the wire, and tells who keeps the custody and the hands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from kcore.sim.referee import GroupOf, Referee
from kcore.sim.share.custody import Custody, Place, Term, Word
from kcore.sim.share.hands import Hands
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
        self.custody = Custody(plan, now, term_of, self._is_member, self.logs.kept_from)
        self.hands = Hands(plan, self.attendance, self.logs, now)
        self.idle_ms: dict[str, int] = {}  # when there was nothing to give last
        self._words: dict[tuple[int, int], list[Word]] = {}  # asked, by wire and request
        self._sessions: dict[int, set[tuple[str, str]]] = {}  # opened on a wire
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

    def _judge_nothing(self, member: ShareMember) -> None:
        left = self.hands.left_out(member) if self.attendance.well(member) else []
        if left:
            names = ", ".join(f"{offset} of {_name(tp)}" for tp, offset in left[:8])
            raise ViolationError(Rule.HANDED, f"{member.name} is not handed {names}")

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
                self.custody.session_ended(*key)
            self._sessions.setdefault(wire.number, set()).add(key)
            words = list(self._words_of(wire, request))
            if words:
                self._words[wire.number, asked.correlation_id] = words

    def _words_of(
        self, wire: Wire, request: ShareFetchRequest | ShareAcknowledgeRequest
    ) -> Iterator[Word]:
        member = _member(wire)
        for topic in request.topics:
            name = self._topic_names[topic.topic_id]
            for part in topic.partitions:
                tp = TopicPartition(name, part.partition_index)
                place = Place(member.group_id, tp)
                for batch in part.acknowledgement_batches:
                    types = batch.acknowledge_types
                    for at, offset in enumerate(range(batch.first_offset, batch.last_offset + 1)):
                        kind = types[at] if len(types) > 1 else types[0]
                        hold = self.hands.spoken_of(member, (tp, offset), kind)
                        word = Word(place, offset, kind, hold)
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
        words = self._words.pop((wire.number, asked.correlation_id), [])
        refused: set[TopicPartition] | None = None  # all
        if isinstance(answer, ShareAcknowledgeResponse) and not answer.error_code:
            refused = {tp for tp, one in self._parts(answer.responses) if one.error_code}
        elif isinstance(answer, ShareFetchResponse) and not answer.error_code:
            parts = list(self._parts(answer.responses))
            refused = {tp for tp, one in parts if one.acknowledge_error_code}
        for word in words:
            if refused is None or word.place.tp in refused:
                self.custody.refused(word)
            else:
                self.custody.taken(word)
                at = (word.place.tp, word.offset)
                self.hands.taken(_member(wire), at, word.kind, word.hold)
        if isinstance(answer, ShareFetchResponse) and not answer.error_code:
            self._acquired(wire, answer)

    def _acquired(self, wire: Wire, answer: ShareFetchResponse) -> None:
        member = _member(wire)
        for tp, part in self._parts(answer.responses):
            place = Place(member.group_id, tp)
            for one in part.acquired_records:
                for offset, hold in self.custody.acquire(
                    place,
                    member,
                    wire.node.name,
                    one.first_offset,
                    one.last_offset,
                    one.delivery_count,
                ):
                    self.hands.acquired(member, (tp, offset), hold)

    def _parts(self, topics: Iterable[Any]) -> Iterator[tuple[TopicPartition, Any]]:
        for topic in topics:
            for part in topic.partitions:
                yield TopicPartition(self._topic_names[topic.topic_id], part.partition_index), part

    def _dropped(self, wire: Wire) -> None:
        """A node's side is gone, and with it the sessions."""
        for key in self._sessions.pop(wire.number, ()):
            self.custody.session_ended(*key)


def _member(wire: Wire) -> ShareMember:
    return cast("ShareMember", wire.client)  # nobody else asks for what is shared


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
