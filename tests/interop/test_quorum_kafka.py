"""The quorum of controllers by `Admin` and `AsyncAdmin`, on a real Kafka: told as kafka-python and
Kafka's own tool tell it, voters that come and go, brokers that are struck off.
"""

import base64
import uuid

import kafka as kafka_python
import pytest
from admins import ADMINS, until
from dynamic_quorum import BROKER, DynamicQuorum
from leftovers import KAFKA_PYTHON

from kcore import errors
from kcore.admin import ConfigResource, RaftVoterEndpoint
from kcore.wire.apis import ApiKey

pytestmark = KAFKA_PYTHON
MOVING = {"high_watermark", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp"}


@pytest.fixture(scope="module")
def quorum():
    with DynamicQuorum() as cluster:
        yield cluster


@pytest.fixture(params=list(ADMINS))
def ours(request, quorum):
    client = ADMINS[request.param](bootstrap_servers=quorum.bootstrap)
    yield client
    client.close()


@pytest.fixture(params=list(ADMINS))
def still_ours(request, kafka):
    """Of a cluster whose voters are what its configuration says."""
    client = ADMINS[request.param](bootstrap_servers=kafka.bootstrap)
    yield client
    client.close()


@pytest.fixture
def theirs(kafka):
    client = kafka_python.KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    yield client
    client.close()


def still(value):
    """Without what is another with each look."""
    if isinstance(value, dict):
        return {
            name: (name in MOVING and part >= -1) or still(part) for name, part in value.items()
        }
    if isinstance(value, list):
        return sorted((still(part) for part in value), key=repr)
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


def voters(admin, kind="current_voters"):
    (topic,) = admin.describe_metadata_quorum()["topics"]
    (row,) = topic["partitions"]
    return {one["replica_id"]: one for one in row[kind]}


def test_it_is_told_as_kafka_python_tells_it(still_ours, theirs):
    assert still(still_ours.describe_metadata_quorum()) == still(theirs.describe_metadata_quorum())
    assert set(voters(still_ours)) == {1}
    assert voters(still_ours, "observers") == {}


def test_voters_of_a_static_quorum_stay(still_ours):
    with pytest.raises(errors.UnsupportedVersionError, match=r"kraft\.version is 1"):
        still_ours.add_raft_voter(2, uuid.uuid4(), [("CONTROLLER", "localhost", 9)])
    with pytest.raises(errors.UnsupportedVersionError, match=r"kraft\.version is 1"):
        still_ours.remove_raft_voter(1, uuid.uuid4())


def test_what_brokers_speak(still_ours, theirs):
    found = still_ours.get_broker_version_data(1)
    assert dict(found.api_versions) == theirs.get_broker_version_data(1).api_versions
    assert still_ours.api_versions() == found.api_versions  # theirs trips over APIs of Kafka 4.4
    assert found.broker_version == (4, 4)
    assert found.api_versions[ApiKey.ADD_RAFT_VOTER] == (0, 1)
    with pytest.raises(errors.BrokerNotAvailableError, match="the cluster has brokers 1"):
        still_ours.get_broker_version_data(9)


def test_what_an_entry_is_for(still_ours):
    asked = [ConfigResource("broker", "1", ["num.io.threads"])]
    for wanted in (False, True):
        told = still_ours.describe_configs(asked, include_documentation=wanted, config_filter="all")
        documentation = told["broker"]["1"]["num.io.threads"]["documentation"]
        assert bool(documentation) == wanted
    assert "threads" in documentation
    features = still_ours.describe_features(broker_id=1)
    assert features == still_ours.describe_features()


@pytest.mark.slow
def test_observers_and_where_controllers_are(quorum, ours):
    until(lambda: set(voters(ours, "observers")), {2, 3})
    told = ours.describe_metadata_quorum()
    (topic,) = told["topics"]
    (row,) = topic["partitions"]
    assert (topic["topic_name"], row["partition_index"]) == ("__cluster_metadata", 0)
    assert (row["leader_id"], row["error"]) == (1, None)
    assert row["high_watermark"] > 0
    host, port = quorum.controller(0).split(":")
    listeners = [{"name": "CONTROLLER", "host": host, "port": int(port)}]
    assert told["nodes"] == [{"node_id": 1, "listeners": listeners}]


@pytest.mark.slow
def test_voters_come_and_go(quorum, ours):
    until(lambda: 2 in voters(ours, "observers"), True)
    directory = voters(ours, "observers")[2]["replica_directory_id"]
    host, port = quorum.controller(1).split(":")
    place = RaftVoterEndpoint("CONTROLLER", host, int(port))
    with pytest.raises(errors.InconsistentClusterIdError, match="adding voter 2"):
        ours.add_raft_voter(2, directory, [place], cluster_id="x" * 22)
    ours.add_raft_voter(2, directory, [place], quorum.cluster_id)
    until(lambda: set(voters(ours)), {1, 2})
    status = quorum.tool("kafka-metadata-quorum", "describe", "--replication")
    assert sum("Follower" in line for line in status.splitlines()) == 1
    with pytest.raises(errors.DuplicateVoterError, match="tells the voters that there are"):
        ours.add_raft_voter(2, directory, [("CONTROLLER", host, int(port))])
    with pytest.raises(errors.VoterNotFoundError, match="removing voter 2"):
        ours.remove_raft_voter(2, uuid.uuid4())
    as_tools_write_it = base64.urlsafe_b64encode(uuid.UUID(directory).bytes).decode()[:22]
    ours.remove_raft_voter(2, as_tools_write_it)
    until(lambda: set(voters(ours)), {1})


@pytest.mark.slow
def test_a_broker_is_struck_off(quorum, ours):
    quorum.restart(BROKER)
    until(lambda: {row["broker_id"] for row in ours.describe_cluster()["brokers"]}, {1, 3})
    quorum.stop(BROKER)
    ours.unregister_broker(3)
    until(lambda: [row["broker_id"] for row in ours.describe_cluster()["brokers"]], [1])
    with pytest.raises(errors.BrokerIdNotRegisteredError, match="unregistering broker 3"):
        ours.unregister_broker(3)
