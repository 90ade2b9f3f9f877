"""Membership in a share group: the whole core against a scripted cluster."""

import random

import pytest
from scripted_share import ShareClient, asked, raised, values

from kcore import errors
from kcore.events import (
    Closed,
    GroupJoined,
    GroupLeft,
    HeartbeatAnswered,
    PartitionsAssigned,
)
from kcore.share.membership import make_member_id
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0 = TopicPartition("t", 0)


def test_it_joins_reads_accepts_and_leaves(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled()) == list(range(10))
    assert client.polled(1_000) == []
    assert cluster.done() == list(range(10))
    (joined,) = client.of(GroupJoined)
    assert joined.member_id == client.core.member_id
    client.close()
    assert cluster.members == {}
    assert cluster.sessions == {}
    assert [event.reason for event in client.of(GroupLeft)] == ["the consumer was closed"]
    assert client.of(Closed)


def test_heartbeats_say_what_is_new(cluster, world):
    client = ShareClient(world, {"client_rack": "r"}).subscribe("t")
    world.run(12_000, polls_ms=500)
    first, *rest = asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)
    assert (first.group_id, first.member_epoch, first.rack_id) == ("g", 0, "r")
    assert first.subscribed_topic_names == ["t"]
    assert {(one.member_epoch, one.rack_id, one.subscribed_topic_names) for one in rest} == {
        (cluster.epoch, None, None)
    }
    cluster.topics["u"] = 1
    cluster.topic_ids["u"] = b"u" * 16
    client.subscribe("t", "u")
    world.run(100)
    last = asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)[-1]
    assert (last.rack_id, last.subscribed_topic_names) == (None, ["t", "u"])
    world.run(1_000)
    assert client.core.assignment() == {T0, TopicPartition("u", 0)}


def test_one_heartbeat_at_a_time_whatever_is_new(cluster, world):
    cluster.topics["u"] = 1
    cluster.topic_ids["u"] = b"u" * 16
    client = ShareClient(world, {}).subscribe("t")
    world.run(200)
    answer, late = cluster._share_group_heartbeat, []
    cluster._share_group_heartbeat = lambda *given: late.append(given)
    for topics in (("t", "u"), ("u",), ("t", "u")):
        client.subscribe(*topics)
        world.run(100)
    assert len(late) == 1
    answer(*late.pop())
    world.run(100)
    assert late == []  # all is said that there is to say
    client.subscribe("u")
    world.run(100)
    assert [given[1].message.subscribed_topic_names for given in late] == [["u"]]


def test_who_hears_of_an_epoch_without_an_assignment_asks_for_all(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    # Told to a heartbeat that had lingered on a connection that is gone.
    cluster.topics["t"] = 2
    cluster.epoch += 1
    world.run(6_000, polls_ms=500)
    assert client.core.assignment() == {T0}
    world.run(5_000, polls_ms=500)
    assert client.core.assignment() == {T0, TopicPartition("t", 1)}
    said = [one.subscribed_topic_names for one in asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)]
    assert said == [["t"], None, ["t"]]


def test_topics_are_told_again_when_a_join_may_have_come_behind_them(cluster, world):
    """It had lingered with fewer topics on a connection that is gone: nobody was given the rest."""
    cluster.topics["u"], cluster.topic_ids["u"] = 1, b"u" * 16
    client = ShareClient(world, {}).subscribe("t", "u")
    client.polled()
    cluster.epoch += 1
    assignment = m.ShareGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            m.ShareGroupHeartbeatResponse.TopicPartitions(
                topic_id=cluster.topic_ids["t"], partitions=[0]
            )
        ]
    )
    answers = iter(
        [
            m.ShareGroupHeartbeatResponse(
                member_epoch=cluster.epoch, heartbeat_interval_ms=5_000, assignment=assignment
            )
        ]
    )
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: next(answers, None)
    world.run(6_000, polls_ms=500)
    assert [len(event.partitions) for event in client.of(PartitionsAssigned)] == [2, 1, 2]
    said = [one.subscribed_topic_names for one in asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)]
    assert said[:3] == [["t", "u"], None, ["t", "u"]]
    assert not any(said[3:])


@pytest.mark.parametrize(
    "code",
    [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND],
    ids=lambda one: one.name,
)
def test_who_is_not_known_any_more_joins_anew_under_its_id(cluster, world, code):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    answers = iter([m.ShareGroupHeartbeatResponse(error_code=code)])
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: next(answers, None)
    world.run(6_000, polls_ms=500)
    assert len(client.of(GroupJoined)) == 2
    assert len({event.member_id for event in client.of(GroupJoined)}) == 1
    assert [len(event.partitions) for event in client.of(PartitionsAssigned)] == [1, 0, 1]


@pytest.mark.parametrize("again", ["refused", "subscribed"])
def test_who_joins_anew_says_all_of_itself_once(cluster, world, again):
    client = ShareClient(world, {"client_rack": "r"}).subscribe("t")
    client.polled()
    if again == "refused":
        refused = m.ShareGroupHeartbeatResponse(error_code=ErrorCode.FENCED_MEMBER_EPOCH)
        answers = iter([refused])
        cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: next(answers, None)
        world.run(6_000, polls_ms=500)
    else:
        client.core.unsubscribe(world.now)
        world.run(100)
        client.subscribe("t")
    world.run(12_000, polls_ms=500)
    beats = asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)
    full = [(one.member_epoch, one.rack_id) for one in beats if one.subscribed_topic_names]
    assert full == [(0, "r"), (0, "r")]
    assert len(beats) > 4


def test_who_is_never_taken_back_does_not_spin(cluster, world):
    code = ErrorCode.UNKNOWN_MEMBER_ID
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: m.ShareGroupHeartbeatResponse(
        error_code=code
    )
    ShareClient(world, {}).subscribe("t")
    world.run(10_000, polls_ms=500)
    assert 8 <= cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) <= 25


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNSUPPORTED_VERSION,
    ],
    ids=lambda one: one.name,
)
def test_what_only_others_can_mend_is_raised_by_every_poll(cluster, world, code):
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: m.ShareGroupHeartbeatResponse(
        error_code=code, error_message="why not"
    )
    client = ShareClient(world, {}).subscribe("t")
    world.run(3_000)
    (error,) = raised(client)
    assert type(error) is errors.for_code(code)
    assert "why not" in str(error)
    client.poll()
    assert len(raised(client)) == 2
    world.run(60_000)
    assert cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) == 1
    cluster.script.clear()
    client.core.unsubscribe(world.now)
    client.subscribe("t")
    assert values(client.polled()) == list(range(10))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
    ids=lambda one: one.name,
)
def test_what_passes_is_tried_again(cluster, world, code):
    left = [3]

    def refuse(*_):
        left[0] -= 1
        return m.ShareGroupHeartbeatResponse(error_code=code) if left[0] >= 0 else None

    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = refuse
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(10_000)) == list(range(10))
    said = [errors.TopicAuthorizationFailedError] * 3
    wanted = said if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED else []
    assert [type(error) for error in raised(client)] == wanted
    moved = code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
    assert cluster.count(ApiKey.FIND_COORDINATOR) == (4 if moved else 1)


def test_brokers_without_share_groups_are_named(cluster, world):
    del cluster.apis[ApiKey.SHARE_GROUP_HEARTBEAT]
    client = ShareClient(world, {}).subscribe("t")
    world.run(2_000)
    (error,) = raised(client)
    assert isinstance(error, errors.UnsupportedVersionError)
    assert "Apache Kafka 4.1" in str(error)


@pytest.mark.parametrize(("epoch", "interval_ms"), [(0, 5_000), (1, 0), (-1, 5_000), (1, -1)])
def test_an_answer_that_cannot_be_meant_is_as_none(cluster, world, epoch, interval_ms):
    odd = m.ShareGroupHeartbeatResponse(member_epoch=epoch, heartbeat_interval_ms=interval_ms)
    answers = iter([odd] * 2)
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: next(answers, None)
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(10_000)) == list(range(10))
    assert len(client.of(GroupJoined)) == 1
    said = [type(event.error) for event in client.of(HeartbeatAnswered)]
    assert said[:3] == [errors.Unexpected] * 2 + [type(None)]


def test_a_group_whose_coordinator_is_refused_is_told_by_every_poll(cluster, world):
    found = m.FindCoordinatorResponse.Coordinator(
        key="g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
    )
    cluster.script[ApiKey.FIND_COORDINATOR] = lambda *_: m.FindCoordinatorResponse(
        coordinators=[found]
    )
    client = ShareClient(world, {}).subscribe("t")
    world.run(3_000)
    assert [type(error) for error in raised(client)] == [errors.GroupAuthorizationFailedError]
    client.poll()
    assert len(raised(client)) == 2
    world.run(60_000)
    assert cluster.count(ApiKey.FIND_COORDINATOR) == 1


def test_a_poll_without_a_subscription_raises_nothing(cluster, world):
    client = ShareClient(world, {})
    client.poll()
    assert raised(client) == []
    client.subscribe("t").polled()
    client.core.unsubscribe(world.now)
    client.poll()
    assert raised(client) == []


def test_pauses_between_heartbeats_in_vain_grow(cluster, world):
    refusal = m.ShareGroupHeartbeatResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: refusal
    ShareClient(world, {}).subscribe("t")
    world.run(10_000, polls_ms=500)
    assert 8 <= cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) <= 25


def test_who_is_given_nothing_asks_soon_a_few_times_and_then_as_told(cluster, world):
    nothing = m.ShareGroupHeartbeatResponse(
        member_epoch=1,
        heartbeat_interval_ms=5_000,
        assignment=m.ShareGroupHeartbeatResponse.Assignment(topic_partitions=[]),
    )
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: nothing
    ShareClient(world, {}).subscribe("t")
    world.run(10_000, polls_ms=500)
    soon = cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT)
    assert 4 <= soon <= 15
    world.run(50_000, polls_ms=500)
    assert cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) - soon in {9, 10, 11}


def test_who_loses_a_topic_asks_soon_for_the_one_that_may_have_its_name(cluster, world):
    ShareClient(world, {}).subscribe("t")
    world.run(20_000, polls_ms=500)
    before = cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT)
    nothing = m.ShareGroupHeartbeatResponse(
        member_epoch=cluster.epoch,
        heartbeat_interval_ms=5_000,
        assignment=m.ShareGroupHeartbeatResponse.Assignment(topic_partitions=[]),
    )
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: nothing
    world.run(10_000, polls_ms=500)
    assert 6 <= cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) - before <= 15


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_who_hears_that_a_topic_was_made_anew_asks_at_once(cluster, world, release):
    client = ShareClient(world, {"metadata_max_age_ms": 300_000}).subscribe("t")
    client.polled()
    client.polled(20_000)
    before = cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT)
    R = m.ShareFetchResponse
    refusal = R(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    if release == "4.4":
        part = R.PartitionData(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, records=b"")
        topic = R.ShareFetchableTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
        refusal = R(responses=[topic])
    answers = iter([refusal])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    cluster.topic_ids["t"] = b"n" * 16
    client.polled(2_000)
    assert cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) > before
    assert client.core.assignment() == set()  # until the coordinator says so of the new one


def test_who_goes_while_nobody_knows_the_coordinator_says_so_once_it_is_known(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    moved = m.ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: moved
    while not any(event.error for event in client.of(HeartbeatAnswered)):
        world.run(1)
    cluster.script.clear()
    client.core.unsubscribe(world.now)
    assert len(cluster.members) == 1
    world.run(1_000)
    assert cluster.members == {}
    said = cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT)
    assert asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)[-1].member_epoch == -1
    world.run(60_000)
    assert cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) == said


@pytest.mark.parametrize("known", [False, True])
def test_a_close_waits_until_the_coordinator_has_heard_of_it(cluster, world, known):
    client = ShareClient(world, {}).subscribe("t")
    world.run(200)  # without a poll: no session is to be ended beside it
    assert cluster.members
    if not known:
        find = cluster._find_coordinator
        cluster._find_coordinator = lambda node, request, reply: find(
            node, request, lambda body: reply(body, delay_ms=300)
        )
        moved = m.ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
        cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: moved
        while not any(event.error for event in client.of(HeartbeatAnswered)):
            world.run(1)
        cluster.script.clear()
    answer, late = cluster._share_group_heartbeat, []
    cluster._share_group_heartbeat = lambda *given: late.append(given)
    client.core.close(world.now, 5_000)
    client.drain()
    world.run(1_000)
    assert late
    assert not client.of(Closed)
    began_at = world.now
    answer(*late[0])
    while not client.of(Closed):
        world.run(1)
    assert world.now - began_at < 100
    assert cluster.members == {}


def test_who_never_polls_leaves_as_well(cluster, world):
    client = ShareClient(world, {"max_poll_interval_ms": 3_000}).subscribe("t")
    world.run(2_900)
    assert len(cluster.members) == 1
    world.run(1_000)
    assert cluster.members == {}
    assert client.core.assignment() == set()
    assert [event.generation for event in client.of(PartitionsAssigned)][-1] == 0


def test_no_member_id_begins_with_a_dash():
    """Tools would take it for an option of theirs."""

    class Rng(random.Random):
        def getrandbits(self, bits):
            return next(numbers)

    with_dash, without = 0b111110 << 122, 0b111101 << 122
    numbers = iter([with_dash, with_dash, without])
    assert make_member_id(Rng()).startswith("9")


def test_who_polls_stays(cluster, world):
    client = ShareClient(world, {"max_poll_interval_ms": 3_000}).subscribe("t")
    world.run(12_000, polls_ms=1_000)
    assert client.of(GroupLeft) == []
    assert len(cluster.members) == 1


def test_who_does_not_poll_leaves_and_comes_back_with_the_next_poll(cluster, world):
    client = ShareClient(world, {"max_poll_interval_ms": 3_000}).subscribe("t")
    client.polled(max_records=4)
    world.run(4_000)
    assert cluster.members == {}
    assert "max_poll_interval_ms=3000" in client.of(GroupLeft)[0].reason
    assert client.core.assignment() == set()
    assert values(client.polled()) == list(range(4, 10))  # which it had, and has still
    world.run(100)
    assert len(cluster.members) == 1


def test_a_group_that_begins_to_exist_is_asked_again_soon(cluster, world):
    nothing = m.ShareGroupHeartbeatResponse.Assignment(topic_partitions=[])
    answers = iter(
        [
            m.ShareGroupHeartbeatResponse(
                member_epoch=1, heartbeat_interval_ms=5_000, assignment=nothing
            )
        ]
    )

    def late(_node, request):
        if (first := next(answers, None)) is not None:
            cluster.members[request.message.member_id] = ["t"]
            cluster.epoch = 1
            return first
        request.message.subscribed_topic_names = ["t"]
        return None

    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = late
    client = ShareClient(world, {}).subscribe("t")
    started = world.now
    assert client.polled(5_000)
    assert world.now - started < 1_000
