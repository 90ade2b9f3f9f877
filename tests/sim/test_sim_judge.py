"""The judge alone: what it lets pass, and what it does not."""

import random
from collections import deque
from types import SimpleNamespace

import pytest
from sim_runs import run, well

from kcore.sim import Fault, Plan, Rule, ViolationError
from kcore.sim.chance import Chance
from kcore.sim.habits import Commit
from kcore.sim.judge import Judge
from kcore.sim.ledger import Ledger
from kcore.sim.offsets import Hands
from kcore.sim.run import begin
from kcore.sim.trace import Trace
from kcore.sim.world import World
from kcore.structs import TopicPartition
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey

T0 = TopicPartition("t", 0)
VERSION = 8  # of OffsetCommit: topics have names


class Client:
    name = identity = "m1"
    group_id = "g"
    ended = closing = paused = False
    habits = SimpleNamespace(commit=Commit.AUTO)


class Court:
    """One group, "g", as its coordinator has it, and one member that commits."""

    def __init__(self, *members):
        self.group = SimpleNamespace(group_id="g", members=dict.fromkeys(members))
        plan, trace = Plan(seed=1), Trace()
        self.ledger = Ledger(plan, trace)
        self.judge = Judge(plan, self.ledger, trace, lambda _group_id: self.group, lambda: 0)
        client = Client()
        self.judge.member_started(client)
        self.judge.hands[client] = Hands(done={T0: 3}, owned={T0: 1})
        self.wire = SimpleNamespace(
            client=client, node=SimpleNamespace(name="node1"), asked=deque(),
            excused=False, turn_ms=0, client_open=True, mute_ms=0, speaks_ms=0,
        )  # fmt: skip

    def turn(self):
        self.judge.turn_begins()

    def ask(self):
        partition = m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=3
        )
        topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[partition])
        request = m.OffsetCommitRequest(
            group_id="g", generation_id_or_member_epoch=1, member_id="m1-a", topics=[topic]
        )
        self.ledger.asked(self.wire, frames.encode_request(request, VERSION, 1, "m1"), 0)

    def confirm(self):
        partition = m.OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=0)
        topic = m.OffsetCommitResponse.OffsetCommitResponseTopic(name="t", partitions=[partition])
        answer = m.OffsetCommitResponse(topics=[topic])
        self.ledger.answered(self.wire, frames.encode_response(answer, VERSION, 1), 5)


def test_a_commit_counts_whose_sender_is_put_out_in_the_turn_that_takes_it():
    court = Court("m1-a", "m2-b")
    court.ask()
    court.turn()
    del court.group.members["m1-a"]  # the same turn: a join that was overdue ends
    court.confirm()
    assert court.judge.offsets.of("g", T0).sure == 3


@pytest.mark.parametrize("members", [("m1-a", "m2-b"), ("m2-b",)])
def test_a_commit_of_who_was_put_out_before_does_not_count(members):
    court = Court(*members)
    court.turn()
    court.ask()
    court.group.members.pop("m1-a", None)
    court.turn()
    with pytest.raises(ViolationError, match="m1 has committed, and is no member of g") as found:
        court.confirm()
    assert found.value.rule is Rule.COMMIT_FENCED


def test_a_commit_to_a_group_that_is_kept_nowhere_does_not_count():
    court = Court("m1-a")
    court.ask()
    court.turn()
    court.group = None
    with pytest.raises(ViolationError, match="no member of g"):
        court.confirm()


def test_in_a_large_group_too_who_was_put_out_a_turn_ago_is_no_member():
    """Its books are not looked at after each turn; who is a member is known all the same."""
    chance = Chance(random.Random, 2)
    world = World(Plan(seed=1, members=25, partitions=25), chance)
    begin(world, chance)
    world.run_until(5_000)
    group, book = world.judge.group_of("group1"), world.judge.groups["group1"]
    put_out = next(iter(group.members))
    known = []
    world.ledger.open[ApiKey.OFFSET_COMMIT] += 1  # one is under way
    world.at(world.now(), lambda: known.append(put_out in book.members))
    world.at(world.now(), group.members.pop, put_out)
    world.at(world.now(), lambda: known.append(put_out in book.members))
    world.run_until(world.now())
    assert known == [True, False]


def test_a_node_that_stood_still_takes_a_commit_and_then_puts_its_sender_out():
    faults = {Fault.NODE_PAUSE: 2_500, Fault.ZOMBIE: 2_500, Fault.JOIN: 4_000, Fault.CUT: 4_000}
    well(run(Plan(seed=115, members=3, max_poll_interval_ms=5_000, faults=faults)))
