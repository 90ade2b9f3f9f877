"""A broker with a directory whose replicas are moved, and whose disk fails in the middle."""

import pytest

import kcore
from kcore import TopicPartition
from kcore.embedded import EmbeddedBroker


@pytest.fixture
def start(tmp_path):
    """A broker on the test's folder; `with start():`, again and again."""

    def make(nodes=1, **options):
        return EmbeddedBroker(nodes, directory=tmp_path / "kept", **options)

    return make


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_replica_that_is_moved_away_leaves_nothing(start, tmp_path, by_hand):
    with start(2) as broker, kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v")] * 3)
        old = broker._cluster.topics.get("t").partitions[0].leader
        if by_hand:
            broker.move_leader("t", 0, 3 - old)
        else:
            admin.alter_partition_reassignments({TopicPartition("t", 0): [3 - old]})
        assert not (tmp_path / "kept" / f"node-{old}" / "t-0").exists()
        broker.produce("t", [(None, b"v")])
        assert broker.end_offsets("t") == [4]
        broker.delete_topic("t")
        broker.create_topic("t", 2)  # one of each node
        broker.produce("t", [(None, b"new")] * 2)  # the store failed here, and for good
    with start(2) as broker:
        assert broker.end_offsets("t") == [1, 1]
