"""Client membership scenarios C01-C32 of VECTORS.md, classic protocol.

Elsewhere: C02-C08 and C26-C28 are in test_group_errors, C22-C25 and C29-C32 in test_group_commits.
C21 and the COOPERATIVE half of C15 run here with a range assignor that speaks COOPERATIVE. C16 (a
listener that raises) belongs to the client that runs listeners: the core has none.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from group_world import MEMBER, World, subscription_blob, tp, tps
from test_group_interleavings import CooperativeRange

from kcore.assignors import RangeAssignor, RebalanceProtocol, blobs
from kcore.connection.calls import COORDINATOR_KEY_BASE
from kcore.errors import (
    DisconnectedError,
    GroupAuthorizationFailedError,
    GroupMaxSizeReachedError,
    IllegalStateError,
    ProtocolError,
    UnsupportedVersionError,
)
from kcore.events import (
    CoordinatorFound,
    CoordinatorLost,
    ErrorRaised,
    GroupJoined,
    GroupLeft,
    HeartbeatAnswered,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.group.context import Timer
from kcore.group.states import MemberState, Step
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import FindCoordinatorResponse

KEY = COORDINATOR_KEY_BASE - 1


# -- finding the coordinator -------------------------------------------------------------------


def test_c01_unreachable_coordinator_is_looked_up_with_backoff() -> None:
    world = World(config={"retry_backoff_ms": 10, "retry_backoff_max_ms": 100})
    world.auto = True
    world.network.backoff_until[KEY] = world.now + 100
    start = world.now
    world.held.add(ApiKey.JOIN_GROUP)
    world.subscribe("t1")
    found_at = []
    while not world.open(ApiKey.JOIN_GROUP):
        world.run(1)
        world.poll()
        if world.new_events(CoordinatorFound):
            found_at.append(world.now - start)
    gaps = [after - before for before, after in pairwise(found_at)]
    assert all(8 * 2**n - 1 <= gap <= 12 * 2**n + 2 for n, gap in enumerate(gaps)), (
        gaps
    )  # 10, 20, 40, 80 ms within 20 %
    assert 100 <= world.now - start <= 200


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_k1_lookup_in_every_form(version: int) -> None:
    world = World()
    world.network.versions[ApiKey.FIND_COORDINATOR] = version
    world.subscribe("t1")
    request = world.request(ApiKey.FIND_COORDINATOR)
    assert request.node == 1
    assert request.body.key_type == 0
    if version >= 4:
        assert request.body.coordinator_keys == ["g"]
    else:
        assert request.body.key == "g"
    world.find()
    assert world.member.coordinator_known
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).node == KEY  # a connection of its own


def test_k3_refused_lookup_is_raised_once_until_the_next_poll() -> None:
    world = World()
    world.subscribe("t1")
    world.answer(ApiKey.FIND_COORDINATOR, E.GROUP_AUTHORIZATION_FAILED)
    (raised,) = world.new_events(ErrorRaised)
    assert isinstance(raised.error, GroupAuthorizationFailedError)
    world.run(60_000)
    assert world.count(ApiKey.FIND_COORDINATOR) == 1
    world.poll()
    world.run(121)
    assert world.count(ApiKey.FIND_COORDINATOR) == 2
    world.find()
    world.poll()
    assert world.open(ApiKey.JOIN_GROUP)


@pytest.mark.parametrize(
    "fields",
    [{"node_id": -1}, {"host": ""}, {"port": 0}, {"port": 70_000}, {"key": "another group"}],
    ids=str,
)
def test_k3_answers_that_cannot_be_meant(fields: dict) -> None:
    world = World()
    world.subscribe("t1")
    if "key" in fields:
        request = world.request(ApiKey.FIND_COORDINATOR)
        entry = FindCoordinatorResponse.Coordinator(key="x", node_id=1, host="h", port=1)
        world.respond(request, FindCoordinatorResponse(coordinators=[entry]))
        world.settle()
    else:
        world.answer(ApiKey.FIND_COORDINATOR, **fields)
    assert not world.member.coordinator_known
    assert not world.open(ApiKey.FIND_COORDINATOR)  # a backoff first
    assert world.cluster.updates_asked == 1
    world.run(121)
    assert world.open(ApiKey.FIND_COORDINATOR)


def test_k4_idle_connection_loss_is_noticed() -> None:
    world = World()
    world.become_stable()
    world.network.backoff_until[KEY] = world.now + 50
    world.settle()
    assert world.new_events(CoordinatorLost)
    assert world.member.state is MemberState.STABLE


def test_k6_outage_paces_itself_and_recovers_without_rejoin() -> None:
    world = World(config={"session_timeout_ms": 45_000})
    world.become_stable()
    world.network.brokers = False
    world.network.break_link(KEY, DisconnectedError("all brokers are gone"))
    world.settle()
    start = len(world.events)
    world.run(10_000, poll_every=200)
    lookups_and_news = len(world.events) - start
    assert lookups_and_news < 5
    world.network.brokers = True
    world.auto = True
    world.run(1_300, poll_every=200)
    assert world.member.stable
    assert world.count(ApiKey.JOIN_GROUP) == 1
    assert world.count(ApiKey.HEARTBEAT) > 0


def test_k7_c31_manual_assignment_asks_nobody() -> None:
    world = World()
    world.host.owned = tps("t1-0")
    world.run(60_000, poll_every=1_000)
    assert not world.network.log


# -- joining -----------------------------------------------------------------------------------


def test_happy_path_events_in_order() -> None:
    world = World()
    world.become_stable("t1", assigned="t1-1 t1-0")
    assert [type(event) for event in world.events] == [
        CoordinatorFound,
        RebalanceStarted,
        GroupJoined,
        PartitionsAssigned,
    ]
    joined, assigned = world.events[2:]
    assert joined == GroupJoined(1, MEMBER, "someone-else", "range", is_leader=False, members=0)
    assert assigned == PartitionsAssigned((tp("t1-0"), tp("t1-1")), (tp("t1-0"), tp("t1-1")), 1)
    assert world.host.owned == tps("t1-0 t1-1")
    assert world.member.metadata()[:3] == ("g", 1, MEMBER)


def test_join_request_fields() -> None:
    world = World(config={"client_rack": "r1", "assignors": (RangeAssignor(), CooperativeRange())})
    world.subscribe("t2", "t1")
    world.find()
    world.poll()
    body = world.request(ApiKey.JOIN_GROUP).body
    assert (body.group_id, body.member_id, body.protocol_type) == ("g", "", "consumer")
    assert (body.session_timeout_ms, body.rebalance_timeout_ms) == (10_000, 60_000)
    assert body.reason == "subscribed"
    assert [entry.name for entry in body.protocols] == ["range", "cooperative-range"]
    found = blobs.decode_subscription(body.protocols[0].metadata)
    assert found.topics == ("t1", "t2")
    assert found.rack == "r1"
    assert found.generation == -1


@pytest.mark.parametrize("version", range(10))
def test_every_join_version(version: int) -> None:
    world = World()
    world.network.versions[ApiKey.JOIN_GROUP] = version
    world.become_stable()
    assert world.host.owned == tps("t1-0 t1-1")


def test_reason_is_cut() -> None:
    world = World()
    world.become_stable()
    world.member.request_rejoin("x" * 1000, world.now)
    world.poll()
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).body.reason == "x" * 255


def test_static_member_needs_join_v5() -> None:
    world = World(config={"group_instance_id": "i"})
    world.network.versions[ApiKey.JOIN_GROUP] = 4
    world.subscribe("t1")
    world.find()
    world.poll()
    (raised,) = world.new_events(ErrorRaised)
    assert isinstance(raised.error, UnsupportedVersionError)
    assert not world.new_events(CoordinatorLost)


def test_nothing_happens_before_the_first_poll() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    world.run(600_000)
    assert not world.open(ApiKey.JOIN_GROUP)


def test_once_join_is_sent_ticks_drive_and_a_poll_delivers() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    world.poll()
    world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id="x")
    world.join("t1-0")  # no poll in between
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT)
    assert world.member.state is MemberState.STABLE
    assert world.host.owned == []
    assert not world.new_events(PartitionsAssigned)
    world.poll()
    assert world.new_events(PartitionsAssigned)
    assert world.host.owned == tps("t1-0")


def test_c09_join_waits_for_the_rebalance_timeout() -> None:
    world = World(config={"max_poll_interval_ms": 60_000, "request_timeout_ms": 40_000})
    world.subscribe("t1")
    world.find()
    world.poll()
    world.run(40_001, poll_every=1_000)
    assert world.open(ApiKey.JOIN_GROUP)
    world.run(24_998, poll_every=1_000)
    assert world.open(ApiKey.JOIN_GROUP)
    world.run(2, poll_every=1_000)
    assert not world.open(ApiKey.JOIN_GROUP)
    assert world.new_events(CoordinatorLost)


def test_requests_behind_a_parked_join_do_not_time_out_before_it() -> None:
    """The broker answers in order: an OffsetFetch that timed out would take the connection and
    the join with it.
    """
    world = World()
    world.subscribe("t1")
    world.find()
    world.poll()
    world.member.fetch_committed(
        tps("t1-0"), world.now, lambda *_: None, deadline_ms=world.now + 60_000
    )
    world.settle()
    fetch, join = world.request(ApiKey.OFFSET_FETCH), world.request(ApiKey.JOIN_GROUP)
    assert fetch.expires_at >= join.expires_at


def test_c13_group_is_full() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    world.poll()
    world.answer(ApiKey.JOIN_GROUP, E.GROUP_MAX_SIZE_REACHED, member_id="")
    (raised,) = world.new_events(ErrorRaised)
    assert isinstance(raised.error, GroupMaxSizeReachedError)


def test_c15_subscription_changes_under_way() -> None:
    world = World()
    world.subscribe("t2")
    world.find()
    world.poll()
    world.answer(ApiKey.JOIN_GROUP)
    world.subscribe("t1")
    world.answer(ApiKey.SYNC_GROUP, assigned="t2-0")
    world.poll()
    assert world.host.owned == []
    world.poll()
    world.join("t1-0")
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert len(world.new_events(PartitionsRevoked)) == 1
    world.seen = 0
    assert len(world.new_events(PartitionsAssigned)) == 1


def test_c15_cooperative() -> None:
    world = World(config={"assignors": (CooperativeRange(),)})
    world.subscribe("t2")
    world.find()
    world.poll()
    world.answer(ApiKey.JOIN_GROUP)
    world.subscribe("t1")
    world.answer(ApiKey.SYNC_GROUP, assigned="t2-0")
    world.poll()
    world.join("t1-0")
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert not world.new_events(PartitionsRevoked)


def test_subscription_change_while_stable_rejoins() -> None:
    world = World()
    world.become_stable("t1", assigned="t1-0")
    world.subscribe("t1", "t2")
    assert world.host.owned == tps("t1-0")  # X2: only in the next poll
    world.poll()
    world.poll()
    joined = blobs.decode_subscription(world.request(ApiKey.JOIN_GROUP).body.protocols[0].metadata)
    assert joined.topics == ("t1", "t2")


def test_same_subscription_again_does_not_rejoin() -> None:
    world = World()
    world.become_stable("t1", assigned="t1-0")
    world.subscribe("t1")
    world.poll()
    assert world.member.stable


def test_c17_left_while_sync_is_in_flight() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    world.poll()
    world.answer(ApiKey.JOIN_GROUP)
    world.run(3_000)
    sync = world.request(ApiKey.SYNC_GROUP)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    assert world.open(ApiKey.JOIN_GROUP)  # another one is on its way already
    world._reply(sync, E.NONE, assigned="t1-0")
    world.settle()
    world.poll()
    assert world.host.owned == []
    assert not world.new_events(PartitionsAssigned)


def test_pattern_waits_for_the_first_metadata_and_follows_it() -> None:
    world = World(topics={})
    world.host.pattern_prefix = "t"
    world.host.fresh = False
    world.member.subscription_changed(world.now)
    world.settle()
    world.find()
    world.poll()
    assert not world.open(ApiKey.JOIN_GROUP)
    world.host.fresh = True
    world.cluster.set("t1", 1)
    world.poll()
    world.join("t1-0")
    world.poll()
    world.cluster.set("t2", 1)
    world.poll()
    world.poll()
    joined = blobs.decode_subscription(world.request(ApiKey.JOIN_GROUP).body.protocols[0].metadata)
    assert joined.topics == ("t1", "t2")


def test_pattern_takes_topics_the_leader_saw_first() -> None:
    """6.2: a topic that matches is taken though our metadata does not show it, and no rejoin
    follows.
    """
    world = World(topics={"t1": 1})
    world.host.pattern_prefix = "t"
    world.member.subscription_changed(world.now)
    world.settle()
    world.find()
    world.poll()
    world.join("t1-0 t3-0")
    world.poll()
    world.poll()
    assert world.host.owned == tps("t1-0 t3-0")
    assert world.member.stable
    world.cluster.set("t3", 1)
    world.poll()
    assert world.member.stable


# -- rebalance, seen by the application --------------------------------------------------------


def test_eager_order() -> None:
    world = World()
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.host.suspended == set(tps("t1-0 t1-1"))
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (tp("t1-0"), tp("t1-1"))
    assert world.host.owned  # still owned: offsets can be committed
    assert not world.open(ApiKey.JOIN_GROUP)
    world.poll()
    assert world.host.owned == []
    world.join("t1-1")
    world.poll()
    (assigned,) = world.new_events(PartitionsAssigned)
    assert assigned == PartitionsAssigned((tp("t1-1"),), (tp("t1-1"),), 2)


def test_waiting_for_the_next_poll_does_not_keep_the_driver_awake() -> None:
    world = World()
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.member.handle_poll(world.now)
    assert world.member.step is Step.REVOKING
    world.member.handle_tick(world.now)
    assert world.member.deadline() > world.now


def test_revocation_waits_for_the_acknowledgement() -> None:
    world = World(config={"await_acknowledgement": True})
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    for _ in range(5):
        world.poll()
    assert world.member.step is Step.REVOKING
    assert not world.open(ApiKey.JOIN_GROUP)
    world.ack()
    assert world.open(ApiKey.JOIN_GROUP)  # no poll needed
    world.join("t1-0")
    world.poll()
    assert world.member.step is Step.ASSIGNING
    world.member.request_rejoin("more", world.now)
    world.poll()
    assert world.member.step is Step.ASSIGNING
    world.ack()
    world.poll()
    assert world.member.step is Step.REVOKING


def test_cooperative_order() -> None:
    world = World(config={"assignors": (CooperativeRange(),)})
    world.become_stable(assigned="t1-0 t1-1")
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1")  # kept all along
    assert not world.new_events(PartitionsRevoked)
    owned = blobs.decode_subscription(world.request(ApiKey.JOIN_GROUP).body.protocols[0].metadata)
    assert owned.owned == (tp("t1-0"), tp("t1-1"))
    assert owned.generation == 1
    world.join("t1-0")
    world.poll()
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (tp("t1-1"),)
    assert world.host.suspended == {tp("t1-1")}
    assert world.host.owned == tps("t1-0 t1-1")
    world.poll()
    assert world.host.owned == tps("t1-0")
    (assigned,) = world.new_events(PartitionsAssigned)
    assert assigned.added == ()
    assert assigned.partitions == (tp("t1-0"),)
    assert world.open(ApiKey.JOIN_GROUP)  # the second rebalance gives t1-1 away


def test_cooperative_unsubscribed_topics_are_revoked_before_the_join() -> None:
    world = World(config={"assignors": (CooperativeRange(),)})
    world.become_stable("t1", "t2", assigned="t1-0 t2-0")
    world.subscribe("t1")
    world.poll()
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (tp("t2-0"),)
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert world.open(ApiKey.JOIN_GROUP)


@pytest.mark.parametrize("api", [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP], ids=lambda api: api.name)
def test_cooperative_membership_lost_in_a_round_is_told_before_the_next(api: ApiKey) -> None:
    """What was kept through the rebalance is not ours any more: no Join may claim it, no
    record be read.
    """
    world = World(config={"assignors": (CooperativeRange(),)})
    world.become_stable(assigned="t1-0 t1-1")
    world.member.request_rejoin("test", world.now)
    world.poll()
    if api is ApiKey.SYNC_GROUP:
        world.answer(ApiKey.JOIN_GROUP)
    world.answer(api, E.UNKNOWN_MEMBER_ID)
    assert not world.open(ApiKey.JOIN_GROUP)
    world.poll()
    (lost,) = world.new_events(PartitionsLost)
    assert lost.partitions == (tp("t1-0"), tp("t1-1"))
    world.poll()
    body = world.request(ApiKey.JOIN_GROUP).body
    assert blobs.decode_subscription(body.protocols[0].metadata).owned == ()
    assert body.member_id == ""


def test_a_rejoin_asked_for_without_a_subscription_is_forgotten() -> None:
    world = World()
    world.member.request_rejoin("too early", world.now)
    world.subscribe("t1")
    world.find()
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).body.reason == "subscribed"


# -- leader ------------------------------------------------------------------------------------


def lead(world: World, *members: tuple[str, bytes], **fields: object) -> None:
    world.answer(ApiKey.JOIN_GROUP, leader="me", members=list(members), **fields)


def start(*topics: str, **config: object) -> World:
    world = World(config=config)
    world.subscribe(*(topics or ("t1",)))
    world.find()
    world.poll()
    return world


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
    world = start("t1", group_instance_id="i")
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


# -- assignments that cannot be trusted --------------------------------------------------------


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\0",
        b"\xff\xff",
        b"\0\3\0\0",
        bytes.fromhex("0001 00000001 0002 7431 00000001 ffffffff ffffffff".replace(" ", "")),
        bytes.fromhex(
            "0001 00000001 0002 7431 00000002 00000000 00000000 ffffffff".replace(" ", "")
        ),
    ],
    ids=["empty", "short", "negative-version", "truncated", "negative", "twice"],
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
    assert all(isinstance(it.error, ProtocolError) for it in world.new_events(ErrorRaised))
    world.auto = True
    world.run(3_000, poll_every=100)
    assert world.member.stable  # and it heals


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


# -- heartbeats --------------------------------------------------------------------------------


def test_c10_timers() -> None:
    world = World(
        config={
            "session_timeout_ms": 300,
            "heartbeat_interval_ms": 100,
            "max_poll_interval_ms": 900,
        }
    )
    world.become_stable()
    world.run(99)
    assert not world.open(ApiKey.HEARTBEAT)
    world.run(1)
    sent = world.now
    heartbeat = world.request(ApiKey.HEARTBEAT)
    assert (heartbeat.body.generation_id, heartbeat.body.member_id) == (1, MEMBER)
    world.run(30)
    world.answer(ApiKey.HEARTBEAT)
    (answered,) = world.new_events(HeartbeatAnswered)
    assert answered == HeartbeatAnswered(1, 30)
    world.run(69)
    assert not world.open(ApiKey.HEARTBEAT)
    world.run(1)
    assert world.now == sent + 100  # counted from the sending
    assert world.open(ApiKey.HEARTBEAT)


def test_c10_session_ends_without_answers() -> None:
    world = World(config={"session_timeout_ms": 300, "heartbeat_interval_ms": 100})
    world.become_stable()
    world.run(299)
    assert not world.new_events(CoordinatorLost)
    world.run(6)
    (lost,) = world.new_events(CoordinatorLost)
    assert "300 ms" in lost.reason
    assert world.member.state is MemberState.STABLE
    assert world.count(ApiKey.HEARTBEAT) == 1  # one in flight at a time


def test_k2_discovery_restarts_the_session_but_not_the_heartbeat() -> None:
    world = World(config={"session_timeout_ms": 300, "heartbeat_interval_ms": 100})
    world.become_stable()
    world.run(305)
    timers = world.member._ctx.timers
    heartbeat_at = timers.at(Timer.HEARTBEAT)
    world.find()
    assert timers.at(Timer.SESSION) == world.now + 300
    assert timers.at(Timer.HEARTBEAT) == heartbeat_at


def test_c11_heartbeats_while_completing() -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP)
    assert world.member.state is MemberState.COMPLETING
    world.run(3_000)
    assert world.open(ApiKey.HEARTBEAT)


def test_b1_no_heartbeats_while_preparing() -> None:
    world = World()
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    assert world.member.state is MemberState.PREPARING
    world.run(20_000, poll_every=1_000)
    assert not world.open(ApiKey.HEARTBEAT)


def test_c12_b6_poll_interval() -> None:
    world = World()
    world.become_stable()
    world.auto = True
    world.run(59_999)
    assert world.member.stable
    world.held.add(ApiKey.LEAVE_GROUP)
    world.run(1)
    leave = world.request(ApiKey.LEAVE_GROUP).body
    assert [entry.member_id for entry in leave.members] == [MEMBER]
    assert "max_poll_interval_ms is 60000" in leave.members[0].reason
    (left,) = world.new_events(GroupLeft)
    assert "60000 ms passed without a poll" in left.reason
    assert world.member.state is MemberState.UNJOINED
    assert world.host.owned  # the application has not come back yet
    world.run(120_000)
    assert world.count(ApiKey.JOIN_GROUP) == 1
    world.poll()
    (lost,) = world.new_events(PartitionsLost)
    assert lost.partitions == (tp("t1-0"), tp("t1-1"))
    world.poll()
    assert world.count(ApiKey.JOIN_GROUP) == 2
    world.poll()
    assert world.member.stable


def test_b5_polls_keep_the_interval_open_while_the_coordinator_is_unknown() -> None:
    world = World()
    world.become_stable()
    world.network.brokers = False
    world.run(100_000, poll_every=1_000)
    world.network.brokers = True
    world.auto = True
    world.run(5_000, poll_every=1_000)
    assert world.member.stable
    assert world.count(ApiKey.LEAVE_GROUP) == 0


def test_b6_a_single_threaded_application_that_comes_back_late() -> None:
    """Nothing ticked meanwhile: the poll itself finds out that it is late."""
    world = World(config={"session_timeout_ms": 100_000})
    world.become_stable()
    world.auto = True
    world.now += 70_000
    world.poll()
    (left,) = world.new_events(GroupLeft)
    assert left.reason.startswith("70000 ms passed")
    world.run(1_000, poll_every=100)
    assert world.member.stable


def test_back_after_the_session_the_broker_has_the_word() -> None:
    """B2: the session goes before the poll interval; the coordinator found again says what
    became of us.
    """
    world = World()
    world.become_stable()
    world.now += 70_000
    world.poll()
    world.find()
    world.run(200)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    world.poll()
    assert world.new_events(PartitionsLost)


# -- leave -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_e1_leave_in_every_version(version: int) -> None:
    world = World()
    world.network.versions[ApiKey.LEAVE_GROUP] = version
    world.become_stable()
    world.member.leave(world.now, "why " * 100)
    world.settle()
    body = world.request(ApiKey.LEAVE_GROUP).body
    if version < 3:
        assert body.member_id == MEMBER
    else:
        assert [entry.member_id for entry in body.members] == [MEMBER]
        assert body.members[0].reason == (None if version < 5 else ("why " * 100)[:255])
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (tp("t1-0"), tp("t1-1"))
    assert world.member.state is MemberState.UNJOINED
    assert world.host.owned == []


@pytest.mark.parametrize("way", ["close", "unsubscribe", "stall"])
def test_c14_static_members_do_not_leave(way: str) -> None:
    world = World(config={"group_instance_id": "i"})
    world.become_stable()
    world.auto = True
    if way == "close":
        world.member.close(world.now, world.now + 5_000, autocommit=True)
        world.settle()
        assert world.member.closed
    elif way == "unsubscribe":
        world.member.leave(world.now, "unsubscribed")
        world.settle()
    else:
        world.run(61_000)
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    assert world.member.state is MemberState.UNJOINED


def test_e1_a_member_that_only_has_an_id_leaves_and_not_behind_its_own_join() -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id="x")
    assert world.open(ApiKey.JOIN_GROUP)
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert [it.member_id for it in world.request(ApiKey.LEAVE_GROUP).body.members] == ["x"]
    assert world.network.drops == [KEY]  # the broker would read it only when the join is answered
    assert not world.new_events(CoordinatorLost)


def test_e1_nobody_to_tell() -> None:
    world = World()
    world.subscribe("t1")
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    assert not world.new_events(GroupLeft)


def test_x3_unsubscribe_during_a_rebalance_means_lost() -> None:
    world = World(config={"assignors": (CooperativeRange(),)})
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.member.state is MemberState.PREPARING
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert not world.new_events(PartitionsRevoked)
    world.seen = 0
    (lost,) = world.new_events(PartitionsLost)
    assert lost.partitions == (tp("t1-0"), tp("t1-1"))


def test_unsubscribe_waits_for_the_acknowledgement_and_subscribing_again_joins() -> None:
    world = World(config={"await_acknowledgement": True})
    world.become_stable()
    world.member.leave(world.now, "unsubscribed")
    assert world.host.owned == []  # an assignment by hand may follow at once
    world.subscribe("t2")
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.ack()
    world.answer(ApiKey.LEAVE_GROUP)
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == ""
