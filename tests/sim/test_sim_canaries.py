"""Planted bugs, on either side: a simulation that does not find them proves nothing."""

import pytest
from longer import quickly
from planted_bugs import OF_COORDINATORS, answer_twice
from sim_runs import busy, drawn

from kcore.assignors import CooperativeStickyAssignor, StickyAssignor
from kcore.broker.cluster import Journal
from kcore.broker.groups import Groups
from kcore.broker.log import PartitionLog
from kcore.cluster import links
from kcore.consumer.host import Host
from kcore.coordinator import GroupCoordinator, purgatory, rebalance
from kcore.coordinator.commits import Commits
from kcore.coordinator.desk import Desk
from kcore.coordinator.group import Group
from kcore.coordinator.offsets import Offsets
from kcore.coordinator.rebalance import Rebalance
from kcore.fetch.fetcher import Fetcher
from kcore.fetch.planner import Planner
from kcore.fetch.positions import Positions
from kcore.group.heartbeat import Heartbeats
from kcore.sim import Rule
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import (
    HeartbeatResponse,
)

SEEDS = 30


def skip_the_generation_check(patch):
    """A zombie's commit counts."""
    original = Commits._check

    def check(self, *args, **more):
        error = original(self, *args, **more)
        return E.NONE if error in {E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID} else error

    patch.setattr(Commits, "_check", check)


def count_commits_of_who_is_gone(patch):
    """The generation is checked, and not whether its sender is in it."""
    original = Commits._check

    def check(self, *args, **more):
        error = original(self, *args, **more)
        return E.NONE if error == E.UNKNOWN_MEMBER_ID else error

    patch.setattr(Commits, "_check", check)


def never_answer(patch, kind=HeartbeatResponse):
    """Every tenth heartbeat is forgotten."""
    original = Desk.answer
    count = [0]

    def answer(self, ticket, message):
        count[0] += isinstance(message, kind)
        if not isinstance(message, kind) or count[0] % 10:
            original(self, ticket, message)

    patch.setattr(Desk, "answer", answer)


def miscount_parked_joins(patch):
    original = Group.unpark_join
    count = [0]

    def unpark(self, member):
        ticket = original(self, member)
        count[0] += 1
        self.awaiting_join += count[0] % 5 == 0
        return ticket

    patch.setattr(Group, "unpark_join", unpark)


def one_member_gets_all(patch):
    """The assignment of one goes to another, too."""
    original = rebalance.accept_sync

    def accept(ticket, group, member):
        own = member.assignment
        member.assignment = next(iter(group.members.values())).assignment
        original(ticket, group, member)
        member.assignment = own

    patch.setattr(rebalance, "accept_sync", accept)


def sessions_never_end(patch):
    patch.setattr(Rebalance, "expire_session", lambda self, group, member_id, now_ms: None)


def joins_end_late(patch):
    """Nobody looks whether all are here: every join takes as long as it may."""
    patch.setattr(purgatory.DelayedJoin, "can_complete", lambda self: False)


def keep_what_moved(patch):
    """A node goes on with groups that are another's."""
    patch.setattr(GroupCoordinator, "handle_resigned", lambda self, partition, now_ms: None)


def forget_that_clocks_differ(patch):
    """A coordinator's timers are set on another clock than its own."""
    patch.setattr(Groups, "deadline", lambda self: self.coordinator.deadline())


def forget_a_batch(patch):
    """What was promised to be kept is not."""
    original = PartitionLog.append
    count = [0]

    def append(self, data, *rest):
        count[0] += 1
        kept = original(self, data, *rest)
        if count[0] % 5 == 0:
            self.delete_before(self.end_offset)
        return kept

    patch.setattr(PartitionLog, "append", append)


def delete_one_more(patch):
    """A record goes that nobody has asked to delete."""
    original = PartitionLog.delete_before

    def delete_before(self, offset):
        return original(self, min(offset + 1, self.end_offset))

    patch.setattr(PartitionLog, "delete_before", delete_before)


def hide_rebalances(patch):
    """Heartbeats say that all is well: members hear of a rebalance when it is over."""
    original = Desk.answer

    def answer(self, ticket, message):
        hidden = isinstance(message, HeartbeatResponse) and message.error_code
        if hidden == E.REBALANCE_IN_PROGRESS:
            message.error_code = E.NONE
        original(self, ticket, message)

    patch.setattr(Desk, "answer", answer)


def lose_journal_entries(patch):
    """Offsets are not in the journal: another coordinator does not know them."""
    original = Journal.append
    count = [0]

    def append(self, items):
        count[0] += 1
        original(self, list(items) if count[0] % 3 else [])

    patch.setattr(Journal, "append", append)


def offsets_go_to_a_neighbour(patch):
    original = Offsets.replay

    def replay(self, group_id, tp, value, *rest):
        original(self, group_id, tp._replace(partition=tp.partition // 2), value, *rest)

    patch.setattr(Offsets, "replay", replay)


def commits_are_lost_and_confirmed(patch):
    original = Commits._store
    count = [0]

    def store(self, ticket, response, wanted, error, entry, now_ms):
        count[0] += 1
        if count[0] % 4:
            original(self, ticket, response, wanted, error, entry, now_ms)
        else:
            ticket.answer(response)

    patch.setattr(Commits, "_store", store)


def commit_ahead(patch):
    original = Positions.consumed

    def consumed(self):
        return {tp: one._replace(offset=one.offset + 1) for tp, one in original(self).items()}

    patch.setattr(Positions, "consumed", consumed)


def commit_what_is_not_done(patch):
    """Auto commit takes what is buffered for what was handed over."""
    original = Positions.consumed

    def consumed(self):
        found = original(self)
        for partition in self:
            if partition.tp in found and partition.next_offset > partition.offset:
                found[partition.tp] = found[partition.tp]._replace(offset=partition.next_offset)
        return found

    patch.setattr(Positions, "consumed", consumed)


def skip_a_record(patch):
    original = Fetcher.take_records
    count = [0]

    def take(self, max_records, now_ms, only=None):
        taken = original(self, max_records, now_ms, only)
        count[0] += 1
        if count[0] % 7 == 0:
            taken = {tp: records[1:] for tp, records in taken.items() if records[1:]}
        return taken

    patch.setattr(Fetcher, "take_records", take)


def deliver_twice(patch):
    """Reading begins one record before what is committed."""
    original = Positions.apply_committed

    def apply(self, offsets):
        back = {
            tp: one and one._replace(offset=max(0, one.offset - 1)) for tp, one in offsets.items()
        }
        original(self, back)

    patch.setattr(Positions, "apply_committed", apply)


def begin_at_the_end(patch):
    original = Positions.apply_committed

    def apply(self, offsets):
        later = {tp: one and one._replace(offset=one.offset + 1) for tp, one in offsets.items()}
        original(self, later)

    patch.setattr(Positions, "apply_committed", apply)


def stop_heartbeats(patch):
    patch.setattr(Heartbeats, "handle_tick", lambda self, now_ms: None)


def stop_fetching(patch):
    """After a while nothing is fetched any more, and nobody says so."""
    original = Planner.send
    count = [0]

    def send(self, now_ms):
        count[0] += 1
        if count[0] < 400:
            original(self, now_ms)

    patch.setattr(Planner, "send", send)


def go_round_in_circles(patch):
    """Backoffs are forgotten."""
    patch.setattr(links, "exponential", lambda *_: 0)


def give_what_others_still_have(patch):
    """The cooperative assignor does not wait for its owner to give it up."""
    patch.setattr(CooperativeStickyAssignor, "given_now", StickyAssignor.given_now)


def hand_over_what_is_given_up(patch):
    """Records still come of what the application was told it has not any more."""
    patch.setattr(Host, "suspend", lambda self, partitions: None)


BUGS = [
    *OF_COORDINATORS,
    skip_the_generation_check,
    count_commits_of_who_is_gone,
    never_answer,
    miscount_parked_joins,
    one_member_gets_all,
    sessions_never_end,
    joins_end_late,
    keep_what_moved,
    forget_that_clocks_differ,
    forget_a_batch,
    delete_one_more,
    hide_rebalances,
    lose_journal_entries,
    offsets_go_to_a_neighbour,
    commits_are_lost_and_confirmed,
    commit_ahead,
    commit_what_is_not_done,
    skip_a_record,
    deliver_twice,
    begin_at_the_end,
    stop_heartbeats,
    stop_fetching,
    go_round_in_circles,
    give_what_others_still_have,
    hand_over_what_is_given_up,
]


@pytest.mark.parametrize("seed", quickly(2, of=5, begin=1))
def test_without_one_all_is_well(seed):
    assert busy(seed).violation is None


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found(bug, monkeypatch, seeds):
    bug(monkeypatch)
    for seed in seeds:
        violation = (busy(seed) if seed % 2 else drawn(seed)).violation
        if violation is not None:
            found_by_a_judge = violation.rule is not Rule.NO_FAULT
            assert found_by_a_judge or bug is answer_twice, str(violation)
            return
    pytest.fail(f"{SEEDS} seeds do not find it")
