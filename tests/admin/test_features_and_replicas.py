"""Features, reassignments, topics by pages and producers, as a scripted cluster tells them."""

import pytest
from scripted import CUT, SILENT
from scripted_admin import T0, T1, T2, admin_world

from kcore import errors
from kcore.admin import PartitionProducerState, ProducerState, UpdateFeatureType
from kcore.admin.features import FeatureUpdate, describe_features, update_features
from kcore.admin.producers import describe_producers
from kcore.admin.reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from kcore.admin.topics import describe_topic_partitions
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

UP, DOWN = UpdateFeatureType.UPGRADE, UpdateFeatureType.UNSAFE_DOWNGRADE


def asked(cluster, api):
    return [one for _, known, one in cluster.asked if known is api]


# Features -----------------------------------------------------------------------------------------


class Features:
    """ApiVersions answered as a cluster does that has features."""

    def __init__(self, cluster, epoch=7):
        self.epoch, self.error, self.mishaps = epoch, 0, []
        self._cluster = cluster
        cluster.script[ApiKey.API_VERSIONS] = self

    def __call__(self, _node, request):
        if len(self._cluster.asked) > 1 and self.mishaps:
            return self.mishaps.pop(0)
        R = m.ApiVersionsResponse
        keys = [
            R.ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in self._cluster.apis.items()
        ]
        answer = R(api_keys=keys, error_code=self.error)
        if request.api_version >= 3:
            kind = R.SupportedFeatureKey
            answer.supported_features = [
                kind(name="a", min_version=0, max_version=2),
                kind(name="b", min_version=1, max_version=1),
            ]
            final = R.FinalizedFeatureKey(name="a", min_version_level=1, max_version_level=2)
            answer.finalized_features = [final]
            answer.finalized_features_epoch = self.epoch
        return answer


@pytest.mark.parametrize("of_controller", [False, True])
@pytest.mark.parametrize("mishap", [None, CUT, SILENT], ids=["well", "cut", "silent"])
def test_features_are_told(of_controller, mishap):
    _, cluster, client = admin_world(request_timeout_ms=1_000)
    features = Features(cluster)
    cluster.controller = 3
    client.world.run(100)
    features.mishaps = [mishap] if mishap else []
    found = client.run(describe_features(of_controller=of_controller))
    assert found == {
        "a": {"supported": (0, 2), "finalized": (1, 2), "finalized_epoch": 7},
        "b": {"supported": (1, 1)},
    }
    assert not features.mishaps
    if of_controller:
        assert cluster.who_was_asked(ApiKey.API_VERSIONS)[-1] == 3
    assert asked(cluster, ApiKey.API_VERSIONS)[-1].client_software_name == "kcore"


def test_an_epoch_that_is_not_known():
    _, cluster, client = admin_world()
    Features(cluster, epoch=-1)
    assert client.run(describe_features(of_controller=False))["a"]["finalized_epoch"] is None


def test_features_of_brokers_that_have_none():
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.API_VERSIONS] = (0, 2)
    with pytest.raises(errors.UnsupportedVersionError, match=r"before 2\.4"):
        client.run(describe_features(of_controller=False))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_features_are_updated(version):
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.UPDATE_FEATURES] = (version, version)
    updates = {"a": FeatureUpdate(2, UP), "b": FeatureUpdate(0, DOWN)}
    found = client.run(update_features(updates, validate_only=False, raise_errors=False))
    assert found == {"a": "OK", "b": "OK"}
    (sent,) = asked(cluster, ApiKey.UPDATE_FEATURES)
    told = [(one.feature, one.max_version_level) for one in sent.feature_updates]
    assert told == [("a", 2), ("b", 0)]
    if version:
        assert [one.upgrade_type for one in sent.feature_updates] == [1, 3]
    else:
        assert [one.allow_downgrade for one in sent.feature_updates] == [False, True]


def test_features_are_only_looked_at_by_brokers_that_can():
    _, cluster, client = admin_world()
    look = {"validate_only": True, "raise_errors": True}
    client.run(update_features({"a": FeatureUpdate(2, UP)}, **look))
    assert asked(cluster, ApiKey.UPDATE_FEATURES)[0].validate_only
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.UPDATE_FEATURES] = (0, 0)
    with pytest.raises(errors.UnsupportedVersionError, match=r"before 3\.3"):
        client.run(update_features({"a": FeatureUpdate(2, UP)}, **look))
    assert not asked(cluster, ApiKey.UPDATE_FEATURES)


def test_a_feature_that_is_refused_alone_is_a_result_and_the_whole_an_error():
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.UPDATE_FEATURES] = (0, 1)
    R = m.UpdateFeaturesResponse
    code = ErrorCode.FEATURE_UPDATE_FAILED
    rows = [
        R.UpdatableFeatureResult(feature="a"),
        R.UpdatableFeatureResult(feature="b", error_code=code, error_message="not now"),
    ]
    answer = R(results=rows)
    cluster.script[ApiKey.UPDATE_FEATURES] = lambda *_: answer
    updates = dict.fromkeys("ab", FeatureUpdate(1, UP))
    found = client.run(update_features(updates, validate_only=False, raise_errors=False))
    assert found["a"] == "OK"
    assert found["b"].startswith("[96 FEATURE_UPDATE_FAILED] updating feature b: not now")
    answer = R(error_code=code, error_message="not at all")
    with pytest.raises(errors.FeatureUpdateFailedError, match="not at all"):
        client.run(update_features(updates, validate_only=False, raise_errors=False))


# Reassignments ------------------------------------------------------------------------------------


def test_partitions_are_reassigned():
    _, cluster, client = admin_world()
    cluster.controller = 2
    wanted = {T0: [3, 1], T2: None}
    found = client.run(
        alter_partition_reassignments(wanted, change_factor=False, raise_errors=False)
    )
    assert found == {T0: None, T2: None}
    (sent,) = asked(cluster, ApiKey.ALTER_PARTITION_REASSIGNMENTS)
    parts = [(one.partition_index, one.replicas) for one in sent.topics[0].partitions]
    assert parts == [(0, [3, 1]), (2, None)]
    assert not sent.allow_replication_factor_change
    assert cluster.who_was_asked(ApiKey.ALTER_PARTITION_REASSIGNMENTS) == [2]


def test_a_number_of_replicas_is_insisted_on_by_brokers_that_can():
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.ALTER_PARTITION_REASSIGNMENTS] = (0, 0)
    with pytest.raises(errors.UnsupportedVersionError, match=r"before 4\.1"):
        client.run(alter_partition_reassignments({T0: [1]}, change_factor=False, raise_errors=True))
    client.run(alter_partition_reassignments({T0: [1]}, change_factor=True, raise_errors=True))


def test_a_partition_that_is_not_reassigned_is_a_result_and_the_whole_an_error():
    _, cluster, client = admin_world()
    R = m.AlterPartitionReassignmentsResponse
    part = R.ReassignablePartitionResponse
    parts = [part(partition_index=0), part(partition_index=1, error_code=39)]
    answer = R(responses=[R.ReassignableTopicResponse(name="t", partitions=parts)])
    cluster.script[ApiKey.ALTER_PARTITION_REASSIGNMENTS] = lambda *_: answer

    def run(**how):
        wanted = {T0: [1], T1: [9]}
        return client.run(alter_partition_reassignments(wanted, change_factor=True, **how))

    refused = errors.InvalidReplicationAssignmentError
    assert run(raise_errors=False) == {T0: None, T1: refused}
    with pytest.raises(refused, match="reassigning t-1"):
        run(raise_errors=True)
    answer = R(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(errors.ClusterAuthorizationFailedError):
        run(raise_errors=False)


def test_what_is_being_moved():
    _, cluster, client = admin_world()
    R = m.ListPartitionReassignmentsResponse
    part = R.OngoingPartitionReassignment(
        partition_index=1, replicas=[1, 2], adding_replicas=[2], removing_replicas=[1]
    )
    answer = R(topics=[R.OngoingTopicReassignment(name="t", partitions=[part])])
    cluster.script[ApiKey.LIST_PARTITION_REASSIGNMENTS] = lambda *_: answer
    row = {"replicas": [1, 2], "adding_replicas": [2], "removing_replicas": [1]}
    assert client.run(list_partition_reassignments(None)) == {T1: row}
    assert client.run(list_partition_reassignments({"t": [0, 1]})) == {T1: row}
    sent = [one.topics for one in asked(cluster, ApiKey.LIST_PARTITION_REASSIGNMENTS)]
    assert sent[0] is None
    assert [(one.name, one.partition_indexes) for one in sent[1]] == [("t", [0, 1])]


# Topics by pages, and producers -------------------------------------------------------------------


@pytest.mark.parametrize("mishap", [None, CUT, SILENT], ids=["well", "cut", "silent"])
def test_topics_by_pages(mishap):
    _, cluster, client = admin_world(request_timeout_ms=1_000)
    R = m.DescribeTopicPartitionsResponse
    part = R.DescribeTopicPartitionsResponsePartition(
        partition_index=3, leader_id=1, eligible_leader_replicas=[2]
    )
    rows = [R.DescribeTopicPartitionsResponseTopic(name="t", partitions=[part])]
    answer = R(topics=rows, next_cursor=R.Cursor(topic_name="u", partition_index=4))
    cluster.first(ApiKey.DESCRIBE_TOPIC_PARTITIONS, *([mishap] if mishap else []), answer)
    found = client.run(describe_topic_partitions(["u", "t"], 1, ("t", 3)))
    assert found["next_cursor"] == {"topic_name": "u", "partition_index": 4}
    (row,) = found["topics"]
    assert (row["name"], row["partitions"][0]["eligible_leader_replicas"]) == ("t", [2])
    sent = asked(cluster, ApiKey.DESCRIBE_TOPIC_PARTITIONS)[-1]
    assert [one.name for one in sent.topics] == ["t", "u"]  # brokers go on in this order
    assert (sent.response_partition_limit, sent.cursor.topic_name) == (1, "t")
    assert client.run(describe_topic_partitions([], 1, None)) == {"topics": [], "next_cursor": None}
    assert client.run(describe_topic_partitions(None, 1, None))["next_cursor"] is None
    assert asked(cluster, ApiKey.DESCRIBE_TOPIC_PARTITIONS)[-1].topics == []


@pytest.mark.parametrize("broker", [None, 3])
def test_producers_are_those_of_leaders_or_of_one_broker(broker):
    _, cluster, client = admin_world()
    R = m.DescribeProducersResponse
    state = R.ProducerState(producer_id=9, producer_epoch=1, last_sequence=4, last_timestamp=5)

    def answer(_node, request):
        (topic,) = request.message.topics
        parts = [
            R.PartitionResponse(partition_index=number, active_producers=[state])
            for number in topic.partition_indexes
        ]
        return R(topics=[R.TopicResponse(name="t", partitions=parts)])

    cluster.script[ApiKey.DESCRIBE_PRODUCERS] = answer
    found = client.run(describe_producers([T0, T1], broker))
    known = PartitionProducerState([ProducerState(9, 1, 4, 5, 0, -1)])
    assert found == {T0: known, T1: known}
    nodes = cluster.who_was_asked(ApiKey.DESCRIBE_PRODUCERS)
    assert sorted(nodes) == ([1, 2] if broker is None else [3])
