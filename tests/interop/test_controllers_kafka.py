"""`bootstrap_controllers` (KIP-919) on a real Kafka: what controllers are asked in place of
brokers, what they are not, and who it is that is no controller.
"""

import pytest
from admins import ADMINS, until
from click.testing import CliRunner

import kcore
from kcore import errors
from kcore.admin import (
    ACL,
    ACLFilter,
    AlterConfigOp,
    ConfigResource,
    NewTopic,
    ResourcePattern,
    UpdateFeatureType,
)
from kcore.cli.commands import kcore as kcore_command
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.cli.demo.kafka_node import HOST

pytestmark = pytest.mark.kafka

NODES = 3


class Guarded(KafkaCluster):
    """Three nodes, each broker and controller, with an authorizer that lets anybody do anything."""

    def __init__(self):
        super().__init__(NODES)

    @property
    def controllers(self):
        return [f"{HOST}:{port}" for port in self._controller_ports]

    def broker_settings(self, index):
        return super().broker_settings(index) | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


@pytest.fixture(scope="module")
def cluster():
    with Guarded() as kafka:
        kafka.create_topic("t", 2, NODES)
        yield kafka


@pytest.fixture(params=list(ADMINS))
def ours(request, cluster):
    client = ADMINS[request.param](bootstrap_controllers=cluster.controllers[:1])
    yield client
    client.close()


def listening(cluster, *numbers):
    return {(number, *cluster.controllers[number - 1].split(":")) for number in numbers}


def test_the_controllers_are_described(cluster, ours):
    told = ours.describe_cluster()
    found = {(row["broker_id"], row["host"], str(row["port"])) for row in told["brokers"]}
    assert found == listening(cluster, 1, 2, 3)
    assert told["cluster_id"] == cluster.cluster_id
    leader = ours.describe_metadata_quorum()["topics"][0]["partitions"][0]["leader_id"]
    assert told["controller_id"] == leader
    assert "ALTER" in told["authorized_operations"]


def test_the_quorum_and_features(cluster, ours):
    (topic,) = ours.describe_metadata_quorum()["topics"]
    (row,) = topic["partitions"]
    assert {one["replica_id"] for one in row["current_voters"]} == {1, 2, 3}
    with kcore.Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert ours.describe_features().keys() <= admin.describe_features().keys()
        finalized = admin.describe_features()["metadata.version"]["finalized"]
    assert ours.describe_features()["metadata.version"]["finalized"] == finalized
    for number in (1, 2, 3):
        assert ours.describe_features(broker_id=number)
    level = {"metadata.version": (UpdateFeatureType.UPGRADE, finalized[1])}
    assert set(ours.update_features(level, validate_only=True)) == {"metadata.version"}
    with pytest.raises(errors.UnsupportedVersionError, match=r"kraft\.version is 1"):
        ours.remove_raft_voter(3, "00000000-0000-4000-8000-000000000001")
    with pytest.raises(errors.BrokerIdNotRegisteredError):
        ours.unregister_broker(77)
    # A Kafka before 4.4 does not know what that is.
    neither = errors.ControllerIdNotRegisteredError, errors.UnsupportedVersionError
    with pytest.raises(neither):
        ours.unregister_controller(77)


def test_what_is_set_for_brokers_and_topics(cluster, ours):
    broker = ConfigResource("broker", "2", {"log.cleaner.threads": (AlterConfigOp.SET, "2")})
    topic = ConfigResource("topic", "t", {"retention.ms": (AlterConfigOp.SET, "77000")})
    ours.alter_configs([broker, topic], raise_errors=True)

    def retention():  # controllers follow the active one a little behind its answer
        found = ours.describe_configs([ConfigResource("topic", "t")])["topic"]["t"]
        return found.get("retention.ms", {}).get("value")

    until(retention, "77000")
    # Only the controller of that number knows what it goes by.
    told = ours.describe_configs([ConfigResource("broker", "2", ["node.id"])], config_filter="all")
    assert told["broker"]["2"]["node.id"]["value"] == "2"
    with pytest.raises(errors.BrokerNotAvailableError, match="there are controllers 1, 2, 3"):
        ours.describe_configs([ConfigResource("broker", "9")])
    with kcore.Admin(bootstrap_servers=cluster.bootstrap) as admin:
        asked = [ConfigResource("broker", "2")]

        def threads():
            found = admin.describe_configs(asked)["broker"]["2"]
            return found.get("log.cleaner.threads", {}).get("value")

        until(threads, "2")
    undo = (AlterConfigOp.DELETE, None)
    ours.alter_configs(
        [
            ConfigResource("broker", "2", {"log.cleaner.threads": undo}),
            ConfigResource("topic", "t", {"retention.ms": undo}),
        ],
        raise_errors=True,
    )


def test_from_the_command_line(cluster):
    def run(*line):
        given = ["configs", *line, "--bootstrap-controllers", ",".join(cluster.controllers)]
        result = CliRunner().invoke(kcore_command, given)
        assert result.exit_code == 0, result.output
        return [row.split()[:3] for row in result.stdout.splitlines()]

    run("topic", "t", "--set", "retention.ms=88000")
    until(lambda: run("topic", "t")[1:], [["t", "retention.ms", "88000"]])
    told = cluster.tool(
        *("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "t")
    )
    assert "retention.ms=88000" in told
    run("topic", "t", "--unset", "retention.ms")


def test_who_may_do_what(ours):
    entry = ACL("User:a", "*", "read", "allow", ResourcePattern("topic", "t"))
    ours.create_acls([entry], raise_errors=True)
    until(lambda: ours.describe_acls(ACLFilter())[0], [entry])
    ours.delete_acls([ACLFilter()], raise_errors=True)
    until(lambda: ours.describe_acls(ACLFilter())[0], [])


def test_where_replicas_are_to_be(ours):
    ours.alter_partition_reassignments({("t", 0): [3, 2, 1]})
    until(ours.list_partition_reassignments, {})


REFUSED = {
    "topics": lambda admin: admin.list_topics(),
    "create": lambda admin: admin.create_topics([NewTopic("u", 1, 1)], raise_errors=False),
    "delete": lambda admin: admin.delete_topics(["t"], raise_errors=False),
    "groups": lambda admin: admin.list_groups(),
    "offsets": lambda admin: admin.list_group_offsets("g"),
    "ends": lambda admin: admin.list_partition_offsets({("t", 0): "latest"}),
    "directories": lambda admin: admin.describe_log_dirs(),
    "elections": lambda admin: admin.elect_leaders("preferred", {"t": [0]}),
    "quotas": lambda admin: admin.describe_client_quotas(),
    "users": lambda admin: admin.describe_user_scram_credentials(),
    "transactions": lambda admin: admin.list_transactions(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_about_brokers_is_refused_at_once(ours, what):
    with pytest.raises(errors.UnsupportedEndpointTypeError, match="give bootstrap_servers"):
        REFUSED[what](ours)


@pytest.mark.parametrize("kind", list(ADMINS))
def test_a_broker_is_no_controller(cluster, kind):
    with pytest.raises(errors.MismatchedEndpointTypeError):
        ADMINS[kind](bootstrap_controllers=cluster.bootstrap.split(",")[:1])


@pytest.mark.parametrize("kind", list(ADMINS))
def test_a_controller_is_no_broker(cluster, kind):
    words = "METADATA at all; give bootstrap_controllers"
    with pytest.raises(errors.NoBrokersAvailable, match=words):
        ADMINS[kind](bootstrap_servers=cluster.controllers[:1], bootstrap_timeout_ms=1_000)


@pytest.mark.slow
def test_the_active_one_goes_away(cluster):
    with kcore.Admin(bootstrap_controllers=cluster.controllers, retry_backoff_ms=50) as admin:
        before = admin.describe_cluster()["controller_id"]
        cluster.stop(before - 1)
        try:
            change = {"retention.ms": (AlterConfigOp.SET, "99000")}
            admin.alter_configs([ConfigResource("topic", "t", change)], raise_errors=True)
            until(lambda: admin.describe_cluster()["controller_id"] not in (before, -1), True)
        finally:
            cluster.restart(before - 1)
