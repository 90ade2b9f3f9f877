"""Client membership scenarios C01-C32 of VECTORS.md, classic protocol: finding, joining,
rebalancing.

Elsewhere: C02-C08, C26-C28 in test_group_errors; C10-C12, C14 in test_group_heartbeats; C18-C21 in
test_group_leader; C22-C24 in test_group_autocommit; C25, C29 in test_group_commits; C30 in
test_group_offsets; C32 in test_group_closing. The COOPERATIVE halves run with a range assignor that
speaks COOPERATIVE; cooperative-sticky itself is in tests/assignors. C16 (a listener that raises)
belongs to the client that runs listeners: the core has none.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from group_world import (
    KEY,
    MEMBER,
    CooperativeRange,
    World,
    tp,
    tps,
)

from kcore.assignors import RangeAssignor, blobs
from kcore.errors import (
    DisconnectedError,
    GroupAuthorizationFailedError,
    GroupMaxSizeReachedError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from kcore.events import (
    CoordinatorFound,
    CoordinatorLost,
    ErrorRaised,
    GroupJoined,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.group.states import MemberState, Step
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import FindCoordinatorResponse

# -- finding the coordinator ---------------------------------------------------------------------


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
    assert len(gaps) == 4
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


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("node_id", [1, 2])
def test_k4_a_connection_that_was_not_ready_in_time_goes_on(node_id: int, asked: bool) -> None:
    """With each coordinator it was set up anew, and never ready in the time that requests have."""
    world = World()
    world.become_stable()
    world.run(3_000)
    request = world.request(ApiKey.HEARTBEAT)
    if asked:
        world.answer(ApiKey.HEARTBEAT, RequestTimedOutError("not answered"))
    else:
        world.network.open.remove(request)
        world.network.fail(request, RequestTimedOutError("it could not be sent"))
        world.settle()
    assert world.new_events(CoordinatorLost)
    assert world.network.drops == [KEY] * asked
    world.run(121)
    world.answer(ApiKey.FIND_COORDINATOR, node_id=node_id)
    assert world.network.drops == [KEY] * (asked or node_id == 2)


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


# -- joining -------------------------------------------------------------------------------------


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
    assert world.member.coordinator_known  # what it does not serve costs nobody the coordinator
    assert not [event for event in world.events if isinstance(event, CoordinatorLost)]
    assert world.network.drops == []


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


# -- rebalance, seen by the application ----------------------------------------------------------


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


def test_cooperative_what_is_lost_is_not_handed_over_any_more() -> None:
    world = World(config={"assignors": (CooperativeRange(),), "await_acknowledgement": True})
    world.become_stable(assigned="t1-0 t1-1")
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    world.poll()
    (lost,) = world.new_events(PartitionsLost)
    assert lost.partitions == (tp("t1-0"), tp("t1-1"))
    assert world.host.owned == tps("t1-0 t1-1"), "until the application has heard of it"
    assert world.host.suspended == set(tps("t1-0 t1-1"))


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
