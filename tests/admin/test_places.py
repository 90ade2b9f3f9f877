"""Who is asked; operations side by side; procedures of several questions."""

import pytest
from scripted import CUT, SILENT
from scripted_admin import KEEP, T0, T1, T2, TOPIC, VERBS, admin_world

from kcore import errors
from kcore.admin import (
    AlterConfigOp,
    MemberToRemove,
    NewTopic,
    PartitionLag,
)
from kcore.admin.commits import (
    Target,
    alter_group_offsets,
    delete_group_offsets,
    lag,
    list_group_offsets,
    reset_group_offsets,
)
from kcore.admin.configs import alter_configs, reset_configs
from kcore.admin.groups import delete_groups, describe_groups, list_groups, remove_group_members
from kcore.admin.offsets import list_partition_offsets
from kcore.admin.shares import alter_share_group_offsets, delete_share_group_offsets
from kcore.admin.topics import (
    create_topics,
    describe_topics,
    list_topics,
    wait_for_topics,
)
from kcore.broker.refusals import refusal
from kcore.errors import KafkaTimeoutError
from kcore.events import Closed, OperationCompleted
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreateTopicsResponse, MetadataResponse, OffsetFetchResponse


def by_name(api):
    return api.stem


# Who is asked -------------------------------------------------------------------------------------


def test_the_controller_is_asked_and_followed():
    _, cluster, client = admin_world()
    cluster.controller = 2

    def moves(node, request):
        if node == 2:
            cluster.controller = 3
            return refusal(request.message, request.api_version, ErrorCode.NOT_CONTROLLER)
        return None

    cluster.script[ApiKey.CREATE_TOPICS] = moves
    client.run(VERBS[ApiKey.CREATE_TOPICS]())
    assert cluster.who_was_asked(ApiKey.CREATE_TOPICS) == [2, 3]


def test_a_cluster_without_a_controller_is_waited_for():
    world, cluster, client = admin_world()
    cluster.controller = -1
    number = client.begin(VERBS[ApiKey.CREATE_TOPICS]())
    world.run(2_000)
    assert cluster.count(ApiKey.CREATE_TOPICS) == 0
    assert cluster.count(ApiKey.METADATA) < 20
    cluster.controller = 2
    client.result(number, 3_000)
    cluster.controller = -1
    with pytest.raises(KafkaTimeoutError, match="names none"):
        client.run(VERBS[ApiKey.CREATE_TOPICS](), 1_000)


def test_coordinators_are_asked_side_by_side_and_followed():
    _, cluster, client = admin_world()
    cluster.coordinators = {"g": 2, "h": 3, "i": 2}
    client.run(delete_groups(["g", "h", "i"], raise_errors=True))
    assert sorted(cluster.who_was_asked(ApiKey.DELETE_GROUPS)) == [2, 3]
    asked = {n: x.groups_names for n, a, x in cluster.asked if a is ApiKey.DELETE_GROUPS}
    assert asked == {2: ["g", "i"], 3: ["h"]}
    assert cluster.count(ApiKey.FIND_COORDINATOR) == 1
    cluster.asked.clear()
    cluster.first(ApiKey.DELETE_GROUPS, ErrorCode.NOT_COORDINATOR)
    client.run(delete_groups(["h"], raise_errors=True))
    assert cluster.count(ApiKey.FIND_COORDINATOR) == 2


def test_old_brokers_are_asked_for_one_coordinator_and_one_group_at_a_time():
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.FIND_COORDINATOR] = (0, 3)
    cluster.apis[ApiKey.OFFSET_FETCH] = (1, 7)
    cluster.apis[ApiKey.LEAVE_GROUP] = (0, 2)
    cluster.coordinators = {"g": 2, "h": 3, "i": 2}
    found = client.run(list_group_offsets({"g": [T0], "h": [T0], "i": [T0]}))
    assert list(found) == ["g", "h", "i"]
    assert cluster.count(ApiKey.FIND_COORDINATOR) == 3
    assert cluster.count(ApiKey.OFFSET_FETCH) == 3
    gone = [MemberToRemove("m"), MemberToRemove("n")]
    assert list(client.run(remove_group_members("g", gone, raise_errors=True))) == ["m", "n"]
    assert cluster.count(ApiKey.LEAVE_GROUP) == 2
    with pytest.raises(errors.UnsupportedVersionError, match="group_instance_id"):
        client.run(remove_group_members("g", [MemberToRemove(None, "i")], raise_errors=False))


def test_leaders_are_asked_and_followed():
    _, cluster, client = admin_world()
    client.run(list_partition_offsets({T0: -1, T1: -1, T2: -1}, 0))
    assert sorted(cluster.who_was_asked(ApiKey.LIST_OFFSETS)) == [1, 2, 3]
    cluster.asked.clear()
    cluster.first(ApiKey.LIST_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    client.run(list_partition_offsets({T0: -1}, 0))
    assert (cluster.count(ApiKey.METADATA), cluster.count(ApiKey.LIST_OFFSETS)) == (2, 2)


def test_a_partition_without_a_leader_is_waited_for():
    world, cluster, client = admin_world()
    leader_of, cluster.leader_of = cluster.leader_of, lambda _: -1
    number = client.begin(list_partition_offsets({T0: -1}, 0))
    world.run(3_000)
    assert cluster.count(ApiKey.LIST_OFFSETS) == 0
    cluster.leader_of = leader_of
    client.result(number, 2_000)


def test_a_partition_without_a_leader_is_in_no_others_way():
    _, cluster, client = admin_world()
    leader_of = cluster.leader_of
    cluster.leader_of = lambda partition: -1 if partition == 1 else leader_of(partition)
    wanted = {T0: -1, T1: -1, T2: -1}
    with pytest.raises(KafkaTimeoutError, match=r"offsets of t-1: .*no leader is elected") as late:
        client.run(list_partition_offsets(wanted, 0), 1_000)
    assert (set(late.value.done), set(late.value.failed)) == ({T0, T2}, {T1})
    with pytest.raises(KafkaTimeoutError, match="no leader is elected") as late:
        client.run(lag("g", [*wanted], 0), 1_000)
    assert (set(late.value.done), set(late.value.failed)) == ({T0, T2}, {T1})
    assert {type(one) for one in late.value.done.values()} == {PartitionLag}


def test_a_broker_that_leaves_while_all_are_asked_is_left_out():
    world, cluster, client = admin_world(request_timeout_ms=1_000)
    cluster.script[ApiKey.LIST_GROUPS] = lambda node, _: SILENT if node == 3 else None
    number = client.begin(list_groups(None, [], []))
    world.run(100)
    world.kill_node(3)
    client.result(number)
    assert cluster.who_was_asked(ApiKey.LIST_GROUPS).count(1) == 2  # what 3 had may be here now
    with pytest.raises(errors.BrokerNotAvailableError, match="has brokers 1, 2"):
        client.run(list_groups([3], [], []))


def test_a_peer_that_answers_for_others_is_not_believed():
    _, cluster, client = admin_world()
    R = CreateTopicsResponse
    foreign = R(topics=[R.CreatableTopicResult(name="another")])
    cluster.first(ApiKey.CREATE_TOPICS, foreign, foreign)
    rows = client.run(VERBS[ApiKey.CREATE_TOPICS]())["topics"]
    assert [row["name"] for row in rows] == ["a", "b"]
    assert cluster.count(ApiKey.CREATE_TOPICS) == 3


def test_an_answer_without_brokers_teaches_nothing():
    _, cluster, client = admin_world()
    nothing = MetadataResponse(controller_id=1)
    cluster.first(ApiKey.METADATA, nothing, nothing)
    client.run(VERBS[ApiKey.CREATE_TOPICS]())
    cluster.first(ApiKey.METADATA, nothing, nothing)
    client.run(list_groups([2], [], []))


# Operations ---------------------------------------------------------------------------------------


def test_operations_go_side_by_side():
    world, cluster, client = admin_world()
    cluster.script[ApiKey.CREATE_TOPICS] = lambda *_: SILENT
    slow = client.begin(VERBS[ApiKey.CREATE_TOPICS](), 10_000)
    client.run(list_partition_offsets({T1: -1}, 0), 1_000)  # of another node
    with pytest.raises(KafkaTimeoutError):
        client.result(slow)


def test_who_is_cancelled_asks_nothing_more_and_is_not_told_of():
    world, cluster, client = admin_world()
    cluster.script[ApiKey.CREATE_TOPICS] = lambda *_: CUT
    number = client.begin(VERBS[ApiKey.CREATE_TOPICS]())
    world.run(50)
    client.core.cancel(number)
    asked = len(cluster.asked)
    world.run(10_000)
    assert len(cluster.asked) == asked
    assert client.of(OperationCompleted) == []


def test_what_is_under_way_ends_with_the_client():
    world, cluster, client = admin_world()
    number = client.begin(VERBS[ApiKey.CREATE_TOPICS]())
    client.core.close(world.now)
    client.drain()
    with pytest.raises(errors.IllegalStateError, match="closed"):
        client.result(number)
    assert len(client.of(Closed)) == 1
    with pytest.raises(errors.IllegalStateError, match="closed"):
        client.begin(list_topics())
    client.core.close(world.now)
    client.drain()
    assert len(client.of(Closed)) == 1


@pytest.mark.parametrize("after_ms", range(12))
def test_a_client_that_was_struck_goes_on(after_ms):
    world, cluster, client = admin_world()
    number = client.begin(VERBS[ApiKey.DELETE_GROUPS]())
    world.run(after_ms)
    client.core.handle_interrupted(world.now)
    client.drain()
    ended = [event for event in client.of(OperationCompleted) if event.operation == number]
    assert len(ended) == 1
    client.run(VERBS[ApiKey.DELETE_GROUPS]())
    client.run(VERBS[ApiKey.LIST_OFFSETS]())


def test_an_idle_client_has_nothing_to_do_but_to_close_its_links():
    world, cluster, client = admin_world(connections_max_idle_ms=60_000)
    client.run(VERBS[ApiKey.LIST_OFFSETS]())
    asked, inputs = len(cluster.asked), world.inputs
    world.run(3_600_000)
    assert len(cluster.asked) == asked
    assert world.inputs - inputs < 10
    assert not client.links
    assert client.core.deadline() == NEVER
    client.run(VERBS[ApiKey.LIST_OFFSETS]())


# Procedures of several questions ------------------------------------------------------------------


def test_topics_are_waited_for_until_they_have_leaders():
    world, cluster, client = admin_world(topics={})
    made = create_topics([NewTopic("new", 2, 1)], validate_only=False, raise_errors=True, wait=True)
    number = client.begin(made)
    world.run(3_000)
    cluster.topics["new"] = 2
    leader_of, cluster.leader_of = cluster.leader_of, lambda _: -1
    world.run(3_000)
    assert client.of(OperationCompleted) == []
    cluster.leader_of = leader_of
    client.result(number, 2_000)
    with pytest.raises(KafkaTimeoutError, match="waiting for topic nope"):
        client.run(wait_for_topics(["new", "nope"]), 500)


def test_a_reset_that_cannot_find_an_offset_commits_nothing():
    _, cluster, client = admin_world()
    cluster.always(ApiKey.LIST_OFFSETS, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(errors.TopicAuthorizationFailedError, match="resetting group g"):
        client.run(reset_group_offsets("g", {T0: Target(timestamp=-2)}, raise_errors=False))
    assert cluster.count(ApiKey.OFFSET_COMMIT) == 0


def test_entries_that_were_set_are_what_a_reset_without_names_takes_back():
    _, cluster, client = admin_world()
    client.run(reset_configs({TOPIC: []}, **KEEP))
    assert cluster.count(ApiKey.DESCRIBE_CONFIGS) == 1
    assert cluster.count(ApiKey.INCREMENTAL_ALTER_CONFIGS) == 1


def test_groups_are_looked_for_in_both_protocols():
    _, cluster, client = admin_world()
    cluster.first(ApiKey.CONSUMER_GROUP_DESCRIBE, ErrorCode.GROUP_ID_NOT_FOUND)
    found = client.run(describe_groups(["g", "h"], operations=True))
    assert {row["group_type"] for row in found.values()} == {"classic"}
    assert cluster.count(ApiKey.FIND_COORDINATOR) == 1
    for code in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST):
        cluster.always(ApiKey.CONSUMER_GROUP_DESCRIBE, code)
        row = client.run(describe_groups(["g"], operations=False))["g"]
        assert (row["error"][:4], row["members"]) == (f"[{code} "[:4], [])
    cluster.script[ApiKey.CONSUMER_GROUP_DESCRIBE] = lambda *_: SILENT
    with pytest.raises(KafkaTimeoutError):
        client.run(describe_groups(["g"], operations=False), 500)


def test_brokers_that_know_no_newer_groups_are_asked_for_classic_ones():
    _, cluster, client = admin_world()
    del cluster.apis[ApiKey.CONSUMER_GROUP_DESCRIBE]
    found = client.run(describe_groups(["g"], operations=True))
    assert found["g"]["group_type"] == "classic"


def test_what_a_group_is_behind_fails_as_a_whole():
    _, cluster, client = admin_world()
    cluster.always(ApiKey.OFFSET_FETCH, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(errors.GroupAuthorizationFailedError, match="grant"):
        client.run(lag("g", None, 0))


def test_what_is_committed_may_outlive_its_topic():
    _, cluster, client = admin_world()
    gone = TopicPartition("gone", 0)
    R = OffsetFetchResponse
    kept = [
        R.OffsetFetchResponseTopics(
            name=topic,
            partitions=[
                R.OffsetFetchResponsePartitions(
                    partition_index=0, committed_offset=4, metadata="", error_code=0
                )
            ],
        )
        for topic in ("gone", "t")
    ]
    answer = R(groups=[R.OffsetFetchResponseGroup(group_id="g", topics=kept)])
    cluster.script[ApiKey.OFFSET_FETCH] = lambda *_: answer
    found = client.run(lag("g", None, 0))
    assert found[gone] == PartitionLag(4, None, None)
    assert (found[T0].committed, found[T0].lag) == (4, 0)
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        client.run(lag("g", [gone], 0))


# Where a broker's refusal of a part is a result and not an error.
TOLD = {
    ApiKey.DELETE_GROUPS: lambda: delete_groups(["g"], raise_errors=False),
    ApiKey.OFFSET_COMMIT: lambda: alter_group_offsets(
        "g", {T0: OffsetAndMetadata(1)}, raise_errors=False
    ),
    ApiKey.OFFSET_DELETE: lambda: delete_group_offsets("g", [T0], raise_errors=False),
    ApiKey.LEAVE_GROUP: lambda: remove_group_members(
        "g", [MemberToRemove("m")], raise_errors=False
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda: alter_configs(
        {TOPIC: {"a": (AlterConfigOp.SET, "1")}}, **(KEEP | {"raise_errors": False})
    ),
    ApiKey.CREATE_TOPICS: lambda: create_topics(
        [NewTopic("a", 1, 1)], validate_only=False, raise_errors=False, wait=False
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: lambda: alter_share_group_offsets(
        "g", {T0: 1}, raise_errors=False
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: lambda: delete_share_group_offsets(
        "g", ["t"], raise_errors=False
    ),
}


@pytest.mark.parametrize("api", TOLD, ids=by_name)
def test_what_no_broker_has_said_of_a_part_is_raised_always(api):
    _, cluster, client = admin_world()
    cluster.script[api] = lambda *_: SILENT
    with pytest.raises(KafkaTimeoutError):
        client.run(TOLD[api](), 1_000)
    cluster.script[api] = lambda *_: CUT
    with pytest.raises(KafkaTimeoutError):
        client.run(TOLD[api](), 1_000)
    del cluster.apis[api]
    with pytest.raises(errors.UnsupportedVersionError):
        client.run(TOLD[api](), 1_000)


def test_described_topics_have_codes():
    _, cluster, client = admin_world()
    rows = client.run(describe_topics(["t", "nope"]))
    assert [(row["name"], row["error_code"]) for row in rows] == [("nope", 3), ("t", 0)]
