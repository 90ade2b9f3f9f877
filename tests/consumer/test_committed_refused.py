"""Partitions of which a coordinator refuses to say what is committed: who else reads on, how often
it is asked, what the application is told. Java 4.3.1: ConsumerCoordinator, CommitRequestManager.
"""

import pytest
from scripted import ScriptedCluster, World
from test_core_world import drain, fill

from kcore.errors import (
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
)
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

OPEN = TopicPartition("open", 0)
SHUT = TopicPartition("shut", 0)


def world_of(code, *topics, times=None, **options):
    cluster = ScriptedCluster({"open": 1, "shut": 1})
    for topic in cluster.topics:
        fill(cluster, topic, partitions=1)
    cluster.group.offsets["open", 0] = (5, "m")
    cluster.refuse_offsets(code, *topics, times=times)
    world = World(cluster)
    client = world.client(group_id="g", **{"auto_offset_reset": "earliest"} | options)
    client.core.assign([OPEN, SHUT], world.now)
    client.drain()
    return world, cluster, client


def polled(world, client, within_ms):
    """What was read by then, and what polls have raised."""
    seen, raised = {}, []
    for _ in range(within_ms // 100):
        world.run(100, polls_ms=50)
        try:
            found = client.take()
        except KafkaError as error:
            raised.append(error)
            continue
        for tp, records in found.items():
            seen.setdefault(tp, []).extend(record.offset for record in records)
    return seen, raised


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailedError),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopicOrPartitionError),
    ],
)
def test_others_are_read_while_one_is_refused_and_nothing_spins(code, expected):
    world, cluster, client = world_of(code, "shut")
    seen, raised = polled(world, client, 20_000)
    assert seen == {OPEN: list(range(5, 20))}
    assert raised
    assert {type(error) for error in raised} == {expected}
    assert "shut-0" in str(raised[0])
    assert raised[0].failed.keys() == {SHUT}
    assert 2 <= cluster.count(ApiKey.OFFSET_FETCH) <= 40, cluster.count(ApiKey.OFFSET_FETCH)


def test_it_is_read_from_what_is_committed_as_soon_as_that_is_told():
    world, cluster, client = world_of(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "shut")
    cluster.group.offsets["shut", 0] = (7, "")
    _, raised = polled(world, client, 2_000)
    assert raised[0].topics == {"shut"}
    del cluster.script[ApiKey.OFFSET_FETCH]
    seen, _ = polled(world, client, 5_000)
    assert seen == {SHUT: list(range(7, 20))}


@pytest.mark.parametrize(
    "code", [ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.UNKNOWN_TOPIC_ID], ids=lambda c: c.name
)
def test_others_are_read_while_one_has_to_wait(code):
    world, _, client = world_of(code, "shut", times=8)
    seen, raised = polled(world, client, 1_000)
    assert (seen, raised) == ({OPEN: list(range(5, 20))}, [])
    assert drain(world, [client], 20) == {SHUT: list(range(20))}


def test_who_waits_too_long_is_told_for_what():
    world, _, client = world_of(ErrorCode.UNSTABLE_OFFSET_COMMIT, "shut")
    seen, raised = polled(world, client, 61_000)
    assert seen == {OPEN: list(range(5, 20))}
    (error,) = raised
    assert isinstance(error, KafkaTimeoutError)
    assert "shut-0" in str(error)
    assert {tp: type(one) for tp, one in error.failed.items()} == {SHUT: UnstableOffsetCommitError}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], ids=lambda c: c.name
)
def test_what_a_coordinator_does_not_know_for_long_is_not_passed_over(code, protocol):
    """Java's consumer of the new protocol begins there by the reset policy after a minute, and says
    nothing: with "latest", behind what nobody has read.
    """
    world, cluster, client = world_of(
        code, "shut", auto_offset_reset="latest", group_protocol=protocol
    )
    cluster.group.offsets["shut", 0] = (7, "")
    seen, raised = polled(world, client, 130_000)
    assert seen == {OPEN: list(range(5, 20))}
    assert raised
    assert all("shut-0" in str(error) for error in raised)
    assert cluster.count(ApiKey.OFFSET_FETCH) <= 300, cluster.count(ApiKey.OFFSET_FETCH)
    del cluster.script[ApiKey.OFFSET_FETCH]
    seen, _ = polled(world, client, 5_000)
    assert seen == {SHUT: list(range(7, 20))}


def test_a_call_says_what_was_found_and_what_was_not():
    world, _, client = world_of(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "shut")
    with pytest.raises(TopicAuthorizationFailedError, match="shut-0") as caught:
        client.result(client.core.committed([OPEN, SHUT], world.now, 5_000))
    error = caught.value
    assert error.topics == {"shut"}
    assert {tp: type(one) for tp, one in error.failed.items()} == {
        SHUT: TopicAuthorizationFailedError
    }
    assert error.done == {OPEN: OffsetAndMetadata(5, "m", -1)}


def test_a_call_is_one_answer_whatever_it_had_to_wait_for():
    """What is told together was true together: a transaction commits its offsets at once."""
    world, cluster, client = world_of(ErrorCode.UNSTABLE_OFFSET_COMMIT, "shut", times=2)
    operation = client.core.committed([OPEN, SHUT], world.now, 5_000)
    client.drain()
    world.run(50, polls_ms=10)
    cluster.group.offsets |= {("open", 0): (9, ""), ("shut", 0): (9, "")}
    assert client.result(operation) == {
        OPEN: OffsetAndMetadata(9, "", -1),
        SHUT: OffsetAndMetadata(9, "", -1),
    }


def test_a_close_does_not_wait_for_what_was_refused():
    world, _, client = world_of(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "shut")
    polled(world, client, 2_000)
    world.inputs = 0
    client.core.close(world.now, 5_000)
    client.drain()
    world.run(5_000)
    assert client.core.closed
    assert world.inputs < 50
