"""The quorum of controllers, what brokers speak and where replicas are, as a scripted cluster tells
of them; and what users may give for them.
"""

import base64
import uuid

import pytest
from scripted_admin import admin_world

from kcore import errors
from kcore.admin import (
    ConfigFilterType,
    ConfigResourceType,
    RaftVoterEndpoint,
    TopicPartitionReplica,
)
from kcore.admin.configs import describe_configs
from kcore.admin.directories import describe_replica_log_dirs
from kcore.admin.features import describe_features
from kcore.admin.quorum import describe_metadata_quorum
from kcore.admin.versions import api_versions
from kcore.clients.admin import quorum_requests as requests
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

VOTER = uuid.UUID("01234567-89ab-cdef-0123-456789abcdff")
BASE64 = base64.urlsafe_b64encode(VOTER.bytes).decode().rstrip("=")
PLACE = RaftVoterEndpoint("CONTROLLER", "h", 9093)


def sent(cluster, api):
    (found,) = (request for _, asked, request in cluster.asked if asked is api)
    return found


# Quorum -------------------------------------------------------------------------------------------


def quorum_of(*parts, nodes=()):
    R = m.DescribeQuorumResponse
    return R(
        topics=[R.TopicData(topic_name="__cluster_metadata", partitions=list(parts))],
        nodes=list(nodes),
    )


def test_a_quorum_is_told():
    _, cluster, client = admin_world()
    R = m.DescribeQuorumResponse
    part = R.PartitionData(
        leader_id=1,
        leader_epoch=4,
        high_watermark=99,
        current_voters=[R.ReplicaState(replica_id=1, replica_directory_id=VOTER.bytes)],
        observers=[R.ReplicaState(replica_id=2, log_end_offset=98, last_fetch_timestamp=7)],
    )
    node = R.Node(node_id=1, listeners=[R.Listener(name="CONTROLLER", host="h", port=9)])
    cluster.script[ApiKey.DESCRIBE_QUORUM] = lambda *_: quorum_of(part, nodes=[node])
    found = client.run(describe_metadata_quorum())
    ((row,),) = [topic["partitions"] for topic in found["topics"]]
    assert (row["leader_id"], row["leader_epoch"], row["error"]) == (1, 4, None)
    assert row["current_voters"][0]["replica_directory_id"] == str(VOTER)
    assert row["observers"][0]["last_fetch_timestamp"] == 7
    listeners = [{"name": "CONTROLLER", "host": "h", "port": 9}]
    assert found["nodes"] == [{"node_id": 1, "listeners": listeners}]
    (topic,) = sent(cluster, ApiKey.DESCRIBE_QUORUM).topics
    assert [one.partition_index for one in topic.partitions] == [0]


def test_what_is_wrong_with_the_partition_is_raised():
    _, cluster, client = admin_world()
    part = m.DescribeQuorumResponse.PartitionData(
        error_code=ErrorCode.INVALID_REQUEST, error_message="no such quorum"
    )
    cluster.script[ApiKey.DESCRIBE_QUORUM] = lambda *_: quorum_of(part)
    with pytest.raises(errors.InvalidRequestError, match="describing the quorum: no such quorum"):
        client.run(describe_metadata_quorum())


@pytest.mark.parametrize("directory", [VOTER, str(VOTER), BASE64, VOTER.hex])
@pytest.mark.parametrize("place", [PLACE, tuple(PLACE)])
def test_a_voter_is_added(directory, place):
    _, cluster, client = admin_world()
    client.run(requests.add_raft_voter(4, directory, [place], "c"))
    request = sent(cluster, ApiKey.ADD_RAFT_VOTER)
    assert (request.voter_id, request.voter_directory_id) == (4, VOTER.bytes)
    assert request.cluster_id == "c"
    assert request.ack_when_committed
    assert [(one.name, one.host, one.port) for one in request.listeners] == [tuple(PLACE)]


def test_a_voter_that_was_added_by_an_attempt_without_an_answer():
    _, cluster, client = admin_world()
    cluster.first(ApiKey.ADD_RAFT_VOTER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.DUPLICATE_VOTER)
    with pytest.raises(errors.DuplicateVoterError, match="earlier attempt of this call was not"):
        client.run(requests.add_raft_voter(4, VOTER, [PLACE], None))


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ((-1, VOTER, [PLACE], None), ValueError, "voter_id=-1"),
        (("4", VOTER, [PLACE], None), TypeError, "voter_id must be a whole number"),
        ((4, "x" * 21, [PLACE], None), ValueError, "meta.properties"),
        ((4, "!" * 22, [PLACE], None), ValueError, "meta.properties"),
        ((4, 7, [PLACE], None), TypeError, "voter_directory_id must be a string"),
        ((4, VOTER, [], None), ValueError, "endpoints: none is given"),
        ((4, VOTER, PLACE, None), TypeError, "RaftVoterEndpoint"),
        ((4, VOTER, ["h:9"], None), TypeError, "RaftVoterEndpoint"),
        ((4, VOTER, [("controller", "h", 9)], None), ValueError, "in capitals: 'CONTROLLER'"),
        ((4, VOTER, [("CONTROLLER", "", 9)], None), ValueError, "host is empty"),
        ((4, VOTER, [("CONTROLLER", "h", 0)], None), ValueError, "port=0"),
        ((4, VOTER, [PLACE], ""), ValueError, "cluster_id is empty"),
    ],
)
def test_what_is_no_voter(given, kind, said):
    with pytest.raises(kind, match=said):
        requests.add_raft_voter(*given)


# Versions -----------------------------------------------------------------------------------------


def test_what_brokers_speak_is_told_with_what_is_not_known_here():
    _, cluster, client = admin_world()
    cluster.apis[999] = (3, 4)
    found = client.run(api_versions(2))
    assert found.api_versions[ApiKey.FETCH] == (API_TABLE[ApiKey.FETCH].min_version, 18)
    assert found.api_versions[999] == (3, 4)
    assert found.broker_version == (4, 4)
    assert cluster.asked[-1][:2] == (2, ApiKey.API_VERSIONS)
    assert client.run(api_versions(None)).api_versions == found.api_versions


@pytest.mark.parametrize("broker", [1, 3])
def test_features_of_a_broker(broker):
    _, cluster, client = admin_world()
    client.run(describe_features(of_controller=False, of_broker=broker))
    assert cluster.asked[-1][:2] == (broker, ApiKey.API_VERSIONS)
    with pytest.raises(errors.BrokerNotAvailableError, match="brokers 1, 2, 3"):
        client.run(describe_features(of_controller=False, of_broker=9))


@pytest.mark.parametrize(("version", "asked"), [(2, False), (4, True)])
def test_documentation_is_asked_of_who_has_some(version, asked):
    _, cluster, client = admin_world()
    lowest = API_TABLE[ApiKey.DESCRIBE_CONFIGS].min_version
    cluster.apis[ApiKey.DESCRIBE_CONFIGS] = (lowest, version)
    client.run(
        describe_configs(
            {(ConfigResourceType.TOPIC, "t"): None},
            synonyms=False,
            shown=ConfigFilterType.ALL,
            raise_errors=True,
            documentation=True,
        )
    )
    assert sent(cluster, ApiKey.DESCRIBE_CONFIGS).include_documentation == asked


# Directories --------------------------------------------------------------------------------------

HERE, MOVING, NOWHERE = (TopicPartitionReplica("t", number, 2) for number in range(3))


def log_dirs(*rows):
    R = m.DescribeLogDirsResponse
    return R(
        results=[
            R.DescribeLogDirsResult(
                error_code=code,
                log_dir=path,
                topics=[
                    R.DescribeLogDirsTopic(
                        name="t",
                        partitions=[
                            R.DescribeLogDirsPartition(
                                partition_index=number, offset_lag=lag, is_future_key=future
                            )
                            for number, lag, future in parts
                        ],
                    )
                ],
            )
            for path, code, parts in rows
        ]
    )


@pytest.mark.parametrize("turned", [False, True])
def test_where_replicas_are_and_where_they_go(turned):
    _, cluster, client = admin_world()
    rows = [("/a", 0, [(0, 0, False), (1, 1, False)]), ("/b", 0, [(1, 90, True)])]
    failed = ("/c", ErrorCode.KAFKA_STORAGE_ERROR, [])
    cluster.script[ApiKey.DESCRIBE_LOG_DIRS] = lambda *_: log_dirs(
        *(reversed(rows) if turned else rows), failed
    )
    found = client.run(describe_replica_log_dirs([HERE, MOVING, NOWHERE]))
    assert found == {
        HERE: ("/a", 0, None, -1),
        MOVING: ("/a", 1, "/b", 90),
        NOWHERE: (None, -1, None, -1),
    }
    (topic,) = sent(cluster, ApiKey.DESCRIBE_LOG_DIRS).topics
    assert (topic.topic, topic.partitions) == ("t", [0, 1, 2])


def test_a_broker_that_does_not_tell():
    _, cluster, client = admin_world()
    cluster.script[ApiKey.DESCRIBE_LOG_DIRS] = lambda *_: m.DescribeLogDirsResponse(
        error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    )
    with pytest.raises(errors.ClusterAuthorizationFailedError, match="t-0 on broker 2"):
        client.run(describe_replica_log_dirs([HERE]))
