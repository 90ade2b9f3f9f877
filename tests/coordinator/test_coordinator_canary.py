"""Planted bugs: random interleavings that do not find them prove nothing."""

import pytest
from group_actors import live
from planted_bugs import OF_COORDINATORS

from kcore.coordinator import offsets, rebalance
from kcore.coordinator.group import Group
from kcore.coordinator.membership import Membership
from kcore.wire.codes import ErrorCode as E


def _skip_the_generation_check(patch):
    original = Membership._check_sync

    def check(self, group, request):
        error = original(self, group, request)
        return E.NONE if error == E.ILLEGAL_GENERATION else error

    patch.setattr(Membership, "_check_sync", check)


def _forget_a_timer(patch):
    patch.setattr(rebalance, "heartbeat_key", lambda group, member_id: ("heartbeat", member_id))


def _forget_tombstones(patch):
    patch.setattr(offsets.Offsets, "_remove", lambda self, group_id, tp: None)


def _assign_what_is_old(patch):
    patch.setattr(Group, "replay", lambda self, value: None)


BUGS = [
    *OF_COORDINATORS,
    _skip_the_generation_check,
    _forget_a_timer,
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
