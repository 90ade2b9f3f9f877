"""Directories of replicas and what has a configuration, as a scripted cluster tells of them."""

import pytest
from agreements import answer_to
from scripted_admin import admin_world

from kcore import errors
from kcore.admin import ConfigResourceType, TopicPartitionReplica
from kcore.admin.directories import alter_replica_log_dirs
from kcore.admin.resources import list_config_resources
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

MOVES = {
    TopicPartitionReplica("t", 0, 1): "/a",
    TopicPartitionReplica("t", 1, 1): "/a",
    TopicPartitionReplica("u", 0, 1): "/b",
    TopicPartitionReplica("t", 0, 2): "/a",
}


def test_replicas_are_moved_by_their_brokers():
    _, cluster, client = admin_world()
    found = client.run(alter_replica_log_dirs(MOVES, raise_errors=False))
    assert found == dict.fromkeys(MOVES, errors.NoError)
    asked = {
        node: [
            (one.path, [(topic.name, topic.partitions) for topic in one.topics])
            for one in sent.dirs
        ]
        for node, api, sent in cluster.asked
        if api is ApiKey.ALTER_REPLICA_LOG_DIRS
    }
    assert asked == {
        1: [("/a", [("t", [0, 1])]), ("/b", [("u", [0])])],
        2: [("/a", [("t", [0])])],
    }


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.LOG_DIR_NOT_FOUND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_what_a_broker_cannot_move_is_said_at_once(code):
    _, cluster, client = admin_world()
    cluster.script[ApiKey.ALTER_REPLICA_LOG_DIRS] = lambda node, request: (
        answer_to(request.message, request.api_version, code) if node == 2 else None
    )
    found = client.run(alter_replica_log_dirs(MOVES, raise_errors=False))
    *others, last = found.values()
    assert others == [errors.NoError] * 3
    assert last is errors.for_code(code)
    with pytest.raises(errors.for_code(code), match="the replica of t-0 on broker 2") as caught:
        client.run(alter_replica_log_dirs(MOVES, raise_errors=True))
    assert len(caught.value.done) == 3
    assert cluster.who_was_asked(ApiKey.ALTER_REPLICA_LOG_DIRS).count(2) == 2


def test_what_has_a_configuration_is_listed_by_type():
    _, cluster, client = admin_world()
    R = m.ListConfigResourcesResponse
    rows = [("t", 2), ("g", 32), ("u", 2), ("x", 99)]
    cluster.script[ApiKey.LIST_CONFIG_RESOURCES] = lambda *_: R(
        config_resources=[R.ConfigResource(resource_name=n, resource_type=t) for n, t in rows]
    )
    found = client.run(list_config_resources([ConfigResourceType.TOPIC, ConfigResourceType.GROUP]))
    assert found == {"topic": ["t", "u"], "group": ["g"], "unknown": ["x"]}
    (sent,) = (one for _, api, one in cluster.asked if api is ApiKey.LIST_CONFIG_RESOURCES)
    assert sent.resource_types == [2, 32]


def test_brokers_that_list_client_metrics_alone():
    _, cluster, client = admin_world()
    cluster.apis[ApiKey.LIST_CONFIG_RESOURCES] = (0, 0)
    R = m.ListConfigResourcesResponse
    cluster.script[ApiKey.LIST_CONFIG_RESOURCES] = lambda *_: R(
        config_resources=[R.ConfigResource(resource_name="m")]
    )
    metrics = ConfigResourceType.CLIENT_METRICS
    assert client.run(list_config_resources([metrics])) == {"client_metrics": ["m"]}
    for types in ([], [metrics, ConfigResourceType.TOPIC]):
        with pytest.raises(errors.UnsupportedVersionError, match="CLIENT_METRICS alone"):
            client.run(list_config_resources(types))
