"""Offsets of share groups at the coordinator: what is written, and what a failed append leaves."""

import pytest
from consumer_groups_world import id_of
from share_groups_world import ShareWorld

from kcore.coordinator.share.keeper import ShareOffset
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E


def alter(offset=5, topic="foo"):
    R = m.AlterShareGroupOffsetsRequest
    part = R.AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=offset)
    entry = R.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[part])
    return R(group_id="g", topics=[entry])


def delete(*topics):
    R = m.DeleteShareGroupOffsetsRequest
    named = [R.DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
    return R(group_id="g", topics=named)


def initialized(w):
    return {one.name: sorted(one.partitions) for one in w.share.initialized.values()}


def test_what_is_altered_is_known_from_then_on():
    w = ShareWorld()
    answer = w.ask(alter(), 0)
    assert answer.responses[0].partitions[0].error_code == E.NONE
    assert w.read == {("g", id_of("foo"), 1): ShareOffset(5, 0, 0)}
    assert initialized(w) == {"foo": [1]}
    again = ShareWorld(loaded=w.journal)
    assert initialized(again) == {"foo": [1]}
    assert again.enter("m1", ["foo"])[1] == {"foo": [0, 1, 2, 3]}
    assert initialized(again) == {"foo": [0, 1, 2, 3]}


def test_what_is_altered_again_is_answered_though_nothing_is_to_be_written():
    w = ShareWorld()
    w.ask(alter(), 0)
    written = len(w.journal)
    answer = w.ask(alter(7), 0)
    assert answer.responses[0].partitions[0].error_code == E.NONE
    assert w.read == {("g", id_of("foo"), 1): ShareOffset(7, 0, 0)}
    assert len(w.journal) == written
    assert not w.share.held


def test_an_append_that_fails_alters_nothing():
    w = ShareWorld(appending=False)
    token = w.send(alter(), 0)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert (w.read, w.share) == ({}, None)
    w.appending = True
    w.ask(alter(), 0)
    w.appending = False
    token = w.send(alter(topic="bar"), 0)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert initialized(w) == {"foo": [1]}  # the group was there before
    token = w.send(delete("foo"), 0)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert initialized(w) == {"foo": [1]}
    assert w.read
    assert not w.share.held


def test_deleted():
    w = ShareWorld()
    w.ask(alter(), 0)
    w.ask(alter(topic="bar"), 0)
    answer = w.ask(delete("foo", "nothing"), 0)
    assert [one.error_code for one in answer.responses] == [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]
    assert initialized(w) == {"bar": [1]}
    assert w.read.keys() == {("g", id_of("bar"), 1)}
    w.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2)
    assert w.read == {}
    assert w.share is None


@pytest.mark.parametrize("request_of", [alter, lambda: delete("foo")])
def test_not_while_somebody_is_there_nor_of_other_groups(request_of):
    w = ShareWorld()
    w.enter("m1")
    assert w.ask(request_of(), 0).error_code == E.NON_EMPTY_GROUP
    assert not w.share.held
    w = ShareWorld()
    R = m.OffsetCommitRequest
    part = R.OffsetCommitRequestPartition(committed_offset=1)
    topic = R.OffsetCommitRequestTopic(name="foo", partitions=[part])
    w.ask(R(group_id="g", generation_id_or_member_epoch=-1, topics=[topic]), 9)
    assert w.ask(request_of(), 0).error_code == E.GROUP_ID_NOT_FOUND


def test_a_coordinator_of_another_node_says_so():
    w = ShareWorld()
    w.coordinator.handle_resigned(0, w.now)
    assert w.ask(alter(), 0).error_code == E.NOT_COORDINATOR
    assert w.ask(delete("foo"), 0).error_code == E.NOT_COORDINATOR
    R = m.DescribeShareGroupOffsetsRequest
    asked = R.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    assert w.ask(R(groups=[asked]), 1).groups[0].error_code == E.NOT_COORDINATOR
    assert w.beat("m1", 0, ["foo"]) == E.NOT_COORDINATOR
    assert w.described().error_code == E.NOT_COORDINATOR
