"""Share groups as administrators see them: options, offsets, where their state is kept."""

from dataclasses import replace

import pytest
from broker_world import World
from kafka_reading import as_kafka_reads
from share_world import ACCEPT, REJECT, RELEASE, Member, ShareWorld

from kcore.broker import BrokerConfig
from kcore.broker.share.batches import Run
from kcore.broker.share.keeping import (
    STATE_PARTITIONS,
    Kept,
    ShareStates,
    coordinator_key,
    is_coordinator_key,
    state_partition,
)
from kcore.broker.share.states import RecordState
from kcore.coordinator import CoordinatorConfig
from kcore.errors import CorruptRecordError, KafkaConfigurationError
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

GROUP = 32
T = ("t", 0)


def alter_options(client, group, **options):
    R = m.IncrementalAlterConfigsRequest
    configs = [
        R.AlterableConfig(
            name=f"share.{name.replace('_', '.')}",
            config_operation=1 if value is None else 0,
            value=value,
        )
        for name, value in options.items()
    ]
    entry = R.AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=configs)
    (answer,) = client.ask(R(resources=[entry]), 1).responses
    return answer.error_code


def options_of(client, group):
    D = m.DescribeConfigsRequest
    entry = D.DescribeConfigsResource(
        resource_type=GROUP, resource_name=group, configuration_keys=None
    )
    (answer,) = client.ask(D(resources=[entry]), 4).results
    assert not answer.error_code
    return {one.name: (one.value, one.config_source) for one in answer.configs}


def offsets_of(client, group="g"):
    R = m.DescribeShareGroupOffsetsRequest
    asked = R.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    (found,) = client.ask(R(groups=[asked]), 1).groups
    assert not found.error_code
    return {
        (topic.topic_name, one.partition_index): (one.start_offset, one.lag)
        for topic in found.topics
        for one in topic.partitions
    }


def alter_offset(client, offset, partition=0):
    R = m.AlterShareGroupOffsetsRequest
    part = R.AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
    topic = R.AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=[part])
    answer = client.ask(R(group_id="g", topics=[topic]), 0)
    return answer.error_code or answer.responses[0].partitions[0].error_code


def delete_offsets(client, topic="t"):
    R = m.DeleteShareGroupOffsetsRequest
    named = R.DeleteShareGroupOffsetsRequestTopic(topic_name=topic)
    answer = client.ask(R(group_id="g", topics=[named]), 0)
    return answer.error_code or answer.responses[0].error_code


def beat(client, member="m1", epoch=0, topics=("t",)):
    request = m.ShareGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=epoch,
        subscribed_topic_names=list(topics) if epoch == 0 else None,
    )
    answer = client.ask(request, 1)
    assert not answer.error_code, answer
    return answer


# Options -----------------------------------------------------------------------------------------


def test_options_of_a_group_are_kept_and_shown():
    client = World().client()
    assert options_of(client, "g")["share.record.lock.duration.ms"] == ("30000", 5)
    assert alter_options(client, "g", record_lock_duration_ms="20000") == E.NONE
    assert options_of(client, "g")["share.record.lock.duration.ms"] == ("20000", 8)
    assert options_of(client, "h")["share.record.lock.duration.ms"] == ("30000", 5)
    assert alter_options(client, "g", record_lock_duration_ms="1000") == E.INVALID_CONFIG
    assert alter_options(client, "g", record_lock_duration_ms=None) == E.NONE
    assert options_of(client, "g")["share.record.lock.duration.ms"] == ("30000", 5)


def test_nodes_have_defaults_and_bounds():
    coordinator = CoordinatorConfig(
        group_share_min_record_lock_duration_ms=1_000, group_share_record_lock_duration_ms=2_000
    )
    world = World(config=BrokerConfig(coordinator=coordinator))
    client = world.client()
    assert options_of(client, "g")["share.record.lock.duration.ms"] == ("2000", 4)
    assert alter_options(client, "g", record_lock_duration_ms="1000") == E.NONE
    assert world.cluster.share_options("g").record_lock_duration_ms == 1_000


def test_how_soon_a_target_may_follow_another():
    client = World().client()
    name = "share.assignment.interval.ms"
    assert options_of(client, "g")[name] == ("0", 4)  # of a BrokerConfig that is not told otherwise
    for value, code in (("0", E.NONE), ("15000", E.NONE), ("15001", E.INVALID_CONFIG)):
        assert alter_options(client, "g", assignment_interval_ms=value) == code
    assert alter_options(client, "g", assignment_interval_ms="-1") == E.INVALID_CONFIG
    assert options_of(client, "g")[name] == ("15000", 8)


def test_a_session_outlasts_a_heartbeat():
    coordinator = CoordinatorConfig(
        group_share_min_session_timeout_ms=1_000, group_share_max_heartbeat_interval_ms=60_000
    )
    client = World(config=BrokerConfig(coordinator=coordinator)).client()
    options = {"session_timeout_ms": "9000", "heartbeat_interval_ms": "9000"}
    assert alter_options(client, "g", **options) == E.INVALID_CONFIG
    options["session_timeout_ms"] = "9001"
    assert alter_options(client, "g", **options) == E.NONE


@pytest.mark.parametrize(
    "options",
    [
        {"group_share_session_timeout_ms": 5_000},
        {"group_share_session_timeout_ms": 70_000},
        {"group_share_max_size": 0},
        {"group_share_assignment_interval_ms": -1},
        {"group_share_assignment_interval_ms": 15_001},
        {"group_share_delivery_count_limit": 11},
        {"group_share_min_delivery_count_limit": 0},
    ],
)
def test_nodes_cannot_have_these(options):
    with pytest.raises(KafkaConfigurationError):
        CoordinatorConfig(**options)


# Offsets -----------------------------------------------------------------------------------------


def test_lag_is_what_is_not_done():
    world = ShareWorld(partitions=2)
    member = Member(world)
    beat(member.client)
    assert offsets_of(member.client) == {T: (-1, -1), ("t", 1): (-1, -1)}
    for text in "abcdef":
        world.put(text)
    member.take(T)
    member.say(0, 4, ACCEPT, ACCEPT, RELEASE, REJECT, ACCEPT)
    assert offsets_of(member.client) == {T: (2, 2), ("t", 1): (-1, -1)}  # 2 and 5 are left
    world.put("g")
    assert offsets_of(member.client)[T] == (2, 3)
    member.take()
    member.say(2, 2, ACCEPT)
    assert offsets_of(member.client)[T] == (5, 2)


def test_offsets_are_altered_while_nobody_is_there():
    world = ShareWorld()
    for text in "abcdef":
        world.put(text)
    member = Member(world)
    beat(member.client)
    member.take(T)
    member.say(0, 3, ACCEPT)
    assert alter_offset(member.client, 1) == E.NON_EMPTY_GROUP
    beat(member.client, epoch=-1)
    assert alter_offset(member.client, 1, partition=5) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert alter_offset(member.client, 1) == E.NONE
    assert offsets_of(member.client)[T] == (1, 5)
    assert member.take() == {T: [(1, 5, 1)]}  # as if nothing had been delivered
    assert member.say(1, 5, ACCEPT) == E.NONE


def test_a_group_is_made_by_its_offsets():
    world = ShareWorld()
    for text in "abc":
        world.put(text)
    client = world.client()
    assert alter_offset(client, 2) == E.NONE
    listed = client.ask(m.ListGroupsRequest(), 5).groups
    assert [(one.group_id, one.group_type, one.group_state) for one in listed] == [
        ("g", "share", "Empty")
    ]
    member = Member(world)
    assert beat(client).member_epoch >= 1
    assert member.take(T) == {T: [(2, 2, 1)]}


def test_offsets_are_deleted():
    world = ShareWorld()
    world.put("a")
    member = Member(world)
    assert delete_offsets(member.client) == E.GROUP_ID_NOT_FOUND
    beat(member.client)
    member.take(T)
    member.say(0, 0, ACCEPT)
    assert delete_offsets(member.client) == E.NON_EMPTY_GROUP
    beat(member.client, epoch=-1)
    assert delete_offsets(member.client, "unknown") == E.UNKNOWN_TOPIC_OR_PARTITION
    assert delete_offsets(member.client) == E.NONE
    assert offsets_of(member.client) == {}
    assert delete_offsets(member.client) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert member.take() == {T: [(0, 0, 1)]}  # it begins anew


def test_offsets_of_one_topic_are_deleted_and_nothing_of_another():
    world = ShareWorld()
    world.topic("u")
    world.put("a")
    world.put("b", topic="u")
    member = Member(world)
    beat(member.client, topics=("t", "u"))
    member.take(T, ("u", 0))
    beat(member.client, epoch=-1)  # and its session goes on, with what it has acquired
    assert delete_offsets(member.client, "u") == E.NONE
    assert member.say(0, 0, ACCEPT, part=("u", 0)) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert member.say(0, 0, ACCEPT) == E.NONE
    assert offsets_of(member.client) == {T: (1, 0)}


def test_a_group_that_is_deleted_has_read_nothing():
    world = ShareWorld()
    world.put("a")
    member = Member(world)
    beat(member.client)
    member.take(T)
    member.say(0, 0, ACCEPT)
    beat(member.client, epoch=-1)
    (one,) = member.client.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert one.error_code == E.NONE
    assert member.take() == {T: [(0, 0, 1)]}


def test_a_topic_that_is_made_anew_is_another_one():
    world = ShareWorld()
    world.put("a")
    member = Member(world)
    beat(member.client)
    member.take(T)
    member.say(0, 0, ACCEPT)
    world.cluster.delete(world.cluster.topics.get("t"), world.now_ms)
    assert offsets_of(member.client) == {}
    world.topic("t")
    world.put("b")
    assert beat(member.client).assignment.topic_partitions[0].topic_id == world.id_of("t")
    assert offsets_of(member.client) == {T: (-1, -1)}
    member.epoch = 0
    assert member.take(T) == {T: [(0, 0, 1)]}


# Where it is kept --------------------------------------------------------------------------------


def find(client, key, version=6, kind=2):
    request = m.FindCoordinatorRequest(coordinator_keys=[key], key_type=kind)
    (found,) = client.ask(request, version).coordinators
    return found.error_code, found.node_id


def test_somebody_keeps_every_share_partition():
    world = World(nodes=3)
    client = world.client()
    found = {find(client, coordinator_key(("g", bytes([n]) * 16, n))) for n in range(1, 100)}
    assert found == {(0, 1), (0, 2), (0, 3)}
    for key in ("", "g", "g:x:0", ":AAAAAAAAAAAAAAAAAAAAAA:0", "g:AAAAAAAAAAAAAAAAAAAAAA:x"):
        assert find(client, key) == (E.INVALID_REQUEST, -1)
        assert not is_coordinator_key(key)
    good = "g:AAAAAAAAAAAAAAAAAAAAAA:0"
    assert find(client, good)[0] == E.NONE
    assert find(client, good, version=5) == (E.INVALID_REQUEST, -1)
    assert find(client, good, kind=3) == (E.INVALID_REQUEST, -1)


def test_what_is_kept_is_read_again():
    world = World()
    key = ("g", b"7" * 16, 3)
    runs = [Run(4, 9, RecordState.ACKNOWLEDGED, 1), Run(10, 10, RecordState.AVAILABLE, 2)]
    world.cluster.share_states.put(key, Kept(2, 5, 4, runs), 1_000)
    again = ShareStates(world.cluster.share_journal)
    found = again.get(key)
    assert found == Kept(2, 5, 4, runs)
    assert found.complete_count == 6
    again.forget("h")
    assert ShareStates(world.cluster.share_journal).get(key) == found
    again.forget("g", [b"8" * 16])
    assert ShareStates(world.cluster.share_journal).get(key) == found
    again.forget("g", [b"7" * 16])
    assert ShareStates(world.cluster.share_journal).get(key) is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda value: value[:-1],
        lambda value: value.replace(bytes([RecordState.ACKNOWLEDGED, 0, 1]), bytes([5, 0, 1])),
    ],
    ids=["cut", "no state"],
)
def test_what_cannot_be_read_is_said(spoil):
    world = World()
    key = ("g", b"7" * 16, 3)
    runs = [Run(4, 9, RecordState.ACKNOWLEDGED, 1)]
    world.cluster.share_states.put(key, Kept(start_offset=4, batches=runs), 1_000)
    journal = world.cluster.share_journal(state_partition(key))
    (entry,) = journal.entries()
    spoiled = spoil(entry.value)
    assert spoiled != entry.value
    journal.append([replace(entry, value=spoiled)])
    with pytest.raises(CorruptRecordError):
        ShareStates(world.cluster.share_journal).get(key)


@pytest.mark.kafka
def test_kafka_reads_what_we_keep():
    world = ShareWorld()
    for text in "abcdef":
        world.put(text)
    member = Member(world)
    member.take(T)
    member.say(0, 3, ACCEPT, RELEASE, REJECT, ACCEPT)
    entries = [
        entry
        for number in range(STATE_PARTITIONS)
        for entry in world.cluster.share_journal(number).entries()
    ]
    (said,) = as_kafka_reads("__share_group_state", entries)
    assert said["value"]["data"]["startOffset"] == 1
    states = [
        (one["firstOffset"], one["lastOffset"], one["deliveryState"], one["deliveryCount"])
        for one in said["value"]["data"]["stateBatches"]
    ]
    assert states == [(1, 1, 0, 1), (2, 2, 4, 1), (3, 3, 2, 1)]
