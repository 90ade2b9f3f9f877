"""Rules of commits, look-ups and coordinators beside the scenarios of the specification."""

from __future__ import annotations

import pytest
from consumer_world import BEAT, INTERVAL_MS, ConsumerWorld
from group_asks import AT5, T10, T11, commit, fetch, manual, stable
from group_world import KEY, CooperativeRange, World, tp, tps

from kcore.errors import (
    CommitFailedError,
    ConsumerStoppedError,
    DisconnectedError,
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    KafkaTimeoutError,
)
from kcore.events import (
    CoordinatorFound,
    CoordinatorLost,
    ErrorRaised,
    PartitionsLost,
    PartitionsRevoked,
)
from kcore.group.states import Step
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode as E

# -- commits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_ID])
def test_what_somebody_commits_is_never_left_out_as_unknown(code: E) -> None:
    world = stable()
    offsets = {T10: OffsetAndMetadata(1), T11: OffsetAndMetadata(2)}
    outcome = commit(world, offsets, 5_000)
    for _ in range(6):
        asked = world.cluster.updates_asked
        world.answer(ApiKey.OFFSET_COMMIT, codes={T11: code})
        assert world.cluster.updates_asked == asked + 1
        assert not outcome.calls
        while not world.open(ApiKey.OFFSET_COMMIT) and not outcome.calls:
            world.run(50)
        if outcome.calls:
            break
    world.run(5_000)
    assert isinstance(outcome.error, KafkaTimeoutError)


def test_no_offsets_are_committed_without_a_coordinator() -> None:
    world = manual()
    world.network.brokers = False
    assert commit(world, {}, 5_000).result == {}
    assert not world.count(ApiKey.FIND_COORDINATOR)


def test_a_commit_of_before_is_not_for_what_came_again_after_leaving() -> None:
    world = stable()
    world.network.break_link(KEY, DisconnectedError("gone"))
    world.network.backoff_until[KEY] = world.now + 100
    world.settle()
    waits = commit(world, {T10: OffsetAndMetadata(1)}, 60_000)
    assert not waits.calls
    world.host.topics = []
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.subscribe("t1")
    world.run(200)
    world.auto = True
    world.settle()
    world.poll()
    world.run(2_000, poll_every=100)
    assert T10 in world.host.owned
    assert isinstance(waits.error, CommitFailedError)
    assert T10 not in world.committed


def test_the_timer_that_cost_one_membership_is_not_named_for_the_next() -> None:
    world = stable()
    world.auto = True
    world.run(61_000)
    world.run(2_000, poll_every=100)
    assert world.member.stable
    world.host.consumed = {}
    error = commit(world, {tp("t9-0"): OffsetAndMetadata(1)}, 1_000).error
    assert isinstance(error, CommitFailedError)
    assert error.timer is None
    assert "max_poll_interval_ms" not in str(error)


def test_who_was_a_member_and_stores_offsets_now_is_nobody_in_particular() -> None:
    world = ConsumerWorld()
    world.become_stable()
    world.host.topics = []
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.beat()
    world.host.owned = tps("t1-0")
    outcome = commit(world, {T10: OffsetAndMetadata(5)})
    body = world.request(ApiKey.OFFSET_COMMIT).body
    assert (body.generation_id_or_member_epoch, body.member_id) == (-1, "")
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result


# -- the coordinator -----------------------------------------------------------------------------


def test_behind_a_join_that_is_parked_and_not_wanted_any_more_answers_take_no_longer() -> None:
    world = stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    join = world.request(ApiKey.JOIN_GROUP)
    assert join.expires_at - world.now > 60_000
    world.host.topics = []
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert world.request(ApiKey.LEAVE_GROUP).expires_at - world.now == 5_000
    world.host.owned = tps("t1-0")
    commit(world, deadline_ms=60_000)
    assert world.request(ApiKey.OFFSET_COMMIT).expires_at - world.now == 5_000


@pytest.mark.parametrize("of_others", [False, True])
def test_an_answer_about_other_groups_finds_no_coordinator(of_others: bool) -> None:
    world = manual()
    outcome = fetch(world)
    request = world.request(ApiKey.FIND_COORDINATOR)
    cls = API_TABLE[ApiKey.FIND_COORDINATOR].response
    other = cls.Coordinator(key="another", node_id=2, host="elsewhere", port=9092)
    world.respond(request, cls(coordinators=[other] if of_others else []))
    world.settle()
    assert not world.new_events(CoordinatorFound)
    world.run(500)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result == {T10: None, T11: None}


# -- look-ups ------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_others", [False, True])
def test_an_answer_about_other_groups_is_none_about_what_is_committed(of_others: bool) -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    request = world.request(ApiKey.OFFSET_FETCH)
    cls = API_TABLE[ApiKey.OFFSET_FETCH].response
    part = cls.OffsetFetchResponsePartitions
    topic = cls.OffsetFetchResponseTopics(
        name="t1", partitions=[part(partition_index=n, committed_offset=77) for n in range(2)]
    )
    other = cls.OffsetFetchResponseGroup(group_id="another", topics=[topic])
    world.respond(request, cls(groups=[other] if of_others else []))
    world.settle()
    assert not outcome.calls
    assert world.new_events(CoordinatorLost)
    world.run(500)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result == {T10: None, T11: None}


def test_partitions_that_nobody_asked_about_are_no_part_of_what_is_found() -> None:
    world = manual()
    outcome = fetch(world, "t1-0")
    world.find()
    request = world.request(ApiKey.OFFSET_FETCH)
    cls = API_TABLE[ApiKey.OFFSET_FETCH].response
    part = cls.OffsetFetchResponsePartitions
    topics = [
        cls.OffsetFetchResponseTopics(
            name=name, partitions=[part(partition_index=n, committed_offset=7) for n in range(2)]
        )
        for name in ("t1", "t2")
    ]
    world.respond(request, cls(groups=[cls.OffsetFetchResponseGroup(group_id="g", topics=topics)]))
    world.settle()
    assert outcome.result == {T10: OffsetAndMetadata(7)}


def test_who_is_closed_looks_nothing_up_and_commits_nothing() -> None:
    world = manual()
    world.member.close(world.now, world.now + 100, autocommit=False)
    world.settle()
    assert world.member.closed
    with pytest.raises(ConsumerStoppedError):
        fetch(world)
    with pytest.raises(ConsumerStoppedError):
        commit(world, AT5)


def test_an_id_that_the_coordinator_does_not_know_has_metadata_asked_for() -> None:
    world = manual()
    world.cluster.ids = {"t1": b"1" * 16}
    outcome = fetch(world)
    world.find()
    asked = world.cluster.updates_asked
    world.answer(ApiKey.OFFSET_FETCH, codes={T11: E.UNKNOWN_TOPIC_ID})
    assert world.cluster.updates_asked > asked
    assert not outcome.calls
    world.run(500)
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result == {T10: None, T11: None}


# -- what is lost --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [World, ConsumerWorld])
def test_nothing_more_is_handed_over_of_what_is_told_to_be_lost(make: type[World]) -> None:
    world = make(config={"await_acknowledgement": True})
    world.become_stable()
    if make is World:
        world.run(3_000)
        world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    else:
        world.next_beat()
        world.refuse(E.UNKNOWN_MEMBER_ID)
    assert not world.host.suspended
    world.poll()
    assert world.new_events(PartitionsLost)
    assert world.host.suspended == {T10, T11}


@pytest.mark.parametrize("closes", [False, True])
def test_what_is_lost_is_not_kept_by_who_goes_before_that_is_acknowledged(closes: bool) -> None:
    world = ConsumerWorld(config={"await_acknowledgement": True})
    world.become_stable()
    world.next_beat()
    world.beat("t1-0")
    world.poll()
    world.ack()  # t1-1 goes, and t1-0 is kept
    world.ack()
    world.beat()
    assert world.host.owned == [T10]
    world.next_beat()
    world.refuse(E.UNKNOWN_MEMBER_ID)
    world.poll()
    assert world.new_events(PartitionsLost) == [PartitionsLost((T10,))]
    if closes:
        world.member.close(world.now, world.now + 1_000, autocommit=False)
    else:
        world.host.topics = []
        world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.ack()
    assert world.host.owned == []
    assert not world.new_events(PartitionsLost, PartitionsRevoked)


# -- out for good --------------------------------------------------------------------------------


def told_step(step: Step) -> World:
    """A static member whose listener is being told of something."""
    config: dict[str, object] = {"group_instance_id": "i", "await_acknowledgement": True}
    if step is Step.SHEDDING:
        config["assignors"] = (CooperativeRange(),)
    world = World(config=config)
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    if step is not Step.REVOKING:
        world.ack()
        world.join("t1-0")
        world.poll()
    assert world.member.step is step
    world.new_events()
    return world


@pytest.mark.parametrize("polls_first", [False, True])
@pytest.mark.parametrize("step", [Step.REVOKING, Step.SHEDDING, Step.ASSIGNING])
def test_who_is_fenced_while_its_listener_is_told_of_something_stays_out(
    step: Step, polls_first: bool
) -> None:
    world = told_step(step)
    joins = world.count(ApiKey.JOIN_GROUP)
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.FENCED_INSTANCE_ID)
    if polls_first:
        world.poll()
    world.ack()
    world.settle()
    world.poll()
    world.run(5_000, poll_every=1_000)
    raised = world.new_events(ErrorRaised)
    assert raised
    assert all(isinstance(event.error, FencedInstanceIdError) for event in raised)
    assert world.host.owned == []
    assert world.count(ApiKey.JOIN_GROUP) == joins


@pytest.mark.parametrize("polls_first", [False, True])
@pytest.mark.parametrize("step", [Step.SHEDDING, Step.ASSIGNING])
def test_whom_the_coordinator_refuses_while_its_listener_is_told_of_something_stays_out(
    step: Step, polls_first: bool
) -> None:
    world = ConsumerWorld(config={"await_acknowledgement": True})
    world.become_stable()
    world.next_beat()
    world.beat("t1-0")
    world.poll()
    if step is Step.ASSIGNING:
        world.ack()
    assert world.member.step is step
    world.new_events()
    world.run(INTERVAL_MS)
    world.refuse(E.GROUP_AUTHORIZATION_FAILED)
    beats = world.count(BEAT)
    if polls_first:
        world.poll()
    world.ack()
    world.poll()
    world.run(3 * INTERVAL_MS, poll_every=1_000)
    raised = world.new_events(ErrorRaised)
    assert raised
    assert all(isinstance(event.error, GroupAuthorizationFailedError) for event in raised)
    assert world.host.owned == []
    assert world.count(BEAT) == beats
