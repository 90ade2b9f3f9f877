"""Streams groups, as administrators see them: over a scripted cluster that has one, "g"."""

import pytest
from scripted_admin import admin_world

from kcore import errors
from kcore.admin.groups import delete_groups, describe_groups, list_groups, words_of
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

R = m.StreamsGroupDescribeResponse


def internal(name, partitions):
    configs = [R.KeyValue(key="cleanup.policy", value="compact")]
    return R.TopicInfo(
        name=name, partitions=partitions, replication_factor=3, topic_configs=configs
    )


def tasks(**parts):
    return [
        R.TaskIds(subtopology_id=name[1:], partitions=numbers) for name, numbers in parts.items()
    ]


MEMBER = R.Member(
    member_id="m",
    member_epoch=4,
    rack_id="r",
    client_id="c",
    client_host="/host",
    topology_epoch=2,
    process_id="p",
    user_endpoint=R.Endpoint(host="here", port=65_535),
    client_tags=[R.KeyValue(key="zone", value="a")],
    assignment=R.Assignment(active_tasks=tasks(_0=[0, 2], _1=[1]), standby_tasks=tasks(_1=[0])),
    target_assignment=R.Assignment(active_tasks=tasks(_0=[0])),
)
TOPOLOGY = R.Topology(
    epoch=2,
    subtopologies=[
        R.Subtopology(subtopology_id="0", source_topics=["in"], repartition_sink_topics=["words"]),
        R.Subtopology(
            subtopology_id="1",
            repartition_source_topics=[internal("words", 3)],
            state_changelog_topics=[internal("counts", 3)],
        ),
    ],
)


def answer(topology):
    def answered(_node, request):
        group = R.DescribedGroup(
            group_id="g", group_state="Stable", group_epoch=5, assignment_epoch=4,
            topology=topology, members=[MEMBER],
        )  # fmt: skip
        assert request.message.group_ids == ["g"]
        return R(groups=[group])

    return answered


@pytest.fixture
def world():
    world, cluster, client = admin_world()
    cluster.always(ApiKey.CONSUMER_GROUP_DESCRIBE, ErrorCode.GROUP_ID_NOT_FOUND)
    cluster.script[ApiKey.STREAMS_GROUP_DESCRIBE] = answer(TOPOLOGY)
    return world, cluster, client


def test_an_application_is_described(world):
    _, cluster, client = world
    row = client.run(describe_groups(["g"], operations=False))["g"]
    assert (row["error"], row["group_state"], row["group_type"]) == (None, "Stable", "streams")
    assert (row["protocol_type"], row["protocol_data"]) == ("streams", "sticky")
    assert (row["group_epoch"], row["assignment_epoch"], row["topology_epoch"]) == (5, 4, 2)
    words, counts = (
        {
            "name": name, "partitions": 3, "replication_factor": 3,
            "topic_configs": {"cleanup.policy": "compact"},
        }
        for name in ("words", "counts")
    )  # fmt: skip
    assert row["topology"] == [
        {
            "subtopology_id": "0", "source_topics": ["in"], "repartition_sink_topics": ["words"],
            "repartition_source_topics": [], "state_changelog_topics": [],
        },
        {
            "subtopology_id": "1", "source_topics": [], "repartition_sink_topics": [],
            "repartition_source_topics": [words], "state_changelog_topics": [counts],
        },
    ]  # fmt: skip
    (member,) = row["members"]
    assert (member["member_id"], member["client_id"], member["member_epoch"]) == ("m", "c", 4)
    assert member["member_metadata"] == {
        "process_id": "p", "topology_epoch": 2, "user_endpoint": "here:65535",
        "client_tags": {"zone": "a"}, "rack_id": "r",
    }  # fmt: skip
    assert member["member_assignment"] == {
        "assigned_partitions": [
            {"topic": "in", "partitions": [0, 2]}, {"topic": "words", "partitions": [1]},
        ],
        "active_tasks": {"0": [0, 2], "1": [1]}, "standby_tasks": {"1": [0]}, "warmup_tasks": {},
    }  # fmt: skip
    assert member["target_assignment"]["active_tasks"] == {"0": [0]}
    assert cluster.count(ApiKey.DESCRIBE_GROUPS) == 0


def test_an_application_of_which_nothing_is_known(world):
    _, cluster, client = world
    cluster.script[ApiKey.STREAMS_GROUP_DESCRIBE] = answer(None)
    row = client.run(describe_groups(["g"], operations=False))["g"]
    assert (row["topology_epoch"], row["topology"]) == (None, [])
    assert row["members"][0]["member_assignment"]["assigned_partitions"] == []


def node(name, kind, *successors, **more):
    return R.TopologyDescriptionNode(name=name, node_type=kind, successors=[*successors], **more)


def test_what_a_kafka_4_4_tells_of_an_application(world):
    _, cluster, client = world
    source, sink = node("a", 1, "b", source_topics=["in"]), node("c", 3, sink_topic="out")
    processor = node("b", 2, "c", stores=["s"])
    described = R.TopologyDescription(
        subtopologies=[
            R.TopologyDescriptionSubtopology(subtopology_id="0", nodes=[source, processor, sink])
        ],
        global_stores=[R.TopologyDescriptionGlobalStore(source=source, processor=processor)],
    )
    offsets = [R.TaskOffset(subtopology_id="0", partition=number, offset=9) for number in (0, 2)]
    member = R.Member(member_id="m", task_offsets=offsets, task_end_offsets=offsets[:1])
    asked = []

    def answered(_node, request):
        asked.append((request.api_version, request.message.include_topology_description))
        group = R.DescribedGroup(group_id="g", members=[member], assignor_name="mine")
        if asked[-1][1]:
            group.topology_description, group.topology_description_status = described, 3
        return R(groups=[group])

    cluster.script[ApiKey.STREAMS_GROUP_DESCRIBE] = answered
    row = client.run(describe_groups(["g"], operations=False, topologies=True))["g"]
    assert row["protocol_data"] == "mine"
    assert row["members"][0]["task_offsets"] == {"0": {0: 9, 2: 9}}
    assert row["members"][0]["task_end_offsets"] == {"0": {0: 9}}
    assert row["topology_description_status"] == "AVAILABLE"
    first = {
        "name": "a", "node_type": "SOURCE", "source_topics": ["in"], "successors": ["b"],
        "predecessors": [],
    }  # fmt: skip
    second = {
        "name": "b", "node_type": "PROCESSOR", "stores": ["s"], "successors": ["c"],
        "predecessors": ["a"],
    }  # fmt: skip
    last = {
        "name": "c", "node_type": "SINK", "sink_topic": "out", "successors": [],
        "predecessors": ["b"],
    }  # fmt: skip
    assert row["topology_description"] == {
        "subtopologies": [{"subtopology_id": "0", "nodes": [first, second, last]}],
        "global_stores": [{"source": first, "processor": second}],
    }
    row = client.run(describe_groups(["g"], operations=False))["g"]
    assert (row["topology_description_status"], row["topology_description"]) == (
        "NOT_REQUESTED",
        None,
    )
    assert asked == [(1, True), (1, False)]


def test_before_kafka_4_4_nobody_can_be_asked_for_a_topology(world):
    _, cluster, client = world
    cluster.apis[ApiKey.STREAMS_GROUP_DESCRIBE] = (0, 0)
    row = client.run(describe_groups(["g"], operations=False, topologies=True))["g"]
    assert (row["protocol_data"], row["topology_description_status"]) == (
        "sticky",
        "NOT_REQUESTED",
    )


def test_brokers_that_know_no_streams_groups_are_not_asked(world):
    _, cluster, client = world
    del cluster.apis[ApiKey.STREAMS_GROUP_DESCRIBE]
    client.run(describe_groups(["g"], operations=False))
    assert cluster.count(ApiKey.STREAMS_GROUP_DESCRIBE) == 0
    assert cluster.count(ApiKey.DESCRIBE_GROUPS) == 1


def test_groups_that_are_not_ready_go_by_two_names(world):
    """A Kafka 4.3 tells of the state by one and filters by the other."""
    _, cluster, client = world
    client.run(list_groups(None, ["NotReady", "Stable"], []))
    asked = [one for _, api, one in cluster.asked if api is ApiKey.LIST_GROUPS]
    assert {tuple(one.states_filter) for one in asked} == {("NotReady", "Stable", "not_ready")}


def test_a_broker_says_why_a_group_was_not_deleted(world):
    """A plug-in, that a description could not be (Kafka 4.4)."""
    _, cluster, client = world
    row = m.DeleteGroupsResponse.DeletableGroupResult(
        group_id="g", error_code=ErrorCode.GROUP_DELETION_FAILED, error_message="the disk is full"
    )
    cluster.script[ApiKey.DELETE_GROUPS] = lambda *_: m.DeleteGroupsResponse(results=[row])
    outcome = client.run(delete_groups(["g"], raise_errors=False))
    assert words_of(outcome) == {"g": "GroupDeletionFailedError"}
    with pytest.raises(errors.GroupDeletionFailedError, match="group g: the disk is full"):
        client.run(delete_groups(["g"], raise_errors=True))
