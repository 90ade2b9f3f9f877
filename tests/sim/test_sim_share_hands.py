"""The hands of share groups alone: what applications are told of their words, and how soon."""

from types import SimpleNamespace

import pytest

from kcore.sim import Plan, Rule, ViolationError
from kcore.sim.share.custody import ACCEPT, RENEW, Hold
from kcore.sim.share.hands import At, Hands
from kcore.structs import TopicPartition

T0 = TopicPartition("t", 0)
AT = At(T0, 0, 5)
SOON_MS = 2_000  # and the network's time, which is nothing here


class Member:
    """As much of one as hands look at."""

    name = member_id = "m"
    local_ms = 0


class Story:
    """One member at peace, for whom one record is acquired."""

    def __init__(self):
        self.now_ms = 0
        plan = Plan(seed=1, share=True, latency_ms=(0, 0))
        attendance = SimpleNamespace(well=lambda _member: True)
        self.hands = Hands(plan, attendance, SimpleNamespace(), lambda: self.now_ms)
        self.member = Member()
        self.hold = Hold(self.member, "node1", 1, 60_000, (0, 0), 0)
        self.hands.started(self.member)
        self.hands.acquired(self.member, AT, self.hold)
        self.hands.fetched(self.member, "node1", [T0])

    def taken(self, kind, at_ms):
        self.now_ms = at_ms
        self.hands.taken(self.member, AT, kind, self.hold)

    def told(self, at_ms):
        self.now_ms = at_ms
        self.hands.told(self.member, T0, 0, [(5, 5)], None)

    def look(self, at_ms):
        self.now_ms = at_ms
        self.hands.look()


@pytest.fixture
def story():
    return Story()


def test_a_word_that_is_taken_is_told_soon(story):
    story.taken(ACCEPT, at_ms=0)
    story.look(at_ms=SOON_MS)
    with pytest.raises(ViolationError, match="is not told that its word on 5 of t-0 was") as found:
        story.look(at_ms=SOON_MS + 1)
    assert found.value.rule is Rule.TOLD


def test_each_word_has_a_time_of_its_own(story):
    story.taken(RENEW, at_ms=0)
    story.told(at_ms=1)
    story.taken(ACCEPT, at_ms=SOON_MS)
    story.look(at_ms=SOON_MS + 1)  # the answer is on its way
    story.told(at_ms=SOON_MS + 2)
    story.look(at_ms=3 * SOON_MS)


def test_a_word_is_not_told_by_what_is_told_of_one_before(story):
    story.taken(RENEW, at_ms=0)
    story.taken(ACCEPT, at_ms=1)
    story.told(at_ms=2)
    story.look(at_ms=SOON_MS + 1)
    with pytest.raises(ViolationError, match="is not told"):
        story.look(at_ms=SOON_MS + 2)


def test_nothing_is_told_that_no_broker_has_said(story):
    story.taken(ACCEPT, at_ms=0)
    story.told(at_ms=1)
    with pytest.raises(ViolationError, match="no broker has said"):
        story.told(at_ms=2)
