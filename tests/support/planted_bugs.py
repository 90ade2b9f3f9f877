"""Bugs of a group coordinator, planted by a patch: whoever judges coordinators must find each."""

from __future__ import annotations

from typing import Any

import pytest

from kcore.coordinator import answers, rebalance
from kcore.coordinator.desk import Desk, Reply, Ticket
from kcore.coordinator.group import Group, Member
from kcore.coordinator.rebalance import Rebalance
from kcore.wire.message import Message
from kcore.wire.messages import SyncGroupResponse


def keep_the_generation(patch: pytest.MonkeyPatch) -> None:
    original = Rebalance.complete_join

    def complete_join(self: Rebalance, group: Group, now_ms: int) -> None:
        before = group.generation
        original(self, group, now_ms)
        group.generation = max(before, 1)

    patch.setattr(Rebalance, "complete_join", complete_join)


def answer_twice(patch: pytest.MonkeyPatch) -> None:
    original = Desk.answer

    def answer(self: Desk, ticket: Ticket, message: Message) -> None:
        original(self, ticket, message)
        if isinstance(message, SyncGroupResponse):
            self._replies.append(Reply(ticket.caller.token, message))

    patch.setattr(Desk, "answer", answer)


def forget_a_parked_join(patch: pytest.MonkeyPatch) -> None:
    original = Group.unpark_join

    def unpark(self: Group, member: Member) -> Ticket | None:
        ticket = original(self, member)
        return None if len(self.members) == 3 else ticket

    patch.setattr(Group, "unpark_join", unpark)


def everybody_leads(patch: pytest.MonkeyPatch) -> None:
    original = answers.accept_join

    def accept(ticket: Ticket, group: Group, member: Member, **more: Any) -> None:
        leader = group.leader_id
        group.leader_id = member.member_id
        original(ticket, group, member, **more)
        group.leader_id = leader

    patch.setattr(rebalance, "accept_join", accept)


OF_COORDINATORS = [keep_the_generation, answer_twice, forget_a_parked_join, everybody_leads]
