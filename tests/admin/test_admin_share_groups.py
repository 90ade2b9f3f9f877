"""Share groups, as administrators ask for them: over a scripted cluster that has one, "g"."""

import pytest
from scripted_admin import T0, T1, T2, admin_world

from kcore import errors
from kcore.admin import PartitionLag, SharePartitionOffset
from kcore.admin.commits import Target, alter_group_offsets, lag, reset_group_offsets
from kcore.admin.groups import describe_groups
from kcore.admin.shares import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    list_share_group_offsets,
)
from kcore.errors import for_code
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
# What is asked of another kind of group is answered by asking for that kind.
OF_ANOTHER_KIND = {NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION}
R = m.ShareGroupDescribeResponse


def member(name, *numbers):
    parts = [R.TopicPartitions(topic_name="t", partitions=list(numbers))] if numbers else []
    return R.Member(
        member_id=name,
        member_epoch=3,
        client_id=f"client-{name}",
        client_host="/host",
        subscribed_topic_names=["t"],
        assignment=R.Assignment(topic_partitions=parts),
    )


def described(request, *members):
    """Of groups that are asked for, "g" is a share group; of others there is none."""
    groups = []
    for name in request.message.group_ids:
        if name == "g":
            state = "Stable" if members else "Empty"
            groups.append(
                R.DescribedGroup(
                    group_id=name,
                    group_state=state,
                    group_epoch=4,
                    assignment_epoch=3,
                    assignor_name="simple",
                    members=list(members),
                )
            )
        else:
            words = f"Group {name} not found."
            groups.append(
                R.DescribedGroup(group_id=name, error_code=NOT_FOUND, error_message=words)
            )
    return R(groups=groups)


def starts(**offsets):
    """Answers with these start offsets of t (_0: of its partition 0), and thrice as much lag."""
    A = m.DescribeShareGroupOffsetsResponse
    parts = [
        A.DescribeShareGroupOffsetsResponsePartition(
            partition_index=int(name[1:]), start_offset=at, leader_epoch=7, lag=3 * at
        )
        for name, at in offsets.items()
    ]
    topics = [A.DescribeShareGroupOffsetsResponseTopic(topic_name="t", partitions=parts)]
    group = A.DescribeShareGroupOffsetsResponseGroup
    return lambda _node, request: A(
        groups=[group(group_id=one.group_id, topics=topics) for one in request.message.groups]
    )


def ends(_node, request):
    """Every partition has the records 2 to 9."""
    A = m.ListOffsetsResponse
    return A(
        topics=[
            A.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    A.ListOffsetsPartitionResponse(
                        partition_index=part.partition_index,
                        offset=2 if part.timestamp == -2 else 10,
                    )
                    for part in topic.partitions
                ],
            )
            for topic in request.message.topics
        ]
    )


@pytest.fixture
def world():
    """World, cluster, client; the group "g" has members a and b, which share partition 1."""
    world, cluster, client = admin_world()
    cluster.always(ApiKey.CONSUMER_GROUP_DESCRIBE, NOT_FOUND)
    cluster.always(ApiKey.DESCRIBE_GROUPS, NOT_FOUND)
    cluster.script[ApiKey.SHARE_GROUP_DESCRIBE] = lambda _node, request: described(
        request, member("a", 0, 1), member("b", 1)
    )
    cluster.script[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS] = starts(_0=4, _1=0, _2=-1)
    cluster.script[ApiKey.LIST_OFFSETS] = ends
    return world, cluster, client


# Describing ---------------------------------------------------------------------------------------


def test_a_share_group_is_described_beside_others(world):
    _, cluster, client = world
    found = client.run(describe_groups(["g", "h"], operations=True))
    row = found["g"]
    assert (row["error"], row["group_state"], row["group_type"]) == (None, "Stable", "share")
    assert (row["protocol_type"], row["protocol_data"]) == ("share", "simple")
    assert (row["group_epoch"], row["assignment_epoch"]) == (4, 3)
    one, two = row["members"]
    assert (one["member_id"], one["client_id"], one["client_host"]) == ("a", "client-a", "/host")
    assert (one["member_epoch"], one["group_instance_id"]) == (3, None)
    assert one["member_metadata"]["topics"] == ["t"]
    assert two["member_assignment"]["assigned_partitions"] == [{"topic": "t", "partitions": [1]}]
    assert found["h"]["group_state"] == "Dead"
    assert "GROUP_ID_NOT_FOUND" in found["h"]["error"]
    (asked,) = [one for _, api, one in cluster.asked if api is ApiKey.DESCRIBE_GROUPS]
    assert asked.groups == ["h"]
    (asked,) = [one for _, api, one in cluster.asked if api is ApiKey.SHARE_GROUP_DESCRIBE]
    assert asked.include_authorized_operations


@pytest.mark.parametrize("code", [code for code in ErrorCode if code], ids=lambda code: code.name)
def test_every_error_of_a_description(world, code):
    _, cluster, client = world
    retriable = for_code(code).retriable or code is ErrorCode.REBOOTSTRAP_REQUIRED
    if retriable:
        cluster.first(ApiKey.SHARE_GROUP_DESCRIBE, code, code)
        row = client.run(describe_groups(["h"], operations=False))["h"]
        assert cluster.count(ApiKey.SHARE_GROUP_DESCRIBE) == 3
        return
    cluster.always(ApiKey.SHARE_GROUP_DESCRIBE, code)
    row = client.run(describe_groups(["g"], operations=False))["g"]
    if code in OF_ANOTHER_KIND:
        assert cluster.count(ApiKey.DESCRIBE_GROUPS) == 1
        assert row["error"].startswith(f"[{NOT_FOUND} GROUP_ID_NOT_FOUND]")
    else:
        assert cluster.count(ApiKey.DESCRIBE_GROUPS) == 0
        assert row["error"].startswith(f"[{code} ")


def test_brokers_that_know_no_share_groups_are_not_asked(world):
    _, cluster, client = world
    del cluster.apis[ApiKey.SHARE_GROUP_DESCRIBE]
    row = client.run(describe_groups(["g"], operations=False))["g"]
    assert row["group_state"] == "Dead"
    assert cluster.count(ApiKey.SHARE_GROUP_DESCRIBE) == 0


# Start offsets ------------------------------------------------------------------------------------


def test_start_offsets_are_listed(world):
    _, cluster, client = world
    found = client.run(list_share_group_offsets({"g": None}))
    assert found == {
        "g": {
            T0: SharePartitionOffset(4, 7, 12),
            T1: SharePartitionOffset(0, 7, 0),
            T2: SharePartitionOffset(-1, 7, None),
        }
    }
    assert cluster.count(ApiKey.METADATA) == 0
    cluster.apis[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS] = (0, 0)
    for link in [*client.links]:
        world[0].cut(client, link)
    assert client.run(list_share_group_offsets({"g": None}))["g"][T0].lag is None


@pytest.mark.parametrize(("told", "known"), [(-89, 0), (-1, None), (0, 0)])
def test_no_lag_is_below_nothing(world, told, known):
    """Kafka takes a start offset behind the end, and subtracts. -1: it does not know, as of what a
    Kafka before 4.2 has kept.
    """
    _, cluster, client = world

    def behind(node, request):
        answer = starts(_0=99)(node, request)
        answer.groups[0].topics[0].partitions[0].lag = told
        return answer

    cluster.script[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS] = behind
    assert client.run(list_share_group_offsets({"g": None}))["g"][T0].lag == known
    assert client.run(lag("g", [T0], 0))[T0].lag == known


def test_a_partition_that_is_not_there_is_not_asked_for(world):
    """Kafka 4.3 has no answer to that, not even an error."""
    _, cluster, client = world
    beyond = TopicPartition("t", 7)
    with pytest.raises(errors.UnknownTopicOrPartitionError, match=r"t-7.*partitions 0 to 2"):
        client.run(list_share_group_offsets({"g": [T0, beyond]}))
    client.run(list_share_group_offsets({"g": [T0, T2]}))
    both = [one for _, api, one in cluster.asked if api is ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS]
    for asked, wanted in zip(both, ([0], [0, 2]), strict=True):
        topics = asked.groups[0].topics
        assert [(one.topic_name, one.partitions) for one in topics] == [("t", wanted)]


def test_an_error_of_one_partition_is_that_of_its_group(world):
    _, cluster, client = world

    def refused(node, request):
        answer = starts(_0=1, _1=2)(node, request)
        part = answer.groups[0].topics[0].partitions[1]
        part.error_code, part.error_message = ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not you"
        return answer

    cluster.script[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS] = refused
    with pytest.raises(errors.TopicAuthorizationFailedError, match="share group g: t-1: not you"):
        client.run(list_share_group_offsets({"g": None}))


@pytest.mark.parametrize(
    ("api", "answer", "procedure"),
    [
        (
            ApiKey.ALTER_SHARE_GROUP_OFFSETS,
            m.AlterShareGroupOffsetsResponse,
            lambda: alter_share_group_offsets("g", {T0: 1, T1: 2}, raise_errors=True),
        ),
        (
            ApiKey.DELETE_SHARE_GROUP_OFFSETS,
            m.DeleteShareGroupOffsetsResponse,
            lambda: delete_share_group_offsets("g", ["t"], raise_errors=False),
        ),
    ],
    ids=["altered", "deleted"],
)
def test_what_is_wrong_with_the_whole_group_is_said(world, api, answer, procedure):
    _, cluster, client = world

    def refused(code, words):
        cluster.script[api] = lambda *_: answer(error_code=code, error_message=words)
        with pytest.raises(for_code(code), match=words) as caught:
            client.run(procedure())
        return str(caught.value)

    said = refused(ErrorCode.NON_EMPTY_GROUP, "The group is not empty")
    assert "stop them first" in said
    assert "remove_group_members" not in said  # coordinators take none out of share groups
    assert "only share groups" in refused(NOT_FOUND, "not a share group")


def test_parts_of_a_change_have_their_own_ends(world):
    _, cluster, client = world
    A = m.AlterShareGroupOffsetsResponse

    def some(_node, request):
        parts = [
            A.AlterShareGroupOffsetsResponsePartition(
                partition_index=part.partition_index,
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED if part.partition_index else 0,
            )
            for part in request.message.topics[0].partitions
        ]
        topic = A.AlterShareGroupOffsetsResponseTopic(topic_name="t", partitions=parts)
        return A(responses=[topic])

    cluster.script[ApiKey.ALTER_SHARE_GROUP_OFFSETS] = some
    found = client.run(alter_share_group_offsets("g", {T0: 1, T1: 2}, raise_errors=False))
    assert found == {T0: errors.NoError, T1: errors.TopicAuthorizationFailedError}


def test_who_commits_for_a_share_group_is_told_what_it_has(world):
    _, cluster, client = world
    cluster.always(ApiKey.OFFSET_COMMIT, NOT_FOUND)
    with pytest.raises(errors.GroupIdNotFoundError, match="alter_share_group_offsets"):
        client.run(alter_group_offsets("g", {T0: OffsetAndMetadata(1, "")}, raise_errors=True))


# Resets and lag -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "there"),
    [
        (Target(timestamp=-2), (2, 2, 2)),
        (Target(timestamp=-1), (10, 10, 10)),
        (Target(offset=99), (10, 10, 10)),
        (Target(offset=0), (2, 2, 2)),
        (Target(shift=3), (7, 3, 5)),
    ],
    ids=["earliest", "latest", "beyond", "before", "on"],
)
@pytest.mark.parametrize("named", [False, True], ids=["all", "named"])
def test_a_reset_moves_start_offsets(world, target, there, named):
    _, cluster, client = world
    wanted = dict.fromkeys((T0, T1, T2), target) if named else target
    found = client.run(reset_group_offsets("g", wanted, raise_errors=True, validate_only=True))
    assert [found[tp]["offset"] for tp in (T0, T1, T2)] == list(there)
    assert cluster.count(ApiKey.ALTER_SHARE_GROUP_OFFSETS) == 0
    assert client.run(reset_group_offsets("g", wanted, raise_errors=True)) == found
    (asked,) = [one for _, api, one in cluster.asked if api is ApiKey.ALTER_SHARE_GROUP_OFFSETS]
    assert [part.start_offset for part in asked.topics[0].partitions] == list(there)
    assert cluster.count(ApiKey.OFFSET_COMMIT) == cluster.count(ApiKey.OFFSET_FETCH) == 0


def test_how_far_a_share_group_is_behind(world):
    _, cluster, client = world
    found = client.run(lag("g", None, 0))
    assert found == {
        T0: PartitionLag(4, 10, 12, "a", "client-a", "/host", None, ("a",)),
        T1: PartitionLag(0, 10, 0, None, None, None, None, ("a", "b")),
        T2: PartitionLag(None, 10, None),
    }
    assert client.run(lag("g", [T1], 0)) == {T1: found[T1]}
    assert cluster.count(ApiKey.OFFSET_FETCH) == 0
