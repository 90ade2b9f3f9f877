"""The sticky assignors: balanced, and who has a partition keeps it (KIP-54; KIP-429, KIP-792).

Members say what they have, `sticky` in userdata of its own, `cooperative-sticky` in the
subscription. Under the latter a partition that somebody else still has goes to nobody at first: its
owner gives it up when it learns of its new assignment, joins again, and then it is free. All others
are read without a pause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from kcore.assignors import blobs
from kcore.assignors.base import Assignor, MemberSubscription, Plan, RebalanceProtocol
from kcore.assignors.claims import Claim, Claims
from kcore.assignors.racks import Nearness, Racks
from kcore.errors import ProtocolError
from kcore.structs import TopicPartition

_UNKNOWN: Final = -1
_GENERATION_BYTES: Final = 4


class StickyAssignor(Assignor):
    """Keeps who has what, over rebalances in which everything is given up (Java: StickyAssignor).

    Userdata: what the member was assigned last, with its generation (v1) or without (v0).
    """

    name = "sticky"

    def __init__(self) -> None:
        self._assigned: tuple[TopicPartition, ...] | None = None
        self._generation = _UNKNOWN

    def on_assignment(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """See Assignor.on_assignment."""
        self._assigned = tuple(partitions)
        self._generation = generation

    def subscription_userdata(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """See Assignor.subscription_userdata."""
        if self._assigned is None:
            return None
        return blobs.encode_sticky(self._assigned, self._generation)

    def assign(
        self,
        members: Mapping[str, MemberSubscription],
        partitions: Mapping[str, Sequence[int]],
        racks: Racks | None = None,
    ) -> Plan:
        """See Assignor.assign."""
        claims = Claims({one: self.claim(member) for one, member in members.items()}, partitions)
        return self.given_now(_share(members, partitions, racks, claims), claims)

    def given_now(self, plan: Plan, claims: Claims) -> Plan:  # noqa: ARG002
        """What of a plan is given out in this round: all of it."""
        return plan

    def claim(self, member: MemberSubscription) -> Claim:
        """What a member says it has; nothing, if that cannot be read."""
        if not member.userdata:
            return Claim(())
        try:
            return Claim(*blobs.decode_sticky(member.userdata))
        except ProtocolError:
            return Claim(())


class CooperativeStickyAssignor(StickyAssignor):
    """Keeps who has what, and reads on meanwhile (Java: CooperativeStickyAssignor).

    Userdata: the generation, for leaders that do not find it in the subscription.
    """

    name = "cooperative-sticky"
    protocols = frozenset({RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE})

    def subscription_userdata(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """See Assignor.subscription_userdata."""
        return self._generation.to_bytes(_GENERATION_BYTES, "big", signed=True)

    def claim(self, member: MemberSubscription) -> Claim:
        """What a member's subscription says it has."""
        generation = member.generation
        if generation < 0 and member.userdata and len(member.userdata) >= _GENERATION_BYTES:
            generation = int.from_bytes(member.userdata[:_GENERATION_BYTES], "big", signed=True)
        return Claim(member.owned, generation)

    def given_now(self, plan: Plan, claims: Claims) -> Plan:
        """All but what somebody else still has."""
        return {
            member_id: [tp for tp in given if not claims.moves(tp, member_id)]
            for member_id, given in plan.items()
        }


def _share(
    members: Mapping[str, MemberSubscription],
    partitions: Mapping[str, Sequence[int]],
    racks: Racks | None,
    claims: Claims,
) -> Plan:
    wishes = {frozenset(member.topics).intersection(partitions) for member in members.values()}
    every = [
        TopicPartition(topic, number)
        for topic in sorted(frozenset(chain.from_iterable(wishes)))
        for number in partitions[topic]
    ]
    near = Nearness(every, members, racks)
    if len(wishes) == 1:
        [topics] = wishes
        owned = {
            member_id: [tp for tp in mine if tp.topic in topics]
            for member_id, mine in claims.by_member(members).items()
        }
        from kcore.assignors.equal import EqualShares  # noqa: PLC0415 - leaders of groups alone

        equal = EqualShares(owned, len(every), near)
        equal.run(every)
        plan = equal.plan
    elif members:
        from kcore.assignors.unequal import UnequalShares  # noqa: PLC0415 - as above

        unequal = UnequalShares(members, partitions, near)
        unequal.run(claims)
        plan = unequal.plan
    else:
        plan = {}
    for given in plan.values():
        given.sort()
    return plan
