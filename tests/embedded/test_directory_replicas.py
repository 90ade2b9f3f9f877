"""A broker with a directory whose replicas are moved, and whose disk fails in the middle."""

import shutil
import time

import pytest
from raw_client import Link

import kcore
from kcore import TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.records import encode_batch
from kcore.wire import messages as m


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


@pytest.mark.parametrize("flush", ["always", 10])
def test_a_disk_that_fails_behind_something_that_is_not_synced(start, tmp_path, caplog, flush):
    data = encode_batch([(0, None, b"v")])
    Produce = m.ProduceRequest
    parts = [Produce.PartitionProduceData(index=number, records=data) for number in range(2)]
    entry = Produce.TopicProduceData(name="t", partition_data=parts)
    with start(flush=flush) as broker:
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"v")] * 2)
        shutil.rmtree(tmp_path / "kept" / "node-1" / "t-1")
        link = Link(broker.addresses[0])
        with pytest.raises(ConnectionResetError):  # the first is written, the other cannot be
            link.ask(Produce(acks=-1, timeout_ms=1_000, topic_data=[entry]), 9)
        link.close()
        time.sleep(0.1)  # ten times as long as it takes to be due again
        link = Link(broker.addresses[0])  # it was hung up on, and so was everybody
        assert link.ask(m.MetadataRequest(topics=[]), 9).brokers
        link.close()
        assert len(broker.faults) <= 2
        assert sum("a serving core failed" in one.message for one in caplog.records) <= 1
    with start(flush=flush) as broker:
        assert broker.end_offsets("t") == [2, 0]
