"""Admin and AsyncAdmin on the embedded broker: the quorum of controllers, what brokers speak."""

import pytest
from admins import ADMINS

from kcore import errors
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire.apis import ApiKey


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t")
        yield broker


@pytest.fixture(params=list(ADMINS))
def admin(request, broker):
    made = ADMINS[request.param](bootstrap_servers=broker.bootstrap, retry_backoff_ms=10)
    yield made
    made.close()


def quorum(admin):
    told = admin.describe_metadata_quorum()
    assert [node["node_id"] for node in told["nodes"]] == [1, 2, 3]
    ((row,),) = [topic["partitions"] for topic in told["topics"]]
    return row


def test_the_quorum_and_its_next_leader(admin, broker):
    before = quorum(admin)
    assert (before["leader_id"], before["observers"], before["error"]) == (1, [], None)
    assert [one["replica_id"] for one in before["current_voters"]] == [1, 2, 3]
    assert {one["log_end_offset"] for one in before["current_voters"]} == {before["high_watermark"]}
    broker.kill(1)
    try:
        behind = quorum(admin)
    finally:
        broker.revive(1)
    assert (behind["leader_id"], behind["leader_epoch"]) == (2, before["leader_epoch"] + 1)
    assert behind["current_voters"][0]["log_end_offset"] == -1
    assert behind["high_watermark"] >= before["high_watermark"]
    assert quorum(admin)["leader_epoch"] == before["leader_epoch"] + 2


def test_what_an_embedded_broker_does_not_have_is_said(admin):
    with pytest.raises(errors.UnsupportedVersionError):
        admin.add_raft_voter(4, "A" * 22, [("CONTROLLER", "h", 9)])
    with pytest.raises(errors.UnsupportedVersionError):
        admin.unregister_broker(3)


@pytest.mark.parametrize("kind", list(ADMINS))
def test_a_controller_is_struck_off(kind):
    config = BrokerConfig(release=(4, 3))
    with EmbeddedBroker(config=config) as broker:
        admin = ADMINS[kind](bootstrap_servers=broker.bootstrap)
        with pytest.raises(errors.UnsupportedVersionError, match=r"Apache Kafka 4\.4 does"):
            admin.unregister_controller(1)
        admin.close()
    with EmbeddedBroker(nodes=2) as broker:
        admin = ADMINS[kind](bootstrap_servers=broker.bootstrap)
        admin.unregister_controller(2)
        with pytest.raises(errors.InvalidRequestError, match="cannot unregister itself"):
            admin.unregister_controller(1)
        said = r"unregistering controller 7: Controller ID 7 is .*: it never was"
        with pytest.raises(errors.ControllerIdNotRegisteredError, match=said):
            admin.unregister_controller(7)
        admin.close()


def test_what_brokers_speak(admin):
    found = admin.get_broker_version_data(2)
    assert found.broker_version == (4, 4)
    assert found.api_versions[ApiKey.DESCRIBE_QUORUM] == (0, 2)
    assert admin.api_versions() == found.api_versions


def test_where_replicas_are(admin):
    (node,) = admin.describe_topics(["t"])[0]["partitions"][0]["replica_nodes"]
    found = admin.describe_replica_log_dirs([("t", 0, node), ("t", 7, node)])
    assert [one.current_log_dir for one in found.values()] == ["/memory", None]


def test_a_transaction_is_ended_by_force(admin, broker):
    admin.force_terminate_transaction("x")
    before = admin.describe_transactions(["x"])["x"]
    admin.force_terminate_transaction("x")
    behind = admin.describe_transactions(["x"])["x"]
    assert behind.producer_epoch == before.producer_epoch + 1
    with pytest.raises(TypeError):
        admin.force_terminate_transaction(["x"])
