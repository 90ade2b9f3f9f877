"""Planted bugs: random interleavings that do not find them prove nothing."""

import pytest
from group_actors import live

from kcore.coordinator import answers, offsets, rebalance
from kcore.coordinator.desk import Desk, Reply
from kcore.coordinator.group import Group
from kcore.coordinator.membership import Membership
from kcore.coordinator.rebalance import Rebalance
from kcore.wire.codes import ErrorCode as E


def _keep_the_generation(patch):
    original = Rebalance.complete_join

    def complete_join(self, group, now_ms):
        before = group.generation
        original(self, group, now_ms)
        group.generation = max(before, 1)

    patch.setattr(Rebalance, "complete_join", complete_join)


def _skip_the_generation_check(patch):
    original = Membership._check_sync

    def check(self, group, request):
        error = original(self, group, request)
        return E.NONE if error == E.ILLEGAL_GENERATION else error

    patch.setattr(Membership, "_check_sync", check)


def _answer_twice(patch):
    original = Desk.answer

    def answer(self, ticket, message):
        original(self, ticket, message)
        if message.__class__.__name__ == "SyncGroupResponse":
            self._replies.append(Reply(ticket.caller.token, message))

    patch.setattr(Desk, "answer", answer)


def _forget_a_member(patch):
    original = Group.unpark_join

    def unpark(self, member):
        ticket = original(self, member)
        return None if len(self.members) == 3 else ticket

    patch.setattr(Group, "unpark_join", unpark)


def _forget_a_timer(patch):
    patch.setattr(rebalance, "heartbeat_key", lambda group, member_id: ("heartbeat", member_id))


def _everybody_leads(patch):
    original = answers.accept_join

    def accept(ticket, group, member, **more):
        leader = group.leader_id
        group.leader_id = member.member_id
        original(ticket, group, member, **more)
        group.leader_id = leader

    patch.setattr(rebalance, "accept_join", accept)


def _forget_tombstones(patch):
    patch.setattr(offsets.Offsets, "_remove", lambda self, group_id, tp: None)


def _assign_what_is_old(patch):
    patch.setattr(Group, "replay", lambda self, value: None)


BUGS = [
    _keep_the_generation,
    _skip_the_generation_check,
    _answer_twice,
    _forget_a_member,
    _forget_a_timer,
    _everybody_leads,
    _forget_tombstones,
    _assign_what_is_old,
]


def lives(count):
    for seed in range(count):
        live(seed)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__.strip("_"))
def test_a_planted_bug_is_found(bug, monkeypatch):
    bug(monkeypatch)
    with pytest.raises((AssertionError, LookupError, RuntimeError)):
        lives(200)
