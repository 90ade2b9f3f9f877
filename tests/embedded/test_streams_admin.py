"""Administration of a streams group (KIP-1071), on a real Kafka and the embedded broker: told, its
offsets moved and deleted, its end.
"""

import time

import pytest
from admins import ADMINS, until
from raw_client import Link

from kcore import OffsetAndMetadata, TopicPartition, errors
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

Beat = m.StreamsGroupHeartbeatRequest
NOTHING = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
PATIENCE_S = 30


class Member:
    """Of an application that reads a topic: it joins, and leaves at its end."""

    def __init__(self, address, group, topic):
        self._link = Link(address)
        self._who = {"group_id": group, "member_id": "m1"}
        part = Beat.Subtopology(subtopology_id="0", source_topics=[topic])
        self._fields = {
            "topology": Beat.Topology(subtopologies=[part]),
            "process_id": "p",
            "rebalance_timeout_ms": 60_000,
            **NOTHING,
        }

    def __enter__(self):
        join = Beat(member_epoch=0, **self._who, **self._fields)
        end = time.monotonic() + PATIENCE_S
        while code := self._link.ask(join, 0).error_code:
            assert ErrorCode(code).name.startswith(("COORDINATOR", "NOT_COORDINATOR"))
            assert time.monotonic() < end
            time.sleep(0.1)

    def __exit__(self, *_error):
        assert not self._link.ask(Beat(member_epoch=-1, **self._who), 0).error_code
        self._link.close()


@pytest.fixture
def embedded():
    with EmbeddedBroker(config=BrokerConfig(auto_create_topics=False)) as broker:
        yield broker


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def cluster(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=list(ADMINS))
def admin(request, cluster):
    client = ADMINS[request.param](bootstrap_servers=cluster.bootstrap)
    yield client
    client.close()


def test_a_streams_group_and_what_it_has_committed(cluster, admin, names):
    group, parts = names.group, [TopicPartition(names.topic, number) for number in range(2)]
    cluster.create_topic(names.topic, 2)
    for tp in parts:
        cluster.produce(names.topic, [(None, b"v")] * 10, partition=tp.partition)
    admin.find_coordinator(group)  # who is asked makes the coordinators' journals
    with Member(cluster.bootstrap, group, names.topic):
        row = admin.describe_groups([group])[group]
        assert (row["group_type"], len(row["members"])) == ("streams", 1)
        assert admin.delete_groups([group]) == {group: "NonEmptyGroupError"}
    until(lambda: admin.describe_groups([group])[group]["group_state"], "Empty")
    wanted = {parts[0]: OffsetAndMetadata(3, "", -1), parts[1]: OffsetAndMetadata(0, "", -1)}
    assert set(admin.alter_group_offsets(group, wanted).values()) == {errors.NoError}
    found = admin.list_group_offsets(group)
    assert {tp: one.offset for tp, one in found[group].items()} == {parts[0]: 3, parts[1]: 0}
    assert {tp: one.lag for tp, one in admin.lag(group).items()} == {parts[0]: 7, parts[1]: 10}
    assert admin.reset_group_offsets(group, {parts[0]: "latest"})[parts[0]]["offset"] == 10
    assert admin.delete_group_offsets(group, [parts[1]]) == {parts[1]: errors.NoError}
    assert set(admin.list_group_offsets(group)[group]) == {parts[0]}
    assert group in [row["group_id"] for row in admin.list_groups(types_filter=["streams"])]
    assert admin.delete_groups([group]) == {group: "OK"}
    with pytest.raises(errors.GroupIdNotFoundError):
        admin.delete_groups([group], raise_errors=True)
