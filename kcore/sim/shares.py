"""Whether sticky assignors are: what leaders were told that members have, and what they give them.

Judged where all members read the same topics and no two say that they have the same partition: then
each keeps as many of its partitions as every member gets at least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.assignors import CooperativeStickyAssignor, StickyAssignor, blobs
from kcore.sim.violations import Rule, ViolationError
from kcore.wire.messages import JoinGroupResponse, SyncGroupRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.sim.ledger import Asked
    from kcore.sim.network import Wire
    from kcore.structs import TopicPartition
    from kcore.wire.message import Message

_STICKY: Final = {one.name: one for one in (StickyAssignor(), CooperativeStickyAssignor())}

_Have = dict[str, set["TopicPartition"]]  # by member id


class Shares:
    """Claims that leaders have been told, until they say who gets what."""

    def __init__(self) -> None:
        self._claims: dict[tuple[str, int], _Have] = {}  # by leader and generation

    def answered(self, wire: Wire, asked: Asked, answer: Message) -> None:  # noqa: ARG002
        """A leader hears of the members."""
        if isinstance(answer, JoinGroupResponse) and answer.members:
            self._claims = {
                key: claims for key, claims in self._claims.items() if key[0] != answer.leader
            }
            claims = _claims(answer)
            if claims is not None:
                self._claims[answer.leader, answer.generation_id] = claims

    def asked(self, wire: Wire, asked: Asked) -> None:
        """A leader says who gets what."""
        request = asked.message
        if not isinstance(request, SyncGroupRequest) or not request.assignments:
            return
        claims = self._claims.pop((request.member_id, request.generation_id), None)
        if claims is not None:
            plan = {
                one.member_id: set(blobs.decode_assignment(bytes(one.assignment))[0])
                for one in request.assignments
            }
            _judge(wire.client.name, claims, plan)


def _claims(answer: JoinGroupResponse) -> _Have | None:
    """What each member says it has; None: nothing is judged."""
    assignor = _STICKY.get(answer.protocol_name or "")
    if assignor is None or answer.skip_assignment:
        return None
    members = {
        one.member_id: blobs.decode_subscription(bytes(one.metadata)) for one in answer.members
    }
    [topics, *others] = {frozenset(member.topics) for member in members.values()}
    claims = {
        member_id: {tp for tp in assignor.claim(member).partitions if tp.topic in topics}
        for member_id, member in members.items()
    }
    racks = any(member.rack for member in members.values())  # those decide, too
    disputed = len(set().union(*claims.values())) < sum(map(len, claims.values()))
    return None if others or racks or disputed else claims


def _judge(leader: str, claims: _Have, plan: Mapping[str, set[TopicPartition]]) -> None:
    """How many partitions there are a plan does not say: a cooperative one leaves out what moves.
    Those that somebody has count, too, but for the last of a topic, of which the leader may not
    have heard.
    """
    given = set().union(*plan.values())
    known: dict[str, int] = {}
    for tp in given:
        known[tp.topic] = max(known.get(tp.topic, 0), tp.partition)
    had = {
        member_id: {tp for tp in claim if tp.partition <= known.get(tp.topic, -1)}
        for member_id, claim in claims.items()
    }
    least = len(given.union(*had.values())) // len(claims)
    for member_id, mine in had.items():
        kept = len(mine & plan.get(member_id, set()))
        if kept < min(len(mine), least):
            raise ViolationError(
                Rule.STICKY,
                f"{leader} leaves {member_id} {kept} of its {len(mine)} partitions, where each"
                f" member gets at least {least}",
            )
