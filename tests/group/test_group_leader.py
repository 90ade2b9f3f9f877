"""The leader's duties (D1-D5, C18-C21), and assignments and answers that cannot be trusted."""

from __future__ import annotations

import pytest
from group_world import (
    KEY,
    MEMBER,
    lead,
    start,
    subscription_blob,
    tp,
    tps,
)

from kcore.assignors import RangeAssignor, RebalanceProtocol, blobs
from kcore.errors import (
    DisconnectedError,
    IllegalStateError,
    ProtocolError,
)
from kcore.events import (
    CoordinatorLost,
    ErrorRaised,
    PartitionsAssigned,
)
from kcore.group.states import Step
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

# -- leader --------------------------------------------------------------------------------------


def test_d1_leader_assigns_the_union_of_topics() -> None:
    world = start("t1")
    lead(world, ("other", subscription_blob("t1", "t2")))
    assert world.host.group_topics == {"t1", "t2"}
    given = {
        entry.member_id: blobs.decode_assignment(entry.assignment)[0]
        for entry in world.request(ApiKey.SYNC_GROUP).body.assignments
    }
    assert given == {MEMBER: tps("t1-0"), "other": tps("t1-1 t2-0 t2-1")}


def test_d1_leader_waits_for_metadata_within_bounds() -> None:
    world = start("t1")
    world.host.fresh = False
    lead(world, ("other", subscription_blob("t3")))
    assert not world.open(ApiKey.SYNC_GROUP)
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT)  # heartbeats go on meanwhile
    world.cluster.set("t3", 1)
    world.host.fresh = True
    world.settle()
    assert world.open(ApiKey.SYNC_GROUP)


def test_d5_topics_without_metadata_are_left_out_in_the_end() -> None:
    world = start("t1")
    world.host.fresh = False
    lead(world, ("other", subscription_blob("nowhere")))
    world.run(2_900)
    assert not world.open(ApiKey.SYNC_GROUP)
    world.auto = True
    world.held.add(ApiKey.SYNC_GROUP)
    world.run(2_200)
    given = {e.member_id: e.assignment for e in world.request(ApiKey.SYNC_GROUP).body.assignments}
    assert blobs.decode_assignment(given["other"])[0] == []
    assert blobs.decode_assignment(given[MEMBER])[0] == tps("t1-0 t1-1")


@pytest.mark.parametrize("come_back", [False, True])
def test_a_leader_that_has_its_metadata_when_its_coordinator_is_gone_joins_again(
    come_back: bool,
) -> None:
    world = start("t1", group_instance_id="i") if come_back else start("t1")
    world.host.fresh = False
    lead(world, ("other", subscription_blob("t3")), skip_assignment=come_back)
    assert not world.open(ApiKey.SYNC_GROUP)
    world.run(3_000)
    world.network.brokers = False
    world.answer(ApiKey.HEARTBEAT, DisconnectedError("gone"))
    assert not world.member.coordinator_known
    world.cluster.set("t3", 1)
    world.host.fresh = True
    world.settle()
    assert not world.new_events(ErrorRaised)
    world.network.brokers = True
    world.auto = True
    world.run(3_000, poll_every=100)
    assert world.member.stable


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_a_leader_that_is_put_out_while_it_waits_for_metadata_says_nothing_of_a_plan(
    code: E,
) -> None:
    world = start("t1")
    world.host.fresh = False
    lead(world, ("other", subscription_blob("t3")))
    world.run(3_000)
    world.held.add(ApiKey.JOIN_GROUP)
    world.answer(ApiKey.HEARTBEAT, code)
    world.cluster.set("t3", 1)
    world.host.fresh = True
    world.run(1_000, poll_every=100)
    assert not world.count(ApiKey.SYNC_GROUP)
    world.held.clear()
    world.auto = True
    world.run(3_000, poll_every=100)
    assert world.member.stable


def test_c18_leader_rejoins_when_a_topic_grows_and_a_follower_does_not() -> None:
    for leads in (True, False):
        world = start("t1")
        world.answer(ApiKey.JOIN_GROUP, leader="me" if leads else "other")
        world.answer(ApiKey.SYNC_GROUP, assigned="t1-0 t1-1")
        world.poll()
        world.cluster.set("t1", 3)
        world.poll()
        assert world.member.rejoin_needed is leads


def test_c18_racks_count_if_we_have_one() -> None:
    for rack in ("r", None):
        world = start("t1", client_rack=rack)
        lead(world)
        world.answer(ApiKey.SYNC_GROUP)
        world.poll()
        world.cluster.racks[tp("t1-0")] = {"elsewhere"}
        world.cluster.version += 1
        world.poll()
        assert world.member.rejoin_needed is (rack is not None)


def test_c19_skip_assignment() -> None:
    class Unasked(RangeAssignor):
        def assign(self, members, partitions, racks=None):
            raise AssertionError("the group has an assignment")

    world = start("t1", group_instance_id="i", assignors=(Unasked(),))
    lead(world, skip_assignment=True)
    assert world.request(ApiKey.SYNC_GROUP).body.assignments == []
    world.answer(ApiKey.SYNC_GROUP, assigned="t1-0")
    world.poll()
    assert world.member.stable
    world.cluster.set("t1", 3)
    world.poll()
    assert world.member.rejoin_needed


def test_c20_metadata_between_sync_and_its_answer() -> None:
    world = start("t1", "t9")
    lead(world)
    world.cluster.set("t9", 1)
    world.answer(ApiKey.SYNC_GROUP)
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1")
    assert world.member.step is Step.REVOKING  # in the same poll
    world.poll()
    lead(world)
    world.answer(ApiKey.SYNC_GROUP)
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1 t9-0")
    assert world.member.stable


def test_c21_cooperative_assignor_must_not_move_an_owned_partition() -> None:
    class Careless(RangeAssignor):
        name = "careless"
        protocols = frozenset({RebalanceProtocol.COOPERATIVE})

    class Known(Careless):
        name = "cooperative-sticky"

    for assignor, raised in ((Careless(), True), (Known(), False)):
        world = start("t1", assignors=(assignor,))
        lead(world, ("z", subscription_blob("t1", owned=(tp("t1-0"),), generation=0)))
        errors = world.new_events(ErrorRaised)
        assert bool(errors) is raised
        if raised:
            assert isinstance(errors[0].error, IllegalStateError)
            assert "t1-0" in str(errors[0].error)
        assert bool(world.open(ApiKey.SYNC_GROUP)) is not raised


@pytest.mark.parametrize("bug", ["raises", "twice"])
def test_g3_a_bad_assignor_fails_the_round_only(bug: str) -> None:
    class Bad(RangeAssignor):
        name = "bad"

        def assign(self, members, partitions, racks=None):
            if bug == "raises":
                raise ZeroDivisionError
            return {name: tps("t1-0") for name in members}

    world = start("t1", assignors=(Bad(),))
    lead(world, ("other", subscription_blob("t1")))
    (raised,) = world.new_events(ErrorRaised)
    assert "'bad'" in str(raised.error)
    world.poll()
    world.run(121)
    assert world.open(ApiKey.JOIN_GROUP)


def test_a_members_unreadable_subscription_fails_the_round_and_backs_off() -> None:
    world = start("t1")
    for _ in range(30):
        for request in list(world.network.open):
            fields = {"leader": "me", "members": [("bad", b"\xff\xff")]}
            world._reply(request, E.NONE, **(fields if request.api is ApiKey.JOIN_GROUP else {}))
        world.run(100, poll_every=50)
    assert 3 <= world.count(ApiKey.JOIN_GROUP) <= 12
    raised = world.new_events(ErrorRaised)
    assert raised
    assert isinstance(raised[0].error, ProtocolError)
    assert "'bad'" in str(raised[0].error)


# -- not to be trusted ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "blob",
    [
        b"\0",
        b"\xff\xff",
        b"\0\3\0\0",
        bytes.fromhex("0001 00000001 0002 7431 00000001 ffffffff ffffffff".replace(" ", "")),
        bytes.fromhex(
            "0001 00000001 0002 7431 00000002 00000000 00000000 ffffffff".replace(" ", "")
        ),
    ],
    ids=["short", "negative-version", "truncated", "negative", "twice"],
)
def test_garbage_assignment_is_raised_and_rejoined_with_backoff(blob: bytes) -> None:
    world = start("t1")
    for _ in range(40):
        for request in list(world.network.open):
            world._reply(
                request, E.NONE, **({"blob": blob} if request.api is ApiKey.SYNC_GROUP else {})
            )
        world.run(100, poll_every=50)
        assert world.host.owned == []
    assert 3 <= world.count(ApiKey.SYNC_GROUP) <= 12  # about once a second in the end
    raised = world.new_events(ErrorRaised)
    assert len(raised) >= 3
    assert all(isinstance(it.error, ProtocolError) for it in raised)
    world.auto = True
    world.run(3_000, poll_every=100)
    assert world.member.stable  # and it heals


def test_who_is_left_out_by_its_leader_has_nothing() -> None:
    """The coordinator gives it no bytes then (sarama's leaders before 1.36: where there are more
    members than partitions). Who joined again would have the whole group rebalance without end.
    """
    world = start("t1")
    for _ in range(20):
        for request in list(world.network.open):
            fields = {"blob": b""} if request.api is ApiKey.SYNC_GROUP else {}
            world._reply(request, E.NONE, **fields)
        world.run(100, poll_every=50)
    assert world.member.stable
    assert world.host.owned == []
    assert world.count(ApiKey.SYNC_GROUP) == 1
    assert not world.new_events(ErrorRaised)


def test_topics_never_subscribed_are_refused_with_backoff() -> None:
    world = start("t1")
    for _ in range(60):
        for request in list(world.network.open):
            world._reply(
                request,
                E.NONE,
                **({"assigned": "secret-0"} if request.api is ApiKey.SYNC_GROUP else {}),
            )
        world.run(100, poll_every=50)
        assert world.host.owned == []
    assert world.count(ApiKey.SYNC_GROUP) <= 15
    assert not world.new_events(PartitionsAssigned)


@pytest.mark.parametrize(
    "fields",
    [
        {"generation_id": -1},
        {"member_id": ""},
        {"protocol_name": "never-offered"},
        {"protocol_name": ""},
    ],
    ids=str,
)
def test_join_answers_that_cannot_be_meant_cost_the_link(fields: dict) -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP, **fields)
    assert world.new_events(CoordinatorLost)
    assert KEY in world.network.drops
    world.run(121)
    world.find()
    world.run(121)
    assert world.open(ApiKey.JOIN_GROUP)


def test_g3_wrong_protocol_type_is_fatal() -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP, protocol_type="connect")
    (raised,) = world.new_events(ErrorRaised)
    assert raised.error.errno == E.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    "fields", [{"protocol_type": "connect"}, {"protocol_name": "other"}], ids=str
)
def test_g4_wrong_protocol_in_sync_is_fatal(fields: dict) -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP)
    world.answer(ApiKey.SYNC_GROUP, **fields)
    (raised,) = world.new_events(ErrorRaised)
    assert raised.error.errno == E.INCONSISTENT_GROUP_PROTOCOL
