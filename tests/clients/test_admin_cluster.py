"""What admin clients are given about the cluster, and refuse before anything is sent."""

import asyncio

import pytest

import kcore
from kcore import TopicPartition

T0 = TopicPartition("t", 0)
NOWHERE = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0)}
BAD = [
    ("update_features", (["share.version"],), TypeError),
    ("update_features", ({7: 1},), TypeError),
    ("update_features", ({"": 1},), ValueError),
    ("update_features", ({"share.version": "1"},), TypeError),
    ("update_features", ({"share.version": 1 << 15},), ValueError),
    ("update_features", ({"share.version": ("sideways", 1)},), ValueError),
    ("update_features", ({"share.version": ("unknown", 1)},), ValueError),
    ("alter_partition_reassignments", ([T0],), TypeError),
    ("alter_partition_reassignments", ({T0: []},), ValueError),
    ("alter_partition_reassignments", ({T0: ["1"]},), TypeError),
    ("alter_partition_reassignments", ({T0: 1},), TypeError),
    ("alter_partition_reassignments", ({"t": [1]},), TypeError),
    ("list_partition_reassignments", ("t",), TypeError),
    ("list_partition_reassignments", ({"t": [-1]},), ValueError),
    ("describe_topic_partitions", ("t",), TypeError),
    ("describe_topic_partitions", (["t"], 0), ValueError),
    ("describe_topic_partitions", (["t"], 5, "t-0"), TypeError),
    ("describe_topic_partitions", (["t"], 5, {"topic_name": "t"}), ValueError),
    ("alter_replica_log_dirs", ([("t", 0, 1)],), TypeError),
    ("alter_replica_log_dirs", ({T0: "/a"},), TypeError),
    ("alter_replica_log_dirs", ({("t", 0, "1"): "/a"},), TypeError),
    ("alter_replica_log_dirs", ({("t", 0, 1): None},), TypeError),
    ("alter_replica_log_dirs", ({("t", 0, 1): ""},), ValueError),
    ("describe_replica_log_dirs", ([("t", 0)],), TypeError),
    ("describe_replica_log_dirs", ("t",), TypeError),
    ("get_broker_version_data", (-1,), ValueError),
    ("get_broker_version_data", ("1",), TypeError),
    ("unregister_broker", (-1,), ValueError),
    ("unregister_controller", ("1",), TypeError),
    ("describe_features", (True, None, 1), ValueError),
    ("describe_features", (False, None, "1"), TypeError),
    ("remove_raft_voter", (1, "x"), ValueError),
    ("add_raft_voter", (1, "A" * 22, []), ValueError),
    ("list_config_resources", ("topic",), TypeError),
    ("list_config_resources", (["tables"],), ValueError),
    ("describe_producers", ("t",), TypeError),
    ("describe_producers", ([T0], -1), ValueError),
]


@pytest.mark.parametrize(("method", "args", "kind"), BAD, ids=[str(at) for at in range(len(BAD))])
def test_wrong_arguments_are_refused_before_anything_is_asked(method, args, kind):
    with kcore.Admin(**NOWHERE) as admin, pytest.raises(kind):
        getattr(admin, method)(*args)
    with pytest.raises(kind):  # it is not started
        asyncio.run(getattr(kcore.AsyncAdmin(**NOWHERE), method)(*args))


@pytest.mark.parametrize(
    ("method", "args", "result"),
    [
        ("update_features", ({},), {}),
        ("alter_partition_reassignments", ({},), {}),
        ("describe_topic_partitions", ([],), {"topics": [], "next_cursor": None}),
        ("alter_replica_log_dirs", ({},), {}),
        ("describe_replica_log_dirs", ([],), {}),
        ("describe_producers", ([],), {}),
    ],
)
def test_who_asks_for_nothing_is_given_nothing(method, args, result):
    with kcore.Admin(**NOWHERE) as admin:
        assert getattr(admin, method)(*args) == result
