"""Partitions of which a coordinator refuses to say where a group is: the others are told. Java
4.3.1 (ListConsumerGroupOffsetsHandler, ListShareGroupOffsetsHandler) leaves the refused out, and
writes that to its log.
"""

from __future__ import annotations

import pytest
from scripted_admin import T0, T1, admin_world

from kcore.admin.commits import Target, list_group_offsets, reset_group_offsets
from kcore.admin.shares import list_share_group_offsets
from kcore.errors import (
    GroupAuthorizationFailedError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

DENIED, UNSTABLE = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNSTABLE_OFFSET_COMMIT
S0 = TopicPartition("shut", 0)
AT = OffsetAndMetadata(0, "", -1)


@pytest.fixture
def world():
    return admin_world(topics={"t": 2, "shut": 1})


def test_what_was_refused_is_raised_with_what_was_not(world):
    _, cluster, client = world
    cluster.refuse_offsets(DENIED, "shut")
    with pytest.raises(TopicAuthorizationFailedError) as caught:
        client.run(list_group_offsets({"g": [T0, S0], "h": [T1]}))
    error = caught.value
    assert "listing the offsets of group g" in str(error)
    assert "shut-0" in str(error)
    assert error.done == {"h": {T1: AT}}
    assert error.failed.keys() == {"g"}
    assert error.failed["g"].topics == error.topics == {"shut"}
    assert error.failed["g"].done == {T0: AT}
    assert error.failed["g"].failed.keys() == {S0}
    assert cluster.count(ApiKey.OFFSET_FETCH) == 1


@pytest.mark.parametrize("version", [1, 7, 9])
def test_the_others_are_told_alone_if_asked_to(version):
    _, cluster, client = admin_world(topics={"t": 2, "shut": 1})
    cluster.apis[ApiKey.OFFSET_FETCH] = (1, version)
    cluster.refuse_offsets(DENIED, "shut")
    found = client.run(list_group_offsets({"g": [T0, S0], "h": [T1]}, raise_errors=False))
    assert found == {"g": {T0: AT}, "h": {T1: AT}}


def test_what_is_wrong_with_a_group_is_raised_nevertheless(world):
    _, cluster, client = world
    cluster.always(ApiKey.OFFSET_FETCH, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(GroupAuthorizationFailedError):
        client.run(list_group_offsets({"g": [T0]}, raise_errors=False))


def test_what_passes_is_waited_for(world):
    _, cluster, client = world
    cluster.refuse_offsets(UNSTABLE, "shut", times=3)
    found = client.run(list_group_offsets({"g": [T0, S0]}, require_stable=True))
    assert found == {"g": {T0: AT, S0: AT}}
    assert cluster.count(ApiKey.OFFSET_FETCH) == 4
    cluster.refuse_offsets(UNSTABLE, "shut")
    with pytest.raises(KafkaTimeoutError, match="shut-0"):
        client.run(list_group_offsets({"g": [T0, S0]}, require_stable=True), 2_000)


def test_resets_change_nothing_if_one_is_refused(world):
    _, cluster, client = world
    cluster.refuse_offsets(DENIED, "shut")
    wanted = {T0: Target(offset=1), S0: Target(offset=1)}
    cluster.always(ApiKey.SHARE_GROUP_DESCRIBE, ErrorCode.GROUP_ID_NOT_FOUND)
    with pytest.raises(TopicAuthorizationFailedError, match="shut-0"):
        client.run(reset_group_offsets("g", wanted, raise_errors=True))
    assert cluster.count(ApiKey.OFFSET_COMMIT) == 0


# Share groups -------------------------------------------------------------------------------------


def starting(cluster, code, words):
    """A start offset for each partition but those of "shut"."""
    A = m.DescribeShareGroupOffsetsResponse

    def script(_node, request):
        groups = []
        for group in request.message.groups:
            topics = []
            for topic in group.topics:
                shut = topic.topic_name == "shut"
                parts = [
                    A.DescribeShareGroupOffsetsResponsePartition(
                        partition_index=number,
                        start_offset=5,
                        leader_epoch=2,
                        lag=1,
                        error_code=code if shut else 0,
                        error_message=words if shut else None,
                    )
                    for number in topic.partitions
                ]
                topics.append(
                    A.DescribeShareGroupOffsetsResponseTopic(
                        topic_name=topic.topic_name, partitions=parts
                    )
                )
            groups.append(
                A.DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=topics)
            )
        return A(groups=groups)

    cluster.script[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS] = script


def test_share_groups_are_alike(world):
    _, cluster, client = world
    starting(cluster, DENIED, "no")
    with pytest.raises(TopicAuthorizationFailedError, match="shut-0: no") as caught:
        client.run(list_share_group_offsets({"g": [T0, S0]}))
    error = caught.value.failed["g"]
    assert error.topics == {"shut"}
    assert error.done == {T0: (5, 2, 1)}
    assert error.failed.keys() == {S0}
    found = client.run(list_share_group_offsets({"g": [T0, S0], "h": [S0]}, raise_errors=False))
    assert found == {"g": {T0: (5, 2, 1)}, "h": {}}


@pytest.mark.parametrize("shut", [["shut"], ["shut", "t"]])
def test_of_share_groups_none_is_asked_for_that_has_no_leader(world, shut):
    """Kafka 4.3 would never answer."""
    _, cluster, client = world
    starting(cluster, 0, None)
    del cluster.topics["shut"]
    if "t" in shut:
        del cluster.topics["t"]
    with pytest.raises(UnknownTopicOrPartitionError, match="shut-0") as caught:
        client.run(list_share_group_offsets({"g": [T0, S0]}))
    kept = {} if "t" in shut else {T0: (5, 2, 1)}
    assert caught.value.failed["g"].done == kept
    found = client.run(list_share_group_offsets({"g": [T0, S0]}, raise_errors=False))
    assert found == {"g": kept}
    asked = [one for _, api, one in cluster.asked if api is ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS]
    assert all(topic.topic_name == "t" for one in asked for topic in one.groups[0].topics)
