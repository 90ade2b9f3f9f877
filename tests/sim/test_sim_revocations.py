"""What members give up, judged alone: until when it counts as theirs, and what is too late."""

from types import SimpleNamespace

import pytest

from kcore.assignors import MemberSubscription, blobs
from kcore.events import PartitionsAssigned
from kcore.sim import Rule, ViolationError
from kcore.sim.logs import Logs
from kcore.sim.offsets import Hands, Offsets
from kcore.sim.revocations import Revocations
from kcore.structs import TopicPartition
from kcore.wire.messages import JoinGroupRequest, SyncGroupRequest, SyncGroupResponse

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Client:
    group_id = "g"
    closing = False

    def __init__(self, name, *, awaits, commits_itself=False):
        self.name = name
        self.commits_itself = commits_itself
        self.habits = SimpleNamespace(awaits=awaits, by_epochs=False)

    def __repr__(self):
        return self.name


class Court:
    """Two members of a group, at peace unless told otherwise."""

    def __init__(self, *, awaits=False):
        self.now_ms, self.peace, self.hurried = 0, True, False
        self.one, self.other = (Client(name, awaits=awaits) for name in ("m1", "m2"))
        self.hands = {self.one: Hands(), self.other: Hands()}
        self.offsets = Offsets(Logs())
        attendance = SimpleNamespace(
            well=lambda _: self.peace,
            at_peace=lambda _: self.peace,
            hurried=lambda _: self.hurried,
        )
        self.judge = Revocations(
            attendance, self.hands, self.offsets, {}, lambda *_: True, lambda: self.now_ms, 0
        )
        for member in self.hands:
            self.judge.started(member)

    def tell(self, member, generation, *partitions):
        """A coordinator answers SyncGroup."""
        self.judge.answered(
            SimpleNamespace(client=member),
            SimpleNamespace(message=SyncGroupRequest(generation_id=generation)),
            SyncGroupResponse(assignment=blobs.encode_assignment(partitions)),
        )

    def join(self, member, *owned):
        """A member joins, and says what it has."""
        metadata = blobs.encode_subscription(MemberSubscription(("t",), owned))
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(
            name="cooperative-sticky", metadata=metadata
        )
        self.judge.asked(
            SimpleNamespace(client=member),
            SimpleNamespace(message=JoinGroupRequest(protocols=[protocol])),
        )

    def assign(self, member, generation, *partitions):
        """An application hears what it has."""
        added = tuple(tp for tp in partitions if tp not in self.hands[member].owned)
        self.judge.assigned(member, PartitionsAssigned(added, partitions, generation))
        self.hands[member].owned.update(dict.fromkeys(partitions, generation))

    def revoke(self, member, *partitions):
        """An application hears what goes."""
        self.judge.revoked(member, partitions)
        for tp in partitions:
            del self.hands[member].owned[tp]

    def poll(self, times=1):
        for _ in range(times):
            self.now_ms += 1_000
            self.judge.polled(self.one)


def breaks(rule):
    return pytest.raises(ViolationError, match=f"^{rule.name}: ")


def test_a_classic_member_takes_over_what_its_generation_gives_it():
    court = Court()
    court.tell(court.one, 1, T0)
    court.tell(court.one, 1, T0, T1)  # asked again, and changed meanwhile
    court.assign(court.one, 1, T0)
    court.tell(court.one, 2, T1)
    with breaks(Rule.GIVES_UP):
        court.assign(court.one, 2, T0, T1)
    with breaks(Rule.GIVES_UP):
        court.assign(court.one, 2)


def test_what_is_taken_is_given_up_in_the_next_polls():
    court = Court()
    court.tell(court.one, 1, T0, T1)
    court.assign(court.one, 1, T0, T1)
    court.tell(court.one, 2, T1)
    court.poll(6)
    with breaks(Rule.GIVES_UP):
        court.poll()
    court.peace = False
    court.poll()
    court.peace = True
    court.revoke(court.one, T0)
    court.poll(9)


def test_each_topic_that_goes_meanwhile_has_three_more_tries_of_the_commit_before():
    """Whoever commits by itself leaves out what its coordinator has not known three times."""
    court = Court()
    court.one.commits_itself = True
    court.tell(court.one, 1, T0, T1)
    court.assign(court.one, 1, T0, T1)
    court.tell(court.one, 2, T1)
    court.poll(2)
    for name in ("t", "of others", "t"):
        court.judge.topic_gone(name)
    court.poll(7)  # 2 s, and 3.6 s for each
    with breaks(Rule.GIVES_UP):
        court.poll()


def test_a_topic_that_goes_gives_no_time_to_who_has_nothing_to_commit():
    court = Court()
    court.tell(court.one, 1, T0, T1)
    court.assign(court.one, 1, T0, T1)
    court.tell(court.one, 2, T1)
    court.judge.topic_gone("t")
    court.poll(6)
    with breaks(Rule.GIVES_UP):
        court.poll()


def test_what_is_given_back_meanwhile_is_not_to_go():
    court = Court()
    court.tell(court.one, 1, T0)
    court.assign(court.one, 1, T0)
    court.tell(court.one, 2)
    court.poll(6)
    court.tell(court.one, 3, T0)
    court.poll(9)


def test_a_plan_that_a_member_has_no_use_for_is_over_when_it_joins_again():
    """It has subscribed to something else meanwhile."""
    court = Court()
    court.tell(court.one, 1, T0)
    court.assign(court.one, 1, T0)
    court.tell(court.one, 2)
    court.poll(6)
    court.join(court.one, T0)
    court.poll(9)


def test_others_get_what_an_application_has_handled():
    court = Court(awaits=True)
    court.assign(court.one, 1, T0)
    court.revoke(court.one, T0)
    with breaks(Rule.HANDLED):
        court.assign(court.other, 2, T0)
    court.assign(court.other, 2, T1)
    court.judge.handled(court.one)
    court.assign(court.other, 3, T0, T1)


def test_a_group_goes_on_without_who_has_too_little_time_for_a_rebalance():
    court = Court(awaits=True)
    court.hurried = True
    court.assign(court.one, 1, T0)
    court.revoke(court.one, T0)
    court.assign(court.other, 2, T0)


def test_others_get_what_one_that_closes_has_told_to_be_gone():
    court = Court()
    court.assign(court.one, 1, T0)
    court.one.closing = True
    court.judge.handled(court.one)
    with breaks(Rule.HANDLED):
        court.assign(court.other, 2, T0)
    court.revoke(court.one, T0)
    court.assign(court.other, 2, T0)


def test_nobody_is_closed_whose_application_is_at_it():
    court = Court(awaits=True)
    court.assign(court.one, 1, T0)
    court.revoke(court.one, T0)
    court.judge.ended(court.one, left=False)
    court.assign(court.other, 1, T0)
    court.revoke(court.other, T0)
    with breaks(Rule.HANDLED):
        court.judge.ended(court.other, left=True)


def test_commits_are_of_what_a_coordinator_takes_a_member_to_have():
    court = Court()
    with breaks(Rule.COMMIT_OWN):
        court.judge.asks(court.one, {T0: 0})
    court.assign(court.one, 1, T0, T1)
    court.judge.asks(court.one, {T0: 0, T1: 0})
    court.revoke(court.one, T0)
    court.poll(2)
    court.judge.asks(court.one, {T0: 0})  # its link was not there before
    court.join(court.one, T1)
    court.judge.asks(court.one, {T1: 0})
    with breaks(Rule.COMMIT_OWN):
        court.judge.asks(court.one, {T0: 0})


def test_commits_are_not_of_what_was_read_before_others_had_it():
    court = Court()
    for offset in (5, 9):
        court.offsets.confirmed("m2", "g", 1, T0, offset, stray=False)
    court.assign(court.one, 2, T0)
    court.hands[court.one].begun[T0] = 0, 2  # what was committed then: 0, 5, 9
    with breaks(Rule.COMMIT_OWN):
        court.judge.asks(court.one, {T0: 7})
    court.judge.asks(court.one, {T0: 9})
