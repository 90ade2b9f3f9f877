"""An admin client of controllers (KIP-919): whom it asks what, and what it asks nobody."""

from __future__ import annotations

import pytest
from scripted_admin import APIS, BROKER, KEEP, TOPIC, VERBS, admin_world

from kcore.admin import AlterConfigOp, ConfigFilterType, ConfigResourceType
from kcore.admin.cluster import describe_cluster
from kcore.admin.configs import alter_configs, describe_configs
from kcore.admin.controllers import SERVED
from kcore.admin.core import AdminCore
from kcore.admin.quorum import describe_metadata_quorum
from kcore.errors import UnsupportedEndpointTypeError, UnsupportedVersionError
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

SHOWN = {"synonyms": True, "shown": ConfigFilterType.ALL, "raise_errors": True}
SET = {"a": (AlterConfigOp.SET, "1")}


@pytest.fixture
def world():
    """Three controllers, of which the second is active; the client knows the first."""
    return controllers()


def controllers():
    world, cluster, client = admin_world(bootstrap_controllers="node1:9001")
    cluster.active = 2

    def script(_node, request):
        assert request.message.endpoint_type == 2
        assert not request.message.include_fenced_brokers
        A = m.DescribeClusterResponse
        nodes = [
            A.DescribeClusterBroker(broker_id=number, host=host, port=port)
            for number, (host, port) in cluster.nodes.items()
        ]
        return A(endpoint_type=2, cluster_id="c", controller_id=cluster.active, brokers=nodes)

    cluster.script[ApiKey.DESCRIBE_CLUSTER] = script
    return world, cluster, client


def test_the_active_one_is_asked(world):
    _, cluster, client = world
    client.run(describe_metadata_quorum())
    assert cluster.who_was_asked(ApiKey.DESCRIBE_QUORUM) == [2]
    assert client.run(describe_cluster())["controller_id"] == 2
    assert cluster.count(ApiKey.METADATA) == 0


def test_who_is_active_no_more_says_so(world):
    _, cluster, client = world
    answered = []

    def script(node, request):
        cluster.active = 3
        answered.append(node)
        code = 0 if node == 3 else ErrorCode.NOT_CONTROLLER
        return m.DescribeQuorumResponse(error_code=code)

    cluster.script[ApiKey.DESCRIBE_QUORUM] = script
    client.run(describe_metadata_quorum())
    assert answered == [2, 3]


def test_of_what_only_one_knows_that_one_is_asked(world):
    _, cluster, client = world
    logger = (ConfigResourceType.BROKER_LOGGER, "3")
    broker = (BROKER[0], "3")
    client.run(describe_configs({TOPIC: None, broker: None, logger: None}, **SHOWN))
    assert sorted(cluster.who_was_asked(ApiKey.DESCRIBE_CONFIGS)) == [2, 3]
    changes = dict.fromkeys((TOPIC, broker, logger), SET)
    client.run(alter_configs(changes, **KEEP))
    asked = [
        (node, sorted(one.resource_type for one in request.resources))
        for node, api, request in cluster.asked
        if api is ApiKey.INCREMENTAL_ALTER_CONFIGS
    ]
    types = (ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
    told = sorted((node, kind) for node, kinds in asked for kind in kinds)
    topic, of_broker, of_logger = map(int, types)
    assert told == [(2, topic), (2, of_broker), (3, of_logger)]


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name.lower())
def test_each_api_is_asked_of_them_or_refused_at_once(api, world):
    now, cluster, client = world
    began = now.now
    if api in SERVED:
        client.run(VERBS[api]())
        assert set(cluster.who_was_asked(api)) <= {1, 2, 3}
        return
    with pytest.raises(UnsupportedEndpointTypeError, match="give bootstrap_servers"):
        client.run(VERBS[api]())
    assert cluster.count(api) == 0
    assert now.now - began < 100


def test_one_that_is_too_old(world):
    _, cluster, client = world
    cluster.apis[ApiKey.DESCRIBE_CLUSTER] = (0, 0)
    for procedure in (describe_cluster(), describe_metadata_quorum()):
        with pytest.raises(UnsupportedVersionError, match=r"no controller of Kafka 3\.7"):
            client.run(procedure)


def test_whether_anybody_answers(world):
    now, cluster, client = world
    core: AdminCore = client.core
    number = core.find_anybody(now.now, 1_000)
    client.drain()
    assert client.result(number, 1_000) is None
    assert cluster.who_was_asked(ApiKey.DESCRIBE_CLUSTER)[-1] == cluster.active
